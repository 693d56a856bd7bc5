// One row, large: its image, values and fields to edit.

import { BoxEditor, boxesIn, unmarkedIn } from "./box-editor.js";
import { dropCell, readCell } from "./cells.js";
import { blobOf } from "./decode.js";
import { chooser } from "./dialogs.js";
import { check, div, dot, dotted, h, handled, icon, iconButton, labelled, padded, quiet, say, select, space, span, strong, textButton } from "./elements.js";
import { WHOLE } from "./geometry.js";
import { shortTime, timeOf } from "./numbers.js";
import { OVERLAYS } from "./overlays.js";
import { density } from "./painted.js";
import { Stale } from "./requests.js";
import { asText, brief, grouped, visible, visibleLines } from "./text.js";
import { Viewer } from "./viewer.js";

/** What is drawn of one row: its picture, or the first there is, and its marks. */
export async function readRow(reply, picture, level) {
	const pictures = reply.columns.filter((column) => column.v && !/^(audio|video)/.test(column.v[2]) && !OVERLAYS.includes(column.kind));
	const wanted = reply.picture ?? picture;
	const main = pictures.find((column) => column.name === wanted) ?? pictures[0] ?? reply.columns.find((column) => column.v && column.kind === "mask");
	const marks = Object.fromEntries(reply.columns.filter((column) => column.marks).map((column) => [column.name, column.marks]));
	const cell = await readCell({ p: reply.position, v: main?.v ?? null, w: reply.w, h: reply.h, marks }, reply.bytes, level, "");
	return { main, cell };
}

/** One row: its picture, every column, its history. */
export class Detail {
	constructor(core, /** @type {() => void} */ closed) {
		this.core = core;
		this.closed = closed;
		this.viewer = new Viewer(core);
		this.position = -1;
		this.urls = [];
		const draw = () => this.viewer.later();
		this.stops = [core.on("changed", () => this.position >= 0 && this.load()), core.on("selection", () => this.head()), core.on("settings", () => (this.row && this.row.picture !== core.settings.picture ? this.load() : draw())), core.on("theme", draw)];
		this.build();
	}

	build() {
		const { core, viewer } = this;
		this.title = h("h2", {});
		this.boxing = iconButton("box", "Edit boxes (b)", () => this.toggleBoxes(), { "aria-pressed": "false" });
		this.hint = h("p", { class: "dl-hint", hidden: true, text: "Drag to draw, move or resize. Digits or l: class. Delete: remove. n: next. a: add. Esc: done." });
		this.unmarked = h("p", { class: "dl-unmarked", role: "note", hidden: true });
		this.boxing.hidden = !core.kinds("boxes").some(({ stored = true }) => stored) || !core.writable;
		this.alike = labelled("alike", "More like this", ...core.alike());
		const ticked = check("Selected", { onchange: () => core.pick(this.position, { toggle: true }) });
		this.tick = ticked.firstChild;
		this.info = h("div", { class: "dl-info", tabindex: "0", role: "group", "aria-label": "Columns" });
		this.element = h(
			"section",
			{ class: "dl-detail", tabindex: "-1", "aria-label": "Row", onkeydown: (event) => this.key(event) },
			div(
				"dl-detail-head",
				iconButton("left", "Previous row (←)", () => this.step(-1)),
				iconButton("right", "Next row (→)", () => this.step(1)),
				this.title,
				ticked,
				space(),
				this.alike,
				this.boxing,
				iconButton("minus", "Zoom out (−)", () => viewer.zoom(1 / 1.4)),
				iconButton("fit", "Fit (0)", () => viewer.fit()),
				iconButton("plus", "Zoom in (+)", () => viewer.zoom(1.4)),
				iconButton("close", "Back to the grid (Esc)", () => this.close()),
			),
			div("dl-detail-body", div("dl-viewer-box", viewer.element, this.unmarked, this.hint), this.info),
		);
		viewer.moved = () => this.sharper();
	}

