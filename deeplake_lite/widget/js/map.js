// The map of embeddings, with its lasso.

import { numbersAt } from "./bytes.js";
import { drawPicture } from "./cards.js";
import { dropCell, readCell } from "./cells.js";
import { classColour, numberColour } from "./colours.js";
import { circle, drawLasso, stroke } from "./drawing.js";
import { div, dot, drag, h, handled, iconButton, pressed, quiet, say, select, space, span, within } from "./elements.js";
import { clamp, PointIndex, pointsInLasso, simplify, WHOLE, zoomAt } from "./geometry.js";
import { short } from "./numbers.js";
import { captionColumns } from "./overlays.js";
import { Painted, sharpen } from "./painted.js";
import { Stale } from "./requests.js";
import { grouped } from "./text.js";

/** @import { DecodedCell } from "./cells.js" */
/** @import { Rgb } from "./colours.js" */
/** @import { Core } from "./core.js" */
/** @import { Point } from "./geometry.js" */
/** @import { Bytes, Colouring, Points } from "./messages.js" */

/** @typedef {{n: number, xy: Float32Array, positions: Uint32Array, gen: number}} Placed  points with the positions of their rows in one result */
/** @typedef {"lasso"|"pan"} Mode  the action of dragging */

/** @type {Mode[]} */
const MODES = ["lasso", "pan"];
const OLD_MAP = "The map is being computed for the shown rows. Select again when it is ready.";

/** The points of an embedding, painted pixel by pixel. A lasso selects rows. */
export class MapPanel extends Painted {
	constructor(/** @type {Core} */ core) {
		super("dl-map");
		this.core = core;
		this.title = "Map";
		this.view = WHOLE;
		/** @type {Mode} */
		this.mode = "lasso";
		/** @type {Point[]} */
		this.lasso = [];
		this.hover = -1;
		this.generation = -1;
		/** @type {Placed|null} */
		this.data = null;
		/** Colours of the points. */
		this.paints = new Uint32Array(0);
		this.index = new PointIndex(new Float32Array(0));
		/** @type {Map<number, number>|null} */
		this.byPosition = null;
		/** @type {ImageData|null} */
		this.image = null;
		const names = core.about.embeddings ?? [];
		this.column = names[0];
		this.method = "pca";
		const colours = core.columns.filter((column) => column.colours).map((column) => column.name);
		const wanted = core.settings.colour_by;
		this.colour = wanted !== null && colours.includes(wanted) ? wanted : (core.kinds("class")[0]?.name ?? "");
		this.tip = h("div", { class: "dl-tip", hidden: true });
		this.note = h("p", { class: "dl-map-note", text: "" });
		this.legend = h("div", { class: "dl-legend", "aria-label": "Colours" });
		this.box = h(
			"div",
			{
				class: "dl-map-box",
				tabindex: "0",
				role: "application",
				"aria-label": "Map of the embedding. Arrow keys move it, plus and minus zoom, and 0 fits it. The lasso needs a pointer.",
				onpointerdown: (event) => this.press(event),
				onpointermove: (event) => this.move(event),
				onpointerleave: () => this.point(-1),
				onwheel: (event) => this.wheel(event),
				onkeydown: (event) => this.key(event),
				ondblclick: () => this.hover >= 0 && this.current && core.emit("open", this.current.positions[this.hover]),
			},
			this.canvas,
			this.tip,
			this.note,
		);
		this.modes = MODES.map((mode) => iconButton(mode, mode === "lasso" ? "Drag selects (Shift to pan)" : "Drag pans (Shift to select)", () => this.setMode(mode), { "aria-pressed": String(mode === this.mode) }));
		const choose = (/** @type {"column"|"method"|"colour"} */ field) => (/** @type {string} */ value) => {
			this[field] = value;
			if (field === "colour") core.set({ colour_by: value || null });
			this.refresh();
		};
		const selects = [
			names.length > 1 && select(names, this.column, choose("column"), "Embedding"),
			core.about.umap && select(["pca", "umap"], this.method, choose("method"), "Method"),
			colours.length && h("label", { class: "dl-row-field" }, quiet("Colour"), select(["", ...colours], this.colour, choose("colour"), "Colour by", "one colour")),
		];
		this.element = div(
			"dl-map-panel",
			div(
				"dl-map-tools",
				...selects,
				space(),
				...this.modes,
				iconButton("fit", "Fit (0)", () => this.fit()),
			),
			this.box,
			this.legend,
		);
		core.sized(this.box, () => this.later());
		core.on("state", () => this.refresh());
		for (const name of /** @type {const} */ (["selection", "hover", "theme"])) core.on(name, () => this.later());
	}

