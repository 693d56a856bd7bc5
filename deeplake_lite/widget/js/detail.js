// The detail panel: the image of a row, its values, and inputs to edit them.

import { BoxEditor, boxesIn, unmarkedIn } from "./box-editor.js";
import { dropCell, readCell } from "./cells.js";
import { check, div, dotted, h, handled, iconButton, labelled, padded, quiet, say, space, span, strong, targetOf, tickIn } from "./elements.js";
import { Fields } from "./fields.js";
import { WHOLE } from "./geometry.js";
import { shortTime, timeOf } from "./numbers.js";
import { OVERLAYS } from "./overlays.js";
import { density } from "./painted.js";
import { Stale } from "./requests.js";
import { asText, brief, grouped, visible, visibleLines } from "./text.js";
import { Viewer } from "./viewer.js";
/** @import { Core, Row } from "./core.js" */
/** @import { Bytes, RowData } from "./messages.js" */

/**
 * Decodes the chosen or the first image of a row, with its marks.
 * @param {RowData & Bytes} reply @param {string|null} picture @param {number} level
 */
export async function readRow(reply, picture, level) {
	const pictures = reply.columns.filter((column) => column.v && !/^(audio|video)/.test(column.v[2]) && !OVERLAYS.includes(column.kind));
	const wanted = reply.picture ?? picture;
	const main = pictures.find((column) => column.name === wanted) ?? pictures[0] ?? reply.columns.find((column) => column.v && column.kind === "mask");
	const marks = Object.fromEntries(reply.columns.filter((column) => column.marks).map((column) => [column.name, column.marks]));
	const cell = await readCell({ p: reply.position, v: main?.v ?? null, w: reply.w, h: reply.h, marks }, reply.bytes, level, "");
	return { main, cell };
}

/** The detail panel of a row, with its image, all columns, and its history. */
export class Detail {
	constructor(/** @type {Core} */ core, /** @type {() => void} */ closed) {
		this.core = core;
		this.closed = closed;
		this.viewer = new Viewer(core);
		this.fields = new Fields(core, () => this.element.focus());
		this.position = -1;
		/** @type {(RowData & Bytes)|null} */
		this.row = null;
		/** @type {(RowData & Bytes)|null} */
		this.newest = null;
		/** @type {BoxEditor|null} */
		this.editor = null;
		/** @type {Row|null} */
		this.filled = null;
		this.boxable = false;
		this.full = false;
		this.since = 0;
		const { viewer } = this;
		const draw = () => this.redraw();
		this.stops = [core.on("changed", () => this.position >= 0 && this.load()), core.on("selection", () => this.head()), core.on("settings", () => (this.row && this.row.picture !== core.settings.picture ? this.load() : draw())), core.on("theme", draw)];
		this.title = h("h2", {});
		this.boxing = iconButton("box", "Edit boxes (b)", () => this.toggleBoxes(), { "aria-pressed": "false" });
		this.hint = h("p", { class: "dl-hint", hidden: true, text: "Drag to draw, move or resize. Digits or l: class. Delete: remove. n: next. a: add. Esc: done." });
		this.unmarked = h("p", { class: "dl-unmarked", role: "note", hidden: true });
		this.boxing.hidden = !core.kinds("boxes").some(({ stored = true }) => stored) || !core.writable;
		this.alike = labelled("alike", "More like this", ...core.alike());
		this.ticked = check("Selected", { onchange: () => core.pick(this.position, { toggle: true }) });
		this.tick = tickIn(this.ticked);
		this.frame = div("dl-viewer-box", viewer.element, this.unmarked, this.hint);
		this.info = h("div", { class: "dl-info", tabindex: "0", role: "group", "aria-label": "Columns" });
		this.element = h(
			"section",
			{ class: "dl-detail", tabindex: "-1", "aria-label": "Row", onkeydown: (event) => this.key(event) },
			div(
				"dl-detail-head",
				iconButton("left", "Previous row (←)", () => this.step(-1)),
				iconButton("right", "Next row (→)", () => this.step(1)),
				this.title,
				this.ticked,
				space(),
				this.alike,
				this.boxing,
				iconButton("minus", "Zoom out (−)", () => viewer.zoom(1 / 1.4)),
				iconButton("fit", "Fit (0)", () => viewer.fit()),
				iconButton("plus", "Zoom in (+)", () => viewer.zoom(1.4)),
				iconButton("close", "Back to the grid (Esc)", () => this.close()),
			),
			div("dl-detail-body", this.frame, this.info),
		);
		viewer.moved = () => this.sharper();
	}

