// What the browser computes without a page: node --test tests/widget/logic.test.mjs

import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, test } from "node:test";

const front = new URL("../../deeplake_lite/widget/js/", import.meta.url);
const files = readdirSync(front).filter((name) => name !== "page.js"); // which opens a page
const logic = Object.assign({}, ...(await Promise.all(files.map((name) => import(new URL(name, front))))));
const { gridLayout, MARGIN } = logic;

describe("keys and examples", () => {
	test("a digit is the class of that name, else the first to the ninth", () => {
		const keys = (names) => [..."0123456789x"].map((key) => logic.classOfKey(key, names));
		assert.deepEqual(keys(["ant", "bee"]), [-1, 0, 1, -1, -1, -1, -1, -1, -1, -1, -1]);
		assert.deepEqual(keys(["0", "1", "2"]), [0, 1, 2, 2, -1, -1, -1, -1, -1, -1, -1]);
		assert.deepEqual(keys(["ant", "7"]), [-1, 0, 1, -1, -1, -1, -1, 1, -1, -1, -1]);
	});

	test("the example of a query names a column that there is, a class first", () => {
		const number = { name: "my number", kind: "number" };
		const label = { name: "label", kind: "class", classes: ["it's"] };
		assert.equal(logic.exampleQuery([number, label]), "label = 'it''s'");
		assert.equal(logic.exampleQuery([{ ...label, classes: [] }, number]), '"my number" > 0');
		assert.equal(logic.exampleQuery([]), "SELECT * LIMIT 100");
	});
});

const layout = gridLayout({ width: 1000, height: 600, size: 160, rows: 1003, lines: 1 });

describe("layout", () => {
	test("as many columns as fit, cards as wide as then fits", () => {
		assert.equal(layout.columns, 5);
		assert.ok(layout.card >= 160);
		assert.ok(layout.columns * layout.card + (layout.columns - 1) * layout.gap <= 1000 - 2 * MARGIN);
		assert.equal(layout.count, Math.ceil(1003 / 5));
	});

	test("one card fills the view when it is larger than it", () => {
		const one = gridLayout({ width: 700, height: 500, size: 1024, rows: 3, lines: 1 });
		assert.equal(one.columns, 1);
		assert.ok(one.picture + one.caption <= 500);
	});

	test("small cards have no caption, no rows have no height", () => {
		assert.equal(gridLayout({ width: 900, height: 500, size: 48, rows: 9, lines: 2 }).caption, 0);
		assert.equal(gridLayout({ width: 900, height: 500, size: 48, rows: 0, lines: 2 }).total, 0);
	});

	test("a caption keeps a line on small cards, and takes no more than half of one", () => {
		const lines = (size, wanted) => gridLayout({ width: 900, height: 500, size, rows: 9, lines: wanted }).lines;
		assert.deepEqual([48, 87, 88, 96, 160, 320].map((size) => lines(size, 1)), [0, 0, 1, 1, 1, 1]);
		assert.deepEqual([48, 96, 160, 320].map((size) => lines(size, 6)), [0, 2, 4, 6]);
		assert.equal(lines(160, 0), 0);
	});

	test("pairs are twice as wide as tall", () => {
		const pairs = gridLayout({ width: 1000, height: 600, size: 160, rows: 10, lines: 0, aspect: 2 });
		assert.ok(Math.abs(pairs.card - 2 * pairs.picture) <= 1);
	});

	test("every visible card is in the range, and hit where it is drawn", () => {
		for (const top of [0, 77, 5000, layout.total - 600]) {
			const [start, stop] = logic.visibleRange(layout, top, 600, 1003);
			for (let position = 0; position < 1003; position++) {
				const { x, y, w, h } = logic.cardRect(layout, position, top);
				const visible = y < 600 && y + h > 0;
				if (visible) {
					assert.ok(position >= start && position < stop, `${position} at ${top}`);
					assert.equal(logic.hitCard(layout, x + w / 2, y + h / 2, top, 1003), position);
				}
			}
		}
	});

	test("nothing is hit between cards and beyond the last", () => {
		const { x, w, y } = logic.cardRect(layout, 0, 0);
		assert.equal(logic.hitCard(layout, x + w + 1, y + 5, 0, 1003), -1);
		assert.equal(logic.hitCard(layout, 5000, y + 5, 0, 1003), -1);
		const last = logic.cardRect(layout, 1002, 0);
		assert.equal(logic.hitCard(layout, last.x + last.w + layout.gap + 4, last.y + 4, 0, 1003), -1);
	});

	test("a position is brought into view with the least movement", () => {
		assert.equal(logic.scrollTo(layout, 0, 0, 600), 0);
		assert.equal(logic.scrollTo(layout, 0, 300, 600), 0);
		const down = logic.scrollTo(layout, 500, 0, 600);
		const { y, h } = logic.cardRect(layout, 500, down);
		assert.ok(y >= 0 && y + h <= 600);
	});

	test("a lasso takes the cards it encloses or touches", () => {
		const a = logic.cardRect(layout, 1, 0);
		const b = logic.cardRect(layout, 7, 0);
		const polygon = [[a.x + 5, a.y + 5], [b.x + b.w - 5, a.y + 5], [b.x + b.w - 5, b.y + b.h - 5], [a.x + 5, b.y + b.h - 5]];
		assert.deepEqual([...logic.cardsInLasso(layout, polygon, 1003)], [1, 2, 6, 7]);
		assert.deepEqual([...logic.cardsInLasso(layout, [[a.x + 5, a.y + 5], [a.x + 9, a.y + 9]], 1003)], [1]);
	});

	test("the scrollbar reaches the end of ten million rows", () => {
		const large = gridLayout({ width: 1200, height: 600, size: 112, rows: 10_000_000, lines: 1 });
		const { height, factor } = logic.scrollScale(large.total, 600);
		assert.ok(height <= logic.MAX_HEIGHT);
		assert.ok(Math.abs((height - 600) * factor - (large.total - 600)) < 1);
		assert.deepEqual(logic.scrollScale(5000, 600), { height: 5000, factor: 1 });
	});

	test("thumbnails are asked in steps", () => {
		assert.deepEqual([48, 64, 70, 90, 150, 320, 700].map(logic.levelFor), [64, 64, 64, 96, 160, 384, 1024]);
	});

	test("a picture keeps its shape", () => {
		assert.deepEqual(logic.fit(200, 100, { x: 0, y: 0, w: 100, h: 100 }), { x: 0, y: 25, w: 100, h: 50 });
		assert.deepEqual(logic.fit(10, 10, { x: 0, y: 0, w: 100, h: 100 }, 2), { x: 40, y: 40, w: 20, h: 20 });
	});
});

