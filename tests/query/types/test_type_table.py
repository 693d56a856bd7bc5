"""Every column type in every kind of clause, against plain Python: a table of 1,000 cells.

A cell is a right answer, or one of our errors that names the column. An error is only expected
where the operation is meaningless for the type, such as sorting images or adding a string and a
number.
"""

# ruff: noqa: ARG001  every operation takes the same arguments
from __future__ import annotations

import datetime as dt
import json
import os
import re
from collections import Counter
from dataclasses import dataclass, field
from functools import cache
from itertools import product
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from PIL import Image

import deeplake_lite as dl
from deeplake_lite.query.registering import unregister

K = [0, 1, 0, 1, 0, 1]
"""The group of each row."""


@dataclass(frozen=True)
class Column:
    """A column of a type: six values; the first and fifth are equal, and the last is null."""

    htype: Any
    values: list[Any]
    traits: frozenset[str] = field(default_factory=frozenset)
    """``scalar``: SQL sorts and compares it; ``number``: it can be added up; ``array``: NumPy's,
    with axes; ``list``: of items; ``text``, ``bytes``, ``json``."""
    files: bool = False
    """Whether the values are appended as file paths."""


def column(htype, values, *traits, files=False):
    six = [values[0], values[1], values[2], values[3], values[0], None]
    return Column(htype, six, frozenset(traits), files)


def array(*shape, dtype="uint8", start=0):
    return (np.arange(np.prod(shape, dtype=int)) + start).astype(dtype).reshape(shape)


def bits(*shape, start=0):
    return array(*shape, start=start) % 2 == 0


PICTURES = [array(2, 3, 3), array(4, 2), array(1, 2, 3), array(4, 2, start=1)]
BOXES = [
    np.array(rows, "float32").reshape(-1, 4)
    for rows in ([[0, 0, 2, 1]], [], [[1, 1, 2, 2], [0, 0, 4, 4]], [[0, 0, 2, 3]])
]
OUTLINES = [np.array([[0, 0], [4, 0], [0, 3]], "float32"), np.eye(4, 2, dtype="float32")]
DAYS = [np.datetime64(day) for day in ("2026-01-02", "1960-02-29", "2030-01-01", "1999-12-31")]
JSON = [{"a": 1, "b": [1, 2]}, [1, "x", None], "text", {"a": 2, "b": [1, 2]}]

