// The entry point of the dataset browser in the notebook.
//
// Python keeps the state, and these modules draw it and send requests. Data are never inserted as HTML.

import { Core } from "./core.js";
import { Shell } from "./shell.js";
/** @import { Model } from "./messages.js" */

/** @param {{model: Model, el: HTMLElement, signal?: AbortSignal}} host */
export function render({ model, el, signal }) {
	const core = new Core(model);
	const shell = new Shell(core, el);
	core.hello().catch((error) => core.failed(error));
	const close = () => {
		core.emit("settle");
		core.closing.abort();
		shell.root.remove();
	};
	signal?.addEventListener("abort", close);
	return close;
}

export default { render };