describe("selection", () => {
	test("behaves as a set of positions under random changes", () => {
		const [selection, model] = [new logic.Selection(1000), new Set()];
		let seed = 1;
		const random = (n) => (seed = (seed * 48271) % 2147483647) % n;
		for (let i = 0; i < 3000; i++) {
			const [a, b, kind] = [random(1000), random(1000), random(3)];
			if (kind === 0) {
				selection.toggle(a);
				if (!model.delete(a)) model.add(a);
			} else if (kind === 1) {
				selection.set(a, true);
				model.add(a);
			} else if (i % 50 === 0) {
				const on = i % 100 === 0;
				selection.range(a, b, on);
				for (let k = Math.min(a, b); k <= Math.max(a, b); k++) on ? model.add(k) : model.delete(k);
			}
			assert.equal(selection.count, model.size);
		}
		assert.deepEqual([...selection.positions()], [...model].sort((x, y) => x - y));
	});

	test("ignores rows that are not there", () => {
		const selection = logic.Selection.of(10, [3, 10, 99, -1]);
		assert.deepEqual([...selection.positions()], [3]);
	});

	test("the last bit of a word is a row like any other", () => {
		assert.deepEqual([...logic.Selection.of(64, [31, 32, 63]).positions()], [31, 32, 63]);
	});

	test("goes to Python as little-endian uint32 and comes back, whatever the host makes of bytes", () => {
		const packed = logic.packPositions(Uint32Array.of(1, 258, 70000));
		assert.deepEqual([...new Uint8Array(packed.buffer)].slice(0, 8), [1, 0, 0, 0, 2, 1, 0, 0]);
		const bytes = new Uint8Array([9, ...new Uint8Array(packed.buffer)]);
		for (const form of [packed, packed.buffer, new Uint8Array(packed.buffer), bytes.subarray(1)]) {
			assert.deepEqual([...logic.unpackPositions(form)], [1, 258, 70000]);
		}
		assert.equal(logic.unpackPositions(null).length, 0);
	});

	test("large ones go as runs", () => {
		assert.deepEqual(logic.runsOf(Uint32Array.of(1, 2, 3, 7, 9, 10)), [[1, 4], [7, 8], [9, 11]]);
		assert.deepEqual(logic.runsOf(new Uint32Array(0)), []);
	});
});