COLUMNS = {
    "int32": column(dl.Scalar("int32", nullable=True), [3, -7, 0, 10], "scalar", "number"),
    "uint8": column(dl.Scalar("uint8", nullable=True), [250, 7, 0, 10], "scalar", "number"),
    "float32": column(
        dl.Scalar("float32", nullable=True), [1.5, -2.0, 0.0, 8.25], "scalar", "number"
    ),
    "float16": column(
        dl.Scalar("float16", nullable=True), [1.5, -2.0, 0.0, 8.25], "scalar", "number"
    ),
    "uint64": column(
        dl.Scalar("uint64", nullable=True), [2**64 - 2, 7, 0, 2**63 + 1], "scalar", "number"
    ),
    "not a number": column(
        dl.Scalar("float32", nullable=True), [np.nan, -np.inf, 0.0, np.inf], "scalar", "number"
    ),
    "duration": column(
        dl.Scalar("timedelta64[s]", nullable=True),
        [np.timedelta64(n, "s") for n in (90, -1, 0, 86_400)],
        "scalar",
        "time",
    ),
    "bool": column(dl.Scalar("bool", nullable=True), [True, False, False, True], "scalar", "truth"),
    "complex": column(dl.Scalar("complex64", nullable=True), [1 + 2j, 0j, 3j, 1 + 0j], "complex"),
    "date": column(dl.Scalar("datetime64[D]", nullable=True), DAYS, "scalar", "time"),
    "moment": column(
        dl.Scalar("datetime64[us]", nullable=True),
        [d.astype("M8[us]") for d in DAYS],
        "scalar",
        "time",
    ),
    "class": column(
        dl.ClassLabel(["dog", "cat", "bird"], nullable=True), [2, 0, 1, 0], "scalar", "class"
    ),
    "labels": column(
        dl.ClassLabel(["a", "b", "c"], multiple=True, nullable=True),
        [np.array(v, "int32") for v in ([0, 2], [], [1], [0, 1, 2])],
        "array",
        "ragged",
        "class",
    ),
    "text": column(dl.Text(nullable=True), ["naïve", "", "it's", "100%"], "scalar", "text"),
    "json": column(dl.Json(nullable=True), JSON, "scalar", "json"),
    "bytes": column(dl.Bytes(nullable=True), [b"10", b"010", b"\xff\x00'", b""], "scalar", "bytes"),
    "embedding": column(
        dl.Embedding(3, nullable=True),
        [array(3, dtype="float32", start=i) for i in (3, 1, 2, 9)],
        "array",
    ),
    "matrix": column(
        dl.Array("int16", (2, 3), nullable=True),
        [array(2, 3, dtype="int16", start=i) for i in range(4)],
        "array",
    ),
    "ragged": column(
        dl.Array("float64", (None, 2), nullable=True),
        [array(n, 2, dtype="float64", start=n) for n in (1, 0, 3, 2)],
        "array",
        "ragged",
    ),
    "any shape": column(
        dl.Array("int32", None, nullable=True),
        [
            array(2, dtype="int32"),
            array(1, 2, dtype="int32"),
            array(3, dtype="int32"),
            array(2, 2, dtype="int32"),
        ],
        "array",
        "ragged",
    ),
    "image": column(dl.Image("png", nullable=True), PICTURES, "array", "ragged"),
    "link": column(
        dl.Link(dl.Image("png"), nullable=True), PICTURES, "array", "ragged", files=True
    ),
    "mask": column(
        dl.Mask(nullable=True),
        [array(2, 3), array(1, 2), array(3, 1), array(2, 3, start=1)],
        "array",
        "ragged",
    ),
    "objects": column(
        dl.Mask("instance", nullable=True),
        [bits(2, 2, 3), bits(1, 2, 3), bits(3, 1, 1), bits(2, 2, 3, start=1)],
        "array",
        "ragged",
        "truth",
    ),
    "boxes": column(dl.Boxes("xyxy", nullable=True), BOXES, "array", "ragged"),
    "points": column(
        dl.Keypoints(["nose", "tail"], dims=2, nullable=True),
        [array(n, 2, 2, dtype="float32", start=n) for n in (1, 0, 3, 2)],
        "array",
        "ragged",
    ),
    "outlines": column(
        dl.Polygons(nullable=True), [[OUTLINES[0]], [], OUTLINES, [OUTLINES[1]]], "list"
    ),
    "numbers": column(
        dl.Sequence("int32", nullable=True), [[1, 2], [], [3], [2, 1]], "array", "ragged", "items"
    ),
    "null items": column(
        dl.Sequence(dl.Scalar("int32", nullable=True), nullable=True),
        [[1, None], [], [3], [None, 1]],
        "list",
    ),
    "days": column(
        dl.Sequence("datetime64[D]", nullable=True), [DAYS[:2], [], DAYS[1:2], DAYS[::-1]], "list"
    ),
    "classes": column(
        dl.Sequence(dl.ClassLabel(["a", "b"]), nullable=True), [[0, 1], [], [1, 1], [1]], "list"
    ),
    "words": column(
        dl.Sequence("text", nullable=True), [["p", "it's"], [], [""], ["q", "p"]], "list"
    ),
    "notes": column(
        dl.Sequence(dl.Json(), nullable=True), [[{"a": 1}, "x"], [], [[1, 2]], [2]], "list"
    ),
    "blobs": column(
        dl.Sequence(dl.Bytes(), nullable=True), [[b"1", b"\xff"], [], [b""], [b"01"]], "list"
    ),
    "frames": column(
        dl.Sequence("image", nullable=True),
        [PICTURES[:2], [], [PICTURES[0]] * 2, PICTURES[3:]],
        "list",
    ),
    "vectors": column(
        dl.Sequence(dl.Embedding(2), nullable=True),
        [[array(2, dtype="float32")] * n for n in (2, 0, 1, 3)],
        "array",
        "ragged",
        "items",
    ),
    "box lists": column(
        dl.Sequence(dl.Boxes(), nullable=True), [BOXES[:2], [], [BOXES[2]], BOXES[2:]], "list"
    ),
    "nested": column(
        dl.Sequence(dl.Sequence("text"), nullable=True),
        [[["a", "b"], []], [], [["c"]], [[]]],
        "list",
    ),
}


