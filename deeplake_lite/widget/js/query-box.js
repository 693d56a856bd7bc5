// The input for queries, with highlighting, completion and error marks.

import { markOption } from "./dialogs.js";
import { div, h, iconButton, quiet, span, strong } from "./elements.js";
import { clamp } from "./geometry.js";
import { History } from "./history.js";
import { memory } from "./memory.js";
import { caretOffset, complete, errorSpan, exampleQuery, offsetOf, tokens } from "./query-text.js";
import { Stale } from "./requests.js";
import { errorTitle, visibleLines } from "./text.js";
/** @import { Core } from "./core.js" */
/** @import { Completion, Fault } from "./messages.js" */

/** The query box, with highlighting, completion, error marks, and the history. */
export class QueryBox {
	constructor(/** @type {Core} */ core) {
		this.core = core;
		this.history = new History(memory.read("history", []));
		/** @type {Completion[]} */
		this.items = [];
		this.at = -1;
		this.word = 0;
		this.sent = "";
		/** @type {number[]|null} */
		this.mark = null;
		/** @type {object|null} */
		this.asking = null;
		/** @type {number|undefined} */
		this.waiting = undefined;
		/** @type {HTMLTextAreaElement} */
		this.input = h("textarea", {
			class: "dl-query-text",
			rows: "1",
			spellcheck: "false",
			autocapitalize: "off",
			wrap: "soft",
			"aria-label": "Query",
			role: "combobox",
			"aria-autocomplete": "list",
			"aria-expanded": "false",
			"aria-controls": "dl-completions",
			placeholder: this.core.static ? "This page is a static copy. Queries need a notebook." : `Query, for example  ${exampleQuery(this.core.columns)}`,
			oninput: () => this.typed(),
			onkeydown: (event) => this.key(event),
			onblur: () => setTimeout(() => this.close(), 150),
			onscroll: () => (this.mirror.scrollTop = this.input.scrollTop),
			disabled: this.core.static,
		});
		this.mirror = h("pre", { class: "dl-query-mirror", "aria-hidden": "true" });
		this.list = h("div", { class: "dl-completions", role: "listbox", id: "dl-completions", "aria-label": "Completions", hidden: true });
		this.error = h("div", { class: "dl-query-error", role: "alert", hidden: true });
		this.clear = iconButton("close", "Clear the query and show all rows", () => this.run(""), { hidden: true });
		this.element = h("div", { class: "dl-query", role: "search" }, div("dl-query-field", this.mirror, this.input), this.clear, this.list, this.error);
		core.on("query", () => this.take());
		core.on("clear query", () => this.run(""));
		this.take();
	}

	get text() {
		return this.input.value;
	}

	/** Accepts the query that Python shows, unless the user is typing another query. */
	take() {
		const text = this.core.model.get("query") ?? "";
		if (document.activeElement === this.input && this.text !== this.sent) return;
		this.put(text);
		this.sent = text;
		this.fault(null);
	}

	put(/** @type {string} */ text, cursor = text.length) {
		this.input.value = text;
		this.input.setSelectionRange(cursor, cursor);
		this.paint();
	}

	/** Highlights the query, and underlines the token at which an error occurred. */
	paint() {
		const marked = this.mark;
		this.mirror.replaceChildren(
			...tokens(this.text).map(({ kind, start, stop, text }) => {
				const wrong = marked && start < marked[1] && stop > marked[0];
				return h("span", { class: `dl-t-${kind}${wrong ? " dl-wrong" : ""}`, raw: text });
			}),
			this.text.endsWith("\n") ? "\n " : "",
		);
		this.clear.hidden = !this.text;
		this.input.style.height = "auto";
		this.input.style.height = `${clamp(this.input.scrollHeight, 28, 96)}px`;
	}

	typed() {
		this.mark = null;
		this.error.hidden = true;
		this.paint();
		clearTimeout(this.waiting);
		this.waiting = setTimeout(() => this.askCompletion(), 60);
	}