describe("bytes", () => {
	test("base64 is read as bytes", () => assert.deepEqual([...logic.fromBase64("AQIDBA==")], [1, 2, 3, 4]));

	test("numbers are read at any offset", () => {
		const bytes = new Uint8Array(13);
		new DataView(bytes.buffer).setFloat32(5, 0.5, true);
		new DataView(bytes.buffer).setFloat32(8, 0.25, true);
		assert.deepEqual([...logic.numbersAt(bytes, [8, 4], Float32Array)], [0.25]);
		new DataView(bytes.buffer).setFloat32(5, 0.5, true);
		assert.deepEqual([...logic.numbersAt(bytes, [5, 4], Float32Array)], [0.5]);
	});
});

describe("colours", () => {
	test("a class keeps its colour, neighbours differ, any number has one", () => {
		assert.deepEqual(logic.classColour(3), logic.classColour(3));
		for (let i = 0; i < 300; i++) {
			const colour = logic.classColour(i);
			assert.ok(colour.every((v) => Number.isInteger(v) && v >= 0 && v <= 255));
			assert.notDeepEqual(colour, logic.classColour(i + 1));
		}
		assert.equal(logic.classColour(-4).length, 3);
		assert.equal(logic.classColour(NaN).length, 3);
	});

	test("names on class colours can be read", () => {
		for (let i = 0; i < 500; i++) {
			const colour = logic.classColour(i);
			const [low, high] = [colour, logic.inkOn(colour)].map(logic.luminance).sort((a, b) => a - b);
			assert.ok((high + 0.05) / (low + 0.05) >= 4.5, String(i));
		}
	});

	test("a mask gets the colours of its classes, background stays clear", () => {
		const pixels = Uint8ClampedArray.of(0, 0, 0, 255, 2, 2, 2, 255);
		logic.colourMask(pixels);
		assert.deepEqual([...pixels], [0, 0, 0, 0, ...logic.classColour(2), 255]);
		const others = Uint8ClampedArray.of(0, 0, 0, 255, 255, 255, 255, 255);
		logic.colourMask(others, [700]);
		assert.deepEqual([...others], [...logic.classColour(700), 255, 0, 0, 0, 0]);
	});

	test("colours of hosts are understood", () => {
		assert.deepEqual(logic.parseColour("#fff"), [255, 255, 255]);
		assert.deepEqual(logic.parseColour(" #1e1e1e "), [30, 30, 30]);
		assert.deepEqual(logic.parseColour("rgb(1, 2, 3)"), [1, 2, 3]);
		assert.deepEqual(logic.parseColour("rgba(1 2 3 / 0.5)"), [1, 2, 3]);
		assert.equal(logic.parseColour("rgba(0, 0, 0, 0)"), null);
		assert.equal(logic.parseColour("white"), null);
		assert.equal(logic.parseColour(""), null);
	});

	test("numbers run from dark to light", () => {
		const light = [0, 0.25, 0.5, 0.75, 1].map((v) => logic.luminance(logic.numberColour(v)));
		assert.deepEqual(light, [...light].sort((a, b) => a - b));
		assert.equal(logic.numberColour(NaN).length, 3);
	});
});

