// Functions that write, parse and compare numbers and times.

import { clamp } from "./geometry.js";
/** @import { End, Range } from "./messages.js" */

/** Writes a number briefly: 1.2M, 12.5k, 0.03. */
export function short(/** @type {number} */ n) {
	if (!Number.isFinite(n)) return String(n);
	const size = Math.abs(n);
	for (const [unit, name] of /** @type {[number, string][]} */ ([
		[1e9, "G"],
		[1e6, "M"],
		[1e3, "k"],
	])) {
		if (size >= unit * (name === "k" ? 10 : 1)) return `${Number((n / unit).toPrecision(3))}${name}`;
	}
	return String(Number(n.toPrecision(size >= 1000 ? 4 : 3)));
}

/** Writes the end of a range in at most 16 characters, with an exponent if it would be longer. */
export function endText(/** @type {number|string} */ end) {
	const text = typeof end === "string" ? end : String(Number(end.toPrecision(6)));
	return text.length <= 16
		? text
		: Number(end)
				.toExponential(5)
				.replace(/\.?0*e\+?/, "e");
}

/** Writes milliseconds since 1970 as a date, with the time if the span is short. */
export function shortTime(/** @type {number} */ ms, span = Infinity) {
	const date = new Date(ms);
	if (Number.isNaN(date.getTime())) return "–";
	const [day, time] = date.toISOString().split("T");
	return span < 3 * 86_400_000 ? `${day} ${time.slice(0, 5)}` : day;
}

/** Returns the indices of the first and last edge under a brush. @param {number} bins @param {number} x0 @param {number} x1 @param {number} width */
export function brushed(bins, x0, x1, width) {
	const bin = (/** @type {number} */ x) => clamp(Math.floor((x / width) * bins), 0, bins - 1);
	return [bin(Math.min(x0, x1)), bin(Math.max(x0, x1)) + 1];
}

/** Returns the position of a value along a histogram of equal bins, 0..1. It is exact for edges. @param {End[]} edges @param {End} value */
export function alongEdges(edges, value) {
	const place = edges.indexOf(value);
	if (place >= 0) return place / (edges.length - 1);
	const [low, high, at] = [edges[0], edges[edges.length - 1], value].map(numberOf);
	return high > low ? clamp((at - low) / (high - low), 0, 1) : 0;
}

/** Converts the end of a range to a float, with times in milliseconds. */
export const numberOf = (/** @type {End} */ end) => (typeof end === "string" && !Number.isNaN(Number(end)) ? Number(end) : timeOf(end));

/** Parses the end of a range of numbers. Returns a number, a string for a large integer, null for empty text, or NaN for other text. */
export function readNumber(/** @type {string} */ text) {
	const digits = text.trim().replace(/,/g, "");
	if (!digits) return null;
	const number = Number(digits);
	if (/^[+-]?\d+$/.test(digits) && !Number.isSafeInteger(number)) return digits;
	return Number.isFinite(number) ? number : NaN;
}

/** Parses the end of a range of times. Returns ISO 8601, null for empty text, or NaN for other text. A missing month or day is 1. */
export function readTime(/** @type {string} */ text) {
	const iso = text.trim().replace(" ", "T");
	if (!iso) return null;
	const [, day, time = ""] = /^(\d{4}(?:-\d\d){0,2})(T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)?$/.exec(iso) ?? [];
	if (!day || (time && day.length < 10)) return NaN;
	const whole = day.padEnd(10, "-01-01".slice(day.length - 10)) + time;
	return Number.isNaN(timeOf(whole)) ? NaN : whole;
}

/** Whether a number, possibly as a string, is in a range with possibly open ends. Compares in the same way as queries. */
export function inRange(/** @type {End|null|undefined} */ value, /** @type {Range} */ [low, high]) {
	if (value === null || value === undefined) return false;
	const at = comparable(value);
	return (low === null || at >= comparable(low)) && (high === null || at < comparable(high));
}

const comparable = (/** @type {End} */ value) => (typeof value === "string" && /^[+-]?\d+$/.test(value) ? BigInt(value) : Number(value));

/**
 * Rounds an end of a range in the same way as queries, which round numbers with a fraction to the nearest float of 16 or 32 bits before comparing.
 * @param {End|null} end @param {"float16"|"float32"|undefined} dtype @returns {End|null}
 */
export function roundedEnd(end, dtype) {
	if (end === null || !dtype || Number.isInteger(Number(end))) return end;
	return dtype === "float32" ? Math.fround(Number(end)) : nearestHalf(Number(end));
}

/** Rounds a finite number to the nearest float16, with ties to even. */
function nearestHalf(/** @type {number} */ x) {
	const exponent = Math.max(-14, Math.floor(Math.log2(Math.abs(x))));
	const step = 2 ** (exponent - 10);
	const [whole, rest] = [Math.floor(x / step), x / step - Math.floor(x / step)];
	const rounded = (rest > 0.5 || (rest === 0.5 && whole % 2 !== 0) ? whole + 1 : whole) * step;
	return Math.abs(rounded) > 65504 ? Math.sign(x) * Infinity : rounded;
}

export const isRange = (/** @type {string} */ kind) => kind === "numbers" || kind === "times";

/** Converts an ISO time to milliseconds, in UTC unless it has a zone. Returns numbers unchanged. */
export function timeOf(/** @type {End} */ value) {
	if (typeof value !== "string") return value;
	const zoned = /T.*(Z|[+-]\d\d:?\d\d)$/.test(value) || !value.includes("T") ? value : `${value}Z`;
	return Date.parse(zoned.replace(/^(-?)(\d{4,})-/, (start, sign, year) => (sign || year.length > 4 ? `${sign || "+"}${year.padStart(6, "0")}-` : start)));
}
