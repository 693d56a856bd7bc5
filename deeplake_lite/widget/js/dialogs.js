// Dialogs that ask for text, or for a class or tag.

import { keyOfClass } from "./class-keys.js";
import { attribute, div, dot, focusIn, h, heading, iconButton, kbd, primary, quiet, span, textField } from "./elements.js";
import { clamp } from "./geometry.js";
import { typeAhead } from "./text.js";
/** @import { Child } from "./elements.js" */

/** @typedef {{index: number, name: string, fresh?: boolean}} Offer  a name to choose. The index of a new name is -1 */

/** Shows a dialog. The widget below it is inert until the dialog closes. @param {HTMLElement} root @param {string} title @param {Child[]} content @param {{wide?: boolean, closed?: () => void}} [how] */
export function dialog(root, title, content, { wide = false, closed = () => {} } = {}) {
	root.querySelector(".dl-shade")?.dispatchEvent(new CustomEvent("dl-close"));
	const before = document.activeElement;
	const rest = [...root.children].filter((child) => child instanceof HTMLElement);
	const close = () => {
		if (!shade.isConnected) return;
		shade.remove();
		rest.forEach((child) => (child.inert = false));
		closed();
		if (before instanceof HTMLElement && before.isConnected) before.focus({ preventScroll: true });
	};
	const box = h("div", { class: wide ? "dl-dialog dl-wide" : "dl-dialog", role: "dialog", "aria-modal": "true", "aria-label": title }, div("dl-dialog-head", heading(title), iconButton("close", "Close (Esc)", close)), ...content);
	/** @type {HTMLElement} */
	const shade = h("div", { class: "dl-shade", onpointerdown: (event) => event.target === shade && close() }, box);
	shade.addEventListener("dl-close", close);
	shade.addEventListener("keydown", (event) => {
		event.stopPropagation();
		if (event.key === "Escape") close();
		else if (event.key === "Tab") wrapFocus(event, box);
	});
	rest.forEach((child) => (child.inert = true));
	root.append(shade);
	focusIn(box, ["[data-first], input, textarea, select", ".dl-dialog-body button", "button"].find((selector) => box.querySelector(selector)) ?? "button");
	return close;
}

/** @param {KeyboardEvent} event @param {HTMLElement} box */
function wrapFocus(event, box) {
	const fields = /** @type {NodeListOf<HTMLElement & {disabled?: boolean}>} */ (box.querySelectorAll("button, input, textarea, select, [tabindex='0']"));
	const stops = [...fields].filter((node) => !node.disabled && node.offsetParent);
	const [first, last] = [stops[0], stops[stops.length - 1]];
	if (event.shiftKey ? document.activeElement === first : document.activeElement === last) {
		event.preventDefault();
		(event.shiftKey ? last : first).focus();
	}
}

/** Marks the option at an index in an input's list as active, or no option for -1. @param {HTMLElement} input @param {HTMLElement} list @param {number} at */
export function markOption(input, list, at) {
	[...list.children].forEach((option, i) => option.setAttribute("aria-selected", String(i === at)));
	list.children[at]?.scrollIntoView({ block: "nearest" });
	attribute(input, "aria-activedescendant", list.children[at]?.id);
}

/**
 * Asks for one of many names, which users find by typing a part of the name. With `classes`, names have the colours of classes.
 * @param {HTMLElement} root @param {string} title @param {string[]} names @param {(choice: Offer & {value: number|string}) => void} chosen
 * @param {{free?: boolean, classes?: boolean, note?: HTMLElement|string}} [how]
 */
export function chooser(root, title, names, chosen, { free = false, classes = true, note = "" } = {}) {
	const input = textField(title, {
		role: "combobox",
		"aria-expanded": "true",
		"aria-controls": "dl-choices",
		placeholder: free ? "Type an existing or new name" : "Type to find",
		spellcheck: "false",
	});
	const list = h("div", { class: "dl-choices", role: "listbox", id: "dl-choices", "aria-label": title });
	const key = (/** @type {number} */ index) => {
		const digit = keyOfClass(index, names);
		return digit && kbd(digit);
	};
	/** @type {Offer[]} */
	let shown = [];
	let at = 0;
	const pick = (/** @type {Offer} */ choice) => {
		close();
		chosen({ ...choice, value: choice.index >= 0 ? choice.index : choice.name });
	};
	const mark = () => markOption(input, list, shown.length ? at : -1);
	const refresh = () => {
		shown = typeAhead(names, input.value);
		const typed = input.value.trim();
		if (free && typed && !names.includes(typed)) shown.push({ index: -1, name: typed, fresh: true });
		at = 0;
		list.replaceChildren(...shown.map((choice, i) => h("div", { role: "option", id: `dl-choice-${i}`, class: "dl-choice", onclick: () => pick(choice) }, classes && choice.index >= 0 && dot(choice.index), span(choice.fresh ? `New: ${choice.name}` : choice.name), classes && choice.index >= 0 && key(choice.index))));
		if (!shown.length) list.append(quiet("No such name", "p"));
		mark();
	};
	input.addEventListener("input", refresh);
	input.addEventListener("keydown", (event) => {
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (step) {
			event.preventDefault();
			at = clamp(at + step, 0, shown.length - 1);
			mark();
		} else if (event.key === "Enter" && shown[at]) {
			event.preventDefault();
			pick(shown[at]);
		}
	});
	refresh();
	const close = dialog(root, title, [div("dl-dialog-body", input, note instanceof Node ? note : note && quiet(note, "p"), list)]);
}

/**
 * Asks for a line of text.
 * @param {HTMLElement} root @param {string} title @param {{label: string, value?: string, action: string, note?: string, extra?: Child}} how
 * @param {(text: string) => void} done
 */
export function ask(root, title, { label, value = "", action, note = "", extra }, done) {
	const input = textField(label, { placeholder: label, value });
	const submit = (/** @type {SubmitEvent} */ event) => {
		event.preventDefault();
		if (!input.value.trim()) return;
		close();
		done(input.value.trim());
	};
	const form = h("form", { class: "dl-dialog-body", onsubmit: submit }, input, note && quiet(note, "p"), extra, div("dl-dialog-foot", primary(action, null, { type: "submit" })));
	const close = dialog(root, title, [form]);
}
