// Elements over the visible cards, for screen readers.

import { attribute, h } from "./elements.js";
import { MARGIN, MIN_SIDE_FOR_NAMES } from "./layout.js";
import { grouped, visible } from "./text.js";

/** @import { Grid } from "./grid.js" */
/** @import { Layout } from "./layout.js" */

let instances = 0;

/** The transparent layer over a grid's canvas, with a row of elements for each row of cards. */
export class GridElements {
	constructor(/** @type {Grid} */ grid) {
		this.grid = grid;
		this.uid = `dl${++instances}`;
		this.layer = h("div", { class: "dl-cells", role: "rowgroup" });
		/** @type {HTMLElement[]} */
		this.rows = [];
	}

	/** @param {number} start @param {number} stop */
	describe(start, stop) {
		const { core, layout, scroller, top } = this.grid;
		const first = Math.floor(start / layout.columns);
		const count = stop > start ? Math.ceil(stop / layout.columns) - first : 0;
		while (this.rows.length < count) {
			const row = h("div", { role: "row", class: "dl-row" });
			this.rows.push(row);
			this.layer.append(row);
		}
		for (const row of this.rows.splice(count)) row.remove();
		this.layer.style.transform = `translateY(${MARGIN + first * layout.step - top}px)`;
		this.rows.forEach((row, i) => this.describeRow(layout, row, first + i, i * layout.step));
		const active = core.active >= start && core.active < stop;
		attribute(scroller, "aria-activedescendant", active ? `${this.uid}-${core.active}` : undefined);
	}

	/** @param {Layout} layout @param {HTMLElement} row @param {number} index @param {number} y */
	describeRow(layout, row, index, y) {
		const { core } = this.grid;
		const from = index * layout.columns;
		const count = Math.min(layout.columns, core.state.rows - from);
		while (row.children.length < count) row.append(h("div", { role: "gridcell", class: "dl-cell" }));
		while (row.children.length > count) row.lastElementChild?.remove();
		row.setAttribute("aria-rowindex", String(index + 1));
		for (let column = 0; column < count; column++) {
			const position = from + column;
			const cell = /** @type {HTMLElement} */ (row.children[column]);
			const place = `${column * (layout.card + layout.gap)}px,${y}px,${layout.card}px,${layout.picture + layout.caption}px`;
			if (cell.dataset.place !== place) {
				const [left, top, width, height] = place.split(",");
				Object.assign(cell.style, { left: `calc(${left} + ${MARGIN}px)`, top, width, height });
				cell.dataset.place = place;
			}
			attribute(cell, "aria-label", this.labelOf(position));
			const words = this.words(position);
			const whole = words.length <= layout.lines && (words.length < 2 || layout.card >= MIN_SIDE_FOR_NAMES);
			attribute(cell, "title", whole ? undefined : words.join("\n"));
			attribute(cell, "aria-selected", core.selection.has(position));
			if (cell.id !== `${this.uid}-${position}`) {
				cell.id = `${this.uid}-${position}`;
				cell.dataset.position = String(position);
				cell.setAttribute("aria-colindex", String(column + 1));
			}
		}
	}

	/** Returns the caption of a row, including lines that are not drawn. */
	words(/** @type {number} */ position) {
		const record = this.grid.cells.lru.peek(position);
		return record ? this.grid.wordsOf(record) : [];
	}

	labelOf(/** @type {number} */ position) {
		const record = this.grid.cells.lru.peek(position);
		const parts = this.words(position);
		if (record?.card?.text) parts.push(visible(String(record.card.text).slice(0, 80)));
		if (record?.staged?.length) parts.push("edited");
		return `Row ${grouped(position)}${parts.length ? `: ${parts.join(", ")}` : ""}`;
	}
}