@cache
def lake(name: str) -> dl.Dataset:
    col = COLUMNS[name]
    schema = {"id": "int32", "k": "int32", "col": col.htype}
    ds = dl.create(f"memory://{uuid4().hex}", schema, allow=[str(files())])
    ds.append({"id": range(6), "k": K, "col": given(col)})
    ds.commit("six rows")
    return ds


@cache
def files() -> Path:
    """Make a folder for images that links point to, in the folder of all tests."""
    return Path(mkdtemp(dir=os.environ["XDG_CACHE_HOME"]))


def given(col):
    """Return the values to append, or paths of PNG files of them."""
    if not col.files:
        return col.values
    paths = {}
    for picture in col.values:
        if picture is not None and id(picture) not in paths:
            paths[id(picture)] = str(files() / f"{len(paths)}.png")
            Image.fromarray(picture).save(paths[id(picture)])
    return [paths.get(id(picture)) for picture in col.values]


# ---- comparing values


NAN = float("nan")


def plain(value: Any) -> Any:
    """Return a value in built-in types, in which arrays and lists of the same values are equal."""
    match value:
        case np.ma.MaskedArray() if np.ma.getmaskarray(value).any():
            return None
        case np.ndarray() if not value.ndim:
            return plain(value.item())
        case np.ndarray():
            return [plain(v) for v in value]
        case np.datetime64():
            return None if np.isnat(value) else str(value.astype("M8[us]"))
        case np.generic():
            return plain(value.item())
        case float() if value != value:
            return NAN  # one object, so that lists of it are equal
        case dt.date() | dt.datetime():
            return str(np.datetime64(value).astype("M8[us]"))
        case list() | tuple():
            return [plain(v) for v in value]
        case _:
            return value


def text(value: Any) -> str:
    return json.dumps(plain(value), default=repr, sort_keys=True)


def read(ds, query, params=(), name="x"):
    result = ds.query(query, params)[name][:]
    return [plain(v) for v in result]


# ---- the operations: a query, and its result in plain Python


def by_group(values, keep=lambda v: v):
    return [[keep(v) for v, k in zip(values, K, strict=True) if k == group] for group in (0, 1)]


def is_any(traits, *wanted):
    return bool(traits & {*wanted})


def differ(values):
    seen = {text(v): v for v in values}
    return sorted(map(text, seen.values()))


def ids(values, holds):
    return [row for row, v in enumerate(values) if v is not None and holds(v)]


def equal(v, w):
    """Tell whether values are equal by =: NaN equals nothing."""
    return text(v) == text(w) and v is not NAN


def key(value):
    """Return the sort key of a value: JSON numbers before strings, then NaN, null last."""
    if value is None or value is NAN:
        return (1 + (value is None), 0)
    return (0, value if not isinstance(value, dict | list) else json.dumps(value))


OPERATIONS: dict[str, Any] = {}
"""By name, a function of a lake, a column and its values that checks a cell."""


def operation(check):
    OPERATIONS[check.__name__.replace("_", " ")] = check
    return check


@operation
def select(ds, col, values):
    assert read(ds, "SELECT col AS x ORDER BY id") == values


@operation
def where_null(ds, col, values):
    assert read(ds, "SELECT id AS x WHERE col IS NULL") == [5]


