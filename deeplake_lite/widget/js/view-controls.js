// Controls for the size of cards, for overlays and for captions.

import { check, div, h, iconButton, keepKeys, labelled, quiet, select, slider, span, tickIn } from "./elements.js";
import { LARGEST, SMALLEST } from "./layout.js";
import { captionColumns, OVERLAYS, overlay, overlayColumns, setOverlays } from "./overlays.js";
import { popover } from "./popover.js";
/** @import { Core } from "./core.js" */
/** @import { Column, Overlay } from "./messages.js" */

/** Creates the control for the size of the cards. @param {Core} core @param {(by: number) => void} zoom */
export function zoomControl(core, zoom) {
	const steps = Math.log(LARGEST / SMALLEST);
	/** @type {HTMLInputElement} */
	const size = slider("Size of the cards", { oninput: () => core.set({ size: Math.round(SMALLEST * Math.exp((Number(size.value) / 100) * steps)) }) });
	keepKeys(size);
	const show = () => {
		size.value = String(Math.round((100 * Math.log(core.settings.size / SMALLEST)) / steps));
		size.setAttribute("aria-valuetext", `${core.settings.size} pixels`);
	};
	core.on("settings", show);
	show();
	return div(
		"dl-group dl-zoom",
		iconButton("minus", "Smaller cards (−)", () => zoom(0.8)),
		size,
		iconButton("plus", "Larger cards (+)", () => zoom(1.25)),
	);
}

/** Creates the button for overlays, with their visibility and opacity, and the choice of the image column. */
export function layersButton(/** @type {Core} */ core) {
	const columns = overlayColumns(core);
	const pictures = core.kinds("image", "mask");
	const button = labelled("layers", "Overlays", "Overlays (o)");
	button.hidden = !columns.length && pictures.length < 2;
	popover(button, "Overlays", () => [
		...columns.map((column, layer) => layerRow(core, column, layer)),
		columns.length > 0 && core.column(core.settings.picture)?.stored === false && quiet(`Overlays are not drawn over ${core.settings.picture}, because the query computes it.`, "p"),
		pictures.length > 1 &&
			h(
				"label",
				{ class: "dl-row-field" },
				span("Image"),
				select(
					pictures.map((column) => column.name),
					core.settings.picture ?? pictures[0].name,
					(picture) => core.set({ picture }),
					"Image",
				),
			),
	]);
	return button;
}

/** @param {Core} core @param {Column} column @param {number} layer */
function layerRow(core, column, layer) {
	const put = (/** @type {Partial<Overlay>} */ patch) => setOverlays(core, [column], patch);
	const { shown, opacity } = overlay(core, column.name);
	const line = h("span", { class: "dl-layer-line", "data-dash": layer % 3, "aria-hidden": "true" });
	/** @type {HTMLInputElement} */
	const box = h("input", { type: "checkbox", "aria-label": `Show ${column.name}`, checked: shown, onchange: () => put({ shown: box.checked }) });
	/** @type {HTMLInputElement} */
	const share = slider(`Opacity of ${column.name}`, { value: Math.round(100 * opacity), oninput: () => put({ opacity: Number(share.value) / 100 }) });
	return div("dl-layer", h("label", {}, box, line, span(column.name), quiet(column.kind)), share);
}

/** Creates the button for the columns in captions. */
export function captionButton(/** @type {Core} */ core) {
	const button = labelled("text", "Captions", "Text below the cards");
	popover(button, "Captions", () =>
		core.columns
			.filter((column) => ![...OVERLAYS, "image"].includes(column.kind))
			.map((column) => {
				const put = () => {
					const now = captionColumns(core);
					core.set({ caption: box.checked ? [...now, column.name] : now.filter((name) => name !== column.name) });
				};
				const line = check(column.name, { checked: captionColumns(core).includes(column.name), onchange: put }, quiet(column.kind));
				const box = tickIn(line);
				return line;
			}),
	);
	return button;
}

/** Shows all overlays, or none. */
export function toggleOverlays(/** @type {Core} */ core) {
	const columns = overlayColumns(core);
	const shown = columns.some((column) => overlay(core, column.name).shown);
	setOverlays(core, columns, { shown: !shown });
	core.say(shown ? "Overlays hidden" : "Overlays shown");
}
