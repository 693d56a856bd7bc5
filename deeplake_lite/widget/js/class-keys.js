// The digits that label: which class each one means.

/** Class that a digit means: that of its name, else 1 the first … 9 the ninth, or -1. */
export function classOfKey(/** @type {string} */ key, /** @type {string[]} */ names) {
	if (!/^\d$/.test(key)) return -1;
	const named = names.indexOf(key);
	return named >= 0 || Number(key) > names.length ? named : Number(key) - 1;
}

/** @param {number} index @param {string[]} names */
export const keyOfClass = (index, names) => [..."0123456789"].find((key) => classOfKey(key, names) === index);
