// A small panel under a button.

import { h } from "./elements.js";

/** A small panel under a button; Escape and a press elsewhere close it. */
export function popover(/** @type {HTMLElement} */ button, name, /** @type {() => Node[]} */ build) {
	button.setAttribute("aria-haspopup", "dialog");
	button.setAttribute("aria-expanded", "false");
	let panel = null;
	const close = (refocus = false) => {
		if (!panel) return;
		panel.remove();
		panel = null;
		button.setAttribute("aria-expanded", "false");
		document.removeEventListener("pointerdown", outside, true);
		if (refocus) button.focus();
	};
	const outside = (event) => {
		if (!panel.contains(event.target) && !button.contains(event.target)) close();
	};
	button.addEventListener("click", () => {
		if (panel) return close();
		panel = h("div", { class: "dl-popover", role: "dialog", "aria-label": name }, ...build());
		const root = button.closest(".dl-browser");
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
		panel.querySelector("input, button, [tabindex]")?.focus();
	});
	return close;
}
