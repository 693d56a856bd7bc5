// Events and those that listen to them.

/** @typedef {Record<string, any[]>} Told  what handlers are told, by event */

/**
 * Who hears of what.
 * @template {Told} E
 */
export class Listeners {
	constructor() {
		/** @type {Map<keyof E, Set<(...told: any[]) => unknown>>} */
		this.heard = new Map();
	}

	/** Calls a handler at each event; returns what ends that. @template {keyof E} K @param {K} name @param {(...told: E[K]) => unknown} handler */
	on(name, handler) {
		const handlers = this.heard.get(name) ?? new Set();
		this.heard.set(name, handlers.add(handler));
		return () => this.off(name, handler);
	}

	/** @template {keyof E} K @param {K} name @param {(...told: E[K]) => unknown} handler */
	off(name, handler) {
		this.heard.get(name)?.delete(handler);
	}

	/** @template {keyof E} K @param {K} name @returns {((...told: E[K]) => unknown)[]} */
	of(name) {
		return [...(this.heard.get(name) ?? [])];
	}
}
