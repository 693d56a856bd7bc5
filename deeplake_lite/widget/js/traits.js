// The traits of the model, which are the lake, the shown rows, the staged edits and the settings.

import { classOfKey } from "./class-keys.js";
import { Listeners } from "./listeners.js";

/** @import { About, Column, Draft, Edit, Kind, Model, Settings, Staged, State } from "./messages.js" */

/** @type {Settings} */
const SETTINGS = { size: 160, picture: null, caption: null, overlays: {}, colour_by: null, panel: null, theme: "auto" };
const EMPTY_STATE = { generation: 0, rows: 0, ms: 0, query: "" };

/** @typedef {{level: "error"|"note"|"draft"|"late", text: string, action?: string, run?: () => unknown}} Announcement  a message above the grid */

/**
 * The events of the page. `state`: another result is shown, possibly of the same query. `count`: its number of rows has
 * changed. `changed`: cells of some rows, or of all rows (null), have changed. `settle`: pending edits must be staged now.
 * @typedef {{
 *   settings: [], about: [], staged: [], staged_count: [], staged_rows: [], drafts: [], query: [], problem: [],
 *   state: [{same: boolean}], count: [], changed: [number[]|null], selection: [], hover: [], reveal: [number], open: [number],
 *   painted: [], theme: [], attached: [], settle: [], undoable: [Staged], banner: [Announcement], waited: [number], say: [string],
 *   busy: [boolean], grid: [], "focus grid": [], "clear query": [],
 * }} Events
 */

/**
 * The traits that Python sets, and the user's settings.
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

	/** Whether cells of a column are data, and not names of classes or tags. @param {string|null|undefined} name @param {Kind} [kind] */
	holdsData(name, kind = this.column(name)?.kind) {
		return Boolean(kind) && kind !== "class" && kind !== "tags";
	}

	/** Returns the editable columns of labels, without computed columns. */
	get labelColumns() {
		return this.kinds("class").filter(({ stored = true }) => stored);
	}

	/** Returns the column that number keys set. @returns {Column|undefined} */
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
