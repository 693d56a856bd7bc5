// Events and their handlers.

/** @typedef {Record<string, any[]>} Arguments  the arguments of handlers, by event */

/**
 * The handlers of events.
 * @template {Arguments} E
 */
export class Listeners {
	constructor() {
		/** @type {Map<keyof E, Set<(...args: any[]) => unknown>>} */
		this.heard = new Map();
	}

	/** Adds a handler, and returns a function that removes it. @template {keyof E} K @param {K} name @param {(...args: E[K]) => unknown} handler */
	on(name, handler) {
		const handlers = this.heard.get(name) ?? new Set();
		this.heard.set(name, handlers.add(handler));
		return () => this.off(name, handler);
	}

	/** @template {keyof E} K @param {K} name @param {(...args: E[K]) => unknown} handler */
	off(name, handler) {
		this.heard.get(name)?.delete(handler);
	}

	/** @template {keyof E} K @param {K} name @returns {((...args: E[K]) => unknown)[]} */
	of(name) {
		return [...(this.heard.get(name) ?? [])];
	}
}
