// The entry point of pages written by `Browser.to_html`, with the same front end and embedded data.

import { render } from "./browser.js";
import { fromBase64 } from "./bytes.js";
import { StaticModel } from "./static.js";

{
	const text = (/** @type {string} */ id) => document.getElementById(id)?.textContent ?? "";
	const model = new StaticModel(JSON.parse(text("data")), fromBase64(text("bytes")));
	render({ model, el: /** @type {HTMLElement} */ (document.getElementById("browser")) });
}
