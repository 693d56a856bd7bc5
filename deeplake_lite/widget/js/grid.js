// The grid of cards: scrolling, selecting and keys.

import { drawCaption, drawOpener, drawPicture, drawTick } from "./cards.js";
import { Cells } from "./cells.js";
import { drawLasso, fill, fillRect, rounded, stroke, trace } from "./drawing.js";
import { div, drag, h, primary, within } from "./elements.js";
import { clamp, simplify } from "./geometry.js";
import { GridElements } from "./grid-elements.js";
import { cardRect, cardsInLasso, gridLayout, hitCard, LARGEST, levelFor, MARGIN, SMALLEST, scrollScale, scrollTo, visibleRange } from "./layout.js";
import { captionColumns } from "./overlays.js";
import { density, Painted, sharpen } from "./painted.js";
import { visible } from "./text.js";
/** @import { DecodedCell } from "./cells.js" */
/** @import { Core } from "./core.js" */
/** @import { Point, Rect } from "./geometry.js" */
/** @import { Palette } from "./theme.js" */

/** Cards on a canvas, below elements for screen readers. */
export class Grid extends Painted {
	/** @param {Core} core @param {{aspect?: number, paint?: typeof drawPicture, open: (position: number) => void, lines?: () => number}} how */
	constructor(core, { aspect = 1, paint = drawPicture, open, lines }) {
		super("dl-canvas");
		this.core = core;
		this.aspect = aspect;
		this.paint = paint;
		this.open = open;
		this.lines = lines ?? (() => captionColumns(core).length);
		/** @type {Palette} */
		this.palette = {};
		this.top = 0;
		this.ownScroll = 0;
		this.width = 0;
		this.height = 0;
		this.speed = 0;
		this.ahead = 1;
		this.hold = 0;
		this.byKey = false;
		this.lastMove = 0;
		/** @type {number|undefined} */
		this.calming = undefined;
		/** @type {number|undefined} */
		this.edging = undefined;
		/** @type {Point[]} */
		this.lasso = [];
		this.layout = gridLayout({ width: 0, height: 0, size: SMALLEST, rows: 0, lines: 0, aspect });
		this.scale = scrollScale(0, 0);
		this.cells = new Cells(core, () => this.later());
		this.elements = new GridElements(this);
		this.empty = h("div", { class: "dl-empty", hidden: true });
		this.stage = h(
			"div",
			{
				class: "dl-stage",
				role: "presentation",
				onpointerdown: (event) => this.press(event),
				onpointermove: (event) => this.hover(event),
				onpointerleave: () => this.hoverAt(-1),
				ondblclick: (event) => this.at(event) >= 0 && this.open(this.at(event)),
			},
			this.canvas,
			this.elements.layer,
		);
		this.spacer = h("div", { class: "dl-spacer", role: "presentation" });
		this.scroller = h(
			"div",
			{
				class: "dl-scroller",
				role: "grid",
				tabindex: "0",
				"aria-label": "Rows",
				"aria-multiselectable": "true",
				onscroll: () => this.scrolled(),
				onwheel: (event) => this.wheel(event),
				onkeydown: (event) => this.key(event),
				onfocus: () => this.later(),
				onblur: () => this.later(),
			},
			this.stage,
			this.spacer,
		);
		this.element = div("dl-grid", this.scroller, this.empty);
		this.listen();
		core.ringed = () => this.ringed();
	}

	listen() {
		const { core } = this;
		core.sized(this.element, () => this.resized());
		core.atEnd(() => this.cells.clear());
		core.on("state", ({ same }) => this.turned(same));
		for (const name of /** @type {const} */ (["count", "settings"])) core.on(name, () => this.relayout());
		for (const name of /** @type {const} */ (["selection", "hover"])) core.on(name, () => this.later());
		core.on("changed", (positions) => {
			this.cells.outdate(positions);
			this.later();
		});
		core.on("reveal", (position) => this.reveal(position));
	}

	resized() {
		const { clientWidth, clientHeight } = this.scroller;
		if (!clientWidth || !clientHeight || (clientWidth === this.width && clientHeight === this.height)) return;
		this.width = clientWidth;
		this.height = clientHeight;
		this.relayout();
	}

	/** Shows another result. If the query is the same, keeps the scroll position. */
	turned(/** @type {boolean} */ same) {
		this.cells.clear();
		this.byKey = false; // another row may be at the focused position
		this.hold = performance.now() + 220;
		if (!same) this.moveTo(0);
		this.relayout();
	}