@operation
def distinct(ds, col, values):
    same_set(read(ds, "SELECT DISTINCT col AS x"), differ(values))


@operation
def group_by(ds, col, values):
    result = ds.query("SELECT col AS x, COUNT(*) AS n GROUP BY col")
    counts = zip((text(v) for v in result["x"][:]), result["n"][:].tolist(), strict=True)
    assert dict(counts) == Counter(map(text, values))


@operation
def count(ds, col, values):
    assert read(ds, "SELECT COUNT(col) AS x") == [5]
    assert read(ds, "SELECT COUNT(DISTINCT col) AS x") == [len({*map(text, values[:5])})]


@operation
def union(ds, col, values):
    both = "SELECT col AS x FROM dataset {} SELECT col AS x FROM dataset WHERE id < 2"
    same_set(read(ds, both.format("UNION")), differ(values))
    same_set(read(ds, both.format("INTERSECT")), differ(values[:2]))
    left = {*map(text, values)} - {*map(text, values[:2])}
    same_set(read(ds, both.format("EXCEPT")), sorted(left))
    result = read(ds, both.format("UNION ALL"))
    assert Counter(map(text, result)) == Counter(map(text, [*values, *values[:2]]))


@operation
def having(ds, col, values):
    query = "SELECT col AS x GROUP BY col HAVING COUNT(*) > 1"
    same_set(read(ds, query), differ(several(values)))
    assert read(ds, "SELECT k AS x GROUP BY k HAVING COUNT(col) = 2") == [1]
    query = "SELECT k AS x GROUP BY k HAVING COUNT(DISTINCT col) = 2 ORDER BY k"
    expected = [k for k, part in enumerate(by_group(values)) if distinct_in(part) == 2]
    assert read(ds, query) == expected


def several(values):
    """Return the values that occur more than once."""
    counts = Counter(map(text, values))
    return [v for v in values if counts[text(v)] > 1]


def distinct_in(values):
    return len({text(v) for v in values if v is not None})


@operation
def qualify(ds, col, values):
    number = "ROW_NUMBER() OVER (PARTITION BY k ORDER BY id)"
    assert read(ds, f"SELECT col AS x QUALIFY {number} = 1 ORDER BY id") == values[:2]
    query = "SELECT id AS x QUALIFY COUNT(*) OVER (PARTITION BY col) > 1 ORDER BY id"
    if "scalar" in col.traits:
        counts = Counter(map(text, values))
        assert read(ds, query) == [row for row, v in enumerate(values) if counts[text(v)] > 1]


@operation
def types(ds, col, values):
    """A query that selects values preserves their type."""
    computing = [
        "SELECT col AS x FROM dataset UNION ALL SELECT col FROM dataset",
        "SELECT (SELECT col FROM dataset WHERE id = 2) AS x",
    ]
    computed = "array" in col.traits and col.htype.name not in ("image", "boxes", "class_label")
    for query in (
        "SELECT col AS x",
        "SELECT col AS x WHERE id > 1 ORDER BY id DESC LIMIT 2",
        "SELECT DISTINCT col AS x",
        "SELECT col AS x, COUNT(*) GROUP BY col",
        "SELECT FIRST(col ORDER BY id) AS x GROUP BY k",
        "SELECT LAG(col) OVER (ORDER BY id) AS x",
        *([] if computed else computing),  # whose masks, points and vectors are arrays
        "SELECT x FROM (SELECT col AS x, id FROM dataset) WHERE id > 1",
        "SELECT b.col AS x FROM ds AS a LEFT JOIN ds AS b ON a.id = b.id + 1",
    ):
        result = ds.query(query)["x"].htype
        assert type_name(result) == type_name(ds["col"].htype), (query, result)


def type_name(htype):
    """Return a type without the parts that a query may change: nullability and codec."""
    inner = f"({type_name(htype.item)})" if htype.item else ""
    names = getattr(htype, "names", None)
    return f"{htype.name} {getattr(htype, 'dtype', '')} {names}{inner}"


