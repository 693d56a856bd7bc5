// The panel of versions.

import { div, dotted, h, padded, quiet, span } from "./elements.js";
import { shortTime, timeOf } from "./numbers.js";
import { Stale } from "./requests.js";
import { brief, counted } from "./text.js";
/** @import { Core } from "./core.js" */
/** @import { VersionList } from "./messages.js" */

/** Lists branches, tags and commits, and shows the chosen version. */
export class Versions {
	constructor(/** @type {Core} */ core) {
		this.core = core;
		this.title = "Versions";
		this.element = div("dl-panel-scroll");
		core.on("about", () => this.element.isConnected && this.open());
	}

	async open() {
		if (!this.element.childElementCount) this.element.replaceChildren(padded("Reading the history …"));
		try {
			this.show(await this.core.latest("versions"));
		} catch (/** @type {any} */ error) {
			if (!(error instanceof Stale)) this.element.replaceChildren(padded(error.message));
		}
	}

	show(/** @type {VersionList} */ { branches, tags, commits, shown }) {
		const about = this.core.about;
		const is = (/** @type {(string|null|undefined)[]} */ ...names) => names.includes(about.branch ?? about.version ?? shown);
		const part = (/** @type {string} */ title, /** @type {HTMLElement[]} */ rows) => (rows.length ? [h("section", { class: "dl-versions" }, h("h3", { text: title }), ...rows)] : []);
		this.element.replaceChildren(
			...part(
				"Branches",
				branches.map((name) => this.row(name, name, "", is(name))),
			),
			...part(
				"Tags",
				tags.map((name) => this.row(name, name, "", !about.branch && is(name))),
			),
			...part(
				"Commits",
				commits.map((commit) => this.row(commit.id, commit.message || "(no message)", dotted(shortTime(timeOf(commit.time), 0), brief(commit.id), ...commit.names), !about.branch && is(commit.id, ...commit.names))),
			),
		);
	}

	/** @param {string} version @param {string} title @param {string} note @param {boolean} current */
	row(version, title, note, current) {
		return h("button", { class: "dl-version", "aria-pressed": String(current), onclick: () => this.choose(version) }, span(title, "dl-version-name", title), note && quiet(note));
	}

	async choose(/** @type {string} */ version) {
		try {
			const reply = await this.core.show("show_version", { version });
			this.core.say(`${reply.branch ?? reply.version ?? version} shown, ${counted(reply.rows, "row")}`);
			this.open();
		} catch (error) {
			this.core.failed(error);
		}
	}
}
