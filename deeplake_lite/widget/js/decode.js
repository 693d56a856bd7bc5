// Functions that decode images and masks.

import { colourMask } from "./colours.js";
/** @import { Span } from "./messages.js" */

export const blobOf = (/** @type {Uint8Array<ArrayBuffer>} */ bytes, /** @type {Span} */ [offset, length, mime]) => new Blob([bytes.subarray(offset, offset + length)], { type: mime });

/**
 * Decodes an image file. Passing a Blob would double the time, because web browsers send it to another process first.
 * @param {Uint8Array<ArrayBuffer>} bytes @param {Span} at
 */
export async function readPicture(bytes, at) {
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

/** Decodes a mask, and colours it by class. @param {Uint8Array<ArrayBuffer>} bytes @param {Span} at @param {number[]|undefined} of */
export async function readMask(bytes, at, of) {
	const grey = await createImageBitmap(blobOf(bytes, at), { colorSpaceConversion: "none", premultiplyAlpha: "none" });
	const canvas = new OffscreenCanvas(grey.width, grey.height);
	const context = canvas.getContext("2d", { willReadFrequently: true });
	if (!context) throw new Error("A mask cannot be drawn, because this page has too many canvases. Close some views.");
	context.drawImage(grey, 0, 0);
	const pixels = context.getImageData(0, 0, grey.width, grey.height);
	grey.close();
	colourMask(pixels.data, of);
	return createImageBitmap(pixels);
}
