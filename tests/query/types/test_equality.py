"""Equality of JSON, arrays and hashes is the same in every query and edit."""

from __future__ import annotations

from collections import Counter
from itertools import product
from uuid import uuid4

import numpy as np
import pytest

import deeplake_lite as dl


def lake(htype, values):
    ds = dl.create(f"memory://{uuid4().hex}", {"k": "int32", "x": htype}, overwrite=True)
    ds.append({"k": range(len(values)), "x": values})
    ds.commit()
    return ds


# ---- JSON

DOCUMENTS = [
    True, False, 1, 1.0, 0, -0.0, "1", "true", "", "null", 0.5, "0.5", 2**53, 2**53 + 1, 2.0**53,
    2**64, 1e300, "é", 'a"b\\', {"a": 1, "b": 2}, {"b": 2.0, "a": 1}, {"a": True, "b": 2}, {}, [],
    [1, "x", None], [1.0, "x", None], ["1", "x", None], [{"b": 1, "a": [2.0]}],
    [{"a": [2], "b": 1}],
]  # fmt: skip


def meaning(value):
    """Return the JSON meaning of a value, as tuples."""
    match value:
        case bool():
            return ("truth", value)
        case int() | float():
            return ("number", value)
        case list():
            return ("list", *map(meaning, value))
        case dict():
            return ("object", *sorted((key, meaning(item)) for key, item in value.items()))
    return (type(value).__name__, value)


def are_equal(a, b):
    return meaning(a) == meaning(b)


PAIRS = [
    (a, b)
    for a, b in product(range(len(DOCUMENTS)), repeat=2)
    if are_equal(DOCUMENTS[a], DOCUMENTS[b])
]


@pytest.fixture(scope="module")
def documents():
    return lake(dl.Json(nullable=True), [*DOCUMENTS, None])


@pytest.mark.parametrize(
    ("condition", "holds_of"),
    [
        ("x = $p", "equal"),
        ("$p = x", "equal"),
        ("x IN ($p)", "equal"),
        ("x IN ('other', $p, 77)", "equal"),
        ("CASE x WHEN $p THEN TRUE ELSE FALSE END", "equal"),
        ("x IS NOT DISTINCT FROM $p", "equal"),
        ("NULLIF(x, $p) IS NULL AND x IS NOT NULL", "equal"),
        ("(x, 1) = ($p, 1)", "equal"),
        ("x <> $p", "other"),
        ("NOT x = $p", "other"),
        ("x NOT IN ($p)", "other"),
        ("x IS DISTINCT FROM $p AND x IS NOT NULL", "other"),
    ],
)
def test_json_equals_parameters_by_meaning(documents, condition, holds_of):
    for value in DOCUMENTS:
        if isinstance(value, list) and ("IN (" in condition):
            continue  # a list after IN is a list of values
        result = documents.query(f"SELECT k WHERE {condition}", {"p": value})["k"][:].tolist()
        expected = [
            row
            for row, other in enumerate(DOCUMENTS)
            if are_equal(value, other) == (holds_of == "equal")
        ]
        assert result == expected, (condition, value)


LITERALS = {
    "TRUE": True, "1": 1, "1.0": 1, "-0.0": 0, "'1'": "1", "0.5": 0.5,
    "9007199254740993": 2**53 + 1, "18446744073709551616": 2**64,
    "1 + 0": 1, "LOWER('TRUE')": "true", "CAST(1 AS BIGINT)": 1,
    "CAST('x' AS TEXT)": "x", "NOT FALSE": True, "[1, 'x', NULL]": [1, "x", None],
}  # fmt: skip


@pytest.mark.parametrize("literal", LITERALS)
def test_json_equals_constants_by_meaning(documents, literal):
    result = documents.query(f"SELECT k WHERE x = {literal}")["k"][:].tolist()
    assert result == [r for r, other in enumerate(DOCUMENTS) if are_equal(LITERALS[literal], other)]


