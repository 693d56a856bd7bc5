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
}
ARITHMETIC = ["{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} // {}", "{} % {}"]
COMPARED = ["{} = {}", "{} <> {}", "{} < {}", "{} >= {}"]
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
@pytest.mark.parametrize("name", COLUMNS)
def test_no_row_is_equal_to_or_different_from_a_null_constant(ds, name, null):
    for form in ("ANY({} = {})", "NOT ANY({} = {})", "ANY({} <> {})", "ALL({} = {})"):
        found = ds.query(f"SELECT v WHERE {form.format(name, null)}", NULLS[null])
        assert len(found) == 0, form


@pytest.mark.parametrize("null", ["NULL", "?"])
@pytest.mark.parametrize("text", ["CLIP(v, {}, 1)", "v BETWEEN {} AND 1", "CONTAINS(t, {})"])
def test_functions_of_tensors_return_null_for_a_null_constant(ds, text, null):
    found = ds.query(f"SELECT {text.format(null)} AS y", NULLS[null])["y"][:]
    assert np.ma.getmaskarray(found).all()
