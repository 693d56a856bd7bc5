// The state that all parts of the browser share, and the edits and requests that change it.

import { classOfKey } from "./class-keys.js";
import { chooser } from "./dialogs.js";
import { h } from "./elements.js";
import { Listeners } from "./listeners.js";
import { ENDED, Refusal, Requests, Stale } from "./requests.js";
import { packPositions, runsOf, Selection, unpackPositions } from "./selection.js";
import { counted } from "./text.js";

const MANY = 500_000;
export const LATE = 10_000;
export const GONE = 40_000;
const SETTINGS = { size: 160, picture: null, caption: null, overlays: {}, colour_by: null, panel: null, theme: "auto" };
const EMPTY_STATE = { generation: 0, rows: 0, ms: 0, query: "" };

/**
 * Rows that an edit is for: their positions in one answer; a single one also by its id, where that is known.
 * @typedef {{positions: number[]|"selected", gen: number, count: number, id?: string|null}} Rows
 */
const MOVED = "Other rows are shown by now, so nothing was edited. Look at the rows again, and repeat the edit.";
const NONE_CHOSEN = "Nothing is selected. Select rows first, by a click or by the arrow keys and Space.";

/** What all parts share: model, open questions, selection, listeners. */
export class Core extends Listeners {
	constructor(model) {
		super();
		this.model = model;
		this.palette = {};
		this.root = null;
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
		/** @type {Rows|null} */
		this.large = null;
		this.ringed = () => false;
		this.noSelection = false;
		this.closing = new AbortController();
		this.sending = 0;
		this.listen();
	}

	listen() {
		const model = this.model;
		const wire = (event, handler) => {
			model.on(event, handler);
			this.atEnd(() => model.off(event, handler));
		};
		wire("msg:custom", (content, buffers) => this.receive(content, buffers));
		wire("comm_live_update", () => this.failed(new Refusal(ENDED)));
		wire("change:state", () => this.turn());
		for (const name of ["settings", "about", "staged", "staged_count", "staged_rows", "drafts", "query", "problem"]) {
			wire(`change:${name}`, () => this.emit(name, model.get(name)));
		}
		wire("change:_selected", () => {
			if (!this.sending) this.takeSelection();
		});
		this.shown = this.state.generation;
		this.asked = JSON.stringify([this.state.query, this.state.tab, this.state.column, this.state.order]);
		this.takeSelection();
		const clock = setInterval(() => this.emit("waited", this.requests.waited()), 1000);
		this.atEnd(() => {
			clearInterval(clock);
			this.requests.close();
		});
	}

	/** Calls when the page is closed. */
	atEnd(stop) {
		this.closing.signal.addEventListener("abort", stop);
	}

	get about() {
		return this.model.get("about") ?? { columns: [], total: 0 };
	}
	get state() {
		return this.model.get("state") ?? EMPTY_STATE;
	}
	get settings() {
		return { ...SETTINGS, ...(this.model.get("settings") ?? {}) };
	}
	get staged() {
		return this.model.get("staged") ?? [];
	}
	get drafts() {
		return this.model.get("drafts") ?? [];
	}
	get stagedRows() {
		return this.model.get("staged_rows") ?? 0;
	}
	get stagedCount() {
		return this.model.get("staged_count") ?? this.staged.length;
	}
	get columns() {
		return this.about.columns ?? [];
	}
	get writable() {
		return Boolean(this.about.writable) && !this.static && !this.ended;
	}
	/** Whether two versions are compared. */
	get compares() {
		return this.about.mode === "diff";
	}
	get static() {
		return Boolean(this.about.static);
	}

	column(name) {
		return this.columns.find((column) => column.name === name);
	}

	/** Whether cells of a column are texts of the data, and not names of classes. */
	holdsData(name, kind = this.column(name)?.kind) {
		return Boolean(kind) && kind !== "class" && kind !== "tags";
	}

	/** An element with a cell of a column. */
	cell(tag, name, text, kind = undefined) {
		return h(tag, this.holdsData(name, kind) ? { raw: text, dir: "auto" } : { text });
	}

