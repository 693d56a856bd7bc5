// The state that all parts of the page share, and the edits and requests that change it.

import { chooser } from "./dialogs.js";
import { h } from "./elements.js";
import { ENDED, Refusal, Requests, Stale } from "./requests.js";
import { packPositions, runsOf, Selection, unpackPositions } from "./selection.js";
import { counted } from "./text.js";
import { Traits } from "./traits.js";

/** @import { Binary } from "./bytes.js" */
/** @import { Bytes, Draft, Kind, Model, Notice, Op, Progress, Replies, Reply, Settings } from "./messages.js" */
/** @import { How } from "./requests.js" */
/** @import { Palette } from "./theme.js" */
/** @import { Events } from "./traits.js" */

const MANY = 500_000;
export const LATE = 10_000;
export const GONE = 40_000;
const MOVED = "The shown rows have changed, so nothing was edited. Check the rows, then repeat the edit.";
const NONE_CHOSEN = "Nothing is selected. Select rows first, with a click or with the arrow keys and Space.";

/** @typedef {{positions: number[]|"selected", gen: number, count: number, id?: string|null}} Rows  the rows of an edit, by their positions in one result. A single row also has its id, if known */
/** @typedef {Rows & {positions: number[]}} Row  a single row */
/** @typedef {"stage"|"undo"|"redo"|"drop"|"forget"|"restore"} Staging  requests that change the staged edits */

/** The shared state: model, open requests, selection and listeners. */
export class Core extends Traits {
	constructor(/** @type {Model} */ model) {
		super(model);
		/** @type {Palette} */
		this.palette = {};
		this.root = h("div", { class: "dl-browser", role: "region" });
		this.requests = new Requests({
			send: (message) => {
				model.send(message);
				this.pending();
			},
			generation: () => this.state.generation,
			first: 1 + Math.floor(Math.random() * 1e9) * 1000,
		});
		this.selection = new Selection(0);
		this.active = 0;
		this.anchor = 0;
		this.hovered = -1;
		/** @type {Row|null} */
		this.large = null;
		this.ringed = () => false;
		this.noSelection = false;
		this.closing = new AbortController();
		this.sending = 0;
		this.shown = this.state.generation;
		this.asked = this.question();
		this.painted = -1;
		/** @type {number|undefined} */
		this.selectionDue = undefined;
		this.listen();
	}

	listen() {
		const model = this.model;
		const wire = (/** @type {string} */ event, /** @type {(...args: any[]) => void} */ handler) => {
			model.on(event, handler);
			this.atEnd(() => model.off(event, handler));
		};
		wire("msg:custom", (content, buffers) => this.receive(content, buffers));
		wire("comm_live_update", () => this.failed(new Refusal(ENDED)));
		wire("change:state", () => this.turn());
		for (const name of /** @type {const} */ (["settings", "about", "staged", "staged_count", "staged_rows", "drafts", "query", "problem"])) {
			wire(`change:${name}`, () => this.emit(name));
		}
		wire("change:_selected", () => {
			if (!this.sending) this.takeSelection();
		});
		this.takeSelection();
		const clock = setInterval(() => this.emit("waited", this.requests.waited()), 1000);
		this.atEnd(() => {
			clearInterval(clock);
			this.requests.close();
		});
	}

	/** Calls a function when the page is closed. */
	atEnd(/** @type {() => void} */ stop) {
		this.closing.signal.addEventListener("abort", stop);
	}

	/** Returns an element that shows a cell of a column. @param {"span"|"td"|"del"|"ins"} tag @param {string|null|undefined} name @param {string} text @param {Kind} [kind] */
	cell(tag, name, text, kind = undefined) {
		return h(tag, this.holdsData(name, kind) ? { raw: text, dir: "auto" } : { text });
	}

	/** @template {keyof Events} K @param {K} name @param {Events[K]} args */
	emit(name, ...args) {
		for (const handler of this.of(name)) {
			try {
				handler(...args);
			} catch (error) {
				this.failed(error);
			}
		}
	}