	close() {
		if (!this.element.isConnected) return;
		this.leave();
		this.stops.forEach((stop) => stop());
		this.leaveField();
		this.position = -1;
		this.core.large = null;
		this.viewer.close();
		this.forget();
		this.element.remove();
		this.closed();
	}

	forget() {
		this.urls.splice(0).forEach((url) => URL.revokeObjectURL(url));
	}

	step(by) {
		const next = this.position + by;
		if (next < 0 || next >= this.core.state.rows) return;
		this.core.active = next;
		this.core.emit("reveal", next);
		this.show(next);
	}

	show(position) {
		this.leave();
		this.leaveField();
		this.position = position;
		this.core.large = this.core.row(position);
		this.full = false;
		this.viewer.view = WHOLE;
		this.info.inert = true; // its fields are those of another row, until this one is read
		this.head();
		this.core.say(this.title.textContent);
		return this.load();
	}

	/** What is typed into a field is staged for its row, before the field goes. */
	leaveField() {
		if (this.info.querySelector(":focus")) this.element.focus({ preventScroll: true });
	}

	/** Which row of how many, and whether it is selected. */
	head() {
		say(this.title, `Row ${grouped(this.position)} of ${grouped(this.core.state.rows)}`);
		this.tick.checked = this.core.selection.has(this.position);
	}

	async load(size = this.full ? 0 : 1024) {
		const { position } = this;
		this.element.classList.add("dl-loading");
		try {
			await this.read(position, size);
		} catch (error) {
			if (error instanceof Stale || position !== this.position) return;
			this.info.inert = false;
			this.info.replaceChildren(padded(`This row cannot be read: ${error.message}`));
		} finally {
			if (position === this.position) this.element.classList.remove("dl-loading");
		}
	}

	async read(position, size) {
		const reply = await this.core.latest("detail", { p: position, size }, { bound: true });
		if (position === this.position) await this.take(reply, size);
	}

	async take(reply, size) {
		const { core } = this;
		this.newest = reply;
		const { main, cell } = await readRow(reply, core.settings.picture, size || 1e9);
		if (reply !== this.newest || reply.position !== this.position || reply.gen !== core.shown || reply.req < this.since) return dropCell(cell);
		this.since = reply.req;
		core.large = core.row(reply.position, reply.id ?? null);
		this.head();
		this.viewer.show(cell);
		this.viewer.element.parentElement.hidden = !main;
		this.element.classList.toggle("dl-no-picture", !main);
		this.viewer.element.setAttribute("aria-label", `${visible(main?.name ?? "Picture")} of row ${this.position}`);
		this.row = reply;
		this.boxable = Boolean(core.writable && boxesIn(reply) && main);
		if (this.boxable) this.editor?.take(reply);
		else this.leaveBoxes();
		this.boxing.hidden = !this.boxable;
		this.sayUnmarked(reply);
		this.fill(reply);
	}

	/** Says which marks are not drawn, and why. */
	sayUnmarked(...rows) {
		say(this.unmarked, visibleLines(unmarkedIn(rows)), { raw: true });
		this.unmarked.hidden = !this.unmarked.textContent;
	}

	/** Beyond the pixels it has, the picture is asked for in full. */
	sharper() {
		const { cell } = this.viewer;
		const shown = this.viewer.rect().w * density();
		if (this.full || !cell?.bitmap || shown < cell.bitmap.width * 1.3 || cell.w <= cell.bitmap.width) return;
		this.full = true;
		this.load(0);
	}

	// the columns