@pytest.mark.parametrize(
    "query",
    [
        "FROM ds AS a JOIN ds AS b ON a.x = b.x",
        "FROM ds AS a JOIN ds AS b USING (x)",
        "FROM ds AS a JOIN ds AS b ON a.x IN (b.x)",
        "FROM ds AS a JOIN ds AS b ON a.x IS NOT DISTINCT FROM b.x WHERE a.x IS NOT NULL",
        "FROM ds AS a, ds AS b WHERE a.x IN (SELECT x FROM ds AS c WHERE c.k = b.k)",
        "FROM ds AS a, ds AS b WHERE a.x = ANY (SELECT x FROM ds AS c WHERE c.k = b.k)",
        "FROM ds AS a, ds AS b WHERE NULLIF(a.x, b.x) IS NULL AND a.x IS NOT NULL",
    ],
)
def test_json_of_two_columns_is_equal_by_meaning(documents, query):
    result = documents.query(f"SELECT a.k AS a, b.k AS b {query}")
    assert sorted(zip(result["a"][:].tolist(), result["b"][:].tolist(), strict=True)) == PAIRS


GROUPS = len({meaning(value) for value in [*DOCUMENTS, None]})


@pytest.mark.parametrize(
    "query",
    [
        "SELECT DISTINCT x",
        "SELECT DISTINCT ON (x) k",
        "SELECT x, COUNT(*) AS n GROUP BY x",
        "SELECT d.x FROM dataset AS d GROUP BY x",
        "SELECT x AS y GROUP BY y HAVING y IS NULL OR y IS NOT NULL ORDER BY y",
        "SELECT x, k % 1 AS z GROUP BY ALL",
        "SELECT x FROM dataset UNION SELECT x FROM dataset",
        "SELECT x FROM dataset INTERSECT SELECT x FROM dataset",
        "SELECT k QUALIFY ROW_NUMBER() OVER (PARTITION BY x ORDER BY k) = 1",
        "SELECT DISTINCT RANK() OVER (ORDER BY x) AS n",
    ],
)
def test_equal_json_is_one_value(documents, query):
    assert len(documents.query(query)) == GROUPS


def test_aggregates_count_equal_json_once(documents):
    result = documents.query(
        "SELECT COUNT(DISTINCT x) AS n, LEN(LIST(DISTINCT x)) AS l, MODE(x) AS m"
    )
    assert result["n"][:].tolist() == [GROUPS - 1]
    assert result["l"][:].tolist() == [GROUPS]
    counts = Counter(map(meaning, DOCUMENTS))
    assert counts[meaning(result["m"][0])] == max(counts.values())


def test_values_of_a_group_are_unchanged():
    ds = lake(dl.Json(), [{"b": 1.5, "a": 2.0}, {"a": 2, "b": 1.5}])
    for query in (
        "SELECT x GROUP BY x",
        "SELECT DISTINCT x",
        "SELECT x FROM ds UNION SELECT x FROM ds",
    ):
        [result] = ds.query(query)["x"][:]
        assert result == {"b": 1.5, "a": 2.0}
    result = ds.query("SELECT x FROM ds UNION ALL SELECT x FROM ds")["x"][:]
    assert [list(value) for value in result] == [["b", "a"], ["a", "b"]] * 2


def test_json_column_equals_values_by_meaning(documents):
    for value in DOCUMENTS:
        expected = [are_equal(value, other) for other in DOCUMENTS]
        assert (documents["x"] == value).tolist() == [*expected, False]
    assert (documents["x"] == (*DOCUMENTS, None)).all()


def test_json_keys_are_equal_by_meaning():
    for value in DOCUMENTS:
        ds = lake(dl.Json(), [v for v in DOCUMENTS if not are_equal(v, value)])
        assert ds.upsert({"k": [5], "x": [value]}, on="x").added == 1
        ds = lake(dl.Json(), [v for v in DOCUMENTS if are_equal(v, value)][:1])
        assert ds.upsert({"k": [5], "x": [value]}, on="x").added == 0


@pytest.mark.parametrize(
    ("part", "rows"), [(1, [0, 1]), ("1", [2, 3, 4]), (True, [5]), ("a", [6]), ("x", [2])]
)
def test_json_contains_items_by_meaning(part, rows):
    ds = lake(dl.Json(), [[1, 2], [1.0], ["1", "x"], "21", {"1": 2}, [True], {"a": None}, 1, True])
    assert ds.query("SELECT k WHERE CONTAINS(x, ?)", [part])["k"][:].tolist() == rows