@operation
def join(ds, col, values):
    ids = "SELECT a.id * 10 + b.id AS x, b.col AS y FROM ds AS a JOIN ds AS b ON {} ORDER BY x"
    on = "a.col = b.col" if "scalar" in col.traits else "HASH(a.col) = HASH(b.col)"
    present = [(i, v) for i, v in enumerate(values) if v is not None]
    alike = equal if "scalar" in col.traits else lambda v, w: text(v) == text(w)
    expected = [i * 10 + j for (i, v), (j, w) in product(present, repeat=2) if alike(v, w)]
    assert read(ds, ids.format(on)) == expected
    assert read(ds, ids.format(on), name="y") == [values[pair % 10] for pair in expected]


@operation
def left_join(ds, col, values):
    query = "SELECT b.col AS x FROM ds AS a LEFT JOIN ds AS b ON a.id = b.id + 1 ORDER BY a.id"
    assert read(ds, query) == [None, *values[:-1]]


@operation
def first_and_last(ds, col, values):
    query = "SELECT {} AS x GROUP BY k ORDER BY k"
    assert read(ds, query.format("FIRST(col ORDER BY id)")) == values[:2]
    assert read(ds, query.format("LAST(col ORDER BY id)")) == values[4:]
    assert read(ds, query.format("ARG_MIN(col, id)")) == values[:2]
    assert read(ds, query.format("ARG_MAX(col, id)")) == [values[4], values[3]]


@operation
def lists(ds, col, values):
    query = "SELECT {} AS x GROUP BY k ORDER BY k"
    expected = by_group(values)
    assert read(ds, query.format("LIST(col ORDER BY id)")) == expected
    assert read(ds, query.format("ARRAY_AGG(col ORDER BY id)")) == expected
    for result, part in zip(
        read(ds, "SELECT k, col AS x GROUP BY k ORDER BY k"), expected, strict=True
    ):
        assert sorted(map(text, result)) == sorted(map(text, part))
    inner = "(SELECT k, LIST(col ORDER BY id) AS l GROUP BY k)"
    assert read(ds, f"SELECT l AS x FROM {inner} ORDER BY k") == expected
    assert read(ds, f"SELECT l[0] AS x FROM {inner} ORDER BY k") == values[:2]
    assert read(ds, f"SELECT LEN(l) AS x FROM {inner} ORDER BY k") == [*map(len, expected)]
    unnested = read(ds, f"SELECT UNNEST(l) AS x FROM {inner}")
    assert Counter(map(text, unnested)) == Counter(map(text, values))


@operation
def windows(ds, col, values):
    query = "SELECT id, {} AS x ORDER BY id"
    assert read(ds, query.format("LAG(col) OVER (ORDER BY id)")) == [None, *values[:-1]]
    assert read(ds, query.format("FIRST_VALUE(col) OVER (ORDER BY id)")) == values[:1] * 6


@operation
def case(ds, col, values):
    result = read(ds, "SELECT CASE WHEN id > 1 THEN col END AS x ORDER BY id")
    assert result == [None, None, *values[2:]]
    assert read(ds, "SELECT COALESCE(col, col) AS x ORDER BY id") == values
    assert read(ds, "SELECT IF(id = 1, col, col) AS x ORDER BY id") == values


@operation
def subqueries(ds, col, values):
    assert read(ds, "SELECT c AS x FROM (SELECT col AS c, id FROM dataset) ORDER BY id") == values
    assert (
        read(ds, "WITH q AS (SELECT col, id FROM dataset) SELECT col AS x FROM q ORDER BY id")
        == values
    )
    assert (
        read(ds, "SELECT (SELECT col FROM dataset WHERE id = 2) AS x FROM dataset")
        == values[2:3] * 6
    )
    assert (
        read(ds.query("SELECT col, id WHERE id > 1"), "SELECT col AS x ORDER BY id") == values[2:]
    )


