// The dialogs for keys, rows to review, and saved views.

import { ask, dialog } from "./dialogs.js";
import { check, choice, div, h, kbd, prose, quiet, tickIn } from "./elements.js";
import { counted } from "./text.js";

/** @import { Core } from "./core.js" */
/** @import { Suspects } from "./messages.js" */

const KEYS = {
	Look: "← → ↑ ↓|Move between rows|Enter|Open the row|Home / End|First and last card in the line|Ctrl Home / End|First and last row|Page Up / Down|One page|+ / −|Larger and smaller cards|o|Show or hide all overlays",
	Find: "/|Type a query|Ctrl Space|Complete the query|↑ ↓|Earlier queries|f|Filters|m|Map|v|Versions|s|Rows to review|r|Rows most similar to this one",
	Select: "Space|Select or deselect|Shift + arrows|Extend the selection|Ctrl A|Select all rows|i|Invert|Esc|Clear the selection|Drag|Lasso",
	Edit: "0 … 9|Set the class with this name, or the first to ninth class|l|Choose the class by name|a|Accept the suggested class|t|Add or remove a tag|e|Edits|Ctrl Z|Undo|Ctrl Shift Z|Redo",
	"In a row": "← →|Previous and next row|+ / −|Zoom|0|Fit, unless a class is named 0|b|Edit boxes|Delete|Remove the box|Esc|Back to the grid",
};

/** Shows the keys and their actions. */
export function showKeys(/** @type {HTMLElement} */ root) {
	const lines = (/** @type {string} */ text) => text.split("|").map((part, i) => (i % 2 ? h("dd", { text: part }) : h("dt", {}, kbd(part))));
	dialog(root, "Keys", [div("dl-dialog-body dl-keys", ...Object.entries(KEYS).map(([title, text]) => h("section", {}, h("h3", { text: title }), h("dl", {}, ...lines(text)))))], { wide: true });
}

/** Offers rankings that list rows with doubtful labels first. */
export function review(/** @type {Core} */ core) {
	const { suspects: choices = [], review_needs: needs } = core.about;
	if (core.static) return;
	/** @type {Record<Suspects["by"], (one: Suspects) => string>} */
	const words = {
		embedding: ({ label, column }) => `${label}: labels unlike their neighbours in ${column}`,
		scores: ({ label, column }) => `${label}: labels with low scores in ${column}`,
		agreement: ({ label, column }) => `${label} against ${column}: least agreement first`,
	};
	const buttons = choices.map((one) =>
		choice("suspects", words[one.by](one), "", () => {
			close();
			core.attempt("suspects", one);
		}),
	);
	const body = buttons.length ? [quiet("Ranks the rows, starting with the most suspicious.", "p"), ...buttons] : [prose(needs ?? "")];
	const close = dialog(core.root, "Rows to review", [div("dl-dialog-body", ...body)]);
}

/** Saves the query as a view, and lists the saved views. */
export async function savedViews(/** @type {Core} */ core) {
	const list = div("dl-choices", quiet("Loading saved views …", "p"));
	const overwrite = check("Replace any view with this name");
	ask(
		core.root,
		"Saved views",
		{
			label: "Name for the shown rows",
			action: "Save",
			extra: h("div", {}, overwrite, list),
		},
		async (name) => {
			try {
				await core.ask("save_view", { name, overwrite: tickIn(overwrite).checked });
				core.note(`Saved as the view “${name}”.`);
			} catch (error) {
				core.failed(error);
			}
		},
	);
	try {
		const { views } = await core.ask("views");
		list.replaceChildren(
			...views.map((view) =>
				choice("save", view.name, typeof view.rows === "number" ? counted(view.rows, "row") : "", () => {
					core.root.querySelector(".dl-shade")?.dispatchEvent(new CustomEvent("dl-close"));
					core.attempt("show_view", { name: view.name });
				}),
			),
		);
		if (!views.length) list.append(quiet("There are no saved views yet.", "p"));
	} catch (/** @type {any} */ error) {
		list.replaceChildren(quiet(error.message, "p"));
	}
}