	open() {
		if (this.generation !== this.core.state.generation) this.refresh();
		else this.later();
	}

	/** Returns the points if they belong to the shown result, otherwise null, because positions in another result refer to other rows. */
	get current() {
		return this.data?.gen === this.core.shown ? this.data : null;
	}

	setMode(/** @type {Mode} */ mode) {
		this.mode = mode;
		this.modes.forEach((button, i) => pressed(button, MODES[i] === mode));
	}

	async refresh() {
		if (!this.element.isConnected) return;
		this.generation = this.core.state.generation;
		if (!this.current) {
			say(this.note, "Computing the map …");
			this.point(-1);
			this.later();
		}
		const progress = (/** @type {number} */ done, /** @type {number} */ total) => say(this.note, `Computing the map … ${Math.round((100 * done) / Math.max(1, total))} %`);
		try {
			const reply = await this.core.latest("points", { column: this.column, method: this.method, colour: this.colour || null }, { bound: true, progress });
			this.take(reply);
		} catch (/** @type {any} */ error) {
			if (error instanceof Stale) return;
			say(this.note, error.message);
			this.data = null;
			this.later();
		}
	}

	take(/** @type {Points & Bytes} */ { n, of, colour, v, bytes, gen }) {
		const xy = numbersAt(bytes, v.xy, Float32Array);
		const values = v.colour && colour ? (colour.kind === "classes" ? numbersAt(bytes, v.colour, Int32Array) : numbersAt(bytes, v.colour, Float32Array)) : null;
		this.data = { n, xy, positions: numbersAt(bytes, v.positions, Uint32Array), gen };
		this.point(-1);
		this.index = new PointIndex(xy);
		this.byPosition = null;
		this.paints = this.paintsOf(colour, values, n);
		say(this.note, n ? (of > n ? `${grouped(n)} of ${grouped(of)} points` : "") : "No shown row has an embedding.");
		this.drawLegend(colour, values);
		this.later();
	}

