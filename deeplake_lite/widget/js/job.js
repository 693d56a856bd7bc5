// The progress bar of a job, with a button that cancels it.

/**
 * @typedef {object} JobModel  the widget's model
 * @property {(name: "name"|"share"|"text"|"can_cancel") => any} get
 * @property {(event: string, callback: () => void) => void} on
 * @property {(event: null, callback: null, context: object) => void} off
 * @property {(message: object) => void} send
 */

/** Creates an element with a class. @template {keyof HTMLElementTagNameMap} T @param {T} tag @param {string} name */
function jobPart(tag, name) {
	const node = document.createElement(tag);
	node.className = name;
	return node;
}

/** Draws the bar, and asks the kernel whether it can receive messages. @param {{ model: JobModel, el: HTMLElement }} place */
function render({ model, el }) {
	const root = jobPart("div", "dl-job");
	const name = jobPart("span", "dl-job-name");
	const bar = jobPart("div", "dl-job-bar");
	const fill = jobPart("div", "dl-job-fill");
	const text = jobPart("span", "dl-job-text");
	const button = jobPart("button", "dl-job-cancel");
	bar.setAttribute("role", "progressbar");
	bar.setAttribute("aria-valuemin", "0");
	bar.setAttribute("aria-valuemax", "100");
	button.type = "button";
	button.textContent = "Cancel";
	const update = () => {
		const share = Math.max(0, Math.min(1, model.get("share")));
		name.textContent = model.get("name");
		bar.setAttribute("aria-label", `job ${model.get("name")}`);
		bar.setAttribute("aria-valuenow", String(Math.round(share * 100)));
		bar.setAttribute("aria-valuetext", model.get("text"));
		fill.style.width = `${share * 100}%`;
		text.textContent = model.get("text");
		button.hidden = !model.get("can_cancel");
	};
	button.addEventListener("click", () => {
		button.disabled = true;
		button.textContent = "Cancelling…";
		model.send({ type: "cancel" });
	});
	for (const trait of ["name", "share", "text", "can_cancel"]) model.on(`change:${trait}`, update);
	bar.append(fill);
	root.append(name, bar, text, button);
	el.append(root);
	update();
	// The notebook may need a moment to open the channel that reaches a busy kernel, so the question is repeated.
	let [pause, timer] = [250, 0];
	const ask = () => {
		if (model.get("can_cancel")) return;
		model.send({ type: "hello" });
		timer = setTimeout(ask, pause);
		pause *= 2;
	};
	ask();
	return () => clearTimeout(timer);
}

export default { render };
