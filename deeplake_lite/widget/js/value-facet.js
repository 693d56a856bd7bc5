// The facet for classes, tags and other values, with a bar and a button for each value.

import { classColour, css } from "./colours.js";
import { attribute, dotted, h, keepKeys, pressed, quiet, say, span, textField } from "./elements.js";
import { FacetFrame } from "./facet-frame.js";
import { short } from "./numbers.js";
import { counted, grouped, typeAhead, visible } from "./text.js";
/** @import { Facet, Facets } from "./facets.js" */
/** @import { Choice, ValueCount } from "./messages.js" */

/** @typedef {{element: HTMLElement, choice: Choice, show: (value: ValueCount, most: number) => void}} ValueRow  the button of a value, and the value that it toggles */

/** Lists values, each with a bar that is pale for all rows and coloured for the shown rows. */
export class ValueFacet extends FacetFrame {
	/** @param {Facets} owner @param {Facet} facet */
	constructor(owner, facet) {
		super(owner, facet);
		this.more = quiet("", "p");
		this.rows = h("div", { class: "dl-values", role: "group", "aria-label": `Values of ${facet.label}` });
		this.find = textField(`Find a value of ${facet.label}`, { type: "search", class: "dl-input dl-find", placeholder: "Find a value", oninput: () => this.fill() });
		keepKeys(this.find);
		/** @type {ValueRow[]} */
		this.pool = [];
		this.body.append(this.find, this.rows, this.more);
	}

	update(/** @type {Facet} */ facet) {
		super.update(facet);
		this.find.hidden = facet.values.length <= 12;
		this.fill();
		say(this.more, dotted(facet.more && counted(facet.more, "more value"), facet.nulls?.[0] && `no value in ${grouped(facet.nulls[0])} of ${counted(facet.rows, "row")}`));
		this.more.hidden = !this.more.textContent;
	}

	fill() {
		const { facet, pool } = this;
		const wanted = this.find.hidden
			? null
			: new Set(
					typeAhead(
						facet.values.map((v) => String(v[1])),
						this.find.value,
						500,
					).map((hit) => hit.index),
				);
		const values = facet.values.filter((_, i) => !wanted || wanted.has(i));
		const most = Math.max(1, ...facet.values.map((value) => value[2]));
		while (pool.length < values.length) pool.push(this.row());
		for (const row of pool.splice(values.length)) row.element.remove();
		values.forEach((value, i) => pool[i].show(value, most));
	}

	/** Adds a row at the end. @returns {ValueRow} */
	row() {
		const [barAll, barShown, mark, label, count] = ["dl-bar-all", "dl-bar-shown", "dl-dot", "dl-value-name", "dl-value-count"].map((name) => span("", name));
		const element = h("button", { class: "dl-value", onclick: () => this.owner.filter(this.facet, "toggle", [row.choice]) }, barAll, barShown, mark, label, count);
		/** @type {ValueRow} */
		const row = {
			element,
			choice: "",
			show: ([value, name, all, shown, colour], most) => {
				row.choice = value;
				barAll.style.width = `${(100 * all) / most}%`;
				barShown.style.width = `${(100 * shown) / most}%`;
				const tint = colour ?? (this.facet.kind === "classes" && typeof value === "number" ? value : null);
				mark.hidden = tint === null;
				if (tint !== null) mark.style.background = css(classColour(tint));
				const raw = this.owner.core.holdsData(this.facet.column);
				attribute(label, "dir", raw ? "auto" : undefined);
				say(label, String(name ?? value), { raw });
				label.title = visible(name ?? value);
				say(count, shown === all ? grouped(all) : `${short(shown)} / ${short(all)}`);
				pressed(element, (this.facet.chosen ?? []).includes(value));
				element.setAttribute("aria-label", `${visible(name ?? value)}: ${grouped(shown)} of ${grouped(all)} rows`);
			},
		};
		this.rows.append(element);
		return row;
	}
}