@operation
def equals(ds, col, values):
    row = 0 if col is COLUMNS["notes"] else 2  # a list of lists of numbers would be an array
    params = [as_param(col, COLUMNS_BY_ID[id(col)].values[row])]
    expected = ids(values, lambda v: text(v) == text(values[row]))
    if "scalar" in col.traits:
        assert read(ds, "SELECT id AS x WHERE col = ? ORDER BY id", params) == expected
        other = ids(values, lambda v: text(v) != text(values[row]))
        assert read(ds, "SELECT id AS x WHERE col <> ? ORDER BY id", params) == other
        assert read(ds, "SELECT id AS x WHERE col IN (?) ORDER BY id", params) == expected
    elif "complex" in col.traits:
        assert read(ds, "SELECT id AS x WHERE col = col ORDER BY id") == [0, 1, 2, 3, 4]
    else:
        refused(ds, "SELECT id WHERE col IN (?)", [1])
    if not is_any(col.traits, "number", "truth", "class", "complex") or "array" in col.traits:
        assert read(ds, "SELECT id AS x WHERE HASH(col) = HASH(?) ORDER BY id", params) == expected
    if "complex" in col.traits:
        return
    query = f"(SELECT col FROM dataset WHERE id = {row})"
    same = f"SELECT id AS x WHERE HASH(col) = HASH({query}) ORDER BY id"
    assert read(ds, same) == expected


@operation
def in_query(ds, col, values):
    query = "SELECT id AS x WHERE col IN (SELECT col FROM dataset WHERE id < 1) ORDER BY id"
    if "scalar" not in col.traits:
        refused(ds, query)
    else:
        assert read(ds, query) == ids(values, lambda v: equal(v, values[0]))


@operation
def order_by(ds, col, values):
    if "scalar" not in col.traits:
        refused(ds, "SELECT id ORDER BY col")
        return
    if "json" in col.traits:
        assert read(ds, "SELECT id AS x ORDER BY col, id")[-1] == 5
        return
    expected = sorted(range(6), key=lambda row: key(values[row]))
    assert read(ds, "SELECT id AS x ORDER BY col, id") == expected
    falling = sorted(range(5), key=lambda row: key(values[row]), reverse=True)
    falling.sort(key=lambda row: values[row] is NAN)
    result = read(ds, "SELECT col AS x ORDER BY col DESC")
    assert result == [*(values[row] for row in falling), None]


@operation
def arrange_by(ds, col, values):
    result = [values[row] for row in read(ds, "SELECT id AS x ARRANGE BY col")]
    assert result == sorted(values, key=lambda v: [text(w) for w in values].index(text(v)))


@operation
def greatest(ds, col, values):
    query = "SELECT MAX(col) AS x GROUP BY k ORDER BY k"
    groups = [[v for v in part if v is not None] for part in by_group(values)]
    if is_any(col.traits, "list", "ragged", "complex"):
        refused(ds, query)
    elif is_any(col.traits, "array"):
        assert read(ds, query) == [
            plain(np.max([np.asarray(v) for v in part], 0)) for part in groups
        ]
    elif "json" not in col.traits:
        assert read(ds, query) == [max(part, key=key) for part in groups]


@operation
def length(ds, col, values):
    if is_any(col.traits, "array", "list", "text", "bytes"):
        expected = [None if v is None else len(v) for v in values]
        assert (
            read(
                ds,
                "SELECT SHAPE(col)[0] AS x ORDER BY id"
                if "array" in col.traits
                else "SELECT LEN(col) AS x ORDER BY id",
            )
            == expected
        )
        assert read(ds, "SELECT LEN(col) AS x ORDER BY id") == expected
    elif "class" in col.traits:  # of its name
        assert read(ds, "SELECT LEN(col) AS x ORDER BY id") == [4, 3, 3, 3, 4, None]
    elif "json" not in col.traits:
        refused(ds, "SELECT LEN(col) AS x")


