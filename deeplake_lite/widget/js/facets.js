// The filter panel.

import { div, link, padded, say } from "./elements.js";
import { HistogramFacet } from "./histogram.js";
import { isRange } from "./numbers.js";
import { Stale } from "./requests.js";
import { visible } from "./text.js";
import { ValueFacet } from "./value-facet.js";
/** @import { Core } from "./core.js" */
/** @import { Choice, End, FacetData, ValueCount } from "./messages.js" */

/**
 * A facet in the form that charts need.
 * @typedef {FacetData & {values: ValueCount[], edges: End[], all: number[], shown: number[], sort?: "asc"|"desc"|null}} Facet
 */

/** Charts of the columns. Users' choices in them become part of the query. */
export class Facets {
	constructor(/** @type {Core} */ core) {
		this.core = core;
		this.title = "Filters";
		this.list = div("dl-facets");
		this.note = padded("Counting …");
		this.element = div("dl-panel-scroll", this.note, this.list);
		/** @type {FacetData[]} */
		this.facetData = [];
		/** @type {Map<string, HistogramFacet|ValueFacet>} */
		this.parts = new Map();
		core.on("state", () => this.refresh());
		core.on("theme", () => this.parts.forEach((part) => part.draw()));
	}

	open() {
		this.refresh();
	}

	async refresh() {
		if (!this.element.isConnected) return;
		await this.core.whenPainted(); // Python handles one request at a time, and images come first
		try {
			const { facets } = await this.core.latest("facets", { columns: null }, { bound: true });
			this.note.hidden = facets.length > 0;
			say(this.note, "No shown column has a chart.");
			this.show(facets);
		} catch (/** @type {any} */ error) {
			if (error instanceof Stale) return;
			this.note.hidden = false;
			say(this.note, `The rows could not be counted: ${error.message}`);
		}
	}

	show(/** @type {FacetData[]} */ facets) {
		this.facetData = facets;
		const keys = new Set(facets.map((facet) => facet.expression));
		for (const [key, part] of this.parts) {
			if (keys.has(key)) continue;
			part.element.remove();
			this.parts.delete(key);
		}
		facets.forEach((data, i) => {
			const facet = readFacet(data, this.core);
			let part = this.parts.get(facet.expression);
			if (!part) {
				part = isRange(facet.kind) ? new HistogramFacet(this, facet) : new ValueFacet(this, facet);
				this.parts.set(facet.expression, part);
				this.list.insertBefore(part.element, this.list.children[i] ?? null);
			}
			part.element.classList.toggle("dl-uncounted", Boolean(facet.ask || facet.problem || facet.only));
			part.facet = facet;
			part.note.replaceChildren(...(facet.problem ? [visible(facet.problem)] : facet.only ? [`All values are ${facet.only.replace("T", " ")}`] : facet.ask ? [link("Count", () => this.count(facet))] : []));
			part.update(facet);
		});
	}

	/** Counts a slow facet, which is initially not counted. */
	async count(/** @type {Facet} */ { column }) {
		try {
			const { facets } = await this.core.ask("facets", { columns: [column] }, { bound: true });
			const counted = new Map(facets.map((facet) => [facet.expression, facet]));
			this.show(this.facetData.map((facet) => counted.get(facet.expression) ?? facet));
		} catch (error) {
			this.core.failed(error);
		}
	}

	/** @param {Facet} facet @param {"set"|"toggle"|"clear"} op @param {(Choice|null)[]} values */
	async filter(facet, op, values) {
		await this.core.attempt("filter", { expression: facet.expression, kind: facet.kind, op, values });
	}

	async sort(/** @type {Facet} */ facet) {
		const next = facet.sort === "asc" ? "desc" : facet.sort === "desc" ? null : "asc";
		const fields = next ? { expression: facet.expression, descending: next === "desc" } : { expression: null };
		await this.core.attempt("sort", fields);
	}
}

/** Converts a facet to the form that charts need. @param {FacetData} facet @param {Core} core @returns {Facet} */
function readFacet(facet, core) {
	const { order } = core.state;
	const sort = order?.expression === facet.expression ? (order.descending ? "desc" : "asc") : null;
	const classes = core.column(facet.column)?.classes ?? [];
	/** @type {ValueCount[]} */
	const values = (facet.values ?? []).map(([value, name, all, shown, colour]) => [value, name, all, shown, colour ?? (classes.includes(name) ? classes.indexOf(name) : null)]);
	return { edges: [0, 1], all: [], shown: [], sort, ...facet, values };
}
