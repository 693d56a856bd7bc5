"""Functions and operators get the same arguments in UNION, INTERSECT and EXCEPT as elsewhere."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl

pytestmark = pytest.mark.usefixtures("registry")

LARGE = np.arange(3, dtype="u8") + 2**63
SMALL = ["bool", "int8", "int16", "int32", "uint8", "uint16", "uint32", "float16", "float32"]

COLUMNS = {
    "int64": ("int64", [2**60 + 1, -1, 2]),
    "uint64": ("uint64", LARGE),
    "float64": ("float64", [0.5, np.nan, 2]),
    **{name: (name, np.array([1, 0, 1], name)) for name in SMALL},
    "nullable": (dl.Scalar("uint8", nullable=True), [1, None, 200]),
    "time": ("datetime64[ns]", np.array([1, 2, 3], "M8[ns]")),
    "span": ("timedelta64[us]", np.array([1, 2, 3], "m8[us]")),
    "class": (dl.ClassLabel(["a", "b"]), [0, 1, 0]),
    "text": ("text", list("abc")),
    "bytes": (dl.Bytes(), [b"a", b"", b"\0"]),
    "json": (dl.Json(), [{"a": 1}, [1, None], 2.5]),
    "texts": (dl.Sequence("text"), [["a"], [], ["b", "c"]]),
    "vector": (dl.Array("uint8", (2,)), [[1, 2], [3, 4], [5, 6]]),
    "ragged": (dl.Array("int16", (None,)), [[1], [], [2, 3]]),
    "v": (dl.Array("uint64", (2,)), np.stack([LARGE, LARGE + 1], 1)),
    "f": (dl.Array("float64", (2,)), np.ones((3, 2))),
}

COMPUTED = {
    "a sum": "uint64 + 1",
    "a text": "UPPER(text)",
    "a choice": "CASE WHEN k > 0 THEN uint64 END",
    "no value": "NULLIF(k, k)",
    "a list": "[k, 1]",
    "a list of texts": "[text, 'x']",
    "a list of large numbers": "[uint64]",
    "a struct": "{'a': k, 'b': text}",
    "an item": "[text, 'x'][1]",
    "a date": "MAKE_DATE(2020, 1, 1 + CAST(k AS INT))",
    "a part": "vector[0]",
    "a slice": "ragged[:1]",
}

ARGUMENTS = {**{name: f'"{name}"' for name in COLUMNS}, **COMPUTED}

OPERATORS = [
    *(f"v {sign} uint64" for sign in ("=", "<>", "<", "<=", "+", "-", "*", "//", "%")),
    "v = uint64 + 1", "GREATEST(v, uint64)", "f * bool", "f + int8", "f = float64", "HASH(uint64)",
    "v[k % 2]",
]  # fmt: skip

SETS = {
    "union all": "SELECT k, {e} AS e FROM ds UNION ALL SELECT k, {e} AS e FROM ds WHERE k < 0",
    "union all, the other side": (
        "SELECT k, {e} AS e FROM ds WHERE k < 0 UNION ALL SELECT k, {e} AS e FROM ds"
    ),
    "union all of three": (
        "SELECT k, {e} AS e FROM ds WHERE k = 0 UNION ALL SELECT k, {e} AS e FROM ds WHERE k = 1 "
        "UNION ALL SELECT k, {e} AS e FROM ds WHERE k = 2"
    ),
    "union": "SELECT k, {e} AS e FROM ds UNION SELECT k, {e} AS e FROM ds",
    "intersect": "SELECT k, {e} AS e FROM ds INTERSECT SELECT k, {e} AS e FROM ds",
    "except": "SELECT k, {e} AS e FROM ds EXCEPT SELECT k, {e} AS e FROM ds WHERE k < 0",
    "except all": "SELECT k, {e} AS e FROM ds EXCEPT ALL SELECT k, {e} AS e FROM ds WHERE k < 0",
    "a subquery": (
        "SELECT e FROM (SELECT k, {e} AS e FROM ds UNION ALL SELECT k, {e} AS e FROM ds "
        "WHERE k < 0) ORDER BY k"
    ),
}


@pytest.fixture(scope="module")
def ds():
    kinds = {name: htype for name, (htype, _) in COLUMNS.items()}
    made = dl.create("memory://arguments-in-sets", {"k": "int64", **kinds}, overwrite=True)
    made.append({"k": range(3), **{name: values for name, (_, values) in COLUMNS.items()}})
    made.commit("rows")
    return made


def described(value):
    """Return a string that describes a value and its type."""
    if isinstance(value, list | tuple):
        return f"{type(value).__name__} of {[described(item) for item in value]}"
    if isinstance(value, np.ndarray) and value.dtype == object:
        return f"objects {[described(item) for item in value]}"
    dtype, shape = getattr(value, "dtype", ""), getattr(value, "shape", "")
    plain = value.tolist() if hasattr(value, "tolist") else value
    return f"{type(value).__name__} {dtype} {shape} {plain!r}"


def seen(*values):
    return " | ".join(map(described, values))


def seen_in_block(*values):
    """Return each row's values and their container."""
    kinds = [type(value).__name__ for value in values]
    rows = zip(*values, strict=True)
    return [f"{kinds} {seen(*row)}" for row in rows]


