// Functions that draw lines, text and overlays on a canvas.

import { classColour, css, inkOn } from "./colours.js";
import { clamp } from "./geometry.js";
import { visible } from "./text.js";
/** @import { Rgb } from "./colours.js" */
/** @import { Point, Rect } from "./geometry.js" */
/** @import { Marks } from "./messages.js" */
/** @import { Palette } from "./theme.js" */

/**
 * A layer of marks. `bones` are pairs of keypoints joined by a line.
 * @typedef {{marks: Marks, tint?: ImageBitmap|null, opacity: number, layer: number, names: string[], bones?: Point[], active?: number}} Layer
 */

/** Returns the dash pattern of an overlay's lines. The first layer has solid lines. */
export function layerDash(/** @type {number} */ layer) {
	return [[], [6, 3], [2, 2]][layer % 3];
}

/** @param {CanvasRenderingContext2D} context @param {string} colour @param {Rect} at */
export function fillRect(context, colour, { x, y, w, h }) {
	context.fillStyle = colour;
	context.fillRect(x, y, w, h);
}

/** Fills the current path. @param {CanvasRenderingContext2D} context @param {string} colour */
export function fill(context, colour) {
	context.fillStyle = colour;
	context.fill();
}

/** Strokes the current path. @param {CanvasRenderingContext2D} context @param {string} colour */
export function stroke(context, colour, width = context.lineWidth) {
	context.strokeStyle = colour;
	context.lineWidth = width;
	context.stroke();
}

/**
 * Draws a line of text that is cut to a width. `raw` text, such as a value, keeps its writing direction.
 * @param {CanvasRenderingContext2D} context @param {string} text @param {string} colour @param {number} x @param {number} y
 */
export function write(context, text, colour, x, y, width = Infinity, { raw = false } = {}) {
	context.fillStyle = colour;
	context.fillText(cut(context, raw ? text : visible(text), width), x, y);
}

/** @param {CanvasRenderingContext2D} context @param {number} x @param {number} y @param {number} radius */
export function circle(context, x, y, radius) {
	context.beginPath();
	context.arc(x, y, radius, 0, 7);
}

/** @param {CanvasRenderingContext2D} context @param {Rect} at @param {number} radius */
export function rounded(context, { x, y, w, h }, radius) {
	context.beginPath();
	context.roundRect(x, y, w, h, radius);
}

/** A cache of texts cut to a width, because measuring text is the slowest step of drawing a card. */
const cuts = new Map();
/** @param {CanvasRenderingContext2D} context @param {string} text @param {number} width */
export function cut(context, text, width) {
	const key = `${context.font}|${Math.round(width)}|${text}`;
	const known = cuts.get(key);
	if (known !== undefined) return known;
	let made = text;
	if (context.measureText(text).width > width) {
		let [low, high] = [0, text.length];
		while (low < high) {
			const middle = (low + high + 1) >> 1;
			if (context.measureText(`${text.slice(0, middle)}…`).width <= width) low = middle;
			else high = middle - 1;
		}
		made = low ? `${text.slice(0, low)}…` : "";
	}
	if (cuts.size > 8000) cuts.clear();
	cuts.set(key, made);
	return made;
}

/**
 * Breaks text into lines at spaces, and cuts lines that are still too long. If text is left over, the last line ends in an ellipsis.
 * @param {CanvasRenderingContext2D} context @param {string} text @param {number} width @param {number} most
 */
export function wrap(context, text, width, most) {
	const lines = [];
	for (const paragraph of text.split("\n")) {
		let line = "";
		for (const word of paragraph.split(/(?<=\s)/)) {
			if (lines.length >= most) return lines;
			if (line && context.measureText(line + word).width > width) {
				lines.push(line);
				line = "";
			}
			line += word;
		}
		lines.push(line);
	}
	if (lines.length > most) {
		lines.length = most;
		lines[most - 1] += "…";
	}
	return lines.map((line) => cut(context, line, width));
}

/**
 * Draws a chip with the name of a class on its colour.
 * @param {CanvasRenderingContext2D} context @param {Palette} palette @param {string} text @param {Rgb} colour @param {number} x @param {number} y
 */
