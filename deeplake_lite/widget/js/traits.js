// The traits of the model: the lake, the shown rows, the staged edits and the settings.

import { classOfKey } from "./class-keys.js";
import { Listeners } from "./listeners.js";

/** @import { About, Column, Draft, Edit, Kind, Model, Settings, Staged, State } from "./messages.js" */

/** @type {Settings} */
const SETTINGS = { size: 160, picture: null, caption: null, overlays: {}, colour_by: null, panel: null, theme: "auto" };
const EMPTY_STATE = { generation: 0, rows: 0, ms: 0, query: "" };

/** @typedef {{level: "error"|"note"|"draft"|"late", text: string, action?: string, run?: () => unknown}} Announcement  a message over the grid */

/**
 * The events of the page. `state`: another result is shown, perhaps of the same query; `count`: the number of its rows
 * has changed. `changed`: cells of some rows, or of all (null). `settle`: pending edits are to be staged now.
 * @typedef {{
 *   settings: [], about: [], staged: [], staged_count: [], staged_rows: [], drafts: [], query: [], problem: [],
 *   state: [{same: boolean}], count: [], changed: [number[]|null], selection: [], hover: [], reveal: [number], open: [number],
 *   painted: [], theme: [], attached: [], settle: [], undoable: [Staged], banner: [Announcement], waited: [number], say: [string],
 *   busy: [boolean], grid: [], "focus grid": [], "clear query": [],
 * }} Events
 */

/**
 * The traits that Python sets, and the settings of the user.
 * @extends {Listeners<Events>}
 */
export class Traits extends Listeners {
	constructor(/** @type {Model} */ model) {
		super();
		this.model = model;
		/** @type {string|undefined} */
		this.labelling = undefined;
		this.ended = false;
	}

	/** Records that the kernel has ended. */
	end() {
		this.ended = true;
	}

	/** @returns {About} */
	get about() {
		return this.model.get("about") ?? { columns: [], total: 0 };
	}

	/** @returns {State} */
	get state() {
		return this.model.get("state") ?? EMPTY_STATE;
	}

	/** @returns {Settings} */
	get settings() {
		return { ...SETTINGS, ...(this.model.get("settings") ?? {}) };
	}

	/** @returns {Edit[]} */
	get staged() {
		return this.model.get("staged") ?? [];
	}

	/** @returns {Draft[]} */
	get drafts() {
		return this.model.get("drafts") ?? [];
	}

	/** @returns {number} */
	get stagedRows() {
		return this.model.get("staged_rows") ?? 0;
	}

	/** @returns {number} */
	get stagedCount() {
		return this.model.get("staged_count") ?? this.staged.length;
	}

	get columns() {
		return this.about.columns ?? [];
	}

	get writable() {
		return Boolean(this.about.writable) && !this.static && !this.ended;
	}

	/** Whether two versions are compared. */
	get compares() {
		return this.about.mode === "diff";
	}

	get static() {
		return Boolean(this.about.static);
	}

	/** @param {string|null|undefined} name */
	column(name) {
		return this.columns.find((column) => column.name === name);
	}

	/** Whether cells of a column are data, rather than names of classes or tags. @param {string|null|undefined} name @param {Kind} [kind] */
	holdsData(name, kind = this.column(name)?.kind) {
		return Boolean(kind) && kind !== "class" && kind !== "tags";
	}

	/** The columns of labels that can be edited, which excludes those that a query computes. */
	get labelColumns() {
		return this.kinds("class").filter(({ stored = true }) => stored);
	}

	/** The column that number keys set. @returns {Column|undefined} */
	get labels() {
		const columns = this.labelColumns;
		return columns.find((column) => column.name === this.labelling) ?? columns[0];
	}

	classOf(/** @type {string} */ key) {
		return classOfKey(key, this.labels?.classes ?? []);
	}

	kinds(/** @type {Kind[]} */ ...kinds) {
		return this.columns.filter((column) => kinds.includes(column.kind));
	}
}
