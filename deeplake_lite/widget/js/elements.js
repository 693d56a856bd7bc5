// Functions that create elements of the page. Data are never inserted as HTML.

import { classColour, css } from "./colours.js";
import { visible } from "./text.js";

/** @import { Point } from "./geometry.js" */

/** Attributes that users read. */
const READ = new Set(["title", "aria-label", "placeholder"]);

/** @typedef {string|number|boolean|null|undefined} Setting */
/** @typedef {Node|string|false|0|null|undefined} Child  falsy values other than "" are skipped */
/** @typedef {"class"|"text"|"raw"|"title"|"role"|"tabindex"|"dir"|"id"|"type"|"value"|"checked"|"disabled"|"hidden"|"placeholder"|"rows"|"min"|"max"|"inputmode"|"spellcheck"|"autocapitalize"|"wrap"|"src"|"controls"|"scope"} Plain */
/** @typedef {{[E in keyof HTMLElementEventMap as `on${E}`]?: ((event: HTMLElementEventMap[E]) => unknown)|null}} Handlers */
/** @typedef {Handlers & {[name in Plain|`aria-${string}`|`data-${string}`]?: Setting}} Attributes */

/**
 * Creates an element. Entries of `with_` whose names begin with `on` become listeners, `class`, `text` and properties are
 * set, and all other entries become attributes. Control characters are made visible in text and in attributes that users
 * read. `raw` text is inserted unchanged. It is used for values, which keep their writing direction, and for aligned text.
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} tag @param {Attributes} [with_] @param {...Child} children
 * @returns {HTMLElementTagNameMap[T]}
 */
export function h(tag, with_ = {}, ...children) {
	const node = document.createElement(tag);
	if (node instanceof HTMLButtonElement) node.type = "button";
	if (node instanceof HTMLInputElement) node.autocomplete = "off";
	for (const [name, value] of Object.entries(with_)) {
		if (value === undefined || value === null || value === false) continue;
		if (typeof value === "function") node.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
		else if (name === "text") node.textContent = visible(value);
		else if (name === "raw") node.textContent = String(value);
		else if (name === "class") node.className = String(value);
		else if (name === "type" || name === "value" || name === "checked" || name === "disabled" || name === "hidden") Object.assign(node, { [name]: value });
		else node.setAttribute(name, value === true ? "" : READ.has(name) ? visible(value) : String(value));
	}
	for (const child of children) if (child || child === "") node.append(typeof child === "string" ? visible(child) : child);
	return node;
}

/** @typedef {keyof typeof ICONS} Icon */

/** Paths of icons, drawn as lines in a square of 16 × 16. */
const ICONS = {
	filter: "M2 3.5h12M4.5 8h7M7 12.5h2",
	map: "M2.5 2v11.5H14M6 9.5h.01M8.5 5.5h.01M11.5 8h.01M12 3.5h.01",
	versions: "M4.5 5.5v5M4.5 5.5a1.5 1.5 0 100-3 1.5 1.5 0 000 3zM4.5 13.5a1.5 1.5 0 100-3 1.5 1.5 0 000 3zM11.5 6.5a1.5 1.5 0 100-3 1.5 1.5 0 000 3zM11.5 6.5c0 3-7 1.5-7 4",
	edits: "M3 13l.7-3L11 2.7l2.3 2.3L6 12.3z",
	help: "M6 6a2 2 0 113 1.7c-.7.4-1 .8-1 1.5M8 12h.01",
	layers: "M8 2.5l6 3-6 3-6-3zM2 8.5l6 3 6-3M2 11.5l6 3 6-3",
	text: "M3 4h10M3 8h10M3 12h6",
	minus: "M3.5 8h9",
	plus: "M3.5 8h9M8 3.5v9",
	close: "M4 4l8 8M12 4l-8 8",
	left: "M10 3.5L5.5 8l4.5 4.5",
	right: "M6 3.5L10.5 8 6 12.5",
	down: "M4 6l4 4 4-4",
	save: "M3.5 2.5h9v11L8 10.5l-4.5 3z",
	check: "M3.5 8.5l3 3 6-7",
	undo: "M6 3.5L3 6.5l3 3M3 6.5h6.5a3.5 3.5 0 010 7H7",
	redo: "M10 3.5l3 3-3 3M13 6.5H6.5a3.5 3.5 0 000 7H9",
	sort: "M5 3v10M5 13l-2.5-2.5M5 13l2.5-2.5M11 13V3M11 3L8.5 5.5M11 3l2.5 2.5",
	theme: "M8 2.5a5.5 5.5 0 100 11zM8 2.5a5.5 5.5 0 010 11",
	lasso: "M4.5 10.5C2 9 1.5 6.5 3.5 4.5s6-2.5 8.5-1 2.5 4.5 0 6-5 1.5-7.5 1zM4.5 10.5c1 1 .5 2.5-1 3",
	pan: "M8 2v12M2 8h12M8 2L6.5 3.5M8 2l1.5 1.5M8 14l-1.5-1.5M8 14l1.5-1.5M2 8l1.5-1.5M2 8l1.5 1.5M14 8l-1.5-1.5M14 8l-1.5 1.5",
	box: "M3.5 3.5h9v9h-9zM3.5 3.5h.01M12.5 12.5h.01",
	suspects: "M7 11.5a4.5 4.5 0 100-9 4.5 4.5 0 000 9zM10.5 10.5L14 14M7 4.7v2.5M7 9.2h.01",
	alike: "M2.5 2.5h7v7h-7zM6.5 12v1.5h7v-7H12",
	fit: "M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
	history: "M8 4.5V8l2.5 1.5M2.5 8a5.5 5.5 0 101.6-3.9M2.5 2.5v2.5H5",
	tag: "M2.5 2.5h5l6 6-5 5-6-6zM5 5h.01",
};

