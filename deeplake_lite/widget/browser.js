/**
 * The notebook browser: what the reader of a dataset sees and does.
 *
 * Python decides, this module draws and asks. First what is tested without a page, then its parts, then the
 * static page. Nothing from the data ever becomes HTML.
 */

/** @typedef {[number, number, number, number]} Box  x0, y0, x1, y1 in 0..1 of the picture */
/** @typedef {{x: number, y: number, w: number, h: number}} Rect */
/** @typedef {[number, number]} Point */
// By name: `core` is a Core, `layout` a Layout, `at` a Rect, `polygon` Points, `palette` the style sheet's colours.

/** The number nearest to `v` from `low` to `high`. */
const clamp = (v, low, high) => Math.min(high, Math.max(low, v));

// ---- layout of the grid

export const MARGIN = 8;
export const LINE = 17;
const LEAST_FOR_CAPTION = 88;
const LEAST_FOR_NAMES = 128;

/**
 * Where cards go: as many columns as fit, cards as wide as then fits, whole pixels. A caption takes half of a card at
 * the most, and one line at least, where there is room for any.
 * @param {{width: number, height: number, size: number, rows: number, lines: number, aspect?: number}} of
 */
export function gridLayout({ width, height, size, rows, lines, aspect = 1 }) {
	const gap = size < LEAST_FOR_CAPTION ? 3 : 8;
	const inner = Math.max(32, width - 2 * MARGIN);
	const columns = Math.max(1, Math.floor((inner + gap) / (size * aspect + gap)));
	const card = Math.floor((inner - gap * (columns - 1)) / columns);
	const fits = size >= LEAST_FOR_CAPTION ? Math.min(lines, Math.max(1, Math.floor(size / 2 / LINE))) : 0;
	const caption = fits ? fits * LINE + 7 : 0;
	const square = Math.round(card / aspect);
	const picture = columns === 1 ? Math.max(64, Math.min(square, height - caption - 2 * MARGIN)) : square;
	const step = picture + caption + gap;
	const count = Math.ceil(rows / columns);
	const total = count ? count * step - gap + 2 * MARGIN : 0;
	return { columns, card, picture, caption, lines: fits, gap, step, count, total };
}

/** @typedef {ReturnType<typeof gridLayout>} Layout */

/** Positions [start, stop) of cards that show between `top` and `top + height`. */
export function visibleRange(layout, top, height, rows) {
	const first = Math.max(0, Math.floor((top - MARGIN) / layout.step));
	const last = Math.max(first, Math.ceil((top + height - MARGIN) / layout.step));
	return [Math.min(rows, first * layout.columns), Math.min(rows, last * layout.columns)];
}

/** The card of a position, relative to what is scrolled to. @returns {Rect} */
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

/** The position under a point of the view, -1 between cards. */
export function hitCard(layout, x, y, top, rows) {
	const column = Math.floor((x - MARGIN) / (layout.card + layout.gap));
	const row = Math.floor((y + top - MARGIN) / layout.step);
	if (column < 0 || column >= layout.columns || row < 0) return -1;
	const position = row * layout.columns + column;
	if (position >= rows) return -1;
	const rect = cardRect(layout, position, top);
	return x < rect.x + rect.w && y < rect.y + rect.h ? position : -1;
}

/** Scroll offset that brings a position into view with the least movement. */
export function scrollTo(layout, position, top, height) {
	const rect = cardRect(layout, position, top);
	if (rect.y < MARGIN) return Math.max(0, top + rect.y - MARGIN);
	const beyond = rect.y + rect.h + MARGIN - height;
	return beyond > 0 ? Math.min(top + beyond, top + rect.y - MARGIN) : top;
}

/** Positions of cards in a lasso: Points, pixels of the content. */
export function cardsInLasso(layout, polygon, rows) {
	const [x0, y0, x1, y1] = bounds(polygon);
	const first = Math.max(0, Math.floor((y0 - MARGIN) / layout.step));
	const last = Math.min(layout.count - 1, Math.floor((y1 - MARGIN) / layout.step));
	const touched = new Set();
	for (const [x, y] of polygon) touched.add(hitCard(layout, x, y, 0, rows));
	const found = [];
	for (let row = first; row <= last; row++) {
		for (let column = 0; column < layout.columns; column++) {
			const position = row * layout.columns + column;
			if (position >= rows) break;
			const { x, y, w, h } = cardRect(layout, position, 0);
			if (x > x1 || x + w < x0) continue;
			if (touched.has(position) || inPolygon(x + w / 2, y + h / 2, polygon)) found.push(position);
		}
	}
	return Uint32Array.from(found);
}

/** Browsers clamp the height of an element (Chrome at 33,554,428 px, Firefox lower). */
export const MAX_HEIGHT = 20_000_000;

/** Height of the scrolled element, and how many pixels of content one of its pixels stands for. */
export function scrollScale(total, view) {
	const height = Math.min(total, MAX_HEIGHT);
	return { height, factor: total > height ? (total - view) / (height - view) : 1 };
}

/** The step of thumbnail asked for: the least that is sharp at `pixels`. */
export function levelFor(pixels) {
	for (const level of [64, 96, 128, 160, 192, 256, 384, 512]) if (pixels <= level * 1.12) return level;
	return 1024;
}

/** The largest rectangle of a picture's shape within another. @returns {Rect} */
export function fit(width, height, /** @type {Rect} */ into, most = Infinity) {
	const scale = Math.min(into.w / Math.max(1, width), into.h / Math.max(1, height), most);
	const w = Math.max(1, Math.round(width * scale));
	const h = Math.max(1, Math.round(height * scale));
	return { x: into.x + Math.round((into.w - w) / 2), y: into.y + Math.round((into.h - h) / 2), w, h };
}

// ---- selection

/** Which rows are selected: one bit each, so that a million cost 125 kB. */
export class Selection {
	constructor(rows = 0) {
		this.rows = rows;
		this.count = 0;
		this.bits = new Uint32Array(0);
	}

	/** @param {Iterable<number>} positions */
	static of(rows, positions) {
		const made = new Selection(rows);
		for (const position of positions) made.set(position, true);
		return made;
	}

	has(position) {
		return ((this.bits[position >>> 5] ?? 0) & (1 << (position & 31))) !== 0;
	}

	set(position, on) {
		if (position < 0 || position >= this.rows || this.has(position) === on) return;
		if (!this.bits.length) this.bits = new Uint32Array(Math.ceil(this.rows / 32));
		this.bits[position >>> 5] ^= 1 << (position & 31);
		this.count += on ? 1 : -1;
	}

	toggle(position) {
		this.set(position, !this.has(position));
	}

	/** From `a` to `b`, both included, in either order. */
	range(a, b, on = true) {
		for (let i = Math.min(a, b); i <= Math.max(a, b); i++) this.set(i, on);
	}

	/** Ascending. */
	positions() {
		const found = new Uint32Array(this.count);
		let n = 0;
		for (let i = 0; i < this.bits.length; i++) {
			for (let word = this.bits[i]; word; word &= word - 1) {
				found[n++] = i * 32 + 31 - Math.clz32(word & -word);
			}
		}
		return found;
	}
}

/** Positions as the bytes of little-endian uint32, and back. */
export function packPositions(/** @type {Uint32Array} */ positions) {
	const view = new DataView(new ArrayBuffer(positions.length * 4));
	for (let i = 0; i < positions.length; i++) view.setUint32(i * 4, positions[i], true);
	return view;
}

export function unpackPositions(/** @type {unknown} */ packed) {
	const bytes = asBytes(packed);
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const positions = new Uint32Array(bytes.byteLength >> 2);
	for (let i = 0; i < positions.length; i++) positions[i] = view.getUint32(i * 4, true);
	return positions;
}

/** Ascending positions as runs [start, stop). */
export function runsOf(/** @type {Uint32Array} */ positions) {
	/** @type {[number, number][]} */
	const runs = [];
	for (const position of positions) {
		const last = runs[runs.length - 1];
		if (last && last[1] === position) last[1]++;
		else runs.push([position, position + 1]);
	}
	return runs;
}

// ---- bytes

/** Whatever a host hands over as binary, as bytes. @returns {Uint8Array} */
export function asBytes(value) {
	if (!value) return new Uint8Array(0);
	if (value instanceof Uint8Array) return value;
	if (value instanceof ArrayBuffer) return new Uint8Array(value);
	return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}

export function fromBase64(text) {
	const raw = atob(text);
	const bytes = new Uint8Array(raw.length);
	for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
	return bytes;
}

/** Numbers of a packed buffer, copied where they do not lie on a boundary of four. */
export function numbersAt(/** @type {Uint8Array} */ bytes, [offset, length], Kind) {
	const start = bytes.byteOffset + offset;
	if (start % 4 === 0) return new Kind(bytes.buffer, start, length >> 2);
	return new Kind(bytes.slice(offset, offset + length).buffer);
}

// ---- colours

const HUES = [
	[78, 121, 167], [242, 142, 43], [89, 161, 79], [225, 87, 89], [176, 122, 161], [237, 201, 72],
	[118, 183, 178], [255, 157, 167], [156, 117, 95], [148, 103, 189], [23, 190, 207], [188, 189, 34],
	[214, 39, 140], [44, 160, 120], [255, 112, 67], [92, 107, 192],
];

/** A class keeps its colour: in every card, chart, layer and session. @returns {number[]} 0..255 */
export function classColour(index) {
	const i = Math.max(0, Math.floor(index) || 0);
	if (i < HUES.length) return HUES[i];
	const hue = (i * 0.61803398875) % 1;
	return hslToRgb(hue, 0.5 + 0.2 * ((i >> 2) % 2), 0.48 + 0.12 * (i % 2));
}

