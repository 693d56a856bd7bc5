// Functions on the text of a query, for its tokens, the positions of errors, completion and an example.

/** @import { Column } from "./messages.js" */

const KEYWORDS = new Set(
	(
		"SELECT FROM WHERE AND OR NOT IN IS NULL LIKE ILIKE BETWEEN ORDER GROUP BY HAVING LIMIT OFFSET ASC DESC AS CASE WHEN " +
		"THEN ELSE END DISTINCT TRUE FALSE JOIN LEFT RIGHT INNER OUTER ON UNION ALL ANY EXISTS WITH SAMPLE UNGROUP EXPAND " +
		"VERSION CAST USING REPLACE NULLS FIRST LAST OVER PARTITION CONTAINS EXCEPT INTERSECT"
	).split(" "),
);
const TOKEN = /(?<comment>--[^\n]*|\/\*[\s\S]*?(?:\*\/|$))|(?<string>'(?:[^']|'')*'?)|(?<name>"(?:[^"]|"")*"?)|(?<number>\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)|(?<word>[\p{L}_][\p{L}\p{N}_]*)|(?<space>\s+)|(?<mark>.)/gsu;

/** Splits a query into tokens for highlighting. Joined, the tokens are the whole text. */
export function tokens(/** @type {string} */ text) {
	const parts = [];
	for (const match of text.matchAll(TOKEN)) {
		const { groups = {} } = match;
		let kind = Object.keys(groups).find((name) => groups[name] !== undefined) ?? "mark";
		const start = match.index ?? 0;
		const stop = start + match[0].length;
		if (kind === "word") {
			if (KEYWORDS.has(match[0].toUpperCase())) kind = "keyword";
			else if (/^\s*\(/.test(text.slice(stop, stop + 8))) kind = "function";
		}
		parts.push({ kind, start, stop, text: match[0] });
	}
	return parts;
}

/** Returns the offset after a number of characters. Python counts an emoji as one character. @param {string} text @param {number} characters */
export const offsetOf = (text, characters) => [...text].slice(0, characters).join("").length;

/** Returns the offset of a line and column, both counted from 1 and clipped to the text. @param {string} text @param {number} line @param {number} column */
export function caretOffset(text, line, column) {
	const lines = text.split("\n");
	const at = Math.min(Math.max(1, line), lines.length) - 1;
	const before = lines.slice(0, at).reduce((sum, l) => sum + l.length + 1, 0);
	return before + offsetOf(lines[at], Math.max(1, column) - 1);
}

/** Returns the span of the token to underline for an error at a line and column, which may be the last token. @param {string} text @param {number} line @param {number} column */
export function errorSpan(text, line, column) {
	const at = caretOffset(text, line, column);
	const solid = tokens(text).filter((t) => t.kind !== "space");
	const hit = solid.find((t) => at >= t.start && at < t.stop) ?? solid.find((t) => t.start >= at) ?? solid[solid.length - 1];
	return hit ? [hit.start, hit.stop] : [0, 0];
}

/** Replaces the word before the cursor. @param {string} text @param {number} cursor @param {number} word @param {string} choice */
export function complete(text, cursor, word, choice) {
	return { text: text.slice(0, word) + choice + text.slice(cursor), cursor: word + choice.length };
}

/** Returns an example query, with a condition on an existing column. */
export function exampleQuery(/** @type {Column[]} */ columns) {
	const column = columns.find((one) => one.classes?.length && one.kind === "class") ?? columns.find((one) => one.kind === "number");
	if (!column) return "SELECT * LIMIT 100";
	const name = /^[a-z_]\w*$/i.test(column.name) ? column.name : `"${column.name.replaceAll('"', '""')}"`;
	return name + (column.kind === "class" ? ` = '${column.classes[0].replaceAll("'", "''")}'` : " > 0");
}
