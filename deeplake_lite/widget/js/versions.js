// The panel of versions.

import { div, dotted, h, padded, quiet, span } from "./elements.js";
import { shortTime, timeOf } from "./numbers.js";
import { Stale } from "./requests.js";
import { brief, counted } from "./text.js";

/** Branches, tags and commits to show instead. */
export class Versions {
	constructor(core) {
		this.core = core;
		this.title = "Versions";
		this.element = div("dl-panel-scroll");
		core.on("about", () => this.element.isConnected && this.open());
	}

	async open() {
		if (!this.element.childElementCount) this.element.replaceChildren(padded("Reading the history …"));
		try {
			this.show(await this.core.latest("versions"));
		} catch (error) {
			if (!(error instanceof Stale)) this.element.replaceChildren(padded(error.message));
		}
	}

	show({ branches, tags, commits, shown }) {
		const about = this.core.about;
		const is = (...names) => names.includes(about.branch ?? about.version ?? shown);
		const part = (title, rows) => rows.length > 0 && h("section", { class: "dl-versions" }, h("h3", { text: title }), ...rows);
		this.element.replaceChildren(
			...[
				part(
					"Branches",
					branches.map((name) => this.row(name, name, "", is(name))),
				),
				part(
					"Tags",
					tags.map((name) => this.row(name, name, "", !about.branch && is(name))),
				),
				part(
					"Commits",
					commits.map((commit) => this.row(commit.id, commit.message || "(no message)", dotted(shortTime(timeOf(commit.time), 0), commit.author, brief(commit.id), ...(commit.names ?? [])), !about.branch && is(commit.id, ...(commit.names ?? [])))),
				),
			].filter(Boolean),
		);
	}

	row(version, title, note, current) {
		return h("button", { class: "dl-version", "aria-pressed": String(current), onclick: () => this.choose(version) }, span(title, "dl-version-name", title), note && quiet(note));
	}

	async choose(version) {
		try {
			const reply = await this.core.show("show_version", { version });
			this.core.say(`${reply.branch ?? reply.version ?? version} shown, ${counted(reply.rows, "row")}`);
			this.open();
		} catch (error) {
			this.core.failed(error);
		}
	}
}
