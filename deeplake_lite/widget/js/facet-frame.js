// The frame of a facet in the filter panel, with a title that folds it and buttons to sort and clear.

import { div, h, icon, iconButton, link, pressed, quiet, span } from "./elements.js";
/** @import { Facet, Facets } from "./facets.js" */

export class FacetFrame {
	constructor(/** @type {Facets} */ owner, /** @type {Facet} */ facet) {
		this.owner = owner;
		this.facet = facet;
		this.name = span(facet.label ?? facet.expression, "dl-facet-name", facet.expression);
		this.fold = h("button", { class: "dl-facet-fold", "aria-expanded": "true", onclick: () => this.toggle() }, icon("down"), this.name);
		this.sorter = iconButton("sort", `Sort by ${facet.label ?? facet.expression}`, () => owner.sort(this.facet));
		this.clearer = link("Clear", () => owner.filter(this.facet, "clear", []), { hidden: true, "aria-label": `Clear the filter of ${facet.label}` });
		this.note = quiet("", "p");
		this.body = div("dl-facet-body", this.note);
		this.element = h("section", { class: "dl-facet", "aria-label": facet.label ?? facet.expression }, div("dl-facet-head", this.fold, this.clearer, this.sorter), this.body);
	}

	toggle() {
		this.body.hidden = !this.body.hidden;
		this.fold.setAttribute("aria-expanded", String(!this.body.hidden));
		if (!this.body.hidden) this.draw();
	}

	draw() {}

	update(/** @type {Facet} */ facet) {
		this.facet = facet;
		const chosen = Boolean(facet.chosen?.length);
		this.clearer.hidden = !chosen;
		this.element.classList.toggle("dl-chosen", chosen);
		this.sorter.hidden = this.owner.core.static;
		this.sorter.dataset.sort = facet.sort ?? "";
		pressed(this.sorter, Boolean(facet.sort));
	}
}