	set(/** @type {Partial<Settings>} */ patch) {
		this.model.set("settings", { ...this.settings, ...patch });
		this.model.save_changes();
		this.emit("settings");
	}

	/** Publishes the number of open requests for tests. */
	pending() {
		this.root.dataset.pending = String(this.requests.open.size);
	}

	/** @param {Reply|Progress|Notice} content @param {Binary[]} buffers */
	receive(content, buffers) {
		const ours = this.requests.receive(content, buffers);
		this.pending();
		if (ours) this.emit("waited", this.requests.waited());
		else if (content?.type === "thread") this.model.send({ type: "thread" });
		else if (content?.type === "note") this.note(content.text ?? "");
		else if (content?.type === "changed") this.emit("changed", content.positions ?? null);
	}

	/** Returns the query and order as a string, to detect changes. */
	question() {
		const { query, tab, column, order } = this.state;
		return JSON.stringify([query, tab, column, order]);
	}

	/** Updates the page after Python has shown another result. */
	turn() {
		const { generation, rows } = this.state;
		if (generation === this.shown) return this.emit("count");
		const asked = this.question();
		const same = asked === this.asked;
		this.asked = asked;
		this.shown = generation;
		this.active = Math.min(this.active, Math.max(0, rows - 1));
		this.anchor = this.active;
		this.hovered = -1;
		this.takeSelection();
		this.emit("state", { same });
		this.say(`${counted(rows, "row")} shown`);
	}

	takeSelection() {
		this.selection = Selection.of(this.state.rows, unpackPositions(this.model.get("_selected")));
		this.emit("selection");
	}

	/** Draws a local change of the selection immediately, and sends it to Python once per frame. */
	selected() {
		this.emit("selection");
		this.selectionDue ??= requestAnimationFrame(() => this.settleSelection());
	}

	/** Sends a pending selection, so that Python receives it before the next request. */
	settleSelection() {
		if (this.selectionDue === undefined) return;
		cancelAnimationFrame(this.selectionDue);
		this.selectionDue = undefined;
		this.sendSelection();
	}

	sendSelection() {
		const positions = this.selection.positions();
		if (positions.length > MANY) {
			// servers close the socket if a message exceeds 10 MiB
			this.ask("select", { what: "runs", runs: runsOf(positions) }).catch((error) => this.failed(error));
		} else {
			this.sending++;
			this.model.set("_selected_of", this.shown); // Python may show another result by the time this arrives
			this.model.set("_selected", packPositions(positions));
			this.model.save_changes();
			this.sending--;
		}
		const { count } = this.selection;
		this.say(count ? `${counted(count, "row")} selected` : "Nothing selected");
	}

	select(/** @type {"all"|"none"|"invert"} */ what) {
		const { rows } = this.state;
		if (what === "none") this.selection = new Selection(rows);
		else if (what === "all") {
			this.selection = new Selection(rows);
			if (rows) this.selection.range(0, rows - 1);
		} else {
			for (let i = 0; i < rows; i++) this.selection.toggle(i);
		}
		this.emit("selection");
		if (what === "invert") return this.sendSelection(); // Python may not have the old selection yet
		this.ask("select", { what }).catch((error) => this.failed(error));
		this.say(`${counted(this.selection.count, "row")} selected`);
	}

	/** Selects one row, either alone, or in addition to others, or with all rows between it and the last selected row. @param {number} position */
	pick(position, { range = false, toggle = false } = {}) {
		if (range) {
			if (!toggle) this.selection = new Selection(this.state.rows);
			this.selection.range(this.anchor, position);
		} else if (toggle) {
			this.selection.toggle(position);
			this.anchor = position;
		} else {
			this.selection = Selection.of(this.state.rows, [position]);
			this.anchor = position;
		}
		this.active = position;
		this.selected();
	}

