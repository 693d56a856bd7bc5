// Drawing, moving and labelling boxes on the large image.

import { boxAt, dragBox, tidyBox } from "./boxes.js";
import { classOfKey } from "./class-keys.js";
import { chooser } from "./dialogs.js";
import { drawMarks, fill, rounded, stroke } from "./drawing.js";
import { drag } from "./elements.js";
/** @import { Core } from "./core.js" */
/** @import { Box, Point, Rect } from "./geometry.js" */
/** @import { Bytes, RowData } from "./messages.js" */
/** @import { Viewer } from "./viewer.js" */

/** @typedef {{x: number, y: number, near: Point, w: number, h: number}} Place  a point in fractions of the image, the distance within which another point is near, and the size of the image */

/** Edits the boxes of a row and their classes. Local changes take precedence until Python has replied to them. */
export class BoxEditor {
	/** @param {Core} core @param {Viewer} viewer @param {RowData & Bytes} row */
	constructor(core, viewer, row) {
		this.core = core;
		this.viewer = viewer;
		this.active = -1;
		this.since = 0;
		this.dragging = false;
		this.behind = false;
		/** @type {number|undefined} */
		this.due = undefined;
		this.column = boxesIn(row)?.name ?? "";
		this.row = row;
		/** @type {Box[]} */
		this.list = [];
		/** @type {string[]} */
		this.names = [];
		/** @type {number[]|null} */
		this.classes = null;
		this.classless = "";
		this.last = 0;
		this.unsettle = core.on("settle", () => this.settle());
		this.take(row);
	}

	close() {
		this.settle();
		this.unsettle();
	}

	/** Accepts a row from Python, unless its boxes were edited here after the row was requested. */
	take(/** @type {RowData & Bytes} */ row) {
		this.behind = this.dragging || this.due !== undefined || row.req < this.since;
		if (this.behind) return;
		const { marks, box_classes: classes } = row.columns.find((column) => column.name === this.column) ?? {};
		if (row.id !== this.row.id) this.active = -1;
		this.row = row;
		this.list = structuredClone(marks?.boxes ?? []);
		this.names = classes?.names ?? [];
		this.classes = classes?.c ? [...classes.c] : null;
		this.classless = classes && !classes.c ? `Not every box in this row has a class in ${classes.column}. Set the classes in Python with ds.update(rows, {…}).` : "";
		this.active = Math.min(this.active, this.list.length - 1);
		this.viewer.later();
	}

	/** @param {CanvasRenderingContext2D} context @param {Rect} at */
	draw(context, at) {
		const { palette } = this.core;
		drawMarks(context, palette, at, { marks: { boxes: this.list, c: this.classes }, opacity: 0.7, layer: 0, names: this.names, active: this.active });
		const box = this.list[this.active];
		if (!box) return;
		const [xs, ys] = [
			[box[0], (box[0] + box[2]) / 2, box[2]],
			[box[1], (box[1] + box[3]) / 2, box[3]],
		];
		xs.forEach((x, i) =>
			ys.forEach((y, j) => {
				if (i === 1 && j === 1) return;
				rounded(context, { x: Math.round(at.x + x * at.w) - 3.5, y: Math.round(at.y + y * at.h) - 3.5, w: 7, h: 7 }, 0);
				fill(context, "#fff");
				stroke(context, "#000", 1);
			}),
		);
	}

	hover(/** @type {Place} */ { x, y, near }) {
		const hit = boxAt(this.list, x, y, near, this.active);
		const cursors = { move: "move", n: "ns-resize", s: "ns-resize", w: "ew-resize", e: "ew-resize", nw: "nwse-resize", se: "nwse-resize", ne: "nesw-resize", sw: "nesw-resize" };
		this.viewer.element.style.cursor = hit ? cursors[hit.handle] : "crosshair";
	}

