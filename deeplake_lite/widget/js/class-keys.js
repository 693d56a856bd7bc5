// The classes that digit keys set.

/** Returns the class for a digit key: the class with the digit as its name, otherwise the first to ninth class for 1 to 9, or -1. */
export function classOfKey(/** @type {string} */ key, /** @type {string[]} */ names) {
	if (!/^\d$/.test(key)) return -1;
	const named = names.indexOf(key);
	return named >= 0 || Number(key) > names.length ? named : Number(key) - 1;
}

/** @param {number} index @param {string[]} names */
export const keyOfClass = (index, names) => [..."0123456789"].find((key) => classOfKey(key, names) === index);
