// Functions that draw a card: its image or values, overlays and caption.

import { classColour, css } from "./colours.js";
import { circle, cut, drawMarks, fill, fillRect, rounded, stroke, trace, wrap, write } from "./drawing.js";
import { clamp, fit } from "./geometry.js";
import { LINE, MIN_SIDE_FOR_NAMES } from "./layout.js";
import { overlay, overlayColumns } from "./overlays.js";
import { visible } from "./text.js";
/** @import { DecodedCell } from "./cells.js" */
/** @import { Core } from "./core.js" */
/** @import { Rect } from "./geometry.js" */
/** @import { Card } from "./messages.js" */
/** @import { Palette } from "./theme.js" */

/**
 * Draws all visible overlays, masks first, then in the order of the columns.
 * @param {CanvasRenderingContext2D} context @param {Palette} palette @param {Core} core @param {DecodedCell} cell @param {Rect} at
 */
export function drawLayers(context, palette, core, cell, at) {
	const columns = overlayColumns(core).map((column, layer) => ({ column, layer }));
	columns.sort((a, b) => Number(b.column.kind === "mask") - Number(a.column.kind === "mask")); // areas below lines
	columns.forEach(({ column, layer }) => {
		const marks = cell.marks?.[column.name];
		const { shown, opacity } = overlay(core, column.name);
		if (!marks || !shown) return;
		drawMarks(context, palette, at, {
			marks,
			layer,
			tint: cell.tints?.[column.name],
			opacity,
			names: column.classes ?? [],
			bones: column.connections,
		});
	});
}

/**
 * Draws the card of a row without an image: text, a table, or bars.
 * @param {CanvasRenderingContext2D} context @param {Palette} palette @param {Card} card @param {Rect} at
 */
function drawCard(context, palette, card, at) {
	const inner = { x: at.x + 8, y: at.y + 8, w: at.w - 16, h: at.h - 16 };
	fillRect(context, palette.card, at);
	if (at.w < 40) return;
	if (card.kind === "null") return drawNote(context, palette, "no value", at);
	if (card.numbers?.length) return drawNumbers(context, palette, card.numbers, inner);
	if (card.rows?.length) return drawTable(context, palette, card.rows, inner);
	const text = String(card.text ?? "");
	if (card.kind === "value") return drawNote(context, palette, text, at, `500 ${clamp(at.w / 7, 11, 28)}px`, palette.ink);
	const px = at.w < 110 ? 10 : 12;
	context.font = `${px}px ${card.kind === "json" ? palette.mono : palette.font}`;
	const step = Math.round(px * 1.42);
	context.textBaseline = "top";
	wrap(context, text, inner.w, Math.max(1, Math.floor(inner.h / step))).forEach((line, i) => write(context, line, palette.ink, inner.x, inner.y + i * step, Infinity, { raw: true }));
}

/** @param {CanvasRenderingContext2D} context @param {Palette} palette @param {(number|null)[]} numbers @param {Rect} at */
function drawNumbers(context, palette, numbers, at) {
	const most = Math.max(1e-9, ...numbers.map((v) => Math.abs(v ?? 0)));
	const zero = at.y + at.h / 2;
	const step = at.w / numbers.length;
	fillRect(context, palette.line, { ...at, y: Math.round(zero), h: 1 });
	numbers.forEach((v, i) => {
		const tall = ((v ?? 0) / most) * (at.h / 2 - 2);
		fillRect(context, tall < 0 ? palette.bad : palette.accent, { x: at.x + i * step, y: Math.min(zero, zero - tall), w: Math.max(1, step * 0.7), h: Math.max(1, Math.abs(tall)) });
	});
}

/**
 * Draws the names of columns with their values.
 * @param {CanvasRenderingContext2D} context @param {Palette} palette @param {[name: string, value: string|null][]} rows @param {Rect} at
 */
function drawTable(context, palette, rows, at) {
	const wide = Math.min(at.w * 0.45, 90);
	context.font = `11px ${palette.font}`;
	context.textBaseline = "top";
	rows.slice(0, Math.floor(at.h / 16)).forEach(([name, value], i) => {
		write(context, name, palette.muted, at.x, at.y + i * 16, wide - 6);
		write(context, value ?? "–", palette.ink, at.x + wide, at.y + i * 16, at.w - wide, { raw: true });
	});
}

