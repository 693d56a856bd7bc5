// Numbers and base64 in buffers of bytes.

/** @import { Part, Span } from "./messages.js" */

/** @typedef {ArrayBuffer|ArrayBufferView<ArrayBuffer>|null|undefined} Binary  the forms in which notebook front ends pass bytes */

/** Returns the bytes of a binary value. @param {Binary} value @returns {Uint8Array<ArrayBuffer>} */
export function asBytes(value) {
	if (!value) return new Uint8Array(0);
	if (value instanceof ArrayBuffer) return new Uint8Array(value);
	return new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
}

export function fromBase64(/** @type {string} */ text) {
	const raw = atob(text);
	const bytes = new Uint8Array(raw.length);
	for (let i = 0; i < raw.length; i++) bytes[i] = raw.charCodeAt(i);
	return bytes;
}

/**
 * Returns numbers from a packed buffer, copied if they are not aligned to four bytes.
 * @template {Int32Array|Uint32Array|Float32Array} T
 * @param {Uint8Array<ArrayBuffer>} bytes @param {Part|Span} at @param {new (buffer: ArrayBuffer, offset?: number, length?: number) => T} Kind
 */
export function numbersAt(bytes, at, Kind) {
	const [offset, length] = at;
	const start = bytes.byteOffset + offset;
	if (start % 4 === 0) return new Kind(bytes.buffer, start, length >> 2);
	return new Kind(bytes.slice(offset, offset + length).buffer);
}
