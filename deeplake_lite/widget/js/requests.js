// Messages to Python and their replies.

import { asBytes, fromBase64 } from "./bytes.js";

/** An answer to what is no longer shown or asked. */
export class Stale extends Error {}

export const ENDED = { kind: "Ended", message: "The kernel has restarted, or ended: this is a picture of what was. Run the cell again; it offers to restore what was staged." };

/** A refusal from Python, with its place in the query where there is one. */
export class Refusal extends Error {
	constructor(error) {
		super(error?.message ?? "The request failed.");
		this.kind = error?.kind ?? "Error";
		this.line = error?.line ?? null;
		this.column = error?.column ?? null;
		this.hint = error?.hint ?? null;
		this.conflicts = error?.conflicts ?? [];
	}
}

/** Which questions are open: numbers, answers, lateness. */
export class Requests {
	/** @param {{send: (message: object) => void, generation?: () => number, now?: () => number, first?: number}} of */
	constructor({ send, generation = () => 0, now = () => performance.now(), first = 1 }) {
		this.send = send;
		this.generation = generation;
		this.now = now;
		this.next = first;
		/** @type {Map<number, any>} */
		this.open = new Map();
		/** @type {Map<string, {busy: boolean, waiting: any}>} */
		this.lanes = new Map();
		this.base64 = false;
	}

	/**
	 * @param {string} type @param {object} fields
	 * @param {{bound?: boolean, progress?: (done: number, total: number) => void}} [how]
	 *   bound: the answer counts only while the generation asked about is shown
	 * @returns {Promise<any>}
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

	/** At most one open question a lane; while it is open only the newest other one waits. */
	latest(lane, type, fields = {}, how = {}) {
		const state = this.lanes.get(lane) ?? { busy: false, waiting: null };
		this.lanes.set(lane, state);
		return new Promise((resolve, reject) => {
			state.waiting?.reject(new Stale());
			state.waiting = { type, fields, how, resolve, reject };
			this.advance(state);
		});
	}

	advance(state) {
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

	/** Takes a message of Python's; false where it is none of ours. */
	receive(content, buffers = []) {
		const entry = this.open.get(content?.req);
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

	/** Milliseconds that the oldest open question has waited. */
	waited() {
		let since = Infinity;
		for (const entry of this.open.values()) since = Math.min(since, entry.since);
		return since === Infinity ? 0 : this.now() - since;
	}

	/** Asks all that is open once more, under the same numbers. */
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
