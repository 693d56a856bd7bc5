// Events and those that listen to them.

/** Who hears of what. */
export class Listeners {
	constructor() {
		/** @type {Map<string, Set<Function>>} */
		this.heard = new Map();
	}

	on(name, /** @type {Function} */ handler) {
		if (!this.heard.has(name)) this.heard.set(name, new Set());
		this.heard.get(name)?.add(handler);
		return () => this.off(name, handler);
	}

	off(name, handler) {
		this.heard.get(name)?.delete(handler);
	}
	of(name) {
		return [...(this.heard.get(name) ?? [])];
	}
}
