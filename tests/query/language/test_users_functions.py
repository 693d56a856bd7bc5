"""Results of user functions reach every clause of a query unchanged, or raise our errors."""

from __future__ import annotations

import datetime as dt
import itertools

import numpy as np
import pytest

import deeplake_lite as dl

pytestmark = pytest.mark.usefixtures("registry")
fresh = itertools.count()


@pytest.fixture(scope="module")
def ds():
    made = dl.create(
        "memory://users-functions",
        {
            "k": "int64", "b": dl.Array("float32", (None,)), "e": dl.Embedding(2), "t": "text",
            "by": dl.Bytes(), "j": dl.Json(), "s": dl.Sequence("text"), "f": "float64",
        },
        overwrite=True,
    )  # fmt: skip
    made.append(
        {
            "k": range(4),
            "b": [[1.0] * i for i in range(4)],
            "e": np.ones((4, 2)),
            "t": list("abcd"),
            "by": [b"a\0"] * 4,
            "j": [[0, 1], [True, 2], ["a", {"b": None}], 2.5],
            "s": [["x"] * i for i in range(4)],
            "f": [0.5, 1.5, 2.5, 3.5],
        }
    )
    made.commit("rows")
    return made


RESULTS = {
    "numbers": ("int32", [0, 1, 2, 3]),
    "numbers or null": ("float64", [0.5, None, 2.5, None]),
    "truth": ("bool", [True, False, None, True]),
    "texts": ("str", ["a\0", "", None, "é"]),
    "bytes": (dl.Bytes(), [b"ab\0", b"", None, b"\xff"]),
    "json": ("object", [[0, 1], [1, "cat"], None, {"a": [True, 1.5]}]),
    "json of odd kinds": (dl.Json(), [0, "1", 2.5, True]),
    "json lists": ("object", [[], [0], [0, 1], [0, 1, 2]]),
    "large json numbers": ("object", [2**60 + 1, 0.5, [2**62 + 1, 0.5], 1]),
    "vectors": (("float32", (2,)), [[0, 1], [1, 2], [2, 3], [3, 4]]),
    "vectors or null": (("float32", (2,)), [[0, 1], None, [2, 3], None]),
    "lists of numbers": (("int32", (None,)), [[], [1], [1, 2], None]),
    "pictures": (dl.Array("uint8", None), [[[1, 2]], [1], None, [[[1]]]]),
    "boxes": (dl.Boxes(), [np.zeros((0, 4)).tolist(), [[0, 0, 1, 1]], None, [[0, 0, 1, 1]] * 2]),
    "classes": (dl.ClassLabel(["a", "b"]), [1, 0, None, 1]),
    "several classes": (dl.ClassLabel(["a", "b"], multiple=True), [[1, 0], [], None, [1]]),
    "lists of texts": (dl.Sequence("text"), [["a"], [], None, ["b", "c"]]),
    "moments": (
        "datetime64[us]",
        [dt.datetime(2020, 1, 2, 3), None, dt.datetime(1999, 1, 1), dt.datetime(2020, 1, 2)],
    ),
    "spans": ("timedelta64[us]", [dt.timedelta(seconds=s) for s in (0, 1, -5, 10**6)]),
}
CLAUSES = {
    "SELECT {} AS r ORDER BY k": lambda values: values,
    "SELECT {} AS r ORDER BY k DESC": lambda values: values[::-1],
    "SELECT r FROM (SELECT k, {} AS r FROM ds) ORDER BY k": lambda values: values,
    "SELECT CASE WHEN k < 99 THEN {} END AS r ORDER BY k": lambda values: values,
    "SELECT FIRST({}) AS r GROUP BY k ORDER BY k": lambda values: values,
    "SELECT LAG({}) OVER (ORDER BY k) AS r ORDER BY k": lambda values: [None, *values[:-1]],
    "SELECT {} AS r WHERE k < 3 ORDER BY k LIMIT 2": lambda values: values[:2],
    "SELECT {0} AS r WHERE {0} IS NOT NULL ORDER BY k": lambda values: [
        v for v in values if v is not None
    ],
}