describe("lasso on the map", () => {
	const square = [[0.25, 0.25], [0.75, 0.25], [0.75, 0.75], [0.25, 0.75]];

	test("finds the points inside, also of a polygon that is not convex", () => {
		const xy = Float32Array.of(0.5, 0.5, 0.1, 0.1, 0.3, 0.7, 0.9, 0.5);
		assert.deepEqual([...logic.pointsInLasso(xy, square)], [0, 2]);
		const horseshoe = [[0, 0], [1, 0], [1, 1], [0.7, 1], [0.7, 0.3], [0.3, 0.3], [0.3, 1], [0, 1]];
		assert.deepEqual([...logic.pointsInLasso(Float32Array.of(0.5, 0.6, 0.1, 0.6), horseshoe)], [1]);
		assert.equal(logic.pointsInLasso(xy, square.slice(0, 2)).length, 0);
	});

	test("agrees with the plain rule for every point", () => {
		const xy = Float32Array.from({ length: 4000 }, (_, i) => ((i * 7919) % 1009) / 1009);
		const star = Array.from({ length: 31 }, (_, i) => [0.5 + (0.2 + 0.3 * (i % 2)) * Math.cos(i / 5), 0.5 + (0.2 + 0.3 * (i % 2)) * Math.sin(i / 5)]);
		const plain = Array.from({ length: 2000 }, (_, i) => i).filter((i) => logic.inPolygon(xy[2 * i], xy[2 * i + 1], star));
		assert.deepEqual([...logic.pointsInLasso(xy, star)], plain);
		assert.ok(plain.length > 100);
	});

	test("takes less than 300 ms for 200,000 points", () => {
		const xy = Float32Array.from({ length: 400_000 }, (_, i) => ((i * 7919) % 10007) / 10007);
		const circle = Array.from({ length: 120 }, (_, i) => [0.5 + 0.4 * Math.cos(i / 19), 0.5 + 0.4 * Math.sin(i / 19)]);
		const start = performance.now();
		logic.pointsInLasso(xy, circle);
		assert.ok(performance.now() - start < 300);
	});

	test("drops points that are close to the one before", () => {
		assert.deepEqual(logic.simplify([[0, 0], [1, 0], [5, 0], [6, 0]], 3), [[0, 0], [5, 0]]);
	});

	test("the nearest point is the nearest of all", () => {
		const xy = Float32Array.from({ length: 2000 }, (_, i) => ((i * 7919) % 1009) / 1009);
		const index = new logic.PointIndex(xy);
		for (let k = 0; k < 50; k++) {
			const [x, y] = [((k * 37) % 101) / 101, ((k * 53) % 97) / 97];
			let [best, least] = [-1, 0.05 ** 2];
			for (let i = 0; i < 1000; i++) {
				const far = (xy[2 * i] - x) ** 2 + (xy[2 * i + 1] - y) ** 2;
				if (far < least) [best, least] = [i, far];
			}
			const found = index.nearest(x, y, 0.05);
			const far = found < 0 ? 0.05 ** 2 : (xy[2 * found] - x) ** 2 + (xy[2 * found + 1] - y) ** 2;
			assert.ok(best < 0 ? found < 0 : Math.abs(far - least) < 1e-9);
		}
	});
});

describe("boxes", () => {
	const box = [0.2, 0.2, 0.6, 0.8];
	const near = [0.02, 0.02];

	test("corners, sides and the inside take hold", () => {
		const holds = [[0.2, 0.2, "nw"], [0.6, 0.8, "se"], [0.4, 0.2, "n"], [0.2, 0.5, "w"], [0.61, 0.5, "e"], [0.4, 0.5, "move"], [0.9, 0.5, null]];
		for (const [x, y, hold] of holds) assert.equal(logic.boxHandle(box, x, y, near), hold);
	});

	test("a corner dragged over the other one turns the box around", () => {
		assert.deepEqual(logic.dragBox([0.2, 0.2, 0.4, 0.4], "se", -0.3, 0).map((v) => Math.round(v * 10) / 10), [0.1, 0.2, 0.2, 0.4]);
	});

	test("moving keeps the size at the border", () => {
		const moved = logic.dragBox(box, "move", 5, -5);
		assert.ok(Math.abs(moved[2] - 1) < 1e-9 && moved[1] === 0);
		assert.ok(Math.abs(moved[2] - moved[0] - 0.4) < 1e-9);
	});

	test("the active box is taken first, then the smallest", () => {
		const boxes = [[0, 0, 1, 1], [0.4, 0.4, 0.6, 0.6]];
		assert.equal(logic.boxAt(boxes, 0.5, 0.5, near).index, 1);
		assert.equal(logic.boxAt(boxes, 0.5, 0.5, near, 0).index, 0);
		assert.equal(logic.boxAt([], 0.5, 0.5, near), null);
	});
});

