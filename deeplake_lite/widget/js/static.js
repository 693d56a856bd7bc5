// The model of an exported page, which replies instead of Python, from data in the page.

import { numbersAt } from "./bytes.js";
import { Listeners } from "./listeners.js";
import { inRange, isRange, roundedEnd } from "./numbers.js";
import { packPositions, Selection, unpackPositions } from "./selection.js";
/** @import { Cell, FacetData, Points, Range, RowData, Tab } from "./messages.js" */

/** @typedef {Record<string, any>} Request  the fields of a message from the page */

/**
 * The data in the page, with details of rows by position and side, and maps by column and colouring column.
 * @typedef {{
 *   traits: Record<string, any>, cells: Cell[], details?: Record<string, RowData>, facets?: {facets: FacetData[]},
 *   points?: Record<string, Record<string, Points>>,
 * }} Embedded
 */

/**
 * A model with the interface of a notebook's model, which reads data in the page.
 * @extends {Listeners<Record<string, any[]>>}
 */
export class StaticModel extends Listeners {
	/** @param {Embedded} data @param {Uint8Array<ArrayBuffer>} bytes */
	constructor(data, bytes) {
		super();
		this.data = data;
		this.bytes = bytes;
		/** @type {Record<string, any>} */
		this.traits = { settings: {}, staged: [], query: "", _selected: packPositions(new Uint32Array(0)), ...data.traits };
		this.all = data.cells.map((_, i) => i);
		this.shown = this.all;
		if (this.traits.state.tab) this.shown = this.pairs(this.traits.state);
		/** @type {Map<string, {values: any[], passes: (value: any) => boolean}>} */
		this.filters = new Map();
	}

	get(/** @type {string} */ name) {
		return this.traits[name];
	}
	save_changes() {}

	/** @param {string} name @param {any} value */
	set(name, value) {
		this.traits[name] = value;
		for (const handler of this.of(`change:${name}`)) handler();
	}

	send(/** @type {Request} */ message) {
		if (!message.req) return;
		queueMicrotask(() => {
			const answer = this.answer(message);
			const { at, ...fields } = answer ?? {};
			const reply = answer ? { ok: true, ...fields } : { ok: false, error: { kind: "Static", message: "This page is a static copy of some rows. Open the dataset in a notebook to do this." } };
			for (const handler of this.of("msg:custom")) handler({ type: "reply", req: message.req, gen: message.gen, ...reply }, [at ?? this.bytes]);
		});
	}

	/** Returns the fields that Python would reply to a request. `at` is the buffer of the reply, unless the reply uses the buffer of the page. @param {Request} message @returns {{at?: Uint8Array, [field: string]: any}|null|undefined} */
	answer(message) {
		const rows = this.shown.length;
		switch (message.type) {
			case "hello":
				return { probe: 4, at: Uint8Array.of(1, 2, 3, 4) };
			case "cells": {
				/** @type {number[]} */
				const wanted = message.positions ?? Array.from({ length: Math.max(0, Math.min(message.stop, rows) - message.start) }, (_, i) => message.start + i);
				return { cells: wanted.filter((p) => p < rows).map((p) => ({ ...this.data.cells[this.shown[p]], p })) };
			}
			case "detail": {
				const original = this.data.cells[this.shown[message.p]];
				const detail = this.data.details?.[original.p + (message.side ?? "")];
				return detail ? { ...detail, position: message.p } : null;
			}
			case "facets":
				return { facets: (this.data.facets?.facets ?? []).map((facet) => this.count(facet)), ms: 0 };
			case "filter":
				return this.filter(message);
			case "points":
				return this.points(message);
			case "select":
				return this.select(message.what);
			case "tab":
				return this.show(this.pairs(message), { tab: message.tab, column: message.column });
			default:
				return null;
		}
	}

