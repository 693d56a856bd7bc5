// The cells of a row in the detail panel, and the inputs that edit them.

import { blobOf } from "./decode.js";
import { chooser } from "./dialogs.js";
import { div, dot, dotted, h, icon, iconButton, quiet, say, select, span, textButton } from "./elements.js";
/** @import { Core, Row } from "./core.js" */
/** @import { Op, RowColumn, Value } from "./messages.js" */

/** @typedef {RowColumn & {row: Row}} FieldColumn  a column, with the row that its input edits */

/** Creates the lines for the columns of a row. */
export class Fields {
	/** @param {Core} core @param {() => void} leave  called when the user leaves an input */
	constructor(core, leave) {
		this.core = core;
		this.leave = leave;
		/** @type {string[]} */
		this.urls = [];
	}

	/** Releases the URLs of media that were shown. */
	forget() {
		this.urls.splice(0).forEach((url) => URL.revokeObjectURL(url));
	}

	/** Creates the line of a column, with its name, type and cell. @param {FieldColumn} column @param {Uint8Array<ArrayBuffer>} bytes */
	line(column, bytes) {
		const type = dotted(column.type ?? column.kind, column.shape, column.dtype && column.dtype !== column.type ? column.dtype : "");
		return h("div", { class: column.staged ? "dl-field dl-staged" : "dl-field" }, h("dt", {}, span(column.name), quiet(type)), h("dd", {}, this.value(column, bytes)));
	}

	/** @param {FieldColumn} column @param {Uint8Array<ArrayBuffer>} bytes */
	value(column, bytes) {
		const media = column.v && /^(audio|video)/.exec(column.v[2])?.[1];
		if (column.v && media) {
			const url = URL.createObjectURL(blobOf(bytes, column.v));
			this.urls.push(url);
			return h(/** @type {"audio"|"video"} */ (media), { controls: true, src: url, class: "dl-media", "aria-label": column.name });
		}
		const field = column.editable && this.core.writable && this.field(column);
		if (field) return column.nullable && column.kind !== "bool" ? div("dl-nullable", field, this.nullButton(column)) : field;
		const tint = column.kind === "class" ? dot(column.value ?? column.c) : null;
		const text = h(["json", "array", "embedding"].includes(column.kind) ? "pre" : "span", { class: "dl-value-text", dir: "auto", raw: column.damaged ?? column.text ?? (column.v ? "as shown" : "–") });
		if (!this.core.holdsData(column.name, column.kind)) say(text, text.textContent ?? "");
		return tint ? h("span", { class: "dl-with-dot" }, tint, text) : text;
	}

	/** Creates the input for a cell, or returns null for kinds that are not edited here. */
	field(/** @type {FieldColumn} */ column) {
		switch (column.kind) {
			case "class":
				return this.classField(column);
			case "tags":
				return this.tagsField(column);
			case "bool":
				return column.nullable ? this.choiceField(column) : this.tickField(column);
			case "text":
			case "number":
			case "time":
				return this.textField(column);
			default:
				return null;
		}
	}

	/** Creates a button that shows whether the value is null, and switches between null and an empty value. */
	nullButton(/** @type {FieldColumn} */ column) {
		const empty = column.kind === "text" ? "" : column.kind === "tags" ? [] : undefined;
		const title = !column.null ? "Set to null" : empty === undefined ? "Null. Enter a value to change it" : "Null. Set to an empty value";
		return textButton("null", () => this.put(column, column.null ? (empty ?? null) : null), {
			class: "dl-button dl-null",
			title,
			"aria-label": `${column.name}: null`,
			"aria-pressed": String(column.null),
			disabled: column.null && empty === undefined,
		});
	}

	tickField(/** @type {FieldColumn} */ column) {
		/** @type {HTMLInputElement} */
		const field = h("input", {
			type: "checkbox",
			checked: column.value === true,
			"aria-label": column.name,
			onchange: async () => {
				if (!(await this.put(column, field.checked))) field.checked = !field.checked;
			},
		});
		return field;
	}

	/** Creates a choice of true, false and null. */
	choiceField(/** @type {FieldColumn} */ column) {
		const before = String(column.value ?? "");
		/** @type {HTMLSelectElement} */
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

	/** Stages an edit of the input's row. @param {FieldColumn} column @param {Value} value @param {Op} [op] */
	put({ row, name }, value, op = "set") {
		return this.core.stage(row, name, value, op);
	}

	classes(/** @type {FieldColumn} */ column) {
		return column.classes ?? this.core.column(column.name)?.classes ?? [];
	}

	classField(/** @type {FieldColumn} */ column) {
		return h(
			"button",
			{ class: "dl-button dl-edit-value", "aria-label": `${column.name}: ${column.text ?? "none"}. Change`, onclick: () => chooser(this.core.root, `Set ${column.name}`, this.classes(column), ({ value }) => this.put(column, value), { free: true }) },
			dot(column.value ?? column.c),
			span(column.text ?? "–"),
			icon("edits"),
		);
	}

	tagsField(/** @type {FieldColumn} */ column) {
		const names = this.classes(column);
		/** @type {(string|number)[]} */
		const values = column.value ?? column.tags ?? [];
		const nameOf = (/** @type {string|number} */ value) => (typeof value === "number" ? (names[value] ?? String(value)) : String(value));
		const add = () => chooser(this.core.root, `Add to ${column.name}`, names, ({ value }) => this.put(column, value, "add_tag"), { free: !names.length });
		return h(
			"span",
			{ class: "dl-tags" },
			...values.map((value) =>
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

	textField(/** @type {FieldColumn} */ column) {
		const number = column.kind === "number";
		const text = String(column.value ?? ""); // Python sends -0 as a string
		/** @type {HTMLElement & {value: string}} */
		const field = h(number ? "input" : "textarea", { class: "dl-input", "aria-label": column.name, value: text, dir: number ? null : "auto", placeholder: column.nullable && column.null ? "null" : null, rows: number ? null : Math.min(8, 1 + Math.floor(text.length / 38)) });
		let before = field.value; // browsers remove carriage returns
		const lines = before !== text && before.replaceAll("\n", "\r\n") === text ? "\r\n" : "\n";
		field.addEventListener("keydown", (event) => {
			event.stopPropagation();
			if (event.key === "Escape") field.value = before;
			if (event.key === "Escape" || (event.key === "Enter" && (number || event.ctrlKey || event.metaKey))) this.leave();
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
}
