// The panel of staged edits.

import { describeDraft } from "./banner.js";
import { classOfKey } from "./class-keys.js";
import { dialog } from "./dialogs.js";
import { div, dot, h, iconButton, kbd, keepKeys, link, padded, primary, quiet, say, select, span, strong, textButton, textField } from "./elements.js";
import { Refusal } from "./requests.js";
import { asText, brief, counted, grouped } from "./text.js";
/** @import { Core } from "./core.js" */

/** Lists the staged edits, with buttons to undo, drop and commit them. */
export class Edits {
	constructor(/** @type {Core} */ core) {
		this.core = core;
		this.title = "Edits";
		this.undoable = { can_undo: false, can_redo: false };
		this.undo = iconButton("undo", "Undo (Ctrl Z)", () => core.edit("undo"));
		this.redo = iconButton("redo", "Redo (Ctrl Shift Z)", () => core.edit("redo"));
		this.tools = h("span", { class: "dl-group" }, this.undo, this.redo);
		this.keys = div("dl-label-keys");
		this.list = h("ul", { class: "dl-edits" });
		this.none = padded("Nothing is staged. Select rows and press a digit or l to set their class. Edits stay here until you commit them.");
		this.message = textField("Commit message", { placeholder: "Commit message" });
		keepKeys(this.message);
		this.write = primary("Commit", null, { type: "submit" });
		this.form = h("form", { class: "dl-commit", onsubmit: (event) => this.commit(event) }, this.message, this.write);
		this.element = div("dl-edit-panel", this.keys, div("dl-panel-scroll", this.none, this.list), this.form);
		for (const name of /** @type {const} */ (["staged", "staged_rows", "about", "drafts"])) core.on(name, () => this.show());
		core.on("undoable", (reply) => {
			this.undoable = reply;
			this.show();
		});
		this.show();
	}

	open() {
		this.showKeys();
		this.show();
	}

	show() {
		const { core } = this;
		const { staged, stagedCount } = core;
		this.undo.disabled = !(this.undoable.can_undo ?? stagedCount > 0) && !stagedCount;
		this.redo.disabled = !this.undoable.can_redo;
		this.none.hidden = stagedCount > 0;
		if (!core.writable) say(this.none, "This version is read-only. Show a branch to edit it.");
		this.form.hidden = !stagedCount || !core.writable;
		say(this.write, `Commit ${counted(core.stagedRows, "row")}`);
		const more = stagedCount - staged.length;
		const drafts = core.ended ? [] : core.drafts;
		this.list.replaceChildren(
			...drafts.map((draft) =>
				h(
					"li",
					{ class: "dl-edit" },
					quiet(describeDraft(draft)),
					link("Restore", () => core.restore(draft)),
					link("Discard", () => core.edit("forget", { id: draft.id })),
				),
			),
			...(more > 0 ? [h("li", { class: "dl-quiet dl-pad", text: counted(more, "earlier edit") })] : []),
			...[...staged].reverse().map((edit) =>
				h(
					"li",
					{ class: "dl-edit" },
					h("span", { class: "dl-edit-what" }, strong(edit.column), core.cell("span", edit.column, edit.what)),
					quiet(counted(edit.rows, "row")),
					iconButton("close", `Drop the edit of ${edit.column}`, () => core.edit("drop", { id: edit.id })),
				),
			),
		);
	}

	/** Lists the classes that number keys set. */
	showKeys() {
		const { core } = this;
		const columns = core.labelColumns;
		const column = core.labels;
		if (!column || !core.writable) return this.keys.replaceChildren();
		const choose = (/** @type {string} */ name) => {
			core.labelling = name;
			this.showKeys();
		};
		this.keys.replaceChildren(
			div(
				"dl-row-field",
				quiet("Keys set"),
				columns.length > 1
					? select(
							columns.map((one) => one.name),
							column.name,
							choose,
							"Column that the number keys set",
						)
					: strong(column.name),
			),
			div(
				"dl-key-list",
				...[..."1234567890"]
					.map((key) => ({ key, i: classOfKey(key, column.classes ?? []) }))
					.filter(({ i }) => i >= 0)
					.map(({ key, i }) => h("span", { class: "dl-legend-item" }, kbd(key), dot(i), span(column.classes[i]))),
			),
		);
	}

	async commit(/** @type {SubmitEvent} */ event) {
		event.preventDefault();
		this.write.disabled = true;
		await this.put("commit", { message: this.message.value.trim() });
		this.write.disabled = false;
	}

	/** @param {"commit"|"resolve"} type @param {object} fields */
	async put(type, fields) {
		this.core.emit("settle");
		try {
			this.written(await this.core.ask(type, fields));
		} catch (error) {
			if (error instanceof Refusal && error.kind.includes("Conflict")) this.conflict(error);
			else this.core.failed(error);
		}
	}

	written(/** @type {{version: string, rows: number}} */ { version, rows }) {
		this.message.value = "";
		this.undoable = { can_undo: false, can_redo: false };
		this.core.emit("changed", null);
		this.core.note(`Committed${rows ? ` ${counted(rows, "row")}` : ""} as ${brief(version)}.`);
		this.show();
	}

	/** Shows the values of both writers, and asks which values to keep. */
	conflict(/** @type {Refusal} */ error) {
		const rows = error.conflicts ?? [];
		const resolve = (/** @type {"ours"|"theirs"} */ choice) => {
			close();
			this.put("resolve", { choice });
		};
		const cells = rows.slice(0, 100).map((row) => h("tr", {}, h("td", { text: typeof row.p === "number" ? grouped(row.p) : row.id }), h("td", { text: row.column ?? row.kind }), ...[row.ours, row.theirs].map((value) => this.core.cell("td", row.column, asText(value)))));
		const close = dialog(
			this.core.root,
			"Another writer changed these rows",
			[
				div(
					"dl-dialog-body",
					h("p", { text: error.message }),
					h("div", { class: "dl-table-scroll", tabindex: "0", role: "group", "aria-label": "Conflicts" }, h("table", { class: "dl-table" }, h("thead", {}, h("tr", {}, ...["Row", "Column", "Yours", "Theirs"].map((text) => h("th", { scope: "col", text })))), h("tbody", {}, ...cells))),
					rows.length > 100 && quiet(`and ${grouped(rows.length - 100)} more`, "p"),
				),
				div(
					"dl-dialog-foot",
					textButton("Keep staged", () => close()),
					textButton("Keep theirs", () => resolve("theirs")),
					primary("Write mine", () => resolve("ours"), { "data-first": true }),
				),
			],
			{ wide: true },
		);
	}
}