	/** Returns the map of the shown rows. */
	points(/** @type {Request} */ { column, colour }) {
		const maps = this.data.points?.[column];
		const map = maps?.[colour ?? ""] ?? maps?.[""];
		if (!map || this.shown === this.all) return map;
		const [xy, rows] = [map.v.xy, map.v.positions].map((at) => numbersAt(this.bytes, at, Uint32Array));
		const values = map.v.colour && numbersAt(this.bytes, map.v.colour, Uint32Array);
		const of = this.shown.length;
		const places = new Map(this.shown.map((row, place) => [row, place]));
		const kept = [...rows.keys()].filter((i) => places.has(rows[i]));
		const n = kept.length;
		const at = new Uint8Array(Uint32Array.from([...kept.flatMap((i) => [xy[2 * i], xy[2 * i + 1]]), ...kept.map((i) => places.get(rows[i]) ?? 0), ...(values ? kept.map((i) => values[i]) : [])]).buffer);
		return { ...map, n, of, at, v: { xy: [0, 8 * n], positions: [8 * n, 4 * n], colour: values && [12 * n, 4 * n] } };
	}

	/** Returns the rows with a kind of change, or only rows in which one column changed. */
	pairs(/** @type {{tab?: Tab, column?: string|null}} */ { tab, column }) {
		return this.all.filter((i) => this.data.cells[i].tab === tab && (!column || this.data.cells[i].changed?.includes(column)));
	}

	/** Shows other rows. */
	show(/** @type {number[]} */ shown, more = {}) {
		this.shown = shown;
		this.set("_selected", packPositions(new Uint32Array(0)));
		this.set("state", { ...this.traits.state, ...more, generation: this.traits.state.generation + 1, rows: shown.length, ms: 0 });
		return { rows: shown.length, query: "" };
	}

	select(/** @type {"all"|"none"|"invert"} */ what) {
		const rows = this.shown.length;
		const before = Selection.of(rows, unpackPositions(this.traits._selected));
		const wanted = { all: () => true, none: () => false, invert: (/** @type {number} */ p) => !before.has(p) }[what];
		this.set("_selected", packPositions(Uint32Array.from(this.shown.keys()).filter(wanted)));
		return { rows };
	}

	/** Whether a row passes all filters. */
	passes(/** @type {number} */ i) {
		const values = this.data.cells[i].facet ?? {};
		return [...this.filters].every(([expression, { passes }]) => passes(values[expression]));
	}

	filter(/** @type {Request} */ { expression, kind, op, values }) {
		const before = this.filters.get(expression)?.values ?? [];
		/** @type {any[]} */
		const after = op === "clear" ? [] : op === "toggle" && !isRange(kind) ? (before.includes(values[0]) ? before.filter((v) => v !== values[0]) : [...before, values[0]]) : values;
		if (after.length) this.filters.set(expression, { values: after, passes: isRange(kind) ? this.ranged(expression, [after[0], after[1]]) : (value) => after.some((choice) => (Array.isArray(value) ? value.includes(choice) : value === choice)) });
		else this.filters.delete(expression);
		return this.show(this.filters.size ? this.all.filter((i) => this.passes(i)) : this.all);
	}

	/** Returns a predicate for a range of numbers. A range of whole bins compares bin indices, so that it agrees with the counts. @param {string} expression @param {Range} range @returns {(value: any) => boolean} */
	ranged(expression, range) {
		const { edges = [], short } = this.data.facets?.facets.find((facet) => facet.expression === expression) ?? {};
		const [low, high] = range.map((end) => (end === null ? -1 : edges.indexOf(end)));
		if (low >= 0 && high >= 0) return ([place]) => place !== null && place >= low && place < high;
		/** @type {Range} */
		const rounded = [roundedEnd(range[0], short), roundedEnd(range[1], short)];
		return ([, number]) => inRange(number, rounded);
	}

	/** Returns a facet with the counts of the shown rows. */
	count(/** @type {FacetData} */ facet) {
		const rows = this.shown.map((i) => this.data.cells[i].facet?.[facet.expression]);
		const chosen = this.filters.get(facet.expression)?.values ?? null;
		const places = facet.edges ? rows.map((value) => value?.[0]) : rows.flatMap((value) => (Array.isArray(value) ? [...new Set(value)] : value));
		const tally = new Map();
		for (const place of places) tally.set(place, (tally.get(place) ?? 0) + 1);
		if (facet.edges) return { ...facet, chosen, shown: (facet.all ?? []).map((_, place) => tally.get(place) ?? 0) };
		return { ...facet, chosen, values: (facet.values ?? []).map(([value, name, all, , colour]) => [value, name, all, tally.get(value) ?? 0, colour]) };
	}
}
