// Small settings that are stored between sessions.

/** Reads and writes small settings in local storage, if the page has access to it. */
export const memory = {
	/** @template T @param {string} name @param {T} fallback @returns {T} */
	read(name, fallback) {
		try {
			return JSON.parse(localStorage.getItem(`dl-browser:${name}`) ?? "null") ?? fallback;
		} catch {
			return fallback;
		}
	},
	write(/** @type {string} */ name, /** @type {unknown} */ value) {
		try {
			localStorage.setItem(`dl-browser:${name}`, JSON.stringify(value));
		} catch {
			// private windows and file:// may not allow this
		}
	},
};
