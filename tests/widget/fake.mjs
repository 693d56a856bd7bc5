// A model of the notebook's face that answers from generated data: what the page tests drive the browser with.

const CLASSES = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "<img src=x onerror=fail()>"];
const TAGS = ["sunny", "blurred", "night", "crowded"];
const OBJECTS = ["background", "person", "vehicle", "animal"];
const hash = (i) => ((Math.imul(i ^ 0x9e3779b9, 0x85ebca6b) >>> 0) % 100003) / 100003;
const PICTURES = 24;

/** Pictures of many shapes, as PNG bytes. */
async function paintPictures(level) {
  const made = [];
  for (let i = 0; i < PICTURES; i++) {
    const [w, h] = [[4, 3], [1, 1], [3, 4], [16, 9]][i % 4];
    const scale = level / Math.max(w, h);
    const canvas = new OffscreenCanvas(Math.round(w * scale), Math.round(h * scale));
    const c = canvas.getContext("2d");
    const sky = c.createLinearGradient(0, 0, 0, canvas.height);
    sky.addColorStop(0, `hsl(${(i * 47) % 360} 45% 72%)`);
    sky.addColorStop(1, `hsl(${(i * 47 + 40) % 360} 40% 42%)`);
    c.fillStyle = sky;
    c.fillRect(0, 0, canvas.width, canvas.height);
    for (let k = 0; k < 5; k++) {
      c.fillStyle = `hsl(${(i * 91 + k * 60) % 360} 55% ${35 + 8 * k}%)`;
      c.beginPath();
      c.arc(hash(i * 7 + k) * canvas.width, (0.4 + 0.5 * hash(i * 13 + k)) * canvas.height, level * (0.06 + 0.1 * hash(i + k)), 0, 7);
      c.fill();
    }
    made.push(new Uint8Array(await (await canvas.convertToBlob({ type: "image/jpeg", quality: 0.8 })).arrayBuffer()));
  }
  return made;
}

async function paintMask() {
  const canvas = new OffscreenCanvas(64, 64);
  const c = canvas.getContext("2d");
  for (const [grey, x, y, r] of [[1, 20, 24, 13], [2, 44, 42, 15]]) {
    c.fillStyle = `rgb(${grey},${grey},${grey})`;
    c.fillRect(x - r, y - r, 2 * r, 2 * r);
  }
  const pixels = c.getImageData(0, 0, 64, 64);
  for (let i = 3; i < pixels.data.length; i += 4) pixels.data[i] = 255;
  c.putImageData(pixels, 0, 0);
  return new Uint8Array(await (await canvas.convertToBlob({ type: "image/png" })).arrayBuffer());
}

export class FakeModel {
  constructor(options = {}) {
    this.options = { rows: 1000, delay: 4, kind: "image", overlays: true, base64: false, dead: false, total: null, ...options };
    this.handlers = new Map();
    this.sent = [];
    this.labels = new Map();
    this.edits = [];
    this.undone = [];
    this.where = [];
    this.serial = 0;
    this.pictures = new Map();
    const diff = this.options.mode === "diff";
    this.shown = this.options.rows;
    this.traits = {
      query: "", _selected: new DataView(new ArrayBuffer(0)), settings: this.options.settings ?? {}, staged: [], staged_count: 0, staged_rows: 0, problem: this.options.problem ?? null,
      about: {
        title: diff ? "photos" : "photos", url: "memory://photos", version: "3F9K2Q7VX1", branch: "main", writable: true, total: this.options.rows, columns: this.columns(),
        embeddings: ["embedding"], alike: ["embedding"], umap: true, tags: this.options.kind === "text" ? null : "tags", suggested: null, suspects: [{ label: "label", by: "embedding", column: "embedding" }, { label: "boxes", by: "agreement", column: "predicted" }],
        ...(diff ? { mode: "diff", a: "v1", b: "main", counts: { changed: 120, added: 30, removed: 8 }, changed_columns: { label: 110, boxes: 14 } } : {}), ...this.options.about,
      },
      state: { generation: 1, rows: diff ? 120 : this.options.rows, ms: 3.2, query: "", tab: diff ? "changed" : undefined, column: null },
    };
  }

