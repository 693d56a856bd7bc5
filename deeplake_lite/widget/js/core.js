// The state that all parts of the browser share, and the edits and requests that change it.

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
const MOVED = "Other rows are shown by now, so nothing was edited. Look at the rows again, and repeat the edit.";
const NONE_CHOSEN = "Nothing is selected. Select rows first, by a click or by the arrow keys and Space.";

/** @typedef {{positions: number[]|"selected", gen: number, count: number, id?: string|null}} Rows  that an edit is for: their positions in one answer; a single one also by its id, where that is known */
/** @typedef {Rows & {positions: number[]}} Row  a single one */
/** @typedef {"stage"|"undo"|"redo"|"drop"|"forget"|"restore"} Staging  requests that change the staged edits */

/** What all parts share: model, open questions, selection, listeners. */
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
		const wire = (/** @type {string} */ event, /** @type {(...told: any[]) => void} */ handler) => {
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

	/** Calls when the page is closed. */
	atEnd(/** @type {() => void} */ stop) {
		this.closing.signal.addEventListener("abort", stop);
	}

	/** An element with a cell of a column. @param {"span"|"td"|"del"|"ins"} tag @param {string|null|undefined} name @param {string} text @param {Kind} [kind] */
	cell(tag, name, text, kind = undefined) {
		return h(tag, this.holdsData(name, kind) ? { raw: text, dir: "auto" } : { text });
	}

	/** @template {keyof Events} K @param {K} name @param {Events[K]} told */
	emit(name, ...told) {
		for (const handler of this.of(name)) {
			try {
				handler(...told);
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

	/** How many questions are open, for who watches the page. */
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

	/** What is asked for, in one text. */
	question() {
		const { query, tab, column, order } = this.state;
		return JSON.stringify([query, tab, column, order]);
	}

	/** A new generation is shown. */
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

	/** The selection changed here: draw at once, tell Python once a frame. */
	selected() {
		this.emit("selection");
		this.selectionDue ??= requestAnimationFrame(() => this.settleSelection());
	}

	/** Python hears of the selection before it hears of what is done with it. */
	settleSelection() {
		if (this.selectionDue === undefined) return;
		cancelAnimationFrame(this.selectionDue);
		this.selectionDue = undefined;
		this.sendSelection();
	}

	sendSelection() {
		const positions = this.selection.positions();
		if (positions.length > MANY) {
			// servers close the socket beyond 10 MiB a message
			this.ask("select", { what: "runs", runs: runsOf(positions) }).catch((error) => this.failed(error));
		} else {
			this.sending++;
			this.model.set("_selected_of", this.shown); // a click may cross another answer on its way
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
		if (what === "invert") return this.sendSelection(); // Python may not know yet of what was selected
		this.ask("select", { what }).catch((error) => this.failed(error));
		this.say(`${counted(this.selection.count, "row")} selected`);
	}

	/** One row: alone, in addition, or with all from the last one on. @param {number} position */
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

	/** Many rows, from a lasso: instead of what is selected, or with it. @param {ArrayLike<number>&Iterable<number>} positions */
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

	/** Only the newest question of a lane waits. @template {keyof Replies} T @param {T} type @param {object} [fields] @param {How & {lane?: string}} [how] @returns {Promise<Replies[T] & Bytes>} */
	latest(type, fields = {}, { lane = type, ...how } = {}) {
		return this.requests.latest(lane, type, fields, how);
	}

	/** Resolves when what is in view is painted, or after two seconds. */
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

	/** Calls when an element changes its size. */
	sized(/** @type {Element} */ node, /** @type {() => void} */ changed) {
		const observer = new ResizeObserver(changed);
		const stop = () => observer.disconnect();
		observer.observe(node);
		this.atEnd(stop);
		return stop;
	}

	/** Shows an error to the reader; what is stale is no error. @param {any} error  whatever was thrown */
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

	/** For screen readers. */
	say(/** @type {string} */ text) {
		this.emit("say", text);
	}

	/** One row of what is shown. @param {number} position @param {string|null} id @returns {Row} */
	row(position, id = null) {
		return { positions: [position], gen: this.shown, count: 1, id };
	}

	/** What an edit is for: the row at large, those selected (hosts may hold a trait back), or that in the ring. @returns {Rows|null} */
	targets() {
		if (this.large) return this.large;
		const { count } = this.selection;
		if (count) return { positions: count > MANY ? "selected" : [...this.selection.positions()], gen: this.shown, count };
		return this.ringed() && this.state.rows ? this.row(this.active) : null;
	}

	note(/** @type {string} */ text) {
		this.emit("banner", { level: "note", text });
	}

	/** Whether rows can be edited; the reader hears why they cannot be. */
	editable() {
		if (!this.writable) this.note(this.ended ? ENDED.message : this.static ? "This page is a copy: open the dataset in a notebook to edit." : "This version is read only: show a branch to edit.");
		return this.writable;
	}

	/** The rows to edit, as they are chosen now; where there are none, the reader hears why. */
	toEdit() {
		if (!this.editable()) return null;
		const rows = this.targets();
		if (!rows) this.note(NONE_CHOSEN);
		return rows;
	}

	/** The one row that is meant, -1 for none: at large, in the ring, the last or the first of those selected. */
	meant() {
		if (this.large) return this.large.positions[0];
		if (this.selection.has(this.active) || this.ringed()) return this.active;
		return this.selection.positions()[0] ?? -1;
	}

	alike() {
		const { alike = [], has_ids: known = true } = this.about;
		const why = this.static
			? "This page is a copy: open the dataset in a notebook to find rows like this one"
			: !known
				? "Rows of this query are no rows of the dataset: take the query back to find rows like one"
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
		return /** @type {const} */ ([why || "Rows most like this one, by their embedding (r)", act, { "aria-disabled": why ? "true" : null }]);
	}

	/**
	 * Stages an edit of some rows, whose cells are then asked again. A row with an id is the same in another answer.
	 * @param {Rows|number[]} rows  positions alone are those of what is shown now
	 * @param {string|null} column @param {any} value @param {Op} op
	 */
	async stage(rows, column, value, op = "set") {
		if (!this.editable()) return null;
		this.settleSelection();
		const { positions, gen, id = null } = Array.isArray(rows) ? { positions: rows, gen: this.shown } : rows;
		const bound = id === null ? { positions } : { positions, row: id };
		return this.edit("stage", { gen: id === null ? gen : null, edits: [{ ...bound, column, op, value }] });
	}

	/** Asks for what changes the staged edits; null where that failed, which the reader hears. @template {Staging} T @param {T} type @param {object} [fields] @returns {Promise<(Replies[T] & Bytes)|null>} */
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

	/** Stages again what a browser left behind that ended with edits staged. */
	async restore(/** @type {Draft} */ { id }) {
		const { rows, gone } = (await this.edit("restore", { id })) ?? {};
		if (rows !== undefined) this.note(`Restored: ${counted(rows, "row")}${gone ? `; ${counted(gone, "row")} of the draft no longer there` : ""}. Nothing is committed yet.`);
	}

	/** Asks what changes the rows shown: query, filter, sort … @template {keyof Replies} T @param {T} type @param {object} fields */
	async show(type, fields) {
		this.emit("settle");
		this.emit("busy", true);
		try {
			return await this.ask(type, fields);
		} finally {
			this.emit("busy", false);
		}
	}

	/** As `show`; a failure is shown to the reader. @template {keyof Replies} T @param {T} type @param {object} fields @returns {Promise<(Replies[T] & Bytes)|void>} */
	attempt(type, fields) {
		return this.show(type, fields).catch((error) => this.failed(error));
	}

	async hello() {
		const probe = [1, 2, 3, 4];
		for (const base64 of [false, true]) {
			const reply = await this.ask("hello", base64 ? { base64 } : { threads: true });
			if (probe.every((byte, i) => reply.bytes[i] === byte)) return this.root.setAttribute("data-heard", "");
		}
		throw new Refusal({ message: "This notebook drops binary messages, and text ones too: pictures cannot be shown." });
	}
}
