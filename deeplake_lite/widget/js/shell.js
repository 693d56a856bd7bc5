// The whole browser, with its bars, panels, grid and keys.

import { Banner } from "./banner.js";
import { review, showKeys } from "./browser-dialogs.js";
import { Detail } from "./detail.js";
import { Edits } from "./edits.js";
import { div, dotted, h, handled, quiet, say, targetOf } from "./elements.js";
import { Facets } from "./facets.js";
import { Grid } from "./grid.js";
import { MapPanel } from "./map.js";
import { diffBar, diffGrid, PairDetail } from "./pairs.js";
import { SelectionBar } from "./selection-bar.js";
import { Side } from "./side.js";
import { grouped, visible } from "./text.js";
import { followTheme, paletteOf } from "./theme.js";
import { TopBar } from "./top-bar.js";
import { Versions } from "./versions.js";
import { layersButton, toggleOverlays, zoomControl } from "./view-controls.js";
/** @import { Core } from "./core.js" */
/** @import { Panel } from "./side.js" */

/** The bars, panels, grid and detail panel of a dataset. */
export class Shell {
	constructor(/** @type {Core} */ core, /** @type {HTMLElement} */ el) {
		this.core = core;
		this.root = core.root;
		this.root.setAttribute("aria-label", visible(`Dataset ${core.about.title ?? ""}`));
		core.noSelection = core.compares;
		this.live = h("div", { class: "dl-live", role: "status", "aria-live": "polite" });
		this.grid = core.compares ? diffGrid(core, (p) => this.openRow(p)) : new Grid(core, { open: (p) => this.openRow(p) });
		this.banner = new Banner(core);
		this.side = new Side(core, this.panels());
		/** @type {Detail|null} */
		this.detail = null;
		this.main = div("dl-main", this.grid.element);
		const zoom = (/** @type {number} */ by) => this.grid.zoom(by);
		this.top = core.compares ? null : new TopBar(core, this.side, zoom);
		this.chosen = core.compares ? null : new SelectionBar(core, () => this.side.show("edits"));
		this.root.append(this.top?.element ?? diffBar(core, zoomControl(core, zoom), layersButton(core)), this.banner.element, div("dl-body", this.side.element, this.side.splitter, this.main), this.chosen?.element ?? this.diffFoot(), this.live);
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
		/** @type {Record<string, Panel>} */
		const panels = {};
		if (core.compares) return panels;
		panels.facets = new Facets(core);
		if (core.about.embeddings?.length) panels.map = new MapPanel(core);
		if (!core.static) Object.assign(panels, { versions: new Versions(core), edits: new Edits(core) });
		return panels;
	}

	diffFoot() {
		const { counts, rows_each: most } = this.core.about;
		const copied = most !== undefined && Math.max(...Object.values(counts ?? {})) > most && `The first ${grouped(most)} rows of each kind of change`;
		return div("dl-foot", quiet(dotted(copied, "Enter opens a pair", "? shows the keys")));
	}

	refresh() {
		this.top?.refresh();
		this.chosen?.refresh();
	}

	listen() {
		const { core } = this;
		for (const name of /** @type {const} */ (["state", "count", "about", "selection", "staged_rows"])) core.on(name, () => this.refresh());
		core.on("say", (text) => say(this.live, text));
		core.on("grid", () => this.detail?.close());
		core.on("focus grid", () => this.grid.scroller.focus());
		core.on("open", (position) => this.openRow(position));
		core.on("busy", (busy) => this.root.classList.toggle("dl-working", busy));
		core.on("about", () => this.grid.relayout());
		core.on("state", ({ same }) => {
			if (same && this.detail && this.detail.position < core.state.rows) this.detail.load();
			else this.detail?.close();
		});
		this.root.addEventListener("keydown", (event) => this.key(event));
		// JupyterLab handles keys before the page does, except on elements with this attribute
		this.root.addEventListener("focusin", (event) => targetOf(event).setAttribute("data-lm-suppress-shortcuts", "true"));
	}

	key(/** @type {KeyboardEvent} */ event) {
		const typing = targetOf(event).closest("input, textarea, select");
		if (event.defaultPrevented || typing || event.altKey) return;
		const whole = event.ctrlKey || event.metaKey;
		const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
		const act = whole ? this.backAndForth(name, event.shiftKey) : this.action(name);
		if (!act) return;
		handled(event);
		act();
	}

	/** Returns the action of a key with Ctrl, which is undo or redo. @param {string} name @param {boolean} shifted */
	backAndForth(name, shifted) {
		if (name !== "z" && name !== "y") return undefined;
		return () => this.core.edit(name === "y" || shifted ? "redo" : "undo");
	}

	/** Returns the action of a single key. @param {string} name @returns {(() => unknown)|undefined} */
	action(name) {
		const { core, side, grid, top, chosen } = this;
		const index = core.classOf(name);
		if (index >= 0) return () => (chosen ? chosen.setClass(index) : core.editable());
		/** @type {Record<string, () => unknown>} */
		const acts = {
			"?": () => showKeys(this.root),
			"+": () => grid.zoom(1.25),
			"=": () => grid.zoom(1.25),
			"-": () => grid.zoom(0.8),
			o: () => toggleOverlays(core),
			Escape: () => this.escape(),
		};
		if (top && chosen) {
			Object.assign(acts, {
				"/": () => top.query.input.focus(),
				f: () => side.toggle("facets"),
				m: () => side.toggle("map"),
				v: () => side.toggle("versions"),
				e: () => side.toggle("edits"),
				s: () => review(core),
				r: () => core.state.rows && core.alike()[1](),
				l: () => chosen.chooseClass(),
				t: () => chosen.chooseTag(),
				a: () => chosen.acceptSuggested(),
				i: () => core.select("invert"),
			});
		}
		return acts[name];
	}

	escape() {
		if (this.detail) this.detail.close();
		else if (!this.core.noSelection && this.core.selection.count) this.core.select("none");
	}

	openRow(/** @type {number} */ position) {
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
}
