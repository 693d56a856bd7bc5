"""Functions and clauses that pick or gather whole lists return lists, as the column itself does."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryTypeError

ROWS = {
    "id": [0, 1, 2],
    "s": [[1.5, 2.5], [3.5], []],
    "t": [[4.5], [], [5.5, 6.5]],
    "n": [[0.5], None, [7.5, 8.5]],
}
PICKS = [
    ("COALESCE(n, s)", [[0.5], [3.5], [7.5, 8.5]]),
    ("IFNULL(n, s)", [[0.5], [3.5], [7.5, 8.5]]),
    ("COALESCE(n, [id, 9])", [[0.5], [1, 9], [7.5, 8.5]]),
    ("COALESCE(n, [9])", [[0.5], [9], [7.5, 8.5]]),
    ("COALESCE(n, [])", [[0.5], [], [7.5, 8.5]]),
    ("CASE WHEN id = 1 THEN s ELSE t END", [[4.5], [3.5], [5.5, 6.5]]),
    ("CASE WHEN id = 1 THEN s END", [None, [3.5], None]),
    ("IF(id = 1, s, t)", [[4.5], [3.5], [5.5, 6.5]]),
    ("(SELECT o.s FROM ds AS o WHERE o.id = 0)", [[1.5, 2.5]] * 3),
    ("(SELECT o.s FROM ds AS o WHERE o.id = ds.id)", ROWS["s"]),
    ("LAG(s) OVER (ORDER BY id)", [None, *ROWS["s"][:2]]),
    ("s[:]", ROWS["s"]),
    ("s[1:]", [[2.5], [], []]),
    ("s[s > 2]", [[2.5], [3.5], []]),
]


@pytest.fixture(scope="module")
def ds():
    types = {"id": "int64"} | {name: dl.Sequence("float32") for name in "st"}
    ds = dl.create("memory://lists", types | {"n": dl.Sequence("float32", nullable=True)})
    ds.append(ROWS)
    ds.commit("lists")
    return ds


def check_lists(column, expected, dtype="float32"):
    """Check that a column has lists of NumPy's numbers of one dtype, and which ones."""
    assert list(column[:]) == expected
    for row in column[:]:
        assert row is None or (type(row) is list and {v.dtype.name for v in row} <= {dtype})


@pytest.mark.parametrize(("text", "expected"), PICKS)
def test_picked_lists_are_lists(ds, text, expected):
    found = dl.query(f"SELECT {text} AS x FROM ds", sources={"ds": ds})["x"]
    check_lists(found, expected, "float64" if "[id" in text else "float32")


@pytest.mark.parametrize("outer", ["SELECT x FROM ({})", "SELECT x FROM ({}) WHERE x IS NOT NULL"])
@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("SELECT s AS x UNION ALL SELECT t", 6),
        ("SELECT s AS x UNION SELECT s", 3),
        ("SELECT s AS x EXCEPT SELECT t", 2),
        ("SELECT s AS x INTERSECT SELECT s", 3),
        ("SELECT FIRST(s) AS x GROUP BY id", 3),
    ],
)
def test_lists_of_several_queries_are_lists(ds, outer, text, count):
    for query in (text, outer.format(text)):
        found = ds.query(query)["x"]
        assert len(found) == count
        check_lists(found, list(found[:]))
        assert all(row in ROWS["s"] + ROWS["t"] for row in found[:])


def test_list_over_a_group_has_lists(ds):
    assert ds.query("SELECT LIST(s) AS x")["x"][0] == ROWS["s"]
    assert ds.query("SELECT LIST(COALESCE(n, s)) AS x")["x"][0] == [[0.5], [3.5], [7.5, 8.5]]
    assert ds.query("SELECT s AS x GROUP BY id > 0")["x"][1] == [[3.5], []]


@pytest.mark.parametrize(
    ("item", "values"),
    [
        ("bool", [[True, False], []]), ("uint8", [[1], [2, 3]]), ("float16", [[0.5], []]),
        ("complex64", [[1j], []]), ("datetime64[ns]", [[np.datetime64(1, "ns")], []]),
        (dl.ClassLabel(["a", "b"]), [[0, 1], []]), (dl.Embedding(2), [[[1, 2]], []]),
        (dl.Sequence("int32"), [[[1], []], []]), (dl.Text(), [["a", "b"], []]),
    ],
)  # fmt: skip
def test_picked_lists_have_the_items_of_the_column(item, values):
    ds = dl.create("memory://items", {"s": dl.Sequence(item)}, overwrite=True)
    ds.append({"s": values})
    ds.commit("items")
    stored = ds["s"][:]
    for text in (
        "SELECT COALESCE(s, s) AS x",
        "SELECT CASE WHEN TRUE THEN s END AS x",
        "SELECT s AS x UNION ALL SELECT s LIMIT 2",
        "SELECT UNNEST(LIST(s)) AS x",
        "SELECT x FROM (SELECT IFNULL(s, s) AS x)",
    ):
        assert repr(list(ds.query(text)["x"][:])) == repr(stored), text


def test_lists_of_two_dtypes_have_the_wider_one():
    types = {"a": dl.Sequence("float32", nullable=True), "b": dl.Sequence("float64")}
    ds = dl.create("memory://two-dtypes", types)
    ds.append({"a": [[0.5], None], "b": [[0.1], [0.2]]})
    ds.commit("rows")
    for text in ("COALESCE(a, b)", "IF(a IS NULL, b, a)"):
        check_lists(ds.query(f"SELECT {text} AS x")["x"], [[0.5], [0.2]], "float64")
    union = ds.query("SELECT a AS x UNION ALL SELECT b")["x"]
    check_lists(union, [[0.5], None, [0.1], [0.2]], "float64")
    union = ds.query("SELECT b AS x UNION ALL SELECT [1.5]")["x"]
    check_lists(union, [[0.1], [0.2], [1.5], [1.5]], "float64")


@pytest.mark.parametrize("text", ["s + t[:1]", "SORT(s)", "UNIQUE(s)", "CAST(s AS FLOAT)", "s * 2"])
def test_computed_lists_are_arrays(ds, text):
    for row in ds.query(f"SELECT {text} AS x WHERE LEN(t) = 1")["x"][:]:
        assert isinstance(row, np.ndarray)


def test_lists_mixed_with_arrays_are_arrays():
    types = {"v": dl.Array("float32", (None,)), "s": dl.Sequence("float32")}
    ds = dl.create("memory://mixed-lists", types)
    ds.append({"v": [[1, 2]], "s": [[3]]})
    ds.commit("rows")
    for text in ("COALESCE(v, s)", "COALESCE(s, v)", "CASE WHEN FALSE THEN v ELSE s END"):
        [row] = ds.query(f"SELECT {text} AS x")["x"][:]
        assert np.asarray(row).dtype == "float32"
        assert isinstance(row, np.ndarray)
    for row in ds.query("SELECT s AS x UNION ALL SELECT v")["x"][:]:
        assert isinstance(row, np.ndarray)


def test_nullif_of_lists_names_itself(ds):
    way = r"WHEN s IS NOT DISTINCT FROM t THEN NULL ELSE s END"
    with pytest.raises(QueryTypeError, match=rf"NULLIF compares one value per row.*{way}"):
        ds.query("SELECT NULLIF(s, t) AS x")
