// A view of one image, with zoom and pan.

import { drawLayers, drawPicture, smooths } from "./cards.js";
import { dropCell } from "./cells.js";
import { fillRect } from "./drawing.js";
import { drag, h, within } from "./elements.js";
import { fit, WHOLE, zoomAt } from "./geometry.js";
import { Painted, sharpen } from "./painted.js";
/** @import { BoxEditor } from "./box-editor.js" */
/** @import { DecodedCell } from "./cells.js" */
/** @import { Core } from "./core.js" */
/** @import { Point, Rect, View } from "./geometry.js" */

/** Shows an image with its overlays. `over` is a second image that a swipe reveals. */
export class Viewer extends Painted {
	/** @param {Core} core @param {{moved?: (view: View) => void, name?: string}} [how] */
	constructor(core, { moved = () => {}, name = "Image" } = {}) {
		super("dl-canvas");
		this.core = core;
		this.moved = moved;
		this.view = WHOLE;
		/** @type {DecodedCell|null} */
		this.cell = null;
		/** @type {DecodedCell|null} */
		this.over = null;
		this.split = 0.5;
		/** @type {BoxEditor|null} */
		this.boxes = null;
		this.element = h(
			"div",
			{
				class: "dl-viewer",
				role: "img",
				"aria-label": name,
				onpointerdown: (event) => this.press(event),
				onpointermove: (event) => this.boxes?.hover(this.inPicture(event)),
				onwheel: (event) => this.wheel(event),
				ondblclick: (event) => this.toggleSize(event),
			},
			this.canvas,
		);
		this.unsize = core.sized(this.element, () => this.later());
	}

	close() {
		this.unsize();
		this.show(null, null);
	}

	/** @param {DecodedCell|null} cell @param {DecodedCell|null} [over] */
	show(cell, over = null) {
		for (const old of [this.cell, this.over]) if (old && old !== cell && old !== over) dropCell(old);
		this.cell = cell;
		this.over = over;
		this.later();
	}

	/** Returns the rectangle of the whole image, before zoom. */
	fitted() {
		const { clientWidth: w, clientHeight: hgt } = this.element;
		const of = this.cell ?? this.over;
		return fit(of?.w || of?.bitmap?.width || 1, of?.h || of?.bitmap?.height || 1, { x: 12, y: 12, w: Math.max(1, w - 24), h: Math.max(1, hgt - 24) }, 24);
	}

	/** @returns {Rect} */
	rect() {
		const base = this.fitted();
		return { x: base.x * this.view.scale + this.view.x, y: base.y * this.view.scale + this.view.y, w: base.w * this.view.scale, h: base.h * this.view.scale };
	}

	set(/** @type {View} */ view) {
		this.view = view;
		this.moved(view);
		this.later();
	}

	zoom(/** @type {number} */ by, x = this.element.clientWidth / 2, y = this.element.clientHeight / 2) {
		this.set(zoomAt(this.view, x, y, by, [0.5, 64]));
	}

	fit() {
		this.set(WHOLE);
	}

	/** Switches between fitting the image, and showing pixels one to one at the pointer. */
	toggleSize(/** @type {MouseEvent} */ event) {
		if (this.boxes) return;
		if (this.view.scale !== 1) return this.fit();
		const whole = (this.cell?.w ?? 1) / this.fitted().w;
		this.zoom(whole > 1.2 ? whole : 3, ...within(this.element, event));
	}

	wheel(/** @type {WheelEvent} */ event) {
		event.preventDefault();
		this.zoom(Math.exp(-event.deltaY / 400), ...within(this.element, event));
	}

	inPicture(/** @type {MouseEvent} */ event) {
		const [x, y] = within(this.element, event);
		const at = this.rect();
		return { x: (x - at.x) / at.w, y: (y - at.y) / at.h, near: /** @type {Point} */ ([7 / at.w, 7 / at.h]), w: at.w, h: at.h };
	}

	press(/** @type {PointerEvent} */ event) {
		if (event.button !== 0 || !this.cell) return;
		if (this.boxes) return this.boxes.press(event, this.inPicture(event));
		const before = this.view;
		drag(event, ({ dx, dy }) => this.set({ ...before, x: before.x + dx, y: before.y + dy }));
	}

	draw() {
		const { clientWidth: w, clientHeight: hgt } = this.element;
		if (!w || !hgt) return;
		const context = sharpen(this.canvas, w, hgt);
		context.clearRect(0, 0, w, hgt);
		const at = this.rect();
		this.layer(context, this.cell, at);
		if (this.over) {
			const x = at.x + at.w * this.split;
			context.save();
			context.beginPath();
			context.rect(x, 0, w, hgt);
			context.clip();
			fillRect(context, this.core.palette.bg, { x, y: 0, w, h: hgt });
			this.layer(context, this.over, at);
			context.restore();
			fillRect(context, this.core.palette.accent, { x: x - 1, y: at.y, w: 2, h: at.h });
		}
		this.boxes?.draw(context, at);
	}

	/** @param {CanvasRenderingContext2D} context @param {DecodedCell|null} cell @param {Rect} at */
	layer(context, cell, at) {
		if (!cell) return;
		const { core } = this;
		if (!cell.bitmap) return drawPicture(context, core.palette, core, cell, { x: 12, y: 12, w: this.element.clientWidth - 24, h: this.element.clientHeight - 24 });
		context.imageSmoothingEnabled = smooths(cell.bitmap, cell.w, at);
		context.drawImage(cell.bitmap, at.x, at.y, at.w, at.h);
		const hidden = this.boxes?.column;
		const marks = hidden ? { ...cell.marks, [hidden]: undefined } : cell.marks;
		drawLayers(context, core.palette, core, { ...cell, marks }, at);
	}
}