def plain(value):
    """Return a value in built-in types."""
    if value is None or value is np.ma.masked:
        return None
    if np.ma.isMaskedArray(value) and value.mask.all():
        return None
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.datetime64 | np.timedelta64):
        return value.astype("M8[us]" if value.dtype.kind == "M" else "m8[us]").item()
    if isinstance(value, np.generic):
        return value.item()
    return value


def of_argument(argument):
    """Return which of four rows an argument belongs to."""
    return {
        "k": int, "f": int, "t": "abcd".index, "b": len, "s": len,
    }[argument]  # fmt: skip


@pytest.mark.parametrize("kind", RESULTS)
@pytest.mark.parametrize("argument", ["k", "f", "t", "b", "s"])
@pytest.mark.parametrize("per", ["row", "block"])
def test_result_is_returned_unchanged(ds, kind, argument, per):
    returns, values = RESULTS[kind]
    row = of_argument(argument)

    def given(x):
        return values[row(x)]

    function = given if per == "row" else lambda xs: [given(x) for x in xs]
    dl.function(returns=returns, per=per, name="given")(function)
    for clause, expected in CLAUSES.items():
        text = clause.format(f"GIVEN({argument})")
        if "IS NOT NULL" in text and np.ndim(values[0]) and kind not in ("json", "json lists"):
            continue  # IS NULL only accepts computed scalars
        result = [plain(v) for v in ds.query(text)["r"][:]]
        assert result == expected(values), text
        assert [*map(type, result)] == [*map(type, expected(values))], text


JSON = {name: values for name, (_, values) in RESULTS.items() if "json" in name}


@pytest.mark.parametrize("kind", JSON)
def test_json_is_compared_and_grouped_unchanged(ds, kind):
    values = JSON[kind]
    dl.function(returns="object", name="given")(lambda k: values[k])
    different = [v for i, v in enumerate(values) if v not in values[:i]]
    assert len(ds.query("SELECT DISTINCT GIVEN(k) AS r")) == len(different)
    groups = ds.query("SELECT GIVEN(k) AS r, COUNT(*) AS n GROUP BY GIVEN(k)")
    assert len(groups) == len(different)
    for row, value in enumerate(values):
        result = ds.query(f"SELECT k WHERE GIVEN(k) = GIVEN({row})")["k"][:].tolist()
        assert result == ([row] if value is not None else [])
        lengths = ds.query(f"SELECT LEN(GIVEN(k)) AS n WHERE k = {row}")["n"][:].tolist()
        assert lengths == [len(value) if isinstance(value, list | dict | str) else None]
    result = ds.query("SELECT LIST(GIVEN(k) ORDER BY k) AS r")["r"][0]
    assert [*result] == values
    kept = ds.query("SELECT GIVEN(k) AS r ORDER BY k").materialize(
        f"memory://kept-json-{next(fresh)}"
    )
    assert kept["r"][:] == values


def test_json_passes_through_a_function_unchanged(ds):
    dl.function(returns="object", name="same")(lambda j: j)
    assert ds.query("SELECT SAME(j) AS r")["r"][:] == ds["j"][:]
    assert ds.query("SELECT SAME(j)[0] AS r")["r"][:] == ds.query("SELECT j[0] AS r")["r"][:]


@pytest.mark.parametrize(
    ("returns", "value", "match"),
    [
        ("datetime64[D]", np.datetime64("2020-01-02T03", "us"), "out of its range"),
        ("datetime64[us]", 5, "it returned int64"),
        (dl.ClassLabel(["a", "b"]), "c", "one of 2 classes, but it is 'c'"),
        (dl.Bytes(), "text", "must return bytes, but it returned str"),
        ("object", float("nan"), "must be a JSON value, but it is float nan"),
        ("object", {1, 2}, "must return JSON"),
        (("float32", (3,)), np.ma.array([1, 2, 3], mask=[0, 1, 0]), "a partly masked array"),
        (("float32", (3,)), [], r"must return float32 \(3,\)"),
    ],
)
def test_unfitting_result_is_refused(ds, returns, value, match):
    dl.function(returns=returns, name="given")(lambda k: value)  # noqa: ARG005
    with pytest.raises(dl.QueryError, match=match):
        ds.query("SELECT GIVEN(k) AS r")["r"][:]


