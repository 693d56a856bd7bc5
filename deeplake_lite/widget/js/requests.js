// Requests to Python and their replies.

import { asBytes, fromBase64 } from "./bytes.js";
/** @import { Binary } from "./bytes.js" */
/** @import { Bytes, Fault, Notice, Progress, Replies, Reply } from "./messages.js" */

/** @typedef {{bound?: boolean, progress?: (done: number, total: number) => void}} How  a `bound` reply is ignored if the request's generation is no longer shown */
/** @typedef {Error|{kind?: string, message: string}} Failure  an error that can be shown to the user */

/** The reply refers to a result that is no longer shown, or a newer request has replaced the request. */
export class Stale extends Error {}

export const ENDED = { kind: "Ended", message: "The kernel has restarted or ended, so this view is out of date. Run the cell again. The dataset browser will then offer to restore the staged edits." };

/** An error from Python, with a line and column if it has a position in the query. */
export class Refusal extends Error {
	constructor(/** @type {Fault|null|undefined} */ error) {
		super(error?.message ?? "The request failed.");
		this.kind = error?.kind ?? "Error";
		this.line = error?.line ?? null;
		this.column = error?.column ?? null;
		this.hint = error?.hint ?? null;
		this.conflicts = error?.conflicts ?? [];
	}
}

/** @typedef {{busy: boolean, waiting: {type: keyof Replies, fields: object, how: How, resolve: (reply: any) => void, reject: (why: Error) => void}|null}} Lane */

/** The open requests, with their numbers, replies and waiting times. */
export class Requests {
	/** @param {{send: (message: object) => void, generation?: () => number, now?: () => number, first?: number}} of */
	constructor({ send, generation = () => 0, now = () => performance.now(), first = 1 }) {
		this.send = send;
		this.generation = generation;
		this.now = now;
		this.next = first;
		/** @type {Map<number, {message: {gen: number}, since: number, resolve: (reply: any) => void, reject: (why: Error) => void} & How>} */
		this.open = new Map();
		/** @type {Map<string, Lane>} */
		this.lanes = new Map();
		this.base64 = false;
	}

	/**
	 * @template {keyof Replies} T
	 * @param {T} type @param {object} [fields] @param {How} [how]
	 * @returns {Promise<Replies[T] & Bytes>}
	 */
	ask(type, fields = {}, { bound = false, progress } = {}) {
		const req = this.next++;
		const message = { type, req, gen: this.generation(), ...fields };
		return new Promise((resolve, reject) => {
			this.open.set(req, { message, bound, progress, resolve, reject, since: this.now() });
			try {
				this.send(message);
			} catch {
				this.open.delete(req);
				reject(new Refusal(ENDED));
			}
		});
	}

	/**
	 * Sends a request in a lane. A lane has at most one open request and one waiting request. A newer request replaces the
	 * waiting request, whose promise is then rejected with `Stale`.
	 * @template {keyof Replies} T
	 * @param {string} lane @param {T} type @param {object} [fields] @param {How} [how]
	 * @returns {Promise<Replies[T] & Bytes>}
	 */
	latest(lane, type, fields = {}, how = {}) {
		/** @type {Lane} */
		const state = this.lanes.get(lane) ?? { busy: false, waiting: null };
		this.lanes.set(lane, state);
		return new Promise((resolve, reject) => {
			state.waiting?.reject(new Stale());
			state.waiting = { type, fields, how, resolve, reject };
			this.advance(state);
		});
	}

	advance(/** @type {Lane} */ state) {
		if (state.busy || !state.waiting) return;
		const { type, fields, how, resolve, reject } = state.waiting;
		state.waiting = null;
		state.busy = true;
		this.ask(type, fields, how)
			.then(resolve, reject)
			.finally(() => {
				state.busy = false;
				this.advance(state);
			});
	}

	/** Handles a message from Python. Returns false if it does not belong to a request. @param {Reply|Progress|Notice} content @param {Binary[]} [buffers] */
	receive(content, buffers = []) {
		const entry = this.open.get(/** @type {number} */ (content?.req));
		if (!entry) return false;
		if (content.type === "progress") {
			entry.since = this.now();
			entry.progress?.(content.done, content.total);
			return true;
		}
		if (content.type !== "reply") return false;
		this.open.delete(content.req);
		if (entry.bound && entry.message.gen !== this.generation()) entry.reject(new Stale());
		else if (content.ok === false) entry.reject(content.error?.kind === "Stale" ? new Stale() : new Refusal(content.error));
		else entry.resolve({ ...content, bytes: content.b64 ? fromBase64(content.b64) : asBytes(buffers?.[0]) });
		return true;
	}

	/** Returns the waiting time of the oldest open request in milliseconds. */
	waited() {
		let since = Infinity;
		for (const entry of this.open.values()) since = Math.min(since, entry.since);
		return since === Infinity ? 0 : this.now() - since;
	}

	/** Sends all open requests again with the same numbers. */
	retry() {
		for (const entry of this.open.values()) {
			entry.since = this.now();
			this.send(entry.message);
		}
	}

	close() {
		for (const entry of this.open.values()) entry.reject(new Stale());
		this.open.clear();
	}
}