	/** Computes the layout, and keeps the first visible card in view. */
	relayout() {
		if (!this.width) return;
		const { rows } = this.core.state;
		const before = this.layout;
		const [first] = visibleRange(before, this.top + before.step / 2, this.height, Infinity);
		const size = this.core.settings.size >= LARGEST ? this.width : this.core.settings.size;
		this.layout = gridLayout({ width: this.width, height: this.height, size, rows, lines: this.lines(), aspect: this.aspect });
		this.scale = scrollScale(this.layout.total, this.height);
		this.stage.style.height = `${this.height}px`;
		this.spacer.style.height = `${Math.max(0, this.scale.height - this.height)}px`;
		const same = before.columns === this.layout.columns && before.step === this.layout.step;
		if (!same && this.top > 0) this.moveTo(cardRect(this.layout, first, 0).y - MARGIN);
		else this.moveTo(this.top);
		this.scroller.setAttribute("aria-rowcount", String(this.layout.count));
		this.scroller.setAttribute("aria-colcount", String(this.layout.columns));
		this.later();
	}

	moveTo(/** @type {number} */ top) {
		const most = Math.max(0, this.layout.total - this.height);
		this.top = clamp(top, 0, most);
		this.ownScroll = Math.round(this.top / this.scale.factor);
		if (this.scroller.scrollTop !== this.ownScroll) this.scroller.scrollTop = this.ownScroll;
		this.later();
	}

	scrolled() {
		const at = this.scroller.scrollTop;
		if (Math.abs(at - this.ownScroll) < 1) return;
		this.ownScroll = at;
		this.moved(at * this.scale.factor);
	}

	/** Records the direction and speed of scrolling. During fast scrolling, no rows are requested. */
	moved(/** @type {number} */ top) {
		const now = performance.now();
		const way = top - this.top;
		const since = now - this.lastMove;
		this.lastMove = now;
		if (way) this.ahead = Math.sign(way);
		this.speed = since < 120 ? Math.abs(way) / Math.max(1, since) : 0;
		this.top = top;
		clearTimeout(this.calming);
		this.calming = setTimeout(() => {
			this.speed = 0;
			this.later();
		}, 70);
		this.later();
	}

	wheel(/** @type {WheelEvent} */ event) {
		if (event.ctrlKey || event.metaKey) {
			event.preventDefault();
			this.zoom(event.deltaY < 0 ? 1.12 : 1 / 1.12);
		} else if (this.scale.factor > 1) {
			const before = this.top;
			const step = event.deltaMode === 1 ? 40 : event.deltaMode === 2 ? this.height : 1;
			const most = Math.max(0, this.layout.total - this.height);
			const top = clamp(before + event.deltaY * step, 0, most);
			if (top === before) return;
			event.preventDefault();
			this.moved(top);
			this.moveTo(top);
		}
	}

	zoom(/** @type {number} */ by) {
		const size = Math.round(clamp(Math.min(this.core.settings.size, this.width) * by, SMALLEST, LARGEST));
		this.core.set({ size });
	}

	reveal(/** @type {number} */ position) {
		if (this.width && position >= 0) this.moveTo(scrollTo(this.layout, position, this.top, this.height));
	}

	// drawing

	draw() {
		const { layout, core } = this;
		if (!this.width) return;
		const { rows, generation } = core.state;
		const [start, stop] = visibleRange(layout, this.top, this.height, rows);
		const ratio = Math.min(2, density());
		const level = levelFor(Math.min(layout.picture, layout.card) * ratio);
		const still = this.speed < (4 * this.height) / 1000;
		this.cells.want({ start, stop, level, ahead: this.ahead, still });
		const records = [];
		let missing = 0;
		for (let i = start; i < stop; i++) {
			const record = this.cells.get(i);
			if (!record || record.old) missing++;
			records.push(record);
		}
		Object.assign(core.root.dataset, { missing, rows, generation, start, stop });
		if (!missing && core.painted !== core.shown) {
			core.painted = core.shown;
			core.emit("painted");
		}
		this.showEmpty(rows);
		if (missing && performance.now() < this.hold) {
			setTimeout(() => this.later(), 30);
		} else {
			this.hold = 0;
			this.paintCards(start, records);
		}
		if (still) this.elements.describe(start, stop);
	}