function drawChip(context, palette, text, colour, x, y, /** @type {Rect} */ within) {
	context.font = `600 11px ${palette.font}`;
	const shown = cut(context, visible(text), within.w - 8);
	if (!shown) return;
	const width = context.measureText(shown).width + 8;
	const left = Math.max(within.x, Math.min(x, within.x + within.w - width));
	const top = clamp(y - 15, within.y, within.y + within.h - 15);
	context.globalAlpha = 1;
	fillRect(context, css(colour), { x: left, y: top, w: width, h: 15 });
	write(context, shown, css(inkOn(colour)), left + 4, top + 8);
}

/**
 * Draws a layer of marks over the image at `at`.
 * @param {CanvasRenderingContext2D} context @param {Palette} palette @param {Rect} at @param {Layer} of
 */
export function drawMarks(context, palette, at, { marks, tint, opacity, layer, names, bones = [], active = -1 }) {
	context.save();
	const colourOf = (/** @type {number} */ i) => classColour(marks.c ? (marks.c[i] ?? 0) : layer);
	const nameOf = (/** @type {number} */ i) => (marks.c ? names[marks.c[i]] : null);
	const px = (/** @type {number} */ x) => at.x + x * at.w;
	const py = (/** @type {number} */ y) => at.y + y * at.h;
	const thin = at.w > 400 ? 2 : 1.5;
	const area = (/** @type {number[][]} */ corners, /** @type {string} */ colour, /** @type {number} */ share, /** @type {number} */ width) => {
		trace(
			context,
			corners.map(([x, y]) => [px(x), py(y)]),
		);
		context.closePath();
		context.globalAlpha = opacity * share;
		fill(context, colour);
		context.globalAlpha = Math.min(1, opacity + 0.4);
		stroke(context, colour, width);
	};
	context.lineJoin = "round";
	context.setLineDash(layerDash(layer));
	if (tint) {
		context.globalAlpha = opacity;
		context.imageSmoothingEnabled = false;
		context.drawImage(tint, at.x, at.y, at.w, at.h);
	}
	const chips = at.w >= 150;
	(marks.boxes ?? []).forEach(([x0, y0, x1, y1], i) => {
		area(
			[
				[x0, y0],
				[x1, y0],
				[x1, y1],
				[x0, y1],
			],
			css(colourOf(i)),
			0.22,
			i === active ? 3 : thin,
		);
	});
	if (chips) (marks.boxes ?? []).forEach(([x0, y0, , y1], i) => nameOf(i) && drawChip(context, palette, String(nameOf(i)), colourOf(i), px(x0), layer ? py(y1) + 15 : py(y0), at));
	(marks.rings ?? []).forEach((ring, i) => {
		area(ring, css(colourOf(i)), 0.4, thin);
		if (chips && nameOf(i) && ring.length) drawChip(context, palette, String(nameOf(i)), colourOf(i), px(ring[0][0]), py(ring[0][1]), at);
	});
	(marks.points ?? []).forEach((figure, i) => {
		const colour = css(colourOf(marks.c ? i : i + layer));
		const radius = clamp(at.w / 70, 1.5, 5);
		context.setLineDash([]);
		context.globalAlpha = opacity;
		for (const [a, b] of bones) {
			if (!figure[a]?.[2] || !figure[b]?.[2]) continue;
			trace(
				context,
				[a, b].map((k) => [px(figure[k][0]), py(figure[k][1])]),
			);
			stroke(context, colour, thin);
		}
		for (const [x, y, seen] of figure) {
			if (seen === 0) continue;
			context.globalAlpha = Math.min(1, opacity + 0.4);
			circle(context, px(x), py(y), radius);
			if (seen !== 1) fill(context, colour);
			stroke(context, seen === 1 ? colour : "rgba(255,255,255,.9)", 1);
		}
	});
	context.restore();
}

export function trace(/** @type {CanvasRenderingContext2D} */ context, /** @type {number[][]} */ points) {
	context.beginPath();
	points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
}

/** @param {CanvasRenderingContext2D} context @param {Palette} palette @param {number[][]} polygon */
export function drawLasso(context, palette, polygon) {
	if (polygon.length < 2) return;
	trace(context, polygon);
	context.closePath();
	context.globalAlpha = 0.16;
	fill(context, palette.accent);
	context.globalAlpha = 1;
	stroke(context, palette.accent, 1.5);
}