	/** Draws the image again, with the current colours and settings. */
	redraw() {
		this.viewer.later();
	}

	close() {
		if (!this.element.isConnected) return;
		this.leave();
		this.stops.forEach((stop) => stop());
		this.leaveField();
		this.position = -1;
		this.core.large = null;
		this.viewer.close();
		this.fields.forget();
		this.element.remove();
		this.closed();
	}

	step(/** @type {number} */ by) {
		const next = this.position + by;
		if (next < 0 || next >= this.core.state.rows) return;
		this.core.active = next;
		this.core.emit("reveal", next);
		this.show(next);
	}

	show(/** @type {number} */ position) {
		this.leave();
		this.leaveField();
		this.position = position;
		this.core.large = this.core.row(position);
		this.full = false;
		this.viewer.view = WHOLE;
		this.info.inert = true; // until the row has been read, the inputs belong to the previous row
		this.head();
		this.core.say(this.title.textContent ?? "");
		return this.load();
	}

	/** Removes the focus from an input, so that its text is staged before the input is removed. */
	leaveField() {
		if (this.info.querySelector(":focus")) this.element.focus({ preventScroll: true });
	}

	/** Updates the title and the check box. */
	head() {
		say(this.title, `Row ${grouped(this.position)} of ${grouped(this.core.state.rows)}`);
		this.tick.checked = this.core.selection.has(this.position);
	}

	async load(size = this.full ? 0 : 1024) {
		const { position } = this;
		this.element.classList.add("dl-loading");
		try {
			await this.read(position, size);
		} catch (/** @type {any} */ error) {
			if (error instanceof Stale || position !== this.position) return;
			this.info.inert = false;
			this.info.replaceChildren(padded(`This row cannot be read: ${error.message}`));
		} finally {
			if (position === this.position) this.element.classList.remove("dl-loading");
		}
	}

	/** @param {number} position @param {number} size */
	async read(position, size) {
		const reply = await this.core.latest("detail", { p: position, size }, { bound: true });
		if (position === this.position) await this.take(reply, size);
	}

	/** @param {RowData & Bytes} reply @param {number} size */
	async take(reply, size) {
		const { core } = this;
		this.newest = reply;
		const { main, cell } = await readRow(reply, core.settings.picture, size || 1e9);
		if (reply !== this.newest || reply.position !== this.position || reply.gen !== core.shown || reply.req < this.since) return dropCell(cell);
		this.since = reply.req;
		core.large = core.row(reply.position, reply.id ?? null);
		this.head();
		this.viewer.show(cell);
		this.frame.hidden = !main;
		this.element.classList.toggle("dl-no-picture", !main);
		this.viewer.element.setAttribute("aria-label", `${visible(main?.name ?? "Image")} of row ${this.position}`);
		this.row = reply;
		this.boxable = Boolean(core.writable && boxesIn(reply) && main);
		if (this.boxable) this.editor?.take(reply);
		else this.leaveBoxes();
		this.boxing.hidden = !this.boxable;
		this.sayUnmarked(reply);
		this.fill(reply);
	}

	/** Shows the reasons for marks that are not drawn. */
	sayUnmarked(/** @type {(RowData|null|undefined)[]} */ ...rows) {
		say(this.unmarked, visibleLines(unmarkedIn(rows)), { raw: true });
		this.unmarked.hidden = !this.unmarked.textContent;
	}

	/** Requests the full image when the shown image has too few pixels for the zoom. */
	sharper() {
		const { cell } = this.viewer;
		const shown = this.viewer.rect().w * density();
		if (this.full || !cell?.bitmap || shown < cell.bitmap.width * 1.3 || (cell.w ?? 0) <= cell.bitmap.width) return;
		this.full = true;
		this.load(0);
	}

	// the columns

