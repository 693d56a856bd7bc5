// The types of traits and messages between Python and the page.

/** @import { Box, Point } from "./geometry.js" */

// Traits

/** @typedef {"image"|"mask"|"text"|"json"|"embedding"|"boxes"|"polygons"|"keypoints"|"class"|"tags"|"number"|"bool"|"time"|"bytes"|"array"|"sequence"|"link"} Kind  the kind of a column's values */
/** @typedef {"changed"|"added"|"removed"} Tab  a kind of change between two versions */
/** @typedef {"a"|"b"} SideName  the older or the newer version */
/** @typedef {[offset: number, length: number, mime: string]} Span  a part of the buffer of a reply */

/**
 * The description of a column. Only `stored` columns can be edited.
 * @typedef {{
 *   name: string, kind: Kind, type: string, dtype: string|null, shape: string, nullable: boolean,
 *   role: "overlay"|"picture"|"caption"|null, colours: boolean, classes: string[], class_count: number,
 *   connections?: [number, number][], stored?: boolean,
 * }} Column
 */

/**
 * The description of the lake. The fields from `mode` on describe two compared versions and exported pages.
 * @typedef {{
 *   title?: string, url?: string, version?: string, name?: string|null, branch?: string|null, writable?: boolean,
 *   total?: number, columns: Column[], picture?: string|null, has_ids?: boolean, tags?: string|null,
 *   suggested?: {column: string, label: string}|null, embeddings?: string[], umap?: boolean, suspects?: Suspects[],
 *   review_needs?: string|null, alike?: string[], mode?: "diff", a?: string, b?: string,
 *   counts?: Record<Tab, number>, changed_columns?: Record<string, number>, static?: boolean, rows_each?: number,
 * }} About
 */

/** @typedef {{label: string, by: "embedding"|"scores"|"agreement", column: string}} Suspects  a ranking that the page offers */
/** @typedef {{expression: string, descending: boolean}} Order */

/**
 * The shown result.
 * @typedef {{generation: number, rows: number, ms: number, query: string, order?: Order|null, tab?: Tab, column?: string|null}} State
 */

/** @typedef {{shown: boolean, opacity: number}} Overlay */

/**
 * The user's settings.
 * @typedef {{
 *   size: number, picture: string|null, caption: string[]|null, overlays: Record<string, Partial<Overlay>>,
 *   colour_by: string|null, panel: string|null, theme: "auto"|"light"|"dark",
 * }} Settings
 */

/** @typedef {{id: number, column: string, rows: number, what: string}} Edit  a staged edit */
/** @typedef {{id: string, edits: number, rows: number, complete: boolean, changed: string}} Draft  uncommitted edits from another browser */
/** @typedef {{kind: string, message: string, line?: number, column?: number, hint?: string}} Problem  the reason why a query cannot be shown */

// Rows

/**
 * Marks over an image, in fractions of its sides. A mask is an image whose pixels are class numbers. If class numbers do
 * not fit into 8 bits, `of` has the class of each pixel value.
 * @typedef {{boxes?: Box[], rings?: Point[][], points?: number[][][], c?: number[]|null, more?: number, v?: Span, of?: number[]}} Marks
 */

/**
 * A card shown instead of an image.
 * @typedef {{
 *   kind: "null"|"text"|"json"|"numbers"|"value"|"table"|"damaged", text?: string|null, numbers?: (number|null)[],
 *   rows?: [name: string, value: string|null][], more?: number,
 * }} Card
 */

/** @typedef {{t: string|null, c: number|null, cs?: number[], damaged?: string}} Caption  a short description of a value, and its class */

/**
 * A row in the grid. A pair has the cells of two versions in `a` and `b`, and the names of changed columns in
 * `changed`. In exported pages, rows have a value for each facet, and pairs have their kind of change.
 * @typedef {{
 *   p: number, id?: string|null, main?: string|null, v?: Span|null, w?: number|null, h?: number|null, card?: Card|null,
 *   caption?: Record<string, Caption>, marks?: Record<string, Marks|null|undefined>, unmarked?: Record<string, string>,
 *   staged?: string[], a?: Cell|null, b?: Cell|null, changed?: string[], facet?: Record<string, any>, tab?: Tab,
 * }} Cell
 */

/** @typedef {boolean|number|string|(string|number)[]|null} Value  the value of an input */

/**
 * A cell in the detail panel. `editable`, `value` and `null` are missing for images. `changed` only exists if two
 * versions are compared.
 * @typedef {{
 *   name: string, kind: Kind, type: string, dtype: string|null, shape: string, nullable: boolean, v: Span|null,
 *   text: string|null, c: number|null, marks?: Marks|null, unmarked?: string|null, w?: number|null, h?: number|null,
 *   card?: Card|null, staged?: boolean, editable?: boolean, value?: any, null?: boolean, damaged?: string,
 *   numbers?: (number|null)[], tags?: string[], box_classes?: BoxClasses|null, changed?: boolean, classes?: string[],
 * }} RowColumn
 */

