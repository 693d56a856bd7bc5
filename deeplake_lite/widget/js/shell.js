// The whole browser: toolbar, panels, grid, and keys.

import { Banner } from "./banner.js";
import { Detail } from "./detail.js";
import { ask, chooser, dialog } from "./dialogs.js";
import { Edits } from "./edits.js";
import { check, choice, div, dotted, h, handled, iconButton, kbd, keepKeys, labelled, link, primary, prose, quiet, say, select, slider, space, span } from "./elements.js";
import { Facets } from "./facets.js";
import { Grid } from "./grid.js";
import { LARGEST, SMALLEST } from "./layout.js";
import { MapPanel } from "./map.js";
import { short } from "./numbers.js";
import { captionColumns, OVERLAYS, overlay, overlayColumns, setOverlays } from "./overlays.js";
import { diffBar, diffGrid, PairDetail } from "./pairs.js";
import { popover } from "./popover.js";
import { QueryBox } from "./query-box.js";
import { Side } from "./side.js";
import { brief, counted, grouped } from "./text.js";
import { followTheme, paletteOf } from "./theme.js";
import { Versions } from "./versions.js";

const KEYS = {
	Look: "← → ↑ ↓|Move between rows|Enter|Open the row|Home / End|First and last of the line|Ctrl Home / End|First and last row|Page Up / Down|One page|+ / −|Larger and smaller cards|o|Show or hide all overlays",
	Find: "/|Type a query|Ctrl Space|Complete what is typed|↑ ↓|Queries asked before|f|Filters|m|Map|v|Versions|s|Rows to review|r|Rows most like this one",
	Select: "Space|Select or deselect|Shift + arrows|Extend the selection|Ctrl A|Select all that match|i|Invert|Esc|Select nothing|Drag|Lasso",
	Edit: "0 … 9|Set the class: that of this name, or the first to the ninth|l|Choose the class by name|a|Accept the suggested class|t|Add or remove a tag|e|Edits|Ctrl Z|Undo|Ctrl Shift Z|Redo",
	"In a row": "← →|Previous and next row|+ / −|Zoom|0|Fit, where no class is named 0|b|Edit boxes|Delete|Remove the box|Esc|Back to the grid",
};

/** Toolbar, panels, grid and detail of a dataset. */
export class Shell {
	constructor(core, /** @type {HTMLElement} */ el) {
		this.core = core;
		this.root = h("div", { class: "dl-browser", role: "region", "aria-label": `Dataset ${core.about.title ?? ""}` });
		core.root = this.root;
		core.noSelection = core.compares;
		this.live = h("div", { class: "dl-live", role: "status", "aria-live": "polite" });
		this.grid = core.compares ? diffGrid(core, (p) => this.openRow(p)) : new Grid(core, { open: (p) => this.openRow(p) });
		this.banner = new Banner(core);
		this.side = new Side(core, this.panels());
		this.main = div("dl-main", this.grid.element);
		this.root.append(this.top(), this.banner.element, div("dl-body", this.side.element, this.side.splitter, this.main), this.foot(), this.live);
		el.append(this.root);
		this.listen();
		followTheme(this.root, core, () => {
			core.palette = this.grid.palette = paletteOf(this.root);
			core.emit("theme");
			this.grid.later();
		});
		this.refresh();
		this.grid.resized();
	}

	panels() {
		const { core } = this;
		if (core.compares) return {};
		/** @type {Record<string, any>} */
		const panels = { facets: new Facets(core) };
		if (core.about.embeddings?.length) panels.map = new MapPanel(core);
		if (!core.static) Object.assign(panels, { versions: new Versions(core), edits: new Edits(core) });
		return panels;
	}

	// toolbar

