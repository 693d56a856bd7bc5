// What an exported page counts and finds: node answers.mjs static.js data.json filters.json

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { StaticModel } = await import(pathToFileURL(process.argv[2]));
const [data, filters] = process.argv.slice(3).map((path) => readFileSync(path, "utf8"));
const model = () => new StaticModel(JSON.parse(data), new Uint8Array(0));
const found = JSON.parse(filters).map((filter) => {
	const page = model();
	page.answer({ type: "filter", op: "set", ...filter });
	const { cells } = page.answer({ type: "cells", start: 0, stop: 1e6 });
	return cells.map((cell) => cell.id);
});
console.log(JSON.stringify({ facets: model().answer({ type: "facets" }).facets, found }));