	press(/** @type {PointerEvent} */ event, /** @type {Place} */ { x, y, near, w, h: hgt }) {
		if (this.dragging) return;
		this.settle();
		const hit = boxAt(this.list, x, y, near, this.active);
		/** @type {Box} */
		const before = hit ? [...this.list[hit.index]] : [x, y, x, y];
		let index = hit?.index;
		if (hit) this.active = hit.index;
		this.dragging = true;
		this.viewer.later();
		drag(
			event,
			({ dx, dy }) => {
				index ??= this.add();
				this.list[index] = hit ? dragBox(before, hit.handle, dx / w, dy / hgt) : tidyBox([x, y, x + dx / w, y + dy / hgt]);
				this.viewer.later();
			},
			(moved) => {
				this.dragging = false;
				if (moved) this.save();
				else if (this.behind) this.core.emit("changed", [this.row.position]);
				if (!moved && !hit) this.active = -1;
				this.viewer.later();
			},
		);
	}

	add() {
		this.classes?.push(this.classes[this.active] ?? this.last);
		this.active = this.list.length;
		this.list.push([0, 0, 0, 0]);
		return this.active;
	}

	remove() {
		if (this.active < 0) return;
		this.list.splice(this.active, 1);
		this.classes?.splice(this.active, 1);
		this.active = Math.min(this.active, this.list.length - 1);
		this.save();
	}

	setClass(/** @type {number} */ index) {
		if (this.active < 0 || !(index in this.names)) return;
		if (!this.classes) return this.core.note(this.classless);
		this.classes[this.active] = this.last = index;
		this.save();
	}

	chooseClass() {
		if (!this.classes) return this.core.note(this.classless);
		chooser(this.core.root, "Class of the box", this.names, ({ index }) => this.setClass(index));
	}

	/** Handles keys that choose the next box, add or remove one, move it by a pixel, or set its class. */
	key(/** @type {KeyboardEvent} */ event) {
		if (this.dragging) return true;
		const { w, h: hgt } = this.viewer.cell ?? {};
		const [dx, dy] = [w, hgt].map((side) => (event.shiftKey ? 10 : 1) / (side || 100));
		/** @type {Record<string, Point>} */
		const moves = { ArrowLeft: [-dx, 0], ArrowRight: [dx, 0], ArrowUp: [0, -dy], ArrowDown: [0, dy] };
		const move = moves[event.key];
		const box = this.list[this.active];
		if (event.key === "n") this.active = (this.active + 1) % Math.max(1, this.list.length);
		else if (event.key === "a") {
			this.list[this.add()] = [0.35, 0.35, 0.65, 0.65];
			this.save();
		} else if ((event.key === "Delete" || event.key === "Backspace") && box) this.remove();
		else if (Number(event.key) > 0 || classOfKey(event.key, this.names) >= 0) this.setClass(classOfKey(event.key, this.names));
		else if (event.key === "l" && box && this.names.length) this.chooseClass();
		else if (move && box) {
			this.list[this.active] = dragBox(box, "move", move[0], move[1]);
			clearTimeout(this.due);
			this.due = setTimeout(() => this.save(), 400);
		} else return false;
		this.viewer.later();
		return true;
	}

	/** Saves a pending move immediately, without waiting for more keys. */
	settle() {
		if (this.due !== undefined) this.save();
	}

	/** Stages the boxes for their row, even if another row is already shown. */
	async save() {
		clearTimeout(this.due);
		this.due = undefined;
		this.viewer.later();
		const {
			core,
			row: { gen, id, position },
		} = this;
		const value = { boxes: structuredClone(this.list), c: this.classes && [...this.classes], picture: this.row.picture };
		const saved = core.edit("stage", { gen, edits: [{ positions: [position], row: id, column: this.column, op: "set_boxes", value }] });
		this.since = core.requests.next;
		if (!(await saved)) core.emit("changed", [position]);
	}
}

/** Returns the first editable column of boxes for the row's image. The row need not have boxes yet. */
export const boxesIn = (/** @type {RowData|null|undefined} */ row) => row?.columns.find((column) => column.editable && (column.marks?.boxes || (column.kind === "boxes" && column.null && row.w && !column.unmarked)));

/** Returns the distinct reasons why marks are not drawn over images. */
export const unmarkedIn = (/** @type {(RowData|null|undefined)[]} */ rows) => [...new Set(rows.flatMap((row) => (row?.columns ?? []).map((column) => column.unmarked).filter(Boolean)))].join("\n");
