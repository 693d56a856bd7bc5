// Canvases that are painted at most once per frame, at the resolution of the screen.

import { h } from "./elements.js";

/** Number of screen pixels per CSS pixel. */
export const density = () => globalThis.devicePixelRatio || 1;

/**
 * Returns the context of a canvas. Web browsers refuse a context if a page has used up its memory for canvases.
 * @param {HTMLCanvasElement} canvas
 */
function contextOf(canvas) {
	const context = canvas.getContext("2d");
	if (!context) throw new Error("This page has too many canvases to draw another one. Close some views.");
	return context;
}

/** Resizes a canvas to the pixels of the screen, and returns its context, which draws in CSS pixels. @param {HTMLCanvasElement} canvas @param {number} width @param {number} height */
export function sharpen(canvas, width, height) {
	const ratio = Math.min(2, density());
	const [w, hgt] = [Math.max(1, Math.round(width * ratio)), Math.max(1, Math.round(height * ratio))];
	if (canvas.width !== w || canvas.height !== hgt) {
		canvas.width = w;
		canvas.height = hgt;
		canvas.style.width = `${width}px`;
		canvas.style.height = `${height}px`;
	}
	const context = contextOf(canvas);
	context.setTransform(ratio, 0, 0, ratio, 0, 0);
	context.textBaseline = "middle";
	return context;
}

/** A canvas that is redrawn after changes, at most once per frame. */
export class Painted {
	constructor(/** @type {string} */ name) {
		this.canvas = h("canvas", { class: name, "aria-hidden": "true" });
		/** @type {number|undefined} */
		this.due = undefined;
	}

	draw() {}

	later() {
		this.due ??= requestAnimationFrame(() => {
			this.due = undefined;
			if (this.canvas.isConnected) this.draw();
		});
	}
}