describe("text of a query", () => {
	const text = "SELECT *, \"odd name\" WHERE label = 'it''s' -- so\nAND SHAPE(image)[0] > 1.5e3";

	test("tokens join to the text again", () => {
		assert.equal(logic.tokens(text).map((t) => t.text).join(""), text);
		assert.equal(logic.tokens("a 'unclosed").map((t) => t.text).join(""), "a 'unclosed");
		assert.deepEqual(logic.tokens(""), []);
	});

	test("tokens know what they are", () => {
		const kinds = Object.fromEntries(logic.tokens(text).map((t) => [t.text, t.kind]));
		assert.equal(kinds.SELECT, "keyword");
		assert.equal(kinds['"odd name"'], "name");
		assert.equal(kinds["'it''s'"], "string");
		assert.equal(kinds["-- so"], "comment");
		assert.equal(kinds.SHAPE, "function");
		assert.equal(kinds["1.5e3"], "number");
		assert.equal(kinds.label, "word");
	});

	test("lines and columns become offsets within the text", () => {
		assert.equal(logic.caretOffset("ab\ncd", 2, 2), 4);
		assert.equal(logic.caretOffset("ab\ncd", 9, 99), 5);
		assert.equal(logic.caretOffset("", 1, 1), 0);
		assert.equal(logic.caretOffset("a\n😀b", 2, 2), 4);
		assert.equal(logic.offsetOf("😀 la", 2), 3);
	});

	test("an error marks the token at its place, or the last one", () => {
		assert.deepEqual(logic.errorSpan("SELECT lable", 1, 8), [7, 12]);
		assert.deepEqual(logic.errorSpan("SELECT lable ", 1, 99), [7, 12]);
		assert.deepEqual(logic.errorSpan("", 1, 1), [0, 0]);
	});

	test("a completion takes the place of the word before the cursor", () => {
		assert.deepEqual(logic.complete("WHERE la = 3", 8, 6, "label"), { text: "WHERE label = 3", cursor: 11 });
	});

	test("history walks back to the draft", () => {
		const history = new logic.History(["a", "b", 3]);
		history.push("a");
		assert.deepEqual(history.entries, ["b", "a"]);
		assert.equal(history.older("dra"), "a");
		assert.equal(history.older("a"), "b");
		assert.equal(history.older("b"), null);
		assert.equal(history.newer(), "a");
		assert.equal(history.newer(), "dra");
		assert.equal(history.newer(), null);
	});

	test("typing finds beginnings before insides", () => {
		assert.deepEqual(logic.typeAhead(["wildcat", "dog", "big cat", "cat", "Cattle"], "cat").map((c) => c.name), ["cat", "Cattle", "big cat", "wildcat"]);
		assert.equal(logic.typeAhead(["a", "b"], "").length, 2);
	});
});