def test_masked_json_is_null(ds):
    dl.function(returns="object", name="given")(lambda k: np.ma.array([k, 2], mask=[0, 1]))
    assert ds.query("SELECT GIVEN(k) AS r")["r"][:] == [[k, None] for k in range(4)]


def test_lists_of_integers_reach_a_function_exactly():
    ds = dl.create("memory://exact-lists", {"k": "int64", "n": dl.Scalar("int8", nullable=True)})
    ds.append({"k": [2**53 + 1, 2**53 + 2, 2**53 + 3], "n": [1, None, 3]})
    dl.function(returns="int64", name="top")(lambda x: int(x.max()))
    for text in ("TOP(LIST(k))", "MAX(TOP([k, 1]))", "MAX(TOP([k]))"):
        assert ds.query(f"SELECT {text} AS r")["r"][:].tolist() == [2**53 + 3]
    for text in ("TOP(LIST(n))", "TOP([n, 1])", "AMAX(LIST(n))", "AMEAN([n, 1])"):
        with pytest.raises(dl.QueryError, match="null"):
            ds.query(f"SELECT {text} AS r")["r"][:]
    there = "SELECT TOP(LIST(n) FILTER (WHERE n IS NOT NULL)) AS r"
    assert ds.query(there)["r"][:].tolist() == [3]


@pytest.fixture
def counting():
    """Register a function of any number of arguments that sums them, per row and per block."""

    def total(*args):
        return sum(float(np.sum(a)) for a in args)

    def totals(*args):
        rows = next(len(a) for a in args if isinstance(a, np.ndarray) and len(a) == 4)
        parts = [a if isinstance(a, np.ndarray) and len(a) == rows else [a] * rows for a in args]
        return [total(*row) for row in zip(*parts, strict=True)]

    dl.function(returns="float64", name="nothing")(lambda x: None)  # noqa: ARG005
    dl.function(returns="float64", name="total")(total)
    dl.function(returns="float64", name="totals", per="block")(totals)


NULLS = [
    "[1, 2], NULL, k", "NULL, [1, 2], k", "k, [1, 2], NULL", "e, [1, 2], NULL", "$p, NULL, f",
    "$n, k", "[[1, 2, 3]], b, NULL", "NOTHING(1), k", "[1, 2], NOTHING([1, 2]), k",
]  # fmt: skip


@pytest.mark.usefixtures("counting")
@pytest.mark.parametrize("name", ["TOTAL", "TOTALS"])
@pytest.mark.parametrize("args", NULLS)
def test_null_among_the_constants_makes_every_row_null(ds, name, args):
    values = {"p": np.arange(7.0), "n": None}
    params = {k: v for k, v in values.items() if f"${k}" in args}
    result = ds.query(f"SELECT k, {name}({args}) AS r", params)
    assert np.ma.getmaskarray(result["r"][:]).tolist() == [True] * 4
    assert [row["r"] for row in result] == [None] * 4
    assert len(ds.query(f"SELECT k WHERE {name}({args}) > 0", params)) == 0
    assert len(ds.query(f"SELECT k WHERE {name}({args}) IS NULL", params)) == 4
    assert ds.query(f"SELECT k ORDER BY {name}({args}), k", params)["k"][:].tolist() == [0, 1, 2, 3]


CONSTANTS = {
    "$p / 2": [0.5, 1], "-$p": [-1, -2], "$p[::-1]": [2, 1], "SUM([1, 2])": 3, "1 + 1": 2,
    "$p * [1, 2] + 1": [2, 5], "$p[1]": 2, "TOTAL(1, 2)": 3, "SORT($p)": [1, 2],
    "SHAPE($p)": [2],
    "RESHAPE($p, [2, 1])": [1, 2],
}  # fmt: skip
"""Computed constants, and their values."""


