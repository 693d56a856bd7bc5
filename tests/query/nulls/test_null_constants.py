"""A tensor combined with a null constant or parameter is null."""

from __future__ import annotations

from uuid import uuid4

import numpy as np
import pytest

import deeplake_lite as dl

COLUMNS = {
    "v": (dl.Array("float32", (3,)), np.ones((3, 3), "float32")),
    "b": (dl.Array("bool", (2,)), np.ones((3, 2), bool)),
    "r": (dl.Array("int16", (None,)), [[1], [], [2, 3]]),
    "t": (dl.Sequence("text"), [["None"], [], ["b", "c"]]),
    "c": (dl.ClassLabel(["a", "None"], multiple=True), [["a"], [], ["None"]]),
    "days": (dl.Array("datetime64[D]", (2,)), np.zeros((3, 2), "M8[D]")),
    "spans": (dl.Array("timedelta64[M]", (None,)), [np.ones(1, "m8[M]"), [], []]),
    "times": (
        dl.Sequence(dl.Scalar("datetime64[ns]", nullable=True)),
        [[np.datetime64(1, "ns"), None], [], [None]],
    ),
    "small": (dl.Scalar("int8"), np.arange(3)),
}
ARITHMETIC = ["{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} // {}", "{} % {}"]
COMPARED = ["{} = {}", "{} <> {}", "{} < {}", "{} >= {}"]
TAKE_NULL = [
    "CLIP(v, {}, 1)", "v BETWEEN {} AND 1", "CONTAINS(t, {})", "CONTAINS(days, {})",
    "CONTAINS(spans, {})", "CONTAINS(times, {})", "CONTAINS(['a'], {})", "ANY(['a', 'b'] = {})",
]  # fmt: skip
NULLS = {"NULL": [], "?": [None]}


@pytest.fixture(scope="module")
def ds():
    ds = dl.create(
        f"memory://{uuid4().hex}", {name: t for name, (t, _) in COLUMNS.items()}, overwrite=True
    )
    ds.append({name: values for name, (_, values) in COLUMNS.items()})
    return ds


@pytest.mark.parametrize("null", ["NULL", "?"])
@pytest.mark.parametrize("form", [*ARITHMETIC, *COMPARED])
@pytest.mark.parametrize("name", ["v", "r"])
def test_expression_with_a_null_constant_is_null(ds, name, form, null):
    for sides in ((name, null), (null, name)):
        column = ds.query(f"SELECT {form.format(*sides)} AS y", NULLS[null])["y"]
        assert column.htype.nullable
        assert all(value is None or np.ma.getmaskarray(value).all() for value in column[:])


@pytest.mark.parametrize("null", ["NULL", "?"])
@pytest.mark.parametrize("name", sorted({*COLUMNS} - {"small"}))
def test_no_row_is_equal_to_or_different_from_a_null_constant(ds, name, null):
    for form in ("ANY({} = {})", "NOT ANY({} = {})", "ANY({} <> {})", "ALL({} = {})"):
        result = ds.query(f"SELECT v WHERE {form.format(name, null)}", NULLS[null])
        assert len(result) == 0, form


@pytest.mark.parametrize("null", ["NULL", "?"])
@pytest.mark.parametrize("text", TAKE_NULL)
def test_functions_of_tensors_return_null_for_a_null_constant(ds, text, null):
    result = ds.query(f"SELECT {text.format(null)} AS y", NULLS[null])["y"][:]
    assert np.ma.getmaskarray(result).all()


@pytest.mark.parametrize("number", ["small", "-small", "CAST(1 AS TINYINT)", "LEN(v)"])
@pytest.mark.parametrize("form", ["{} = {}", "{} < {}", "CONTAINS({}, {})"])
@pytest.mark.parametrize("name", ["t", "days", "times", "['a', 'b']"])
def test_small_numbers_are_not_treated_as_null(ds, name, form, number):
    with pytest.raises(dl.QueryTypeError):
        ds.query(f"SELECT {form.format(name, number)} AS y")
