// The bar below the grid, with actions for the selected rows.

import { chooser } from "./dialogs.js";
import { check, div, labelled, link, primary, say, space, span, tickIn } from "./elements.js";
import { counted, grouped } from "./text.js";
/** @import { Core } from "./core.js" */

/** Shows the number of selected rows, and buttons to select, label, tag and commit. */
export class SelectionBar {
	/** @param {Core} core @param {() => void} commit */
	constructor(core, commit) {
		this.core = core;
		this.chosen = span("", "dl-chosen-count");
		this.all = link("Select all", () => core.select("all"));
		this.none = link("Clear", () => core.select("none"));
		this.invert = link("Invert", () => core.select("invert"));
		this.relabel = labelled("edits", "Relabel", "Set the class (l, or a digit)", () => this.chooseClass());
		this.accept = labelled("check", "Accept suggested", "Set the suggested class (a)", () => this.acceptSuggested());
		this.tagging = labelled("tag", "Tag", "Add or remove a tag (t)", () => this.chooseTag());
		this.commit = primary("", () => commit());
		this.element = div("dl-foot", this.chosen, this.all, this.none, this.invert, space(), this.accept, this.relabel, this.tagging, this.commit);
	}

	refresh() {
		const { core } = this;
		const { rows } = core.state;
		const { count } = core.selection;
		say(this.chosen, count ? `${grouped(count)} selected` : "Nothing selected");
		this.all.hidden = rows === 0 || count === rows;
		say(this.all, `Select all ${grouped(rows)}`);
		this.none.hidden = this.invert.hidden = !count;
		const editable = core.writable && rows > 0;
		this.relabel.hidden = !editable || !core.labelColumns.length;
		this.accept.hidden = this.relabel.hidden || !count || !core.about.suggested;
		this.tagging.hidden = !editable;
		this.commit.hidden = !core.stagedCount || !core.writable;
		say(this.commit, `Commit ${counted(core.stagedRows, "row")} …`);
	}

	/** @param {number|string} value  a class number, or the name of a new class */
	setClass(value, column = this.core.labels, rows = this.core.toEdit()) {
		const { core } = this;
		if (!rows || !column) return;
		core.stage(rows, column.name, value).then((reply) => reply && core.say(`${column.name} of ${counted(rows.count, "row")} set to ${typeof value === "number" ? (column.classes?.[value] ?? value) : value}`));
	}

	chooseClass() {
		const column = this.core.labels;
		const rows = column && this.core.toEdit();
		if (!rows) return;
		chooser(this.core.root, `Set ${column.name} of ${counted(rows.count, "row")}`, column.classes ?? [], ({ value }) => this.setClass(value, column, rows), { free: true });
	}

	/** Sets the labels that a ranking of suspects suggests. */
	acceptSuggested() {
		const { suggested } = this.core.about;
		const rows = suggested && this.core.toEdit();
		if (rows) this.core.stage(rows, suggested.label, suggested.column, "take");
	}

	chooseTag() {
		const name = this.core.about.tags ?? null;
		const column = this.core.column(name) ?? { name, classes: [] };
		const rows = this.core.toEdit();
		if (!rows) return;
		const note = check("Remove instead of add");
		chooser(this.core.root, `Tag ${counted(rows.count, "row")}${column.name ? ` in ${column.name}` : ""}`, column.classes ?? [], ({ value }) => this.core.stage(rows, column.name, value, tickIn(note).checked ? "remove_tag" : "add_tag"), { free: !column.classes?.length, note });
	}
}
