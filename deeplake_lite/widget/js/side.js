// The panel at the side: one at a time.

import { div, drag, h, handled, heading, iconButton, labelled, pressed, say } from "./elements.js";
import { clamp } from "./geometry.js";
import { memory } from "./memory.js";
import { short } from "./numbers.js";

const PANELS = { facets: ["filter", "Filters", "f"], map: ["map", "Map", "m"], versions: ["versions", "Versions", "v"], edits: ["edits", "Edits", "e"] };
const PANEL_WIDTH = { facets: 260, map: 460, versions: 300, edits: 300 };

/** The panel at the left: one at a time, as wide as the reader makes it. */
export class Side {
	constructor(core, /** @type {Record<string, any>} */ panels) {
		this.core = core;
		this.panels = panels;
		this.widths = memory.read("widths", {});
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
		core.on("attached", () => this.panels[this.shown]?.open?.());
		core.on("staged_rows", () => this.mark());
		core.on("staged", () => this.mark());
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
		const badge = this.tabs.edits?.querySelector(".dl-badge");
		if (!badge) return;
		badge.hidden = !this.core.stagedCount;
		say(badge, short(this.core.stagedRows));
	}

	toggle(name) {
		if (name in this.panels) this.core.set({ panel: this.core.settings.panel === name ? null : name });
	}

	show(name) {
		if (this.core.settings.panel !== name) this.toggle(name);
		requestAnimationFrame(() => this.element.querySelector("input, textarea")?.focus());
	}

	apply() {
		const name = this.core.settings.panel in this.panels ? this.core.settings.panel : null;
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
		queueMicrotask(() => panel.open?.());
	}

	width(px) {
		const wide = Math.round(clamp(px, 180, 900));
		this.widths[this.shown] = wide;
		this.element.style.setProperty("--dl-side", `${wide}px`);
		this.splitter.setAttribute("aria-valuenow", String(wide));
		this.splitter.setAttribute("aria-valuemin", "180");
		this.splitter.setAttribute("aria-valuemax", "900");
	}

	split(event) {
		const before = this.element.offsetWidth;
		event.preventDefault();
		drag(
			event,
			({ dx }) => this.width(before + dx),
			() => memory.write("widths", this.widths),
		);
	}

	nudge(event) {
		const step = { ArrowLeft: -24, ArrowRight: 24 }[event.key];
		if (!step) return;
		handled(event);
		this.width(this.element.offsetWidth + step);
		memory.write("widths", this.widths);
	}
}