@pytest.mark.usefixtures("counting")
@pytest.mark.parametrize("call", ["{name}(e, {c})", "{name}({c}, k)", "{name}(k, {c}, f)"])
@pytest.mark.parametrize("name", ["TOTAL", "TOTALS"])
@pytest.mark.parametrize("constant", CONSTANTS)
def test_computed_constant_is_passed_as_a_constant(ds, name, call, constant):
    params = {"p": np.array([1.0, 2.0])} if "$p" in constant else {}
    text = call.format(name=name, c=constant)
    written = call.format(name=name, c=CONSTANTS[constant])
    result = ds.query(f"SELECT {text} AS r", params)["r"][:]
    np.testing.assert_array_equal(result, ds.query(f"SELECT {written} AS r")["r"][:])
    np.testing.assert_array_equal(
        ds.query(f"SELECT k WHERE {text} > 3", params)["k"][:],
        ds.query(f"SELECT k WHERE {written} > 3")["k"][:],
    )


@pytest.mark.usefixtures("counting")
def test_list_that_varies_by_row_is_an_array(ds):
    given = {"p": np.array([1.0, 2.0])}
    result = ds.query("SELECT TOTAL(k, CASE WHEN k > 1 THEN $p ELSE [0, 0] END) AS r", given)
    assert result["r"][:].tolist() == [0, 1, 5, 6]


def test_block_function_gets_computed_constants_without_a_row_axis(ds):
    seen = []
    given = dl.function(returns="int64", name="given", per="block")
    given(lambda k, c: seen.append(c) or list(k))
    for constant in ("[1, 2, 3]", "-[-1, -2, -3]", "SORT([3, 2, 1])"):
        ds.query(f"SELECT GIVEN(k, {constant}) AS r")["r"][:]
    assert [np.asarray(c).tolist() for c in seen] == [[1, 2, 3]] * 3


def own_buffer(returns, dtype, shape):
    """Return a function that returns the same array for every row, with different numbers in it."""
    buffer = np.zeros(shape, dtype)

    def give(k):
        buffer[...] = k
        return [buffer, buffer] if isinstance(returns, dl.Sequence) else buffer

    return give


BUFFERS = {
    "number": ("int32", "int32", ()),
    "number of another dtype": ("float64", "int32", ()),
    "vector": (("float32", (2,)), "float32", (2,)),
    "vector of another dtype": (("float32", (2,)), "int16", (2,)),
    "list": (("int64", (None,)), "int64", (3,)),
    "picture": (dl.Image("png"), "uint8", (2, 2, 3)),
    "boxes": (dl.Boxes(), "float32", (1, 4)),
    "several classes": (dl.ClassLabel(list("abcd"), multiple=True), "int64", (1,)),
    "arrays in a list": (dl.Sequence(dl.Array("int32", (None,))), "int32", (2,)),
    "numbers in a list": (dl.Sequence("int32"), "int32", ()),
    "moment": ("datetime64[s]", "datetime64[s]", ()),
}


@pytest.mark.parametrize("per", ["row", "block"])
@pytest.mark.parametrize("kind", BUFFERS)
def test_result_does_not_change_when_its_array_is_overwritten(ds, kind, per):
    returns, dtype, shape = BUFFERS[kind]
    give = own_buffer(returns, dtype, shape)
    kept = []

    def blocks(k):
        if not kept or len(kept[0]) != len(k):
            kept[:] = [np.zeros((len(k), *shape), dtype)]
        kept[0][...] = np.reshape(k, (-1, *[1] * len(shape)))
        return [[v, v] for v in kept[0]] if isinstance(returns, dl.Sequence) else kept[0]

    dl.function(returns=returns, name="given", per=per)(give if per == "row" else blocks)
    expected = [np.array(own_buffer(returns, dtype, shape)(k)).tolist() for k in range(4)]
    view = ds.query("SELECT k, GIVEN(k) AS r")
    as_lists = lambda values: [np.array(v).tolist() for v in values]  # noqa: E731
    assert as_lists(view["r"][:]) == expected
    assert as_lists([row["r"] for row in view]) == expected
    held = [view["r"][i] for i in range(4)]
    assert as_lists(held) == expected
    batches = [v for batch in view.batches(3) for v in batch["r"]]
    assert as_lists(batches) == expected
    if kind == "vector":
        assert ds.query("SELECT k WHERE GIVEN(k)[0] > 1")["k"][:].tolist() == [2, 3]
        assert ds.query("SELECT k ORDER BY GIVEN(k)[1] DESC")["k"][:].tolist() == [3, 2, 1, 0]
    groups = ds.query("SELECT LIST(GIVEN(k)) AS r GROUP BY 1 = 1")["r"][0]
    assert as_lists(groups) == expected