describe("numbers", () => {
	test("are short", () => {
		assert.deepEqual([0, 12, 999, 1234, 12345, 1.5e6, 0.03456, 2e9].map(logic.short), ["0", "12", "999", "1234", "12.3k", "1.5M", "0.0346", "2G"]);
		assert.equal(logic.counted(1, "row"), "1 row");
		assert.equal(logic.counted(60000, "row"), "60,000 rows");
	});

	test("ids of commits are brief, names are whole", () => {
		assert.equal(logic.brief("WW8GCDXS4V2Q5NE47MA0"), "WW8GCDXS");
		assert.equal(logic.brief("A-LONG-TAG-OF-SOMEONE"), "A-LONG-TAG-OF-SOMEONE");
	});

	test("times are dates, with the hour where the span is short", () => {
		assert.equal(logic.shortTime(0), "1970-01-01");
		assert.equal(logic.shortTime(3_600_000, 1000), "1970-01-01 01:00");
		assert.equal(logic.shortTime(NaN), "–");
	});

	test("an end of a range keeps its size where it has many digits", () => {
		const ends = [0.5, -1234567.891, 1e19, -1e19, 1.5e300, 2e-12, "9007199254740993", "18446744073709551615"];
		assert.deepEqual(ends.map(logic.endText), ["0.5", "-1234570", "1e19", "-1e19", "1.5e+300", "2e-12", "9007199254740993", "1.84467e19"]);
		for (const text of ends.map(logic.endText)) assert.ok(text.length <= 16);
	});

	test("times without a zone are of UTC", () => {
		assert.equal(logic.timeOf("1970-01-01T01:00:00"), 3_600_000);
		assert.equal(logic.timeOf("1970-01-01T01:00:00Z"), 3_600_000);
		assert.equal(logic.timeOf("1970-01-02"), 86_400_000);
		assert.equal(logic.timeOf(5), 5);
	});

	test("times of all years are read, whatever their unit", () => {
		assert.equal(logic.timeOf("10000-01-01T00:00:00"), Date.UTC(10000, 0, 1));
		assert.equal(logic.timeOf("-0044-03-15"), Date.parse("-000044-03-15T00:00:00Z"));
		assert.equal(logic.timeOf("1970-01-01T00:00:00.001999"), 1);
		assert.equal(logic.shortTime(Date.UTC(10000, 0, 1)), "+010000-01-01");
	});

	test("a brush means whole bins", () => {
		assert.deepEqual(logic.brushed(4, 30, 60, 100), [1, 3]);
		assert.deepEqual(logic.brushed(4, 60, 30, 100), [1, 3]);
		assert.deepEqual(logic.brushed(4, -50, 500, 100), [0, 4]);
	});

	test("an end of a bin is drawn there, whatever it is", () => {
		const edges = [0, 10, 20, 30, 40];
		assert.equal(logic.alongEdges(edges, 10), 0.25);
		assert.equal(logic.alongEdges(edges, "35"), 0.875);
		assert.equal(logic.alongEdges(edges, 50), 1);
		assert.equal(logic.alongEdges([5, 5], 5), 0);
		const times = ["2020-01-01T00:00:00", "2020-01-01T00:00:00.000100", "2020-01-01T00:00:00.000200"];
		assert.equal(logic.alongEdges(times, times[1]), 0.5);
		assert.equal(logic.alongEdges(["2020-01-01T00:00:00", "2020-01-03T00:00:00"], "2020-01-02"), 0.5);
	});

	test("what is typed for a range is a number, its digits, an open end, or nothing", () => {
		const read = { " 1,200.5 ": 1200.5, "-3": -3, "": null, " ": null, "9007199254740993": "9007199254740993", "-18,446,744,073,709,551,616": "-18446744073709551616", x: NaN, "1e999": NaN, "1 2": NaN };
		for (const [text, value] of Object.entries(read)) assert.deepEqual(logic.readNumber(text), value, text);
		const times = { "2026-01-02": "2026-01-02", " 2026-01-02 03:04 ": "2026-01-02T03:04", "2026-01-02T03:04:05.123456789": "2026-01-02T03:04:05.123456789", 2026: "2026-01-01", "2026-03": "2026-03-01", "": null, "Jan 2": NaN, "2026-13-01": NaN, "2026-01T10:00": NaN, "' OR 1": NaN };
		for (const [text, value] of Object.entries(times)) assert.deepEqual(logic.readTime(text), value, text);
	});

	test("a range of an exported page holds what a query finds", () => {
		assert.ok(logic.inRange(3, [3, 4]) && !logic.inRange(4, [3, 4]));
		assert.ok(logic.inRange("Infinity", [3, null]) && logic.inRange("-Infinity", [null, 3]) && !logic.inRange("Infinity", [null, 3]));
		assert.ok(logic.inRange("9007199254740993", ["9007199254740993", null]) && !logic.inRange("9007199254740993", [null, "9007199254740993"]));
		assert.ok(logic.inRange("9007199254740993", [0.5, 1e300]) && !logic.inRange(0.5, ["9007199254740993", null]));
		assert.equal(logic.roundedEnd(0.1, "float32"), Math.fround(0.1));
		for (const [end, half] of [[0.9, 0.89990234375], [-0.1, -0.0999755859375], [1e-7, 1.1920928955078125e-7], [2e-8, 0], [2048.5, 2048], [2049.5, 2050], [65519.9, 65504], [65520.5, Infinity], [70000.5, Infinity]]) assert.equal(logic.roundedEnd(end, "float16"), half);
		for (const end of [null, 16777217, "9007199254740993"]) assert.equal(logic.roundedEnd(end, "float16"), end);
		assert.equal(logic.roundedEnd(0.1, undefined), 0.1);
		for (const range of [[0, 1], [null, 1], [0, null]]) assert.ok(!logic.inRange(null, range) && !logic.inRange(undefined, range));
	});
});

describe("what is kept", () => {
	test("what was used last stays, the rest is disposed of once", () => {
		const gone = [];
		const lru = new logic.Lru(10, (value) => gone.push(value));
		for (const name of ["a", "b", "c"]) lru.set(name, name, 4);
		assert.deepEqual(gone, ["a"]);
		assert.equal(lru.get("b"), "b");
		lru.set("d", "d", 4);
		assert.deepEqual(gone, ["a", "c"]);
		lru.set("b", "b2", 4);
		assert.deepEqual(gone, ["a", "c", "b"]);
		lru.clear();
		assert.deepEqual([gone.length, lru.used], [5, 0]);
	});

	test("one that is larger than the budget stays alone", () => {
		const lru = new logic.Lru(10);
		lru.set("a", 1, 4);
		lru.set("b", 2, 40);
		assert.deepEqual([lru.get("a"), lru.get("b")], [undefined, 2]);
	});
});