export function icon(/** @type {Icon} */ name) {
	const space = "http://www.w3.org/2000/svg";
	const svg = document.createElementNS(space, "svg");
	svg.setAttribute("viewBox", "0 0 16 16");
	svg.setAttribute("aria-hidden", "true");
	svg.setAttribute("class", "dl-icon");
	const path = document.createElementNS(space, "path");
	path.setAttribute("d", ICONS[name]);
	svg.append(path);
	return svg;
}

/** Creates a button with an icon, and with `title` as its name and tooltip. @param {Icon} name @param {string} title @param {(event: MouseEvent) => unknown} onclick @param {Attributes} [with_] */
export function iconButton(name, title, onclick, with_ = {}) {
	return h("button", { class: "dl-button dl-only-icon", title, "aria-label": title, onclick, ...with_ }, icon(name));
}

/** @param {string} text @param {((event: MouseEvent) => unknown)|null} onclick @param {Attributes} [with_] */
export function textButton(text, onclick, with_ = {}) {
	return h("button", { class: "dl-button", onclick, ...with_ }, text);
}

/** @param {string} text @param {((event: MouseEvent) => unknown)|null} onclick @param {Attributes} [with_] */
export const primary = (text, onclick, with_ = {}) => textButton(text, onclick, { class: "dl-button dl-primary", ...with_ });

/** @param {string} text @param {(event: MouseEvent) => unknown} onclick @param {Attributes} [with_] */
export const link = (text, onclick, with_ = {}) => textButton(text, onclick, { class: "dl-link", ...with_ });

/** Prevents the notebook and outer elements from acting on an event. */
export function handled(/** @type {Event} */ event) {
	event.preventDefault();
	event.stopPropagation();
}

/** Prevents keys typed into an input from acting elsewhere. */
export const keepKeys = (/** @type {HTMLElement} */ field) => field.addEventListener("keydown", (event) => event.stopPropagation());
export const div = (/** @type {string} */ name, /** @type {Child[]} */ ...children) => h("div", { class: name }, ...children);
export const space = () => span("", "dl-space");
export const strong = (/** @type {string} */ text) => h("strong", { text });
export const heading = (/** @type {string} */ text) => h("h2", { text });
export const kbd = (/** @type {string} */ text) => h("kbd", { text });

/** @param {string} text @param {string} [name] @param {string} [title] */
export const span = (text, name, title) => h("span", { class: name, text, title });

/** Joins the non-empty parts with dots. */
export const dotted = (/** @type {(string|false|0|null|undefined)[]} */ ...parts) => parts.filter(Boolean).join(" · ");

/** @param {string} text @param {"span"|"p"} [tag] */
export const quiet = (text, tag = "span") => h(tag, { class: "dl-quiet", text });
export const padded = (/** @type {string} */ text) => h("p", { class: "dl-quiet dl-pad", text });

/** Creates a button with an icon, and a label that is hidden in narrow bars. @param {Icon} name @param {string} text @param {string} title @param {(() => unknown)|null} [onclick] @param {Attributes} [with_] */
export function labelled(name, text, title, onclick = null, with_ = {}) {
	return h("button", { class: "dl-button", title, "aria-label": text, onclick, ...with_ }, icon(name), span(text, "dl-label"));
}

