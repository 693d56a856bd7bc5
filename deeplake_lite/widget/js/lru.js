// A cache with a limit in bytes.

/** @template V */
export class Lru {
	/** @param {number} budget  bytes @param {(value: V) => void} dispose  called with evicted values */
	constructor(budget, dispose = (_value) => {}) {
		this.budget = budget;
		this.dispose = dispose;
		this.used = 0;
		/** @type {Map<number, {value: V, bytes: number}>} */
		this.entries = new Map();
	}

	/** @param {number} key */
	get(key) {
		const entry = this.entries.get(key);
		if (!entry) return undefined;
		this.entries.delete(key);
		this.entries.set(key, entry);
		return entry.value;
	}

	/** Returns the value of a key, without counting this as a use. @param {number} key */
	peek(key) {
		return this.entries.get(key)?.value;
	}

	/** @param {number} key @param {V} value @param {number} bytes */
	set(key, value, bytes) {
		this.delete(key, value);
		this.entries.set(key, { value, bytes });
		this.used += bytes;
		for (const old of this.entries.keys()) {
			if (this.used <= this.budget || old === key) break;
			this.delete(old);
		}
	}

	/** @param {number} key @param {V} [keep]  a value not to dispose of, because it is stored again under the same key */
	delete(key, keep) {
		const entry = this.entries.get(key);
		if (!entry) return;
		this.entries.delete(key);
		this.used -= entry.bytes;
		if (entry.value !== keep) this.dispose(entry.value);
	}

	clear() {
		for (const key of [...this.entries.keys()]) this.delete(key);
	}
}
