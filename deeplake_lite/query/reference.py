"""The reference page of the query language: clauses, rules and functions."""

from __future__ import annotations

from deeplake_lite.query import functions
from deeplake_lite.query.bind.calls.allowed import ALLOWED

CLAUSES = {
    "`WITH name AS (select), …`": "Names queries, so that those after them can refer to them.",
    "`SELECT [DISTINCT] expr [AS name], …`": (
        "The columns of the result. `*` and `* EXCLUDE (a, b)` work, too."
    ),
    "`FROM source [VERSION 'v'] [AS a]`": (
        "The source is a URL or the name of a saved view in quotes, a name from `sources={…}`, or "
        "a query in parentheses; `ds VERSION 'v1'` reads version v1 of it. Without FROM, a query "
        "reads the dataset that `query` was called on. A subquery without FROM reads the same "
        "dataset, unless it selects only constants. A nested subquery that reads rows is not a "
        "constant, so in `(SELECT (SELECT MAX(id)) AS m)`, the outer subquery reads the dataset, "
        "too, and returns one row per row of the dataset."
    ),
    "`[LEFT \\| RIGHT \\| FULL \\| CROSS] JOIN source ON condition`": (
        "Joins lakes, or versions of one lake. `USING (column)` is a shorthand."
    ),
    "`WHERE condition`": "The rows to keep. The condition may use names that SELECT defines.",
    "`GROUP BY expr, … [HAVING condition]`": (
        "Returns one row per group. A column without an aggregate becomes the list of the group's "
        "values."
    ),
    "`UNGROUP BY column, … \\| SPLIT`": (
        "Returns one row per item of the listed columns, like UNNEST; SPLIT means all list columns."
    ),
    "`ORDER BY expr [DESC] [NULLS FIRST], …`": (
        "Sorts by numbers, strings and times; class labels sort by their numbers."
    ),
    "`LIMIT n [OFFSET m]`": "Keeps the first n rows, after skipping m.",
    "`USING INDEX`": (
        "Finds the rows of `ORDER BY COSINE_SIMILARITY(column, vector) DESC LIMIT n` with an index "
        "of the vectors (`DOT … DESC` and `L2_DISTANCE … ASC` work, too), which is fast, but may "
        "miss some rows. The similarity of the rows that it returns is exact. If there is no "
        "index, all rows are compared; `explain` says why."
    ),
    "`ARRANGE BY expr, …`": (
        "Brings rows with equal values together, in the order in which the values first occur."
    ),
    "`SAMPLE BY weight [REPLACE] [LIMIT n \\| n PERCENT] [SEED n]`": (
        "Draws rows at random by weight. A weight is a finite, non-negative number; null counts as "
        "0, and NaN is an error. `MAX_WEIGHT(label = 'cat': 10, score > 0.5: 2)` and "
        "`SUM_WEIGHT(…)` compute weights from conditions."
    ),
    "`EXPAND BY before, after`": ("Adds the rows before and after each row. No row appears twice."),
    "`UNION \\| INTERSECT \\| EXCEPT [ALL]`": "Combines the results of two SELECTs.",
}
"""Maps each clause to a description, in the order in which clauses are written in a query."""