	showEmpty(/** @type {number} */ rows) {
		this.empty.hidden = rows > 0;
		if (rows > 0) return;
		const filtered = Boolean(this.core.state.query);
		const key = String(filtered);
		if (this.empty.dataset.key === key) return;
		this.empty.dataset.key = key;
		this.empty.replaceChildren(
			h("p", { class: "dl-empty-title", text: filtered ? "No row matches" : "No rows yet" }),
			h("p", { text: filtered ? "No row matches this query and its filters." : "Rows appended to this dataset will appear here." }),
			...(filtered ? [primary("Show all rows", () => this.core.emit("clear query"))] : []),
		);
	}

	/** @param {number} start @param {(DecodedCell|undefined)[]} records */
	paintCards(start, records) {
		const { layout, palette, core } = this;
		const context = sharpen(this.canvas, this.width, this.height);
		context.clearRect(0, 0, this.width, this.height);
		const columns = captionColumns(core);
		records.forEach((record, i) => {
			const position = start + i;
			const rect = cardRect(layout, position, this.top);
			const picture = { x: rect.x, y: rect.y, w: rect.w, h: layout.picture };
			context.save();
			rounded(context, picture, layout.gap > 4 ? 4 : 2);
			context.clip();
			if (record) {
				this.paint(context, palette, core, record, picture);
			} else {
				fillRect(context, palette.card, picture);
			}
			context.restore();
			if (record && layout.caption) this.caption(context, record, columns.slice(0, layout.lines), { x: rect.x, y: rect.y + layout.picture, w: rect.w, h: layout.caption });
			this.drawState(context, position, picture, record);
		});
		drawLasso(
			context,
			palette,
			this.lasso.map(([x, y]) => [x, y - this.top]),
		);
	}

	/** @param {CanvasRenderingContext2D} context @param {DecodedCell} record @param {string[]} columns @param {Rect} at */
	caption(context, record, columns, at) {
		drawCaption(context, this.palette, this.core, record, columns, at);
	}

	/** Whether to draw the focus ring around the active row. It is only drawn after a key press. */
	ringed() {
		return Boolean(this.byKey) && this.scroller.matches(":focus");
	}

	/**
	 * Draws the selection, hover and focus of a card.
	 * @param {CanvasRenderingContext2D} context @param {number} position @param {Rect} at @param {DecodedCell|undefined} record
	 */
	drawState(context, position, at, record) {
		const { palette, core } = this;
		const selected = core.selection.has(position);
		const hovered = core.hovered === position;
		const radius = this.layout.gap > 4 ? 4 : 2;
		const ring = (/** @type {number} */ inset, /** @type {number} */ width, /** @type {string} */ colour) => {
			rounded(context, { x: at.x + inset, y: at.y + inset, w: at.w - 2 * inset, h: at.h - 2 * inset }, radius);
			stroke(context, colour, width);
		};
		if (record?.staged?.length) {
			trace(context, [
				[at.x + at.w - 14, at.y + at.h],
				[at.x + at.w, at.y + at.h - 14],
				[at.x + at.w, at.y + at.h],
			]);
			fill(context, palette.edit);
		}
		if (hovered && !selected) ring(0.5, 1, palette.muted);
		if (selected) {
			ring(1, 3, palette.accent);
			ring(3, 1, palette.bg);
		}
		if (at.w >= 64 && (selected || (hovered && !core.noSelection))) drawTick(context, palette, at, selected);
		if (hovered && at.w >= 96) drawOpener(context, at);
		if (core.active === position && this.ringed()) {
			context.setLineDash([4, 3]);
			ring(-2, 2, palette.ink);
			context.setLineDash([]);
		}
	}

	wordsOf(/** @type {DecodedCell} */ record) {
		return Object.entries(record.caption ?? {}).map(([name, value]) => visible(`${name} ${value?.t ?? "none"}`));
	}

	// pointer

	at(/** @type {MouseEvent} */ event) {
		const [x, y] = within(this.stage, event);
		return this.width ? hitCard(this.layout, x, y, this.top, this.core.state.rows) : -1;
	}

	hover(/** @type {PointerEvent} */ event) {
		if (event.pointerType !== "touch") this.hoverAt(this.lasso.length ? -1 : this.at(event));
	}

	hoverAt(/** @type {number} */ position) {
		if (position === this.core.hovered) return;
		this.core.hovered = position;
		this.core.emit("hover");
	}