	/** Fields of a row, each of which edits that row and no other; one that is typed into stays while its row does. */
	fill({ columns, id, bytes }) {
		const row = this.core.large;
		const same = this.filled && row.id !== null && this.filled.id === row.id && this.filled.positions[0] === row.positions[0];
		const typing = "textarea, input:not([type=checkbox])";
		if (same && this.info.querySelector(":focus")?.matches(typing)) return;
		if (!same) this.leaveField();
		const held = this.info.querySelector(":focus");
		this.filled = row;
		this.info.inert = false;
		this.forget();
		const open = this.info.querySelector("details")?.open;
		const history = h("details", { class: "dl-history" }, h("summary", { text: "History" }));
		history.addEventListener("toggle", () => history.open && this.history(history));
		this.info.replaceChildren(h("dl", {}, ...columns.map((column) => this.column({ ...column, row }, bytes)), div("dl-field", h("dt", {}, span("row id")), h("dd", { class: "dl-mono", text: String(id ?? "") }))), this.core.static ? "" : history);
		if (open) history.open = true;
		const kept = "[type=checkbox], select, .dl-null";
		const again = held?.matches("summary") ? history.firstElementChild : held?.matches(kept) ? [...this.info.querySelectorAll(kept)].find((field) => field.ariaLabel === held.ariaLabel) : null;
		if (held) (again ?? this.info).focus();
	}

	column(column, bytes) {
		const type = dotted(column.type ?? column.kind, Array.isArray(column.shape) ? column.shape.map((n) => n ?? "?").join(" × ") : column.shape, column.dtype && column.dtype !== column.type ? column.dtype : "");
		return h("div", { class: column.staged ? "dl-field dl-staged" : "dl-field" }, h("dt", {}, span(column.name), quiet(type)), h("dd", {}, this.value(column, bytes)));
	}

	value(column, bytes) {
		const media = column.v && /^(audio|video)/.exec(column.v[2])?.[1];
		if (media) {
			const url = URL.createObjectURL(blobOf(bytes, column.v));
			this.urls.push(url);
			return h(media, { controls: true, src: url, class: "dl-media", "aria-label": column.name });
		}
		const field = column.editable && this.core.writable && this.field(column);
		if (field) return column.nullable && column.kind !== "bool" ? div("dl-nullable", field, this.nullButton(column)) : field;
		const tint = column.kind === "class" ? dot(column.value ?? column.c) : null;
		const text = h(["json", "array", "embedding", "table"].includes(column.kind) ? "pre" : "span", { class: "dl-value-text", dir: "auto", raw: column.damaged ?? column.text ?? (column.v ? "as shown" : "–") });
		if (!this.core.holdsData(column.name, column.kind)) say(text, text.textContent);
		return tint ? h("span", { class: "dl-with-dot" }, tint, text) : text;
	}

	/** What a cell is edited with; nothing for kinds that are not edited here. */
	field(column) {
		return {
			class: () => this.classField(column),
			tags: () => this.tagsField(column),
			bool: () => (column.nullable ? this.choiceField(column) : this.tickField(column)),
			text: () => this.textField(column),
			number: () => this.textField(column),
			time: () => this.textField(column),
		}[column.kind]?.();
	}

	/** Tells null from an empty text and from no tags, and makes one of the other. */
	nullButton(column) {
		const empty = { text: "", tags: [] }[column.kind];
		const title = !column.null ? "Set to null" : empty === undefined ? "Null: set a value to change it" : "Null: set to empty";
		return textButton("null", () => this.put(column, column.null ? empty : null), {
			class: "dl-button dl-null",
			title,
			"aria-label": `${column.name}: null`,
			"aria-pressed": String(column.null),
			disabled: column.null && empty === undefined,
		});
	}

	tickField(column) {
		return h("input", {
			type: "checkbox",
			checked: column.value === true,
			"aria-label": column.name,
			onchange: async ({ target }) => {
				if (!(await this.put(column, target.checked))) target.checked = !target.checked;
			},
		});
	}

	/** True, false or null. */
	choiceField(column) {
		const before = String(column.value ?? "");
		const field = select(
			["", "false", "true"],
			before,
			async (value) => {
				if (!(await this.put(column, value || null))) field.value = before;
			},
			column.name,
			"–",
		);
		return field;
	}

	/** Stages an edit of the row whose field it is. */
	put({ row, name }, value, op = "set") {
		return this.core.stage(row, name, value, op);
	}

	classes(column) {
		return column.classes ?? this.core.column(column.name)?.classes ?? [];
	}

