// Dragging boxes by their sides and corners.

import { clamp } from "./geometry.js";
/** @import { Box, Point } from "./geometry.js" */

/** @typedef {"n"|"s"|"w"|"e"|"nw"|"ne"|"sw"|"se"|"move"} Handle  a side, a corner, or the whole box */

/** Sorts the corners and clips them to the image. @param {Box} box @returns {Box} */
export function tidyBox([x0, y0, x1, y1]) {
	const clip = (/** @type {number} */ v) => clamp(v, 0, 1);
	return [clip(Math.min(x0, x1)), clip(Math.min(y0, y1)), clip(Math.max(x0, x1)), clip(Math.max(y0, y1))];
}

/**
 * Returns the handle of a box at a point: "nw" … "se" at its border, "move" inside, null outside.
 * @param {Box} box @param {number} x @param {number} y @param {Point} near  in the box's units
 * @returns {Handle|null}
 */
export function boxHandle([x0, y0, x1, y1], x, y, [nx, ny]) {
	if (x < x0 - nx || x > x1 + nx || y < y0 - ny || y > y1 + ny) return null;
	const vertical = Math.abs(y - y0) <= ny ? "n" : Math.abs(y - y1) <= ny ? "s" : "";
	const horizontal = Math.abs(x - x0) <= nx ? "w" : Math.abs(x - x1) <= nx ? "e" : "";
	return /** @type {Handle} */ (`${vertical}${horizontal}` || "move");
}

/**
 * Returns the box after its handle was dragged. Moving keeps the size, even at the border.
 * @param {Box} box @param {Handle} handle @param {number} dx @param {number} dy @returns {Box}
 */
export function dragBox(box, handle, dx, dy) {
	const [x0, y0, x1, y1] = box;
	if (handle === "move") {
		const mx = clamp(dx, -x0, 1 - x1);
		const my = clamp(dy, -y0, 1 - y1);
		return [x0 + mx, y0 + my, x1 + mx, y1 + my];
	}
	return tidyBox([handle.includes("w") ? x0 + dx : x0, handle.includes("n") ? y0 + dy : y0, handle.includes("e") ? x1 + dx : x1, handle.includes("s") ? y1 + dy : y1]);
}

/** Returns the box and handle at a point, preferring the active box, then the smallest. @param {Box[]} boxes @param {number} x @param {number} y @param {Point} near */
export function boxAt(boxes, x, y, near, active = -1) {
	const area = (/** @type {Box} */ b) => (b[2] - b[0]) * (b[3] - b[1]);
	const order = boxes.map((_, i) => i).sort((a, b) => area(boxes[a]) - area(boxes[b]));
	if (active >= 0 && active < boxes.length) order.unshift(active);
	for (const index of order) {
		const handle = boxHandle(boxes[index], x, y, near);
		if (handle) return { index, handle };
	}
	return null;
}
