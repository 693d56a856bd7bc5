// Requests, decodes and caches the data of the visible cards.

import { readMask, readPicture } from "./decode.js";
import { Lru } from "./lru.js";
import { captionColumns, overlay, overlayColumns } from "./overlays.js";
import { Stale } from "./requests.js";

/** @import { Core } from "./core.js" */
/** @import { Cell } from "./messages.js" */

/**
 * A cell with its decoded images. `level` is the requested size of the images, and `fields` lists the requested columns.
 * A cell is `old` if its row may have been edited after the cell was read.
 * @typedef {Omit<Cell, "a"|"b"> & {
 *   level: number, fields: string, bytes: number, old?: boolean, broken?: boolean, bitmap?: ImageBitmap|null,
 *   tints?: Record<string, ImageBitmap|null>, a?: DecodedCell|null, b?: DecodedCell|null,
 * }} DecodedCell
 */

/** @typedef {{start: number, stop: number, level: number, ahead: number, still: boolean}} Wanted  the visible rows, and the movement of the scroller */

const CELL_BYTES = 192 * 2 ** 20;

export class Cells {
	constructor(/** @type {Core} */ core, /** @type {() => void} */ changed) {
		this.core = core;
		this.changed = changed;
		this.lru = new Lru(CELL_BYTES, dropCell);
		this.wanted = { start: 0, stop: 0, level: 128, ahead: 1, still: true };
		this.busy = false;
		this.changes = 0;
		this.failedAt = -1;
	}

	get(/** @type {number} */ position) {
		return this.lru.get(position);
	}

	/** Marks cells as out of date. They stay visible until new cells replace them. */
	outdate(/** @type {number[]|null} */ positions) {
		this.changes++;
		for (const [position, { value }] of this.lru.entries) {
			if (!positions || positions.includes(position)) value.old = true;
		}
	}

	clear() {
		this.lru.clear();
		this.failedAt = -1;
	}

	want(/** @type {Wanted} */ wanted) {
		this.wanted = wanted;
		this.pump();
	}

	/** Whether a row must be requested. @param {number} position @param {number} level @param {string} fields */
	missing(position, level, fields) {
		const cell = this.lru.peek(position);
		if (!cell || cell.old) return true;
		if (cell.level < level && Math.max(cell.w ?? 0, cell.h ?? 0) > cell.level) return true;
		return cell.fields !== fields && !fieldsWithin(fields, cell.fields);
	}

	/** Returns the span of missing rows within [start, stop). @param {number} start @param {number} stop @param {number} level @param {string} fields */
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
		const overlays = overlayColumns(this.core)
			.filter((column) => overlay(this.core, column.name).shown)
			.map((column) => column.name);
		return JSON.stringify({ picture, columns: captionColumns(this.core, caption), overlays });
	}

	/** Requests the visible rows, then the next viewport, but nothing during fast scrolling. */
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

	/** @param {number} start @param {number} stop @param {number} level @param {string} fields */
	async fetch(start, stop, level, fields) {
		this.busy = true;
		const { changes } = this;
		try {
			const reply = await this.core.ask("cells", { start, stop, size: level, ...JSON.parse(fields) }, { bound: true });
			const generation = this.core.state.generation;
			const cells = await Promise.all(reply.cells.map((cell) => readCell(cell, reply.bytes, level, fields)));
			for (const cell of cells) cell.old = changes !== this.changes; // the cell may have been read before an edit
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

	keep(/** @type {DecodedCell[]} */ cells) {
		for (const cell of cells) this.lru.set(cell.p, cell, cell.bytes);
	}
}

/** Whether a cell with the fields `had` has all `wanted` fields. Both are strings that `Cells.fields` returned. @param {string} wanted @param {string} had */
const fieldsWithin = (wanted, had) => {
	/** @type {{picture: string|null, columns: string[], overlays: string[]}[]} */
	const [a, b] = [JSON.parse(wanted), JSON.parse(had)];
	return a.picture === b.picture && a.columns.every((c) => b.columns.includes(c)) && a.overlays.every((c) => b.overlays.includes(c));
};

/** Decodes the images of a cell, outside the main thread. @param {Cell} cell @param {Uint8Array<ArrayBuffer>} bytes @param {number} level @param {string} fields @returns {Promise<DecodedCell>} */
export async function readCell(cell, bytes, level, fields) {
	const { a, b, ...rest } = cell;
	/** @type {DecodedCell} */
	const made = { ...rest, level, fields, bytes: 512 };
	if (a || b) {
		[made.a, made.b] = await Promise.all([a, b].map((side) => side && readCell(side, bytes, level, fields)));
		made.bytes += (made.a?.bytes ?? 0) + (made.b?.bytes ?? 0);
		made.w = Math.max(made.a?.w ?? 0, made.b?.w ?? 0);
		made.h = Math.max(made.a?.h ?? 0, made.b?.h ?? 0);
		return made;
	}
	made.bitmap = cell.v ? await readPicture(bytes, cell.v).catch(() => null) : null;
	made.broken = Boolean(cell.v) && !made.bitmap;
	/** @type {Record<string, ImageBitmap|null>} */
	const tints = {};
	made.tints = tints;
	for (const [name, marks] of Object.entries(cell.marks ?? {})) {
		if (marks?.v) tints[name] = await readMask(bytes, marks.v, marks.of).catch(() => null);
	}
	for (const picture of [made.bitmap, ...Object.values(tints)]) if (picture) made.bytes += picture.width * picture.height * 4;
	return made;
}

export function dropCell(/** @type {DecodedCell} */ cell) {
	if (cell.a) dropCell(cell.a);
	if (cell.b) dropCell(cell.b);
	cell.bitmap?.close();
	for (const tint of Object.values(cell.tints ?? {})) tint?.close();
}