describe("requests", () => {
	const make = () => {
		const state = { sent: [], now: 0, generation: 1 };
		const requests = new logic.Requests({ send: (m) => state.sent.push(m), generation: () => state.generation, now: () => state.now });
		return { state, requests };
	};
	const reply = (message, fields = {}) => ({ type: "reply", req: message.req, gen: message.gen, ok: true, ...fields });

	test("an answer finds its question, with its bytes", async () => {
		const { state, requests } = make();
		const asked = requests.ask("cells", { start: 0 });
		assert.equal(requests.receive({ type: "reply", req: 99999 }), false);
		assert.ok(requests.receive(reply(state.sent[0], { cells: [] }), [new DataView(Uint8Array.of(7, 8).buffer)]));
		const answer = await asked;
		assert.deepEqual([...answer.bytes], [7, 8]);
		assert.equal(requests.open.size, 0);
	});

	test("a question that cannot be sent is refused, with the way out", async () => {
		const send = () => { throw new Error("Cannot send"); };
		const requests = new logic.Requests({ send, generation: () => 1, now: () => 0 });
		await assert.rejects(requests.ask("hello"), /kernel has restarted or ended.*Run the cell again/);
		assert.equal(requests.open.size, 0);
	});

	test("base64 takes the place of bytes", async () => {
		const { state, requests } = make();
		const asked = requests.ask("hello");
		requests.receive(reply(state.sent[0], { b64: "AQI=" }));
		assert.deepEqual([...(await asked).bytes], [1, 2]);
	});

	test("a refusal keeps its place and its hint", async () => {
		const { state, requests } = make();
		const asked = requests.ask("query");
		requests.receive(reply(state.sent[0], { ok: false, error: { kind: "QuerySyntaxError", message: "no", line: 1, column: 4, hint: "yes" } }));
		await assert.rejects(asked, (error) => error instanceof logic.Refusal && error.column === 4 && error.hint === "yes");
	});

	test("answers about another generation are stale, whoever notices first", async () => {
		const { state, requests } = make();
		const [bound, free, told] = [requests.ask("cells", {}, { bound: true }), requests.ask("query"), requests.ask("cells")];
		state.generation = 2;
		requests.receive(reply(state.sent[0]));
		requests.receive(reply(state.sent[1]));
		requests.receive(reply(state.sent[2], { ok: false, error: { kind: "Stale", message: "" } }));
		await assert.rejects(bound, logic.Stale);
		await assert.rejects(told, logic.Stale);
		await free;
	});

	test("a lane has one question open, and only the newest waits", async () => {
		const { state, requests } = make();
		const asked = [1, 2, 3].map((n) => requests.latest("facets", "facets", { n }));
		assert.deepEqual(state.sent.map((m) => m.n), [1]);
		await assert.rejects(asked[1], logic.Stale);
		requests.receive(reply(state.sent[0]));
		await asked[0];
		await new Promise((resolve) => setTimeout(resolve));
		assert.deepEqual(state.sent.map((m) => m.n), [1, 3]);
		requests.receive(reply(state.sent[1]));
		await asked[2];
	});

	test("lateness is that of the oldest question; progress counts as life", () => {
		const { state, requests } = make();
		assert.equal(requests.waited(), 0);
		requests.ask("points", {}, { progress: (done) => (state.done = done) }).catch(() => {});
		state.now = 9000;
		requests.ask("cells").catch(() => {});
		assert.equal(requests.waited(), 9000);
		requests.receive({ type: "progress", req: state.sent[0].req, done: 3, total: 4 });
		state.now = 12000;
		assert.equal(state.done, 3);
		assert.equal(requests.waited(), 3000);
	});

	test("asking again repeats what is open, closing lets go of it", async () => {
		const { state, requests } = make();
		const asked = requests.ask("cells", { start: 3 });
		requests.retry();
		assert.deepEqual(state.sent[0], state.sent[1]);
		requests.close();
		await assert.rejects(asked, logic.Stale);
	});
});

describe("zoom", () => {
	test("keeps the place under the pointer, within its limits", () => {
		const view = logic.zoomAt({ scale: 1, x: 0, y: 0 }, 100, 50, 2, [0.5, 8]);
		assert.deepEqual(view, { scale: 2, x: -100, y: -50 });
		assert.equal(logic.zoomAt(view, 0, 0, 100, [0.5, 8]).scale, 8);
	});
});