@operation
def subscripts(ds, col, values):
    if is_any(col.traits, "array", "list", "text", "bytes"):
        first = [None if not v else v[0] for v in values]
        if "text" in col.traits:  # in SQL, an empty string
            first = ["" if v == "" else w for v, w in zip(values, first, strict=True)]
        assert read(ds, "SELECT col[0] AS x ORDER BY id") == first
        slices = [None if v is None else v[1:3] for v in values]
        assert read(ds, "SELECT col[1:3] AS x ORDER BY id") == slices
        assert read(ds, "SELECT col[-1:] AS x ORDER BY id") == [v and v[-1:] for v in values]
        same = "SELECT DISTINCT col[0:1] AS x"
        same_set(read(ds, same), differ([None if v is None else v[:1] for v in values]))
    elif "json" not in col.traits:
        refused(ds, "SELECT col[0] AS x")
        refused(ds, "SELECT col[1:3] AS x")


@operation
def unnest(ds, col, values):
    if is_any(col.traits, "array", "list"):
        expected = Counter(text(item) for v in values for item in v or ())
        assert Counter(map(text, read(ds, "SELECT UNNEST(col) AS x"))) == expected
    elif "json" not in col.traits:
        refused(ds, "SELECT UNNEST(col) AS x")


@operation
def arithmetic(ds, col, values):
    if "number" in col.traits:
        assert read(ds, "SELECT col + 1 AS x ORDER BY id") == [
            None if v is None else plain(v + 1) for v in values
        ]
    elif "array" in col.traits:
        assert len(read(ds, "SELECT col + 1 AS x")) == 6
    elif is_any(col.traits, "list", "bytes", "time"):
        refused(ds, "SELECT col + 1.5 AS x")


@operation
def own_functions(ds, col, values):
    seen = []

    def note(value):
        seen.append(value)
        return 1

    dl.function(returns="int32")(note)
    try:
        result = read(ds, "SELECT NOTE(col) AS x ORDER BY id")
    finally:
        unregister("note")
    assert result == [1] * 5 + [None]
    assert [*map(text, seen)] == [text(v) for v in values[:5]]


@operation
def contains(ds, col, values):
    query = "SELECT id AS x WHERE CONTAINS(col, ?) ORDER BY id"
    flat = is_any(col.traits, "list", "items") and isinstance(
        values[2][0], int | str | bytes | float
    )
    if flat and col is not COLUMNS["days"]:
        expected = values[2][0]
        assert read(ds, query, [expected]) == ids(values, lambda v: expected in v)
    elif "bytes" in col.traits:
        assert read(ds, query, [b"1"]) == ids(values, lambda v: b"1" in v)
        assert read(ds, query, [b"\x01"]) == []
    elif "text" in col.traits:
        assert read(ds, query, ["a"]) == ids(values, lambda v: "a" in v)


# ---- checks of an operation


def same_set(found, wanted):
    assert sorted(map(text, found)) == wanted


def read_all(ds, query, params):
    view = ds.query(query, params)
    return [view[name][:] for name in view.columns]


def refused(ds, query, params=()):
    """Check that a query raises one of our errors that names the column."""
    with pytest.raises(dl.QueryError) as caught:
        read_all(ds, query, params)
    message = str(caught.value)
    assert re.search(r"\bcol\b", message), message
    assert len(message) < 600
    return True


def as_param(col, value):
    """Return a list as an array of the items' type if they form one."""
    dtype = {"numbers": "int32", "null items": "int32", "classes": "int32", "vectors": "float32"}
    name = next(name for name, known in COLUMNS.items() if known is col)
    return np.asarray(value, dtype[name]) if name in dtype else value


COLUMNS_BY_ID = {id(col): col for col in COLUMNS.values()}


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("asked", OPERATIONS)
def test_cell_is_right_or_raises_our_error(asked, name):
    ds, col = lake(name), COLUMNS[name]
    OPERATIONS[asked](ds, col, [plain(v) for v in col.values])