RULES = {
    "SQL or NumPy": (
        "A scalar behaves as in DuckDB, and a tensor (a value with axes) as in NumPy, unless a "
        "rule below says otherwise."
    ),
    "Small integers": (
        "Before arithmetic, integers of a tensor are widened to 64 bits, and `SUM` and `PROD` "
        "return int64 (uint64 for uint64), so `image + 10` and `SUM(a) - SUM(b)` do not wrap "
        "around. Sums and products of tensors do wrap around beyond 64 bits, as in NumPy; a sum of "
        "scalars that exceeds 64 bits is an error. uint64 tensors combined with signed integers "
        "become int64, and values that do not fit are an error; combined with booleans and "
        "unsigned integers they stay uint64. Functions widen integers in the same way: "
        "`SQRT(image)` is float64, and `CLIP(image, 10, 20)` int64. For `GREATEST`, `LEAST` and "
        "`CLIP`, a number that the dtype cannot hold widens it."
    ),
    "Tensors without elements": (
        "`MIN`, `MAX`, `MEAN`, `STD`, `MEDIAN` and `ARGMAX` of a tensor without elements are null, "
        "where NumPy raises an error or returns NaN. `SUM` is 0, `PROD` 1, `ANY` false and `ALL` "
        "true."
    ),
    "`MIN`, `MAX`, `SUM`, `MEAN`, `STD`, …": (
        "Without GROUP BY, they reduce each tensor to one value per row, but aggregate a scalar "
        "column over all rows as in SQL. With GROUP BY, they aggregate over the group, element by "
        "element for tensors. `AMIN`, `AMAX`, `ASUM`, `AMEAN` and `ASTD` always work per row; so "
        "do all of these functions in WHERE, in GROUP BY and inside an aggregate: "
        "`AVG(MEAN(image))`."
    ),
    "`STD`, `VAR`": (
        "For tensors, the divisor is n, per row and over a group, as in NumPy. For scalars, it is "
        "n - 1, as in SQL; `STDDEV_POP` uses n. For complex scalars, it is n."
    ),
    "Integers": (
        "Scalar integers are never rounded, whether they are stored or computed: a result that "
        "neither int64 nor uint64 can hold is an error, unless float64 represents it exactly or "
        "you cast to DOUBLE. The exceptions are functions whose results are floats by definition: "
        "`AVG`, `MEDIAN`, `QUANTILE_CONT`, and `PROD` of scalars, as in SQL. Comparisons with "
        "numbers of any size and with fractions are exact, too. Between two tensors, or a tensor "
        "and a scalar column, NumPy's rules apply: integers combined with floats become floats, "
        "which round integers beyond 2**53. A column that contains both integers and floats, such "
        "as one from CASE or UNION, does not round the integers."
    ),
    "Fractions": (
        "When a number with a fractional part is compared with a column of float16 or float32, or "
        "with an element of a tensor of these types, it is rounded to that type first, so `f = "
        "0.1` and `v[0] = 0.1` find a stored 0.1, and so does `ds[ds['f'] == 0.1]`. Arithmetic "
        "with float16 scalars gives float32, so `f + 0 = 0.1` is false. In a query, a number with "
        "an exponent, such as `1e23`, is rounded in the same way. A whole number written with a "
        "decimal point is rounded, too, if it is the shortest decimal form of a value of the type: "
        "`123456790.0` finds the float32 value 123456792. When compared with anything else, a "
        "number with an exponent is a float64. Lists, arrays, `CAST(0.1 AS DOUBLE)` and all other "
        "whole numbers are compared exactly. NumPy, in contrast, also rounds whole numbers, but "
        "does not round np.float64 values."
    ),
    "Times": (
        "Arrays of times compare element by element, with times, strings and each other; NaT "
        "compares as NaN does. `MIN`, `MAX`, `SORT` and `UNIQUE` work on arrays of times. A column "
        "that combines arrays with different units has the finest of these units. Timestamps keep "
        "their nanoseconds, even when a duration is added. Durations are in microseconds: a "
        "difference that is not a whole number of microseconds is an error (use `EPOCH_NS(a) - "
        "EPOCH_NS(b)`), and quotients and averages are rounded to microseconds. A result cannot "
        "contain a duration with months, such as `INTERVAL 1 MONTH` or `AGE(a, b)`, because months "
        "differ in length: add it to a time within the query, or count days with `DATE_DIFF('day', "
        "a, b)`. Nor can it contain SQL's infinite times. As a string or in JSON, a "
        "`datetime64[D]` is a date, `2026-01-31`."
    ),
    "Boxes": (
        "Boxes keep their format when they are masked, indexed by row, unnested or used in "
        "arithmetic; lists and parameters are taken to be xyxy. UNION, CASE, comparisons and "
        "arithmetic need boxes in the same format. `HASH` hashes the numbers as they are, so "
        "convert boxes to the same format before you compare hashes."
    ),
    "Sequences": (
        "In computations, a sequence of numbers is treated as an array. Functions and clauses that "
        "pick or gather whole sequences, such as COALESCE, CASE, UNION, LIST, subqueries and "
        "slices, return lists, as the column does; computed values, such as `s + 1`, `SORT(s)` and "
        "`GREATEST(s, z)`, are arrays. A column that mixes sequences with arrays contains arrays."
    ),
    "Lists, structs and maps": (
        "In `[label]`, `{'k': meta}` or `HISTOGRAM(label)`, classes appear by name, and JSON stays "
        "JSON. It is normalised so that equal values look alike: `1.0` becomes `1`, and keys are "
        "sorted. `LIST(meta)` leaves values unchanged; "
        "`MODE(meta)` and `LIST(DISTINCT meta)` normalise them. Structs and maps are returned as "
        "JSON. Durations in them are strings, as in `CAST(d AS TEXT)`."
    ),
    "JSON": (
        "Numbers sort by size, before strings; JSON within lists and structs has no order. `LEN` "
        "and `CONTAINS` look at items and keys, or at the characters of a string. Values are "
        "compared and grouped by meaning: `1` equals `1.0`, and the order of keys does not matter, "
        'but `true`, `1` and `"1"` are three different values, and `<` between them is null. JSON '
        "has no times or durations, so cast it before you compare it with them: `CAST(meta.t AS "
        "TIMESTAMP) < t`, or `AS INTERVAL`. Items of a sequence of JSON are compared in the same "
        "way. A JSON null is an SQL null. Arithmetic and `SUM` use floats; an integer that a float "
        "cannot represent is an error, unless `CAST(x AS BIGINT)` preserves it."
    ),
    "Conditions": (
        "A condition has one boolean per row. Wrap a tensor in `ANY(…)` or `ALL(…)`. A number is "
        "true unless it is 0, including in JSON; JSON strings, lists and objects count as null, "
        "and `CAST(x AS BOOLEAN)` rejects them."
    ),
    "Division": (
        "`/` never rounds to an integer. For scalars, `//` and `%` round towards zero: `-7 // 3` "
        "is -2, `-7 % 3` is -1 and `-7.5 // 2` is -3.0; `x / 0` is infinite, `x // 0` and `x % 0` "
        "are null. For tensors they round down, including with floats: `-7 // 3` is -3 and `-7 % "
        "3` is 2; with integers, `x // 0` and `x % 0` are 0."
    ),
    "Powers": (
        "`**` associates to the left, and a sign binds tighter: `a ** b ** c` is `(a ** b) ** c`, "
        "and `-a ** 2` is `(-a) ** 2`. A power of scalars is a float64, as in DuckDB, so it is "
        "rounded beyond 2**53; `x * x` is exact or an error. A power of integer tensors is an "
        "integer, which wraps around beyond 64 bits."
    ),
    "Subscripts": (
        "Subscripts follow NumPy and count from 0: `x[10:20, ::2, -1]`, `x[..., 0]`, `x[[0, 2]]`, "
        "`x[x > 2]`, `x[None]`. JSON and structs take keys: `meta['key'][0]`, `meta.key`."
    ),
    "Subscripts out of range": (
        "If the shape or the index may differ from row to row, a subscript that is out of range "
        "returns null: `boxes[2]` of two boxes, `image[:, :, 2]` of a greyscale image. If all rows "
        "have the same shape, it is an error."
    ),
    "Order of rows": (
        "The order is the same in every run. Without ORDER BY, rows have the order of their "
        "source. Joined rows are in the order of the left source, then of the right one; groups "
        "and distinct rows are in the order in which they first occur. Ties keep that order. So do "
        "the values of a LIST, and ties within `LIST(… ORDER BY …)`. Apart from random numbers and "
        "samples without a seed, only the last bits of aggregates of floats, and the results of "
        "`APPROX_…` functions, may differ between runs."
    ),
    "Order of conditions": (
        "Conditions on scalars are checked first, then those on `SHAPE`, `NDIM`, `SIZE` and "
        "`NBYTES`, and last those that read tensors. Each is checked only for the rows that passed "
        "the previous ones."
    ),
    "`HASH`": (
        "<ul><li>Equal values have equal hashes, even if their types differ: numbers are hashed by "
        "value (`true` as 1), classes by name, timestamps by the time they denote. The hash of "
        "null is null. Equal values may have different hashes in three cases: if one is complex "
        "and the other real; if one is a list in a JSON column and the other a sequence or array; "
        "and in stored tensor columns.</li><li>The hash of a stored tensor column is the hash of "
        "its encoded bytes, which is stored with the column. Columns of floats, and columns whose "
        "arrays differ in their number of axes, are hashed by value.</li><li>If two hashes are "
        "compared, as in `HASH(image) = HASH($p)`, the values are read and both are hashed by "
        "value, unless both are columns of the same type. A hash from a subquery, as in `IN "
        "(SELECT HASH(y) …)`, is compared only with hashes of the same type; use a JOIN to compare "
        "hashes of different types.</li></ul>"
    ),
    "Distinct tensors": (
        "`DISTINCT`, `GROUP BY`, `UNION`, `COUNT(DISTINCT x)` and `IS NOT DISTINCT FROM` compare "
        "columns of the same type by their stored bytes, even after a UNION of them: two image "
        "files with the same pixels are two values. Computed values, and columns of different "
        "types, are compared by value: `image + 0` by its pixels. NaN counts as one value, "
        "whichever part of a complex number is NaN."
    ),
    "Lambdas": (
        "`LIST_TRANSFORM(x, v -> v + 1)`, `LIST_FILTER(x, v -> v > 0)` and `LIST_REDUCE(x, (a, b) "
        "-> a + b)` treat each item like a column of its type. A lambda cannot contain a query or "
        "an aggregate of an item. A second parameter is the position of the item, from 1. The "
        "strings that a lambda creates for one list may have at most 67,108,864 characters in "
        "total."
    ),
    "`LOG`": "The natural logarithm, for scalars and for tensors.",
    "NaN": (
        "Comparisons with NaN are false, except `<>`, which is true; comparisons with null are "
        "null. Within lists and structs NaN equals NaN, as in DuckDB. NaN sorts last in either "
        "direction, including in `LIST_SORT`. -0.0 equals 0.0, so functions that choose a value by "
        "comparing rows, such as `FIRST(x ORDER BY y)`, `ARG_MAX` and `MODE`, may return 0.0 "
        "instead of -0.0."
    ),
    "Null": (
        "An operation on null returns null, and a condition treats null as false. With tensors, "
        "that includes `AND` and `OR`: if one side is null as a whole, so is the result. "
        "Aggregates skip nulls, except `FIRST`, `LAST` and `LIST`. Nulls sort last, unless you "
        "write `NULLS FIRST`. Null items of a sequence follow the same rules: they compare as "
        "null, `NOT` leaves them null, `n[n > 1]` leaves them out, and `SUM(n = 1)` and other "
        "reductions skip them. As in SQL, `ANY` and `ALL` of such a sequence are null unless the "
        "other items decide the result."
    ),
    "Names": (
        "If a column and an alias have the same name, WHERE uses the column. ORDER BY uses the "
        "alias if the name stands alone, and the column if it is part of an expression."
    ),
    "Class labels": (
        "Labels can be compared with names and with numbers: `label = 'rose'`. Labels of another "
        "lake, in which the same names may have other numbers, are compared by name. `NAME(label)` "
        "is the name as a string."
    ),
    "Strings": (
        "A quoted string that is compared or combined with a number or a time is read exactly, to "
        "the last digit: `t < '2026-01-02T03:04:05.5'`. UTC offsets are respected, as in "
        "`'2026-01-02T03:04+01:00'` and `DATE_DIFF('day', t, '2026-01-02')`. Times have at most "
        "nine digits after the decimal point, and durations at most six. More digits are an error, "
        "as are more digits than the type of a `CAST` can hold. A column of strings can be "
        "compared only with strings; use `CAST(x AS DOUBLE)` for numbers."
    ),
    "Casts": (
        "Write `CAST(x AS FLOAT)`; `::` is a slice. Types have their SQL or NumPy names (`uint8`, "
        "`float32`). `int8` means 8 bits for a tensor, but 8 bytes for a scalar, as in DuckDB. A "
        "cast to float16 rounds. A value out of its range is an error for a scalar, and becomes "
        "infinity in a tensor. A string with a number out of range, as in `CAST('1e400' AS "
        "DOUBLE)`, is an error."
    ),
    "Subqueries": (
        "A subquery in place of a value must return at most one row, with a scalar or a tensor: "
        "`COSINE_SIMILARITY(emb, (SELECT emb WHERE id = 3))`. If it has no row, the value is null."
    ),
    "Long values": (
        "A query can create strings of at most 67,108,864 characters, except with `STRING_AGG`, "
        "and lists of at most 10,000,000 items. It computes 2,048 rows at a time; the new strings "
        "and lists of these rows may take at most 1 GiB together."
    ),
    "Parameters": (
        "Parameters are numbers, strings, bytes, times, lists, arrays of any library, and dicts. "
        "Dicts become JSON, and so do lists that mix strings with numbers. JSON has no times, so "
        "dicts cannot contain them. Lists can, and their items are times: `t BETWEEN $range[0] AND "
        "$range[1]`. In a select list, an array becomes a column of arrays, and a list a column of "
        "lists. A result keeps an exact copy of the parameters, even when it is saved or pickled."
    ),
    "Randomness": (
        "SAMPLE BY and `RANDOM()` without a seed draw a seed when the query runs. The result keeps "
        "it, even when it is saved or pickled. Each `RANDOM()` in a query returns different "
        "numbers; `RANDOM(seed)` returns the same numbers for the same seed."
    ),
    "The current time": (
        "`CURRENT_TIMESTAMP`, `CURRENT_DATE`, `CURRENT_TIME`, `LOCALTIMESTAMP`, `LOCALTIME` and "
        "`AGE(t)`, which is the time from `t` to the start of `CURRENT_DATE`, are in UTC on every "
        "machine. The clock is read once, when the query runs. The result keeps that time, even "
        "when it is saved or pickled; run the query again to use the current time."
    ),
    "Your own functions": (
        "If a query result has computed columns, groups or joins, its saved or pickled view runs "
        "the query again when it is opened. If the rows then differ, because one of your functions "
        "has changed, a `DamagedError` is raised. To replace a built-in function for all types, "
        "register yours with `override=True`."
    ),
    "DuckDB's functions": (
        "Functions that only compute values are available: those of strings, numbers, dates, lists "
        "and JSON, window functions (`OVER`) and aggregates. Functions that read files, sleep, "
        "have side effects or expose the process are not."
    ),
    "Other SQL": (
        "Anything not listed here, such as ASOF JOIN, PIVOT, WITH TIES or UNION BY NAME, is an "
        "error."
    ),
}
"""Maps topics to rules of the language, in particular where SQL and NumPy differ."""