def test_order_by_keeps_equal_json_together():
    ds = lake(dl.Json(), [{"a": 1, "b": 1}, {"a": 1, "b": 2}, {"b": 1, "a": 1}, True, "true", True])
    order = ds.query("SELECT k ORDER BY x, k")["k"][:].tolist()
    assert abs(order.index(0) - order.index(2)) == 1
    assert abs(order.index(3) - order.index(5)) == 1


# ---- zeros and NaN in arrays

nan = np.nan
ZEROS = {
    "dense": (dl.Array("float32", (2,)), [[0.0, 1], [-0.0, 1], [nan, 1], [-nan, 1]]),
    "ragged": (dl.Array("float16", (None,)), [[0.0, 1], [-0.0, 1], [nan, 1], [-nan, 1]]),
    "any shape": (dl.Array("float64", None), [[0.0, 1], [-0.0, 1], [nan, 1], [-nan, 1]]),
    "complex": (dl.Array("complex64", (1,)), [[0j], [complex(-0.0, -0.0)], [nan], [nan]]),
    "sequence": (dl.Sequence("float32"), [[0.0, 1], [-0.0, 1], [nan, 1], [-nan, 1]]),
    "null items": (
        dl.Sequence(dl.Scalar("float32", nullable=True)),
        [[0.0, None], [-0.0, None], [nan, None], [-nan, None]],
    ),
    "vectors": (dl.Sequence(dl.Embedding(2)), [[[0.0, 1]], [[-0.0, 1]], [[1, 1]], [[1, 1]]]),
    "embedding": (dl.Embedding(2), [[0.0, 1], [-0.0, 1], [1, 1], [1, 1]]),
    "boxes": (dl.Boxes(), [[[0, 0, 1, 1]], [[-0.0, 0, 1, 1]], [], []]),
    "points": (dl.Keypoints(["a"], dims=2), [[[[0, 0]]], [[[-0.0, 0]]], [], []]),
    "outlines": (
        dl.Polygons(),
        [[[[0, 0], [0, 1], [1, 0]]], [[[-0.0, 0], [0, 1], [1, 0]]], [], []],
    ),
    "documents": (dl.Sequence(dl.Json()), [[{"a": 1, "b": 2}], [{"b": 2.0, "a": 1}], [1], [1.0]]),
    "scalar": (dl.Scalar("float32"), [0.0, -0.0, nan, -nan]),
}  # fmt: skip


@pytest.mark.parametrize("kind", ZEROS)
def test_zeros_are_equal_and_nan_is_one_value(kind):
    ds = lake(*ZEROS[kind])
    whole = ["SELECT DISTINCT {x}", "SELECT {x} FROM ds UNION SELECT {x} FROM ds"]
    whole += [
        "SELECT {x}, COUNT(*) AS n GROUP BY {x}",
        "SELECT {x} FROM ds INTERSECT SELECT {x} FROM ds",
    ]
    for query, x in product(
        whole, ["x AS y"] if kind in ("complex", "scalar") else ["x AS y", "x[0:9] AS y"]
    ):
        text = query.format(x=x).replace("BY x AS y", "BY x").replace("BY x[0:9] AS y", "BY x[0:9]")
        assert len(ds.query(text)) == 2, text
    assert ds.query("SELECT COUNT(DISTINCT x) AS n")["n"][:].tolist() == [2]
    joined = ds.query("SELECT a.k AS k FROM ds AS a JOIN ds AS b ON HASH(a.x) = HASH(b.x)")
    assert len(joined) == 8
    result = lake(ZEROS[kind][0], ZEROS[kind][1][:1]).upsert(
        {"k": [9], "x": ZEROS[kind][1][1:2]}, on="x"
    )
    assert (result.added, result.changed) == (0, 1)


# ---- hashes