	/** Shows the columns of a row. While the user types and the row stays the same, the inputs are not replaced. */
	fill(/** @type {RowData & Bytes} */ { columns, id, bytes }) {
		const { large: row } = this.core;
		if (!row) return;
		const same = this.filled && row.id !== null && this.filled.id === row.id && this.filled.positions[0] === row.positions[0];
		const typing = "textarea, input:not([type=checkbox])";
		if (same && this.info.querySelector(":focus")?.matches(typing)) return;
		if (!same) this.leaveField();
		/** @type {HTMLElement|null} */
		const held = this.info.querySelector(":focus");
		this.filled = row;
		this.info.inert = false;
		this.fields.forget();
		const open = this.info.querySelector("details")?.open;
		const summary = h("summary", { text: "History" });
		const history = h("details", { class: "dl-history" }, summary);
		history.addEventListener("toggle", () => history.open && this.history(history));
		this.info.replaceChildren(h("dl", {}, ...columns.map((column) => this.fields.line({ ...column, row }, bytes)), div("dl-field", h("dt", {}, span("row id")), h("dd", { class: "dl-mono", text: String(id ?? "") }))), this.core.static ? "" : history);
		if (open) history.open = true;
		const kept = "[type=checkbox], select, .dl-null";
		/** @type {Iterable<HTMLElement>} */
		const alike = held?.matches("summary") ? [summary] : held?.matches(kept) ? this.info.querySelectorAll(kept) : [];
		if (held) ([...alike].find((field) => field.ariaLabel === held.ariaLabel) ?? this.info).focus();
	}

	async history(/** @type {HTMLDetailsElement} */ details) {
		const { position } = this;
		const note = quiet("Searching the versions …", "p");
		while (details.childElementCount > 1) details.lastElementChild?.remove();
		details.append(note);
		try {
			const { versions, complete: all } = await this.core.latest("history", { p: position }, { bound: true });
			note.remove();
			details.append(
				h(
					"ol",
					{ class: "dl-changes" },
					...versions.map((version) =>
						h(
							"li",
							{},
							strong(version.message || "(no message)"),
							quiet(dotted(shortTime(timeOf(version.time), 0), version.author, brief(version.version))),
							...version.changes.map((change) => div("dl-change", span(change.column ?? ""), this.core.cell("del", change.column, asText(change.before)), "→", this.core.cell("ins", change.column, asText(change.after)))),
						),
					),
				),
				(!versions.length && quiet("No version changed this row.", "p")) || "",
				(!all && quiet("Older versions were not searched.", "p")) || "",
			);
		} catch (/** @type {any} */ error) {
			if (!(error instanceof Stale)) say(note, error.message);
		}
	}

	// boxes and keys

	toggleBoxes() {
		if (this.viewer.boxes) return this.stopBoxes();
		if (!this.boxable || !this.row) return this.unmarked.hidden ? undefined : this.core.note(this.unmarked.textContent ?? "");
		this.editor ??= new BoxEditor(this.core, this.viewer, this.row);
		this.viewer.boxes = this.editor;
		this.boxing.setAttribute("aria-pressed", "true");
		this.hint.hidden = false;
		this.viewer.later();
	}

	/** Saves the edits of this row before another row is shown. */
	leave() {
		this.leaveBoxes();
		this.row = null;
		this.boxable = false;
		this.since = this.core.requests.next;
	}

	leaveBoxes() {
		this.stopBoxes();
		this.editor?.close();
		this.editor = null;
	}

	stopBoxes() {
		this.viewer.boxes?.settle();
		this.viewer.boxes = null;
		this.viewer.element.style.cursor = "";
		this.boxing.setAttribute("aria-pressed", "false");
		this.hint.hidden = true;
		this.viewer.later();
	}

	key(/** @type {KeyboardEvent} */ event) {
		const target = targetOf(event);
		if (target.closest("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
		const { viewer } = this;
		const boxed = viewer.boxes?.key(event);
		/** @type {Record<string, false|(() => unknown)>} */
		const acts = {
			ArrowLeft: () => this.step(-1),
			ArrowRight: () => this.step(1),
			b: () => this.toggleBoxes(),
			0: this.core.classOf("0") < 0 && (() => viewer.fit()),
			"+": () => viewer.zoom(1.4),
			"=": () => viewer.zoom(1.4),
			"-": () => viewer.zoom(1 / 1.4),
			Escape: () => (viewer.boxes ? this.stopBoxes() : this.close()),
			" ": () => this.tick.click(),
		};
		const act = boxed ? () => {} : acts[event.key];
		if (!act || (event.key === " " && target.closest("button, summary"))) return;
		handled(event);
		act();
	}
}
