// The positions of cards in the grid.

import { bounds, inPolygon } from "./geometry.js";
/** @import { Point, Rect } from "./geometry.js" */

export const MARGIN = 8;
export const LINE = 17;
const MIN_SIDE_FOR_CAPTION = 88;
export const MIN_SIDE_FOR_NAMES = 128;

/**
 * Computes the layout, with as many columns as fit, and cards as wide as possible in whole pixels. A caption has at least
 * one line, and fills at most half of the card. Small cards do not have a caption.
 * @param {{width: number, height: number, size: number, rows: number, lines: number, aspect?: number}} of
 */
export function gridLayout({ width, height, size, rows, lines, aspect = 1 }) {
	const gap = size < MIN_SIDE_FOR_CAPTION ? 3 : 8;
	const inner = Math.max(32, width - 2 * MARGIN);
	const columns = Math.max(1, Math.floor((inner + gap) / (size * aspect + gap)));
	const card = Math.floor((inner - gap * (columns - 1)) / columns);
	const fits = size >= MIN_SIDE_FOR_CAPTION ? Math.min(lines, Math.max(1, Math.floor(size / 2 / LINE))) : 0;
	const caption = fits ? fits * LINE + 7 : 0;
	const square = Math.round(card / aspect);
	const picture = columns === 1 ? Math.max(64, Math.min(square, height - caption - 2 * MARGIN)) : square;
	const step = picture + caption + gap;
	const count = Math.ceil(rows / columns);
	const total = count ? count * step - gap + 2 * MARGIN : 0;
	return { columns, card, picture, caption, lines: fits, gap, step, count, total };
}

/** @typedef {ReturnType<typeof gridLayout>} Layout */

/**
 * Returns the positions [start, stop) of cards that are visible between `top` and `top + height`.
 * @param {Layout} layout @param {number} top @param {number} height @param {number} rows
 */
export function visibleRange(layout, top, height, rows) {
	const first = Math.max(0, Math.floor((top - MARGIN) / layout.step));
	const last = Math.max(first, Math.ceil((top + height - MARGIN) / layout.step));
	return [Math.min(rows, first * layout.columns), Math.min(rows, last * layout.columns)];
}

/** Returns the rectangle of a card relative to the scroll position. @param {Layout} layout @param {number} position @param {number} top @returns {Rect} */
export function cardRect(layout, position, top) {
	const row = Math.floor(position / layout.columns);
	const column = position % layout.columns;
	return {
		x: MARGIN + column * (layout.card + layout.gap),
		y: MARGIN + row * layout.step - top,
		w: layout.card,
		h: layout.picture + layout.caption,
	};
}

/**
 * Returns the position under a point of the view, or -1 between cards.
 * @param {Layout} layout @param {number} x @param {number} y @param {number} top @param {number} rows
 */
export function hitCard(layout, x, y, top, rows) {
	const column = Math.floor((x - MARGIN) / (layout.card + layout.gap));
	const row = Math.floor((y + top - MARGIN) / layout.step);
	if (column < 0 || column >= layout.columns || row < 0) return -1;
	const position = row * layout.columns + column;
	if (position >= rows) return -1;
	const rect = cardRect(layout, position, top);
	return x < rect.x + rect.w && y < rect.y + rect.h ? position : -1;
}

/**
 * Returns the nearest scroll offset at which a position is visible.
 * @param {Layout} layout @param {number} position @param {number} top @param {number} height
 */
export function scrollTo(layout, position, top, height) {
	const rect = cardRect(layout, position, top);
	if (rect.y < MARGIN) return Math.max(0, top + rect.y - MARGIN);
	const beyond = rect.y + rect.h + MARGIN - height;
	return beyond > 0 ? Math.min(top + beyond, top + rect.y - MARGIN) : top;
}

/** Returns the positions of cards in a lasso, whose points are in pixels of the content. @param {Layout} layout @param {Point[]} polygon @param {number} rows */
export function cardsInLasso(layout, polygon, rows) {
	const [x0, y0, x1, y1] = bounds(polygon);
	const first = Math.max(0, Math.floor((y0 - MARGIN) / layout.step));
	const last = Math.min(layout.count - 1, Math.floor((y1 - MARGIN) / layout.step));
	const touched = new Set();
	for (const [x, y] of polygon) touched.add(hitCard(layout, x, y, 0, rows));
	const positions = [];
	for (let row = first; row <= last; row++) {
		for (let column = 0; column < layout.columns; column++) {
			const position = row * layout.columns + column;
			if (position >= rows) break;
			const { x, y, w, h } = cardRect(layout, position, 0);
			if (x > x1 || x + w < x0) continue;
			if (touched.has(position) || inPolygon(x + w / 2, y + h / 2, polygon)) positions.push(position);
		}
	}
	return Uint32Array.from(positions);
}

/** Web browsers clamp the height of an element (Chrome at 33,554,428 px, Firefox lower). */
export const MAX_HEIGHT = 20_000_000;

/** Returns the height of the scrolled element, and the number of pixels of content for each pixel of this element. @param {number} total @param {number} view */
export function scrollScale(total, view) {
	const height = Math.min(total, MAX_HEIGHT);
	return { height, factor: total > height ? (total - view) / (height - view) : 1 };
}

/** Returns the size of thumbnails to request, which is the smallest that is sharp at `pixels`. */
export function levelFor(/** @type {number} */ pixels) {
	for (const level of [64, 96, 128, 160, 192, 256, 384, 512]) if (pixels <= level * 1.12) return level;
	return 1024;
}

export const LARGEST = 1024;
export const SMALLEST = 48;