EQUAL = {
    "one": [
        (dl.Scalar("int8"), 1), (dl.Scalar("int64"), 1), (dl.Scalar("uint64"), 1), (dl.Json(), 1),
        (dl.Scalar("float16"), 1), (dl.Scalar("float64"), 1),
        (dl.Json(), 1.0),
    ],
    "truth": [(dl.Scalar("bool"), True), (dl.Json(), True)],
    "truth as a number": [(dl.Scalar("bool"), True), (dl.Scalar("int8"), 1)],
    "half": [(dl.Scalar("float16"), 0.5), (dl.Scalar("float64"), 0.5), (dl.Json(), 0.5)],
    "zero": [(dl.Scalar("int8"), 0), (dl.Scalar("float32"), -0.0), (dl.Json(), -0.0)],
    "large": [(dl.Scalar("uint64"), 2**63), (dl.Scalar("float64"), 2.0**63), (dl.Json(), 2**63)],
    "class": [
        (dl.ClassLabel(["cat", "dog"]), "dog"), (dl.ClassLabel(["dog", "cow"]), "dog"),
        (dl.Text(), "dog"), (dl.Json(), "dog"),
    ],
    "document": [(dl.Json(), {"a": 1, "b": [1]}), (dl.Json(), {"b": [1.0], "a": 1})],
    "moment": [
        (dl.Scalar(f"datetime64[{unit}]"), np.datetime64("2020-01-01"))
        for unit in ("D", "h", "s", "ms", "us", "ns")
    ],
    "nanoseconds": [
        (dl.Scalar("datetime64[ns]"), np.datetime64("2020-01-01T00:00:00.000000001")),
    ] * 2,
    "duration": [
        (dl.Scalar(f"timedelta64[{unit}]"), np.timedelta64(3600, "s"))
        for unit in ("h", "m", "s", "ms", "us", "ns")
    ],
    "bytes": [(dl.Bytes(), b"\x00a"), (dl.Bytes(), b"\x00a")],
}  # fmt: skip


@pytest.mark.parametrize("case", EQUAL)
def test_equal_values_have_equal_hashes(case):
    columns = EQUAL[case]
    schema = {f"c{at}": htype for at, (htype, _) in enumerate(columns)}
    ds = dl.create(f"memory://{uuid4().hex}", schema)
    ds.append({f"c{at}": [value] for at, (_, value) in enumerate(columns)})
    for a, b in product(schema, repeat=2):
        query = f"SELECT {a} = {b} AS equal, HASH({a}) = HASH({b}) AS same"
        assert ds.query(query)[0] == {"equal": True, "same": True}, (a, b)
    for name, (htype, value) in zip(schema, columns, strict=True):
        if htype.name == "json" and isinstance(value, list):
            continue
        result = ds.query(f"SELECT HASH({name}) = HASH(?) AS same", [value])
        assert result["same"][:].tolist() == [True], name


def test_different_values_have_different_hashes():
    values = [*range(-300, 300), *(2**n for n in range(20, 63)), *(2**n + 1 for n in range(20, 63))]
    ds = lake(dl.Scalar("int64"), values)
    assert len(ds.query("SELECT DISTINCT HASH(x) AS h")) == len(values)
    ds = lake(dl.Json(), [v for v in DOCUMENTS if not isinstance(v, bool)])  # true is 1 in SQL
    assert len(ds.query("SELECT DISTINCT HASH(x) AS h")) == len(ds.query("SELECT DISTINCT x"))


def test_hash_of_null_is_null():
    for htype in ("int32", "text", "bool", "json", "datetime64[s]", "bytes", dl.Embedding(2)):
        htype = dl.Scalar(htype) if isinstance(htype, str) and htype[-1] in "2l]" else htype
        ds = dl.create(f"memory://{uuid4().hex}", {"k": "int32", "x": nullable(htype)})
        ds.append({"k": [0]})
        assert ds.query("SELECT k WHERE HASH(x) IS NULL")["k"][:].tolist() == [0]


def nullable(htype):
    named = {"text": dl.Text, "json": dl.Json, "bytes": dl.Bytes}
    if isinstance(htype, str):
        return named[htype](nullable=True)
    return type(htype)(**{**vars(htype), "nullable": True})


