// The traits of the model: what Python says of the lake, of the rows shown and of what is staged.

import { classOfKey } from "./class-keys.js";
import { Listeners } from "./listeners.js";

/** @import { About, Column, Draft, Edit, Kind, Model, Settings, Staged, State } from "./messages.js" */

/** @type {Settings} */
const SETTINGS = { size: 160, picture: null, caption: null, overlays: {}, colour_by: null, panel: null, theme: "auto" };
const EMPTY_STATE = { generation: 0, rows: 0, ms: 0, query: "" };

/** @typedef {{level: "error"|"note"|"draft"|"late", text: string, action?: string, run?: () => unknown}} Announcement  a line over the grid */

/**
 * What parts of the page tell each other. `state`: another answer is shown, perhaps to the same question; `count`: it
 * has got more rows. `changed`: cells of some rows, or of any. `settle`: what is being edited is to be staged.
 * @typedef {{
 *   settings: [], about: [], staged: [], staged_count: [], staged_rows: [], drafts: [], query: [], problem: [],
 *   state: [{same: boolean}], count: [], changed: [number[]|null], selection: [], hover: [], reveal: [number], open: [number],
 *   painted: [], theme: [], attached: [], settle: [], undoable: [Staged], banner: [Announcement], waited: [number], say: [string],
 *   busy: [boolean], grid: [], "focus grid": [], "clear query": [],
 * }} Events
 */

/**
 * What is known without asking, and the reader's choices.
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

	/** The kernel is gone. */
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

	/** Whether cells of a column are texts of the data, and not names of classes. @param {string|null|undefined} name @param {Kind} [kind] */
	holdsData(name, kind = this.column(name)?.kind) {
		return Boolean(kind) && kind !== "class" && kind !== "tags";
	}

	/** Columns of labels that can be set: not those that a query computes. */
	get labelColumns() {
		return this.kinds("class").filter(({ stored = true }) => stored);
	}

	/** The column that keys set. @returns {Column|undefined} */
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
