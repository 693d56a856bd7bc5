// The filter panel.

import { div, link, padded, say } from "./elements.js";
import { HistogramFacet } from "./histogram.js";
import { isRange } from "./numbers.js";
import { Stale } from "./requests.js";
import { visible } from "./text.js";
import { ValueFacet } from "./value-facet.js";

/** Charts of the columns; a choice writes itself into the query. */
export class Facets {
	constructor(core) {
		this.core = core;
		this.title = "Filters";
		this.list = div("dl-facets");
		this.note = padded("Counting …");
		this.element = div("dl-panel-scroll", this.note, this.list);
		/** @type {Map<string, any>} */
		this.parts = new Map();
		core.on("state", () => this.refresh());
		core.on("theme", () => this.parts.forEach((part) => part.draw?.()));
	}

	open() {
		this.refresh();
	}

	async refresh() {
		if (!this.element.isConnected) return;
		await this.core.whenPainted(); // Python answers one question at a time: pictures come first
		try {
			const { facets } = await this.core.latest("facets", { columns: null }, { bound: true });
			this.note.hidden = facets.length > 0;
			say(this.note, "No column here has a chart.");
			this.show(facets);
		} catch (error) {
			if (error instanceof Stale) return;
			this.note.hidden = false;
			say(this.note, `Charts could not be counted: ${error.message}`);
		}
	}

	show(facets) {
		this.found = facets;
		const keys = new Set(facets.map((facet) => facet.expression));
		for (const [key, part] of this.parts) {
			if (keys.has(key)) continue;
			part.element.remove();
			this.parts.delete(key);
		}
		facets.forEach((facet, i) => {
			facet = readFacet(facet, this.core);
			let part = this.parts.get(facet.expression);
			if (!part) {
				part = isRange(facet.kind) ? new HistogramFacet(this, facet) : new ValueFacet(this, facet);
				this.parts.set(facet.expression, part);
				this.list.insertBefore(part.element, this.list.children[i] ?? null);
			}
			part.element.classList.toggle("dl-uncounted", Boolean(facet.ask || facet.problem || facet.only));
			part.facet = facet;
			part.note.replaceChildren(...(facet.problem ? [visible(facet.problem)] : facet.only ? [`All are ${facet.only.replace("T", " ")}`] : facet.ask ? [link("Count", () => this.count(facet))] : []));
			part.update({ values: [], edges: [0, 1], all: [], shown: [], ...facet });
		});
	}

	/** Counts what costs time, which was left out. */
	async count({ column }) {
		try {
			const { facets } = await this.core.ask("facets", { columns: [column] }, { bound: true });
			const counted = new Map(facets.map((facet) => [facet.expression, facet]));
			this.show(this.found.map((facet) => counted.get(facet.expression) ?? facet));
		} catch (error) {
			this.core.failed(error);
		}
	}

	async filter(facet, op, values) {
		await this.core.attempt("filter", { expression: facet.expression, kind: facet.kind, op, values });
	}

	async sort(facet) {
		const next = facet.sort === "asc" ? "desc" : facet.sort === "desc" ? null : "asc";
		const fields = next ? { expression: facet.expression, descending: next === "desc" } : { expression: null };
		await this.core.attempt("sort", fields);
	}
}

/** A facet as charts need it. */
function readFacet(facet, core) {
	const made = { ...facet };
	const { order } = core.state;
	if (order && made.sort === undefined) made.sort = order.expression === facet.expression ? (order.descending ? "desc" : "asc") : null;
	const classes = core.column(facet.column)?.classes ?? [];
	if (facet.values) made.values = facet.values.map(([value, name, all, shown, colour]) => [value, name, all, shown, colour ?? (classes.includes(name) ? classes.indexOf(name) : null)]);
	return made;
}
