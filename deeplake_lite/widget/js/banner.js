// The strip above the grid that shows errors, messages and drafts.

import { GONE, LATE } from "./core.js";
import { h, iconButton, say, span, textButton } from "./elements.js";
import { shortTime } from "./numbers.js";
import { counted, visibleLines } from "./text.js";
/** @import { Core } from "./core.js" */
/** @import { Draft, Problem } from "./messages.js" */
/** @import { Announcement } from "./traits.js" */

/** Describes a draft. */
export const describeDraft = (/** @type {Draft} */ { edits, rows, changed, complete }) => `${counted(edits, "edit")} of ${counted(rows, "row")}, staged ${shortTime(Date.parse(changed), 0)} UTC, ${edits === 1 ? "was" : "were"} never committed${complete ? "" : "; later edits are lost"}.`;

/** A line of text above the grid. A newer message replaces an older one, except that a notice about a slow kernel never replaces an error. */
export class Banner {
	constructor(/** @type {Core} */ core) {
		this.core = core;
		this.text = span("", "dl-banner-text");
		this.action = textButton("", () => this.run?.());
		this.element = h(
			"div",
			{ class: "dl-banner", role: "alert", hidden: true },
			this.text,
			this.action,
			iconButton("close", "Dismiss", () => this.hide()),
		);
		core.on("banner", (message) => this.show(message));
		core.on("waited", (ms) => this.waited(ms));
		core.on("problem", () => this.problem());
		core.on("drafts", () => this.offer());
		this.offer();
		this.problem();
	}

	/** Shows the problem that Python reports for as long as it persists. */
	problem() {
		/** @type {Problem|null|undefined} */
		const problem = this.core.model.get("problem");
		if (problem) {
			const place = problem.line ? ` (line ${problem.line}, column ${problem.column ?? 1})` : "";
			this.show({ level: "error", text: `${problem.kind}: ${problem.message}${place}` });
		} else if (this.complained) this.hide();
		this.complained = Boolean(problem);
	}

	/** Offers to restore uncommitted edits from other browsers, one draft at a time. */
	offer() {
		const [draft] = this.core.drafts;
		if (draft) this.show({ level: "draft", text: describeDraft(draft), action: "Restore", run: () => this.core.restore(draft) });
		else if (this.level === "draft") this.hide();
	}

	show(/** @type {Announcement} */ { level, text, action = "", run = undefined }) {
		this.level = level;
		this.run = run;
		this.element.dataset.level = level;
		say(this.text, visibleLines(text), { raw: true });
		say(this.action, action);
		this.action.hidden = !action;
		this.element.hidden = false;
	}

	hide() {
		this.element.hidden = true;
		this.level = null;
	}

	/** Tells users that the kernel is slow or does not reply. */
	waited(/** @type {number} */ ms) {
		if (ms < LATE) {
			if (this.level === "late") this.hide();
			return;
		}
		if (this.level === "error" && !this.element.hidden) return;
		const gone = ms >= GONE;
		this.show({
			level: "late",
			text: gone ? `No reply for ${Math.round(ms / 1000)} s. If the kernel has restarted, this view is out of date. Run the cell again.` : `Waiting for the kernel (${Math.round(ms / 1000)} s). Another cell may be running.`,
			action: "Retry",
			run: () => this.core.requests.retry(),
		});
	}
}
