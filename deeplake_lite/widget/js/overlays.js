// Which overlays and captions are shown, and how.

export const OVERLAYS = ["boxes", "mask", "polygons", "keypoints"];
export const overlayColumns = (core) => core.kinds(...OVERLAYS);
export const overlay = (core, name) => ({ shown: true, opacity: 0.6, ...core.settings.overlays?.[name] });

/** Changes how overlays are drawn. */
export function setOverlays(core, columns, patch) {
	const changed = columns.map(({ name }) => [name, { ...overlay(core, name), ...patch }]);
	core.set({ overlays: { ...core.settings.overlays, ...Object.fromEntries(changed) } });
}

/** Columns under a card: as set, else the first labels, and what is suggested. */
export function captionColumns(core, caption = core.settings.caption) {
	return (
		caption ??
		core
			.kinds("class", "tags")
			.filter(({ name }, i) => !i || name === core.about.suggested?.column)
			.map(({ name }) => name)
	);
}
