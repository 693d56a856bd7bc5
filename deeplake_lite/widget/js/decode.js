// Images and masks from their bytes.

import { colourMask } from "./colours.js";

export const blobOf = (bytes, [offset, length, mime]) => new Blob([bytes.subarray(offset, offset + length)], { type: mime });

/** Decodes a file. Of a Blob, another process of the browser has to hear first: half of the time. */
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

/** A mask in the colours of its classes. */
export async function readMask(bytes, at, of) {
	const grey = await createImageBitmap(blobOf(bytes, at), { colorSpaceConversion: "none", premultiplyAlpha: "none" });
	const canvas = new OffscreenCanvas(grey.width, grey.height);
	const context = canvas.getContext("2d", { willReadFrequently: true });
	context.drawImage(grey, 0, 0);
	const pixels = context.getImageData(0, 0, grey.width, grey.height);
	grey.close();
	colourMask(pixels.data, of);
	return createImageBitmap(pixels);
}
