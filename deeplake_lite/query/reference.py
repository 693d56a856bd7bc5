"""The page of the manual on the language: clauses, rules, functions. docs/ has it."""

from __future__ import annotations

from deeplake_lite.query import functions
from deeplake_lite.query.bind.allowed import ALLOWED

CLAUSES = {
    "`WITH name AS (select), …`": "names queries for those that follow",
    "`SELECT [DISTINCT] expr [AS name], …`": "columns of the result; `*`, `* EXCLUDE (a, b)`",
    "`FROM source [VERSION 'v'] [AS a]`": (
        "a URL in quotes, a saved view's name in quotes, a name in `sources={…}`, `(select)`; left "
        "out, what is asked, also in a query within another, unless that selects constants alone; "
        "also `ds VERSION 'v1'`"
    ),
    "`[LEFT \\| RIGHT \\| FULL \\| CROSS] JOIN source ON condition`": (
        "or `USING (column)`: between lakes, and between versions of one"
    ),
    "`WHERE condition`": "rows to keep; knows the names that SELECT gives",
    "`GROUP BY expr, … [HAVING condition]`": (
        "a row per group; a column without an aggregate is the list of the group's values"
    ),
    "`UNGROUP BY column, … \\| SPLIT`": "a row per item of lists that are selected, as UNNEST",
    "`ORDER BY expr [DESC] [NULLS FIRST], …`": "numbers, texts, classes by their numbers",
    "`LIMIT n [OFFSET m]`": "the first rows",
    "`ARRANGE BY expr, …`": "puts rows of equal value together, by where each first comes",
    "`SAMPLE BY weight [REPLACE] [LIMIT n \\| n PERCENT] [SEED n]`": (
        "draws rows by weight: a finite number from 0 on (null is 0, NaN is an error), or "
        "`MAX_WEIGHT(label = 'cat': 10, score > 0.5: 2)`, `SUM_WEIGHT(…)`"
    ),
    "`EXPAND BY before, after`": "adds the rows around each row; once each",
    "`UNION \\| INTERSECT \\| EXCEPT [ALL]`": "of two SELECTs",
}
"""Clauses, in their order; the last three of a SELECT follow LIMIT in the order written."""