export function hslToRgb(h, s, l) {
	const a = s * Math.min(l, 1 - l);
	const at = (n) => {
		const k = (n + h * 12) % 12;
		return Math.round(255 * (l - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
	};
	return [at(0), at(8), at(4)];
}

export const css = ([r, g, b], alpha = 1) => `rgba(${r},${g},${b},${alpha})`;

/** Relative luminance of WCAG 2. */
export function luminance(rgb) {
	const [r, g, b] = rgb.map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
	return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Black or white, whichever reads better. */
export const inkOn = (rgb) => (luminance(rgb) > 0.179 ? [0, 0, 0] : [255, 255, 255]);

/** A scale from blue over green to yellow (after viridis), for numbers. */
export function numberColour(share) {
	const stops = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
	const at = clamp(share || 0, 0, 1) * (stops.length - 1);
	const i = Math.min(stops.length - 2, Math.floor(at));
	return stops[i].map((v, k) => Math.round(v + (stops[i + 1][k] - v) * (at - i)));
}

/**
 * Class numbers, one per pixel, in their colours; class 0 is background, 255 none.
 * @param {Uint8ClampedArray} rgba @param {number[]} [of]  class of each pixel value, where they differ
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

/** `rgb(…)` or `#rrggbb` as numbers, null for what says nothing (transparent, a name). */
export function parseColour(text) {
	const hex = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(text.trim());
	if (hex) {
		const digits = hex[1].length === 3 ? [...hex[1]].map((d) => d + d).join("") : hex[1];
		return [0, 2, 4].map((i) => parseInt(digits.slice(i, i + 2), 16));
	}
	const parts = /^rgba?\(([^)]+)\)$/.exec(text.trim())?.[1].split(/[\s,/]+/).map(Number);
	return parts && parts[3] !== 0 ? parts.slice(0, 3) : null;
}

// ---- lasso

export function bounds(polygon) {
	let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
	for (const [x, y] of polygon) {
		x0 = Math.min(x0, x); y0 = Math.min(y0, y); x1 = Math.max(x1, x); y1 = Math.max(y1, y);
	}
	return [x0, y0, x1, y1];
}

/** Whether a ray from a point to the right crosses a side. */
const crosses = (x, y, xi, yi, xj, yj) => yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi;

/** Even-odd rule. */
export function inPolygon(x, y, polygon) {
	let inside = false;
	for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
		if (crosses(x, y, ...polygon[i], ...polygon[j])) inside = !inside;
	}
	return inside;
}

/** Without points closer than `least` to the one before. */
export function simplify(polygon, least) {
	const kept = polygon.slice(0, 1);
	for (const point of polygon) {
		const last = kept[kept.length - 1];
		if (Math.hypot(point[0] - last[0], point[1] - last[1]) >= least) kept.push(point);
	}
	return kept;
}

/** Indices of the points (x, y, x, y, …) inside. */
export function pointsInLasso(/** @type {Float32Array} */ xy, polygon, bands = 256) {
	if (polygon.length < 3) return new Uint32Array(0);
	const [x0, y0, x1, y1] = bounds(polygon);
	const bandOf = (y) => clamp(Math.floor(((y - y0) / (y1 - y0 || 1)) * bands), 0, bands - 1);
	/** @type {number[][]} */
	const sides = Array.from({ length: bands }, () => []);
	polygon.forEach(([xi, yi], i) => {
		const [xj, yj] = polygon[(i || polygon.length) - 1];
		if (yi !== yj) for (let band = bandOf(Math.min(yi, yj)); band <= bandOf(Math.max(yi, yj)); band++) sides[band].push(xi, yi, xj, yj);
	});
	const found = new Uint32Array(xy.length >> 1);
	let n = 0;
	for (let i = 0; i < xy.length; i += 2) {
		const x = xy[i];
		const y = xy[i + 1];
		if (!(x >= x0 && x <= x1 && y >= y0 && y <= y1)) continue;
		const near = sides[bandOf(y)];
		let inside = false;
		for (let k = 0; k < near.length; k += 4) {
			if (crosses(x, y, near[k], near[k + 1], near[k + 2], near[k + 3])) inside = !inside;
		}
		if (inside) found[n++] = i >> 1;
	}
	return found.slice(0, n);
}

/** Finds the point next to a place: points by square of a raster. */
export class PointIndex {
	constructor(/** @type {Float32Array} */ xy, side = 128) {
		this.xy = xy;
		this.side = side;
		const count = xy.length >> 1;
		const starts = new Uint32Array(side * side + 1);
		const square = new Uint32Array(count);
		for (let i = 0; i < count; i++) {
			square[i] = this.row(xy[2 * i + 1]) * side + this.row(xy[2 * i]);
			starts[square[i] + 1]++;
		}
		for (let i = 0; i < side * side; i++) starts[i + 1] += starts[i];
		this.starts = starts.slice();
		this.order = new Uint32Array(count);
		for (let i = 0; i < count; i++) this.order[starts[square[i]]++] = i;
	}

	row(v) { return clamp(Math.floor(v * this.side), 0, this.side - 1); }

	/** The index of the nearest point within `radius`, -1 when there is none. */
	nearest(x, y, radius) {
		let [best, least] = [-1, radius * radius];
		for (let j = this.row(y - radius); j <= this.row(y + radius); j++) {
			for (let i = this.row(x - radius); i <= this.row(x + radius); i++) {
				const at = j * this.side + i;
				for (let k = this.starts[at]; k < this.starts[at + 1]; k++) {
					const point = this.order[k];
					const far = (this.xy[2 * point] - x) ** 2 + (this.xy[2 * point + 1] - y) ** 2;
					if (far <= least) [best, least] = [point, far];
				}
			}
		}
		return best;
	}
}

// ---- boxes

/** Corners in order and within the picture. @returns {Box} */
export function tidyBox([x0, y0, x1, y1]) {
	const clip = (v) => clamp(v, 0, 1);
	return [clip(Math.min(x0, x1)), clip(Math.min(y0, y1)), clip(Math.max(x0, x1)), clip(Math.max(y0, y1))];
}

/** What a press on a box takes hold of: "nw" … "se", "move" inside, null outside. @param {Point} near  in the box's units */
export function boxHandle(/** @type {Box} */ [x0, y0, x1, y1], x, y, [nx, ny]) {
	if (x < x0 - nx || x > x1 + nx || y < y0 - ny || y > y1 + ny) return null;
	const vertical = Math.abs(y - y0) <= ny ? "n" : Math.abs(y - y1) <= ny ? "s" : "";
	const horizontal = Math.abs(x - x0) <= nx ? "w" : Math.abs(x - x1) <= nx ? "e" : "";
	return vertical + horizontal || "move";
}

/** The box after its handle moved; moving keeps its size, also at the border. @returns {Box} */
export function dragBox(box, handle, dx, dy) {
	const [x0, y0, x1, y1] = box;
	if (handle === "move") {
		const mx = clamp(dx, -x0, 1 - x1);
		const my = clamp(dy, -y0, 1 - y1);
		return [x0 + mx, y0 + my, x1 + mx, y1 + my];
	}
	return tidyBox([
		handle.includes("w") ? x0 + dx : x0, handle.includes("n") ? y0 + dy : y0,
		handle.includes("e") ? x1 + dx : x1, handle.includes("s") ? y1 + dy : y1,
	]);
}

/** The topmost hold among boxes: the active one first, then the smallest. */
export function boxAt(boxes, x, y, /** @type {Point} */ near, active = -1) {
	const area = (/** @type {Box} */ b) => (b[2] - b[0]) * (b[3] - b[1]);
	const order = boxes.map((_, i) => i).sort((a, b) => area(boxes[a]) - area(boxes[b]));
	if (active >= 0 && active < boxes.length) order.unshift(active);
	for (const index of order) {
		const handle = boxHandle(boxes[index], x, y, near);
		if (handle) return { index, handle };
	}
	return null;
}

// ---- text of a query

const KEYWORDS = new Set(
	("SELECT FROM WHERE AND OR NOT IN IS NULL LIKE ILIKE BETWEEN ORDER GROUP BY HAVING LIMIT OFFSET ASC DESC AS CASE WHEN " +
		"THEN ELSE END DISTINCT TRUE FALSE JOIN LEFT RIGHT INNER OUTER ON UNION ALL ANY EXISTS WITH SAMPLE UNGROUP EXPAND " +
		"VERSION CAST USING REPLACE NULLS FIRST LAST OVER PARTITION CONTAINS EXCEPT INTERSECT").split(" "),
);
const TOKEN =
	/(?<comment>--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|(?<string>'(?:[^']|'')*'?)|(?<name>"(?:[^"]|"")*"?)|(?<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)|(?<word>[\p{L}_][\p{L}\p{N}_]*)|(?<space>\s+)|(?<mark>.)/gsu;

/** Parts of a query for colouring; joined they are the text again. */
export function tokens(text) {
	const found = [];
	for (const match of text.matchAll(TOKEN)) {
		const { groups } = match;
		let kind = Object.keys(groups).find((name) => groups[name] !== undefined) ?? "mark";
		const start = match.index ?? 0;
		const stop = start + match[0].length;
		if (kind === "word") {
			if (KEYWORDS.has(match[0].toUpperCase())) kind = "keyword";
			else if (/^\s*\(/.test(text.slice(stop, stop + 8))) kind = "function";
		}
		found.push({ kind, start, stop, text: match[0] });
	}
	return found;
}

/** Offset behind the first so many characters of Python, which counts an emoji as one. */
export const offsetOf = (text, characters) => [...text].slice(0, characters).join("").length;

/** Offset of a line and column, both counted from 1, kept within the text. */
export function caretOffset(text, line, column) {
	const lines = text.split("\n");
	const at = Math.min(Math.max(1, line), lines.length) - 1;
	const before = lines.slice(0, at).reduce((sum, l) => sum + l.length + 1, 0);
	return before + offsetOf(lines[at], Math.max(1, column) - 1);
}

/** What an error marks: the token at the place, or the last one. */
export function errorSpan(text, line, column) {
	const at = caretOffset(text, line, column);
	const solid = tokens(text).filter((t) => t.kind !== "space");
	const hit = solid.find((t) => at >= t.start && at < t.stop) ?? solid.find((t) => t.start >= at) ?? solid[solid.length - 1];
	return hit ? [hit.start, hit.stop] : [0, 0];
}

/** The text with the word before the cursor replaced. */
export function complete(text, cursor, word, choice) {
	return { text: text.slice(0, word) + choice + text.slice(cursor), cursor: word + choice.length };
}

/** Queries asked before, newest last. */
export class History {
	constructor(/** @type {string[]} */ entries = [], most = 100) {
		this.entries = entries.filter((entry) => typeof entry === "string").slice(-most);
		this.most = most;
		this.at = this.entries.length;
		this.draft = "";
	}

	push(text) {
		if (text.trim()) this.entries = [...this.entries.filter((entry) => entry !== text), text].slice(-this.most);
		this.at = this.entries.length;
	}

	older(current) {
		if (!this.at) return null;
		if (this.at === this.entries.length) this.draft = current;
		return this.entries[--this.at];
	}

	newer() {
		if (this.at >= this.entries.length) return null;
		this.at++;
		return this.at === this.entries.length ? this.draft : this.entries[this.at];
	}
}

/** Names that fit what was typed: beginning, a word's beginning, anywhere. */
export function typeAhead(/** @type {string[]} */ names, typed, most = 200) {
	const wanted = typed.trim().toLowerCase();
	const ranked = [];
	for (let i = 0; i < names.length; i++) {
		const name = names[i].toLowerCase();
		const at = name.indexOf(wanted);
		if (at < 0) continue;
		const rank = name === wanted ? 0 : at === 0 ? 1 : /[\s_\-./]/.test(name[at - 1]) ? 2 : 3;
		ranked.push({ index: i, name: names[i], rank });
	}
	return ranked.sort((a, b) => a.rank - b.rank || a.index - b.index).slice(0, most);
}

// ---- names and numbers

const HIDDEN = /\r\n|[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/** A name with its every character to be seen: controls and marks of direction as escapes, as reprs of Python have them. */
export const visible = (text) => String(text).replace(HIDDEN, (found) => {
	const code = found.codePointAt(0);
	if (code === 9) return "⇥";
	if (code === 10 || code === 13) return "↵";
	if (/\p{Zs}/u.test(found)) return " ";
	const [sign, digits] = code < 256 ? ["x", 2] : code < 65536 ? ["u", 4] : ["U", 8];
	return `\\${sign}${code.toString(16).padStart(digits, "0")}`;
});
/** The same for several lines. */
const visibleLines = (text) => String(text).split("\n").map(visible).join("\n");

const GROUPED = new Intl.NumberFormat("en-US");
/** The id of a commit as people say it; names of branches and tags as they are. */
export const brief = (version) => String(version).replace(/^([0-9A-Z]{8})[0-9A-Z]{8,}$/, "$1");
export const grouped = (n) => GROUPED.format(n);
export const counted = (n, noun) => `${grouped(n)} ${noun}${n === 1 ? "" : "s"}`;

/** A number at a glance: 1.2M, 12.5k, 0.03. */
export function short(n) {
	if (!Number.isFinite(n)) return String(n);
	const size = Math.abs(n);
	for (const [unit, name] of /** @type {[number, string][]} */ ([[1e9, "G"], [1e6, "M"], [1e3, "k"]])) {
		if (size >= unit * (name === "k" ? 10 : 1)) return `${Number((n / unit).toPrecision(3))}${name}`;
	}
	return String(Number(n.toPrecision(size >= 1000 ? 4 : 3)));
}

/** An end of a range where there is room for 16 characters: with an exponent where it has more. */
export function endText(/** @type {number|string} */ end) {
	const text = typeof end === "string" ? end : String(Number(end.toPrecision(6)));
	return text.length <= 16 ? text : Number(end).toExponential(5).replace(/\.?0*e\+?/, "e");
}

/** Milliseconds since 1970 as a date, with the time where the span is short. */
export function shortTime(ms, span = Infinity) {
	const date = new Date(ms);
	if (Number.isNaN(date.getTime())) return "–";
	const [day, time] = date.toISOString().split("T");
	return span < 3 * 86_400_000 ? `${day} ${time.slice(0, 5)}` : day;
}

/** Places of the ends of the bins under a brush. */
export function brushed(bins, x0, x1, width) {
	const bin = (x) => clamp(Math.floor((x / width) * bins), 0, bins - 1);
	return [bin(Math.min(x0, x1)), bin(Math.max(x0, x1)) + 1];
}

/** Where a value lies on a histogram of equal bins, 0..1: an end exactly, whatever it is. */
export function alongEdges(edges, value) {
	const place = edges.indexOf(value);
	if (place >= 0) return place / (edges.length - 1);
	const [low, high, at] = [edges[0], edges[edges.length - 1], value].map(numberOf);
	return high > low ? clamp((at - low) / (high - low), 0, 1) : 0;
}

/** An end of a range as a float: a number, the digits of one, or the milliseconds of a time. */
export const numberOf = (end) => (typeof end === "string" && !Number.isNaN(Number(end)) ? Number(end) : timeOf(end));

/** What a range of numbers says as text: the number, its digits where floats have too few, null for nothing. */
export function readNumber(text) {
	const digits = text.trim().replace(/,/g, "");
	if (!digits) return null;
	const number = Number(digits);
	if (/^[+-]?\d+$/.test(digits) && !Number.isSafeInteger(number)) return digits;
	return Number.isFinite(number) ? number : NaN;
}

/** What a range of times says: ISO 8601 with a day at least, null for nothing, NaN for anything else. */
export function readTime(text) {
	const said = text.trim().replace(" ", "T");
	if (!said) return null;
	const [, day, time = ""] = /^(\d{4}(?:-\d\d){0,2})(T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)?$/.exec(said) ?? [];
	if (!day || (time && day.length < 10)) return NaN;
	const whole = day.padEnd(10, "-01-01".slice(day.length - 10)) + time;
	return Number.isNaN(timeOf(whole)) ? NaN : whole;
}

/** Whether a number, or its digits, is in a range that may be open: as a query compares. */
export function inRange(value, [low, high]) {
	if (value === null || value === undefined) return false;
	const [at, least, end] = [value, low, high].map(comparable);
	return (low === null || at >= least) && (high === null || at < end);
}

const comparable = (value) => (typeof value === "string" && /^[+-]?\d+$/.test(value) ? BigInt(value) : value === null ? null : Number(value));

// ---- keeping and asking

export class Lru {
	constructor(budget, dispose = (_value) => {}) {
		this.budget = budget;
		this.dispose = dispose;
		this.used = 0;
		/** @type {Map<any, {value: any, bytes: number}>} */
		this.entries = new Map();
	}

	get(key) {
		const entry = this.entries.get(key);
		if (!entry) return undefined;
		this.entries.delete(key);
		this.entries.set(key, entry);
		return entry.value;
	}

	peek(key) {
		return this.entries.get(key)?.value;
	}

	set(key, value, bytes) {
		this.delete(key, value);
		this.entries.set(key, { value, bytes });
		this.used += bytes;
		for (const old of this.entries.keys()) {
			if (this.used <= this.budget || old === key) break;
			this.delete(old);
		}
	}

	/** @param {any} [keep]  not disposed of: it comes back under the same key */
	delete(key, keep) {
		const entry = this.entries.get(key);
		if (!entry) return;
		this.entries.delete(key);
		this.used -= entry.bytes;
		if (entry.value !== keep) this.dispose(entry.value);
	}

	clear() {
		for (const key of [...this.entries.keys()]) this.delete(key);
	}
}

/** An answer to what is no longer shown or asked. */
export class Stale extends Error {}

const ENDED = { kind: "Ended", message: "The kernel has restarted, or ended: this is a picture of what was. Run the cell again; it offers to restore what was staged." };

/** A refusal from Python, with its place in the query where there is one. */
export class Refusal extends Error {
	constructor(error) {
		super(error?.message ?? "The request failed.");
		this.kind = error?.kind ?? "Error";
		this.line = error?.line ?? null;
		this.column = error?.column ?? null;
		this.hint = error?.hint ?? null;
		this.conflicts = error?.conflicts ?? [];
	}
}

/** Which questions are open: numbers, answers, lateness. */
export class Requests {
	/** @param {{send: (message: object) => void, generation?: () => number, now?: () => number, first?: number}} of */
	constructor({ send, generation = () => 0, now = () => performance.now(), first = 1 }) {
		this.send = send;
		this.generation = generation;
		this.now = now;
		this.next = first;
		/** @type {Map<number, any>} */
		this.open = new Map();
		/** @type {Map<string, {busy: boolean, waiting: any}>} */
		this.lanes = new Map();
		this.base64 = false;
	}

	/**
	 * @param {string} type @param {object} fields
	 * @param {{bound?: boolean, progress?: (done: number, total: number) => void}} [how]
	 *   bound: the answer counts only while the generation asked about is shown
	 * @returns {Promise<any>}
	 */
	ask(type, fields = {}, { bound = false, progress } = {}) {
		const req = this.next++;
		const message = { type, req, gen: this.generation(), ...fields };
		return new Promise((resolve, reject) => {
			this.open.set(req, { message, bound, progress, resolve, reject, since: this.now() });
			try {
				this.send(message);
			} catch {
				this.open.delete(req);
				reject(new Refusal(ENDED));
			}
		});
	}

	/** At most one open question a lane; while it is open only the newest other one waits. */
	latest(lane, type, fields = {}, how = {}) {
		const state = this.lanes.get(lane) ?? { busy: false, waiting: null };
		this.lanes.set(lane, state);
		return new Promise((resolve, reject) => {
			state.waiting?.reject(new Stale());
			state.waiting = { type, fields, how, resolve, reject };
			this.advance(state);
		});
	}

	advance(state) {
		if (state.busy || !state.waiting) return;
		const { type, fields, how, resolve, reject } = state.waiting;
		state.waiting = null;
		state.busy = true;
		this.ask(type, fields, how).then(resolve, reject).finally(() => {
			state.busy = false;
			this.advance(state);
		});
	}

	/** Takes a message of Python's; false where it is none of ours. */
	receive(content, buffers = []) {
		const entry = this.open.get(content?.req);
		if (!entry) return false;
		if (content.type === "progress") {
			entry.since = this.now();
			entry.progress?.(content.done, content.total);
			return true;
		}
		if (content.type !== "reply") return false;
		this.open.delete(content.req);
		if (entry.bound && entry.message.gen !== this.generation()) entry.reject(new Stale());
		else if (content.ok === false) entry.reject(content.error?.kind === "Stale" ? new Stale() : new Refusal(content.error));
		else entry.resolve({ ...content, bytes: content.b64 ? fromBase64(content.b64) : asBytes(buffers?.[0]) });
		return true;
	}

	/** Milliseconds that the oldest open question has waited. */
	waited() {
		let since = Infinity;
		for (const entry of this.open.values()) since = Math.min(since, entry.since);
		return since === Infinity ? 0 : this.now() - since;
	}

	/** Asks all that is open once more, under the same numbers. */
	retry() {
		for (const entry of this.open.values()) {
			entry.since = this.now();
			this.send(entry.message);
		}
	}

	close() {
		for (const entry of this.open.values()) entry.reject(new Stale());
		this.open.clear();
	}
}

/** A picture or a map as it fits. */
const WHOLE = { scale: 1, x: 0, y: 0 };

/** Dash of an overlay's lines: whole for the first layer. */
export function layerDash(layer) {
	return [[], [6, 3], [2, 2]][layer % 3];
}

/** Values of a picture's sides under the pointer after zooming there by `by`. */
export function zoomAt(/** @type {{scale: number, x: number, y: number}} */ view, px, py, by, [least, most]) {
	const scale = clamp(view.scale * by, least, most);
	const ratio = scale / view.scale;
	return { scale, x: px - (px - view.x) * ratio, y: py - (py - view.y) * ratio };
}

// ---- parts of a page

/** Attributes that people read. */
const READ = new Set(["title", "aria-label", "placeholder"]);

/**
 * An element: `on…` are listeners, `class`, `text` and properties are set, the rest are attributes. Whatever is read is
 * shown with its every character; `raw` stays as it is: values, which keep their direction, and what has to be aligned.
 * @param {string} tag @param {Record<string, any>} [with_] @param {...(Node|string|null|undefined|false)} children
 * @returns {any}
 */
function h(tag, with_ = {}, ...children) {
	const node = document.createElement(tag);
	if (tag === "button") node.type = "button";
	if (tag === "input") node.autocomplete = "off";
	for (const [name, value] of Object.entries(with_)) {
		if (value === undefined || value === null || value === false) continue;
		if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
		else if (name === "text") node.textContent = visible(value);
		else if (name === "raw") node.textContent = value;
		else if (name === "class") node.className = value;
		else if (name === "type" || name === "value" || name === "checked" || name === "disabled" || name === "hidden") node[name] = value;
		else node.setAttribute(name, value === true ? "" : READ.has(name) ? visible(value) : String(value));
	}
	node.append(...children.filter((child) => child || child === "").map((child) => (typeof child === "string" ? visible(child) : child)));
	return node;
}

/** Paths on a field of 16 × 16, drawn as lines. */
const ICONS = {
	filter: "M2 3.5h12M4.5 8h7M7 12.5h2", map: "M2.5 2v11.5H14M6 9.5h.01M8.5 5.5h.01M11.5 8h.01M12 3.5h.01",
	versions: "M4.5 5.5v5M4.5 5.5a1.5 1.5 0 100-3 1.5 1.5 0 000 3zM4.5 13.5a1.5 1.5 0 100-3 1.5 1.5 0 000 3zM11.5 6.5a1.5 1.5 0 100-3 1.5 1.5 0 000 3zM11.5 6.5c0 3-7 1.5-7 4",
	edits: "M3 13l.7-3L11 2.7l2.3 2.3L6 12.3z", help: "M6 6a2 2 0 113 1.7c-.7.4-1 .8-1 1.5M8 12h.01",
	layers: "M8 2.5l6 3-6 3-6-3zM2 8.5l6 3 6-3M2 11.5l6 3 6-3", text: "M3 4h10M3 8h10M3 12h6", minus: "M3.5 8h9",
	plus: "M3.5 8h9M8 3.5v9", close: "M4 4l8 8M12 4l-8 8", left: "M10 3.5L5.5 8l4.5 4.5", right: "M6 3.5L10.5 8 6 12.5",
	down: "M4 6l4 4 4-4", save: "M3.5 2.5h9v11L8 10.5l-4.5 3z", check: "M3.5 8.5l3 3 6-7", undo: "M6 3.5L3 6.5l3 3M3 6.5h6.5a3.5 3.5 0 010 7H7",
	redo: "M10 3.5l3 3-3 3M13 6.5H6.5a3.5 3.5 0 000 7H9", sort: "M5 3v10M5 13l-2.5-2.5M5 13l2.5-2.5M11 13V3M11 3L8.5 5.5M11 3l2.5 2.5",
	theme: "M8 2.5a5.5 5.5 0 100 11zM8 2.5a5.5 5.5 0 010 11", lasso: "M4.5 10.5C2 9 1.5 6.5 3.5 4.5s6-2.5 8.5-1 2.5 4.5 0 6-5 1.5-7.5 1zM4.5 10.5c1 1 .5 2.5-1 3",
	pan: "M8 2v12M2 8h12M8 2L6.5 3.5M8 2l1.5 1.5M8 14l-1.5-1.5M8 14l1.5-1.5M2 8l1.5-1.5M2 8l1.5 1.5M14 8l-1.5-1.5M14 8l-1.5 1.5",
	box: "M3.5 3.5h9v9h-9zM3.5 3.5h.01M12.5 12.5h.01", suspects: "M7 11.5a4.5 4.5 0 100-9 4.5 4.5 0 000 9zM10.5 10.5L14 14M7 4.7v2.5M7 9.2h.01",
	alike: "M2.5 2.5h7v7h-7zM6.5 12v1.5h7v-7H12", fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10", history: "M8 4.5V8l2.5 1.5M2.5 8a5.5 5.5 0 101.6-3.9M2.5 2.5v2.5H5", tag: "M2.5 2.5h5l6 6-5 5-6-6zM5 5h.01",
};

function icon(/** @type {keyof typeof ICONS} */ name) {
	const space = "http://www.w3.org/2000/svg";
	const svg = document.createElementNS(space, "svg");
	svg.setAttribute("viewBox", "0 0 16 16");
	svg.setAttribute("aria-hidden", "true");
	svg.setAttribute("class", "dl-icon");
	const path = document.createElementNS(space, "path");
	path.setAttribute("d", ICONS[name]);
	svg.append(path);
	return svg;
}

/** A button with an icon, its name for everyone in `title`. */
function iconButton(name, title, /** @type {(event: any) => void} */ onclick, with_ = {}) {
	return h("button", { class: "dl-button dl-only-icon", title, "aria-label": title, onclick, ...with_ }, icon(name));
}

function textButton(text, onclick, with_ = {}) {
	return h("button", { class: "dl-button", onclick, ...with_ }, text);
}
const primary = (text, onclick, with_ = {}) => textButton(text, onclick, { class: "dl-button dl-primary", ...with_ });
const link = (text, onclick, with_ = {}) => textButton(text, onclick, { class: "dl-link", ...with_ });

/** What was done here is done: neither the host nor what lies above acts on it. */
function handled(event) {
	event.preventDefault();
	event.stopPropagation();
}

/** Keys typed into a field act nowhere else. */
const keepKeys = (field) => field.addEventListener("keydown", (event) => event.stopPropagation());
const div = (name, ...children) => h("div", { class: name }, ...children);
const space = () => span("", "dl-space");
const strong = (text) => h("strong", { text });
const heading = (text) => h("h2", { text });
const kbd = (text) => h("kbd", { text });
const span = (text, name, title) => h("span", { class: name, text, title });
const dotted = (...parts) => parts.filter(Boolean).join(" · ");
const quiet = (text, tag = "span") => h(tag, { class: "dl-quiet", text });
const padded = (text) => h("p", { class: "dl-quiet dl-pad", text });

/** A button with an icon and a name that gives way where it is narrow. */
function labelled(name, text, title, onclick = null, with_ = {}) {
	return h("button", { class: "dl-button", title, "aria-label": text, onclick, ...with_ }, icon(name), span(text, "dl-label"));
}

/** A paragraph; what stands in backquotes is code. */
const prose = (text) => h("p", {}, ...text.split("`").map((part, i) => (i % 2 ? h("code", { text: part }) : part)));

/** A line to type into; `label` names it. */
const textField = (label, with_) => h("input", { type: "text", class: "dl-input", "aria-label": label, ...with_ });
const slider = (label, with_) => h("input", { type: "range", min: "0", max: "100", class: "dl-slider", "aria-label": label, ...with_ });

/** A box to tick, with words at its right. */
function check(text, with_, ...more) {
	return h("label", { class: "dl-check" }, h("input", { type: "checkbox", ...with_ }), span(text), ...more);
}

function choice(name, text, note, onclick) {
	return h("button", { class: "dl-choice", onclick }, icon(name), h("span", { text }), note && quiet(note));
}

/** A dot in the colour of a class. */
function dot(/** @type {number|null|undefined} */ index) {
	if (index === null || index === undefined) return null;
	const made = h("span", { class: "dl-dot", "aria-hidden": "true" });
	made.style.background = css(classColour(index));
	return made;
}

/** Sets an attribute where it changed; undefined takes it away. */
function attribute(node, name, value) {
	if (value === undefined) node.removeAttribute(name);
	else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, String(value));
}

/** Whether a button is held down. */
const pressed = (button, on) => button.setAttribute("aria-pressed", String(on));

/** Shows `text` where it changed. */
function say(node, text, { raw = false } = {}) {
	const shown = raw ? text : visible(text);
	if (node.textContent !== shown) node.textContent = shown;
}

/** Where in an element an event was. @returns {Point} */
function within(node, event) {
	const box = node.getBoundingClientRect();
	return [event.clientX - box.left, event.clientY - box.top];
}

/** A pointer's way from press to release. @param {(move: {x: number, y: number, dx: number, dy: number, event: PointerEvent}) => void} onmove */
function drag(/** @type {PointerEvent} */ start, onmove, onend = (/** @type {boolean} */ _moved) => {}) {
	const target = start.currentTarget;
	const listening = new AbortController();
	let moved = false;
	const move = (/** @type {PointerEvent} */ event) => {
		const [dx, dy] = [event.clientX - start.clientX, event.clientY - start.clientY];
		if (!moved && Math.hypot(dx, dy) < 4) return;
		moved = true;
		const [x, y] = within(target, event);
		onmove({ x, y, dx, dy, event });
	};
	const end = () => {
		listening.abort();
		onend(moved);
	};
	try {
		target.setPointerCapture(start.pointerId);
	} catch {
		// a synthetic press has no pointer to capture
	}
	target.addEventListener("pointermove", move, listening);
	for (const name of ["pointerup", "pointercancel"]) target.addEventListener(name, end, listening);
}

/** Pixels of the screen in one of the page. */
const density = () => globalThis.devicePixelRatio || 1;

/** A canvas as sharp as the screen; returns its context in CSS pixels. */
function sharpen(/** @type {HTMLCanvasElement} */ canvas, width, height) {
	const ratio = Math.min(2, density());
	const [w, hgt] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
	if (canvas.width !== w || canvas.height !== hgt) {
		canvas.width = w;
		canvas.height = hgt;
		canvas.style.width = `${width}px`;
		canvas.style.height = `${height}px`;
	}
	const context = canvas.getContext("2d");
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.textBaseline = "middle";
	return context;
}

/** Small things kept between sessions where the page allows it. */
const memory = {
	read(name, fallback) {
		try {
			return JSON.parse(localStorage.getItem(`dl-browser:${name}`) ?? "null") ?? fallback;
		} catch {
			return fallback;
		}
	},
	write(name, value) {
		try {
			localStorage.setItem(`dl-browser:${name}`, JSON.stringify(value));
		} catch {
			// private windows and file:// may refuse
		}
	},
};

// ---- the core

const MANY = 500_000;
const LATE = 10_000;
const GONE = 40_000;
const SETTINGS = { size: 160, picture: null, caption: null, overlays: {}, colour_by: null, panel: null, theme: "auto" };
const EMPTY_STATE = { generation: 0, rows: 0, ms: 0, query: "" };

/** Class that a digit means: that of its name, else 1 the first … 9 the ninth, or -1. */
export function classOfKey(key, /** @type {string[]} */ names) {
	if (!/^\d$/.test(key)) return -1;
	const named = names.indexOf(key);
	return named >= 0 || key > names.length ? named : key - 1;
}

const keyOfClass = (index, names) => [..."0123456789"].find((key) => classOfKey(key, names) === index);

/** Who hears of what. */
class Listeners {
	constructor() {
		/** @type {Map<string, Set<Function>>} */
		this.heard = new Map();
	}

	on(name, /** @type {Function} */ handler) {
		if (!this.heard.has(name)) this.heard.set(name, new Set());
		this.heard.get(name)?.add(handler);
		return () => this.off(name, handler);
	}

	off(name, handler) { this.heard.get(name)?.delete(handler); }
	of(name) { return [...(this.heard.get(name) ?? [])]; }
}

/**
 * Rows that an edit is for: their positions in one answer; a single one also by its id, where that is known.
 * @typedef {{positions: number[]|"selected", gen: number, count: number, id?: string|null}} Rows
 */

const MOVED = "Other rows are shown by now, so nothing was edited. Look at the rows again, and repeat the edit.";
const NONE_CHOSEN = "Nothing is selected. Select rows first, by a click or by the arrow keys and Space.";

/** What all parts share: model, open questions, selection, listeners. */
class Core extends Listeners {
	constructor(model) {
		super();
		this.model = model;
		this.palette = {};
		this.root = null;
		this.requests = new Requests({
			send: (message) => {
				model.send(message);
				this.pending();
			},
			generation: () => this.state.generation,
			first: 1 + Math.floor(Math.random() * 1e9) * 1000,
		});
		this.selection = new Selection(0);
		this.active = 0;
		this.anchor = 0;
		this.hovered = -1;
		/** @type {Rows|null} */
		this.large = null;
		this.ringed = () => false;
		this.noSelection = false;
		this.closing = new AbortController();
		this.sending = 0;
		this.listen();
	}

	listen() {
		const model = this.model;
		const wire = (event, handler) => {
			model.on(event, handler);
			this.atEnd(() => model.off(event, handler));
		};
		wire("msg:custom", (content, buffers) => this.receive(content, buffers));
		wire("comm_live_update", () => this.failed(new Refusal(ENDED)));
		wire("change:state", () => this.turn());
		for (const name of ["settings", "about", "staged", "staged_count", "staged_rows", "drafts", "query", "problem"]) {
			wire(`change:${name}`, () => this.emit(name, model.get(name)));
		}
		wire("change:_selected", () => {
			if (!this.sending) this.takeSelection();
		});
		this.shown = this.state.generation;
		this.asked = JSON.stringify([this.state.query, this.state.tab, this.state.column, this.state.order]);
		this.takeSelection();
		const clock = setInterval(() => this.emit("waited", this.requests.waited()), 1000);
		this.atEnd(() => {
			clearInterval(clock);
			this.requests.close();
		});
	}

	/** Calls when the page is closed. */
	atEnd(stop) { this.closing.signal.addEventListener("abort", stop); }

	get about() { return this.model.get("about") ?? { columns: [], total: 0 }; }
	get state() { return this.model.get("state") ?? EMPTY_STATE; }
	get settings() { return { ...SETTINGS, ...(this.model.get("settings") ?? {}) }; }
	get staged() { return this.model.get("staged") ?? []; }
	get drafts() { return this.model.get("drafts") ?? []; }
	get stagedRows() { return this.model.get("staged_rows") ?? 0; }
	get stagedCount() { return this.model.get("staged_count") ?? this.staged.length; }
	get columns() { return this.about.columns ?? []; }
	get writable() { return Boolean(this.about.writable) && !this.static && !this.ended; }
	/** Whether two versions are compared. */
	get compares() { return this.about.mode === "diff"; }
	get static() { return Boolean(this.about.static); }

	column(name) { return this.columns.find((column) => column.name === name); }

	/** Whether cells of a column are texts of the data, and not names of classes. */
	holdsData(name, kind = this.column(name)?.kind) { return Boolean(kind) && kind !== "class" && kind !== "tags"; }

	/** An element with a cell of a column. */
	cell(tag, name, text, kind = undefined) { return h(tag, this.holdsData(name, kind) ? { raw: text, dir: "auto" } : { text }); }

	/** Columns of labels that can be set: not those that a query computes. */
	get labelColumns() { return this.kinds("class").filter(({ stored = true }) => stored); }
	/** The column that keys set. */
	get labels() {
		const columns = this.labelColumns;
		return columns.find((column) => column.name === this.labelling) ?? columns[0];
	}
	classOf(key) { return classOfKey(key, this.labels?.classes ?? []); }
	kinds(...kinds) { return this.columns.filter((column) => kinds.includes(column.kind)); }

	emit(name, value = null) {
		for (const handler of this.of(name)) {
			try {
				handler(value);
			} catch (error) {
				this.failed(error);
			}
		}
	}

	set(patch) {
		this.model.set("settings", { ...this.settings, ...patch });
		this.model.save_changes();
		this.emit("settings", this.settings);
	}

	/** How many questions are open, for who watches the page. */
	pending() {
		if (this.root) this.root.dataset.pending = this.requests.open.size;
	}

	receive(content, buffers) {
		const ours = this.requests.receive(content, buffers);
		this.pending();
		if (ours) this.emit("waited", this.requests.waited());
		else if (content?.type === "thread") this.model.send({ type: "thread" });
		else if (content?.type === "note") this.note(content.text);
		else if (content?.type === "changed") this.emit("changed", content.positions ?? null);
	}

	/** A new generation is shown. */
	turn() {
		const { generation, rows } = this.state;
		if (generation === this.shown) return this.emit("count");
		const { query, tab, column, order } = this.state;
		const asked = JSON.stringify([query, tab, column, order]);
		const same = asked === this.asked;
		this.asked = asked;
		this.shown = generation;
		this.active = Math.min(this.active, Math.max(0, rows - 1));
		this.anchor = this.active;
		this.hovered = -1;
		this.takeSelection();
		this.emit("state", { same });
		this.say(`${counted(rows, "row")} shown`);
	}

	takeSelection() {
		this.selection = Selection.of(this.state.rows, unpackPositions(this.model.get("_selected")));
		this.emit("selection");
	}

	/** The selection changed here: draw at once, tell Python once a frame. */
	selected() {
		this.emit("selection");
		this.selectionDue ??= requestAnimationFrame(() => this.settleSelection());
	}

	/** Python hears of the selection before it hears of what is done with it. */
	settleSelection() {
		if (this.selectionDue === undefined) return;
		cancelAnimationFrame(this.selectionDue);
		this.selectionDue = undefined;
		this.sendSelection();
	}

	sendSelection() {
		const positions = this.selection.positions();
		if (positions.length > MANY) { // servers close the socket beyond 10 MiB a message
			this.ask("select", { what: "runs", runs: runsOf(positions) }).catch((error) => this.failed(error));
		} else {
			this.sending++;
			this.model.set("_selected_of", this.shown); // a click may cross another answer on its way
			this.model.set("_selected", packPositions(positions));
			this.model.save_changes();
			this.sending--;
		}
		const { count } = this.selection;
		this.say(count ? `${counted(count, "row")} selected` : "Nothing selected");
	}

	select(/** @type {"all"|"none"|"invert"} */ what) {
		const { rows } = this.state;
		if (what === "none") this.selection = new Selection(rows);
		else if (what === "all") {
			this.selection = new Selection(rows);
			if (rows) this.selection.range(0, rows - 1);
		} else {
			for (let i = 0; i < rows; i++) this.selection.toggle(i);
		}
		this.emit("selection");
		if (what === "invert") return this.sendSelection(); // Python may not know yet of what was selected
		this.ask("select", { what }).catch((error) => this.failed(error));
		this.say(`${counted(this.selection.count, "row")} selected`);
	}

	/** One row: alone, in addition, or with all from the last one on. */
	pick(position, { range = false, toggle = false } = {}) {
		if (range) {
			if (!toggle) this.selection = new Selection(this.state.rows);
			this.selection.range(this.anchor, position);
		} else if (toggle) {
			this.selection.toggle(position);
			this.anchor = position;
		} else {
			this.selection = Selection.of(this.state.rows, [position]);
			this.anchor = position;
		}
		this.active = position;
		this.selected();
	}

	/** Many rows, from a lasso: instead of what is selected, or with it. */
	take(positions, { shiftKey = false, ctrlKey = false, metaKey = false } = {}) {
		if (!shiftKey && !ctrlKey && !metaKey) this.selection = new Selection(this.state.rows);
		for (const position of positions) this.selection.set(position, true);
		if (positions.length) this.anchor = positions[0];
		this.selected();
	}

	/** @returns {Promise<any>} */
	ask(type, fields = {}, how = {}) { return this.requests.ask(type, fields, how); }
	/** Only the newest question of a lane waits. */
	latest(type, fields = {}, { lane = type, ...how } = {}) { return this.requests.latest(lane, type, fields, how); }

	/** Resolves when what is in view is painted, or after two seconds. */
	whenPainted() {
		if (this.painted === this.shown) return Promise.resolve();
		return new Promise((resolve) => {
			const stop = this.on("painted", () => { stop(); resolve(null); });
			setTimeout(() => { stop(); resolve(null); }, 2000);
		});
	}

	/** Calls when an element changes its size. */
	sized(node, /** @type {() => void} */ changed) {
		const observer = new ResizeObserver(changed);
		const stop = () => observer.disconnect();
		observer.observe(node);
		this.atEnd(stop);
		return stop;
	}

	/** Shows an error to the reader; what is stale is no error. */
	failed(error) {
		if (error instanceof Stale || this.closing.signal.aborted) return;
		if (error.kind === ENDED.kind && !this.ended) {
			this.ended = true;
			this.root.removeAttribute("data-heard");
			this.emit("about");
		}
		this.emit("banner", { level: "error", text: error?.message ?? String(error) });
		if (!(error instanceof Refusal)) {
			console.error(error);
			this.model.send({ type: "failed", message: String(error?.stack ?? error) });
		}
	}

	/** For screen readers. */
	say(text) { this.emit("say", text); }

	/** One row of what is shown. @returns {Rows} */
	row(position, id = null) { return { positions: [position], gen: this.shown, count: 1, id }; }

	/** What an edit is for: the row at large, those selected (hosts may hold a trait back), or that in the ring. @returns {Rows|null} */
	targets() {
		if (this.large) return this.large;
		const { count } = this.selection;
		if (count) return { positions: count > MANY ? "selected" : [...this.selection.positions()], gen: this.shown, count };
		return this.ringed() && this.state.rows ? this.row(this.active) : null;
	}

	note(text) { this.emit("banner", { level: "note", text }); }

	/** Whether rows can be edited; the reader hears why they cannot be. */
	editable() {
		if (!this.writable) this.note(this.ended ? ENDED.message : this.static ? "This page is a copy: open the dataset in a notebook to edit." : "This version is read only: show a branch to edit.");
		return this.writable;
	}

	/** The rows to edit, as they are chosen now; where there are none, the reader hears why. */
	toEdit() {
		if (!this.editable()) return null;
		const rows = this.targets();
		if (!rows) this.note(NONE_CHOSEN);
		return rows;
	}

	/** The one row that is meant, -1 for none: at large, in the ring, the last or the first of those selected. */
	meant() {
		if (this.large) return this.large.positions[0];
		if (this.selection.has(this.active) || this.ringed()) return this.active;
		return this.selection.positions()[0] ?? -1;
	}

	alike() {
		const { alike = [], has_ids: known = true } = this.about;
		const why = this.static ? "This page is a copy: open the dataset in a notebook to find rows like this one"
			: !known ? "Rows of this query are no rows of the dataset: take the query back to find rows like one"
			: alike.length ? "" : "Needs a column of embeddings: ds.add_column(\"embedding\", dl.Embedding(512), values=vectors)";
		const show = (p, gen, column) => this.attempt("neighbours", { p, gen, column }).then((reply) => {
			if (!reply) return;
			this.active = this.anchor = 0;
			this.emit("grid");
		});
		const act = () => {
			const [p, gen] = [this.meant(), this.shown];
			if (why || p < 0) this.note(why || NONE_CHOSEN);
			else if (alike.length > 1) chooser(this.root, "More like this, by", alike, ({ name }) => show(p, gen, name), { classes: false });
			else show(p, gen, alike[0]);
		};
		return /** @type {const} */ ([why || "Rows most like this one, by their embedding (r)", act, { "aria-disabled": why ? "true" : null }]);
	}

	/**
	 * Stages an edit of some rows, whose cells are then asked again. A row with an id is the same in another answer.
	 * @param {Rows|number[]} rows  positions alone are those of what is shown now
	 */
	async stage(rows, column, value, op = "set") {
		if (!this.editable()) return null;
		this.settleSelection();
		const { positions, gen, id = null } = Array.isArray(rows) ? { positions: rows, gen: this.shown } : rows;
		const bound = id === null ? { positions } : { positions, row: id };
		return this.edit("stage", { gen: id === null ? gen : null, edits: [{ ...bound, column, op, value }] });
	}

	async edit(type, fields = {}) {
		this.emit("settle");
		try {
			const reply = await this.ask(type, fields);
			this.emit("undoable", reply);
			this.emit("changed", reply.positions ?? null);
			return reply;
		} catch (error) {
			if (error instanceof Stale) this.note(MOVED);
			else this.failed(error);
			return null;
		}
	}

	/** Stages again what a browser left behind that ended with edits staged. */
	async restore({ id }) {
		const { rows, gone } = (await this.edit("restore", { id })) ?? {};
		if (rows !== undefined) this.note(`Restored: ${counted(rows, "row")}${gone ? `; ${counted(gone, "row")} of the draft no longer there` : ""}. Nothing is committed yet.`);
	}

	/** Asks what changes the rows shown: query, filter, sort … */
	async show(type, fields) {
		this.emit("settle");
		this.emit("busy", true);
		try {
			return await this.ask(type, fields);
		} finally {
			this.emit("busy", false);
		}
	}

	/** As `show`; a failure is shown to the reader. */
	attempt(type, fields) { return this.show(type, fields).catch((error) => this.failed(error)); }

	async hello() {
		const probe = [1, 2, 3, 4];
		for (const base64 of [false, true]) {
			const reply = await this.ask("hello", base64 ? { base64 } : { threads: true });
			if (probe.every((byte, i) => reply.bytes[i] === byte)) return this.root.setAttribute("data-heard", "");
		}
		throw new Refusal({ message: "This notebook drops binary messages, and text ones too: pictures cannot be shown." });
	}
}

// ---- theme

/** "light" or "dark": as set, else as the host, else as the system. */
function themeOf(root, wanted) {
	if (wanted === "light" || wanted === "dark") return wanted;
	const style = getComputedStyle(root);
	for (const name of ["--jp-layout-color0", "--vscode-editor-background", "--colab-primary-surface-color"]) {
		const colour = parseColour(style.getPropertyValue(name));
		if (colour) return luminance(colour) > 0.3 ? "light" : "dark";
	}
	return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Keeps root's theme right, also when the host or the system turns dark. */
function followTheme(root, core, changed) {
	const apply = () => {
		const wanted = core.settings.theme;
		const theme = themeOf(root, wanted);
		root.dataset.theme = theme;
		root.dataset.host = String(wanted === "auto");
		changed();
	};
	const observer = new MutationObserver(apply);
	observer.observe(document.body, { attributes: true });
	observer.observe(document.documentElement, { attributes: true, attributeFilter: ["class", "style", "theme", "data-theme"] });
	const media = matchMedia("(prefers-color-scheme: dark)");
	media.addEventListener("change", apply);
	core.on("settings", apply);
	core.sized(root, () => { // hosts attach the element after `render`: only then are there styles
		if (core.palette.bg) return;
		apply();
		core.emit("attached");
	});
	core.atEnd(() => {
		observer.disconnect();
		media.removeEventListener("change", apply);
	});
	apply();
}

/** The colours of the style sheet, for canvases. */
function paletteOf(root) {
	const style = getComputedStyle(root);
	const names = ["bg", "ink", "muted", "line", "fill", "card", "accent", "on-accent", "soft", "bad", "edit"];
	/** @type {Record<string, string>} */
	const palette = { font: style.fontFamily, mono: style.getPropertyValue("--dl-mono") };
	for (const name of names) palette[name] = style.getPropertyValue(`--dl-${name}`).trim();
	return palette;
}

// ---- cells: what cards are drawn from

const CELL_BYTES = 192 * 2 ** 20;

class Cells {
	constructor(core, /** @type {() => void} */ changed) {
		this.core = core;
		this.changed = changed;
		this.lru = new Lru(CELL_BYTES, dropCell);
		this.wanted = { start: 0, stop: 0, level: 128, ahead: 1, still: true };
		this.busy = false;
		this.changes = 0;
	}

	get(position) { return this.lru.get(position); }

	/** All is asked again; what was drawn stays until it is replaced. */
	outdate(/** @type {number[]|null} */ positions) {
		this.changes++;
		for (const [position, { value }] of this.lru.entries) {
			if (!positions || positions.includes(position)) value.old = true;
		}
	}

	clear() {
		this.lru.clear();
		this.failedAt = null;
	}

	want(wanted) {
		this.wanted = wanted;
		this.pump();
	}

	/** Why a row must be asked. */
	missing(position, level, fields) {
		const cell = this.lru.peek(position);
		if (!cell || cell.old) return true;
		if (cell.level < level && Math.max(cell.w ?? 0, cell.h ?? 0) > cell.level) return true;
		return cell.fields !== fields && !fieldsWithin(fields, cell.fields);
	}

	/** The span of missing rows within [start, stop). */
	span(start, stop, level, fields) {
		let [first, last] = [-1, -1];
		for (let i = start; i < stop; i++) {
			if (!this.missing(i, level, fields)) continue;
			if (first < 0) first = i;
			last = i;
		}
		return first < 0 ? null : [first, Math.min(last + 1, first + 1200)];
	}

	fields() {
		const { picture, caption } = this.core.settings;
		const overlays = overlayColumns(this.core).filter((column) => overlay(this.core, column.name).shown).map((column) => column.name);
		return JSON.stringify({ picture, columns: captionColumns(this.core, caption), overlays });
	}

	/** Asks for what shows, then one viewport ahead; nothing while flying past. */
	pump() {
		const { start, stop, level, ahead, still } = this.wanted;
		if (this.busy || !still || this.failedAt === this.core.state.generation) return;
		const { rows } = this.core.state;
		const fields = this.fields();
		const more = Math.max(0, stop - start);
		const next = ahead >= 0 ? [stop, Math.min(rows, stop + more)] : [Math.max(0, start - more), start];
		const span = this.span(start, stop, level, fields) ?? this.span(next[0], next[1], level, fields);
		if (span) this.fetch(span[0], span[1], level, fields);
	}

	async fetch(start, stop, level, fields) {
		this.busy = true;
		const { changes } = this;
		try {
			const reply = await this.core.ask("cells", { start, stop, size: level, ...JSON.parse(fields) }, { bound: true });
			const generation = this.core.state.generation;
			const cells = await Promise.all(reply.cells.map((cell) => readCell(cell, reply.bytes, level, fields)));
			for (const cell of cells) cell.old = changes !== this.changes; // perhaps read before an edit
			if (generation === this.core.state.generation) this.keep(cells);
			else cells.forEach(dropCell);
		} catch (error) {
			if (!(error instanceof Stale)) {
				this.failedAt = this.core.state.generation;
				this.core.failed(error);
			}
		} finally {
			this.busy = false;
			this.changed();
			this.pump();
		}
	}

	keep(cells) {
		for (const cell of cells) this.lru.set(cell.p, cell, cell.bytes);
	}
}

const fieldsWithin = (wanted, had) => {
	const [a, b] = [JSON.parse(wanted), JSON.parse(had)];
	return a.picture === b.picture && a.columns.every((c) => b.columns.includes(c)) && a.overlays.every((c) => b.overlays.includes(c));
};

const OVERLAYS = ["boxes", "mask", "polygons", "keypoints"];
const overlayColumns = (core) => core.kinds(...OVERLAYS);
const overlay = (core, name) => ({ shown: true, opacity: 0.6, ...core.settings.overlays?.[name] });

/** Changes how overlays are drawn. */
function setOverlays(core, columns, patch) {
	const changed = columns.map(({ name }) => [name, { ...overlay(core, name), ...patch }]);
	core.set({ overlays: { ...core.settings.overlays, ...Object.fromEntries(changed) } });
}

/** Columns under a card: as set, else the first labels, and what is suggested. */
function captionColumns(core, caption = core.settings.caption) {
	return caption ?? core.kinds("class", "tags").filter(({ name }, i) => !i || name === core.about.suggested?.column).map(({ name }) => name);
}

/** Decodes a cell of a reply, off the main thread. @returns {Promise<any>} */
async function readCell(cell, /** @type {Uint8Array} */ bytes, level, fields) {
	const made = { ...cell, level, fields, bytes: 512 };
	if (cell.a || cell.b) {
		[made.a, made.b] = await Promise.all([cell.a, cell.b].map((side) => side && readCell(side, bytes, level, fields)));
		made.bytes += (made.a?.bytes ?? 0) + (made.b?.bytes ?? 0);
		made.w = Math.max(made.a?.w ?? 0, made.b?.w ?? 0);
		made.h = Math.max(made.a?.h ?? 0, made.b?.h ?? 0);
		return made;
	}
	made.bitmap = cell.v ? await readPicture(bytes, cell.v).catch(() => null) : null;
	made.broken = Boolean(cell.v) && !made.bitmap;
	made.tints = {};
	for (const [name, marks] of Object.entries(cell.marks ?? {})) {
		if (marks?.v) made.tints[name] = await readMask(bytes, marks.v, marks.of).catch(() => null);
	}
	for (const picture of [made.bitmap, ...Object.values(made.tints)]) if (picture) made.bytes += picture.width * picture.height * 4;
	return made;
}

function dropCell(cell) {
	if (cell.a) dropCell(cell.a);
	if (cell.b) dropCell(cell.b);
	cell.bitmap?.close();
	for (const tint of Object.values(cell.tints ?? {})) tint?.close();
}

const blobOf = (bytes, [offset, length, mime]) => new Blob([bytes.subarray(offset, offset + length)], { type: mime });

/** Decodes a file. Of a Blob, another process of the browser has to hear first: half of the time. */
async function readPicture(bytes, at) {
	if (!globalThis.ImageDecoder) return createImageBitmap(blobOf(bytes, at));
	const [offset, length, type] = at;
	const decoder = new ImageDecoder({ data: bytes.slice(offset, offset + length), type });
	try {
		const { image } = await decoder.decode();
		return await createImageBitmap(image).finally(() => image.close());
	} finally {
		decoder.close();
	}
}

/** A mask in the colours of its classes. */
async function readMask(bytes, at, of) {
	const grey = await createImageBitmap(blobOf(bytes, at), { colorSpaceConversion: "none", premultiplyAlpha: "none" });
	const canvas = new OffscreenCanvas(grey.width, grey.height);
	const context = canvas.getContext("2d", { willReadFrequently: true });
	context.drawImage(grey, 0, 0);
	const pixels = context.getImageData(0, 0, grey.width, grey.height);
	grey.close();
	colourMask(pixels.data, of);
	return createImageBitmap(pixels);
}

// ---- drawing

function fillRect(context, colour, /** @type {Rect} */ { x, y, w, h }) {
	context.fillStyle = colour;
	context.fillRect(x, y, w, h);
}

/** Fills what was traced. */
function fill(context, colour) {
	context.fillStyle = colour;
	context.fill();
}

/** Draws the line of what was traced. */
function stroke(context, colour, width = context.lineWidth) {
	context.strokeStyle = colour;
	context.lineWidth = width;
	context.stroke();
}

/** A line of text, cut to a width. Values are `raw`: they keep their direction. */
function write(context, text, colour, x, y, width = Infinity, { raw = false } = {}) {
	context.fillStyle = colour;
	context.fillText(cut(context, raw ? text : visible(text), width), x, y);
}

function circle(context, x, y, radius) {
	context.beginPath();
	context.arc(x, y, radius, 0, 7);
}

function rounded(context, /** @type {Rect} */ { x, y, w, h }, radius) {
	context.beginPath();
	context.roundRect(x, y, w, h, radius);
}

/** What is drawn anew once a frame, when something changed. */
class Painted {
	later() {
		this.due ??= requestAnimationFrame(() => {
			this.due = undefined;
			if (this.element?.isConnected) this.draw();
		});
	}
}

/** Text cut to a width, remembered: measuring is the slow part of a card. */
const cuts = new Map();
function cut(context, text, width) {
	const key = `${context.font}|${Math.round(width)}|${text}`;
	const known = cuts.get(key);
	if (known !== undefined) return known;
	let made = text;
	if (context.measureText(text).width > width) {
		let [low, high] = [0, text.length];
		while (low < high) {
			const middle = (low + high + 1) >> 1;
			if (context.measureText(text.slice(0, middle) + "…").width <= width) low = middle;
			else high = middle - 1;
		}
		made = low ? text.slice(0, low) + "…" : "";
	}
	if (cuts.size > 8000) cuts.clear();
	cuts.set(key, made);
	return made;
}

/** Text broken into lines at spaces, long words anywhere; the last line is cut. */
function wrap(context, text, width, most) {
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

/** A chip with the name of a class on its colour. */
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
 * One layer of marks over a picture at `at`.
 * @param {{marks: any, tint: any, opacity: number, layer: number, names: string[], bones?: number[][], active?: number}} of
 */
function drawMarks(context, palette, at, { marks, tint, opacity, layer, names, bones = [], active = -1 }) {
	context.save();
	const colourOf = (i) => classColour(marks.c ? (marks.c[i] ?? 0) : layer);
	const nameOf = (i) => marks.n?.[i] ?? (marks.c ? names[marks.c[i]] : null);
	const px = (x) => at.x + x * at.w;
	const py = (y) => at.y + y * at.h;
	const thin = at.w > 400 ? 2 : 1.5;
	const area = (/** @type {number[][]} */ corners, colour, share, width) => {
		trace(context, corners.map(([x, y]) => [px(x), py(y)]));
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
		area([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], css(colourOf(i)), 0.22, i === active ? 3 : thin);
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
			trace(context, [a, b].map((k) => [px(figure[k][0]), py(figure[k][1])]));
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

function trace(context, /** @type {number[][]} */ points) {
	context.beginPath();
	points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
}

function drawLasso(context, palette, /** @type {number[][]} */ polygon) {
	if (polygon.length < 2) return;
	trace(context, polygon);
	context.closePath();
	context.globalAlpha = 0.16;
	fill(context, palette.accent);
	context.globalAlpha = 1;
	stroke(context, palette.accent, 1.5);
}

/** All layers that are shown, in the order of the columns. */
function drawLayers(context, palette, core, cell, at) {
	const columns = overlayColumns(core).map((column, layer) => ({ column, layer }));
	columns.sort((a, b) => Number(b.column.kind === "mask") - Number(a.column.kind === "mask")); // areas below lines
	columns.forEach(({ column, layer }) => {
		const marks = cell.marks?.[column.name];
		const { shown, opacity } = overlay(core, column.name);
		if (!marks || !shown) return;
		drawMarks(context, palette, at, {
			marks, layer, tint: cell.tints?.[column.name], opacity,
			names: column.classes ?? [], bones: column.connections,
		});
	});
}

/** A card where there is no picture: text, numbers, a curve. */
function drawCard(context, palette, card, at) {
	const inner = { x: at.x + 8, y: at.y + 8, w: at.w - 16, h: at.h - 16 };
	fillRect(context, palette.card, at);
	if (at.w < 40) return;
	if (card.kind === "null") return drawNote(context, palette, "no value", at);
	if (card.numbers?.length) return drawNumbers(context, palette, card, inner);
	if (card.rows?.length) return drawTable(context, palette, card.rows, inner);
	const text = String(card.text ?? "");
	if (card.kind === "value") return drawNote(context, palette, text, at, `500 ${clamp(at.w / 7, 11, 28)}px`, palette.ink);
	const px = at.w < 110 ? 10 : 12;
	context.font = `${px}px ${card.kind === "json" ? palette.mono : palette.font}`;
	const step = Math.round(px * 1.42);
	context.textBaseline = "top";
	wrap(context, text, inner.w, Math.max(1, Math.floor(inner.h / step))).forEach((line, i) => write(context, line, palette.ink, inner.x, inner.y + i * step, Infinity, { raw: true }));
}

function drawNumbers(context, palette, { numbers }, at) {
	const most = Math.max(1e-9, ...numbers.map((v) => Math.abs(v ?? 0)));
	const zero = at.y + at.h / 2;
	const step = at.w / numbers.length;
	fillRect(context, palette.line, { ...at, y: Math.round(zero), h: 1 });
	numbers.forEach((v, i) => {
		const tall = ((v ?? 0) / most) * (at.h / 2 - 2);
		fillRect(context, tall < 0 ? palette.bad : palette.accent, { x: at.x + i * step, y: Math.min(zero, zero - tall), w: Math.max(1, step * 0.7), h: Math.max(1, Math.abs(tall)) });
	});
}

/** Names of columns and their values. */
function drawTable(context, palette, rows, at) {
	const wide = Math.min(at.w * 0.45, 90);
	context.font = `11px ${palette.font}`;
	context.textBaseline = "top";
	rows.slice(0, Math.floor(at.h / 16)).forEach(([name, value], i) => {
		write(context, name, palette.muted, at.x, at.y + i * 16, wide - 6);
		write(context, value ?? "–", palette.ink, at.x + wide, at.y + i * 16, at.w - wide, { raw: true });
	});
}

/** Words in the middle. */
function drawNote(context, palette, text, at, size = "11px", colour = palette.muted) {
	context.font = `${size} ${palette.font}`;
	context.textAlign = "center";
	write(context, text, colour, at.x + at.w / 2, at.y + at.h / 2, at.w - 8);
	context.textAlign = "start";
}

/** Whether pixels run into each other: not where a small picture is shown larger than it is. */
export const smooths = ({ bitmap, w }, at) => bitmap.width < w || at.w < bitmap.width * 1.5;

/** The picture of a cell, or what stands for it, with its layers. */
function drawPicture(context, palette, core, cell, at) {
	if (cell.bitmap) {
		const tall = cell.w && cell.h ? fit(cell.w, cell.h, at) : fit(cell.bitmap.width, cell.bitmap.height, at);
		fillRect(context, palette.card, at);
		context.imageSmoothingEnabled = smooths(cell, tall);
		context.drawImage(cell.bitmap, tall.x, tall.y, tall.w, tall.h);
		drawLayers(context, palette, core, cell, tall);
	} else if (cell.card) {
		drawCard(context, palette, cell.card, at);
	} else {
		fillRect(context, palette.card, at);
		drawNote(context, palette, cell.broken ? "cannot be decoded" : "no picture", at);
	}
}

/** Lines under a card. */
function drawCaption(context, palette, core, cell, columns, at) {
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
		if (columns.length > 1 && at.w >= LEAST_FOR_NAMES) {
			context.font = `12px ${palette.font}`;
			const label = cut(context, visible(name), at.w * 0.6);
			write(context, label, palette.muted, x, y);
			x += context.measureText(label + " ").width;
		}
		const staged = cell.staged?.includes(name);
		context.font = `${staged ? "600 " : ""}12px ${palette.font}`;
		write(context, (value?.t || "–") + (staged ? " ✎" : ""), staged ? palette.edit : value?.t ? palette.ink : palette.muted, x, y, at.x + at.w - x - 2, { raw: core.holdsData(name) });
	});
}

// ---- the grid

const LARGEST = 1024;
const SMALLEST = 48;
let instances = 0;

/** Cards on a canvas, under elements for screen readers. */
class Grid extends Painted {
	/** @param {Core} core @param {{aspect?: number, paint?: any, open: (position: number) => void, lines?: () => number}} how */
	constructor(core, { aspect = 1, paint = drawPicture, open, lines }) {
		super();
		this.core = core;
		this.aspect = aspect;
		this.paint = paint;
		this.open = open;
		this.lines = lines ?? (() => captionColumns(core).length);
		this.uid = `dl${++instances}`;
		this.palette = {};
		this.top = 0;
		this.ownScroll = 0;
		this.width = 0;
		this.height = 0;
		this.speed = 0;
		this.ahead = 1;
		this.hold = 0;
		this.lasso = [];
		this.cells = new Cells(core, () => this.later());
		this.build();
		this.listen();
		core.ringed = () => this.ringed();
	}

	build() {
		this.canvas = h("canvas", { class: "dl-canvas", "aria-hidden": "true" });
		this.layer = h("div", { class: "dl-cells", role: "rowgroup" });
		this.empty = h("div", { class: "dl-empty", hidden: true });
		this.stage = h("div", {
			class: "dl-stage", role: "presentation", onpointerdown: (event) => this.press(event), onpointermove: (event) => this.hover(event), onpointerleave: () => this.hoverAt(-1),
			ondblclick: (event) => this.at(event) >= 0 && this.open(this.at(event)),
		}, this.canvas, this.layer);
		this.spacer = h("div", { class: "dl-spacer", role: "presentation" });
		this.scroller = h("div", {
			class: "dl-scroller", role: "grid", tabindex: "0", "aria-label": "Rows", "aria-multiselectable": "true",
			onscroll: () => this.scrolled(), onwheel: (event) => this.wheel(event), onkeydown: (event) => this.key(event), onfocus: () => this.later(), onblur: () => this.later(),
		}, this.stage, this.spacer);
		this.element = div("dl-grid", this.scroller, this.empty);
		this.rowPool = [];
	}

	listen() {
		const { core } = this;
		core.sized(this.element, () => this.resized());
		core.atEnd(() => this.cells.clear());
		core.on("state", ({ same }) => this.turned(same));
		for (const name of ["count", "settings"]) core.on(name, () => this.relayout());
		for (const name of ["selection", "hover"]) core.on(name, () => this.later());
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

	/** Another answer; the same question keeps the place. */
	turned(same) {
		this.cells.clear();
		this.byKey = false; // another row may be where the ring was
		this.hold = performance.now() + 220;
		if (!same) this.moveTo(0);
		this.relayout();
	}

	/** Computes where cards go, keeping in view what is first in view. */
	relayout() {
		if (!this.width) return;
		const { rows } = this.core.state;
		const before = this.layout;
		const first = before ? visibleRange(before, this.top + before.step / 2, this.height, Infinity)[0] : 0;
		const size = this.core.settings.size >= LARGEST ? this.width : this.core.settings.size;
		this.layout = gridLayout({ width: this.width, height: this.height, size, rows, lines: this.lines(), aspect: this.aspect });
		this.scale = scrollScale(this.layout.total, this.height);
		this.stage.style.height = `${this.height}px`;
		this.spacer.style.height = `${Math.max(0, this.scale.height - this.height)}px`;
		const same = before && before.columns === this.layout.columns && before.step === this.layout.step;
		if (before && !same && this.top > 0) this.moveTo(cardRect(this.layout, first, 0).y - MARGIN);
		else this.moveTo(this.top);
		this.scroller.setAttribute("aria-rowcount", String(this.layout.count));
		this.scroller.setAttribute("aria-colcount", String(this.layout.columns));
		this.later();
	}

	moveTo(top) {
		const most = this.layout ? Math.max(0, this.layout.total - this.height) : 0;
		this.top = clamp(top, 0, most);
		this.ownScroll = Math.round(this.top / (this.scale?.factor ?? 1));
		if (this.scroller.scrollTop !== this.ownScroll) this.scroller.scrollTop = this.ownScroll;
		this.later();
	}

	scrolled() {
		const at = this.scroller.scrollTop;
		if (Math.abs(at - this.ownScroll) < 1) return;
		this.ownScroll = at;
		this.moved(at * (this.scale?.factor ?? 1));
	}

	/** Notices direction and speed: while flying past nothing is asked for. */
	moved(top) {
		const now = performance.now();
		const way = top - this.top;
		const since = now - (this.lastMove ?? 0);
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

	wheel(event) {
		if (event.ctrlKey || event.metaKey) {
			event.preventDefault();
			this.zoom(event.deltaY < 0 ? 1.12 : 1 / 1.12);
		} else if (this.scale && this.scale.factor > 1) {
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

	zoom(by) {
		const size = Math.round(clamp(Math.min(this.core.settings.size, this.width) * by, SMALLEST, LARGEST));
		this.core.set({ size });
	}

	reveal(position) {
		if (this.layout && position >= 0) this.moveTo(scrollTo(this.layout, position, this.top, this.height));
	}

	// drawing

	draw() {
		const { layout, core } = this;
		if (!layout || !this.width) return;
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
		const root = this.element.closest(".dl-browser");
		if (root) Object.assign(root.dataset, { missing, rows, generation, start, stop });
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
		if (still) this.describe(start, stop);
	}

	showEmpty(rows) {
		this.empty.hidden = rows > 0;
		if (rows > 0) return;
		const filtered = Boolean(this.core.state.query);
		const key = String(filtered);
		if (this.empty.dataset.key === key) return;
		this.empty.dataset.key = key;
		this.empty.replaceChildren(
			h("p", { class: "dl-empty-title", text: filtered ? "No row matches" : "No rows yet" }),
			h("p", { text: filtered ? "Nothing answers this query together with the filters in it." : "Rows that are appended to this dataset show here." }),
			...(filtered ? [primary("Show all rows", () => this.core.emit("clear query"))] : []),
		);
	}

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
		drawLasso(context, palette, this.lasso.map(([x, y]) => [x, y - this.top]));
	}

	caption(context, record, columns, at) {
		drawCaption(context, this.palette, this.core, record, columns, at);
	}

	/** Whether the ring of the keyboard is drawn: around the active row. */
	ringed() { return Boolean(this.byKey) && this.scroller.matches(":focus"); }

	/** Selection, hover and focus of one card. */
	drawState(context, position, at, record) {
		const { palette, core } = this;
		const selected = core.selection.has(position);
		const hovered = core.hovered === position;
		const radius = this.layout.gap > 4 ? 4 : 2;
		const ring = (inset, width, colour) => {
			rounded(context, { x: at.x + inset, y: at.y + inset, w: at.w - 2 * inset, h: at.h - 2 * inset }, radius);
			stroke(context, colour, width);
		};
		if (record?.staged?.length) {
			trace(context, [[at.x + at.w - 14, at.y + at.h], [at.x + at.w, at.y + at.h - 14], [at.x + at.w, at.y + at.h]]);
			fill(context, palette.edit);
		}
		if (hovered && !selected) ring(0.5, 1, palette.muted);
		if (selected) {
			ring(1, 3, palette.accent);
			ring(3, 1, palette.bg);
		}
		if (at.w >= 64 && (selected || (hovered && !core.noSelection))) this.drawTick(context, at, selected);
		if (hovered && at.w >= 96) this.drawOpener(context, at);
		if (core.active === position && this.ringed()) {
			context.setLineDash([4, 3]);
			ring(-2, 2, palette.ink);
			context.setLineDash([]);
		}
	}

	drawTick(context, at, selected) {
		const [x, y] = [at.x + 15, at.y + 15];
		circle(context, x, y, 8);
		fill(context, selected ? this.palette.accent : "rgba(0,0,0,.45)");
		stroke(context, "#fff", 1.5);
		if (!selected) return;
		trace(context, [[x - 3.5, y], [x - 0.8, y + 2.8], [x + 3.8, y - 2.8]]);
		stroke(context, this.palette["on-accent"], 2);
	}

	drawOpener(context, at) {
		const [x, y] = [at.x + at.w - 15, at.y + 15];
		rounded(context, { x: x - 9, y: y - 9, w: 18, h: 18 }, 4);
		fill(context, "rgba(0,0,0,.45)");
		for (const side of [1, -1]) {
			trace(context, [[0.5, -4.5], [4.5, -4.5], [4.5, -0.5]].map(([dx, dy]) => [x + side * dx, y + side * dy]));
			stroke(context, "#fff", 1.5);
		}
	}

	// the transparent layer

	/** Elements for what is in view, for screen readers. */
	describe(start, stop) {
		const { layout, core } = this;
		const first = Math.floor(start / layout.columns);
		const count = stop > start ? Math.ceil(stop / layout.columns) - first : 0;
		while (this.rowPool.length < count) {
			const row = h("div", { role: "row", class: "dl-row" });
			this.rowPool.push(row);
			this.layer.append(row);
		}
		while (this.rowPool.length > count) this.rowPool.pop().remove();
		this.layer.style.transform = `translateY(${MARGIN + first * layout.step - this.top}px)`;
		this.rowPool.forEach((row, i) => this.describeRow(row, first + i, i * layout.step));
		const active = core.active >= start && core.active < stop;
		attribute(this.scroller, "aria-activedescendant", active ? `${this.uid}-${core.active}` : undefined);
	}

	describeRow(row, index, y) {
		const { layout, core } = this;
		const from = index * layout.columns;
		const count = Math.min(layout.columns, core.state.rows - from);
		while (row.children.length < count) row.append(h("div", { role: "gridcell", class: "dl-cell" }));
		while (row.children.length > count) row.lastChild.remove();
		row.setAttribute("aria-rowindex", String(index + 1));
		for (let column = 0; column < count; column++) {
			const position = from + column;
			const cell = row.children[column];
			const place = `${column * (layout.card + layout.gap)}px,${y}px,${layout.card}px,${layout.picture + layout.caption}px`;
			if (cell.dataset.place !== place) {
				const [left, top, width, height] = place.split(",");
				Object.assign(cell.style, { left: `calc(${left} + ${MARGIN}px)`, top, width, height });
				cell.dataset.place = place;
			}
			attribute(cell, "aria-label", this.labelOf(position));
			const words = this.words(position);
			const whole = words.length <= layout.lines && (words.length < 2 || layout.card >= LEAST_FOR_NAMES);
			attribute(cell, "title", whole ? undefined : words.join("\n"));
			attribute(cell, "aria-selected", core.selection.has(position));
			if (cell.id !== `${this.uid}-${position}`) {
				cell.id = `${this.uid}-${position}`;
				cell.dataset.position = String(position);
				cell.setAttribute("aria-colindex", String(column + 1));
			}
		}
	}

	/** A row's caption: its words wherever they are not drawn. */
	words(position) { return this.wordsOf(this.cells.lru.peek(position) ?? {}); }

	wordsOf(record) { return Object.entries(record.caption ?? {}).map(([name, value]) => visible(`${name} ${value?.t ?? "none"}`)); }

	labelOf(position) {
		const record = this.cells.lru.peek(position);
		const parts = this.words(position);
		if (record?.card?.text) parts.push(visible(String(record.card.text).slice(0, 80)));
		if (record?.staged?.length) parts.push("edited");
		return `Row ${grouped(position)}${parts.length ? ": " + parts.join(", ") : ""}`;
	}

	// pointer

	at(event) {
		const [x, y] = within(this.stage, event);
		return this.layout ? hitCard(this.layout, x, y, this.top, this.core.state.rows) : -1;
	}

	hover(event) {
		if (event.pointerType !== "touch") this.hoverAt(this.lasso.length ? -1 : this.at(event));
	}

	hoverAt(position) {
		if (position === this.core.hovered) return;
		this.core.hovered = position;
		this.core.emit("hover");
	}

	press(event) {
		if (event.button !== 0) return;
		this.byKey = false;
		const start = within(this.stage, event);
		const lassoing = event.pointerType !== "touch" && !this.core.noSelection;
		const from = /** @type {Point} */ ([start[0], start[1] + this.top]);
		drag(event, ({ x, y }) => {
			if (!lassoing) return;
			if (!this.lasso.length) this.lasso = [from];
			this.lasso.push([x, y + this.top]);
			this.scrollAtEdge(y);
			this.later();
		}, (moved) => {
			clearInterval(this.edging);
			if (moved && lassoing) this.endLasso(event);
			else this.click(event, start);
		});
	}

	/** Near the upper and lower border a lasso scrolls on. */
	scrollAtEdge(y) {
		clearInterval(this.edging);
		const beyond = y < 24 ? y - 24 : y > this.height - 24 ? y - this.height + 24 : 0;
		if (!beyond) return;
		this.edging = setInterval(() => {
			this.moveTo(this.top + clamp(beyond, -24, 24));
			const last = this.lasso[this.lasso.length - 1];
			if (last) this.lasso.push([last[0], y + this.top]);
		}, 16);
	}

	endLasso(event) {
		const found = cardsInLasso(this.layout, simplify(this.lasso, 3), this.core.state.rows);
		this.lasso = [];
		this.core.take(found, event);
		this.later();
	}

	click(event, [x, y]) {
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

	key(event) {
		const { core, layout } = this;
		const { rows } = core.state;
		if (!layout || !rows || event.altKey) return;
		const page = Math.max(1, Math.floor(this.height / layout.step)) * layout.columns;
		const whole = event.ctrlKey || event.metaKey;
		/** @type {Record<string, number>} */
		const moves = {
			ArrowLeft: core.active - 1, ArrowRight: core.active + 1,
			ArrowUp: core.active - layout.columns, ArrowDown: core.active + layout.columns,
			PageUp: core.active - page, PageDown: core.active + page,
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
		this.describe(...visibleRange(this.layout, this.top, this.height, core.state.rows));
	}
}

// ---- what lies over the page

/** A small panel under a button; Escape and a press elsewhere close it. */
function popover(/** @type {HTMLElement} */ button, name, /** @type {() => Node[]} */ build) {
	button.setAttribute("aria-haspopup", "dialog");
	button.setAttribute("aria-expanded", "false");
	let panel = null;
	const close = (refocus = false) => {
		if (!panel) return;
		panel.remove();
		panel = null;
		button.setAttribute("aria-expanded", "false");
		document.removeEventListener("pointerdown", outside, true);
		if (refocus) button.focus();
	};
	const outside = (event) => {
		if (!panel.contains(event.target) && !button.contains(event.target)) close();
	};
	button.addEventListener("click", () => {
		if (panel) return close();
		panel = h("div", { class: "dl-popover", role: "dialog", "aria-label": name }, ...build());
		const root = button.closest(".dl-browser");
		root.append(panel);
		const [a, b] = [button.getBoundingClientRect(), root.getBoundingClientRect()];
		const left = Math.min(a.left - b.left, b.width - panel.offsetWidth - 8);
		panel.style.left = `${Math.max(8, left)}px`;
		panel.style.top = `${a.bottom - b.top + 4}px`;
		panel.style.maxHeight = `${b.bottom - a.bottom - 12}px`;
		panel.addEventListener("keydown", (event) => {
			if (event.key !== "Escape") return;
			event.stopPropagation();
			close(true);
		});
		button.setAttribute("aria-expanded", "true");
		document.addEventListener("pointerdown", outside, true);
		panel.querySelector("input, button, [tabindex]")?.focus();
	});
	return close;
}

/** A dialog over the widget; what lies under it is inert until it closes. */
function dialog(root, title, /** @type {Node[]} */ content, { wide = false, closed = () => {} } = {}) {
	root.querySelector(".dl-shade")?.dispatchEvent(new CustomEvent("dl-close"));
	const before = document.activeElement;
	const rest = [...root.children].filter((child) => child instanceof HTMLElement);
	const close = () => {
		if (!shade.isConnected) return;
		shade.remove();
		rest.forEach((child) => (child.inert = false));
		closed();
		if (before?.isConnected) before.focus({ preventScroll: true });
	};
	const box = h("div", { class: wide ? "dl-dialog dl-wide" : "dl-dialog", role: "dialog", "aria-modal": "true", "aria-label": title },
		div("dl-dialog-head", heading(title), iconButton("close", "Close (Esc)", close)), ...content);
	const shade = h("div", { class: "dl-shade", onpointerdown: (event) => event.target === shade && close() }, box);
	shade.addEventListener("dl-close", close);
	shade.addEventListener("keydown", (event) => {
		event.stopPropagation();
		if (event.key === "Escape") close();
		else if (event.key === "Tab") wrapFocus(event, box);
	});
	rest.forEach((child) => (child.inert = true));
	root.append(shade);
	(box.querySelector("[data-first], input, textarea, select") ?? box.querySelector(".dl-dialog-body button") ?? box.querySelector("button"))?.focus();
	return close;
}

function wrapFocus(event, box) {
	const stops = [...box.querySelectorAll("button, input, textarea, select, [tabindex='0']")].filter((node) => !node.disabled && node.offsetParent);
	const [first, last] = [stops[0], stops[stops.length - 1]];
	if (event.shiftKey ? document.activeElement === first : document.activeElement === last) {
		event.preventDefault();
		(event.shiftKey ? last : first).focus();
	}
}

/** Marks an option of a list as the one that a field speaks of; -1: none. */
function markOption(input, list, at) {
	[...list.children].forEach((option, i) => option.setAttribute("aria-selected", String(i === at)));
	list.children[at]?.scrollIntoView({ block: "nearest" });
	attribute(input, "aria-activedescendant", list.children[at]?.id);
}

/** Asks for one of many names by typing its beginning. @param {(choice: {index: number, name: string, value: number|string}) => void} chosen */
function chooser(root, title, /** @type {string[]} */ names, chosen, { free = false, classes = true, note = ("") } = {}) {
	const input = textField(title, {
		role: "combobox", "aria-expanded": "true", "aria-controls": "dl-choices", placeholder: free ? "Type a name, old or new" : "Type to find", spellcheck: "false",
	});
	const list = h("div", { class: "dl-choices", role: "listbox", id: "dl-choices", "aria-label": title });
	const key = (index) => {
		const found = keyOfClass(index, names);
		return found && kbd(found);
	};
	let [shown, at] = [[], 0];
	const pick = (choice) => {
		close();
		chosen({ ...choice, value: choice.index >= 0 ? choice.index : choice.name });
	};
	const mark = () => markOption(input, list, shown.length ? at : -1);
	const refresh = () => {
		shown = typeAhead(names, input.value);
		const typed = input.value.trim();
		if (free && typed && !names.includes(typed)) shown.push({ index: -1, name: typed, fresh: true });
		at = 0;
		list.replaceChildren(...shown.map((choice, i) => h("div", { role: "option", id: `dl-choice-${i}`, class: "dl-choice", onclick: () => pick(choice) },
			classes && choice.index >= 0 && dot(choice.index), span(choice.fresh ? `New: ${choice.name}` : choice.name),
			classes && choice.index >= 0 && key(choice.index))));
		if (!shown.length) list.append(quiet("No such name", "p"));
		mark();
	};
	input.addEventListener("input", refresh);
	input.addEventListener("keydown", (event) => {
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (step) {
			event.preventDefault();
			at = clamp(at + step, 0, shown.length - 1);
			mark();
		} else if (event.key === "Enter" && shown[at]) {
			event.preventDefault();
			pick(shown[at]);
		}
	});
	refresh();
	const close = dialog(root, title, [div("dl-dialog-body", input, note instanceof Node ? note : note && quiet(note, "p"), list)]);
}

/** Asks for a line of text. @returns {void} */
function ask(root, title, { label, value = "", action, note = "", extra }, /** @type {(text: string) => void} */ done) {
	const input = textField(label, { placeholder: label, value });
	const submit = (event) => {
		event.preventDefault();
		if (!input.value.trim()) return;
		close();
		done(input.value.trim());
	};
	const form = h("form", { class: "dl-dialog-body", onsubmit: submit }, input, note && quiet(note, "p"), extra,
		div("dl-dialog-foot", primary(action, null, { type: "submit" })));
	const close = dialog(root, title, [form]);
}

/** What a draft holds. */
const leftBehind = ({ edits, rows, changed, complete }) =>
	`${counted(edits, "edit")} of ${counted(rows, "row")}, staged ${shortTime(Date.parse(changed), 0)} UTC, ${edits === 1 ? "was" : "were"} never committed${complete ? "" : "; what came after is lost"}.`;

/** One line over the grid; the newest wins, lateness yields to errors. */
class Banner {
	constructor(core) {
		this.core = core;
		this.text = span("", "dl-banner-text");
		this.action = textButton("", () => this.run?.());
		this.element = h("div", { class: "dl-banner", role: "alert", hidden: true }, this.text, this.action,
			iconButton("close", "Dismiss", () => this.hide()));
		core.on("banner", (message) => this.show(message));
		core.on("waited", (ms) => this.waited(ms));
		core.on("problem", () => this.problem());
		core.on("drafts", () => this.offer());
		this.offer();
		this.problem();
	}

	/** What Python has to complain about, until it has not. */
	problem() {
		const { kind, message, where } = this.core.model.get("problem") ?? {};
		if (message) this.show({ level: "error", text: `${kind ? kind + ": " : ""}${message}${where ? ` (${where})` : ""}` });
		else if (this.complained) this.hide();
		this.complained = Boolean(message);
	}

	/** Edits that a browser left behind, one draft at a time. */
	offer() {
		const [draft] = this.core.drafts;
		if (draft) this.show({ level: "draft", text: leftBehind(draft), action: "Restore", run: () => this.core.restore(draft) });
		else if (this.level === "draft") this.hide();
	}

	show({ level, text, action = "", run = undefined }) {
		this.level = level;
		this.run = run;
		this.element.dataset.level = level;
		say(this.text, visibleLines(text), { raw: true });
		say(this.action, action);
		this.action.hidden = !action;
		this.element.hidden = false;
	}

	hide() {
		this.element.hidden = true;
		this.level = null;
	}

	/** The kernel takes long, or is gone. */
	waited(ms) {
		if (ms < LATE) {
			if (this.level === "late") this.hide();
			return;
		}
		if (this.level === "error" && !this.element.hidden) return;
		const gone = ms >= GONE;
		this.show({
			level: "late",
			text: gone
				? `No answer for ${Math.round(ms / 1000)} s. If the kernel has restarted, this view is a picture of what was: run the cell again.`
				: `Waiting for the kernel (${Math.round(ms / 1000)} s): another cell may be running.`,
			action: "Ask again",
			run: () => this.core.requests.retry(),
		});
	}
}

// ---- the query box

/** A condition on a column that there is. */
export function exampleQuery(columns) {
	const found = columns.find((one) => one.classes?.length && one.kind === "class") ?? columns.find((one) => one.kind === "number");
	if (!found) return "SELECT * LIMIT 100";
	const name = /^[a-z_]\w*$/i.test(found.name) ? found.name : `"${found.name.replaceAll('"', '""')}"`;
	return name + (found.kind === "class" ? ` = '${found.classes[0].replaceAll("'", "''")}'` : " > 0");
}

/** The query in colours, completion, place of an error, history. */
class QueryBox {
	constructor(core) {
		this.core = core;
		this.history = new History(memory.read("history", []));
		this.items = [];
		this.at = -1;
		this.word = 0;
		this.mark = null;
		this.build();
		core.on("query", () => this.take());
		core.on("clear query", () => this.run(""));
		this.take();
	}

	build() {
		this.input = h("textarea", {
			class: "dl-query-text", rows: "1", spellcheck: "false", autocapitalize: "off", wrap: "soft",
			"aria-label": "Query", role: "combobox", "aria-autocomplete": "list", "aria-expanded": "false", "aria-controls": "dl-completions",
			placeholder: this.core.static ? "This page is a copy: queries need a notebook" : `Query, for example  ${exampleQuery(this.core.columns)}`,
			oninput: () => this.typed(), onkeydown: (event) => this.key(event), onblur: () => setTimeout(() => this.close(), 150),
			onscroll: () => (this.mirror.scrollTop = this.input.scrollTop), disabled: this.core.static,
		});
		this.mirror = h("pre", { class: "dl-query-mirror", "aria-hidden": "true" });
		this.list = h("div", { class: "dl-completions", role: "listbox", id: "dl-completions", "aria-label": "Completions", hidden: true });
		this.error = h("div", { class: "dl-query-error", role: "alert", hidden: true });
		this.clear = iconButton("close", "Clear the query: show all rows", () => this.run(""), { hidden: true });
		this.element = h("div", { class: "dl-query", role: "search" },
			div("dl-query-field", this.mirror, this.input), this.clear, this.list, this.error);
	}

	get text() { return this.input.value; }

	/** The text that Python shows. */
	take() {
		const text = this.core.model.get("query") ?? "";
		if (document.activeElement === this.input && this.text !== this.sent) return;
		this.put(text);
		this.sent = text;
		this.fault(null);
	}

	put(text, cursor = text.length) {
		this.input.value = text;
		this.input.setSelectionRange(cursor, cursor);
		this.paint();
	}

	/** Colours the parts; what is wrong is underlined. */
	paint() {
		const marked = this.mark;
		this.mirror.replaceChildren(...tokens(this.text).map(({ kind, start, stop, text }) => {
			const wrong = marked && start < marked[1] && stop > marked[0];
			return h("span", { class: `dl-t-${kind}${wrong ? " dl-wrong" : ""}`, raw: text });
		}), this.text.endsWith("\n") ? "\n " : "");
		this.clear.hidden = !this.text;
		this.input.style.height = "auto";
		this.input.style.height = `${clamp(this.input.scrollHeight, 28, 96)}px`;
	}

	typed() {
		this.mark = null;
		this.error.hidden = true;
		this.paint();
		clearTimeout(this.waiting);
		this.waiting = setTimeout(() => this.askCompletion(), 60);
	}

	async askCompletion(always = false) {
		const cursor = this.input.selectionStart;
		const text = this.text;
		const asking = (this.asking = {});
		if (!always && !/[\p{L}\p{N}_.'"(]$/u.test(text.slice(0, cursor))) return this.close();
		try {
			const { items, word } = await this.core.latest("complete", { text, cursor: [...text.slice(0, cursor)].length });
			if (this.asking === asking && this.text === text && this.input.selectionStart === cursor) this.offer(items, offsetOf(text, word), always);
		} catch {
			this.close();
		}
	}

	offer(items, word, always) {
		const typed = this.text.slice(word, this.input.selectionStart);
		this.items = items.filter(([text]) => text !== typed).slice(0, 50);
		this.word = word;
		if (!this.items.length || document.activeElement !== this.input) return this.close();
		this.at = always ? 0 : -1;
		this.list.replaceChildren(...this.items.map(([text, kind, detail], i) => h("div", {
			class: "dl-completion", role: "option", id: `dl-completion-${i}`, "aria-selected": String(i === this.at),
			onpointerdown: (event) => { event.preventDefault(); this.accept(i); },
		}, h("span", { class: `dl-kind dl-kind-${kind}`, text: { column: "c", function: "ƒ", class: "•", keyword: "k" }[kind] ?? "v" }),
			span(text, "dl-completion-text"), quiet(detail ?? kind))));
		this.place();
		this.list.hidden = false;
		this.input.setAttribute("aria-expanded", "true");
		markOption(this.input, this.list, this.at);
	}

	/** Under the word that is completed. */
	place() {
		const probe = h("span", { raw: this.text.slice(0, this.word) || "\u200b" });
		const mirror = this.mirror.cloneNode(false);
		mirror.append(probe, h("span", { raw: "\u200b" }));
		this.mirror.parentElement.append(mirror);
		const end = mirror.lastChild.getBoundingClientRect();
		const box = this.element.getBoundingClientRect();
		mirror.remove();
		const left = Math.min(end.left - box.left - 26, box.width - 240);
		this.list.style.left = `${Math.max(0, left)}px`;
		this.list.style.top = `${Math.min(box.height, end.bottom - box.top - this.input.scrollTop) + 6}px`;
	}

	accept(index) {
		const made = complete(this.text, this.input.selectionStart, this.word, this.items[index][0]);
		this.close();
		this.put(made.text, made.cursor);
		if (this.items[index][1] === "function" && !made.text.slice(made.cursor).startsWith("(") && !made.text.endsWith("(")) {
			this.put(made.text.slice(0, made.cursor) + "(" + made.text.slice(made.cursor), made.cursor + 1);
		}
		this.input.focus();
	}

	close() {
		clearTimeout(this.waiting);
		this.asking = null;
		this.list.hidden = true;
		this.input.setAttribute("aria-expanded", "false");
		this.input.removeAttribute("aria-activedescendant");
	}

	key(event) {
		event.stopPropagation();
		const open = !this.list.hidden;
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (event.key === " " && event.ctrlKey) {
			event.preventDefault();
			this.askCompletion(true);
		} else if (open && step) {
			event.preventDefault();
			this.at = (this.at + step + this.items.length) % this.items.length;
			markOption(this.input, this.list, this.at);
		} else if (open && (event.key === "Tab" || (event.key === "Enter" && this.at >= 0))) {
			event.preventDefault();
			this.accept(Math.max(0, this.at));
		} else if (event.key === "Escape") {
			event.preventDefault();
			if (open) this.close();
			else this.core.emit("focus grid");
		} else if (event.key === "Enter" && !event.shiftKey) {
			event.preventDefault();
			this.run(this.text);
		} else if (step) {
			this.walk(event, step);
		}
	}

	walk(event, step) {
		const { selectionStart } = this.input;
		const alone = step < 0 ? !this.text.slice(0, selectionStart).includes("\n") : !this.text.slice(selectionStart).includes("\n");
		const entry = alone ? (step < 0 ? this.history.older(this.text) : this.history.newer()) : null;
		if (entry === null) return;
		event.preventDefault();
		this.put(entry);
	}

	async run(text) {
		clearTimeout(this.waiting);
		this.close();
		this.put(text);
		this.sent = text;
		try {
			const reply = await this.core.show("query", { text });
			this.remember(reply.query ?? text);
			this.fault(null);
			if (this.text === text && reply.query !== undefined) this.put(reply.query);
			this.sent = this.text;
		} catch (error) {
			if (!(error instanceof Stale)) this.fault(error);
		}
	}

	remember(text) {
		this.history.push(text);
		memory.write("history", this.history.entries);
	}

	/** Shows where and why a query fails, with the caret there. */
	fault(error) {
		this.mark = error && error.line ? errorSpan(this.text, error.line, error.column ?? 1) : null;
		this.paint();
		this.error.hidden = !error;
		this.element.classList.toggle("dl-faulty", Boolean(error));
		this.input.setAttribute("aria-invalid", String(Boolean(error)));
		if (!error) return;
		this.error.replaceChildren(strong(errorTitle(error.kind)), h("span", { raw: visibleLines(error.message) }), quiet(error.hint ?? ""));
		if (this.mark && document.activeElement === this.input) {
			const at = caretOffset(this.text, error.line, error.column ?? 1);
			this.input.setSelectionRange(at, at);
		}
	}
}

const errorTitle = (kind) => String(kind ?? "Error").replace(/Error$/, "").replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase().replace(/^./, (c) => c.toUpperCase()) || "Error";

// ---- facets

const HISTOGRAM = 52;
const isRange = (kind) => kind === "numbers" || kind === "times";

/** Charts of the columns; a choice writes itself into the query. */
class Facets {
	constructor(core) {
		this.core = core;
		this.title = "Filters";
		this.list = div("dl-facets");
		this.note = padded("Counting …");
		this.element = div("dl-panel-scroll", this.note, this.list);
		/** @type {Map<string, any>} */
		this.parts = new Map();
		core.on("state", () => this.refresh());
		core.on("theme", () => this.parts.forEach((part) => part.draw?.()));
	}

	open() { this.refresh(); }

	async refresh() {
		if (!this.element.isConnected) return;
		await this.core.whenPainted(); // Python answers one question at a time: pictures come first
		try {
			const { facets } = await this.core.latest("facets", { columns: null }, { bound: true });
			this.note.hidden = facets.length > 0;
			say(this.note, "No column here has a chart.");
			this.show(facets);
		} catch (error) {
			if (error instanceof Stale) return;
			this.note.hidden = false;
			say(this.note, `Charts could not be counted: ${error.message}`);
		}
	}

	show(facets) {
		this.found = facets;
		const keys = new Set(facets.map((facet) => facet.expression));
		for (const [key, part] of this.parts) {
			if (keys.has(key)) continue;
			part.element.remove();
			this.parts.delete(key);
		}
		facets.forEach((facet, i) => {
			facet = readFacet(facet, this.core);
			let part = this.parts.get(facet.expression);
			if (!part) {
				part = isRange(facet.kind) ? new HistogramFacet(this, facet) : new ValueFacet(this, facet);
				this.parts.set(facet.expression, part);
				this.list.insertBefore(part.element, this.list.children[i] ?? null);
			}
			part.element.classList.toggle("dl-uncounted", Boolean(facet.ask || facet.problem || facet.only));
			part.facet = facet;
			part.note.replaceChildren(...(facet.problem ? [visible(facet.problem)] : facet.only ? [`All are ${facet.only.replace("T", " ")}`] : facet.ask ? [link("Count", () => this.count(facet))] : []));
			part.update({ values: [], edges: [0, 1], all: [], shown: [], ...facet });
		});
	}

	/** Counts what costs time, which was left out. */
	async count({ column }) {
		try {
			const { facets } = await this.core.ask("facets", { columns: [column] }, { bound: true });
			const counted = new Map(facets.map((facet) => [facet.expression, facet]));
			this.show(this.found.map((facet) => counted.get(facet.expression) ?? facet));
		} catch (error) {
			this.core.failed(error);
		}
	}

	async filter(facet, op, values) {
		await this.core.attempt("filter", { expression: facet.expression, kind: facet.kind, op, values });
	}

	async sort(facet) {
		const next = facet.sort === "asc" ? "desc" : facet.sort === "desc" ? null : "asc";
		const fields = next ? { expression: facet.expression, descending: next === "desc" } : { expression: null };
		await this.core.attempt("sort", fields);
	}
}

/** A facet as charts need it. */
function readFacet(facet, core) {
	const made = { ...facet };
	const { order } = core.state;
	if (order && made.sort === undefined) made.sort = order.expression === facet.expression ? (order.descending ? "desc" : "asc") : null;
	const classes = core.column(facet.column)?.classes ?? [];
	if (facet.values) made.values = facet.values.map(([value, name, all, shown, colour]) => [value, name, all, shown, colour ?? (classes.includes(name) ? classes.indexOf(name) : null)]);
	return made;
}

/** ISO text, of UTC where it says nothing, as milliseconds; numbers as they are. */
export function timeOf(value) {
	if (typeof value !== "string") return value;
	const zoned = /T.*(Z|[+-]\d\d:?\d\d)$/.test(value) || !value.includes("T") ? value : `${value}Z`;
	return Date.parse(zoned.replace(/^(-?)(\d{4,})-/, (start, sign, year) => (sign || year.length > 4 ? `${sign || "+"}${year.padStart(6, "0")}-` : start)));
}

class FacetFrame {
	constructor(/** @type {Facets} */ owner, facet) {
		this.owner = owner;
		this.facet = facet;
		this.name = span(facet.label ?? facet.expression, "dl-facet-name", facet.expression);
		this.fold = h("button", { class: "dl-facet-fold", "aria-expanded": "true", onclick: () => this.toggle() }, icon("down"), this.name);
		this.sorter = iconButton("sort", `Sort by ${facet.label ?? facet.expression}`, () => owner.sort(this.facet));
		this.clearer = link("Clear", () => owner.filter(this.facet, "clear", []), { hidden: true, "aria-label": `Clear the filter of ${facet.label}` });
		this.note = quiet("", "p");
		this.body = div("dl-facet-body", this.note);
		this.element = h("section", { class: "dl-facet", "aria-label": facet.label ?? facet.expression },
			div("dl-facet-head", this.fold, this.clearer, this.sorter), this.body);
	}

	toggle() {
		this.body.hidden = !this.body.hidden;
		this.fold.setAttribute("aria-expanded", String(!this.body.hidden));
		if (!this.body.hidden) this.draw();
	}

	draw() {}

	update(facet) {
		this.facet = facet;
		const chosen = Boolean(facet.chosen?.length);
		this.clearer.hidden = !chosen;
		this.element.classList.toggle("dl-chosen", chosen);
		this.sorter.hidden = this.owner.core.static;
		this.sorter.dataset.sort = facet.sort ?? "";
		pressed(this.sorter, Boolean(facet.sort));
	}
}

/** Values with a bar each: those of all rows pale, those shown in colour. */
class ValueFacet extends FacetFrame {
	constructor(owner, facet) {
		super(owner, facet);
		this.more = quiet("", "p");
		this.rows = h("div", { class: "dl-values", role: "group", "aria-label": `Values of ${facet.label}` });
		this.find = textField(`Find a value of ${facet.label}`, { type: "search", class: "dl-input dl-find", placeholder: "Find a value", oninput: () => this.fill() });
		keepKeys(this.find);
		this.body.append(this.find, this.rows, this.more);
	}

	update(facet) {
		super.update(facet);
		this.find.hidden = facet.values.length <= 12;
		this.fill();
		say(this.more, dotted(facet.more && `${grouped(facet.more)} more values`, facet.nulls?.[0] && `${grouped(facet.nulls[0])} of ${grouped(facet.rows)} have none`));
		this.more.hidden = !this.more.textContent;
	}

	fill() {
		const { facet, rows } = this;
		const wanted = this.find.hidden ? null : new Set(typeAhead(facet.values.map((v) => String(v[1])), this.find.value, 500).map((hit) => hit.index));
		const values = facet.values.filter((_, i) => !wanted || wanted.has(i));
		const most = Math.max(1, ...facet.values.map((value) => value[2]));
		while (rows.children.length < values.length) rows.append(this.row());
		while (rows.children.length > values.length) rows.lastChild.remove();
		values.forEach((value, i) => this.fillRow(rows.children[i], value, most));
	}

	row() {
		const row = h("button", { class: "dl-value", onclick: () => this.owner.filter(this.facet, "toggle", [row.choice]) },
			span("", "dl-bar-all"), span("", "dl-bar-shown"), span("", "dl-dot"),
			span("", "dl-value-name"), span("", "dl-value-count"));
		return row;
	}

	fillRow(row, [value, name, all, shown, colour], most) {
		const [barAll, barShown, mark, label, count] = row.children;
		const chosen = (this.facet.chosen ?? []).some((choice) => choice === value);
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
		pressed(row, chosen);
		row.setAttribute("aria-label", `${visible(name ?? value)}: ${grouped(shown)} of ${grouped(all)} rows`);
	}
}

/** Bins of a number or a time; a brush and two fields filter. */
class HistogramFacet extends FacetFrame {
	constructor(owner, facet) {
		super(owner, facet);
		this.canvas = h("canvas", { class: "dl-histogram", "aria-hidden": "true" });
		this.holder = h("div", {
			class: "dl-histogram-box", title: "Drag to filter, double-click to clear", onpointerdown: (event) => this.press(event), onpointermove: (event) => this.hover(event),
			onpointerleave: () => this.legend(), ondblclick: () => owner.filter(this.facet, "clear", []),
		}, this.canvas);
		this.low = this.field("at least");
		this.high = this.field("below");
		this.pointed = quiet("");
		this.beside = quiet("", "p");
		this.range = div("dl-range", this.low, this.pointed, this.high);
		this.body.append(this.holder, this.range, this.beside);
		owner.core.sized(this.holder, () => this.draw());
	}

	field(name) {
		const field = textField(`${this.facet.label} ${name}`, { class: "dl-range-field", inputmode: "decimal", onchange: () => this.typed() });
		keepKeys(field);
		return field;
	}

	update(facet) {
		super.update(facet);
		this.put(this.ends());
		this.legend();
		this.draw();
	}

	/** What is chosen; an end that is open is the chart's. */
	ends() {
		const { chosen, edges } = this.facet;
		return [chosen?.[0] ?? edges[0], chosen?.[1] ?? edges[edges.length - 1]];
	}

	put(range) {
		this.said = range.map((end) => this.format(end));
		[this.low.value, this.high.value] = this.said;
		[this.low.title, this.high.title] = range.map((end) => String(end ?? "").replace("T", " "));
	}

	/** Beneath the chart: what is in none of its ranges. */
	legend() {
		this.range.classList.remove("dl-pointed");
		say(this.beside, dotted(...(this.facet.beside ?? []).map(([count, what]) => `${grouped(count)} ${what}`)));
		this.beside.hidden = !this.beside.textContent;
	}

	format(value) {
		const { kind, edges } = this.facet;
		if (value === null || value === undefined) return "";
		if (kind !== "times") return endText(value);
		const span = timeOf(edges[edges.length - 1]) - timeOf(edges[0]);
		return span < 600_000 ? String(value).replace("T", " ") : shortTime(timeOf(value), span);
	}

	/** A field that nobody changed says its end in fewer digits than it has. */
	typed() {
		const read = this.facet.kind === "times" ? readTime : readNumber;
		const range = [this.low, this.high].map((field, i) => (field.value === this.said[i] ? this.facet.chosen?.[i] ?? null : read(field.value)));
		if (range.some(Number.isNaN)) return this.put(this.ends());
		if (!range.includes(null) && numberOf(range[0]) > numberOf(range[1])) range.reverse();
		this.choose(range);
	}

	press(event) {
		if (event.button !== 0 || !this.facet.all.length) return;
		const [start] = within(this.holder, event);
		const width = this.holder.clientWidth;
		drag(event, ({ x }) => {
			this.brush = this.under(start, x, width);
			this.legend();
			this.put(this.brush);
			this.draw();
		}, (moved) => {
			const range = moved ? this.brush : event.detail < 2 ? this.under(start, start, width) : null;
			this.brush = null;
			if (range) this.choose(range);
		});
	}

	/** The range under a brush. */
	under(x0, x1, width) {
		const { edges, all } = this.facet;
		return brushed(all.length, x0, x1, width).map((place) => edges[place]);
	}

	choose(range) {
		const open = range.every((end) => end === null);
		this.owner.filter(this.facet, open ? "clear" : "set", open ? [] : range);
	}

	hover(event) {
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
		const tall = (count) => (count ? Math.max(1.5, (count / most) * (HISTOGRAM - 4)) : 0);
		const range = this.brush ?? (chosen?.length ? this.ends() : null);
		if (range) {
			const [a, b] = range.map((value) => alongEdges(edges, value) * width);
			fillRect(context, palette.soft, { x: a, y: 0, w: Math.max(2, b - a), h: HISTOGRAM });
		}
		const inset = step > 4 ? 1 : 0;
		const bar = (i, count, colour) => fillRect(context, colour, { x: i * step + inset / 2, y: HISTOGRAM - tall(count), w: step - inset, h: tall(count) });
		all.forEach((count, i) => {
			bar(i, count, palette.line);
			bar(i, shown[i], palette.accent);
		});
	}
}

// ---- the map

const OLD_MAP = "The map is being computed for the rows shown now. Select again when it is there.";

/** Points of an embedding, painted pixel by pixel; a lasso selects. */
class MapPanel extends Painted {
	constructor(core) {
		super();
		this.core = core;
		this.title = "Map";
		this.view = WHOLE;
		this.mode = "lasso";
		this.lasso = [];
		this.hover = -1;
		this.build();
		core.on("state", () => this.refresh());
		for (const name of ["selection", "hover", "theme"]) core.on(name, () => this.later());
	}

	build() {
		const { core } = this;
		const names = core.about.embeddings ?? [];
		this.column = names[0];
		this.method = "pca";
		const colours = core.columns.filter((column) => column.colours).map((column) => column.name);
		const wanted = core.settings.colour_by;
		this.colour = colours.includes(wanted) ? wanted : core.kinds("class")[0]?.name ?? "";
		this.canvas = h("canvas", { class: "dl-map", "aria-hidden": "true" });
		this.tip = h("div", { class: "dl-tip", hidden: true });
		this.note = h("p", { class: "dl-map-note", text: "" });
		this.legend = h("div", { class: "dl-legend", "aria-label": "Colours" });
		this.box = h("div", {
			class: "dl-map-box", tabindex: "0", role: "application", "aria-label": "Map of the embedding: arrows move, plus and minus zoom, 0 fits. Selecting by lasso needs a pointer.",
			onpointerdown: (event) => this.press(event), onpointermove: (event) => this.move(event), onpointerleave: () => this.point(-1), onwheel: (event) => this.wheel(event),
			onkeydown: (event) => this.key(event), ondblclick: () => this.hover >= 0 && this.current && core.emit("open", this.data.positions[this.hover]),
		}, this.canvas, this.tip, this.note);
		this.modes = ["lasso", "pan"].map((mode) => iconButton(mode, mode === "lasso" ? "Drag selects (Shift to pan)" : "Drag pans (Shift to select)", () => this.setMode(mode), { "aria-pressed": String(mode === this.mode) }));
		const choose = (field) => (value) => {
			this[field] = value;
			if (field === "colour") core.set({ colour_by: value || null });
			this.refresh();
		};
		const selects = [
			names.length > 1 && select(names, this.column, choose("column"), "Embedding"),
			core.about.umap && select(["pca", "umap"], this.method, choose("method"), "Method"),
			colours.length && h("label", { class: "dl-row-field" }, quiet("Colour"), select(["", ...colours], this.colour, choose("colour"), "Colour by", "one colour")),
		].filter(Boolean);
		this.element = div("dl-map-panel",
			div("dl-map-tools", ...selects, space(), ...this.modes, iconButton("fit", "Fit (0)", () => this.fit())), this.box, this.legend);
		core.sized(this.box, () => this.later());
	}

	open() {
		if (this.generation !== this.core.state.generation) this.refresh();
		else this.later();
	}

	/** Whether the points are those of the rows shown now: positions of others mean other rows. */
	get current() { return this.data?.gen === this.core.shown; }

	setMode(mode) {
		this.mode = mode;
		this.modes.forEach((button, i) => pressed(button, ["lasso", "pan"][i] === mode));
	}

	async refresh() {
		if (!this.element.isConnected) return;
		this.generation = this.core.state.generation;
		if (!this.current) {
			say(this.note, "Computing the map …");
			this.point(-1);
			this.later();
		}
		const progress = (done, total) => say(this.note, `Computing the map … ${Math.round((100 * done) / Math.max(1, total))} %`);
		try {
			const reply = await this.core.latest("points", { column: this.column, method: this.method, colour: this.colour || null }, { bound: true, progress });
			this.take(reply);
		} catch (error) {
			if (error instanceof Stale) return;
			say(this.note, error.message);
			this.data = null;
			this.later();
		}
	}

	take({ n, of, colour, v, bytes, gen }) {
		const xy = numbersAt(bytes, v.xy, Float32Array);
		const values = v.colour && colour ? numbersAt(bytes, v.colour, colour.kind === "classes" ? Int32Array : Float32Array) : null;
		this.data = { n, xy, positions: numbersAt(bytes, v.positions, Uint32Array), values, colour, gen };
		this.point(-1);
		this.index = new PointIndex(xy);
		this.byPosition = null;
		this.paints = this.paintsOf(colour, values, n);
		say(this.note, n ? (of > n ? `${grouped(n)} of ${grouped(of)} points` : "") : "No row here has an embedding.");
		this.drawLegend(colour, values);
		this.later();
	}

	/** One 32-bit colour a point. */
	paintsOf(colour, values, n) {
		const pack = ([r, g, b]) => ((255 << 24) | (b << 16) | (g << 8) | r) >>> 0;
		const paints = new Uint32Array(n);
		if (!values) return paints.fill(pack([78, 121, 167]));
		const [low, high] = colour.range ?? [0, 1];
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

	drawLegend(colour, values) {
		if (!colour || !values) return this.legend.replaceChildren();
		if (colour.kind !== "classes") {
			const [low, high] = colour.range;
			return this.legend.replaceChildren(span(short(low)), span("", "dl-ramp"), span(short(high)));
		}
		const present = [...new Set(values)].filter((c) => c >= 0).sort((a, b) => a - b);
		this.legend.replaceChildren(...present.slice(0, 24).map((c) => h("span", { class: "dl-legend-item" }, dot(c), span(colour.names?.[c] ?? String(c)))),
			present.length > 24 && quiet(`and ${present.length - 24} more`) || "");
	}

	fit() {
		this.view = WHOLE;
		this.later();
	}

	/** From 0..1 to pixels: a square in the middle, moved and scaled. */
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
		this.drawPoints(context, scale * ratio, left * ratio, top * ratio);
		const { palette } = this.core;
		drawLasso(context, palette, this.lasso);
		for (const i of [this.hover, this.indexOf(this.core.hovered)]) {
			if (i < 0) continue;
			circle(context, left + this.data.xy[2 * i] * scale, top + this.data.xy[2 * i + 1] * scale, 7);
			stroke(context, palette.ink, 2);
		}
	}

	/** Where a row of the grid is on the map. */
	indexOf(position) {
		if (position < 0 || !this.current) return -1;
		this.byPosition ??= new Map(Array.from(this.data.positions, (p, i) => [p, i]));
		return this.byPosition.get(position) ?? -1;
	}

	/** Squares of pixels, what is selected last and larger; pale where they are of other rows. */
	drawPoints(context, scale, left, top) {
		const { width, height } = this.canvas;
		if (this.image?.width !== width || this.image?.height !== height) this.image = new ImageData(width, height);
		const pixels = new Uint32Array(this.image.data.buffer);
		pixels.fill(0);
		const { xy, positions, n } = this.data;
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

	place(event) { return within(this.box, event); }

	press(event) {
		if (event.button !== 0 || !this.data) return;
		const selecting = (this.mode === "lasso") !== event.shiftKey;
		const from = this.place(event);
		const before = { ...this.view };
		drag(event, ({ x, y, dx, dy }) => {
			if (selecting) {
				if (!this.lasso.length) this.lasso.push(from);
				this.lasso.push([x, y]);
			} else {
				this.view = { ...before, x: before.x + dx, y: before.y + dy };
			}
			this.later();
		}, (moved) => {
			if (moved && selecting) this.endLasso(event);
			else if (!moved) this.click(event);
		});
	}

	endLasso(event) {
		const { scale, left, top } = this.frame();
		const polygon = simplify(this.lasso, 3).map(([x, y]) => /** @type {Point} */ ([(x - left) / scale, (y - top) / scale]));
		this.lasso = [];
		this.later();
		if (!this.current) return this.core.note(OLD_MAP);
		const found = pointsInLasso(this.data.xy, polygon).map((i) => this.data.positions[i]).sort();
		this.core.take(found, { ctrlKey: event.ctrlKey, metaKey: event.metaKey });
		if (found.length) this.core.emit("reveal", found[0]);
	}

	click(event) {
		if (!this.current) return this.core.note(OLD_MAP);
		const i = this.near(event);
		if (i < 0) return this.core.take([], event);
		const position = this.data.positions[i];
		this.core.pick(position, { toggle: event.ctrlKey || event.metaKey });
		this.core.emit("reveal", position);
	}

	near(event) {
		if (!this.current) return -1;
		const { scale, left, top } = this.frame();
		const [x, y] = this.place(event);
		return this.index.nearest((x - left) / scale, (y - top) / scale, Math.min(0.05, 9 / scale));
	}

	move(event) {
		if (event.buttons || event.pointerType === "touch") return this.point(-1);
		this.point(this.near(event), event);
	}

	/** Shows the row under the pointer. */
	async point(i, event = null) {
		if (i === this.hover) return;
		this.hover = i;
		this.later();
		this.tip.hidden = true;
		if (i < 0) return;
		const [x, y] = this.place(event);
		const { data } = this;
		try {
			const { picture } = this.core.settings;
			const reply = await this.core.latest("cells", { positions: [this.data.positions[i]], size: 128, picture, columns: captionColumns(this.core), overlays: [] }, { bound: true });
			const cell = reply.cells[0] && (await readCell(reply.cells[0], reply.bytes, 128, ""));
			if (cell && this.hover === i && this.data === data && this.current) this.showTip(cell, x, y);
			if (cell) dropCell(cell);
		} catch (error) {
			if (!(error instanceof Stale)) this.tip.hidden = true;
		}
	}

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

	wheel(event) {
		event.preventDefault();
		const [x, y] = this.place(event);
		const { w, h: hgt, side } = this.frame();
		this.view = zoomAt(this.view, x - (w - side) / 2, y - (hgt - side) / 2, Math.exp(-event.deltaY / 300), [0.5, 200]);
		this.point(-1);
		this.later();
	}

	key(event) {
		const moves = { ArrowLeft: [40, 0], ArrowRight: [-40, 0], ArrowUp: [0, 40], ArrowDown: [0, -40] }[event.key];
		const { side } = this.frame();
		const zoom = (by) => zoomAt(this.view, side / 2, side / 2, by, [0.5, 200]);
		if (moves) this.view = { ...this.view, x: this.view.x + moves[0], y: this.view.y + moves[1] };
		else if (event.key === "+" || event.key === "=") this.view = zoom(1.3);
		else if (event.key === "-") this.view = zoom(1 / 1.3);
		else if (event.key === "0") this.view = WHOLE;
		else return;
		handled(event);
		this.later();
	}
}

// ---- versions

/** Branches, tags and commits to show instead. */
class Versions {
	constructor(core) {
		this.core = core;
		this.title = "Versions";
		this.element = div("dl-panel-scroll");
		core.on("about", () => this.element.isConnected && this.open());
	}

	async open() {
		if (!this.element.childElementCount) this.element.replaceChildren(padded("Reading the history …"));
		try {
			this.show(await this.core.latest("versions"));
		} catch (error) {
			if (!(error instanceof Stale)) this.element.replaceChildren(padded(error.message));
		}
	}

	show({ branches, tags, commits, shown }) {
		const about = this.core.about;
		const is = (...names) => names.includes(about.branch ?? about.version ?? shown);
		const part = (title, rows) => rows.length > 0 && h("section", { class: "dl-versions" }, h("h3", { text: title }), ...rows);
		this.element.replaceChildren(...[
			part("Branches", branches.map((name) => this.row(name, name, "", is(name)))),
			part("Tags", tags.map((name) => this.row(name, name, "", !about.branch && is(name)))),
			part("Commits", commits.map((commit) => this.row(commit.id, commit.message || "(no message)",
				dotted(shortTime(timeOf(commit.time), 0), commit.author, brief(commit.id), ...(commit.names ?? [])),
				!about.branch && is(commit.id, ...(commit.names ?? []))))),
		].filter(Boolean));
	}

	row(version, title, note, current) {
		return h("button", { class: "dl-version", "aria-pressed": String(current), onclick: () => this.choose(version) },
			span(title, "dl-version-name", title), note && quiet(note));
	}

	async choose(version) {
		try {
			const reply = await this.core.show("show_version", { version });
			this.core.say(`${reply.branch ?? reply.version ?? version} shown, ${counted(reply.rows, "row")}`);
			this.open();
		} catch (error) {
			this.core.failed(error);
		}
	}
}

// ---- edits

/** What is staged, how to take it back, and how to write it. */
class Edits {
	constructor(core) {
		this.core = core;
		this.title = "Edits";
		this.undoable = { can_undo: false, can_redo: false };
		this.undo = iconButton("undo", "Undo (Ctrl Z)", () => core.edit("undo"));
		this.redo = iconButton("redo", "Redo (Ctrl Shift Z)", () => core.edit("redo"));
		this.tools = h("span", { class: "dl-group" }, this.undo, this.redo);
		this.keys = div("dl-label-keys");
		this.list = h("ul", { class: "dl-edits" });
		this.none = padded("Nothing is staged. Select rows and press a digit or l to set their class; edits wait here until you commit.");
		this.message = textField("Message of the commit", { placeholder: "Message of the commit" });
		keepKeys(this.message);
		this.write = primary("Commit", null, { type: "submit" });
		this.form = h("form", { class: "dl-commit", onsubmit: (event) => this.commit(event) }, this.message, this.write);
		this.element = div("dl-edit-panel", this.keys, div("dl-panel-scroll", this.none, this.list), this.form);
		for (const name of ["staged", "staged_rows", "about", "drafts"]) core.on(name, () => this.show());
		core.on("undoable", (reply) => {
			this.undoable = reply;
			this.show();
		});
		core.on("message", (text) => (this.message.value = text));
		this.show();
	}

	open() {
		this.showKeys();
		this.show();
	}

	show() {
		const { core } = this;
		const { staged, stagedCount } = core;
		this.undo.disabled = !(this.undoable.can_undo ?? stagedCount > 0) && !stagedCount;
		this.redo.disabled = !this.undoable.can_redo;
		this.none.hidden = stagedCount > 0;
		if (!core.writable) say(this.none, "This version is read only. Show a branch to edit it.");
		this.form.hidden = !stagedCount || !core.writable;
		say(this.write, `Commit ${counted(core.stagedRows, "row")}`);
		const more = stagedCount - staged.length;
		const drafts = core.ended ? [] : core.drafts;
		this.list.replaceChildren(...drafts.map((draft) => h("li", { class: "dl-edit" }, quiet(leftBehind(draft)),
			link("Restore", () => core.restore(draft)), link("Discard", () => core.edit("forget", { id: draft.id })))), ...(more > 0 ? [h("li", { class: "dl-quiet dl-pad", text: `${grouped(more)} earlier edits` })] : []), ...[...staged].reverse().map((edit) =>
			h("li", { class: "dl-edit" }, h("span", { class: "dl-edit-what" }, strong(edit.column), core.cell("span", edit.column, edit.what)),
				quiet(counted(edit.rows, "row")), iconButton("close", `Drop the edit of ${edit.column}`, () => core.edit("drop", { id: edit.id })))));
	}

	/** Which class each number key sets. */
	showKeys() {
		const { core } = this;
		const columns = core.labelColumns;
		if (!columns.length || !core.writable) return this.keys.replaceChildren();
		const column = core.labels;
		const choose = (name) => {
			core.labelling = name;
			this.showKeys();
		};
		this.keys.replaceChildren(div("dl-row-field", quiet("Keys set"),
			columns.length > 1 ? select(columns.map((one) => one.name), column.name, choose, "Column that the number keys set") : strong(column.name)),
		div("dl-key-list", ...[..."1234567890"].map((key) => [key, classOfKey(key, column.classes ?? [])]).filter(([, i]) => i >= 0).map(([key, i]) => h("span", { class: "dl-legend-item" }, kbd(key), dot(i), span(column.classes[i])))));
	}

	async commit(event) {
		event.preventDefault();
		this.write.disabled = true;
		await this.put("commit", { message: this.message.value.trim() });
		this.write.disabled = false;
	}

	async put(type, fields) {
		this.core.emit("settle");
		try {
			this.written(await this.core.ask(type, fields));
		} catch (error) {
			if (error instanceof Refusal && error.kind.includes("Conflict")) this.conflict(error);
			else this.core.failed(error);
		}
	}

	written({ version, rows }) {
		this.message.value = "";
		this.undoable = { can_undo: false, can_redo: false };
		this.core.emit("changed", null);
		this.core.note(`Committed${rows ? " " + counted(rows, "row") : ""} as ${brief(version)}.`);
		this.show();
	}

	/** Another writer was first: shows both values, one side wins. */
	conflict(error) {
		const rows = error.conflicts ?? [];
		const resolve = (choice) => {
			close();
			this.put("resolve", { choice });
		};
		const cells = rows.slice(0, 100).map((row) => h("tr", {}, h("td", { text: typeof row.p === "number" ? grouped(row.p) : row.id }), h("td", { text: row.column ?? row.kind }), ...[row.ours, row.theirs].map((value) => this.core.cell("td", row.column, asText(value)))));
		const close = dialog(this.core.root, "Someone else wrote these rows", [
			div("dl-dialog-body", h("p", { text: error.message }),
				h("div", { class: "dl-table-scroll", tabindex: "0", role: "group", "aria-label": "Conflicts" }, h("table", { class: "dl-table" },
					h("thead", {}, h("tr", {}, ...["Row", "Column", "Yours", "Theirs"].map((text) => h("th", { scope: "col", text })))), h("tbody", {}, ...cells))),
				rows.length > 100 && quiet(`and ${grouped(rows.length - 100)} more`, "p")),
			div("dl-dialog-foot", textButton("Keep staged", () => close()), textButton("Take theirs", () => resolve("theirs")), primary("Write mine over", () => resolve("ours"), { "data-first": true })),
		], { wide: true });
	}
}

const asText = (value) => (value === null || value === undefined ? "–" : value === "" ? "“”" : typeof value === "object" ? JSON.stringify(value) : String(value));

// ---- one row, large

/** A picture to move and zoom, with its layers; `over` is a second one behind a swipe. */
class Viewer extends Painted {
	constructor(core, { moved = () => {}, name = "Picture" } = {}) {
		super();
		this.core = core;
		this.moved = moved;
		this.view = WHOLE;
		this.cell = null;
		this.over = null;
		this.split = 0.5;
		this.boxes = null;
		this.canvas = h("canvas", { class: "dl-canvas", "aria-hidden": "true" });
		this.element = h("div", {
			class: "dl-viewer", role: "img", "aria-label": name, onpointerdown: (event) => this.press(event), onpointermove: (event) => this.boxes?.hover(this.inPicture(event)),
			onwheel: (event) => this.wheel(event), ondblclick: (event) => this.toggleSize(event),
		}, this.canvas);
		this.unsize = core.sized(this.element, () => this.later());
	}

	close() {
		this.unsize();
		this.show(null, null);
	}

	show(cell, over = null) {
		for (const old of [this.cell, this.over]) if (old && old !== cell && old !== over) dropCell(old);
		this.cell = cell;
		this.over = over;
		this.later();
	}

	/** The rectangle that shows the whole picture, before zoom. */
	fitted() {
		const { clientWidth: w, clientHeight: hgt } = this.element;
		const of = this.cell ?? this.over ?? {};
		return fit(of.w || of.bitmap?.width || 1, of.h || of.bitmap?.height || 1, { x: 12, y: 12, w: Math.max(1, w - 24), h: Math.max(1, hgt - 24) }, 24);
	}

	/** @returns {Rect} */
	rect() {
		const base = this.fitted();
		return { x: base.x * this.view.scale + this.view.x, y: base.y * this.view.scale + this.view.y, w: base.w * this.view.scale, h: base.h * this.view.scale };
	}

	set(view) {
		this.view = view;
		this.moved(view);
		this.later();
	}

	zoom(by, x = this.element.clientWidth / 2, y = this.element.clientHeight / 2) {
		this.set(zoomAt(this.view, x, y, by, [0.5, 64]));
	}

	fit() { this.set(WHOLE); }

	/** Fit, or one pixel a pixel where the pointer is. */
	toggleSize(event) {
		if (this.boxes) return;
		if (this.view.scale !== 1) return this.fit();
		const whole = (this.cell?.w ?? 1) / this.fitted().w;
		this.zoom(whole > 1.2 ? whole : 3, ...within(this.element, event));
	}

	wheel(event) {
		event.preventDefault();
		this.zoom(Math.exp(-event.deltaY / 400), ...within(this.element, event));
	}

	inPicture(event) {
		const [x, y] = within(this.element, event);
		const at = this.rect();
		return { x: (x - at.x) / at.w, y: (y - at.y) / at.h, near: /** @type {Point} */ ([7 / at.w, 7 / at.h]), w: at.w, h: at.h };
	}

	press(event) {
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

	layer(context, cell, at) {
		if (!cell) return;
		const { core } = this;
		if (!cell.bitmap) return drawPicture(context, core.palette, core, cell, { x: 12, y: 12, w: this.element.clientWidth - 24, h: this.element.clientHeight - 24 });
		context.imageSmoothingEnabled = smooths(cell, at);
		context.drawImage(cell.bitmap, at.x, at.y, at.w, at.h);
		const hidden = this.boxes?.column;
		const marks = hidden ? { ...cell.marks, [hidden]: undefined } : cell.marks;
		drawLayers(context, core.palette, core, { ...cell, marks }, at);
	}
}

/** The boxes of a row at large, and their classes: what is done here counts until Python has answered it. */
class BoxEditor {
	constructor(core, /** @type {Viewer} */ viewer, row) {
		this.core = core;
		this.viewer = viewer;
		this.active = -1;
		this.since = 0;
		this.column = boxesIn(row).name;
		this.unsettle = core.on("settle", () => this.settle());
		this.take(row);
	}

	close() {
		this.settle();
		this.unsettle();
	}

	/** Takes the row as Python has it, unless something was done here since that was asked. */
	take(row) {
		this.behind = this.dragging || this.due !== undefined || row.req < this.since;
		if (this.behind) return;
		const { marks, box_classes: classes } = row.columns.find((column) => column.name === this.column) ?? {};
		if (row.id !== this.row?.id) this.active = -1;
		this.row = row;
		this.list = (marks?.boxes ?? []).map((box) => [...box]);
		this.names = classes?.names ?? [];
		this.classes = classes?.c ? [...classes.c] : null;
		this.classless = classes && !classes.c ? `Not every box of this row has a class in ${classes.column}. Set them in Python: ds.update(rows, {…}).` : "";
		this.active = Math.min(this.active, this.list.length - 1);
		this.viewer.later();
	}

	draw(context, at) {
		const { palette } = this.core;
		drawMarks(context, palette, at, { marks: { boxes: this.list, c: this.classes }, tint: null, opacity: 0.7, layer: 0, names: this.names, active: this.active });
		const box = this.list[this.active];
		if (!box) return;
		const [xs, ys] = [[box[0], (box[0] + box[2]) / 2, box[2]], [box[1], (box[1] + box[3]) / 2, box[3]]];
		xs.forEach((x, i) => ys.forEach((y, j) => {
			if (i === 1 && j === 1) return;
			rounded(context, { x: Math.round(at.x + x * at.w) - 3.5, y: Math.round(at.y + y * at.h) - 3.5, w: 7, h: 7 }, 0);
			fill(context, "#fff");
			stroke(context, "#000", 1);
		}));
	}

	hover({ x, y, near }) {
		const hit = boxAt(this.list, x, y, near, this.active);
		const cursors = { move: "move", n: "ns-resize", s: "ns-resize", w: "ew-resize", e: "ew-resize", nw: "nwse-resize", se: "nwse-resize", ne: "nesw-resize", sw: "nesw-resize" };
		this.viewer.element.style.cursor = hit ? cursors[hit.handle] : "crosshair";
	}

	press(event, { x, y, near, w, h: hgt }) {
		if (this.dragging) return;
		this.settle();
		const hit = boxAt(this.list, x, y, near, this.active);
		const before = hit ? [...this.list[hit.index]] : [x, y, x, y];
		let index = hit?.index;
		if (hit) this.active = hit.index;
		this.dragging = true;
		this.viewer.later();
		drag(event, ({ dx, dy }) => {
			index ??= this.add();
			this.list[index] = hit ? dragBox(before, hit.handle, dx / w, dy / hgt) : tidyBox([x, y, x + dx / w, y + dy / hgt]);
			this.viewer.later();
		}, (moved) => {
			this.dragging = false;
			if (moved) this.save();
			else if (this.behind) this.core.emit("changed", [this.row.position]);
			if (!moved && !hit) this.active = -1;
			this.viewer.later();
		});
	}

	add() {
		this.classes?.push(this.classes[this.active] ?? this.last ?? 0);
		this.active = this.list.length;
		this.list.push([0, 0, 0, 0]);
		return this.active;
	}

	remove() {
		if (this.active < 0) return;
		this.list.splice(this.active, 1);
		this.classes?.splice(this.active, 1);
		this.active = Math.min(this.active, this.list.length - 1);
		this.save();
	}

	setClass(index) {
		if (this.active < 0 || !(index in this.names)) return;
		if (!this.classes) return this.core.note(this.classless);
		this.classes[this.active] = this.last = index;
		this.save();
	}

	chooseClass() {
		if (!this.classes) return this.core.note(this.classless);
		chooser(this.core.root, "Class of the box", this.names, ({ index }) => this.setClass(index));
	}

	/** Keys: the next box, moving it by a pixel, its class, removing it. */
	key(event) {
		if (this.dragging) return true;
		const { w, h: hgt } = this.viewer.cell ?? {};
		const [dx, dy] = [w, hgt].map((side) => (event.shiftKey ? 10 : 1) / (side || 100));
		const move = { ArrowLeft: [-dx, 0], ArrowRight: [dx, 0], ArrowUp: [0, -dy], ArrowDown: [0, dy] }[event.key];
		const box = this.list[this.active];
		if (event.key === "n") this.active = (this.active + 1) % Math.max(1, this.list.length);
		else if (event.key === "a") { this.list[this.add()] = [0.35, 0.35, 0.65, 0.65]; this.save(); }
		else if ((event.key === "Delete" || event.key === "Backspace") && box) this.remove();
		else if (event.key > 0 || classOfKey(event.key, this.names) >= 0) this.setClass(classOfKey(event.key, this.names));
		else if (event.key === "l" && box && this.names.length) this.chooseClass();
		else if (move && box) {
			this.list[this.active] = dragBox(box, "move", move[0], move[1]);
			clearTimeout(this.due);
			this.due = setTimeout(() => this.save(), 400);
		} else return false;
		this.viewer.later();
		return true;
	}

	/** Saves at once what waits for the next key. */
	settle() {
		if (this.due !== undefined) this.save();
	}

	/** Stages the boxes of the row that they are of, whichever is shown by now. */
	async save() {
		clearTimeout(this.due);
		this.due = undefined;
		this.viewer.later();
		const { core, row: { gen, id, position } } = this;
		const value = { boxes: this.list.map((box) => [...box]), c: this.classes && [...this.classes], picture: this.row.picture };
		const saved = core.edit("stage", { gen, edits: [{ positions: [position], row: id, column: this.column, op: "set_boxes", value }] });
		this.since = core.requests.next;
		if (!await saved) core.emit("changed", [position]);
	}
}

/** The first column of boxes that can be edited and is drawn over the row's picture, which may have none yet. */
const boxesIn = (row) => row?.columns.find((column) => column.editable && (column.marks?.boxes || (column.kind === "boxes" && column.null && row.w && !column.unmarked)));

/** Why marks of some rows are not drawn over their pictures, each reason once. */
const unmarkedIn = (rows) => [...new Set(rows.flatMap((row) => (row?.columns ?? []).map((column) => column.unmarked).filter(Boolean)))].join("\n");

/** What is drawn of one row: its picture, or the first there is, and its marks. */
async function readRow(reply, picture, level) {
	const pictures = reply.columns.filter((column) => column.v && !/^(audio|video)/.test(column.v[2]) && !OVERLAYS.includes(column.kind));
	const wanted = reply.picture ?? picture;
	const main = pictures.find((column) => column.name === wanted) ?? pictures[0] ?? reply.columns.find((column) => column.v && column.kind === "mask");
	const marks = Object.fromEntries(reply.columns.filter((column) => column.marks).map((column) => [column.name, column.marks]));
	const cell = await readCell({ p: reply.position, v: main?.v ?? null, w: reply.w, h: reply.h, marks }, reply.bytes, level, "");
	return { main, marks, cell };
}

/** One row: its picture, every column, its history. */
class Detail {
	constructor(core, /** @type {() => void} */ closed) {
		this.core = core;
		this.closed = closed;
		this.viewer = new Viewer(core);
		this.position = -1;
		this.urls = [];
		const draw = () => this.viewer.later();
		this.stops = [core.on("changed", () => this.position >= 0 && this.load()), core.on("selection", () => this.head()), core.on("settings", () => (this.row && this.row.picture !== core.settings.picture ? this.load() : draw())), core.on("theme", draw)];
		this.build();
	}

	build() {
		const { core, viewer } = this;
		this.title = h("h2", {});
		this.boxing = iconButton("box", "Edit boxes (b)", () => this.toggleBoxes(), { "aria-pressed": "false" });
		this.hint = h("p", { class: "dl-hint", hidden: true, text: "Drag to draw, move or resize. Digits or l: class. Delete: remove. n: next. a: add. Esc: done." });
		this.unmarked = h("p", { class: "dl-unmarked", role: "note", hidden: true });
		this.boxing.hidden = !core.kinds("boxes").some(({ stored = true }) => stored) || !core.writable;
		this.alike = labelled("alike", "More like this", ...core.alike());
		const ticked = check("Selected", { onchange: () => core.pick(this.position, { toggle: true }) });
		this.tick = ticked.firstChild;
		this.info = h("div", { class: "dl-info", tabindex: "0", role: "group", "aria-label": "Columns" });
		this.element = h("section", { class: "dl-detail", tabindex: "-1", "aria-label": "Row", onkeydown: (event) => this.key(event) },
			div("dl-detail-head",
				iconButton("left", "Previous row (←)", () => this.step(-1)), iconButton("right", "Next row (→)", () => this.step(1)), this.title, ticked, space(),
				this.alike, this.boxing, iconButton("minus", "Zoom out (−)", () => viewer.zoom(1 / 1.4)), iconButton("fit", "Fit (0)", () => viewer.fit()), iconButton("plus", "Zoom in (+)", () => viewer.zoom(1.4)), iconButton("close", "Back to the grid (Esc)", () => this.close())),
			div("dl-detail-body", div("dl-viewer-box", viewer.element, this.unmarked, this.hint), this.info));
		viewer.moved = () => this.sharper();
	}

	close() {
		if (!this.element.isConnected) return;
		this.leave();
		this.stops.forEach((stop) => stop());
		this.leaveField();
		this.position = -1;
		this.core.large = null;
		this.viewer.close();
		this.forget();
		this.element.remove();
		this.closed();
	}

	forget() {
		this.urls.splice(0).forEach((url) => URL.revokeObjectURL(url));
	}

	step(by) {
		const next = this.position + by;
		if (next < 0 || next >= this.core.state.rows) return;
		this.core.active = next;
		this.core.emit("reveal", next);
		this.show(next);
	}

	show(position) {
		this.leave();
		this.leaveField();
		this.position = position;
		this.core.large = this.core.row(position);
		this.full = false;
		this.viewer.view = WHOLE;
		this.info.inert = true; // its fields are those of another row, until this one is read
		this.head();
		this.core.say(this.title.textContent);
		return this.load();
	}

	/** What is typed into a field is staged for its row, before the field goes. */
	leaveField() {
		if (this.info.querySelector(":focus")) this.element.focus({ preventScroll: true });
	}

	/** Which row of how many, and whether it is selected. */
	head() {
		say(this.title, `Row ${grouped(this.position)} of ${grouped(this.core.state.rows)}`);
		this.tick.checked = this.core.selection.has(this.position);
	}

	async load(size = this.full ? 0 : 1024) {
		const { position } = this;
		this.element.classList.add("dl-loading");
		try {
			await this.read(position, size);
		} catch (error) {
			if (error instanceof Stale || position !== this.position) return;
			this.info.inert = false;
			this.info.replaceChildren(padded(`This row cannot be read: ${error.message}`));
		} finally {
			if (position === this.position) this.element.classList.remove("dl-loading");
		}
	}

	async read(position, size) {
		const reply = await this.core.latest("detail", { p: position, size }, { bound: true });
		if (position === this.position) await this.take(reply, size);
	}

	async take(reply, size) {
		const { core } = this;
		this.newest = reply;
		const { main, marks, cell } = await readRow(reply, core.settings.picture, size || 1e9);
		if (reply !== this.newest || reply.position !== this.position || reply.gen !== core.shown || reply.req < this.since) return dropCell(cell);
		this.since = reply.req;
		core.large = core.row(reply.position, reply.id ?? null);
		this.head();
		this.viewer.show(cell);
		this.viewer.element.parentElement.hidden = !main;
		this.element.classList.toggle("dl-no-picture", !main);
		this.viewer.element.setAttribute("aria-label", `${visible(main?.name ?? "Picture")} of row ${this.position}`);
		this.row = reply;
		this.boxable = Boolean(core.writable && boxesIn(reply) && main);
		if (this.boxable) this.editor?.take(reply);
		else this.leaveBoxes();
		this.boxing.hidden = !this.boxable;
		this.sayUnmarked(reply);
		this.fill(reply);
	}

	/** Says which marks are not drawn, and why. */
	sayUnmarked(...rows) {
		say(this.unmarked, visibleLines(unmarkedIn(rows)), { raw: true });
		this.unmarked.hidden = !this.unmarked.textContent;
	}

	/** Beyond the pixels it has, the picture is asked for in full. */
	sharper() {
		const { cell } = this.viewer;
		const shown = this.viewer.rect().w * density();
		if (this.full || !cell?.bitmap || shown < cell.bitmap.width * 1.3 || cell.w <= cell.bitmap.width) return;
		this.full = true;
		this.load(0);
	}

	// the columns

	/** Fields of a row, each of which edits that row and no other; one that is typed into stays while its row does. */
	fill({ columns, id, bytes }) {
		const row = this.core.large;
		const same = this.filled && row.id !== null && this.filled.id === row.id && this.filled.positions[0] === row.positions[0];
		const typing = "textarea, input:not([type=checkbox])";
		if (same && this.info.querySelector(":focus")?.matches(typing)) return;
		if (!same) this.leaveField();
		const held = this.info.querySelector(":focus");
		this.filled = row;
		this.info.inert = false;
		this.forget();
		const open = this.info.querySelector("details")?.open;
		const history = h("details", { class: "dl-history" }, h("summary", { text: "History" }));
		history.addEventListener("toggle", () => history.open && this.history(history));
		this.info.replaceChildren(h("dl", {}, ...columns.map((column) => this.column({ ...column, row }, bytes)), div("dl-field", h("dt", {}, span("row id")), h("dd", { class: "dl-mono", text: String(id ?? "") }))), this.core.static ? "" : history);
		if (open) history.open = true;
		const kept = "[type=checkbox], select, .dl-null";
		const again = held?.matches("summary") ? history.firstElementChild : held?.matches(kept) ? [...this.info.querySelectorAll(kept)].find((field) => field.ariaLabel === held.ariaLabel) : null;
		if (held) (again ?? this.info).focus();
	}

	column(column, bytes) {
		const type = dotted(column.type ?? column.kind, Array.isArray(column.shape) ? column.shape.map((n) => n ?? "?").join(" × ") : column.shape, column.dtype && column.dtype !== column.type ? column.dtype : "");
		return h("div", { class: column.staged ? "dl-field dl-staged" : "dl-field" }, h("dt", {}, span(column.name), quiet(type)), h("dd", {}, this.value(column, bytes)));
	}

	value(column, bytes) {
		const media = column.v && /^(audio|video)/.exec(column.v[2])?.[1];
		if (media) {
			const url = URL.createObjectURL(blobOf(bytes, column.v));
			this.urls.push(url);
			return h(media, { controls: true, src: url, class: "dl-media", "aria-label": column.name });
		}
		const field = column.editable && this.core.writable && this.field(column);
		if (field) return column.nullable && column.kind !== "bool" ? div("dl-nullable", field, this.nullButton(column)) : field;
		const tint = column.kind === "class" ? dot(column.value ?? column.c) : null;
		const text = h(["json", "array", "embedding", "table"].includes(column.kind) ? "pre" : "span", { class: "dl-value-text", dir: "auto", raw: column.damaged ?? column.text ?? (column.v ? "as shown" : "–") });
		if (!this.core.holdsData(column.name, column.kind)) say(text, text.textContent);
		return tint ? h("span", { class: "dl-with-dot" }, tint, text) : text;
	}

	/** What a cell is edited with; nothing for kinds that are not edited here. */
	field(column) {
		return {
			class: () => this.classField(column), tags: () => this.tagsField(column), bool: () => (column.nullable ? this.choiceField(column) : this.tickField(column)),
			text: () => this.textField(column), number: () => this.textField(column), time: () => this.textField(column),
		}[column.kind]?.();
	}

	/** Tells null from an empty text and from no tags, and makes one of the other. */
	nullButton(column) {
		const empty = { text: "", tags: [] }[column.kind];
		const title = !column.null ? "Set to null" : empty === undefined ? "Null: set a value to change it" : "Null: set to empty";
		return textButton("null", () => this.put(column, column.null ? empty : null), {
			class: "dl-button dl-null", title, "aria-label": `${column.name}: null`, "aria-pressed": String(column.null), disabled: column.null && empty === undefined,
		});
	}

	tickField(column) {
		return h("input", { type: "checkbox", checked: column.value === true, "aria-label": column.name, onchange: ({ target }) => this.put(column, target.checked).then((reply) => reply || (target.checked = !target.checked)) });
	}

	/** True, false or null. */
	choiceField(column) {
		const before = String(column.value ?? "");
		const field = select(["", "false", "true"], before, async (value) => {
			if (!await this.put(column, value || null)) field.value = before;
		}, column.name, "–");
		return field;
	}

	/** Stages an edit of the row whose field it is. */
	put({ row, name }, value, op = "set") {
		return this.core.stage(row, name, value, op);
	}

	classes(column) { return column.classes ?? this.core.column(column.name)?.classes ?? []; }

	classField(column) {
		return h("button", { class: "dl-button dl-edit-value", "aria-label": `${column.name}: ${column.text ?? "none"}. Change`, onclick: () =>
			chooser(this.core.root, `Set ${column.name}`, this.classes(column), ({ value }) => this.put(column, value), { free: true }) }, dot(column.value ?? column.c), span(column.text ?? "–"), icon("edits"));
	}

	tagsField(column) {
		const names = this.classes(column);
		const nameOf = (value) => (typeof value === "number" ? (names[value] ?? String(value)) : String(value));
		const add = () => chooser(this.core.root, `Add to ${column.name}`, names, ({ value }) => this.put(column, value, "add_tag"), { free: !names.length });
		return h("span", { class: "dl-tags" }, ...(column.value ?? column.tags ?? []).map((value) => h("span", { class: "dl-tag" }, typeof value === "number" && dot(value), span(nameOf(value)),
			iconButton("close", `Remove ${nameOf(value)}`, () => this.put(column, value, "remove_tag")))), iconButton("plus", `Add to ${column.name}`, add));
	}

	textField(column) {
		const number = column.kind === "number";
		const text = String(column.value ?? ""); // Python sends -0 as a text
		const field = h(number ? "input" : "textarea", { class: "dl-input", "aria-label": column.name, value: text, dir: number ? null : "auto", placeholder: column.nullable && column.null ? "null" : null, rows: number ? null : Math.min(8, 1 + Math.floor(text.length / 38)) });
		let before = field.value; // has no carriage returns
		const lines = before !== text && before.replaceAll("\n", "\r\n") === text ? "\r\n" : "\n";
		field.addEventListener("keydown", (event) => {
			event.stopPropagation();
			if (event.key === "Escape") field.value = before;
			if (event.key === "Escape" || (event.key === "Enter" && (number || event.ctrlKey || event.metaKey))) this.element.focus();
		});
		field.addEventListener("blur", async () => {
			const typed = field.value;
			if (typed === before) return;
			const value = column.kind === "text" ? typed.replaceAll("\n", lines) : typed.trim() || null;
			if (await this.put(column, value)) before = typed;
			else field.value = before;
		});
		return field;
	}

	async history(details) {
		const { position } = this;
		const note = quiet("Looking through the versions …", "p");
		while (details.childElementCount > 1) details.lastElementChild.remove();
		details.append(note);
		try {
			const { versions, complete: all } = await this.core.latest("history", { p: position }, { bound: true });
			note.remove();
			details.append(h("ol", { class: "dl-changes" }, ...versions.map((version) => h("li", {}, strong(version.message || "(no message)"),
				quiet(dotted(shortTime(timeOf(version.time), 0), version.author, brief(version.version))),
				...version.changes.map((change) => div("dl-change", span(change.column), this.core.cell("del", change.column, asText(change.before)), "→", this.core.cell("ins", change.column, asText(change.after))))))),
			!versions.length && quiet("No version changed this row.", "p") || "", !all && quiet("Older versions were not searched.", "p") || "");
		} catch (error) {
			if (!(error instanceof Stale)) say(note, error.message);
		}
	}

	// boxes and keys

	toggleBoxes() {
		if (this.viewer.boxes) return this.stopBoxes();
		if (!this.boxable) return this.unmarked.hidden ? undefined : this.core.note(this.unmarked.textContent);
		this.viewer.boxes = this.editor ??= new BoxEditor(this.core, this.viewer, this.row);
		this.boxing.setAttribute("aria-pressed", "true");
		this.hint.hidden = false;
		this.viewer.later();
	}

	/** Before another row is shown: what is edited is saved for this one. */
	leave() {
		this.leaveBoxes();
		this.row = null;
		this.boxable = false;
		this.since = this.core.requests.next;
	}

	leaveBoxes() {
		this.stopBoxes();
		this.editor?.close();
		this.editor = null;
	}

	stopBoxes() {
		this.viewer.boxes?.settle();
		this.viewer.boxes = null;
		this.viewer.element.style.cursor = "";
		this.boxing.setAttribute("aria-pressed", "false");
		this.hint.hidden = true;
		this.viewer.later();
	}

	key(event) {
		if (event.target.closest("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
		const { viewer } = this;
		const boxed = viewer.boxes?.key(event);
		const act = boxed ? () => {} : {
			ArrowLeft: () => this.step(-1), ArrowRight: () => this.step(1), b: () => this.toggleBoxes(), "0": this.core.classOf("0") < 0 && (() => viewer.fit()), "+": () => viewer.zoom(1.4), "=": () => viewer.zoom(1.4), "-": () => viewer.zoom(1 / 1.4),
			Escape: () => (viewer.boxes ? this.stopBoxes() : this.close()), " ": () => this.tick.click(),
		}[event.key];
		if (!act || (event.key === " " && event.target.closest("button, summary"))) return;
		handled(event);
		act();
	}
}

// ---- two versions side by side

const CHANGES = { changed: "Changed", added: "Added", removed: "Removed" };

/** A pair on one card: before at the left, after at the right. */
function drawPair(context, palette, core, pair, at) {
	const half = Math.floor((at.w - 2) / 2);
	[pair.a, pair.b].forEach((cell, i) => {
		const side = { x: at.x + i * (half + 2), y: at.y, w: half, h: at.h };
		if (cell) return drawPicture(context, palette, core, cell, side);
		fillRect(context, palette.card, side);
		drawNote(context, palette, i ? "removed" : "not there", side);
	});
}

function diffGrid(core, open) {
	const grid = new Grid(core, { aspect: 2, paint: drawPair, open, lines: () => (core.state.tab === "changed" ? 2 : 1) });
	grid.wordsOf = ({ a, b, changed = [] }) => {
		const one = core.state.tab !== "changed";
		return (one ? captionColumns(core) : changed).map((name) => {
			const [before, after] = [a?.caption?.[name]?.t, b?.caption?.[name]?.t];
			return one ? (before ?? after ?? "") : before === after ? `${name} changed` : `${name}: ${before ?? "–"} → ${after ?? "–"}`;
		}).filter(Boolean);
	};
	grid.caption = (context, pair, _, at) => {
		const words = grid.wordsOf(pair);
		const { lines } = grid.layout;
		context.font = `12px ${grid.palette.font}`;
		words.slice(0, lines).forEach((text, i) => {
			const more = i === lines - 1 && words.length > lines ? ` (+${words.length - lines})` : "";
			write(context, text + more, grid.palette.ink, at.x + 2, at.y + 6 + i * LINE + LINE / 2, at.w - 4);
		});
	};
	return grid;
}

/** Tabs of the kinds of change, and which column has to differ. */
function diffBar(core, ...tools) {
	const { about } = core;
	const show = (tab, column) => core.attempt("tab", { tab, column });
	const tabs = Object.entries(CHANGES).map(([tab, name]) => h("button", { class: "dl-button", "data-tab": tab, onclick: () => show(tab, null) },
		span(name), span(short(about.counts?.[tab] ?? 0), "dl-badge")));
	const names = Object.entries(about.changed_columns ?? {});
	const column = select(["", ...names.map(([name]) => name)], "", (value) => show("changed", value || null), "Changed column", "all columns");
	[...column.options].forEach((option, i) => i && (option.textContent = `${visible(names[i - 1][0])} (${short(names[i - 1][1])})`));
	const mark = () => {
		tabs.forEach((tab) => pressed(tab, tab.dataset.tab === core.state.tab));
		column.hidden = core.state.tab !== "changed" || !names.length;
		column.value = core.state.column ?? "";
	};
	core.on("state", mark);
	core.on("count", mark);
	mark();
	return div("dl-top", div("dl-bar dl-bar-2", div("dl-name", span(about.title ?? "Difference", "dl-title"),
		span(`${brief(about.a)} → ${brief(about.b)}`, "dl-pill")), h("div", { class: "dl-group", role: "group", "aria-label": "Kind of change" }, ...tabs), column, space(), ...tools));
}

/** A pair large: side by side with one zoom, or behind a swipe. */
class PairDetail extends Detail {
	build() {
		this.swiping = memory.read("swipe", false);
		super.build();
		const { core } = this;
		this.other = new Viewer(core, { name: "After", moved: (view) => this.link(this.viewer, view) });
		this.viewer.moved = (view) => this.link(this.other, view);
		this.swipe = slider("Share of the version before", { value: "50", oninput: () => {
			this.viewer.split = Number(this.swipe.value) / 100;
			this.viewer.later();
		} });
		this.boxing.remove();
		this.alike.remove();
		this.mode = textButton("Swipe", () => this.setMode(!this.swiping), { "aria-pressed": "false" });
		this.tick.parentElement.replaceWith(this.mode, this.swipe);
		this.viewer.element.parentElement.append(this.other.element);
		this.setMode(this.swiping);
	}

	show(position) {
		this.replies = null;
		return super.show(position);
	}

	link(viewer, view) {
		viewer.view = view;
		viewer.later();
	}

	setMode(swiping) {
		this.swiping = swiping;
		memory.write("swipe", swiping);
		pressed(this.mode, swiping);
		this.swipe.hidden = !swiping;
		this.other.element.hidden = swiping;
		if (this.replies) this.pair();
	}

	async read(position, size) {
		const ask = (side) => this.core.latest("detail", { p: position, size, side }, { lane: side, bound: true }).catch((error) => {
			if (error instanceof Stale) throw error;
			return null;
		});
		const replies = await Promise.all([ask("a"), ask("b")]);
		if (position !== this.position) return;
		this.replies = replies;
		await this.pair();
	}

	async pair() {
		const { replies } = this;
		const cells = await Promise.all(replies.map(async (reply) => reply?.columns ? (await readRow(reply, this.core.settings.picture, 1024)).cell : null));
		const [a, b] = cells;
		if (replies !== this.replies) return cells.forEach((cell) => cell && dropCell(cell)); // another pair is shown by now
		const one = this.core.state.tab !== "changed" || !a || !b;
		this.other.element.hidden = this.swiping || one;
		if (this.swiping && !one) {
			this.viewer.show(a, b);
			this.other.show(null);
		} else {
			this.viewer.show(a ?? b);
			this.other.show(one ? null : b);
		}
		this.sayUnmarked(...replies);
		this.fill(...replies);
	}

	/** Both values of every column, those that differ marked. */
	fill(a, b) {
		const names = [...new Set([...(a?.columns ?? []), ...(b?.columns ?? [])].map((column) => column.name))];
		const valueOf = (reply, name) => reply?.columns?.find((column) => column.name === name);
		this.info.inert = false;
		this.info.replaceChildren(h("dl", {}, ...names.map((name) => {
			const [before, after] = [valueOf(a, name), valueOf(b, name)];
			const { kind } = after ?? before ?? {};
			const differs = (after?.changed ?? before?.changed) ?? before?.text !== after?.text;
			return h("div", { class: differs && a && b ? "dl-field dl-staged" : "dl-field" }, h("dt", {}, span(name), quiet((after ?? before)?.type ?? "")),
				h("dd", { class: "dl-change" }, ...(differs && a && b ? [this.core.cell("del", name, before?.text ?? "–", kind), "→", this.core.cell("ins", name, after?.text ?? "–", kind)] : [this.core.cell("span", name, (after ?? before)?.text ?? "–", kind)])));
		})));
	}

	close() {
		this.replies = null;
		this.other.close();
		super.close();
	}
}

// ---- the whole

const KEYS = {
	Look: "← → ↑ ↓|Move between rows|Enter|Open the row|Home / End|First and last of the line|Ctrl Home / End|First and last row|Page Up / Down|One page|+ / −|Larger and smaller cards|o|Show or hide all overlays",
	Find: "/|Type a query|Ctrl Space|Complete what is typed|↑ ↓|Queries asked before|f|Filters|m|Map|v|Versions|s|Rows to review|r|Rows most like this one",
	Select: "Space|Select or deselect|Shift + arrows|Extend the selection|Ctrl A|Select all that match|i|Invert|Esc|Select nothing|Drag|Lasso",
	Edit: "0 … 9|Set the class: that of this name, or the first to the ninth|l|Choose the class by name|a|Accept the suggested class|t|Add or remove a tag|e|Edits|Ctrl Z|Undo|Ctrl Shift Z|Redo",
	"In a row": "← →|Previous and next row|+ / −|Zoom|0|Fit, where no class is named 0|b|Edit boxes|Delete|Remove the box|Esc|Back to the grid",
};

/** Toolbar, panels, grid and detail of a dataset. */
class Shell {
	constructor(core, /** @type {HTMLElement} */ el) {
		this.core = core;
		this.root = h("div", { class: "dl-browser", role: "region", "aria-label": `Dataset ${core.about.title ?? ""}` });
		core.root = this.root;
		core.noSelection = core.compares;
		this.live = h("div", { class: "dl-live", role: "status", "aria-live": "polite" });
		this.grid = core.compares ? diffGrid(core, (p) => this.openRow(p)) : new Grid(core, { open: (p) => this.openRow(p) });
		this.banner = new Banner(core);
		this.side = new Side(core, this.panels());
		this.main = div("dl-main", this.grid.element);
		this.root.append(this.top(), this.banner.element, div("dl-body", this.side.element, this.side.splitter, this.main), this.foot(), this.live);
		el.append(this.root);
		this.listen();
		followTheme(this.root, core, () => {
			core.palette = this.grid.palette = paletteOf(this.root);
			core.emit("theme");
			this.grid.later();
		});
		this.refresh();
		this.grid.resized();
	}

	panels() {
		const { core } = this;
		if (core.compares) return {};
		/** @type {Record<string, any>} */
		const panels = { facets: new Facets(core) };
		if (core.about.embeddings?.length) panels.map = new MapPanel(core);
		if (!core.static) Object.assign(panels, { versions: new Versions(core), edits: new Edits(core) });
		return panels;
	}

	// toolbar

	top() {
		const { core } = this;
		if (core.compares) return diffBar(core, this.zoomControl(), this.layersButton());
		this.query = new QueryBox(core);
		this.version = h("button", { class: "dl-pill", title: "Branch, tag or commit shown (v)", onclick: () => this.side.toggle("versions"), disabled: core.static });
		this.title = span(core.about.title ?? "Dataset", "dl-title", core.about.url);
		const saver = iconButton("save", "Save as a named view", () => this.views());
		const theme = iconButton("theme", "Light or dark", () => core.set({ theme: this.root.dataset.theme === "dark" ? "light" : "dark" }));
		const help = iconButton("help", "Keys (?)", () => this.help());
		this.count = span("", "dl-count");
		const suspects = !core.static && labelled("suspects", "Review", "Rank rows whose labels look wrong (s)", () => this.suspects());
		return div("dl-top",
			div("dl-bar", div("dl-name", this.title, this.version), this.query.element, div("dl-group", !core.static && saver, theme, help)),
			h("div", { class: "dl-bar dl-bar-2", role: "toolbar", "aria-label": "View" }, div("dl-group", ...this.side.buttons()), suspects, this.count,
				space(), this.layersButton(), this.captionButton(), this.zoomControl()));
	}

	zoomControl() {
		const { core } = this;
		const steps = Math.log(LARGEST / SMALLEST);
		const size = slider("Size of the cards", { oninput: () => core.set({ size: Math.round(SMALLEST * Math.exp((size.value / 100) * steps)) }) });
		keepKeys(size);
		const show = () => {
			size.value = Math.round((100 * Math.log(core.settings.size / SMALLEST)) / steps);
			size.setAttribute("aria-valuetext", `${core.settings.size} pixels`);
		};
		core.on("settings", show);
		show();
		return div("dl-group dl-zoom", iconButton("minus", "Smaller cards (−)", () => this.grid.zoom(0.8)), size,
			iconButton("plus", "Larger cards (+)", () => this.grid.zoom(1.25)));
	}

	/** Toggle and opacity of every overlay, and which column is the picture. */
	layersButton() {
		const { core } = this;
		const columns = overlayColumns(core);
		const pictures = core.kinds("image", "mask", "video");
		const button = labelled("layers", "Overlays", "Overlays (o)");
		button.hidden = !columns.length && pictures.length < 2;
		popover(button, "Overlays", () => [
			...columns.map((column, layer) => this.layerRow(column, layer)),
			columns.length > 0 && core.column(core.settings.picture)?.stored === false && quiet(`Not drawn over ${core.settings.picture}: the query computes it.`, "p"),
			pictures.length > 1 && h("label", { class: "dl-row-field" }, span("Picture"),
				select(pictures.map((column) => column.name), core.settings.picture ?? pictures[0].name, (picture) => core.set({ picture }), "Picture")),
		].filter(Boolean));
		return button;
	}

	layerRow(column, layer) {
		const { core } = this;
		const put = (patch) => setOverlays(core, [column], patch);
		const { shown, opacity } = overlay(core, column.name);
		const line = h("span", { class: "dl-layer-line", "data-dash": layer % 3, "aria-hidden": "true" });
		return div("dl-layer",
			h("label", {}, h("input", { type: "checkbox", "aria-label": `Show ${column.name}`, checked: shown, onchange: (event) => put({ shown: event.target.checked }) }), line, span(column.name), quiet(column.kind)),
			slider(`Opacity of ${column.name}`, { value: Math.round(100 * opacity), oninput: (event) => put({ opacity: event.target.value / 100 }) }));
	}

	captionButton() {
		const { core } = this;
		const button = labelled("text", "Captions", "Text under the cards");
		popover(button, "Captions", () => core.columns.filter((column) => !["image", "video", "audio", "mask", ...OVERLAYS].includes(column.kind)).map((column) => {
			const put = (event) => {
				const now = captionColumns(core);
				core.set({ caption: event.target.checked ? [...now, column.name] : now.filter((name) => name !== column.name) });
			};
			return check(column.name, { checked: captionColumns(core).includes(column.name), onchange: put }, quiet(column.kind));
		}));
		return button;
	}

	// foot: what the selection can do

	foot() {
		const { core } = this;
		if (core.compares) {
			const { counts, rows_each: most } = core.about;
			const copied = Math.max(...Object.values(counts ?? {})) > most && `The first ${grouped(most)} rows of each kind`;
			return div("dl-foot", quiet(dotted(copied, "Enter opens a pair", "? shows the keys")));
		}
		this.chosen = span("", "dl-chosen-count");
		this.all = link("Select all", () => core.select("all"));
		this.none = link("Clear", () => core.select("none"));
		this.invert = link("Invert", () => core.select("invert"));
		this.relabel = labelled("edits", "Relabel", "Set the class (l, or a digit)", () => this.chooseClass());
		this.accept = labelled("check", "Accept suggested", "Set the class to what is suggested (a)", () => this.acceptSuggested());
		this.tagging = labelled("tag", "Tag", "Add or remove a tag (t)", () => this.chooseTag());
		this.commit = primary("", () => this.side.show("edits"));
		return div("dl-foot", this.chosen, this.all, this.none, this.invert, space(), this.accept, this.relabel, this.tagging, this.commit);
	}

	refresh() {
		const { core } = this;
		const { rows, ms } = core.state;
		const { total } = core.about;
		if (core.compares) return;
		say(this.count, `${rows === total || total === undefined ? grouped(rows) : `${grouped(rows)} of ${grouped(total)}`} row${rows === 1 ? "" : "s"}${ms ? ` · ${short(ms)} ms` : ""}`);
		say(this.version, brief(core.about.branch || core.about.name || core.about.version || "latest"));
		say(this.title, core.about.title ?? "Dataset");
		this.version.hidden = !core.about.version && !core.about.branch;
		this.version.dataset.writable = String(core.writable);
		this.version.title = core.writable ? "Branch shown (v)" : "Read only: branch, tag or commit shown (v)";
		const { count } = core.selection;
		say(this.chosen, count ? `${grouped(count)} selected` : "Nothing selected");
		this.all.hidden = rows === 0 || count === rows;
		say(this.all, `Select all ${grouped(rows)}`);
		this.none.hidden = this.invert.hidden = !count;
		const editable = core.writable && rows > 0;
		this.relabel.hidden = !editable || !core.labelColumns.length;
		this.accept.hidden = this.relabel.hidden || !count || !core.about.suggested;
		this.tagging.hidden = !editable;
		this.commit.hidden = !core.stagedCount || !core.writable;
		say(this.commit, `Commit ${counted(core.stagedRows, "row")} …`);
	}

	// events

	listen() {
		const { core } = this;
		for (const name of ["state", "count", "about", "selection", "staged_rows"]) core.on(name, () => this.refresh());
		core.on("say", (text) => say(this.live, text));
		core.on("grid", () => this.detail?.close());
		core.on("focus grid", () => this.grid.scroller.focus());
		core.on("open", (position) => this.openRow(position));
		core.on("busy", (busy) => this.root.classList.toggle("dl-working", busy));
		core.on("about", () => this.grid.relayout());
		core.on("state", ({ same }) => {
			if (same && this.detail?.position < core.state.rows) this.detail.load();
			else this.detail?.close();
		});
		this.root.addEventListener("keydown", (event) => this.key(event));
		// JupyterLab takes keys before the page does, but for elements that say so
		this.root.addEventListener("focusin", (event) => event.target.setAttribute("data-lm-suppress-shortcuts", "true"));
	}

	key(event) {
		const typing = event.target.closest?.("input, textarea, select");
		if (event.defaultPrevented || typing || event.altKey) return;
		const whole = event.ctrlKey || event.metaKey;
		const name = event.key.length === 1 ? event.key.toLowerCase() : event.key;
		const act = whole ? { z: () => this.core.edit(event.shiftKey ? "redo" : "undo"), y: () => this.core.edit("redo") }[name] : this.action(name);
		if (!act) return;
		handled(event);
		act();
	}

	/** What a single key does. @returns {(() => void)|undefined} */
	action(name) {
		const { core, side, grid } = this;
		const index = this.core.classOf(name);
		if (index >= 0) return () => this.setClass(index);
		return {
			"?": () => this.help(), "+": () => grid.zoom(1.25), "=": () => grid.zoom(1.25), "-": () => grid.zoom(0.8), o: () => this.toggleOverlays(),
			Escape: () => this.escape(),
			...(core.compares ? {} : {
				"/": () => this.query.input.focus(), f: () => side.toggle("facets"), m: () => side.toggle("map"), v: () => side.toggle("versions"),
				e: () => side.toggle("edits"), s: () => this.suspects(), r: () => core.state.rows && core.alike()[1](), l: () => this.chooseClass(), t: () => this.chooseTag(), a: () => this.acceptSuggested(), i: () => core.select("invert"),
			}),
		}[name];
	}

	escape() {
		if (this.detail) this.detail.close();
		else if (!this.core.noSelection && this.core.selection.count) this.core.select("none");
	}

	toggleOverlays() {
		const { core } = this;
		const columns = overlayColumns(core);
		const shown = columns.some((column) => overlay(core, column.name).shown);
		setOverlays(core, columns, { shown: !shown });
		core.say(shown ? "Overlays hidden" : "Overlays shown");
	}

	// edits of the selection

	/** @param {number|string} value  a class, or the name of one that is not there yet */
	setClass(value, column = this.core.labels, rows = this.core.toEdit()) {
		const { core } = this;
		if (!rows) return;
		core.stage(rows, column.name, value)
			.then((reply) => reply && core.say(`${column.name} of ${counted(rows.count, "row")} set to ${column.classes?.[value] ?? value}`));
	}

	chooseClass() {
		const column = this.core.labels;
		const rows = column && this.core.toEdit();
		if (!rows) return;
		chooser(this.root, `Set ${column.name} of ${counted(rows.count, "row")}`, column.classes ?? [], ({ value }) => this.setClass(value, column, rows), { free: true });
	}

	/** The labels that a ranking of suspects suggests. */
	acceptSuggested() {
		const { suggested } = this.core.about;
		const rows = suggested && this.core.toEdit();
		if (rows) this.core.stage(rows, suggested.label, suggested.column, "take");
	}

	chooseTag() {
		const name = this.core.about.tags ?? null;
		const column = this.core.column(name) ?? { name, classes: [] };
		const rows = this.core.toEdit();
		if (!rows) return;
		const note = check("Remove instead of add");
		chooser(this.root, `Tag ${counted(rows.count, "row")}${column.name ? ` in ${column.name}` : ""}`, column.classes ?? [], ({ value }) =>
			this.core.stage(rows, column.name, value, note.firstChild.checked ? "remove_tag" : "add_tag"), { free: !column.classes?.length, note });
	}

	// rows and dialogs

	openRow(position) {
		const { core } = this;
		if (position < 0 || position >= core.state.rows) return;
		core.active = position;
		this.grid.reveal(position);
		if (this.detail) return this.detail.show(position);
		this.detail = new (core.compares ? PairDetail : Detail)(core, () => {
			this.detail = null;
			this.grid.element.inert = false;
			this.grid.scroller.focus({ preventScroll: true });
		});
		this.grid.element.inert = true;
		this.main.append(this.detail.element);
		this.detail.show(position);
		this.detail.element.focus({ preventScroll: true });
	}

	suspects() {
		const { suspects: choices = [], review_needs: needs } = this.core.about;
		if (this.core.static) return;
		const words = {
			embedding: ({ label, column }) => `${label}: labels unlike their neighbours in ${column}`,
			scores: ({ label, column }) => `${label}: labels that the scores in ${column} doubt`,
			agreement: ({ label, column }) => `${label} against ${column}: least agreement first`,
		};
		const buttons = choices.map((one) => choice("suspects", words[one.by]?.(one) ?? `${one.label} by ${one.by}`, "", () => {
			close();
			this.core.attempt("suspects", one);
		}));
		const body = buttons.length ? [quiet("Ranks the rows shown, most doubtful first.", "p"), ...buttons] : [prose(needs ?? "")];
		const close = dialog(this.root, "Rows to review", [div("dl-dialog-body", ...body)]);
	}

	/** Saves the query as a view, and shows the views there are. */
	async views() {
		const { core } = this;
		const list = div("dl-choices", quiet("Looking for saved views …", "p"));
		const overwrite = check("Replace a view of that name");
		ask(this.root, "Saved views", {
			label: "Name for what is shown now", action: "Save", extra: h("div", {}, overwrite, list),
		}, async (name) => {
			try {
				await core.ask("save_view", { name, overwrite: overwrite.firstChild.checked });
				core.note(`Saved as the view “${name}”.`);
			} catch (error) {
				core.failed(error);
			}
		});
		try {
			const { views } = await core.ask("views");
			list.replaceChildren(...views.map((view) => choice("save", view.name, typeof view.rows === "number" ? counted(view.rows, "row") : "", () => {
				this.root.querySelector(".dl-shade")?.dispatchEvent(new CustomEvent("dl-close"));
				core.attempt("show_view", { name: view.name });
			})));
			if (!views.length) list.append(quiet("No view is saved yet.", "p"));
		} catch (error) {
			list.replaceChildren(quiet(error.message, "p"));
		}
	}

	help() {
		const lines = (text) => text.split("|").map((part, i) => (i % 2 ? h("dd", { text: part }) : h("dt", {}, kbd(part))));
		dialog(this.root, "Keys", [div("dl-dialog-body dl-keys", ...Object.entries(KEYS).map(([title, text]) => h("section", {}, h("h3", { text: title }), h("dl", {}, ...lines(text)))))], { wide: true });
	}
}

function select(/** @type {string[]} */ names, value, chosen, label, none = "") {
	const field = h("select", { class: "dl-input", "aria-label": label, onchange: () => chosen(field.value) }, ...names.map((name) => h("option", { value: name, text: name || none })));
	field.value = value;
	keepKeys(field);
	return field;
}

const PANELS = { facets: ["filter", "Filters", "f"], map: ["map", "Map", "m"], versions: ["versions", "Versions", "v"], edits: ["edits", "Edits", "e"] };
const PANEL_WIDTH = { facets: 260, map: 460, versions: 300, edits: 300 };

/** The panel at the left: one at a time, as wide as the reader makes it. */
class Side {
	constructor(core, /** @type {Record<string, any>} */ panels) {
		this.core = core;
		this.panels = panels;
		this.widths = memory.read("widths", {});
		this.element = h("aside", { class: "dl-side", hidden: true });
		this.splitter = h("div", {
			class: "dl-splitter", role: "separator", tabindex: "0", "aria-orientation": "vertical", "aria-label": "Width of the panel", hidden: true,
			onpointerdown: (event) => this.split(event), onkeydown: (event) => this.nudge(event),
		});
		core.on("settings", () => this.apply());
		core.on("attached", () => this.panels[this.shown]?.open?.());
		core.on("staged_rows", () => this.mark());
		core.on("staged", () => this.mark());
		this.tabs = {};
	}

	buttons() {
		const made = Object.keys(this.panels).map((name) => {
			const [picture, title, key] = PANELS[name];
			this.tabs[name] = labelled(picture, title, `${title} (${key})`, () => this.toggle(name), { "aria-pressed": "false" });
			if (name === "edits") this.tabs[name].append(h("span", { class: "dl-badge", hidden: true }));
			return this.tabs[name];
		});
		this.apply();
		this.mark();
		return made;
	}

	mark() {
		const badge = this.tabs.edits?.querySelector(".dl-badge");
		if (!badge) return;
		badge.hidden = !this.core.stagedCount;
		say(badge, short(this.core.stagedRows));
	}

	toggle(name) {
		if (name in this.panels) this.core.set({ panel: this.core.settings.panel === name ? null : name });
	}

	show(name) {
		if (this.core.settings.panel !== name) this.toggle(name);
		requestAnimationFrame(() => this.element.querySelector("input, textarea")?.focus());
	}

	apply() {
		const name = this.core.settings.panel in this.panels ? this.core.settings.panel : null;
		if (name === this.shown) return;
		this.shown = name;
		this.element.hidden = this.splitter.hidden = !name;
		for (const [other, tab] of Object.entries(this.tabs)) pressed(tab, other === name);
		if (!name) return this.element.replaceChildren();
		const panel = this.panels[name];
		this.element.setAttribute("aria-label", panel.title);
		this.element.replaceChildren(div("dl-side-head", heading(panel.title), panel.tools ?? "", iconButton("close", "Close the panel", () => this.toggle(name))), panel.element);
		this.width(this.widths[name] ?? PANEL_WIDTH[name]);
		queueMicrotask(() => panel.open?.());
	}

	width(px) {
		const wide = Math.round(clamp(px, 180, 900));
		this.widths[this.shown] = wide;
		this.element.style.setProperty("--dl-side", `${wide}px`);
		this.splitter.setAttribute("aria-valuenow", String(wide));
		this.splitter.setAttribute("aria-valuemin", "180");
		this.splitter.setAttribute("aria-valuemax", "900");
	}

	split(event) {
		const before = this.element.offsetWidth;
		event.preventDefault();
		drag(event, ({ dx }) => this.width(before + dx), () => memory.write("widths", this.widths));
	}

	nudge(event) {
		const step = { ArrowLeft: -24, ArrowRight: 24 }[event.key];
		if (!step) return;
		handled(event);
		this.width(this.element.offsetWidth + step);
		memory.write("widths", this.widths);
	}
}

// ---- the static page

/** The face of a notebook's model over data in the page, without a kernel. */
export class StaticModel extends Listeners {
	/** @param {any} data @param {Uint8Array} bytes */
	constructor(data, bytes) {
		super();
		this.data = data;
		this.bytes = bytes;
		/** @type {Record<string, any>} */
		this.traits = { settings: {}, staged: [], query: "", _selected: packPositions(new Uint32Array(0)), ...data.traits };
		this.all = data.cells.map((_, i) => i);
		this.shown = this.all;
		if (this.traits.state.tab) this.shown = this.pairs(this.traits.state);
		/** @type {Map<string, {kind: string, values: any[]}>} */
		this.filters = new Map();
	}

	get(name) { return this.traits[name]; }
	save_changes() {}

	set(name, value) {
		this.traits[name] = value;
		for (const handler of this.of(`change:${name}`)) handler();
	}

	send(message) {
		if (!message.req) return;
		queueMicrotask(() => {
			const answer = this.answer(message);
			const reply = answer ? { ok: true, ...answer } : { ok: false, error: { kind: "Static", message: "This page is a copy of some rows: that needs the notebook." } };
			const { at, ...fields } = reply;
			for (const handler of this.of("msg:custom")) handler({ type: "reply", req: message.req, gen: message.gen, ...fields }, [at ?? this.bytes]);
		});
	}

	answer(message) {
		const rows = this.shown.length;
		switch (message.type) {
			case "hello": return { probe: 4, at: Uint8Array.of(1, 2, 3, 4) };
			case "cells": {
				const wanted = message.positions ?? Array.from({ length: Math.max(0, Math.min(message.stop, rows) - message.start) }, (_, i) => message.start + i);
				return { cells: wanted.filter((p) => p < rows).map((p) => ({ ...this.data.cells[this.shown[p]], p })) };
			}
			case "detail": {
				const original = this.data.cells[this.shown[message.p]];
				const detail = this.data.details?.[original.p + (message.side ?? "")];
				return detail ? { ...detail, position: message.p } : null;
			}
			case "facets": return { facets: (this.data.facets?.facets ?? []).map((facet) => this.count(facet)), ms: 0 };
			case "filter": return this.filter(message);
			case "points": return this.points(message);
			case "select": return this.select(message.what);
			case "tab": return this.show(this.pairs(message), { tab: message.tab, column: message.column });
			default: return null;
		}
	}

	/** The map of the rows that are shown. */
	points({ column, colour }) {
		const maps = this.data.points?.[column];
		const map = maps?.[colour ?? ""] ?? maps?.[""];
		if (!map || this.shown === this.all) return map;
		const [xy, rows, values] = [map.v.xy, map.v.positions, map.v.colour].map((at) => at && numbersAt(this.bytes, at, Uint32Array));
		const of = this.shown.length;
		const places = new Map(this.shown.map((row, place) => [row, place]));
		const kept = [...rows.keys()].filter((i) => places.has(rows[i]));
		const n = kept.length;
		const at = new Uint8Array(Uint32Array.from([
			...kept.flatMap((i) => [xy[2 * i], xy[2 * i + 1]]), ...kept.map((i) => places.get(rows[i])), ...(values ? kept.map((i) => values[i]) : []),
		]).buffer);
		return { ...map, n, of, at, v: { xy: [0, 8 * n], positions: [8 * n, 4 * n], colour: values && [12 * n, 4 * n] } };
	}

	/** Rows of two versions that changed, perhaps in one column, came or went. */
	pairs({ tab, column }) {
		return this.all.filter((i) => this.data.cells[i].tab === tab && (!column || this.data.cells[i].changed.includes(column)));
	}

	/** Other rows. */
	show(/** @type {number[]} */ shown, more = {}) {
		this.shown = shown;
		this.set("_selected", packPositions(new Uint32Array(0)));
		this.set("state", { ...this.traits.state, ...more, generation: this.traits.state.generation + 1, rows: shown.length, ms: 0 });
		return { rows: shown.length, query: "" };
	}

	select(what) {
		const rows = this.shown.length;
		const before = Selection.of(rows, unpackPositions(this.traits._selected));
		const wanted = { all: () => true, none: () => false, invert: (p) => !before.has(p) }[what];
		this.set("_selected", packPositions(Uint32Array.from(this.shown.keys()).filter(wanted)));
		return { rows };
	}

	/** Whether a row passes all filters. */
	passes(i) {
		const values = this.data.cells[i].facet ?? {};
		return [...this.filters].every(([expression, { passes }]) => passes(values[expression]));
	}

	filter({ expression, kind, op, values }) {
		const before = this.filters.get(expression)?.values ?? [];
		const after = op === "clear" ? [] : op === "toggle" && !isRange(kind) ? (before.includes(values[0]) ? before.filter((v) => v !== values[0]) : [...before, values[0]]) : values;
		if (after.length) this.filters.set(expression, { values: after, passes: isRange(kind) ? this.ranged(expression, after) : (value) => after.some((choice) => (Array.isArray(value) ? value.includes(choice) : value === choice)) });
		else this.filters.delete(expression);
		return this.show(this.filters.size ? this.all.filter((i) => this.passes(i)) : this.all);
	}

	/** Whether a number is in a range: bars by their place, as they were counted. */
	ranged(expression, range) {
		const { edges } = this.data.facets.facets.find((facet) => facet.expression === expression);
		const [low, high] = range.map((end) => edges.indexOf(end));
		if (low >= 0 && high >= 0) return ([place]) => place !== null && place >= low && place < high;
		return ([, number]) => inRange(number, range);
	}

	/** The facet with counts of what is embedded. */
	count(facet) {
		const rows = this.shown.map((i) => this.data.cells[i].facet?.[facet.expression]);
		const chosen = this.filters.get(facet.expression)?.values ?? null;
		const places = facet.edges ? rows.map(([place]) => place) : rows.flatMap((value) => (Array.isArray(value) ? [...new Set(value)] : value));
		const tally = new Map();
		for (const place of places) tally.set(place, (tally.get(place) ?? 0) + 1);
		if (facet.edges) return { ...facet, chosen, shown: facet.all.map((_, place) => tally.get(place) ?? 0) };
		return { ...facet, chosen, values: facet.values.map(([value, name, all, , colour]) => [value, name, all, tally.get(value) ?? 0, colour]) };
	}
}

/** @param {{model: any, el: HTMLElement, signal?: AbortSignal}} host */
function render({ model, el, signal }) {
	const core = new Core(model);
	const shell = new Shell(core, el);
	core.hello().catch((error) => core.failed(error));
	const close = () => {
		core.emit("settle");
		core.closing.abort();
		shell.root.remove();
	};
	signal?.addEventListener("abort", close);
	return close;
}

export default { render };
