// Rectangles, polygons, points in polygons, and zooming.

/** @typedef {{scale: number, x: number, y: number}} View  the scale and offset of an image or a map */
/** @typedef {[number, number, number, number]} Box  x0, y0, x1, y1 in 0..1 of the image */
/** @typedef {{x: number, y: number, w: number, h: number}} Rect */
/** @typedef {[number, number]} Point */

/** Returns the number between `low` and `high` that is nearest to `v`. @param {number} v @param {number} low @param {number} high */
export const clamp = (v, low, high) => Math.min(high, Math.max(low, v));

/** Returns the largest rectangle with an image's aspect ratio inside another rectangle. @param {number} width @param {number} height @param {Rect} into @returns {Rect} */
export function fit(width, height, into, most = Infinity) {
	const scale = Math.min(into.w / Math.max(1, width), into.h / Math.max(1, height), most);
	const w = Math.max(1, Math.round(width * scale));
	const h = Math.max(1, Math.round(height * scale));
	return { x: into.x + Math.round((into.w - w) / 2), y: into.y + Math.round((into.h - h) / 2), w, h };
}

export function bounds(/** @type {Point[]} */ polygon) {
	let [x0, y0, x1, y1] = [Infinity, Infinity, -Infinity, -Infinity];
	for (const [x, y] of polygon) {
		x0 = Math.min(x0, x);
		y0 = Math.min(y0, y);
		x1 = Math.max(x1, x);
		y1 = Math.max(y1, y);
	}
	return [x0, y0, x1, y1];
}

/**
 * Whether a ray from a point towards the right crosses a side of a polygon.
 * @param {number} x @param {number} y @param {number} xi @param {number} yi @param {number} xj @param {number} yj
 */
const crosses = (x, y, xi, yi, xj, yj) => yi > y !== yj > y && x < ((xj - xi) * (y - yi)) / (yj - yi) + xi;

/** Whether a point is in a polygon, by the even-odd rule. @param {number} x @param {number} y @param {Point[]} polygon */
export function inPolygon(x, y, polygon) {
	let inside = false;
	for (let i = 0, j = polygon.length - 1; i < polygon.length; j = i++) {
		if (crosses(x, y, ...polygon[i], ...polygon[j])) inside = !inside;
	}
	return inside;
}

/** Removes points that are closer than `least` to the previous point. @param {Point[]} polygon @param {number} least */
export function simplify(polygon, least) {
	const kept = polygon.slice(0, 1);
	for (const point of polygon) {
		const last = kept[kept.length - 1];
		if (Math.hypot(point[0] - last[0], point[1] - last[1]) >= least) kept.push(point);
	}
	return kept;
}

/** Returns the indices of the points (x, y, x, y, …) in a polygon. For speed, its sides are sorted into horizontal bands. */
export function pointsInLasso(/** @type {Float32Array} */ xy, /** @type {Point[]} */ polygon, bands = 256) {
	if (polygon.length < 3) return new Uint32Array(0);
	const [x0, y0, x1, y1] = bounds(polygon);
	const bandOf = (/** @type {number} */ y) => clamp(Math.floor(((y - y0) / (y1 - y0 || 1)) * bands), 0, bands - 1);
	/** @type {number[][]} */
	const sides = Array.from({ length: bands }, () => []);
	polygon.forEach(([xi, yi], i) => {
		const [xj, yj] = polygon[(i || polygon.length) - 1];
		if (yi !== yj) for (let band = bandOf(Math.min(yi, yj)); band <= bandOf(Math.max(yi, yj)); band++) sides[band].push(xi, yi, xj, yj);
	});
	const indices = new Uint32Array(xy.length >> 1);
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
		if (inside) indices[n++] = i >> 1;
	}
	return indices.slice(0, n);
}

/** Finds the point nearest to a position. The points are sorted into the squares of a raster. */
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

	row(/** @type {number} */ v) {
		return clamp(Math.floor(v * this.side), 0, this.side - 1);
	}

	/** Returns the index of the nearest point within `radius`, or -1 if there is none. @param {number} x @param {number} y @param {number} radius */
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

/** The view in which the whole image or map is visible. */
export const WHOLE = { scale: 1, x: 0, y: 0 };

/** Returns the view after zooming by `by`, with the point under the pointer fixed. @param {View} view @param {number} px @param {number} py @param {number} by @param {[least: number, most: number]} range */
export function zoomAt(view, px, py, by, [least, most]) {
	const scale = clamp(view.scale * by, least, most);
	const ratio = scale / view.scale;
	return { scale, x: px - (px - view.x) * ratio, y: py - (py - view.y) * ratio };
}