/** Creates a paragraph in which text in backquotes is code. */
export const prose = (/** @type {string} */ text) => h("p", {}, ...text.split("`").map((part, i) => (i % 2 ? h("code", { text: part }) : part)));

/** Creates a text input named `label`. @param {string} label @param {Attributes} with_ */
export const textField = (label, with_) => h("input", { type: "text", class: "dl-input", "aria-label": label, ...with_ });

/** @param {string} label @param {Attributes} with_ */
export const slider = (label, with_) => h("input", { type: "range", min: "0", max: "100", class: "dl-slider", "aria-label": label, ...with_ });

/** Creates a check box with a label on its right. @param {string} text @param {Attributes} [with_] @param {...Child} more */
export function check(text, with_, ...more) {
	return h("label", { class: "dl-check" }, h("input", { type: "checkbox", ...with_ }), span(text), ...more);
}

/** @param {Icon} name @param {string} text @param {string} note @param {() => unknown} onclick */
export function choice(name, text, note, onclick) {
	return h("button", { class: "dl-choice", onclick }, icon(name), h("span", { text }), note && quiet(note));
}

/** Returns the input of a `check`. */
export const tickIn = (/** @type {HTMLLabelElement} */ label) => /** @type {HTMLInputElement} */ (label.firstChild);

/** Returns the target of an event as an element. */
export const targetOf = (/** @type {Event} */ event) => /** @type {HTMLElement} */ (event.target);

/** Creates a dot in the colour of a class. */
export function dot(/** @type {number|null|undefined} */ index) {
	if (index === null || index === undefined) return null;
	const made = h("span", { class: "dl-dot", "aria-hidden": "true" });
	made.style.background = css(classColour(index));
	return made;
}

/** Sets an attribute if it has changed. The value undefined removes the attribute. @param {Element} node @param {string} name @param {Setting} value */
export function attribute(node, name, value) {
	if (value === undefined) node.removeAttribute(name);
	else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, String(value));
}

/** Focuses the first element that matches a selector. @param {Element} node @param {string} selector */
export function focusIn(node, selector) {
	const first = node.querySelector(selector);
	if (first instanceof HTMLElement) first.focus();
}

/** Sets whether a button is pressed. */
export const pressed = (/** @type {Element} */ button, /** @type {boolean} */ on) => button.setAttribute("aria-pressed", String(on));

/** Sets the text of an element if it has changed. @param {Element} node @param {string} text */
export function say(node, text, { raw = false } = {}) {
	const shown = raw ? text : visible(text);
	if (node.textContent !== shown) node.textContent = shown;
}

/** Returns the position of an event in an element. @param {Element} node @param {MouseEvent} event @returns {Point} */
export function within(node, event) {
	const box = node.getBoundingClientRect();
	return [event.clientX - box.left, event.clientY - box.top];
}

/** Follows a pointer from press to release. @param {(move: {x: number, y: number, dx: number, dy: number, event: PointerEvent}) => void} onmove */
export function drag(/** @type {PointerEvent} */ start, onmove, onend = (/** @type {boolean} */ _moved) => {}) {
	const target = /** @type {HTMLElement} */ (start.currentTarget);
	const listening = new AbortController();
	let moved = false;
	const move = (/** @type {PointerEvent} */ event) => {
		const [dx, dy] = [event.clientX - start.clientX, event.clientY - start.clientY];
		if (!moved && Math.hypot(dx, dy) < 4) return;
		moved = true;
		const [x, y] = within(target, event);
		onmove({ x, y, dx, dy, event });
	};
	const end = () => {
		listening.abort();
		onend(moved);
	};
	try {
		target.setPointerCapture(start.pointerId);
	} catch {
		// synthetic events do not have a pointer to capture
	}
	target.addEventListener("pointermove", move, listening);
	for (const name of /** @type {const} */ (["pointerup", "pointercancel"])) target.addEventListener(name, end, listening);
}

/** @param {string[]} names @param {string} value @param {(value: string) => unknown} chosen @param {string} label @param {string} [none]  text of the empty name */
export function select(names, value, chosen, label, none = "") {
	/** @type {HTMLSelectElement} */
	const field = h("select", { class: "dl-input", "aria-label": label, onchange: () => chosen(field.value) }, ...names.map((name) => h("option", { value: name, text: name || none })));
	field.value = value;
	keepKeys(field);
	return field;
}