	top() {
		const { core } = this;
		if (core.compares) return diffBar(core, this.zoomControl(), this.layersButton());
		this.query = new QueryBox(core);
		this.version = h("button", { class: "dl-pill", title: "Branch, tag or commit shown (v)", onclick: () => this.side.toggle("versions"), disabled: core.static });
		this.title = span(core.about.title ?? "Dataset", "dl-title", core.about.url);
		const saver = iconButton("save", "Save as a named view", () => this.views());
		const theme = iconButton("theme", "Light or dark", () => core.set({ theme: this.root.dataset.theme === "dark" ? "light" : "dark" }));
		const help = iconButton("help", "Keys (?)", () => this.help());
		this.count = span("", "dl-count");
		const suspects = !core.static && labelled("suspects", "Review", "Rank rows whose labels look wrong (s)", () => this.suspects());
		return div(
			"dl-top",
			div("dl-bar", div("dl-name", this.title, this.version), this.query.element, div("dl-group", !core.static && saver, theme, help)),
			h("div", { class: "dl-bar dl-bar-2", role: "toolbar", "aria-label": "View" }, div("dl-group", ...this.side.buttons()), suspects, this.count, space(), this.layersButton(), this.captionButton(), this.zoomControl()),
		);
	}

	zoomControl() {
		const { core } = this;
		const steps = Math.log(LARGEST / SMALLEST);
		const size = slider("Size of the cards", { oninput: () => core.set({ size: Math.round(SMALLEST * Math.exp((size.value / 100) * steps)) }) });
		keepKeys(size);
		const show = () => {
			size.value = Math.round((100 * Math.log(core.settings.size / SMALLEST)) / steps);
			size.setAttribute("aria-valuetext", `${core.settings.size} pixels`);
		};
		core.on("settings", show);
		show();
		return div(
			"dl-group dl-zoom",
			iconButton("minus", "Smaller cards (−)", () => this.grid.zoom(0.8)),
			size,
			iconButton("plus", "Larger cards (+)", () => this.grid.zoom(1.25)),
		);
	}

	/** Toggle and opacity of every overlay, and which column is the picture. */
	layersButton() {
		const { core } = this;
		const columns = overlayColumns(core);
		const pictures = core.kinds("image", "mask", "video");
		const button = labelled("layers", "Overlays", "Overlays (o)");
		button.hidden = !columns.length && pictures.length < 2;
		popover(button, "Overlays", () =>
			[
				...columns.map((column, layer) => this.layerRow(column, layer)),
				columns.length > 0 && core.column(core.settings.picture)?.stored === false && quiet(`Not drawn over ${core.settings.picture}: the query computes it.`, "p"),
				pictures.length > 1 &&
					h(
						"label",
						{ class: "dl-row-field" },
						span("Picture"),
						select(
							pictures.map((column) => column.name),
							core.settings.picture ?? pictures[0].name,
							(picture) => core.set({ picture }),
							"Picture",
						),
					),
			].filter(Boolean),
		);
		return button;
	}

	layerRow(column, layer) {
		const { core } = this;
		const put = (patch) => setOverlays(core, [column], patch);
		const { shown, opacity } = overlay(core, column.name);
		const line = h("span", { class: "dl-layer-line", "data-dash": layer % 3, "aria-hidden": "true" });
		return div(
			"dl-layer",
			h("label", {}, h("input", { type: "checkbox", "aria-label": `Show ${column.name}`, checked: shown, onchange: (event) => put({ shown: event.target.checked }) }), line, span(column.name), quiet(column.kind)),
			slider(`Opacity of ${column.name}`, { value: Math.round(100 * opacity), oninput: (event) => put({ opacity: event.target.value / 100 }) }),
		);
	}

	captionButton() {
		const { core } = this;
		const button = labelled("text", "Captions", "Text under the cards");
		popover(button, "Captions", () =>
			core.columns
				.filter((column) => !["image", "video", "audio", "mask", ...OVERLAYS].includes(column.kind))
				.map((column) => {
					const put = (event) => {
						const now = captionColumns(core);
						core.set({ caption: event.target.checked ? [...now, column.name] : now.filter((name) => name !== column.name) });
					};
					return check(column.name, { checked: captionColumns(core).includes(column.name), onchange: put }, quiet(column.kind));
				}),
		);
		return button;
	}

	// foot: what the selection can do

