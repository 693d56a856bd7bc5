// The views of two versions of a row side by side.

import { drawNote, drawPicture } from "./cards.js";
import { dropCell } from "./cells.js";
import { Detail, readRow } from "./detail.js";
import { fillRect, write } from "./drawing.js";
import { div, h, pressed, quiet, say, select, slider, space, span, textButton } from "./elements.js";
import { Grid } from "./grid.js";
import { LINE } from "./layout.js";
import { memory } from "./memory.js";
import { short } from "./numbers.js";
import { captionColumns } from "./overlays.js";
import { Stale } from "./requests.js";
import { brief } from "./text.js";
import { Viewer } from "./viewer.js";

/** @import { DecodedCell } from "./cells.js" */
/** @import { Core } from "./core.js" */
/** @import { Rect, View } from "./geometry.js" */
/** @import { Bytes, RowData, SideName, Tab } from "./messages.js" */
/** @import { Palette } from "./theme.js" */

/** @typedef {(RowData & Bytes)|null} PairSide  a row in one of the versions */

/** @type {[Tab, string][]} */
const CHANGES = [
	["changed", "Changed"],
	["added", "Added"],
	["removed", "Removed"],
];

/**
 * Draws a pair on one card, with the older side on the left and the newer side on the right.
 * @param {CanvasRenderingContext2D} context @param {Palette} palette @param {Core} core @param {DecodedCell} pair @param {Rect} at
 */
function drawPair(context, palette, core, pair, at) {
	const half = Math.floor((at.w - 2) / 2);
	[pair.a, pair.b].forEach((cell, i) => {
		const side = { x: at.x + i * (half + 2), y: at.y, w: half, h: at.h };
		if (cell) return drawPicture(context, palette, core, cell, side);
		fillRect(context, palette.card, side);
		drawNote(context, palette, i ? "removed" : "not present", side);
	});
}

/** @param {Core} core @param {(position: number) => void} open */
export function diffGrid(core, open) {
	const grid = new Grid(core, { aspect: 2, paint: drawPair, open, lines: () => (core.state.tab === "changed" ? 2 : 1) });
	grid.wordsOf = ({ a, b, changed = [] }) => {
		const one = core.state.tab !== "changed";
		return (one ? captionColumns(core) : changed)
			.map((name) => {
				const [before, after] = [a?.caption?.[name]?.t, b?.caption?.[name]?.t];
				return one ? (before ?? after ?? "") : before === after ? `${name} changed` : `${name}: ${before ?? "–"} → ${after ?? "–"}`;
			})
			.filter(Boolean);
	};
	grid.caption = (context, pair, _, at) => {
		const words = grid.wordsOf(pair);
		const { lines } = grid.layout;
		context.font = `12px ${grid.palette.font}`;
		words.slice(0, lines).forEach((text, i) => {
			const more = i === lines - 1 && words.length > lines ? ` (+${words.length - lines})` : "";
			write(context, text + more, grid.palette.ink, at.x + 2, at.y + 6 + i * LINE + LINE / 2, at.w - 4);
		});
	};
	return grid;
}

/** Creates the bar with a tab for each kind of change, and a choice of the changed column. @param {Core} core @param {...Node} tools */
export function diffBar(core, ...tools) {
	const { about } = core;
	const show = (/** @type {Tab} */ tab, /** @type {string|null} */ column) => core.attempt("tab", { tab, column });
	const tabs = CHANGES.map(([tab, name]) => h("button", { class: "dl-button", "data-tab": tab, onclick: () => show(tab, null) }, span(name), span(short(about.counts?.[tab] ?? 0), "dl-badge")));
	const names = Object.entries(about.changed_columns ?? {});
	const column = select(["", ...names.map(([name]) => name)], "", (value) => show("changed", value || null), "Changed column", "all columns");
	names.forEach(([name, rows], i) => say(column.options[i + 1], `${name} (${short(rows)})`));
	const mark = () => {
		tabs.forEach((tab) => pressed(tab, tab.dataset.tab === core.state.tab));
		column.hidden = core.state.tab !== "changed" || !names.length;
		column.value = core.state.column ?? "";
	};
	core.on("state", mark);
	core.on("count", mark);
	mark();
	return div("dl-top", div("dl-bar dl-bar-2", div("dl-name", span(about.title ?? "Difference", "dl-title"), span(`${brief(about.a)} → ${brief(about.b)}`, "dl-pill")), h("div", { class: "dl-group", role: "group", "aria-label": "Kind of change" }, ...tabs), column, space(), ...tools));
}