/** Draws text in the centre of a rectangle. @param {CanvasRenderingContext2D} context @param {Palette} palette @param {string} text @param {Rect} at */
export function drawNote(context, palette, text, at, size = "11px", colour = palette.muted) {
	context.font = `${size} ${palette.font}`;
	context.textAlign = "center";
	write(context, text, colour, at.x + at.w / 2, at.y + at.h / 2, at.w - 8);
	context.textAlign = "start";
}

/** Whether to interpolate between pixels: always, unless a small image is enlarged. */
export const smooths = (/** @type {ImageBitmap} */ bitmap, /** @type {number|null|undefined} */ whole, /** @type {Rect} */ at) => bitmap.width < (whole ?? 0) || at.w < bitmap.width * 1.5;

/**
 * Draws the image of a cell with its overlays, or its card.
 * @param {CanvasRenderingContext2D} context @param {Palette} palette @param {Core} core @param {DecodedCell} cell @param {Rect} at
 */
export function drawPicture(context, palette, core, cell, at) {
	if (cell.bitmap) {
		const tall = cell.w && cell.h ? fit(cell.w, cell.h, at) : fit(cell.bitmap.width, cell.bitmap.height, at);
		fillRect(context, palette.card, at);
		context.imageSmoothingEnabled = smooths(cell.bitmap, cell.w, tall);
		context.drawImage(cell.bitmap, tall.x, tall.y, tall.w, tall.h);
		drawLayers(context, palette, core, cell, tall);
	} else if (cell.card) {
		drawCard(context, palette, cell.card, at);
	} else {
		fillRect(context, palette.card, at);
		drawNote(context, palette, cell.broken ? "cannot be decoded" : "no image", at);
	}
}

/**
 * Draws the caption below a card, with one line for each column.
 * @param {CanvasRenderingContext2D} context @param {Palette} palette @param {Core} core @param {DecodedCell} cell @param {string[]} columns @param {Rect} at
 */
export function drawCaption(context, palette, core, cell, columns, at) {
	context.font = `12px ${palette.font}`;
	columns.forEach((name, i) => {
		const value = cell.caption?.[name];
		const y = at.y + 6 + i * LINE + LINE / 2;
		let x = at.x + 2;
		if (value?.c !== null && value?.c !== undefined) {
			circle(context, x + 4, y, 4);
			fill(context, css(classColour(value.c)));
			x += 13;
		}
		if (columns.length > 1 && at.w >= MIN_SIDE_FOR_NAMES) {
			context.font = `12px ${palette.font}`;
			const label = cut(context, visible(name), at.w * 0.6);
			write(context, label, palette.muted, x, y);
			x += context.measureText(`${label} `).width;
		}
		const staged = cell.staged?.includes(name);
		context.font = `${staged ? "600 " : ""}12px ${palette.font}`;
		write(context, (value?.t || "–") + (staged ? " ✎" : ""), staged ? palette.edit : value?.t ? palette.ink : palette.muted, x, y, at.x + at.w - x - 2, { raw: core.holdsData(name) });
	});
}

/**
 * Draws the check mark in the corner of a selected or selectable card.
 * @param {CanvasRenderingContext2D} context @param {Palette} palette @param {Rect} at @param {boolean} selected
 */
export function drawTick(context, palette, at, selected) {
	const [x, y] = [at.x + 15, at.y + 15];
	circle(context, x, y, 8);
	fill(context, selected ? palette.accent : "rgba(0,0,0,.45)");
	stroke(context, "#fff", 1.5);
	if (!selected) return;
	trace(context, [
		[x - 3.5, y],
		[x - 0.8, y + 2.8],
		[x + 3.8, y - 2.8],
	]);
	stroke(context, palette["on-accent"], 2);
}

/** Draws the arrows in the corner of a card. A click on them opens the row. @param {CanvasRenderingContext2D} context @param {Rect} at */
export function drawOpener(context, at) {
	const [x, y] = [at.x + at.w - 15, at.y + 15];
	rounded(context, { x: x - 9, y: y - 9, w: 18, h: 18 }, 4);
	fill(context, "rgba(0,0,0,.45)");
	for (const side of [1, -1]) {
		trace(
			context,
			[
				[0.5, -4.5],
				[4.5, -4.5],
				[4.5, -0.5],
			].map(([dx, dy]) => [x + side * dx, y + side * dy]),
		);
		stroke(context, "#fff", 1.5);
	}
}
