// The theme, which is light or dark like the notebook, and the style sheet's colours for canvases.

import { luminance, parseColour } from "./colours.js";

/** @import { Core } from "./core.js" */

/** @typedef {Record<string, string>} Palette  colours and fonts of the style sheet */

/** Returns the theme, "light" or "dark", from the settings, otherwise from the notebook, otherwise from the system. @param {HTMLElement} root @param {string} wanted */
function themeOf(root, wanted) {
	if (wanted === "light" || wanted === "dark") return wanted;
	const style = getComputedStyle(root);
	for (const name of ["--jp-layout-color0", "--vscode-editor-background", "--colab-primary-surface-color"]) {
		const colour = parseColour(style.getPropertyValue(name));
		if (colour) return luminance(colour) > 0.3 ? "light" : "dark";
	}
	return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Updates the theme when the settings, the notebook or the system change. @param {HTMLElement} root @param {Core} core @param {() => void} changed */
export function followTheme(root, core, changed) {
	const apply = () => {
		const wanted = core.settings.theme;
		const theme = themeOf(root, wanted);
		root.dataset.theme = theme;
		root.dataset.host = String(wanted === "auto");
		changed();
	};
	const observer = new MutationObserver(apply);
	observer.observe(document.body, { attributes: true });
	observer.observe(document.documentElement, { attributes: true, attributeFilter: ["class", "style", "theme", "data-theme"] });
	const media = matchMedia("(prefers-color-scheme: dark)");
	media.addEventListener("change", apply);
	core.on("settings", apply);
	core.sized(root, () => {
		// notebooks attach the element after `render`, and it has no styles before
		if (core.palette.bg) return;
		apply();
		core.emit("attached");
	});
	core.atEnd(() => {
		observer.disconnect();
		media.removeEventListener("change", apply);
	});
	apply();
}

/** Returns the style sheet's colours for canvases. */
export function paletteOf(/** @type {HTMLElement} */ root) {
	const style = getComputedStyle(root);
	const names = ["bg", "ink", "muted", "line", "fill", "card", "accent", "on-accent", "soft", "bad", "edit"];
	/** @type {Record<string, string>} */
	const palette = { font: style.fontFamily, mono: style.getPropertyValue("--dl-mono") };
	for (const name of names) palette[name] = style.getPropertyValue(`--dl-${name}`).trim();
	return palette;
}