def read(ds, query):
    return [described(value) for value in ds.query(query)["e"][:]]


@pytest.mark.parametrize("name", ARGUMENTS)
def test_function_gets_the_same_arguments_in_set_operations(ds, name):
    dl.function(returns="text", name="seen")(seen)
    call = f"SEEN({ARGUMENTS[name]}, v)"
    expected = read(ds, f"SELECT {call} AS e")
    assert {how: read(ds, q.format(e=call)) for how, q in SETS.items()} == dict.fromkeys(
        SETS, expected
    )


@pytest.mark.parametrize("returns", ["int64", "text"])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_block_function_gets_the_same_arguments_in_set_operations(ds, name, returns):
    texts = []

    def note(*values):
        rows = seen_in_block(*values)
        texts.extend(rows)
        return [len(row) for row in rows] if returns == "int64" else rows

    def asked(query):
        texts.clear()
        ds.query(query)["e"][:]
        return set(texts)

    dl.function(returns=returns, per="block", name="note")(note)
    call = f"NOTE({ARGUMENTS[name]}, v)"
    expected = asked(f"SELECT {call} AS e")
    assert expected or name == "no value"
    assert {how: asked(q.format(e=call)) for how, q in SETS.items()} == dict.fromkeys(
        SETS, expected
    )


@pytest.mark.parametrize("operator", OPERATORS)
def test_operator_gives_the_same_results_in_set_operations(ds, operator):
    expected = read(ds, f"SELECT {operator} AS e")
    assert {how: read(ds, q.format(e=operator)) for how, q in SETS.items()} == dict.fromkeys(
        SETS, expected
    )


CHOICES = {
    **{how: query.format(e="vector") for how, query in SETS.items() if how != "a subquery"},
    "case": "SELECT k, CASE WHEN k > 0 THEN vector ELSE vector END AS e FROM ds",
    "case without else": "SELECT k, CASE WHEN k >= 0 THEN vector END AS e FROM ds",
    "coalesce": "SELECT k, COALESCE(vector, vector[:]) AS e FROM ds",
}


@pytest.mark.parametrize("how", CHOICES)
@pytest.mark.parametrize("per", ["row", "block"])
def test_tensor_combined_from_several_is_passed_like_that_of_a_column(ds, how, per):
    described = seen if per == "row" else seen_in_block
    dl.function(returns="text", per=per, name="seen")(described)
    result = ds.query(f"SELECT SEEN(e, k) AS e FROM ({CHOICES[how]}) ORDER BY k")
    assert result["e"][:] == ds.query("SELECT SEEN(vector, k) AS e")["e"][:]


def test_times_of_both_sides_keep_their_units(ds):
    dl.function(returns="text", name="seen")(seen)
    result = ds.query("SELECT SEEN(time) AS e UNION ALL SELECT SEEN(span) AS e FROM ds")["e"][:]
    assert result[:3] == ds.query("SELECT SEEN(time) AS e")["e"][:]
    assert result[3:] == ds.query("SELECT SEEN(span) AS e")["e"][:]