RULES = {
    "What computes": (
        "A value without axes is SQL's, and behaves as in DuckDB. A value with axes is a tensor, "
        "and behaves as in NumPy."
    ),
    "Small integers": (
        "Integers of a tensor are widened to 64 bits before arithmetic, and `SUM` and `PROD` give "
        "int64 (uint64 of uint64): `image + 10` and `SUM(a) - SUM(b)` do not wrap around. Beyond "
        "64 bits, sums and products do, as in NumPy; those of scalars are errors. Tensors of "
        "uint64 beside signed integers become int64, in which too large ones are an error; beside "
        "truth values and unsigned integers they stay uint64."
    ),
    "`MIN`, `MAX`, `SUM`, `MEAN`, `STD`, …": (
        "Without GROUP BY: of a tensor, per row; of a scalar column, SQL's aggregate. With GROUP "
        "BY: over the group, element by element for tensors. `AMIN`, `AMAX`, `ASUM`, `AMEAN`, "
        "`ASTD` are per row always, "
        "and so are all of them in WHERE, in GROUP BY and within an aggregate: `AVG(MEAN(image))`."
    ),
    "`STD`, `VAR`": (
        "Of tensors, per row and over a group, NumPy's: by n. Of scalars SQL's, of a sample: by "
        "n - 1; `STDDEV_POP` is by n. Of complex scalars, by n."
    ),
    "Integers": (
        "Exact, or an error, whether stored or computed, also in comparisons with numbers of any "
        "size and with fractions: a result that neither int64 nor uint64 holds is rounded by "
        "`CAST(x AS DOUBLE)` alone. Between two tensors, or a tensor and a column, integers beside "
        "floats are NumPy's: arithmetic and comparisons take both as floats, which round integers "
        "beyond 2**53. One column of both, as in CASE and UNION, does not round them."
    ),
    "Times": (
        "Moments keep their nanoseconds, also where a span is added. Spans are in microseconds: a "
        "difference with nanoseconds is an error (`EPOCH_NS(a) - EPOCH_NS(b)` counts them), and "
        "quotients and averages are rounded to microseconds."
    ),
    "Boxes": (
        "Keep their format under a mask, in one row of them, in UNNEST and in arithmetic; UNION, "
        "CASE, comparisons and arithmetic take boxes of one format."
    ),
    "Lists, structs and maps": (
        "Hold classes by name, and JSON as JSON: `[label]`, `{'k': meta}`, `HISTOGRAM(label)`. "
        "JSON that is put into one is written in one form per value, so that equal values are one: "
        "`1.0` comes back as `1`, and keys are sorted; `LIST(meta)` leaves values as they are. "
        "Structs and maps come as JSON."
    ),
    "JSON": (
        "Numbers sort by size, before texts; within lists and structs JSON has no order. "
        "`LEN` and `CONTAINS` look at items and keys, and at the characters of a text. Values "
        "are equal, and make one group, by their meaning: `1` equals `1.0`, and the order of keys "
        'does not matter, but `true`, `1` and `"1"` are three values. JSON\'s null is null. '
        "Arithmetic and `SUM` are in floats: a whole number that none holds is an error; "
        "`CAST(x AS BIGINT)` keeps it."
    ),
    "Conditions": "One truth value per row: wrap a tensor in `ANY(…)` or `ALL(…)`.",
    "Division": (
        "`/` is never rounded. Scalars: `-7 // 3` is -2 and `-7 % 3` is -1, towards zero, and so "
        "are floats: `-7.5 // 2` is -3.0. `x / 0` is infinite, `x // 0` and `x % 0` are null. "
        "Tensors: -3 and 2, rounded down, of floats, too; of integers, `x // 0` and `x % 0` are 0."
    ),
    "Powers": (
        "`**` groups to the left, and a sign binds tighter: `a ** b ** c` is `(a ** b) ** c`, and "
        "`-a ** 2` is `(-a) ** 2`."
    ),
    "Subscripts": (
        "NumPy's, from 0: `x[10:20, ::2, -1]`, `x[..., 0]`, `x[[0, 2]]`, `x[x > 2]`, `x[None]`; "
        "`meta['key'][0]`, `meta.key`."
    ),
    "Subscripts beyond a row": (
        "Null, where shapes differ from row to row, or the index does: `boxes[2]` of two boxes, "
        "`image[:, :, 2]` of a grey picture. Of a fixed shape, an error."
    ),
    "Order of rows": (
        "The same on every run. Without ORDER BY, rows come in the order of their source, joined "
        "rows in that of the left source and then of the right one, groups and distinct rows in "
        "the order of their first rows. Ties keep that order, and so do the values of a LIST; sums "
        "of floats may differ in their last bits."
    ),
    "Order of conditions": (
        "Those on scalars are checked first, then those on `SHAPE`, `NDIM`, `SIZE` and `NBYTES`, "
        "then those that read; each on the rows that are left."
    ),
    "`HASH`": (
        "Equal values have equal hashes, whatever their types: numbers go by value (`true` as 1), "
        "classes by name, times by the moment. Null's is null. Of a tensor column as it is, the "
        "digest that is stored, of encoded bytes, unless it holds floats, or arrays that differ in "
        "how many axes they have: those without axes have the hash of their number. Compared with "
        "another HASH, as in `HASH(image) = HASH($p)`, both are of values, which are read, unless "
        "both are columns of one type. Complex numbers have hashes of their own."
    ),
    "Distinct tensors": (
        "`DISTINCT`, `GROUP BY`, `UNION`, `COUNT(DISTINCT x)` and `IS NOT DISTINCT FROM` compare "
        "columns of one type by what is stored, also behind a UNION of such: images by their "
        "files, so that two files with the same pixels are two values. Computed values, and "
        "columns of other types beside them, are compared by value: `image + 0` by its pixels. "
        "NaN is one value there, whichever parts of a complex number are NaN."
    ),
    "Lambdas": (
        "`LIST_TRANSFORM(x, v -> v + 1)`, `LIST_FILTER(x, v -> v > 0)` and `LIST_REDUCE(x, (a, b) "
        "-> a + b)` treat an item as a column of its type. They hold no query, and no aggregate of "
        "an item. A further parameter is the position of the item, from 1. The texts that one "
        "makes of a whole list are together as long as one value may be: 67,108,864 characters."
    ),
    "`LOG`": "Natural, for scalars and tensors.",
    "NaN": (
        "Comparisons with NaN are false, `<>` is true; with null they are null. Within lists and "
        "structs NaN equals NaN, as in DuckDB. NaN sorts last, up or down, also in `LIST_SORT`."
    ),
    "Null": (
        "A null in an operation gives null; conditions take it as false; aggregates leave it out, "
        "but for `FIRST`, `LAST` and `LIST`; it sorts last unless `NULLS FIRST` is written."
    ),
    "Names": (
        "In WHERE, a column comes before an alias of its name; in ORDER BY, the alias, but within "
        "an expression there the column."
    ),
    "Class labels": (
        "Compare with names and numbers: `label = 'rose'`; with labels of another lake, whose "
        "classes have other numbers, by name. `NAME(label)` is the text."
    ),
    "Text": (
        "A text in quotes beside a number or a time is what it says, to the last digit: `t < "
        "'2026-01-02T03:04:05.5'`; an offset, as in `'2026-01-02T03:04+01:00'`, counts. Text of "
        "a column compares with text alone: `CAST(x AS DOUBLE)`."
    ),
    "Casts": (
        "`CAST(x AS FLOAT)`: `::` is a slice. Types by their names in SQL or NumPy (`uint8`, "
        "`float32`); of a tensor, `int8` has 8 bits, of a scalar, SQL's 8 bytes."
    ),
    "Subqueries": (
        "In place of a value, one row, of a scalar or a tensor: `COSINE_SIMILARITY(emb, (SELECT "
        "emb WHERE id = 3))`. No row is null."
    ),
    "Parameters": (
        "Numbers, texts, bytes, times, lists, arrays of any library, and dicts, which are JSON. A "
        "result has its own copies of them, and keeps them exactly, saved and pickled too."
    ),
    "Chance": (
        "SAMPLE BY and `RANDOM()` without a seed draw one when the query runs. The result keeps "
        "it, saved and pickled too. Each `RANDOM()` in a query gives numbers of its own; "
        "`RANDOM(seed)` gives the same ones for the same seed."
    ),
    "Functions of yours": (
        "A view of a query's result, saved or pickled, asks the query again when it is opened: "
        "where a function of yours then gives other rows, that is a `DamagedError`. A name that a "
        "built-in function has needs `override=True`, which replaces it for all types."
    ),
    "Functions of DuckDB": (
        "Those of values: texts, numbers, dates, lists, JSON, windows (`OVER`), aggregates. None "
        "that tell of the process, read files, wait, or change anything."
    ),
    "SQL of other databases": (
        "What is not listed here is an error, such as ASOF JOIN, PIVOT, WITH TIES and UNION BY "
        "NAME."
    ),
}
"""Where SQL and NumPy differ, what counts."""