ROWS = {
    "`BM25_SIMILARITY(text, 'words')`": (
        "How well a string matches the words, compared with all strings of its source: BM25 with "
        "k1 = 1.2 and b = 0.75."
    ),
    "`ROW_NUMBER()`": (
        "The position of the row in its dataset, from 0. With `OVER (…)` it is SQL's function."
    ),
    "`ROW_ID()`, `ROW_ID(source)`": (
        "The id of the row, which is the same on every branch and in every version."
    ),
    "`RANDOM()`, `RANDOM(seed)`": "A random number in [0, 1) for each row.",
    "`NAME(label)`": "The name of a class.",
    "`NBYTES(column)`": (
        "The stored size, which is known without reading the value, like `SHAPE`, `NDIM` and "
        "`SIZE`."
    ),
    "`COUNT(*)`, `COUNT(x)`, `COUNT(DISTINCT x)`": (
        "The number of rows, of non-null values, and of distinct values."
    ),
    "`FIRST(x)`, `LAST(x)`, `LIST(x)`": (
        "Values of a group, scalars or tensors, optionally in an order: `FIRST(x ORDER BY y)`."
    ),
    "`ARG_MAX(x, y)`, `ARG_MIN(x, y)`": (
        "The x (a scalar or a tensor) of the row with the greatest or least y in a group."
    ),
    "`LAG(x)`, `FIRST_VALUE(x)`, … `OVER (…)`": "The value, a scalar or a tensor, in another row.",
    "`PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)`": (
        "A percentile of a group of scalars. `PERCENTILE_DISC` and `MODE` are used in the same way."
    ),
    "`LEN(x)`, `LENGTH(x)`": (
        "The number of characters of a string, or the length of a tensor's first axis."
    ),
    "`UNNEST(x)`": (
        "In the select list: one row per item of a sequence, or per index of a tensor's first axis."
    ),
}
"""Functions that return properties of rows, aggregates of groups, or properties of values, such as
their size, that are known without reading the values."""


def reference() -> str:
    """Return the reference page of the query language as Markdown.

    >>> print(reference().splitlines()[0])
    | Clause | Description |
    """
    parts = (
        _table("Clause | Description", CLAUSES),
        _table("Topic | Rule", RULES),
        "<details><summary>Tensor and row functions</summary>",
        "**Rows and groups**",
        _table("Function | Returns", ROWS),
        functions.reference().strip(),
        "**DuckDB's scalar functions and aggregates**",
        ", ".join(sorted(ALLOWED)),
        "</details>",
    )
    return "\n\n".join(parts) + "\n"


def _table(head: str, lines: dict[str, str]) -> str:
    body = [f"| {left} | {right} |" for left, right in lines.items()]
    return "\n".join([f"| {head} |", "| --- | --- |", *body])


if __name__ == "__main__":
    print(reference(), end="")  # noqa: T201