	/** Columns of labels that can be set: not those that a query computes. */
	get labelColumns() {
		return this.kinds("class").filter(({ stored = true }) => stored);
	}
	/** The column that keys set. */
	get labels() {
		const columns = this.labelColumns;
		return columns.find((column) => column.name === this.labelling) ?? columns[0];
	}
	classOf(key) {
		return classOfKey(key, this.labels?.classes ?? []);
	}
	kinds(...kinds) {
		return this.columns.filter((column) => kinds.includes(column.kind));
	}

	emit(name, value = null) {
		for (const handler of this.of(name)) {
			try {
				handler(value);
			} catch (error) {
				this.failed(error);
			}
		}
	}

	set(patch) {
		this.model.set("settings", { ...this.settings, ...patch });
		this.model.save_changes();
		this.emit("settings", this.settings);
	}

	/** How many questions are open, for who watches the page. */
	pending() {
		if (this.root) this.root.dataset.pending = this.requests.open.size;
	}

	receive(content, buffers) {
		const ours = this.requests.receive(content, buffers);
		this.pending();
		if (ours) this.emit("waited", this.requests.waited());
		else if (content?.type === "thread") this.model.send({ type: "thread" });
		else if (content?.type === "note") this.note(content.text);
		else if (content?.type === "changed") this.emit("changed", content.positions ?? null);
	}

	/** A new generation is shown. */
	turn() {
		const { generation, rows } = this.state;
		if (generation === this.shown) return this.emit("count");
		const { query, tab, column, order } = this.state;
		const asked = JSON.stringify([query, tab, column, order]);
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

	/** One row: alone, in addition, or with all from the last one on. */
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

	/** Many rows, from a lasso: instead of what is selected, or with it. */
	take(positions, { shiftKey = false, ctrlKey = false, metaKey = false } = {}) {
		if (!shiftKey && !ctrlKey && !metaKey) this.selection = new Selection(this.state.rows);
		for (const position of positions) this.selection.set(position, true);
		if (positions.length) this.anchor = positions[0];
		this.selected();
	}

	/** @returns {Promise<any>} */
	ask(type, fields = {}, how = {}) {
		return this.requests.ask(type, fields, how);
	}
	/** Only the newest question of a lane waits. */
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
	sized(node, /** @type {() => void} */ changed) {
		const observer = new ResizeObserver(changed);
		const stop = () => observer.disconnect();
		observer.observe(node);
		this.atEnd(stop);
		return stop;
	}

	/** Shows an error to the reader; what is stale is no error. */
	failed(error) {
		if (error instanceof Stale || this.closing.signal.aborted) return;
		if (error.kind === ENDED.kind && !this.ended) {
			this.ended = true;
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
	say(text) {
		this.emit("say", text);
	}

	/** One row of what is shown. @returns {Rows} */
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

	note(text) {
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
		const show = (p, gen, column) =>
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
	 */
	async stage(rows, column, value, op = "set") {
		if (!this.editable()) return null;
		this.settleSelection();
		const { positions, gen, id = null } = Array.isArray(rows) ? { positions: rows, gen: this.shown } : rows;
		const bound = id === null ? { positions } : { positions, row: id };
		return this.edit("stage", { gen: id === null ? gen : null, edits: [{ ...bound, column, op, value }] });
	}

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
	async restore({ id }) {
		const { rows, gone } = (await this.edit("restore", { id })) ?? {};
		if (rows !== undefined) this.note(`Restored: ${counted(rows, "row")}${gone ? `; ${counted(gone, "row")} of the draft no longer there` : ""}. Nothing is committed yet.`);
	}

	/** Asks what changes the rows shown: query, filter, sort … */
	async show(type, fields) {
		this.emit("settle");
		this.emit("busy", true);
		try {
			return await this.ask(type, fields);
		} finally {
			this.emit("busy", false);
		}
	}

	/** As `show`; a failure is shown to the reader. */
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