ROWS = {
    "`BM25_SIMILARITY(text, 'words')`": (
        "How well a text matches words, among the texts of its source: BM25, k1 = 1.2, b = 0.75."
    ),
    "`ROW_NUMBER()`": "Position of the row in its dataset, from 0; with `OVER (…)` SQL's.",
    "`ROW_ID()`, `ROW_ID(source)`": "Id of the row: the same on every branch and in every version.",
    "`RANDOM()`, `RANDOM(seed)`": "A number in [0, 1) per row.",
    "`NAME(label)`": "Name of a class.",
    "`NBYTES(column)`": "Stored size, without reading; so are `SHAPE`, `NDIM` and `SIZE`.",
    "`COUNT(*)`, `COUNT(x)`, `COUNT(DISTINCT x)`": "Rows; values that are not null; that differ.",
    "`FIRST(x)`, `LAST(x)`, `LIST(x)`": "Of a group, scalars and tensors; `FIRST(x ORDER BY y)`.",
    "`ARG_MAX(x, y)`, `ARG_MIN(x, y)`": "Of a group, the x, scalar or tensor, of the greatest y.",
    "`LAG(x)`, `FIRST_VALUE(x)`, … `OVER (…)`": "Another row's value, scalar or tensor.",
    "`PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)`": (
        "Of a group of scalars; so `PERCENTILE_DISC` and `MODE`."
    ),
    "`LEN(x)`, `LENGTH(x)`": "Of a text, its characters; of a tensor, its first axis.",
    "`UNNEST(x)`": "In the select list, a row for each part of a tensor or sequence.",
}
"""Functions of rows, of groups, and of what is known without reading."""


def reference() -> str:
    """Return the page in Markdown.

    >>> print(reference().splitlines()[0])
    | Clause | Does |
    """
    parts = (
        _table("Clause | Does", CLAUSES),
        _table("Where SQL and NumPy differ | What counts", RULES),
        "<details><summary>Functions of tensors and rows</summary>",
        "**Rows and groups**",
        _table("Function | Gives", ROWS),
        functions.reference().strip(),
        "**DuckDB's functions of scalars**",
        ", ".join(sorted(ALLOWED)),
        "</details>",
    )
    return "\n\n".join(parts) + "\n"


def _table(head: str, lines: dict[str, str]) -> str:
    body = [f"| {left} | {right} |" for left, right in lines.items()]
    return "\n".join([f"| {head} |", "| --- | --- |", *body])


if __name__ == "__main__":
    print(reference(), end="")  # noqa: T201