	foot() {
		const { core } = this;
		if (core.compares) {
			const { counts, rows_each: most } = core.about;
			const copied = Math.max(...Object.values(counts ?? {})) > most && `The first ${grouped(most)} rows of each kind`;
			return div("dl-foot", quiet(dotted(copied, "Enter opens a pair", "? shows the keys")));
		}
		this.chosen = span("", "dl-chosen-count");
		this.all = link("Select all", () => core.select("all"));
		this.none = link("Clear", () => core.select("none"));
		this.invert = link("Invert", () => core.select("invert"));
		this.relabel = labelled("edits", "Relabel", "Set the class (l, or a digit)", () => this.chooseClass());
		this.accept = labelled("check", "Accept suggested", "Set the class to what is suggested (a)", () => this.acceptSuggested());
		this.tagging = labelled("tag", "Tag", "Add or remove a tag (t)", () => this.chooseTag());
		this.commit = primary("", () => this.side.show("edits"));
		return div("dl-foot", this.chosen, this.all, this.none, this.invert, space(), this.accept, this.relabel, this.tagging, this.commit);
	}

	refresh() {
		const { core } = this;
		const { rows, ms } = core.state;
		const { total } = core.about;
		if (core.compares) return;
		say(this.count, `${rows === total || total === undefined ? grouped(rows) : `${grouped(rows)} of ${grouped(total)}`} row${rows === 1 ? "" : "s"}${ms ? ` · ${short(ms)} ms` : ""}`);
		say(this.version, brief(core.about.branch || core.about.name || core.about.version || "latest"));
		say(this.title, core.about.title ?? "Dataset");
		this.version.hidden = !core.about.version && !core.about.branch;
		this.version.dataset.writable = String(core.writable);
		this.version.title = core.writable ? "Branch shown (v)" : "Read only: branch, tag or commit shown (v)";
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

	// events

	listen() {
		const { core } = this;
		for (const name of ["state", "count", "about", "selection", "staged_rows"]) core.on(name, () => this.refresh());
		core.on("say", (text) => say(this.live, text));
		core.on("grid", () => this.detail?.close());
		core.on("focus grid", () => this.grid.scroller.focus());
		core.on("open", (position) => this.openRow(position));
		core.on("busy", (busy) => this.root.classList.toggle("dl-working", busy));
		core.on("about", () => this.grid.relayout());
		core.on("state", ({ same }) => {
			if (same && this.detail?.position < core.state.rows) this.detail.load();
			else this.detail?.close();
		});
		this.root.addEventListener("keydown", (event) => this.key(event));
		// JupyterLab takes keys before the page does, but for elements that say so
		this.root.addEventListener("focusin", (event) => event.target.setAttribute("data-lm-suppress-shortcuts", "true"));
	}

	key(event) {
		const typing = event.target.closest?.("input, textarea, select");
		if (event.defaultPrevented || typing || event.altKey) return;
		const whole = event.ctrlKey || event.metaKey;
		const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
		const act = whole ? { z: () => this.core.edit(event.shiftKey ? "redo" : "undo"), y: () => this.core.edit("redo") }[name] : this.action(name);
		if (!act) return;
		handled(event);
		act();
	}

	/** What a single key does. @returns {(() => void)|undefined} */
	action(name) {
		const { core, side, grid } = this;
		const index = this.core.classOf(name);
		if (index >= 0) return () => this.setClass(index);
		return {
			"?": () => this.help(),
			"+": () => grid.zoom(1.25),
			"=": () => grid.zoom(1.25),
			"-": () => grid.zoom(0.8),
			o: () => this.toggleOverlays(),
			Escape: () => this.escape(),
			...(core.compares
				? {}
				: {
						"/": () => this.query.input.focus(),
						f: () => side.toggle("facets"),
						m: () => side.toggle("map"),
						v: () => side.toggle("versions"),
						e: () => side.toggle("edits"),
						s: () => this.suspects(),
						r: () => core.state.rows && core.alike()[1](),
						l: () => this.chooseClass(),
						t: () => this.chooseTag(),
						a: () => this.acceptSuggested(),
						i: () => core.select("invert"),
					}),
		}[name];
	}

	escape() {
		if (this.detail) this.detail.close();
		else if (!this.core.noSelection && this.core.selection.count) this.core.select("none");
	}

	toggleOverlays() {
		const { core } = this;
		const columns = overlayColumns(core);
		const shown = columns.some((column) => overlay(core, column.name).shown);
		setOverlays(core, columns, { shown: !shown });
		core.say(shown ? "Overlays hidden" : "Overlays shown");
	}

	// edits of the selection

	/** @param {number|string} value  a class, or the name of one that is not there yet */
	setClass(value, column = this.core.labels, rows = this.core.toEdit()) {
		const { core } = this;
		if (!rows) return;
		core.stage(rows, column.name, value).then((reply) => reply && core.say(`${column.name} of ${counted(rows.count, "row")} set to ${column.classes?.[value] ?? value}`));
	}

	chooseClass() {
		const column = this.core.labels;
		const rows = column && this.core.toEdit();
		if (!rows) return;
		chooser(this.root, `Set ${column.name} of ${counted(rows.count, "row")}`, column.classes ?? [], ({ value }) => this.setClass(value, column, rows), { free: true });
	}

	/** The labels that a ranking of suspects suggests. */
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
		chooser(this.root, `Tag ${counted(rows.count, "row")}${column.name ? ` in ${column.name}` : ""}`, column.classes ?? [], ({ value }) => this.core.stage(rows, column.name, value, note.firstChild.checked ? "remove_tag" : "add_tag"), { free: !column.classes?.length, note });
	}

