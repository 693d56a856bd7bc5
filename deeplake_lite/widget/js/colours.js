// Colours of classes and numbers, and their arithmetic.

import { clamp } from "./geometry.js";

/** @typedef {[r: number, g: number, b: number]} Rgb  0..255 */

/** @type {Rgb[]} */
const HUES = [
	[78, 121, 167],
	[242, 142, 43],
	[89, 161, 79],
	[225, 87, 89],
	[176, 122, 161],
	[237, 201, 72],
	[118, 183, 178],
	[255, 157, 167],
	[156, 117, 95],
	[148, 103, 189],
	[23, 190, 207],
	[188, 189, 34],
	[214, 39, 140],
	[44, 160, 120],
	[255, 112, 67],
	[92, 107, 192],
];

/** Returns the fixed colour of a class, which is the same in every card, chart, overlay and session. @returns {Rgb} */
export function classColour(/** @type {number} */ index) {
	const i = Math.max(0, Math.floor(index) || 0);
	if (i < HUES.length) return HUES[i];
	const hue = (i * 0.61803398875) % 1;
	return hslToRgb(hue, 0.5 + 0.2 * ((i >> 2) % 2), 0.48 + 0.12 * (i % 2));
}

/** @param {number} h @param {number} s @param {number} l @returns {Rgb} */
export function hslToRgb(h, s, l) {
	const a = s * Math.min(l, 1 - l);
	const at = (/** @type {number} */ n) => {
		const k = (n + h * 12) % 12;
		return Math.round(255 * (l - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
	};
	return [at(0), at(8), at(4)];
}

export const css = (/** @type {Rgb} */ [r, g, b], alpha = 1) => `rgba(${r},${g},${b},${alpha})`;

/** Returns the relative luminance according to WCAG 2. */
export function luminance(/** @type {Rgb} */ rgb) {
	const [r, g, b] = rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Returns black or white, whichever is more readable on a colour. @param {Rgb} rgb @returns {Rgb} */
export const inkOn = (rgb) => (luminance(rgb) > 0.179 ? [0, 0, 0] : [255, 255, 255]);

/** Returns the colour of a number, on a scale from blue through green to yellow (similar to viridis). @param {number} share @returns {Rgb} */
export function numberColour(share) {
	const stops = [
		[68, 1, 84],
		[59, 82, 139],
		[33, 145, 140],
		[94, 201, 98],
		[253, 231, 37],
	];
	const at = clamp(share || 0, 0, 1) * (stops.length - 1);
	const i = Math.min(stops.length - 2, Math.floor(at));
	const [r, g, b] = stops[i].map((v, k) => Math.round(v + (stops[i + 1][k] - v) * (at - i)));
	return [r, g, b];
}

/**
 * Replaces class numbers with their colours. Class 0 (background) and 255 (no class) stay transparent.
 * @param {Uint8ClampedArray} rgba @param {number[]} [of]  class of each pixel value, if different from the value
 */
export function colourMask(rgba, of) {
	const table = new Uint32Array(256);
	for (let i = 0; i < 255; i++) {
		const number = of ? of[i] : i;
		if (!number) continue;
		const [r, g, b] = classColour(number);
		table[i] = ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
	}
	const out = new Uint32Array(rgba.buffer, rgba.byteOffset, rgba.length >> 2);
	for (let i = 0; i < out.length; i++) out[i] = table[rgba[i * 4]];
	return rgba;
}

/** Parses `rgb(…)` or `#rrggbb`. Returns null for transparent colours and names. @param {string} text @returns {Rgb|null} */
export function parseColour(text) {
	const hex = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(text.trim());
	if (hex) {
		const digits = hex[1].length === 3 ? [...hex[1]].map((d) => d + d).join("") : hex[1];
		const [r, g, b] = [0, 2, 4].map((i) => parseInt(digits.slice(i, i + 2), 16));
		return [r, g, b];
	}
	const parts = /^rgba?\(([^)]+)\)$/
		.exec(text.trim())?.[1]
		.split(/[\s,/]+/)
		.map(Number);
	return parts && parts[3] !== 0 ? [parts[0], parts[1], parts[2]] : null;
}