describe("the static page", () => {
	const cells = Array.from({ length: 6 }, (_, i) => ({ p: i, id: `r${i}`, v: null, facet: { label: i % 2, score: [Math.floor(i / 3), i / 10] } }));
	const facets = { facets: [{ expression: "label", kind: "classes", values: [[0, "a", 3, 3, 0], [1, "b", 3, 3, 1]] }, { expression: "score", kind: "numbers", edges: [0, 0.25, 0.5], all: [3, 3], shown: [3, 3] }] };
	const make = () => new logic.StaticModel({ traits: { about: { static: true }, state: { generation: 1, rows: 6 } }, cells, facets, details: { 3: { id: "r3" } } }, Uint8Array.of(5, 6));
	const ask = (model, message) => new Promise((resolve) => {
		model.on("msg:custom", (content, buffers) => resolve({ ...content, buffers }));
		model.send({ req: 1, gen: 1, ...message });
	});

	test("says hello with bytes and shows its cells", async () => {
		assert.equal((await ask(make(), { type: "hello" })).buffers[0][3], 4);
		const { cells: shown } = await ask(make(), { type: "cells", start: 4, stop: 9 });
		assert.deepEqual(shown.map((cell) => cell.p), [4, 5]);
	});

	test("maps the rows that are left by filters, in their colours", async () => {
		const xy = Float32Array.of(0, 0.5, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5); // of rows 5, 4, 3, 1 and 0: one has no vector
		const bytes = new Uint8Array(80);
		bytes.set(new Uint8Array(xy.buffer));
		bytes.set(new Uint8Array(Uint32Array.of(5, 4, 3, 1, 0).buffer), 40);
		bytes.set(new Uint8Array(Int32Array.of(1, 0, 1, -1, 0).buffer), 60);
		const plain = { n: 5, of: 6, colour: null, v: { xy: [0, 40], positions: [40, 20], colour: null } };
		const coloured = { ...plain, colour: { kind: "classes" }, v: { ...plain.v, colour: [60, 20] } };
		const points = JSON.parse('{"__proto__": {}, "constructor": {}}');
		for (const column of Object.keys(points)) Object.assign(points[column], { "": plain, __proto__: null, label: coloured });
		const model = new logic.StaticModel({ traits: { about: {}, state: { generation: 1, rows: 6 } }, cells, facets, points }, bytes);
		for (const column of ["__proto__", "constructor"]) {
			model.answer({ type: "filter", expression: "label", kind: "classes", op: "set", values: [1] }); // rows 1, 3, 5
			const found = await ask(model, { type: "points", column, colour: "label" });
			const read = (span, Kind) => [...logic.numbersAt(found.buffers[0], span, Kind)];
			assert.deepEqual([found.ok, found.n, found.of], [true, 3, 3]);
			assert.deepEqual(read(found.v.xy, Float32Array), [0, 0.5, 2, 2.5, 3, 3.5]);
			assert.deepEqual(read(found.v.positions, Uint32Array), [2, 1, 0]);
			assert.deepEqual(read(found.v.colour, Int32Array), [1, 1, -1]);
			assert.equal((await ask(model, { type: "points", column, colour: null })).v.colour, null);
			model.answer({ type: "filter", expression: "score", kind: "numbers", op: "set", values: [7, 8] });
			assert.deepEqual((await ask(model, { type: "points", column, colour: null })).n, 0);
			model.answer({ type: "filter", expression: "score", kind: "numbers", op: "clear", values: [] });
			model.answer({ type: "filter", expression: "label", kind: "classes", op: "clear", values: [] });
			assert.equal((await ask(model, { type: "points", column, colour: null })).n, 5);
		}
		assert.equal((await ask(model, { type: "points", column: "none", colour: null })).ok, false);
	});

	test("filters what it has, and counts it", async () => {
		const model = make();
		await ask(model, { type: "filter", expression: "label", kind: "classes", op: "toggle", values: [1] });
		assert.deepEqual(model.get("state"), { generation: 2, rows: 3, ms: 0 });
		const { cells: shown } = model.answer({ type: "cells", start: 0, stop: 9 });
		assert.deepEqual(shown.map((cell) => cell.id), ["r1", "r3", "r5"]);
		assert.deepEqual(model.answer({ type: "detail", p: 1 }), { id: "r3", position: 1 });
		assert.deepEqual(model.answer({ type: "facets" }).facets[1].shown, [1, 2]);
		model.answer({ type: "filter", expression: "score", kind: "numbers", op: "set", values: [0.25, 0.5] });
		assert.equal(model.get("state").rows, 2);
		model.answer({ type: "filter", expression: "label", kind: "classes", op: "clear", values: [] });
		assert.equal(model.get("state").rows, 3);
	});

	test("says what needs a notebook", async () => {
		const refused = await ask(make(), { type: "query", text: "x" });
		assert.equal(refused.ok, false);
		assert.match(refused.error.message, /notebook/);
	});
});