	press(/** @type {PointerEvent} */ event) {
		if (event.button !== 0) return;
		this.byKey = false;
		const start = within(this.stage, event);
		const lassoing = event.pointerType !== "touch" && !this.core.noSelection;
		const from = /** @type {Point} */ ([start[0], start[1] + this.top]);
		drag(
			event,
			({ x, y }) => {
				if (!lassoing) return;
				if (!this.lasso.length) this.lasso = [from];
				this.lasso.push([x, y + this.top]);
				this.scrollAtEdge(y);
				this.later();
			},
			(moved) => {
				clearInterval(this.edging);
				if (moved && lassoing) this.endLasso(event);
				else this.click(event, start);
			},
		);
	}

	/** Scrolls while a lasso is near the top or bottom edge. */
	scrollAtEdge(/** @type {number} */ y) {
		clearInterval(this.edging);
		const beyond = y < 24 ? y - 24 : y > this.height - 24 ? y - this.height + 24 : 0;
		if (!beyond) return;
		this.edging = setInterval(() => {
			this.moveTo(this.top + clamp(beyond, -24, 24));
			const last = this.lasso[this.lasso.length - 1];
			if (last) this.lasso.push([last[0], y + this.top]);
		}, 16);
	}

	endLasso(/** @type {MouseEvent} */ event) {
		const positions = cardsInLasso(this.layout, simplify(this.lasso, 3), this.core.state.rows);
		this.lasso = [];
		this.core.take(positions, event);
		this.later();
	}

	click(/** @type {MouseEvent} */ event, /** @type {Point} */ [x, y]) {
		const { core } = this;
		const position = this.at(event);
		if (position < 0) return event.shiftKey || event.ctrlKey || event.metaKey ? undefined : core.take([], event);
		const rect = cardRect(this.layout, position, this.top);
		core.active = position;
		if (rect.w >= 96 && x > rect.x + rect.w - 28 && y < rect.y + 28) return this.open(position);
		if (core.noSelection) return this.later();
		const onTick = rect.w >= 64 && x < rect.x + 28 && y < rect.y + 28;
		core.pick(position, { range: event.shiftKey, toggle: event.ctrlKey || event.metaKey || onTick });
	}

	// keys

	key(/** @type {KeyboardEvent} */ event) {
		const { core, layout } = this;
		const { rows } = core.state;
		if (!this.width || !rows || event.altKey) return;
		const page = Math.max(1, Math.floor(this.height / layout.step)) * layout.columns;
		const whole = event.ctrlKey || event.metaKey;
		/** @type {Record<string, number>} */
		const moves = {
			ArrowLeft: core.active - 1,
			ArrowRight: core.active + 1,
			ArrowUp: core.active - layout.columns,
			ArrowDown: core.active + layout.columns,
			PageUp: core.active - page,
			PageDown: core.active + page,
			Home: whole ? 0 : core.active - (core.active % layout.columns),
			End: whole ? rows - 1 : core.active - (core.active % layout.columns) + layout.columns - 1,
		};
		if (event.key in moves || event.key === " " || event.key === "Enter") this.byKey = true;
		if (event.key in moves) {
			event.preventDefault();
			const beyond = moves[event.key] < 0 || moves[event.key] >= rows;
			const vertical = event.key === "ArrowUp" || event.key === "ArrowDown";
			const next = beyond && vertical && moves[event.key] < 0 ? core.active : clamp(moves[event.key], 0, rows - 1);
			this.activate(next, event.shiftKey && !core.noSelection);
		} else if (event.key === " " && !core.noSelection) {
			event.preventDefault();
			core.pick(core.active, { range: event.shiftKey, toggle: !event.shiftKey });
		} else if (event.key === "Enter") {
			event.preventDefault();
			this.open(core.active);
		} else if (whole && event.key.toLowerCase() === "a" && !core.noSelection) {
			event.preventDefault();
			core.select("all");
		}
	}

	/** @param {number} position @param {boolean} extend */
	activate(position, extend) {
		const { core } = this;
		if (extend) {
			core.pick(position, { range: true });
		} else {
			core.active = position;
			core.anchor = position;
		}
		core.active = position;
		this.reveal(position);
		this.draw();
		const [start, stop] = visibleRange(this.layout, this.top, this.height, core.state.rows);
		this.elements.describe(start, stop);
	}
}