	// rows and dialogs

	openRow(position) {
		const { core } = this;
		if (position < 0 || position >= core.state.rows) return;
		core.active = position;
		this.grid.reveal(position);
		if (this.detail) return this.detail.show(position);
		this.detail = new (core.compares ? PairDetail : Detail)(core, () => {
			this.detail = null;
			this.grid.element.inert = false;
			this.grid.scroller.focus({ preventScroll: true });
		});
		this.grid.element.inert = true;
		this.main.append(this.detail.element);
		this.detail.show(position);
		this.detail.element.focus({ preventScroll: true });
	}

	suspects() {
		const { suspects: choices = [], review_needs: needs } = this.core.about;
		if (this.core.static) return;
		const words = {
			embedding: ({ label, column }) => `${label}: labels unlike their neighbours in ${column}`,
			scores: ({ label, column }) => `${label}: labels that the scores in ${column} doubt`,
			agreement: ({ label, column }) => `${label} against ${column}: least agreement first`,
		};
		const buttons = choices.map((one) =>
			choice("suspects", words[one.by]?.(one) ?? `${one.label} by ${one.by}`, "", () => {
				close();
				this.core.attempt("suspects", one);
			}),
		);
		const body = buttons.length ? [quiet("Ranks the rows shown, most doubtful first.", "p"), ...buttons] : [prose(needs ?? "")];
		const close = dialog(this.root, "Rows to review", [div("dl-dialog-body", ...body)]);
	}

	/** Saves the query as a view, and shows the views there are. */
	async views() {
		const { core } = this;
		const list = div("dl-choices", quiet("Looking for saved views …", "p"));
		const overwrite = check("Replace a view of that name");
		ask(
			this.root,
			"Saved views",
			{
				label: "Name for what is shown now",
				action: "Save",
				extra: h("div", {}, overwrite, list),
			},
			async (name) => {
				try {
					await core.ask("save_view", { name, overwrite: overwrite.firstChild.checked });
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
						this.root.querySelector(".dl-shade")?.dispatchEvent(new CustomEvent("dl-close"));
						core.attempt("show_view", { name: view.name });
					}),
				),
			);
			if (!views.length) list.append(quiet("No view is saved yet.", "p"));
		} catch (error) {
			list.replaceChildren(quiet(error.message, "p"));
		}
	}

	help() {
		const lines = (text) => text.split("|").map((part, i) => (i % 2 ? h("dd", { text: part }) : h("dt", {}, kbd(part))));
		dialog(this.root, "Keys", [div("dl-dialog-body dl-keys", ...Object.entries(KEYS).map(([title, text]) => h("section", {}, h("h3", { text: title }), h("dl", {}, ...lines(text)))))], { wide: true });
	}
}
