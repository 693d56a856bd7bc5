// Numbers and base64 in buffers of bytes.

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