	/** Returns a 32-bit colour for each point. @param {Colouring|null} colour @param {Int32Array|Float32Array|null} values @param {number} n */
	paintsOf(colour, values, n) {
		const pack = (/** @type {Rgb} */ [r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
		const paints = new Uint32Array(n);
		if (!values || !colour) return paints.fill(pack([78, 121, 167]));
		const [low, high] = colour.kind === "numbers" ? colour.range : [0, 1];
		const known = new Map();
		for (let i = 0; i < n; i++) {
			const key = colour.kind === "classes" ? values[i] : Math.round((255 * (values[i] - low)) / Math.max(1e-12, high - low));
			let paint = known.get(key);
			if (paint === undefined) {
				paint = pack(colour.kind === "classes" ? (key < 0 ? [140, 140, 140] : classColour(key)) : numberColour(key / 255));
				known.set(key, paint);
			}
			paints[i] = paint;
		}
		return paints;
	}

	/** @param {Colouring|null} colour @param {Int32Array|Float32Array|null} values */
	drawLegend(colour, values) {
		if (!colour || !values) return this.legend.replaceChildren();
		if (colour.kind !== "classes") {
			const [low, high] = colour.range;
			return this.legend.replaceChildren(span(short(low)), span("", "dl-ramp"), span(short(high)));
		}
		const present = [...new Set(values)].filter((c) => c >= 0).sort((a, b) => a - b);
		this.legend.replaceChildren(...present.slice(0, 24).map((c) => h("span", { class: "dl-legend-item" }, dot(c), span(colour.names?.[c] ?? String(c)))), (present.length > 24 && quiet(`and ${present.length - 24} more`)) || "");
	}

	fit() {
		this.view = WHOLE;
		this.later();
	}

	/** Returns the square in pixels to which 0..1 is mapped, which is at the centre of the box, then moved and scaled. */
	frame() {
		const [w, hgt] = [this.box.clientWidth, this.box.clientHeight];
		const side = Math.max(10, Math.min(w, hgt) - 24);
		const scale = side * this.view.scale;
		return { w, h: hgt, side, scale, left: (w - side) / 2 + this.view.x, top: (hgt - side) / 2 + this.view.y };
	}

	draw() {
		const { w, h: hgt, scale, left, top } = this.frame();
		if (!w || !hgt) return;
		const context = sharpen(this.canvas, w, hgt);
		context.clearRect(0, 0, w, hgt);
		if (!this.data) return;
		const ratio = this.canvas.width / w;
		this.drawPoints(context, this.data, scale * ratio, left * ratio, top * ratio);
		const { palette } = this.core;
		drawLasso(context, palette, this.lasso);
		for (const i of [this.hover, this.indexOf(this.core.hovered)]) {
			if (i < 0) continue;
			circle(context, left + this.data.xy[2 * i] * scale, top + this.data.xy[2 * i + 1] * scale, 7);
			stroke(context, palette.ink, 2);
		}
	}

	/** Returns the index of a row's point, or -1. */
	indexOf(/** @type {number} */ position) {
		const { current } = this;
		if (position < 0 || !current) return -1;
		this.byPosition ??= new Map(Array.from(current.positions, (p, i) => [p, i]));
		return this.byPosition.get(position) ?? -1;
	}

	/**
	 * Draws points as squares of pixels. Selected points are larger and drawn last. Points of rows in another result are pale.
	 * @param {CanvasRenderingContext2D} context @param {Placed} points @param {number} scale @param {number} left @param {number} top
	 */
	drawPoints(context, { xy, positions, n }, scale, left, top) {
		const { width, height } = this.canvas;
		if (this.image?.width !== width || this.image?.height !== height) this.image = new ImageData(width, height);
		const pixels = new Uint32Array(this.image.data.buffer);
		pixels.fill(0);
		const { selection } = this.core;
		const dense = n / ((scale * scale) / 400);
		const side = clamp(Math.round((dense > 6 ? 1 : dense > 1.5 ? 2 : dense > 0.3 ? 3 : 5) * (width / this.box.clientWidth)), 1, 7);
		const { current } = this;
		const some = current && selection.count > 0;
		for (let pass = 0; pass < (some ? 2 : 1); pass++) {
			const grown = pass ? side + 1 : side;
			const half = grown >> 1;
			for (let i = 0; i < n; i++) {
				if (some && selection.has(positions[i]) !== (pass === 1)) continue;
				const x = (left + xy[2 * i] * scale - half) | 0;
				const y = (top + xy[2 * i + 1] * scale - half) | 0;
				if (x < 0 || y < 0 || x + grown > width || y + grown > height) continue;
				const paint = !current || (some && !pass) ? (this.paints[i] & 0xffffff) | 0x38000000 : this.paints[i];
				for (let v = 0; v < grown; v++) pixels.fill(paint, (y + v) * width + x, (y + v) * width + x + grown);
			}
		}
		context.putImageData(this.image, 0, 0);
	}

	// pointer and keys

	place(/** @type {MouseEvent} */ event) {
		return within(this.box, event);
	}

	press(/** @type {PointerEvent} */ event) {
		if (event.button !== 0 || !this.data) return;
		const selecting = (this.mode === "lasso") !== event.shiftKey;
		const from = this.place(event);
		const before = { ...this.view };
		drag(
			event,
			({ x, y, dx, dy }) => {
				if (selecting) {
					if (!this.lasso.length) this.lasso.push(from);
					this.lasso.push([x, y]);
				} else {
					this.view = { ...before, x: before.x + dx, y: before.y + dy };
				}
				this.later();
			},
			(moved) => {
				if (moved && selecting) this.endLasso(event);
				else if (!moved) this.click(event);
			},
		);
	}

	endLasso(/** @type {MouseEvent} */ event) {
		const { scale, left, top } = this.frame();
		const polygon = simplify(this.lasso, 3).map(([x, y]) => /** @type {Point} */ ([(x - left) / scale, (y - top) / scale]));
		this.lasso = [];
		this.later();
		const { current } = this;
		if (!current) return this.core.note(OLD_MAP);
		const positions = pointsInLasso(current.xy, polygon)
			.map((i) => current.positions[i])
			.sort();
		this.core.take(positions, { ctrlKey: event.ctrlKey, metaKey: event.metaKey });
		if (positions.length) this.core.emit("reveal", positions[0]);
	}

	click(/** @type {MouseEvent} */ event) {
		const { current } = this;
		if (!current) return this.core.note(OLD_MAP);
		const i = this.near(event);
		if (i < 0) return this.core.take([], event);
		const position = current.positions[i];
		this.core.pick(position, { toggle: event.ctrlKey || event.metaKey });
		this.core.emit("reveal", position);
	}

	near(/** @type {MouseEvent} */ event) {
		if (!this.current) return -1;
		const { scale, left, top } = this.frame();
		const [x, y] = this.place(event);
		return this.index.nearest((x - left) / scale, (y - top) / scale, Math.min(0.05, 9 / scale));
	}

	move(/** @type {PointerEvent} */ event) {
		if (event.buttons || event.pointerType === "touch") return this.point(-1);
		this.point(this.near(event), event);
	}

	/** Shows the row under the pointer. @param {number} i @param {MouseEvent} [event] */
	async point(i, event) {
		if (i === this.hover) return;
		this.hover = i;
		this.later();
		this.tip.hidden = true;
		const { data } = this;
		if (i < 0 || !event || !data) return;
		const [x, y] = this.place(event);
		try {
			const { picture } = this.core.settings;
			const reply = await this.core.latest("cells", { positions: [data.positions[i]], size: 128, picture, columns: captionColumns(this.core), overlays: [] }, { bound: true });
			const cell = reply.cells[0] && (await readCell(reply.cells[0], reply.bytes, 128, ""));
			if (cell && this.hover === i && this.data === data && this.current) this.showTip(cell, x, y);
			if (cell) dropCell(cell);
		} catch (error) {
			if (!(error instanceof Stale)) this.tip.hidden = true;
		}
	}

	/** @param {DecodedCell} cell @param {number} x @param {number} y */
	showTip(cell, x, y) {
		const canvas = h("canvas", {});
		const context = sharpen(canvas, 112, 112);
		drawPicture(context, this.core.palette, this.core, cell, { x: 0, y: 0, w: 112, h: 112 });
		const lines = Object.entries(cell.caption ?? {}).map(([name, value]) => div("dl-tip-line", dot(value.c), this.core.cell("span", name, value.t || "–")));
		this.tip.replaceChildren(canvas, ...lines);
		this.tip.hidden = false;
		const [w, hgt] = [this.box.clientWidth, this.box.clientHeight];
		this.tip.style.left = `${x + 140 > w ? Math.max(0, x - 136) : x + 12}px`;
		this.tip.style.top = `${Math.max(0, Math.min(y - 40, hgt - this.tip.offsetHeight - 4))}px`;
	}

	wheel(/** @type {WheelEvent} */ event) {
		event.preventDefault();
		const [x, y] = this.place(event);
		const { w, h: hgt, side } = this.frame();
		this.view = zoomAt(this.view, x - (w - side) / 2, y - (hgt - side) / 2, Math.exp(-event.deltaY / 300), [0.5, 200]);
		this.point(-1);
		this.later();
	}

	key(/** @type {KeyboardEvent} */ event) {
		const moves = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] }[event.key];
		const { side } = this.frame();
		const zoom = (/** @type {number} */ by) => zoomAt(this.view, side / 2, side / 2, by, [0.5, 200]);
		if (moves) this.view = { ...this.view, x: this.view.x + moves[0], y: this.view.y + moves[1] };
		else if (event.key === "+" || event.key === "=") this.view = zoom(1.3);
		else if (event.key === "-") this.view = zoom(1 / 1.3);
		else if (event.key === "0") this.view = WHOLE;
		else return;
		handled(event);
		this.later();
	}
}