def test_hashes_of_long_durations_depend_on_their_total():
    year = 365 * 86_400
    ds = lake(
        dl.Scalar("timedelta64[s]"), [np.timedelta64(n * year, "s") for n in (200, 400, 100_000)]
    )
    result = ds.query(
        "SELECT a.k AS a, b.k AS b FROM ds AS a, ds AS b WHERE HASH(a.x + a.x) = HASH(b.x)"
    )
    assert [(row["a"], row["b"]) for row in result] == [(0, 1)]
    assert len(ds.query("SELECT DISTINCT HASH(x + x) AS h")) == 3


@pytest.mark.parametrize("dtype", ["uint8", "int32", "float16", "float64", "bool"])
def test_equal_arrays_have_equal_hashes_whatever_their_dtype(dtype):
    schema = {"x": dl.Array("int64", (2,)), "y": dl.Array(dtype, (None,)), "z": dl.Sequence(dtype)}
    ds = dl.create(f"memory://{uuid4().hex}", schema)
    ds.append({name: [np.array([1, 0], dtype if name in "yz" else "int64")] for name in schema})
    for other in ("y", "z", "[1, 0]", "[1.0, -0.0]", "x[0:2]"):
        assert ds.query(f"SELECT HASH(x) = HASH({other}) AS same")["same"][:].tolist() == [True]


# ---- joins on columns with the same name

LABELS = ["cat", "dog", "owl"], ["owl", "dog", "bat", "cat"]


def several(names, rows):
    return dl.ClassLabel(names, multiple=True), [
        [names.index(name) for name in row] for row in rows
    ]


def sequence(names, rows):
    return dl.Sequence(dl.ClassLabel(names)), [[names.index(name) for name in row] for row in rows]


def single(names, rows):
    return dl.ClassLabel(names), [names.index(row[0]) for row in rows]


WORDS = [["cat"], ["dog", "owl"], ["owl", "dog"]], [["dog", "owl"], ["cat"], ["bat"]]
USED = {
    "labels": (several(LABELS[0], WORDS[0]), several(LABELS[1], WORDS[1]), [(0, 1), (1, 0)]),
    "sequences": (sequence(LABELS[0], WORDS[0]), sequence(LABELS[1], WORDS[1]), [(0, 1), (1, 0)]),
    "classes": (single(LABELS[0], WORDS[0]), single(LABELS[1], WORDS[1]), [(0, 1), (1, 0)]),
    "class and text": (
        single(LABELS[0], WORDS[0]), (dl.Text(), ["dog", "cat", "bat"]), [(0, 1), (1, 0)]
    ),
    "durations": (
        (dl.Scalar("timedelta64[s]"), ["3600 s", "7200 s", "10000000000 s"]),
        (dl.Scalar("timedelta64[h]"), ["2 h", "1 h", "3 h"]), [(0, 1), (1, 0)],
    ),
    "dates": (
        (dl.Scalar("datetime64[D]"), ["2020-01-01", "2020-01-02", "1500-01-01"]),
        (dl.Scalar("datetime64[ms]"), ["2020-01-02", "2020-01-01", "2020-01-01T12"]),
        [(0, 1), (1, 0)],
    ),
    "bytes": (
        (dl.Bytes(), [b"1", b"\xff", b"01"]), (dl.Bytes(), [b"\xff", b"1", b""]), [(0, 1), (1, 0)]
    ),
    "vectors": (
        (dl.Embedding(2), [[0.0, 1], [1, 2], [3, 4]]),
        (dl.Embedding(2, "float16"), [[1, 2], [-0.0, 1], [3, 5]]), [(0, 1), (1, 0)],
    ),
    "large": (
        (dl.Scalar("uint64"), [2**64 - 1, 1, 2]), (dl.Scalar("uint64"), [1, 2**64 - 1, 3]),
        [(0, 1), (1, 0)],
    ),
    "documents": (
        (dl.Json(), [{"a": 1, "b": 2}, 1, True]), (dl.Json(), [1.0, {"b": 2, "a": 1.0}, "true"]),
        [(0, 1), (1, 0)],
    ),
}  # fmt: skip


