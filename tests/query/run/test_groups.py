"""A tensor expression over a group is computed once, however often it occurs."""

import itertools

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.query.tensors import groups, stacked

fresh = itertools.count()


@pytest.fixture(scope="module")
def ds():
    ds = dl.create(
        "memory://groups",
        {"kind": "int32", "emb": dl.Embedding(8), "vec": dl.Embedding(8, nullable=True)},
        overwrite=True,
    )
    emb = np.random.default_rng(0).normal(size=(90, 8)).astype("float32")
    vec = [None if i % 4 == 0 else row for i, row in enumerate(emb)]
    ds.append({"kind": np.arange(90) % 3, "emb": emb, "vec": vec})
    ds.commit("rows")
    return ds


@pytest.fixture
def centres(ds):
    return [ds["emb"][k::3].mean(axis=0) for k in range(3)]


JOINED = (
    "WITH c AS (SELECT kind, MEAN(emb) AS centre FROM dataset GROUP BY kind) "
    "SELECT a.kind AS k, c.kind AS other, L2_DISTANCE(a.emb, c.centre) AS d "
    "FROM dataset a JOIN c ON TRUE WHERE L2_DISTANCE(a.emb, c.centre) < 2.5 ORDER BY d"
)


def test_rows_compare_with_the_means_of_groups(ds, centres):
    emb = ds["emb"][:]
    expected = np.linalg.norm(emb[:, None] - np.stack(centres)[None], axis=2)
    result = ds.query(JOINED)["d"][:]
    np.testing.assert_allclose(result, np.sort(expected[expected < 2.5]), rtol=1e-5)


def test_joined_group_is_computed_once(ds, monkeypatch):
    computed, compute = [], groups._compute

    def counted(leaf, members, inner):
        computed.append(members.digest)
        return compute(leaf, members, inner)

    monkeypatch.setattr(groups, "_compute", counted)
    assert len(ds.query(JOINED)["d"][:]) > 3
    assert len(computed) == len(set(computed)) == 3


def test_large_values_are_not_cached(ds, centres, monkeypatch):
    monkeypatch.setattr(groups, "CACHED_BYTES", 8)
    result = ds.query("SELECT kind, MEAN(emb) AS m GROUP BY kind ORDER BY kind")["m"][:]
    np.testing.assert_allclose(result, centres, rtol=1e-6)


def test_nulls_and_excluded_rows_do_not_count(ds):
    result = ds.query(
        "SELECT kind, SUM(vec) AS s, MEAN(vec * 2) FILTER (WHERE kind > 0) AS m "
        "GROUP BY kind ORDER BY kind"
    )
    rows = [[v for v in ds["vec"][k::3].filled(np.nan) if not np.isnan(v).any()] for k in range(3)]
    np.testing.assert_allclose(result["s"][:], [np.sum(r, axis=0) for r in rows], rtol=1e-5)
    assert np.ma.getmaskarray(result["m"][:])[:, 0].tolist() == [True, False, False]
    np.testing.assert_allclose(result["m"][2], np.mean(rows[2], axis=0) * 2, rtol=1e-5)


NULLABLE = {
    "array": (dl.Array("int32", (2,), nullable=True), [[1, 1], [3, 3]]),
    "ragged": (dl.Array("int32", (None,), nullable=True), [[1], [1, 2]]),
    "image": (dl.Image(nullable=True), [np.zeros((2, 2, 3), "u1"), np.ones((3, 2, 3), "u1")]),
    "boxes": (dl.Boxes(nullable=True), [[[0, 0, 1, 1]], np.zeros((0, 4))]),
    "embedding": (dl.Embedding(2, nullable=True), [[1, 1], [2, 2]]),
    "numbers": (dl.Sequence("int32", nullable=True), [[1], [2, 3]]),
    "texts": (dl.Sequence("text", nullable=True), [["a"], []]),
    "labels": (dl.ClassLabel(["p", "q"], multiple=True, nullable=True), [["p"], ["q", "p"]]),
    "number": (dl.Scalar("int32", nullable=True), [1, 3]),
    "text": (dl.Text(nullable=True), ["a", ""]),
    "label": (dl.ClassLabel(["p", "q"], nullable=True), ["q", "p"]),
}


@pytest.fixture(scope="module", params=NULLABLE)
def with_nulls(request):
    """Three rows of a group, the second of which is null, and a group of nulls."""
    htype, (one, two) = NULLABLE[request.param]
    url = f"memory://nulls-{request.param}"
    ds = dl.create(url, {"k": "int32", "o": "int32", "x": htype}, overwrite=True)
    ds.append({"k": [0, 0, 0, 1], "o": [1, 9, 3, 4], "x": [one, None, two, None]})
    ds.commit("rows")
    return ds