  columns() {
    if (this.options.kind === "text") {
      return [{ name: "text", kind: "text", type: "text" }, { name: "meta", kind: "json", type: "json" }, { name: "embedding", kind: "embedding", type: "float32" }, { name: "label", kind: "class", type: "class_label", classes: CLASSES, colours: true }];
    }
    const boxes = this.options.overlays ? [{ name: "boxes", kind: "boxes", type: "bbox", classes: OBJECTS }, { name: "predicted", kind: "boxes", type: "bbox", classes: OBJECTS, role: "prediction" }, { name: "mask", kind: "mask", type: "segment_mask", classes: OBJECTS }] : [];
    return [{ name: "image", kind: "image", type: "image", shape: "? × ? × 3" }, { name: "label", kind: "class", type: "class_label", classes: CLASSES, colours: true }, ...boxes,
      { name: "tags", kind: "tags", type: "tags", classes: TAGS }, { name: "caption", kind: "text", type: "text", colours: true }, { name: "score", kind: "number", type: "float32", colours: true }, { name: "embedding", kind: "embedding", type: "float32", shape: "64" }];
  }

  // the face of a model

  get(name) { return this.traits[name]; }
  set(name, value) { this.traits[name] = value; (this.changed ??= new Set()).add(name); }
  save_changes() {
    const changed = this.changed ?? new Set();
    this.changed = undefined;
    for (const name of changed) this.fire(`change:${name}`);
  }
  put(name, value) { this.traits[name] = value; this.fire(`change:${name}`); }
  on(name, handler) { if (!this.handlers.has(name)) this.handlers.set(name, new Set()); this.handlers.get(name).add(handler); }
  off(name, handler) { this.handlers.get(name)?.delete(handler); }
  fire(name, ...values) { for (const handler of [...(this.handlers.get(name) ?? [])]) handler(...values); }

  send(message, _callbacks, buffers) {
    this.sent.push(message);
    if (this.options.dead || !message.req) return;
    setTimeout(() => this.respond(message, buffers), this.options.delay);
  }

  async respond(message, buffers) {
    const before = this.serial;
    let reply;
    try {
      reply = { ok: true, ...(await this[`on_${message.type}`](message, buffers)) };
    } catch (error) {
      reply = { ok: false, error: { kind: error.kind ?? "Error", message: error.message, ...error.more } };
    }
    const { packed, ...fields } = reply;
    const content = { type: "reply", req: message.req, gen: message.gen, ...fields };
    const drop = this.options.base64 && !message.base64 && message.type === "hello";
    if (packed && this.options.base64 && !drop) {
      let raw = "";
      for (const byte of packed) raw += String.fromCharCode(byte);
      content.b64 = btoa(raw);
    }
    if (this.serial !== before) this.announce();
    this.fire("msg:custom", content, packed && !this.options.base64 ? [new DataView(packed.buffer, packed.byteOffset, packed.byteLength)] : []);
  }

  announce() {
    if (this.pendingState) this.put("state", this.pendingState);
    this.pendingState = undefined;
  }

  turn(query) {
    this.serial++;
    this.traits._selected = new DataView(new ArrayBuffer(0));
    this.pendingState = { ...this.traits.state, generation: this.traits.state.generation + 1, rows: this.shown, ms: 12.34, query };
    this.put("query", query);
    return { rows: this.shown, ms: 12.34, query };
  }

  // rows

  rowAt(position) { return this.order ? this.order[position] : position; }
  label(row) { return this.labels.get(row) ?? Math.floor(hash(row) ** 1.5 * CLASSES.length); }
  score(row) { return Math.round(1000 * (0.5 + 0.5 * Math.sin(row * 12.9898) * hash(row + 5))) / 1000; }
  objects(row, shift = 0) {
    return Array.from({ length: 1 + (row % 3) }, (_, k) => {
      const [x, y] = [0.05 + 0.5 * hash(row * 3 + k), 0.05 + 0.45 * hash(row * 5 + k)];
      return [x + shift, y + shift / 2, x + 0.2 + 0.2 * hash(row + k) + shift, y + 0.25 + 0.2 * hash(row + 9 + k) + shift / 2];
    });
  }

  async level(size) {
    if (!this.pictures.has(size)) this.pictures.set(size, paintPictures(size));
    this.maskBytes ??= await paintMask();
    return this.pictures.get(size);
  }

