// What is painted on a canvas, at most once a frame and as sharp as the screen.

/** Pixels of the screen in one of the page. */
export const density = () => globalThis.devicePixelRatio || 1;

/** A canvas as sharp as the screen; returns its context in CSS pixels. */
export function sharpen(/** @type {HTMLCanvasElement} */ canvas, width, height) {
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

/** What is drawn anew once a frame, when something changed. */
export class Painted {
	later() {
		this.due ??= requestAnimationFrame(() => {
			this.due = undefined;
			if (this.element?.isConnected) this.draw();
		});
	}
}
