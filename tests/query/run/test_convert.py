"""Conversion of numbers, nulls and strings between SQL and NumPy, and errors for the rest."""

import numpy as np
import pyarrow as pa
import pytest

import deeplake_lite as dl
from deeplake_lite.query.database.convert import as_arrow, from_arrow
from deeplake_lite.query.registering import unregister


@pytest.mark.parametrize(
    ("values", "dtype", "expected"),
    [
        (np.array([1, 2], "uint8"), "uint8", pa.array([1, 2], pa.uint8())),
        (np.ma.MaskedArray([1.5, 0], [False, True]), "float64", pa.array([1.5, None])),
        (np.array([0.5, 2], "float16"), "float16", pa.array([0.5, 2], pa.float32())),
        ([np.float16(0.5), None], "float16", pa.array([0.5, None], pa.float32())),
        ([np.bool_(True), np.ma.masked], "bool", pa.array([True, None])),
        (["a", None], "str", pa.array(["a", None])),
        (
            [{"a": np.float32(1)}, "b", None, [True]],
            "object",
            pa.array(['{"a":1.0}', '"b"', None, "[true]"]),
        ),
    ],
)
def test_computed_scalars_are_converted_to_sql(values, dtype, expected):
    assert as_arrow(values, dtype).equals(expected)


@pytest.mark.parametrize(
    "values", [[1, 2], [1.5, None], [True, False], ["a", None], [[1], None], [None, None]]
)
def test_duckdb_columns_are_converted_to_numpy(values):
    for column in (pa.array(values), pa.chunked_array([values[:1], values[1:]])):
        result = from_arrow(column.cast(pa.int64()) if values == [None, None] else column)
        assert [None if v is np.ma.masked else v for v in result] == values


@pytest.fixture
def ds(make_lake):
    return make_lake(
        {"h": "float16", "c": "complex64", "v": dl.Array("float32", (None,))},
        h=[3, 1, 2],
        c=[1, 2j, 3],
        v=[[1], [2, 2], []],
    )


def test_float16_is_compared_sorted_and_summed(ds):
    assert ds.query("SELECT h WHERE h > 1 ORDER BY h")["h"][:].tolist() == [2, 3]
    assert ds.query("SELECT SUM(h) AS s")["s"][0] == 6
    assert ds.query("SELECT h WHERE h * 2 IN (2, 4)")["h"][:].tolist() == [1, 2]


def test_complex_numbers_are_returned_as_in_numpy(ds):
    result = ds.query("SELECT ABS(c) AS a, c * 2 - 1 AS b, -c AS n WHERE c = c")
    np.testing.assert_allclose(result["a"][:], np.abs(ds["c"][:]))
    np.testing.assert_allclose(result["b"][:], ds["c"][:] * 2 - 1)
    np.testing.assert_allclose(result["n"][:], -ds["c"][:])


def test_complex_numbers_can_be_grouped_but_not_sorted(ds):
    assert len(ds.query("SELECT c, COUNT(*) AS n GROUP BY c")) == 3
    with pytest.raises(dl.QueryTypeError, match=r"real numbers.*c is complex64.*compare HASH\(c\)"):
        ds.query("SELECT h ORDER BY c")


def test_json_returned_by_a_function_is_json_in_sql(ds):
    dl.function(returns="json", name="about")(lambda v: {"size": len(v)} if len(v) else None)
    dl.function(returns="json", name="both")(lambda v, w: [len(v), len(w)])
    try:
        result = ds.query("SELECT h WHERE ABOUT(v) IS NOT NULL AND ABOUT(v) LIKE '%:2}'")
        assert result["h"][:].tolist() == [1]
        joined = ds.query("SELECT a.h FROM ds AS a JOIN ds AS b ON BOTH(a.v, b.v) LIKE '[2,0]'")
        assert joined["h"][:].tolist() == [1]
    finally:
        unregister("about")
        unregister("both")