def rows_of(view):
    """Return the values of r, in built-in types."""
    values = [view[i]["r"] for i in range(len(view))]
    return [np.array(v).tolist() if v is not None and np.ndim(v) else v for v in values]


def items_of(view):
    """Return the items of the lists in r."""
    return [None if v is None else [np.array(i).tolist() for i in v] for v in view["r"][:]]


@pytest.mark.parametrize("call", ["LIST(x)", "x", "ARRAY_AGG(x ORDER BY k)"])
def test_lists_keep_nulls(with_nulls, call):
    one, two = (np.array(with_nulls["x"][i]).tolist() for i in (0, 2))
    lists = with_nulls.query(f"SELECT {call} AS r, LEN(LIST(x)) AS n GROUP BY k ORDER BY k")
    assert items_of(lists) == [[one, None, two], [None]]
    assert lists["n"][:].tolist() == [3, 1]
    assert items_of(lists.materialize(f"memory://kept-lists-{next(fresh)}")) == items_of(lists)
    within = "FROM (SELECT k, LIST(x) AS x FROM dataset GROUP BY k) ORDER BY k"
    assert rows_of(with_nulls.query(f"SELECT x[1] AS r {within}")) == [None, None]
    assert rows_of(with_nulls.query(f"SELECT UNNEST(x) AS r {within}")) == [one, None, two, None]
    there = "SELECT LIST(x) FILTER (WHERE x IS NOT NULL) AS r GROUP BY k ORDER BY k"
    assert items_of(with_nulls.query(there)) == [[one, two], None]


@pytest.mark.parametrize(
    "call", ["ARG_MAX(x, o)", "MAX_BY(x, o)", "ARG_MIN(x, -o)", "MIN_BY(x, -o)"]
)
def test_maximum_is_searched_among_rows_with_a_value(with_nulls, call):
    two = rows_of(with_nulls.query("SELECT x AS r"))[2]
    assert rows_of(with_nulls.query(f"SELECT {call} AS r GROUP BY k ORDER BY k")) == [two, None]
    over = with_nulls.query(f"SELECT {call} OVER (PARTITION BY k) AS r ORDER BY k")
    assert rows_of(over) == [two, two, two, None]


def test_any_value_comes_from_a_row_that_has_one(with_nulls):
    one, _, two, _ = rows_of(with_nulls.query("SELECT x AS r"))
    some, none = rows_of(with_nulls.query("SELECT ANY_VALUE(x) AS r GROUP BY k ORDER BY k"))
    assert some in (one, two)
    assert none is None
    assert rows_of(with_nulls.query("SELECT ANY_VALUE(x) AS r WHERE o > 2 AND k = 0")) == [two]


def test_null_results_of_an_expression_are_skipped():
    ds = dl.create(
        "memory://null-expressions", {"o": "int32", "x": NULLABLE["array"][0]}, overwrite=True
    )
    ds.append({"o": [1, 9], "x": [[1, 1], None]})
    for call, value in [("ARG_MAX(x * 2, o)", [2, 2]), ("ANY_VALUE(x[1:])", [1]),
                        ("MAX_BY(ASUM(x), o)", 2)]:  # fmt: skip
        assert rows_of(ds.query(f"SELECT {call} AS r")) == [value]


@pytest.mark.parametrize(
    "call", ["LIST(x)[0:2]", "LIST(x) + 1", "ASUM(LIST(x * 2))", "SHAPE(LIST(x))"]
)
def test_list_with_nulls_is_not_an_array(call):
    ds = dl.create("memory://groups-null-items", {"x": NULLABLE["array"][0]}, overwrite=True)
    ds.append({"x": [[1, 1], None]})
    with pytest.raises(dl.QueryError, match="1 of 2 items is null"):
        ds.query(f"SELECT {call} AS r")["r"][:]


def test_lists_over_a_group_are_sliced(with_nulls):
    one, two = (with_nulls["x"][i] for i in (0, 2))
    for index in ("0:1", "1:2", ":", "5:"):
        text = f"SELECT k, LIST(x)[{index}] AS r WHERE x IS NOT NULL GROUP BY k"
        expected = [one, two][slice(*[int(p) if p else None for p in index.split(":")])]
        [result] = with_nulls.query(text)["r"][:]
        assert [np.array(v).tolist() for v in result] == [np.array(v).tolist() for v in expected]


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint64", "complex64"])
@pytest.mark.parametrize("shape", [(1,), (2,), (None,)])
@pytest.mark.parametrize("name", ["MEAN", "STD", "VAR", "MEDIAN", "SUM", "MIN", "MAX", "PROD"])
def test_null_row_changes_nothing(dtype, shape, name):
    rng = np.random.default_rng(0)
    size = shape[0] or 2
    rows = rng.integers(0, 100, (6, size)).astype(dtype)
    if dtype[0] == "f":
        rows[1], rows[2, 0], rows[3, 0] = np.finfo(dtype).max, np.inf, np.nan
    result = []
    for more in ([], [None]):
        htype = dl.Array(dtype, shape, nullable=bool(more))
        ds = dl.create("memory://a-null-more", {"k": "int8", "x": htype}, overwrite=True)
        ds.append({"k": [0, 0, 0, 1, 2, 2] + [0] * len(more), "x": [*rows, *more]})
        try:
            result.append(repr(ds.query(f"SELECT {name}(x) AS r GROUP BY k ORDER BY k")["r"][:]))
        except dl.QueryError as error:
            result.append(str(error))
    assert result[0] == result[1]


