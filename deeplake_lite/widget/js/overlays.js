// The settings of overlays and captions.

/** @import { Core } from "./core.js" */
/** @import { Column, Kind, Overlay } from "./messages.js" */

/** @type {Kind[]} */
export const OVERLAYS = ["boxes", "mask", "polygons", "keypoints"];
export const overlayColumns = (/** @type {Core} */ core) => core.kinds(...OVERLAYS);

/** @param {Core} core @param {string} name @returns {Overlay} */
export const overlay = (core, name) => ({ shown: true, opacity: 0.6, ...core.settings.overlays?.[name] });

/** Changes the settings of some overlays. @param {Core} core @param {Column[]} columns @param {Partial<Overlay>} patch */
export function setOverlays(core, columns, patch) {
	const changed = columns.map(({ name }) => [name, { ...overlay(core, name), ...patch }]);
	core.set({ overlays: { ...core.settings.overlays, ...Object.fromEntries(changed) } });
}

/** Returns the columns in captions: the columns in the settings, otherwise the first column of labels and the suggested labels. */
export function captionColumns(/** @type {Core} */ core, caption = core.settings.caption) {
	return (
		caption ??
		core
			.kinds("class", "tags")
			.filter(({ name }, i) => !i || name === core.about.suggested?.column)
			.map(({ name }) => name)
	);
}