	/** Selects the rows in a lasso, instead of or in addition to the selected rows. @param {ArrayLike<number>&Iterable<number>} positions */
	take(positions, { shiftKey = false, ctrlKey = false, metaKey = false } = {}) {
		if (!shiftKey && !ctrlKey && !metaKey) this.selection = new Selection(this.state.rows);
		for (const position of positions) this.selection.set(position, true);
		if (positions.length) this.anchor = positions[0];
		this.selected();
	}

	/** @template {keyof Replies} T @param {T} type @param {object} [fields] @param {How} [how] @returns {Promise<Replies[T] & Bytes>} */
	ask(type, fields = {}, how = {}) {
		return this.requests.ask(type, fields, how);
	}

	/** Sends a request in a lane, which only keeps the newest of its waiting requests. @template {keyof Replies} T @param {T} type @param {object} [fields] @param {How & {lane?: string}} [how] @returns {Promise<Replies[T] & Bytes>} */
	latest(type, fields = {}, { lane = type, ...how } = {}) {
		return this.requests.latest(lane, type, fields, how);
	}

	/** Resolves when the visible cards are painted, or after two seconds. */
	whenPainted() {
		if (this.painted === this.shown) return Promise.resolve();
		return new Promise((resolve) => {
			const stop = this.on("painted", () => {
				stop();
				resolve(null);
			});
			setTimeout(() => {
				stop();
				resolve(null);
			}, 2000);
		});
	}

	/** Calls a function when an element is resized. */
	sized(/** @type {Element} */ node, /** @type {() => void} */ changed) {
		const observer = new ResizeObserver(changed);
		const stop = () => observer.disconnect();
		observer.observe(node);
		this.atEnd(stop);
		return stop;
	}

	/** Shows an error to the user. Stale replies are not errors. @param {any} error  any thrown value */
	failed(error) {
		if (error instanceof Stale || this.closing.signal.aborted) return;
		if (error.kind === ENDED.kind && !this.ended) {
			this.end();
			this.root.removeAttribute("data-heard");
			this.emit("about");
		}
		this.emit("banner", { level: "error", text: error?.message ?? String(error) });
		if (!(error instanceof Refusal)) {
			console.error(error);
			this.model.send({ type: "failed", message: String(error?.stack ?? error) });
		}
	}

	/** Announces a text to screen readers. */
	say(/** @type {string} */ text) {
		this.emit("say", text);
	}

	/** Returns a row of the shown result. @param {number} position @param {string|null} id @returns {Row} */
	row(position, id = null) {
		return { positions: [position], gen: this.shown, count: 1, id };
	}

	/** Returns the rows to edit: the row in the detail panel, the selected rows, or the focused row. A few selected rows are sent as positions, because notebook front ends may deliver the trait `selected` later than the request. For many rows, Python reads the trait. @returns {Rows|null} */
	targets() {
		if (this.large) return this.large;
		const { count } = this.selection;
		if (count) return { positions: count > MANY ? "selected" : [...this.selection.positions()], gen: this.shown, count };
		return this.ringed() && this.state.rows ? this.row(this.active) : null;
	}

	note(/** @type {string} */ text) {
		this.emit("banner", { level: "note", text });
	}

	/** Whether rows can be edited. If not, shows the reason. */
	editable() {
		if (!this.writable) this.note(this.ended ? ENDED.message : this.static ? "This page is a static copy. Open the dataset in a notebook to edit it." : "This version is read-only. Show a branch to edit it.");
		return this.writable;
	}

	/** Returns the rows to edit now. If there are none, shows the reason. */
	toEdit() {
		if (!this.editable()) return null;
		const rows = this.targets();
		if (!rows) this.note(NONE_CHOSEN);
		return rows;
	}

	/** Returns the position of the row for an action: the row in the detail panel, the active row if it is selected or focused, or the first selected row. Returns -1 if there is none. */
	meant() {
		if (this.large) return this.large.positions[0];
		if (this.selection.has(this.active) || this.ringed()) return this.active;
		return this.selection.positions()[0] ?? -1;
	}