  async cell(position, { size, columns, overlays }, pack) {
    const row = this.rowAt(position);
    const caption = {};
    for (const name of columns) caption[name] = this.caption(name, row);
    const cell = { p: position, id: `r${row}`, caption, staged: this.edits.some((e) => e.rows.has(row)) ? ["label"] : [] };
    if (this.options.kind === "text") return { ...cell, v: null, card: this.card(row) };
    const pictures = await this.level(size);
    const [w, h] = [[1600, 1200], [1024, 1024], [900, 1200], [1920, 1080]][(row % PICTURES) % 4];
    const marks = {};
    for (const name of overlays) {
      if (name === "boxes") marks[name] = this.boxesOf?.get(row) ?? { boxes: this.objects(row), c: this.objects(row).map((_, k) => 1 + (k % 3)), n: null };
      else if (name === "predicted") marks[name] = { boxes: this.objects(row, 0.03), c: this.objects(row).map((_, k) => 1 + ((k + (row % 2)) % 3)), n: null };
      else if (name === "mask" && row % 2) marks[name] = { v: pack(this.maskBytes, "image/png") };
    }
    return { ...cell, v: row === 7 ? pack(new Uint8Array(9), "image/jpeg") : pack(pictures[row % PICTURES], "image/jpeg"), w, h, marks };
  }

  card(row) {
    const text = "It was a bright cold day in April, and the clocks were striking thirteen. The hallway smelt of boiled cabbage and old rag mats.";
    return [
      { kind: "text", text: text.slice(row % 40) }, { kind: "json", text: JSON.stringify({ id: row, source: "web", words: [1, 2, 3] }, null, 2) },
      { kind: "embedding", numbers: Array.from({ length: 48 }, (_, i) => hash(row * 48 + i) - 0.5) }, { kind: "table", rows: [["alpha", "0.1"], ["beta", "12"], ["gamma", null]] },
      { kind: "value", text: String(this.score(row)) }, { kind: "numbers", numbers: Array.from({ length: 60 }, (_, i) => Math.sin(i / 4) * hash(row * 60 + i)) }, { kind: "null" },
    ][row % 7];
  }

  caption(name, row) {
    if (name === "label") return { t: CLASSES[this.label(row)], c: this.label(row) };
    if (name === "score") return { t: String(this.score(row)), c: null };
    if (name === "tags") return { t: TAGS[row % 4], c: row % 4 };
    return { t: `row ${row} of the generated data`, c: null };
  }

  // messages

  on_hello() { return { probe: 4, packed: Uint8Array.of(1, 2, 3, 4) }; }

  async on_cells(message) {
    const parts = [];
    let used = 0;
    const pack = (bytes, mime) => {
      parts.push(bytes);
      used += bytes.length;
      return [used - bytes.length, bytes.length, mime];
    };
    const rows = this.traits.state.rows;
    const wanted = message.positions ?? Array.from({ length: Math.max(0, Math.min(message.stop, rows) - message.start) }, (_, i) => message.start + i);
    const diff = this.traits.about.mode === "diff";
    const cells = [];
    for (const position of wanted) {
      const cell = await this.cell(position, message, pack);
      if (!diff) cells.push(cell);
      else {
        const { tab } = this.traits.state;
        const other = { ...cell, caption: { ...cell.caption, label: { t: CLASSES[(this.label(position) + 1) % 9], c: 1 } } };
        cells.push({ p: position, id: cell.id, changed: tab === "changed" ? ["label", ...(position % 5 ? [] : ["boxes"])] : [], a: tab === "added" ? null : cell, b: tab === "removed" ? null : other });
      }
    }
    const packed = new Uint8Array(used);
    let at = 0;
    for (const part of parts) { packed.set(part, at); at += part.length; }
    return { cells, packed };
  }

