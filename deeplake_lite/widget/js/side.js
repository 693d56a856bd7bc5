// The side panel.

import { div, drag, focusIn, h, handled, heading, iconButton, labelled, pressed, say } from "./elements.js";
import { clamp } from "./geometry.js";
import { memory } from "./memory.js";
import { short } from "./numbers.js";

/** @import { Core } from "./core.js" */
/** @import { Icon } from "./elements.js" */

/** @type {Record<string, [Icon, title: string, key: string]>} */
const PANELS = { facets: ["filter", "Filters", "f"], map: ["map", "Map", "m"], versions: ["versions", "Versions", "v"], edits: ["edits", "Edits", "e"] };
/** @type {Record<string, number>} */
const PANEL_WIDTH = { facets: 260, map: 460, versions: 300, edits: 300 };

/** @typedef {{title: string, element: HTMLElement, tools?: HTMLElement, open: () => unknown}} Panel */

/** The side panel, which shows one panel at a time. Users can change its width. */
export class Side {
	constructor(/** @type {Core} */ core, /** @type {Record<string, Panel>} */ panels) {
		this.core = core;
		this.panels = panels;
		/** @type {Record<string, number>} */
		this.widths = memory.read("widths", {});
		/** @type {string|null} */
		this.shown = null;
		this.element = h("aside", { class: "dl-side", hidden: true });
		this.splitter = h("div", {
			class: "dl-splitter",
			role: "separator",
			tabindex: "0",
			"aria-orientation": "vertical",
			"aria-label": "Width of the panel",
			hidden: true,
			onpointerdown: (event) => this.split(event),
			onkeydown: (event) => this.nudge(event),
		});
		core.on("settings", () => this.apply());
		core.on("attached", () => this.shown !== null && this.panels[this.shown].open());
		core.on("staged_rows", () => this.mark());
		core.on("staged", () => this.mark());
		/** @type {Record<string, HTMLElement>} */
		this.tabs = {};
	}

	buttons() {
		const made = Object.keys(this.panels).map((name) => {
			const [picture, title, key] = PANELS[name];
			this.tabs[name] = labelled(picture, title, `${title} (${key})`, () => this.toggle(name), { "aria-pressed": "false" });
			if (name === "edits") this.tabs[name].append(h("span", { class: "dl-badge", hidden: true }));
			return this.tabs[name];
		});
		this.apply();
		this.mark();
		return made;
	}

	mark() {
		const badge = this.tabs.edits?.querySelector("span.dl-badge");
		if (!(badge instanceof HTMLElement)) return;
		badge.hidden = !this.core.stagedCount;
		say(badge, short(this.core.stagedRows));
	}

	toggle(/** @type {string} */ name) {
		if (name in this.panels) this.core.set({ panel: this.core.settings.panel === name ? null : name });
	}

	show(/** @type {string} */ name) {
		if (this.core.settings.panel !== name) this.toggle(name);
		requestAnimationFrame(() => focusIn(this.element, "input, textarea"));
	}

	apply() {
		const { panel: wanted } = this.core.settings;
		const name = wanted !== null && wanted in this.panels ? wanted : null;
		if (name === this.shown) return;
		this.shown = name;
		this.element.hidden = this.splitter.hidden = !name;
		for (const [other, tab] of Object.entries(this.tabs)) pressed(tab, other === name);
		if (!name) return this.element.replaceChildren();
		const panel = this.panels[name];
		this.element.setAttribute("aria-label", panel.title);
		this.element.replaceChildren(
			div(
				"dl-side-head",
				heading(panel.title),
				panel.tools ?? "",
				iconButton("close", "Close the panel", () => this.toggle(name)),
			),
			panel.element,
		);
		this.width(this.widths[name] ?? PANEL_WIDTH[name]);
		queueMicrotask(() => panel.open());
	}

	width(/** @type {number} */ px) {
		const wide = Math.round(clamp(px, 180, 900));
		if (this.shown !== null) this.widths[this.shown] = wide;
		this.element.style.setProperty("--dl-side", `${wide}px`);
		this.splitter.setAttribute("aria-valuenow", String(wide));
		this.splitter.setAttribute("aria-valuemin", "180");
		this.splitter.setAttribute("aria-valuemax", "900");
	}

	split(/** @type {PointerEvent} */ event) {
		const before = this.element.offsetWidth;
		event.preventDefault();
		drag(
			event,
			({ dx }) => this.width(before + dx),
			() => memory.write("widths", this.widths),
		);
	}

	nudge(/** @type {KeyboardEvent} */ event) {
		const step = event.key === "ArrowLeft" ? -24 : event.key === "ArrowRight" ? 24 : 0;
		if (!step) return;
		handled(event);
		this.width(this.element.offsetWidth + step);
		memory.write("widths", this.widths);
	}
}