/** The detail panel of a pair, with both images side by side at the same zoom, or on top of each other with a swipe. */
export class PairDetail extends Detail {
	/** @param {Core} core @param {() => void} closed */
	constructor(core, closed) {
		super(core, closed);
		this.swiping = memory.read("swipe", false);
		/** @type {PairSide[]|null} */
		this.replies = null;
		this.other = new Viewer(core, { name: "After", moved: (view) => this.link(this.viewer, view) });
		this.viewer.moved = (view) => this.link(this.other, view);
		/** @type {HTMLInputElement} */
		this.swipe = slider("Share of the older version", {
			value: "50",
			oninput: () => {
				this.viewer.split = Number(this.swipe.value) / 100;
				this.viewer.later();
			},
		});
		this.boxing.remove();
		this.alike.remove();
		this.mode = textButton("Swipe", () => this.setMode(!this.swiping), { "aria-pressed": "false" });
		this.ticked.replaceWith(this.mode, this.swipe);
		this.frame.append(this.other.element);
		this.setMode(this.swiping);
	}

	show(/** @type {number} */ position) {
		this.replies = null;
		return super.show(position);
	}

	redraw() {
		super.redraw();
		this.other.later();
	}

	/** @param {Viewer} viewer @param {View} view */
	link(viewer, view) {
		viewer.view = view;
		viewer.later();
	}

	setMode(/** @type {boolean} */ swiping) {
		this.swiping = swiping;
		memory.write("swipe", swiping);
		pressed(this.mode, swiping);
		this.swipe.hidden = !swiping;
		this.other.element.hidden = swiping;
		if (this.replies) this.pair();
	}

	/** @param {number} position @param {number} size */
	async read(position, size) {
		const ask = (/** @type {SideName} */ side) =>
			this.core.latest("detail", { p: position, size, side }, { lane: side, bound: true }).catch((error) => {
				if (error instanceof Stale) throw error;
				return null;
			});
		const replies = await Promise.all([ask("a"), ask("b")]);
		if (position !== this.position) return;
		this.replies = replies;
		await this.pair();
	}

	async pair() {
		const { replies } = this;
		if (!replies) return;
		const cells = await Promise.all(replies.map(async (reply) => (reply?.columns ? (await readRow(reply, this.core.settings.picture, 1024)).cell : null)));
		const [a, b] = cells;
		if (replies !== this.replies) return cells.forEach((cell) => cell && dropCell(cell)); // another pair is shown now
		const one = this.core.state.tab !== "changed" || !a || !b;
		this.other.element.hidden = this.swiping || one;
		if (this.swiping && !one) {
			this.viewer.show(a, b);
			this.other.show(null);
		} else {
			this.viewer.show(a ?? b);
			this.other.show(one ? null : b);
		}
		this.sayUnmarked(...replies);
		this.fillBoth(replies[0], replies[1]);
	}

	/** Shows both values of every column, and marks differing values. @param {PairSide} a @param {PairSide} b */
	fillBoth(a, b) {
		const names = [...new Set([...(a?.columns ?? []), ...(b?.columns ?? [])].map((column) => column.name))];
		const columnOf = (/** @type {PairSide} */ reply, /** @type {string} */ name) => reply?.columns?.find((column) => column.name === name);
		this.info.inert = false;
		this.info.replaceChildren(
			h(
				"dl",
				{},
				...names.map((name) => {
					const [before, after] = [columnOf(a, name), columnOf(b, name)];
					const { kind } = after ?? before ?? {};
					const differs = after?.changed ?? before?.changed ?? before?.text !== after?.text;
					return h(
						"div",
						{ class: differs && a && b ? "dl-field dl-staged" : "dl-field" },
						h("dt", {}, span(name), quiet((after ?? before)?.type ?? "")),
						h("dd", { class: "dl-change" }, ...(differs && a && b ? [this.core.cell("del", name, before?.text ?? "–", kind), "→", this.core.cell("ins", name, after?.text ?? "–", kind)] : [this.core.cell("span", name, (after ?? before)?.text ?? "–", kind)])),
					);
				}),
			),
		);
	}

	close() {
		this.replies = null;
		this.other.close();
		super.close();
	}
}