  on_query({ text }) {
    const where = [];
    for (const part of text.split(/\s+AND\s+/i).filter((p) => p.trim())) {
      const label = /^\s*label\s+IN\s*\(([^)]*)\)\s*$/i.exec(part) ?? /^\s*label\s*=\s*('[^']*')\s*$/i.exec(part);
      const score = /^\s*score\s+BETWEEN\s+(\S+)\s+AND2?\s+(\S+)\s*$/i.exec(part) ?? /^\s*score\s*(<)\s*(\S+)\s*$/i.exec(part);
      if (label) where.push({ expression: "label", values: [...label[1].matchAll(/'([^']*)'/g)].map((m) => CLASSES.indexOf(m[1])) });
      else if (score) where.push({ expression: "score", values: score[1] === "<" ? [-1, Number(score[2])] : [Number(score[1]), Number(score[2])] });
      else {
        const column = text.indexOf(part.trim()) + 1;
        throw Object.assign(new Error(`There is no column ${part.trim().split(/\s/)[0]}. Columns: image, label, score.`), { kind: "QueryBindError", more: { line: 1, column, hint: "Did you mean label?" } });
      }
    }
    this.where = where;
    return this.answer();
  }

  answer() {
    const { rows } = this.options;
    this.order = null;
    if (this.where.length || this.sorted) {
      this.order = [];
      for (let i = 0; i < rows; i++) if (this.where.every((w) => (w.expression === "label" ? w.values.includes(this.label(i)) : this.score(i) >= w.values[0] && this.score(i) <= w.values[1]))) this.order.push(i);
      if (this.sorted) this.order.sort((a, b) => (this.score(a) - this.score(b)) * (this.sorted.descending ? -1 : 1));
    }
    this.shown = this.order ? this.order.length : rows;
    const text = this.where.map((w) => (w.expression === "label" ? (w.values.length > 1 ? `label IN (${w.values.map((v) => `'${CLASSES[v]}'`).join(", ")})` : `label = '${CLASSES[w.values[0]]}'`) : w.values[0] < 0 ? `score < ${w.values[1]}` : `score BETWEEN ${w.values[0]} AND2 ${w.values[1]}`)).join(" AND ");
    return this.turn(text);
  }

  on_complete({ text, cursor }) {
    const word = text.slice(0, cursor).search(/[\w'<]*$/);
    const typed = text.slice(word, cursor).toLowerCase();
    const items = [["label", "column", "class"], ["score", "column", "float32"], ["caption", "column", "text"], ["tags", "column"], ["SHAPE", "function", "sides of an array"], ["LENGTH", "function"], ["WHERE", "keyword"], ["ORDER BY", "keyword"], ...CLASSES.map((c) => [`'${c}'`, "class", "label"])];
    return { items: items.filter(([t]) => t.toLowerCase().includes(typed)), word };
  }

  on_facets() {
    const { rows } = this.options;
    const limited = Math.min(rows, 5000);
    const all = new Array(CLASSES.length).fill(0);
    const shown = all.slice();
    const edges = Array.from({ length: 25 }, (_, i) => i / 24);
    const [allBins, shownBins] = [new Array(24).fill(0), new Array(24).fill(0)];
    const inShown = this.order ? new Set(this.order) : null;
    for (let i = 0; i < limited; i++) {
      const bin = Math.min(23, Math.max(0, Math.floor(this.score(i) * 24)));
      all[this.label(i)]++;
      allBins[bin]++;
      if (inShown && !inShown.has(i)) continue;
      shown[this.label(i)]++;
      shownBins[bin]++;
    }
    const chosen = (e) => this.where.find((w) => w.expression === e)?.values ?? null;
    return { ms: 3, facets: [
      { column: "label", expression: "label", kind: "classes", label: "label", values: CLASSES.map((c, i) => [i, c, all[i], shown[i], i]), nulls: [1, 0], rows, chosen: chosen("label"), more: 0, sort: null },
      { column: "score", expression: "score", kind: "numbers", label: "score", edges, all: allBins, shown: shownBins, nulls: [12, 3], beside: [[10, "null"], [2, "NaN or infinite"]], chosen: chosen("score"), sort: this.sorted ? (this.sorted.descending ? "desc" : "asc") : null },
      { column: "taken", expression: "taken", kind: "times", label: "taken", edges: edges.map((e) => new Date(1.6e12 + e * 1e11).toISOString().slice(0, 19)), all: allBins, shown: shownBins, nulls: [0, 0], chosen: null },
      { column: "day", expression: "day", kind: "booleans", label: "daylight", values: [[true, "true", 700, 400], [false, "false", 300, 200]], nulls: [0, 0], chosen: null },
      { column: "caption", expression: "LEN(caption)", kind: "numbers", label: "length of caption", ask: true, chosen: null },
    ] };
  }

  on_filter({ expression, op, values }) {
    const old = this.where.find((w) => w.expression === expression);
    this.where = this.where.filter((w) => w !== old);
    let next = op === "clear" ? [] : values;
    if (op === "toggle" && old) next = old.values.includes(values[0]) ? old.values.filter((v) => v !== values[0]) : [...old.values, values[0]];
    if (next.length) this.where.push({ expression, values: next });
    return this.answer();
  }

  on_sort({ expression, descending }) { this.sorted = expression ? { expression, descending } : null; return this.answer(); }

  async on_detail({ p, size, side }) {
    const parts = [];
    let used = 0;
    const pack = (bytes, mime) => { parts.push(bytes); used += bytes.length; return [used - bytes.length, bytes.length, mime]; };
    const cell = await this.cell(p, { size: size || 1600, columns: [], overlays: ["boxes", "predicted", "mask"] }, pack);
    const row = this.rowAt(p);
    const tab = this.traits.state.tab;
    if ((side === "a" && tab === "added") || (side === "b" && tab === "removed")) throw new Error("not there");
    const label = side === "b" ? (this.label(row) + 1) % 9 : this.label(row);
    const columns = [
      ...(cell.v ? [{ name: "image", kind: "image", type: "image", shape: `${cell.h} × ${cell.w} × 3`, dtype: "uint8", text: "", v: cell.v }] : []),
      { name: "label", kind: "class", type: "class_label", shape: "", dtype: "uint32", text: CLASSES[label], value: label, classes: CLASSES, editable: true, staged: cell.staged.length > 0 },
      ...Object.entries(cell.marks ?? {}).map(([name, marks]) => ({ name, kind: name === "mask" ? "mask" : "boxes", type: name === "mask" ? "segment_mask" : "bbox", shape: "2 × 4", text: marks.boxes ? `${marks.boxes.length} boxes` : "mask", marks, editable: true,
        box_classes: marks.boxes && { column: `${name}_classes`, names: this.traits.about.columns.find((column) => column.name === name)?.classes ?? [], c: marks.c } })),
      { name: "tags", kind: "tags", type: "tags", text: TAGS[row % 4], value: [row % 4], classes: TAGS, editable: true },
      { name: "caption", kind: "text", type: "text", text: `row ${row} of the generated data`, value: `row ${row} of the generated data`, editable: true },
      { name: "score", kind: "number", type: "float32", text: String(this.score(row)), value: this.score(row), editable: true },
      { name: "embedding", kind: "embedding", type: "float32", shape: "64", text: "[0.123, -0.44, 0.91, …]" },
    ];
    const packed = new Uint8Array(used);
    let at = 0;
    for (const part of parts) { packed.set(part, at); at += part.length; }
    return { id: `r${row}`, position: p, columns, w: cell.w, h: cell.h, packed };
  }

  on_history() {
    return { complete: true, versions: [
      { version: "9D2KXQ41", message: "Fix labels of the night shots", time: "2026-10-02T09:12:00Z", author: "ada", changes: [{ column: "label", before: "cat", after: "dog" }] },
      { version: "1A7VBQ33", message: "First rows", time: "2026-09-14T16:40:00Z", author: "grace", changes: [{ column: "label", before: null, after: "cat" }] }] };
  }

  on_select(message, buffers) {
    const { rows } = this.traits.state;
    if (message.what === "runs") {
      const positions = Uint32Array.from(message.runs.flatMap(([start, stop]) => Array.from({ length: stop - start }, (_, i) => start + i)));
      this.put("_selected", new DataView(positions.buffer));
      return { rows: positions.length };
    }
    const all = message.what === "all" ? Uint32Array.from({ length: rows }, (_, i) => i) : new Uint32Array(0);
    if (message.what !== "invert") this.put("_selected", new DataView(all.buffer));
    return { rows: all.length };
  }

  on_stage({ edits }) {
    for (const { positions, column, op, value } of edits) {
      const bytes = this.traits._selected;
      const selected = Array.from({ length: bytes.byteLength / 4 }, (_, i) => bytes.getUint32(i * 4, true));
      const rows = new Set((positions === "selected" ? selected : positions).map((p) => this.rowAt(p)));
      const before = new Map([...rows].map((row) => [row, this.label(row)]));
      if (column === "label") for (const row of rows) this.labels.set(row, value);
      if (op === "set_boxes") (this.boxesOf ??= new Map()).set([...rows][0], value);
      this.edits.push({ id: `e${this.edits.length}`, column, rows, value, before, what: column === "label" ? `set to ${CLASSES[value]}` : `${op} ${JSON.stringify(value).slice(0, 30)}` });
    }
    this.undone = [];
    return this.staged();
  }

  staged() {
    this.put("staged", this.edits.map((e) => ({ id: e.id, column: e.column, rows: e.rows.size, what: e.what })));
    this.put("staged_rows", new Set(this.edits.flatMap((e) => [...e.rows])).size);
    this.put("staged_count", this.edits.length);
    return { staged_count: this.edits.length, can_undo: this.edits.length > 0, can_redo: this.undone.length > 0, positions: null };
  }

  on_undo() {
    const edit = this.edits.pop();
    if (edit?.column === "label") for (const [row, label] of edit.before) this.labels.set(row, label);
    if (edit) this.undone.push(edit);
    return this.staged();
  }

  on_redo() {
    const edit = this.undone.pop();
    if (edit) this.edits.push(edit);
    if (edit?.column === "label") for (const row of edit.rows) this.labels.set(row, edit.value);
    return this.staged();
  }

  on_drop({ id }) { this.edits = this.edits.filter((e) => e.id !== id); return this.staged(); }

  on_commit({ message }) {
    if (message === "conflict") {
      throw Object.assign(new Error("main has moved on: 2 of your cells were written by someone else."), { kind: "ConflictError", more: { conflicts: [{ p: 3, id: "r3", column: "label", ours: "cat", theirs: "dog" }, { p: 9, id: "r9", column: "caption", ours: "a long text of mine", theirs: null }] } });
    }
    const rows = this.edits.length;
    this.edits = [];
    this.staged();
    return { version: "7QHX2K9ABC", rows };
  }

  on_resolve() { return this.on_commit({ message: "" }); }

  on_versions() {
    return { shown: "main", branches: ["main", "relabel"], tags: ["v1"], commits: [
      { id: "3F9K2Q7VX1", message: "Relabel the ships", time: "2026-11-20T10:00:00Z", author: "ada", names: ["main"] }, { id: "1A7VBQ33ZZ", message: "First rows", time: "2026-09-14T16:40:00Z", author: "grace", names: ["v1"] }] };
  }

  on_show_version({ version }) {
    const branch = ["main", "relabel"].includes(version) ? version : null;
    this.put("about", { ...this.traits.about, branch, version, writable: Boolean(branch) });
    return { ...this.answer(), version, branch, writable: Boolean(branch) };
  }

  on_save_view({ name }) { return { name }; }
  on_views() { return { views: [{ name: "night shots", rows: 120, query: "" }, { name: "to review", rows: 31, query: "" }] }; }
  on_show_view() { this.where = [{ expression: "label", values: [3] }]; return this.answer(); }
  on_neighbours() { this.sorted = { expression: "score", descending: false }; return this.answer(); }
  on_suspects() { this.sorted = { expression: "score", descending: false }; return this.answer(); }

  on_points({ colour }) {
    const n = Math.min(this.traits.state.rows, this.options.points ?? 200000);
    const [xy, positions, values] = [new Float32Array(2 * n), new Uint32Array(n), new Int32Array(n)];
    for (let i = 0; i < n; i++) {
      const label = this.label(this.rowAt(i));
      const spread = () => (hash(i * 2 + 1) + hash(i * 3 + 2) + hash(i * 5 + 3) - 1.5) * 0.16;
      xy[2 * i] = 0.5 + 0.33 * Math.cos(label * 0.63) + spread();
      xy[2 * i + 1] = 0.5 + 0.33 * Math.sin(label * 0.63) + (hash(i * 7) + hash(i * 11) - 1) * 0.14;
      positions[i] = i;
      values[i] = label;
    }
    const packed = new Uint8Array(16 * n);
    packed.set(new Uint8Array(xy.buffer), 0);
    packed.set(new Uint8Array(positions.buffer), 8 * n);
    packed.set(new Uint8Array(values.buffer), 12 * n);
    return { n, of: this.traits.state.rows, colour: colour ? { kind: "classes", names: CLASSES } : null, v: { xy: [0, 8 * n], positions: [8 * n, 4 * n], colour: colour ? [12 * n, 4 * n] : null }, packed };
  }

  on_tab({ tab, column }) {
    this.shown = { changed: 120, added: 30, removed: 8 }[tab];
    this.turn("");
    this.pendingState = { ...this.pendingState, tab, column };
    return { rows: this.shown };
  }
}