	async askCompletion(always = false) {
		const cursor = this.input.selectionStart;
		const text = this.text;
		const asking = {};
		this.asking = asking;
		if (!always && !/[\p{L}\p{N}_.'"(]$/u.test(text.slice(0, cursor))) return this.close();
		try {
			const { items, word } = await this.core.latest("complete", { text, cursor: [...text.slice(0, cursor)].length });
			if (this.asking === asking && this.text === text && this.input.selectionStart === cursor) this.offer(items, offsetOf(text, word), always);
		} catch {
			this.close();
		}
	}

	/** @param {Completion[]} items @param {number} word @param {boolean} always */
	offer(items, word, always) {
		const typed = this.text.slice(word, this.input.selectionStart);
		this.items = items.filter(([text]) => text !== typed).slice(0, 50);
		this.word = word;
		if (!this.items.length || document.activeElement !== this.input) return this.close();
		this.at = always ? 0 : -1;
		this.list.replaceChildren(
			...this.items.map(([text, kind, detail], i) =>
				h(
					"div",
					{
						class: "dl-completion",
						role: "option",
						id: `dl-completion-${i}`,
						"aria-selected": String(i === this.at),
						onpointerdown: (event) => {
							event.preventDefault();
							this.accept(i);
						},
					},
					h("span", { class: `dl-kind dl-kind-${kind}`, text: { column: "c", function: "ƒ", class: "•", keyword: "k" }[kind] ?? "v" }),
					span(text, "dl-completion-text"),
					quiet(detail ?? kind),
				),
			),
		);
		this.place();
		this.list.hidden = false;
		this.input.setAttribute("aria-expanded", "true");
		markOption(this.input, this.list, this.at);
	}

	/** Places the list below the completed word. */
	place() {
		const probe = h("span", { raw: this.text.slice(0, this.word) || "\u200b" });
		const after = h("span", { raw: "\u200b" });
		const mirror = /** @type {HTMLElement} */ (this.mirror.cloneNode(false));
		mirror.append(probe, after);
		this.mirror.after(mirror);
		const end = after.getBoundingClientRect();
		const box = this.element.getBoundingClientRect();
		mirror.remove();
		const left = Math.min(end.left - box.left - 26, box.width - 240);
		this.list.style.left = `${Math.max(0, left)}px`;
		this.list.style.top = `${Math.min(box.height, end.bottom - box.top - this.input.scrollTop) + 6}px`;
	}

	accept(/** @type {number} */ index) {
		const made = complete(this.text, this.input.selectionStart, this.word, this.items[index][0]);
		this.close();
		this.put(made.text, made.cursor);
		if (this.items[index][1] === "function" && !made.text.slice(made.cursor).startsWith("(") && !made.text.endsWith("(")) {
			this.put(`${made.text.slice(0, made.cursor)}(${made.text.slice(made.cursor)}`, made.cursor + 1);
		}
		this.input.focus();
	}

	close() {
		clearTimeout(this.waiting);
		this.asking = null;
		this.list.hidden = true;
		this.input.setAttribute("aria-expanded", "false");
		this.input.removeAttribute("aria-activedescendant");
	}

	key(/** @type {KeyboardEvent} */ event) {
		event.stopPropagation();
		const open = !this.list.hidden;
		const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
		if (event.key === " " && event.ctrlKey) {
			event.preventDefault();
			this.askCompletion(true);
		} else if (open && step) {
			event.preventDefault();
			this.at = (this.at + step + this.items.length) % this.items.length;
			markOption(this.input, this.list, this.at);
		} else if (open && (event.key === "Tab" || (event.key === "Enter" && this.at >= 0))) {
			event.preventDefault();
			this.accept(Math.max(0, this.at));
		} else if (event.key === "Escape") {
			event.preventDefault();
			if (open) this.close();
			else this.core.emit("focus grid");
		} else if (event.key === "Enter" && !event.shiftKey) {
			event.preventDefault();
			this.run(this.text);
		} else if (step) {
			this.walk(event, step);
		}
	}

	/** @param {KeyboardEvent} event @param {number} step */
	walk(event, step) {
		const { selectionStart } = this.input;
		const alone = step < 0 ? !this.text.slice(0, selectionStart).includes("\n") : !this.text.slice(selectionStart).includes("\n");
		const entry = alone ? (step < 0 ? this.history.older(this.text) : this.history.newer()) : null;
		if (entry === null) return;
		event.preventDefault();
		this.put(entry);
	}

	async run(/** @type {string} */ text) {
		clearTimeout(this.waiting);
		this.close();
		this.put(text);
		this.sent = text;
		try {
			const reply = await this.core.show("query", { text });
			this.remember(reply.query ?? text);
			this.fault(null);
			if (this.text === text && reply.query !== undefined) this.put(reply.query);
			this.sent = this.text;
		} catch (/** @type {any} */ error) {
			if (!(error instanceof Stale)) this.fault(error);
		}
	}

	remember(/** @type {string} */ text) {
		this.history.push(text);
		memory.write("history", this.history.entries);
	}

	/** Shows the error of a query, and moves the caret to the position of the error. */
	fault(/** @type {Fault|null} */ error) {
		const line = error?.line ?? 0; // 0 if the error has no position
		this.mark = line ? errorSpan(this.text, line, error?.column ?? 1) : null;
		this.paint();
		this.error.hidden = !error;
		this.element.classList.toggle("dl-faulty", Boolean(error));
		this.input.setAttribute("aria-invalid", String(Boolean(error)));
		if (!error) return;
		this.error.replaceChildren(strong(errorTitle(error.kind)), h("span", { raw: visibleLines(error.message) }), quiet(error.hint ?? ""));
		if (this.mark && document.activeElement === this.input) {
			const at = caretOffset(this.text, line, error.column ?? 1);
			this.input.setSelectionRange(at, at);
		}
	}
}
