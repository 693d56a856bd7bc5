// A small panel below a button.

import { focusIn, h } from "./elements.js";
/** @import { Child } from "./elements.js" */

/** Adds a small panel to a button. Escape or a press elsewhere closes the panel. @param {HTMLElement} button @param {string} name @param {() => Child[]} build */
export function popover(button, name, build) {
	button.setAttribute("aria-haspopup", "dialog");
	button.setAttribute("aria-expanded", "false");
	/** @type {HTMLElement|null} */
	let panel = null;
	const close = (refocus = false) => {
		if (!panel) return;
		panel.remove();
		panel = null;
		button.setAttribute("aria-expanded", "false");
		document.removeEventListener("pointerdown", outside, true);
		if (refocus) button.focus();
	};
	const outside = (/** @type {PointerEvent} */ event) => {
		const target = /** @type {Node} */ (event.target);
		if (!panel?.contains(target) && !button.contains(target)) close();
	};
	button.addEventListener("click", () => {
		const root = button.closest(".dl-browser");
		if (panel || !root) return close();
		panel = h("div", { class: "dl-popover", role: "dialog", "aria-label": name }, ...build());
		root.append(panel);
		const [a, b] = [button.getBoundingClientRect(), root.getBoundingClientRect()];
		const left = Math.min(a.left - b.left, b.width - panel.offsetWidth - 8);
		panel.style.left = `${Math.max(8, left)}px`;
		panel.style.top = `${a.bottom - b.top + 4}px`;
		panel.style.maxHeight = `${b.bottom - a.bottom - 12}px`;
		panel.addEventListener("keydown", (event) => {
			if (event.key !== "Escape") return;
			event.stopPropagation();
			close(true);
		});
		button.setAttribute("aria-expanded", "true");
		document.addEventListener("pointerdown", outside, true);
		focusIn(panel, "input, button, [tabindex]");
	});
	return close;
}