@pytest.mark.parametrize("kind", ["list", "dict"])
def test_json_does_not_change_when_its_object_does(ds, kind):
    mine = [] if kind == "list" else {}

    def grow(k):
        mine.append(int(k)) if kind == "list" else mine.update({str(k): {"at": int(k)}})
        return mine

    dl.function(returns="object", name="given")(grow)
    assert [len(v) for v in ds.query("SELECT GIVEN(k) AS r")["r"][:]] == [1, 2, 3, 4]


WRONG = {
    "half a pair": ("str", "a\ud800", "a lone surrogate at position 1"),
    "half a pair in a text": (dl.Text(), "\ud800", "a lone surrogate at position 0"),
    "a number": (dl.Image("png"), 1, r"returned an array of shape \(\)"),
    "a scalar": (dl.Image("png"), np.int8(1), r"returned an array of shape \(\)"),
    "a line": (dl.Image("png"), [1, 2], r"returned an array of shape \(2,\)"),
    "four axes": (dl.Image("png"), np.zeros((1, 2, 2, 3), "u1"), "returned an array of shape"),
    "points": (dl.Keypoints(["a", "b"]), np.zeros((1, 1, 3)), "returned an array of shape"),
    "no class": (dl.ClassLabel(["a", "b"]), 2, "a class number must be 0 to 1, but it is 2"),
    "a class below": (dl.ClassLabel(["a", "b"]), -1, "a class number must be 0 to 1, but it is -1"),
    "none of several": (dl.ClassLabel(["a", "b"], multiple=True), [0, 5], "0 to 1, but it is 5"),
    "below several": (dl.ClassLabel(["a", "b"], multiple=True), [-1], "0 to 1, but it is -1"),
}


@pytest.mark.parametrize("per", ["row", "block"])
@pytest.mark.parametrize("kind", WRONG)
def test_error_for_a_result_that_the_htype_cannot_hold_names_the_function(ds, kind, per):
    returns, value, match = WRONG[kind]
    give = (lambda k: value) if per == "row" else (lambda k: [value] * len(k))  # noqa: ARG005
    dl.function(returns=returns, name="given", per=per)(give)
    refused = pytest.raises((dl.InvalidValueError, dl.QueryTypeError))  # or has no such conditions
    clauses = [
        "k AS r WHERE LEN(GIVEN(k)) > 0", "k AS r WHERE GIVEN(k) = 'a'", "HASH(GIVEN(b)) AS r",
        "k AS r ORDER BY GIVEN(k)", "GIVEN(k) AS r GROUP BY GIVEN(k)",
    ]  # fmt: skip
    for text in clauses:
        with refused:
            ds.query(f"SELECT {text}")["r"][:]
    with pytest.raises(dl.InvalidValueError, match=f"GIVEN must return .*{match}"):
        ds.query("SELECT GIVEN(k) AS r")["r"][:]


class Untellable(Exception):
    """An error whose message raises an error itself."""

    def __str__(self):
        raise RuntimeError("no message")


class Unprintable(Exception):
    """An error whose message no terminal can print."""

    def __str__(self):
        return "half \ud800"


@pytest.mark.parametrize("error", [Untellable, Unprintable])
@pytest.mark.parametrize(
    "text", ["BOOM(k) AS r", "k AS r WHERE BOOM(k) > 0", "k AS r ORDER BY BOOM(b)"]
)
@pytest.mark.parametrize("per", ["row", "block"])
def test_error_with_a_bad_message_is_reported(ds, error, text, per):
    def boom(k):  # noqa: ARG001
        raise error

    dl.function(returns="int32", per=per)(boom)
    with pytest.raises(dl.QueryError, match=f"BOOM failed.*: {error.__name__}: ") as caught:
        ds.query(f"SELECT {text}")["r"][:]
    str(caught.value).encode()
    assert isinstance(caught.value.__cause__, error)


