// What an exported page counts and finds: node answers.mjs browser.js data.json filters.json

import { readFileSync } from "node:fs";

const [source, data, filters] = process.argv.slice(2).map((path) => readFileSync(path, "utf8"));
const { StaticModel } = await import(`data:text/javascript;base64,${Buffer.from(source).toString("base64")}`);
const model = () => new StaticModel(JSON.parse(data), new Uint8Array(0));
const found = JSON.parse(filters).map((filter) => {
	const page = model();
	page.answer({ type: "filter", op: "set", ...filter });
	const { cells } = page.answer({ type: "cells", start: 0, stop: 1e6 });
	return cells.map((cell) => cell.id);
});
console.log(JSON.stringify({ facets: model().answer({ type: "facets" }).facets, found }));
