// Functions that write names, counts and values.

/** Returns the names that contain the typed text. Names that start with it are first, then names with a word that starts with it. */
export function typeAhead(/** @type {string[]} */ names, /** @type {string} */ typed, most = 200) {
	const wanted = typed.trim().toLowerCase();
	const ranked = [];
	for (let i = 0; i < names.length; i++) {
		const name = names[i].toLowerCase();
		const at = name.indexOf(wanted);
		if (at < 0) continue;
		const rank = name === wanted ? 0 : at === 0 ? 1 : /[\s_\-./]/.test(name[at - 1]) ? 2 : 3;
		ranked.push({ index: i, name: names[i], rank });
	}
	return ranked.sort((a, b) => a.rank - b.rank || a.index - b.index).slice(0, most);
}

const HIDDEN = /\r\n|[\p{C}\p{Zl}\p{Zp}]|(?! )\p{Zs}/gu;

/** Makes all characters of a name visible. Control characters and direction marks become escapes, as in a Python repr. */
export const visible = (/** @type {unknown} */ text) =>
	String(text).replace(HIDDEN, (character) => {
		const code = character.codePointAt(0) ?? 0;
		if (code === 9) return "⇥";
		if (code === 10 || code === 13) return "↵";
		if (/\p{Zs}/u.test(character)) return " ";
		const sign = code < 256 ? "x" : code < 65536 ? "u" : "U";
		return `\\${sign}${code.toString(16).padStart({ x: 2, u: 4, U: 8 }[sign], "0")}`;
	});

/** Makes all characters of a text visible, except line breaks. */
export const visibleLines = (/** @type {unknown} */ text) => String(text).split("\n").map(visible).join("\n");

const GROUPED = new Intl.NumberFormat("en-US");

/** Returns the short form of a commit id, or the unchanged name of a branch or tag. */
export const brief = (/** @type {string|null|undefined} */ version) => String(version).replace(/^([0-9A-Z]{8})[0-9A-Z]{8,}$/, "$1");
export const grouped = (/** @type {number} */ n) => GROUPED.format(n);
/** @param {number} n @param {string} noun */
export const counted = (n, noun) => `${grouped(n)} ${noun}${n === 1 ? "" : "s"}`;

export const errorTitle = (/** @type {unknown} */ kind) =>
	String(kind ?? "Error")
		.replace(/Error$/, "")
		.replace(/([a-z])([A-Z])/g, "$1 $2")
		.toLowerCase()
		.replace(/^./, (c) => c.toUpperCase()) || "Error";

export const asText = (/** @type {unknown} */ value) => (value === null || value === undefined ? "–" : value === "" ? "“”" : typeof value === "object" ? JSON.stringify(value) : String(value));