	classField(column) {
		return h(
			"button",
			{ class: "dl-button dl-edit-value", "aria-label": `${column.name}: ${column.text ?? "none"}. Change`, onclick: () => chooser(this.core.root, `Set ${column.name}`, this.classes(column), ({ value }) => this.put(column, value), { free: true }) },
			dot(column.value ?? column.c),
			span(column.text ?? "–"),
			icon("edits"),
		);
	}

	tagsField(column) {
		const names = this.classes(column);
		const nameOf = (value) => (typeof value === "number" ? (names[value] ?? String(value)) : String(value));
		const add = () => chooser(this.core.root, `Add to ${column.name}`, names, ({ value }) => this.put(column, value, "add_tag"), { free: !names.length });
		return h(
			"span",
			{ class: "dl-tags" },
			...(column.value ?? column.tags ?? []).map((value) =>
				h(
					"span",
					{ class: "dl-tag" },
					typeof value === "number" && dot(value),
					span(nameOf(value)),
					iconButton("close", `Remove ${nameOf(value)}`, () => this.put(column, value, "remove_tag")),
				),
			),
			iconButton("plus", `Add to ${column.name}`, add),
		);
	}

	textField(column) {
		const number = column.kind === "number";
		const text = String(column.value ?? ""); // Python sends -0 as a text
		const field = h(number ? "input" : "textarea", { class: "dl-input", "aria-label": column.name, value: text, dir: number ? null : "auto", placeholder: column.nullable && column.null ? "null" : null, rows: number ? null : Math.min(8, 1 + Math.floor(text.length / 38)) });
		let before = field.value; // has no carriage returns
		const lines = before !== text && before.replaceAll("\n", "\r\n") === text ? "\r\n" : "\n";
		field.addEventListener("keydown", (event) => {
			event.stopPropagation();
			if (event.key === "Escape") field.value = before;
			if (event.key === "Escape" || (event.key === "Enter" && (number || event.ctrlKey || event.metaKey))) this.element.focus();
		});
		field.addEventListener("blur", async () => {
			const typed = field.value;
			if (typed === before) return;
			const value = column.kind === "text" ? typed.replaceAll("\n", lines) : typed.trim() || null;
			if (await this.put(column, value)) before = typed;
			else field.value = before;
		});
		return field;
	}

	async history(details) {
		const { position } = this;
		const note = quiet("Looking through the versions …", "p");
		while (details.childElementCount > 1) details.lastElementChild.remove();
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
							...version.changes.map((change) => div("dl-change", span(change.column), this.core.cell("del", change.column, asText(change.before)), "→", this.core.cell("ins", change.column, asText(change.after)))),
						),
					),
				),
				(!versions.length && quiet("No version changed this row.", "p")) || "",
				(!all && quiet("Older versions were not searched.", "p")) || "",
			);
		} catch (error) {
			if (!(error instanceof Stale)) say(note, error.message);
		}
	}

	// boxes and keys

	toggleBoxes() {
		if (this.viewer.boxes) return this.stopBoxes();
		if (!this.boxable) return this.unmarked.hidden ? undefined : this.core.note(this.unmarked.textContent);
		this.viewer.boxes = this.editor ??= new BoxEditor(this.core, this.viewer, this.row);
		this.boxing.setAttribute("aria-pressed", "true");
		this.hint.hidden = false;
		this.viewer.later();
	}

	/** Before another row is shown: what is edited is saved for this one. */
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

	key(event) {
		if (event.target.closest("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
		const { viewer } = this;
		const boxed = viewer.boxes?.key(event);
		const act = boxed
			? () => {}
			: {
					ArrowLeft: () => this.step(-1),
					ArrowRight: () => this.step(1),
					b: () => this.toggleBoxes(),
					0: this.core.classOf("0") < 0 && (() => viewer.fit()),
					"+": () => viewer.zoom(1.4),
					"=": () => viewer.zoom(1.4),
					"-": () => viewer.zoom(1 / 1.4),
					Escape: () => (viewer.boxes ? this.stopBoxes() : this.close()),
					" ": () => this.tick.click(),
				}[event.key];
		if (!act || (event.key === " " && event.target.closest("button, summary"))) return;
		handled(event);
		act();
	}
}
