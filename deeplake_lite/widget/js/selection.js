// The selected positions, and their binary form for Python.

import { asBytes } from "./bytes.js";
/** @import { Binary } from "./bytes.js" */

/** A set of selected rows, with one bit per row, so that a million rows use 125 kB. */
export class Selection {
	constructor(rows = 0) {
		this.rows = rows;
		this.count = 0;
		this.bits = new Uint32Array(0);
	}

	/** @param {Iterable<number>} positions */
	static of(/** @type {number} */ rows, positions) {
		const made = new Selection(rows);
		for (const position of positions) made.set(position, true);
		return made;
	}

	has(/** @type {number} */ position) {
		return ((this.bits[position >>> 5] ?? 0) & (1 << (position & 31))) !== 0;
	}

	/** @param {number} position @param {boolean} on */
	set(position, on) {
		if (position < 0 || position >= this.rows || this.has(position) === on) return;
		if (!this.bits.length) this.bits = new Uint32Array(Math.ceil(this.rows / 32));
		this.bits[position >>> 5] ^= 1 << (position & 31);
		this.count += on ? 1 : -1;
	}

	toggle(/** @type {number} */ position) {
		this.set(position, !this.has(position));
	}

	/** Sets the rows from `a` to `b` inclusive, in either order. @param {number} a @param {number} b */
	range(a, b, on = true) {
		for (let i = Math.min(a, b); i <= Math.max(a, b); i++) this.set(i, on);
	}

	/** Returns the selected positions in ascending order. */
	positions() {
		const positions = new Uint32Array(this.count);
		let n = 0;
		for (let i = 0; i < this.bits.length; i++) {
			for (let word = this.bits[i]; word; word &= word - 1) {
				positions[n++] = i * 32 + 31 - Math.clz32(word & -word);
			}
		}
		return positions;
	}
}

/** Packs positions as little-endian uint32. */
export function packPositions(/** @type {Uint32Array} */ positions) {
	const view = new DataView(new ArrayBuffer(positions.length * 4));
	for (let i = 0; i < positions.length; i++) view.setUint32(i * 4, positions[i], true);
	return view;
}

export function unpackPositions(/** @type {Binary} */ packed) {
	const bytes = asBytes(packed);
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const positions = new Uint32Array(bytes.byteLength >> 2);
	for (let i = 0; i < positions.length; i++) positions[i] = view.getUint32(i * 4, true);
	return positions;
}

/** Joins ascending positions into runs [start, stop). */
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
