// The bar above the grid, with the dataset, version, query, and buttons.

import { review, savedViews, showKeys } from "./browser-dialogs.js";
import { div, h, iconButton, labelled, say, space, span } from "./elements.js";
import { short } from "./numbers.js";
import { QueryBox } from "./query-box.js";
import { brief, grouped } from "./text.js";
import { captionButton, layersButton, zoomControl } from "./view-controls.js";
/** @import { Core } from "./core.js" */
/** @import { Side } from "./side.js" */

export class TopBar {
	/** @param {Core} core @param {Side} side @param {(by: number) => void} zoom */
	constructor(core, side, zoom) {
		this.core = core;
		this.query = new QueryBox(core);
		this.version = h("button", { class: "dl-pill", title: "Shown branch, tag or commit (v)", onclick: () => side.toggle("versions"), disabled: core.static });
		this.title = span(core.about.title ?? "Dataset", "dl-title", core.about.url);
		this.count = span("", "dl-count");
		const saver = iconButton("save", "Save as a named view", () => savedViews(core));
		const theme = iconButton("theme", "Light or dark", () => core.set({ theme: core.root.dataset.theme === "dark" ? "light" : "dark" }));
		const help = iconButton("help", "Keys (?)", () => showKeys(core.root));
		const suspects = !core.static && labelled("suspects", "Review", "Rank rows whose labels look wrong (s)", () => review(core));
		this.element = div(
			"dl-top",
			div("dl-bar", div("dl-name", this.title, this.version), this.query.element, div("dl-group", !core.static && saver, theme, help)),
			h("div", { class: "dl-bar dl-bar-2", role: "toolbar", "aria-label": "View" }, div("dl-group", ...side.buttons()), suspects, this.count, space(), layersButton(core), captionButton(core), zoomControl(core, zoom)),
		);
	}

	refresh() {
		const { about, state, writable } = this.core;
		const { rows, ms } = state;
		const { total } = about;
		say(this.count, `${rows === total || total === undefined ? grouped(rows) : `${grouped(rows)} of ${grouped(total)}`} row${rows === 1 ? "" : "s"}${ms ? ` · ${short(ms)} ms` : ""}`);
		say(this.version, brief(about.branch || about.name || about.version || "latest"));
		say(this.title, about.title ?? "Dataset");
		this.version.hidden = !about.version && !about.branch;
		this.version.dataset.writable = String(writable);
		this.version.title = writable ? "Shown branch (v)" : "Shown branch, tag or commit (v), read-only";
	}
}
