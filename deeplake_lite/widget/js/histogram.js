// The facet for numbers and times, with a histogram, a brush, and inputs for both ends.

import { fillRect } from "./drawing.js";
import { div, dotted, drag, h, keepKeys, quiet, say, textField, within } from "./elements.js";
import { FacetFrame } from "./facet-frame.js";
import { clamp } from "./geometry.js";
import { alongEdges, brushed, endText, numberOf, readNumber, readTime, short, shortTime, timeOf } from "./numbers.js";
import { sharpen } from "./painted.js";
import { grouped } from "./text.js";

/** @import { Facet, Facets } from "./facets.js" */
/** @import { End, Range } from "./messages.js" */

const HISTOGRAM = 52;

/** A histogram of numbers or times, with a brush and two inputs that filter. */
export class HistogramFacet extends FacetFrame {
	/** @param {Facets} owner @param {Facet} facet */
	constructor(owner, facet) {
		super(owner, facet);
		/** @type {[End, End]|null} */
		this.brush = null;
		this.texts = ["", ""];
		this.canvas = h("canvas", { class: "dl-histogram", "aria-hidden": "true" });
		this.holder = h(
			"div",
			{
				class: "dl-histogram-box",
				title: "Drag to filter, double-click to clear",
				onpointerdown: (event) => this.press(event),
				onpointermove: (event) => this.hover(event),
				onpointerleave: () => this.legend(),
				ondblclick: () => owner.filter(this.facet, "clear", []),
			},
			this.canvas,
		);
		this.low = this.field("at least");
		this.high = this.field("below");
		this.pointed = quiet("");
		this.beside = quiet("", "p");
		this.range = div("dl-range", this.low, this.pointed, this.high);
		this.body.append(this.holder, this.range, this.beside);
		owner.core.sized(this.holder, () => this.draw());
	}

	field(/** @type {string} */ name) {
		const field = textField(`${this.facet.label} ${name}`, { class: "dl-range-field", inputmode: "decimal", onchange: () => this.typed() });
		keepKeys(field);
		return field;
	}

	update(/** @type {Facet} */ facet) {
		super.update(facet);
		this.put(this.ends());
		this.legend();
		this.draw();
	}

	/** Returns the chosen range, with the chart's ends for open ends. @returns {[End, End]} */
	ends() {
		const { chosen, edges } = this.facet;
		return [chosen?.[0] ?? edges[0], chosen?.[1] ?? edges[edges.length - 1]];
	}

	put(/** @type {Range} */ range) {
		this.texts = range.map((end) => this.format(end));
		[this.low.value, this.high.value] = this.texts;
		[this.low.title, this.high.title] = range.map((end) => String(end ?? "").replace("T", " "));
	}

	/** Shows the number of rows outside all bins below the chart. */
	legend() {
		this.range.classList.remove("dl-pointed");
		say(this.beside, dotted(...(this.facet.beside ?? []).map(([count, what]) => `${grouped(count)} ${what}`)));
		this.beside.hidden = !this.beside.textContent;
	}

	format(/** @type {End|null|undefined} */ value) {
		const { kind, edges } = this.facet;
		if (value === null || value === undefined) return "";
		if (kind !== "times") return endText(value);
		const span = timeOf(edges[edges.length - 1]) - timeOf(edges[0]);
		return span < 600_000 ? String(value).replace("T", " ") : shortTime(timeOf(value), span);
	}

	/** Filters by the inputs. An unchanged input keeps the exact end, although it shows fewer digits. */
	typed() {
		const read = this.facet.kind === "times" ? readTime : readNumber;
		const [low, high] = [this.low, this.high].map((field, i) => (field.value === this.texts[i] ? (this.facet.chosen?.[i] ?? null) : read(field.value)));
		if (Number.isNaN(low) || Number.isNaN(high)) this.put(this.ends());
		else if (low !== null && high !== null && numberOf(low) > numberOf(high)) this.choose([high, low]);
		else this.choose([low, high]);
	}

	press(/** @type {PointerEvent} */ event) {
		if (event.button !== 0 || !this.facet.all.length) return;
		const [start] = within(this.holder, event);
		const width = this.holder.clientWidth;
		drag(
			event,
			({ x }) => {
				this.brush = this.under(start, x, width);
				this.legend();
				this.put(this.brush);
				this.draw();
			},
			(moved) => {
				const range = moved ? this.brush : event.detail < 2 ? this.under(start, start, width) : null;
				this.brush = null;
				if (range) this.choose(range);
			},
		);
	}

	/** Returns the range under a brush. @param {number} x0 @param {number} x1 @param {number} width @returns {[End, End]} */
	under(x0, x1, width) {
		const { edges, all } = this.facet;
		const [low, high] = brushed(all.length, x0, x1, width);
		return [edges[low], edges[high]];
	}

	choose(/** @type {Range} */ range) {
		const open = range.every((end) => end === null);
		this.owner.filter(this.facet, open ? "clear" : "set", open ? [] : range);
	}

	hover(/** @type {PointerEvent} */ event) {
		const { edges, all, shown } = this.facet;
		if (!all.length || this.brush) return;
		const share = within(this.holder, event)[0] / this.holder.clientWidth;
		const bin = clamp(Math.floor(share * all.length), 0, all.length - 1);
		this.range.classList.add("dl-pointed");
		say(this.pointed, `${this.format(edges[bin])}: ${short(shown[bin])} / ${short(all[bin])}`);
	}

	draw() {
		const width = this.holder.clientWidth;
		if (!width || this.body.hidden || !this.facet.all.length) return;
		const { palette } = this.owner.core;
		const context = sharpen(this.canvas, width, HISTOGRAM);
		context.clearRect(0, 0, width, HISTOGRAM);
		const { all, shown, edges, chosen } = this.facet;
		const most = Math.max(1, ...all);
		const step = width / all.length;
		const tall = (/** @type {number} */ count) => (count ? Math.max(1.5, (count / most) * (HISTOGRAM - 4)) : 0);
		const range = this.brush ?? (chosen?.length ? this.ends() : null);
		if (range) {
			const [a, b] = range.map((value) => alongEdges(edges, value) * width);
			fillRect(context, palette.soft, { x: a, y: 0, w: Math.max(2, b - a), h: HISTOGRAM });
		}
		const inset = step > 4 ? 1 : 0;
		const bar = (/** @type {number} */ i, /** @type {number} */ count, /** @type {string} */ colour) => fillRect(context, colour, { x: i * step + inset / 2, y: HISTOGRAM - tall(count), w: step - inset, h: tall(count) });
		all.forEach((count, i) => {
			bar(i, count, palette.line);
			bar(i, shown[i], palette.accent);
		});
	}
}