def said(value, htype):
    """Return a value by its meaning, to compare columns of two types."""
    names = getattr(htype, "names", None) or getattr(getattr(htype, "of", None), "names", None)
    if names and not isinstance(value, str):
        return [names[n] for n in value] if np.ndim(value) else names[int(value)]
    if isinstance(value, np.ndarray):
        return value.tolist()
    time = isinstance(value, np.datetime64 | np.timedelta64)
    return value.astype(f"{value.dtype.kind}8[s]") if time else value


@pytest.mark.parametrize("kind", USED)
def test_joins_on_a_shared_column_name_compare_by_meaning(kind):
    *sides, pairs = USED[kind]
    sources = {}
    for name, (htype, values) in zip("AB", sides, strict=True):
        ds = dl.create(f"memory://{uuid4().hex}", {name: "int32", "x": htype})
        ds.append({name: range(3), "x": values})
        sources[name] = ds
    left = sources["A"]["x"]
    for join in ("A JOIN B USING (x)", "A NATURAL JOIN B", "B JOIN A USING (x)"):
        result = dl.query(f"SELECT A.A AS a, B.B AS b, x FROM {join} ORDER BY a", sources=sources)
        assert [(row["a"], row["b"]) for row in result] == pairs, join
    for join, expected in (
        ("A LEFT JOIN B", [*pairs, (2, None)]),
        ("A RIGHT JOIN B", [*pairs, (None, 2)]),
        ("A FULL JOIN B", [*pairs, (2, None), (None, 2)]),
    ):
        result = dl.query(
            f"SELECT A.A AS a, B.B AS b, x FROM {join} USING (x) ORDER BY a", sources=sources
        )
        assert [(row["a"], row["b"]) for row in result] == expected, join
        for row, (a, b) in zip(result, expected, strict=True):
            of = left if a is not None else sources["B"]["x"]
            assert said(row["x"], result["x"].htype) == said(
                of[a if a is not None else b], of.htype
            )
    result = dl.query("SELECT A.A AS a FROM A SEMI JOIN B USING (x) ORDER BY a", sources=sources)
    assert result["a"][:].tolist() == [0, 1]


def test_third_source_joins_rows_of_either_of_the_first_two():
    sources = {
        name: lake(dl.Scalar("int32"), rows) for name, rows in (("A", [1]), ("B", [2]), ("C", [2]))
    }
    result = dl.query(
        "SELECT x, C.k AS c FROM A FULL JOIN B USING (x) FULL JOIN C USING (x) ORDER BY x",
        sources=sources,
    )
    assert [(row["x"], row["c"]) for row in result] == [(1, None), (2, 0)]


def test_months_only_compare_with_months():
    units = {unit: (f"timedelta64[{unit}]", [f"1 {unit}"]) for unit in ("Y", "M", "D")}
    for a, b in product(units, repeat=2):
        sources = {
            name: lake(dl.Scalar(t), np.array([1], t))
            for name, (t, _) in (("A", units[a]), ("B", units[b]))
        }
        for query in (
            "SELECT A.k AS k FROM A JOIN B ON A.x = B.x",
            "SELECT A.k AS k FROM A JOIN B USING (x)",
            "SELECT k FROM A WHERE x IN (SELECT x FROM B)",
            "SELECT x AS k FROM A UNION SELECT x FROM B",
            "SELECT COALESCE(A.x, B.x) AS k FROM A, B",
        ):
            if a == b:
                assert len(dl.query(query, sources=sources)) == 1
            else:
                with pytest.raises(dl.errors.QueryTypeError):
                    dl.query(query, sources=sources)["k"][:]


# ---- JSON null, complex numbers


