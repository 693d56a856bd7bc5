// The history of queries, through which the arrow keys step.

/** Earlier queries, with the newest last. */
export class History {
	constructor(/** @type {string[]} */ entries = [], most = 100) {
		this.entries = entries.filter((entry) => typeof entry === "string").slice(-most);
		this.most = most;
		this.at = this.entries.length;
		this.draft = "";
	}

	push(/** @type {string} */ text) {
		if (text.trim()) this.entries = [...this.entries.filter((entry) => entry !== text), text].slice(-this.most);
		this.at = this.entries.length;
	}

	older(/** @type {string} */ current) {
		if (!this.at) return null;
		if (this.at === this.entries.length) this.draft = current;
		return this.entries[--this.at];
	}

	newer() {
		if (this.at >= this.entries.length) return null;
		this.at++;
		return this.at === this.entries.length ? this.draft : this.entries[this.at];
	}
}