@pytest.mark.parametrize("of", ["k", "b"])
def test_lists_of_lists_of_different_lengths_are_passed_as_lists(ds, of):
    dl.function(returns="int64", name="total")(lambda x, _: sum(map(sum, x)))
    for lists in ("[[1, 2], [3]]", "$p", "[[k, 6 - k], []]"):
        params = {"p": [[1], [2, 3]]} if lists == "$p" else {}
        result = ds.query(f"SELECT TOTAL({lists}, {of}) AS x", params)
        assert result["x"][:].tolist() == [6] * 4


def write_into(value):
    """Change a value and everything in it."""
    if isinstance(value, dict):
        parts = list(value.values())
        value["new"] = 0
    elif isinstance(value, np.ndarray) and not value.dtype.hasobject:
        value[...] = 0
        parts = []
    else:
        parts = list(value) if isinstance(value, list | tuple | np.ndarray) else []
    for part in parts:
        write_into(part)
    if isinstance(value, list):
        value.append(0)


def note_and_write(value):
    noted = repr(value)
    write_into(value)
    return noted


def note_and_write_all(values, _):
    noted = list(map(repr, values))
    write_into(values)
    return noted


MUTABLE = {
    "an array": "e", "arrays": "b", "json": "j", "a sequence": "s", "a struct": "{'k': k}",
    "a struct of a list": "{'k': [k]}", "a map": "MAP([k], [[k]])", "a list": "[k, 1]",
    "a list of lists": "[[k, 1], [2]]", "a list of structs": "[{'k': k}]",
    "the first struct": "FIRST({'k': k})", "structs of a group": "LIST({'k': k})",
    "json of a group": "LIST(j)", "sequences of a group": "LIST(s)", "arrays of a group": "LIST(b)",
    "json of sql": "TO_JSON({'k': [k]})", "a choice": "CASE WHEN k > 1 THEN {'k': k} END",
}  # fmt: skip
MUTABLE_PARAMETERS = {
    "a dict": {"a": [1, {"b": 2}]}, "a list": ["a", "b"], "lists": [[1], [2, 3]],
    "an array": np.ones(3), "dicts": [{"a": 1}],
}  # fmt: skip


@pytest.mark.parametrize("name", MUTABLE)
def test_writes_of_a_function_into_its_arguments_change_nothing(ds, name):
    dl.function(returns="text", name="by_row")(note_and_write)
    dl.function(returns="text", per="block", name="by_block")(note_and_write_all)
    x = MUTABLE[name]
    query = f"SELECT k, BY_ROW({x}) AS r, BY_BLOCK({x}, k) AS l, BY_ROW({x}) AS again, {x} AS x"
    view = ds.query(f"{query} GROUP BY k ORDER BY k" if " group" in name or "FIRST" in x else query)
    before, first = list(map(str, view["x"][:])), view["r"][:]
    assert view["r"][:] == view["again"][:] == first
    assert view["l"][:] == view["l"][:]
    assert list(map(str, view["x"][:])) == before


@pytest.mark.parametrize("name", MUTABLE_PARAMETERS)
def test_writes_of_a_function_into_a_parameter_change_nothing(ds, name):
    dl.function(returns="text", name="by_row")(note_and_write)
    dl.function(returns="text", per="block", name="by_block")(
        lambda value, k: [note_and_write(value)] * len(k)
    )
    value = MUTABLE_PARAMETERS[name]
    before = repr(value)
    view = ds.query(
        "SELECT k, BY_ROW($p) AS r, BY_BLOCK($p, k) AS l, BY_ROW($p) AS again", {"p": value}
    )
    first = view["r"][:]
    assert len(set(first)) == 1
    for column in ("r", "l", "again"):
        assert view[column][:] == first
    assert repr(value) == before