def test_json_null_is_null_everywhere():
    ds = lake(dl.Json(nullable=True), [{"a": None}, {"a": 1}, {}, None, "", [], {"a": ""}])
    assert ds.query("SELECT k WHERE x['a'] IS NULL")["k"][:].tolist() == [0, 2, 3, 4, 5]
    assert ds.query("SELECT COUNT(x['a']) AS n")["n"][:].tolist() == [2]
    assert ds.query("SELECT DISTINCT x['a'] AS y")["y"][:] == [None, 1, ""]
    result = ds.query("SELECT x['a'] AS y, COUNT(*) AS n GROUP BY x['a']")
    assert [(row["y"], row["n"]) for row in result] == [(None, 5), (1, 1), ("", 1)]
    assert ds.query("SELECT COALESCE(x['a'], 5) AS y")["y"][:] == [5, 1, 5, 5, 5, 5, ""]
    assert ds.query("SELECT x, COUNT(*) AS n GROUP BY x")["n"][:].tolist() == [1] * 7


COMPLEX = [1 + 2j, 1 + 0j, None, 0j, complex(np.nan, 0)]


@pytest.mark.parametrize(
    ("value", "rows"),
    [
        (1, [1]), (1.0, [1]), (np.float32(1), [1]), (True, [1]), (1 + 2j, [0]), (0, [3]),
        (-0.0, [3]), (np.complex64(1 + 2j), [0]), (np.complex128(1), [1]), (np.nan, []), (7j, []),
    ],
)  # fmt: skip
def test_complex_numbers_equal_real_numbers(value, rows):
    ds = lake(dl.Scalar("complex64", nullable=True), COMPLEX)
    assert ds.query("SELECT k WHERE x = ?", [value])["k"][:].tolist() == rows
    assert ds.query("SELECT k WHERE ? = x", [value])["k"][:].tolist() == rows
    others = [row for row in (0, 1, 3, 4) if row not in rows]
    assert ds.query("SELECT k WHERE x <> ?", [value])["k"][:].tolist() == others
    assert np.flatnonzero(ds["x"] == value).tolist() == rows


@pytest.mark.parametrize(
    ("condition", "params"),
    [
        ("x = '1'", []), ("x = ?", ["1+2j"]), ("x = ?", [b"1"]), ("x = ?", [{"a": 1}]),
        ("x < 1", []), ("x >= ?", [1j]), ("x BETWEEN 0 AND 1", []), ("x IN (1, ?)", [1j]),
        ("x = DATE '2020-01-01'", []), ("CASE x WHEN 1 THEN TRUE END", []), ("x LIKE '1%'", []),
        ("k = 1 AND k < ?", [1j]),
    ],
)  # fmt: skip
def test_complex_numbers_only_compare_with_numbers(condition, params):
    ds = lake(dl.Scalar("complex64", nullable=True), COMPLEX)
    with pytest.raises(dl.errors.QueryTypeError):
        ds.query(f"SELECT k WHERE {condition}", params)["k"][:]


def test_columns_of_complex_numbers_have_no_order():
    ds = lake(dl.Scalar("complex64", nullable=True), COMPLEX)
    with pytest.raises(dl.InvalidValueError, match="have no order relative"):
        ds["x"] < 1  # noqa: B015
    for text in ("1+2j", str(np.complex64(1 + 2j)), "a", b"1"):
        assert not (ds["x"] == text).any()


# ---- classes without names


def test_classes_without_names_equal_numbers_and_numeric_strings():
    ds = lake(dl.ClassLabel(), [7, 0, 2])
    assert ds.query("SELECT CAST(x AS TEXT) AS t, LOWER(x) AS u")[0] == {"t": "7", "u": "7"}
    assert len(ds.query("SELECT DISTINCT HASH(x) AS h")) == 3
    assert ds.query("SELECT k WHERE x LIKE '7%'")["k"][:].tolist() == [0]
    assert ds.query("SELECT k WHERE x = 7 OR x IN (2)")["k"][:].tolist() == [0, 2]
    assert ds.query("SELECT x ORDER BY x")["x"][:].tolist() == [0, 2, 7]
    for htype in (dl.ClassLabel(multiple=True), dl.Sequence(dl.ClassLabel())):
        several = lake(htype, [[7, 0], []])
        assert [list(v) for v in several.to_pandas()["x"]] == [[7, 0], []]
        assert several.to_arrow()["x"].to_pylist() == [[7, 0], []]