/** @typedef {{column: string, names: string[], c: number[]|null}} BoxClasses  `c` is the class of each box, or null unless all boxes have a class */
/** @typedef {{id: string|null, position: number, picture: string|null, w: number|null, h: number|null, columns: RowColumn[]}} RowData  a row in the detail panel */

/** @typedef {{column: string|null, before: string|null, after: string|null}} Change */
/** @typedef {{version: string, message: string, time: string, author?: string|null, changes: Change[]}} RowVersion */

// Filters

/** @typedef {number|string} End  the end of a range: a number, a string for a number that a float cannot represent, or a time */
/** @typedef {[End|null, End|null]} Range  null for an open end */
/** @typedef {boolean|number|string} Choice  a value that a facet lists. Classes are listed by their names */
/** @typedef {[value: Choice, name: string, all: number, shown: number, colour?: number|null]} ValueCount */

/**
 * The number of rows for each value (`values`) or bin (`edges`), among all rows and among shown rows. If `ask` is set, the
 * rows are only counted on request. `only` is the value if all rows have the same value. `beside` counts rows outside all
 * bins.
 * @typedef {{
 *   column: string, expression: string, kind: "classes"|"tags"|"booleans"|"numbers"|"times", label: string,
 *   chosen: any[]|null, rows: number, ask?: boolean, problem?: string, values?: ValueCount[], nulls?: [number, number],
 *   more?: number, edges?: End[], all?: number[], shown?: number[], beside?: [count: number, kind: string][], only?: string|null,
 *   short?: "float16"|"float32",
 * }} FacetData
 */

// The map

/** @typedef {{kind: "classes", names: string[]}|{kind: "numbers", range: [number, number]}} Colouring */
/** @typedef {[offset: number, length: number]} Part  a part of the buffer of a reply, without a media type */
/** @typedef {{n: number, of: number, colour: Colouring|null, v: {xy: Part, positions: Part, colour: Part|null}}} Points */

// Requests and replies

/** @typedef {{id: string, message: string, time: string, names: string[]}} Commit */
/** @typedef {{branches: string[], tags: string[], commits: Commit[], shown: string}} VersionList */
/** @typedef {{name: string, rows: number|null, query: string}} SavedView */
/** @typedef {[text: string, kind: string, detail?: string]} Completion */
/** @typedef {{rows: number, ms?: number, query?: string}} Answer  the reply to a query, a filter or a sort order */
/** @typedef {{staged_count: number, can_undo: boolean, can_redo: boolean, positions: number[]|null}} Staged  the reply to an edit. Positions are null for many rows */
/** @typedef {{p?: number, id: string, kind: string, column?: string|null, ours: any, theirs: any}} Conflict */

/**
 * The fields of replies, by type of request.
 * @typedef {{
 *   hello: {probe: number}, cells: {cells: Cell[]}, detail: RowData, history: {versions: RowVersion[], complete: boolean},
 *   query: Answer, filter: Answer, sort: Answer, suspects: Answer, neighbours: Answer, show_view: Answer, tab: Answer,
 *   complete: {items: Completion[], word: number}, facets: {facets: FacetData[]}, points: Points, select: {rows: number},
 *   views: {views: SavedView[]}, save_view: {name: string}, versions: VersionList,
 *   show_version: {rows: number, version: string, branch: string|null, writable: boolean},
 *   stage: Staged, undo: Staged, redo: Staged, drop: Staged, forget: Staged, restore: Staged & {rows: number, gone: number},
 *   commit: Staged & {version: string, rows: number}, resolve: Staged & {version: string, rows: number},
 * }} Replies
 */

/** @typedef {"set"|"take"|"add_tag"|"remove_tag"|"set_boxes"} Op  the operation of an edit */

/** @typedef {{kind?: string, message?: string, line?: number|null, column?: number|null, hint?: string|null, conflicts?: Conflict[]}} Fault  the reason why a request was rejected, with the line and column in the query, if there is a query */

/** @typedef {{bytes: Uint8Array<ArrayBuffer>, gen: number, req: number}} Bytes  the fields of every reply */

/** @typedef {{type: "reply", req: number, gen: number, ok: boolean, error?: Fault, b64?: string}} Reply */
/** @typedef {{type: "progress", req: number, done: number, total: number}} Progress */
/** @typedef {{type: "thread"|"note"|"changed", req?: undefined, text?: string, positions?: number[]|null}} Notice  a message from Python that is not a reply */

/**
 * The interface of a notebook's model, which exported pages also implement.
 * @typedef {{
 *   get: (name: string) => any, set: (name: string, value: any) => void, save_changes: () => void, send: (message: object) => void,
 *   on: (event: string, handler: (...args: any[]) => void) => void, off: (event: string, handler: (...args: any[]) => void) => void,
 * }} Model
 */