	alike() {
		const { alike = [], has_ids: known = true } = this.about;
		const why = this.static
			? "This page is a static copy. Open the dataset in a notebook to find rows like this one."
			: !known
				? "The rows of this query are not rows of the dataset. Clear the query to find similar rows."
				: alike.length
					? ""
					: 'Needs a column of embeddings: ds.add_column("embedding", dl.Embedding(512), values=vectors)';
		const show = (/** @type {number} */ p, /** @type {number} */ gen, /** @type {string} */ column) =>
			this.attempt("neighbours", { p, gen, column }).then((reply) => {
				if (!reply) return;
				this.active = this.anchor = 0;
				this.emit("grid");
			});
		const act = () => {
			const [p, gen] = [this.meant(), this.shown];
			if (why || p < 0) this.note(why || NONE_CHOSEN);
			else if (alike.length > 1) chooser(this.root, "More like this, by", alike, ({ name }) => show(p, gen, name), { classes: false });
			else show(p, gen, alike[0]);
		};
		return /** @type {const} */ ([why || "Rows most similar to this one, by their embedding (r)", act, { "aria-disabled": why ? "true" : null }]);
	}

	/**
	 * Stages an edit of some rows, and then requests their cells again. A row with an id can be found in another result.
	 * @param {Rows|number[]} rows  bare positions refer to the shown result
	 * @param {string|null} column @param {any} value @param {Op} op
	 */
	async stage(rows, column, value, op = "set") {
		if (!this.editable()) return null;
		this.settleSelection();
		const { positions, gen, id = null } = Array.isArray(rows) ? { positions: rows, gen: this.shown } : rows;
		const bound = id === null ? { positions } : { positions, row: id };
		return this.edit("stage", { gen: id === null ? gen : null, edits: [{ ...bound, column, op, value }] });
	}

	/** Sends a request that changes the staged edits. If it fails, shows the error and returns null. @template {Staging} T @param {T} type @param {object} [fields] @returns {Promise<(Replies[T] & Bytes)|null>} */
	async edit(type, fields = {}) {
		this.emit("settle");
		try {
			const reply = await this.ask(type, fields);
			this.emit("undoable", reply);
			this.emit("changed", reply.positions ?? null);
			return reply;
		} catch (error) {
			if (error instanceof Stale) this.note(MOVED);
			else this.failed(error);
			return null;
		}
	}

	/** Stages the edits of a draft. */
	async restore(/** @type {Draft} */ { id }) {
		const { rows, gone } = (await this.edit("restore", { id })) ?? {};
		if (rows !== undefined) this.note(`Restored: ${counted(rows, "row")}${gone ? `; ${counted(gone, "row")} of the draft could not be found` : ""}. Nothing is committed yet.`);
	}

	/** Sends a request that changes the shown rows: query, filter, sort … @template {keyof Replies} T @param {T} type @param {object} fields */
	async show(type, fields) {
		this.emit("settle");
		this.emit("busy", true);
		try {
			return await this.ask(type, fields);
		} finally {
			this.emit("busy", false);
		}
	}

	/** Does the same as `show`, and shows failures to the user. @template {keyof Replies} T @param {T} type @param {object} fields @returns {Promise<(Replies[T] & Bytes)|void>} */
	attempt(type, fields) {
		return this.show(type, fields).catch((error) => this.failed(error));
	}

	async hello() {
		const probe = [1, 2, 3, 4];
		for (const base64 of [false, true]) {
			const reply = await this.ask("hello", base64 ? { base64 } : { threads: true });
			if (probe.every((byte, i) => reply.bytes[i] === byte)) return this.root.setAttribute("data-heard", "");
		}
		throw new Refusal({ message: "Images cannot be shown, because this notebook drops messages with binary data, even if they are sent as text." });
	}
}