@pytest.mark.parametrize(
    "wrap",
    [
        lambda names: (dl.ClassLabel(names), [0]),
        lambda names: (dl.ClassLabel(names, multiple=True), [[0]]),
        lambda names: (dl.Sequence(dl.ClassLabel(names)), [[0]]),
    ],
    ids=["one", "several", "sequence"],
)
@pytest.mark.parametrize(
    "query",
    [
        "SELECT x FROM A UNION ALL SELECT x FROM B",
        "SELECT x FROM B INTERSECT SELECT x FROM A",
        "SELECT A.k AS k FROM A JOIN B USING (x)",
        "SELECT COALESCE(A.x, B.x) AS x FROM A JOIN B ON A.k = B.k",
        "SELECT CASE WHEN A.k = 0 THEN B.x ELSE A.x END AS x FROM A JOIN B ON A.k = B.k",
    ],
)
def test_classes_without_names_cannot_be_combined_with_named_ones(wrap, query):
    sources = {"A": lake(*wrap([])), "B": lake(*wrap(["a", "b"]))}
    with pytest.raises(dl.errors.QueryTypeError, match="Classes with names"):
        dl.query(query, sources=sources)


LISTS = {
    "texts": (dl.Sequence("text"), [[], ["a"], ["a", "b"], [""]]),
    "json": (dl.Sequence(dl.Json()), [[], [1], [True], [1, "x"], [[1]], [{"a": 1}]]),
    "bytes": (dl.Sequence(dl.Bytes()), [[], [b"a"], [b"a", b"b"]]),
    "numbers": (dl.Sequence("float32"), [[], [1.0], [1.0, 2.0]]),
    "documents": ("json", [[], [1], [True], ["x"], {}, {"a": [1]}, "[]", 1]),
}


@pytest.mark.parametrize("form", ["HASH(x) = HASH($p)", "x IS NOT DISTINCT FROM $p"])
@pytest.mark.parametrize("name", LISTS)
def test_list_parameters_match_rows(make_lake, name, form):
    htype, values = LISTS[name]
    ds = make_lake({"id": "int32", "x": htype}, id=range(len(values)), x=values)
    for row, value in enumerate(values):
        assert ds.query(f"SELECT id WHERE {form}", {"p": value})["id"][:].tolist() == [row], value


@pytest.mark.parametrize(
    "type_",
    [
        lambda names: dl.ClassLabel(names, multiple=True),
        lambda names: dl.Sequence(dl.ClassLabel(names)),
        lambda names: dl.Sequence(dl.ClassLabel(names, nullable=True)),
    ],
    ids=["multiple", "sequence", "nullable items"],
)
def test_hashes_of_multiple_classes_are_those_of_their_names(type_):
    rows = [["c"], ["b"], [], ["c", "a"]]
    a = dl.create("memory://hash-a", {"l": type_(["b", "a", "c"]), "k": "int8"}, overwrite=True)
    a.append({"l": rows, "k": range(4)})
    b = dl.create("memory://hash-b", {"l": type_(["c", "a", "b"]), "k": "int8"}, overwrite=True)
    b.append({"l": rows[::-1], "k": [3, 2, 1, 0]})

    def ask(query, **params):
        return list(a.query(query, params, sources={"a": a, "b": b})["e"][:])

    joined = "SELECT a.k AS e FROM a JOIN b ON HASH(a.l) = HASH(b.l) WHERE a.k = b.k ORDER BY 1"
    assert ask(joined) == [0, 1, 2, 3]
    assert ask(joined.replace("a.k = b.k", "a.k <> b.k")) == []
    assert ask("SELECT k AS e WHERE HASH(l) IN (SELECT HASH(l) FROM b WHERE k = 3)") == [3]
    for names in (["c"], ["c", "a"]):
        expected = [row == names for row in rows]
        assert ask("SELECT HASH(l) = HASH($p) AS e ORDER BY k", p=names) == expected
        assert ask("SELECT HASH($p) = HASH(l) AS e ORDER BY k", p=names) == expected
        assert ask("SELECT HASH(l) IN (HASH($p)) AS e ORDER BY k", p=names) == expected
        assert ask(f"SELECT HASH(l) = HASH({names}) AS e ORDER BY k") == expected