DTYPES = ["float16", "float32", "float64", "int8", "uint8", "int16", "uint16", "int32", "uint32",
          "int64", "uint64", "complex64", "complex128", "bool"]  # fmt: skip


@pytest.mark.parametrize("block", [7, 65_536])
@pytest.mark.parametrize("shape", [(2,), (None,)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_aggregates_of_many_rows_are_computed_in_wide_numbers(dtype, shape, block, monkeypatch):
    """5,000 rows around 20: their sum overflows float16, which cannot count beyond 2048."""
    monkeypatch.setattr(stacked, "BLOCK_ROWS", block)
    rng = np.random.default_rng(0)
    rows = np.stack([rng.integers(15, 26, 3000), rng.integers(0, 2, 3000)], axis=1).astype(dtype)
    ds = dl.create("memory://many-rows", {"k": "int8", "x": dl.Array(dtype, shape)}, overwrite=True)
    ds.append({"k": np.zeros(3000, "int8"), "x": list(rows)})
    names = ["MEAN", "SUM", "STD", "VAR", "MIN", "MAX"] + ["MEDIAN"] * (dtype[0] != "c")
    calls = ", ".join(f"{name}(x) AS {name}" for name in names)
    result = ds.query(f"SELECT {calls} GROUP BY k")
    exact = rows.astype("complex128" if dtype[0] == "c" else "float64")
    for name in names:
        expected = getattr(np, name.lower())(exact, axis=0)
        value = result[name][0]
        assert value.dtype == result.schema[name].htype.dtype
        with np.errstate(over="ignore"):
            expected = expected.astype(value.dtype)  # a sum may overflow float16: inf
        np.testing.assert_allclose(value, expected, rtol=2e-3 if dtype == "float16" else 1e-6)


@pytest.mark.parametrize("name", ["MEAN", "SUM", "STD", "VAR", "L1_NORM", "L2_NORM"])
def test_float16_sums_of_a_row_use_more_bits(name):
    row = np.tile(np.array([7, 9], "float16"), 2000)
    ds = dl.create("memory://halves", {"x": dl.Array("float16", (4000,))}, overwrite=True)
    ds.append({"x": [row]})
    exact = {"L1_NORM": lambda x: np.abs(x).sum(), "L2_NORM": np.linalg.norm}
    of = exact.get(name) or getattr(np, name.lower())
    np.testing.assert_allclose(
        ds.query(f"SELECT {name}(x) AS r")["r"][0], of(row.astype("f8")), 1e-3
    )


@pytest.mark.parametrize(
    ("item", "expected"),
    {
        "'q' || (SUBSTR(s, 1, 1) || s)": ["qaab", "qccd"],
        "(SUBSTR(s, 1, 1) || s) || (SUBSTR(s, 1, 1) || s)": ["aabaab", "ccdccd"],
        "((SUBSTR(s, 1, 1) || s) || (SUBSTR(s, 1, 1) || s)) || 'q'": ["aabaabq", "ccdccdq"],
        "(SUBSTR(s, 1, 1) || s) || NULLIF('ab', 'ab')": [None, None],
        "((SUBSTR(s, 1, 1) || s) || (SUBSTR(s, 1, 1) || s)) || NULLIF('ab', 'ab')": [None, None],
        "NULLIF('a', 'b') || (SUBSTR(s, 1, 1) || s) || 'q'": ["aaabq", "accdq"],
        "REPEAT(SUBSTR(s, 1, 1) || s, 2) || (SUBSTR(s, 1, 1) || s)": ["aabaabaab", "ccdccdccd"],
    }.items(),
)
@pytest.mark.parametrize("more", ["", ", SUBSTR(s, 1, 1) || s AS key"])
def test_group_keys_are_recognised_inside_longer_expressions(make_lake, item, expected, more):
    ds = make_lake({"s": "str"}, s=["ab", "cd", "ab"])
    result = ds.query(f"SELECT {item} AS x{more} GROUP BY (SUBSTR(s, 1, 1) || s)")
    assert [row["x"] for row in result] == expected
