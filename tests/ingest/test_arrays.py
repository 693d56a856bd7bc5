"""Types inferred from rows of arrays neither change values nor misinterpret them."""

from decimal import Decimal
from itertools import count, permutations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

import deeplake_lite as dl

fresh = count()


def take(rows, **options):
    url = f"memory://arrays-found-{next(fresh)}"
    return dl.from_arrays({"x": rows}, url, progress=False, **options)["x"]


KINDS = {
    "bool": np.array([True]),
    "int64": np.array([1]),
    "float64": np.array([1.5]),
    "complex128": np.array([1j]),
    "timedelta64[D]": np.array([5], "m8[D]"),
    "datetime64[D]": np.array(["2020-01-01"], "M8[D]"),
    "str320": np.array(["a" * 10]),
}
NUMBERS = {"int64", "float64", "complex128"}
APART = [pair for pair in permutations(KINDS, 2) if not NUMBERS.issuperset(pair)]


@pytest.mark.parametrize("pair", APART, ids=" ".join)
@pytest.mark.parametrize("within", [False, True])
def test_arrays_of_mixed_kinds_have_no_type(pair, within):
    rows = [KINDS[name] for name in pair]
    with pytest.raises(dl.SchemaError, match="Column 'x': no column type can store"):
        take([rows] if within else rows)


def test_durations_without_a_common_unit_have_no_type():
    with pytest.raises(dl.SchemaError, match="no column type can store arrays of timedelta64"):
        take([np.array([1], "m8[Y]"), np.array([1], "m8[s]")])


@pytest.mark.parametrize("within", [False, True])
def test_time_out_of_range_of_the_finest_unit_is_refused(within):
    rows = [np.array(["9999"], "M8[Y]"), np.array([1], "M8[ns]")]
    with pytest.raises(
        dl.InvalidValueError, match=r"must fit datetime64\[ns\] exactly, but it is 9999"
    ):
        take([rows] if within else rows)


ROUND = 2**53 + 1
FORMS = {
    "lists": lambda v: [v],
    "arrays": lambda v: np.array([v]),
    "arrays without axes": np.array,
    "nested": lambda v: [np.array([v])],
    "tensors": lambda v: torch.tensor([v]),
    "tensors without axes": torch.tensor,
    "Arrow": lambda v: pa.array([v]),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("number", [ROUND, -ROUND, 2**62 + 1])
def test_integer_that_a_float_would_round_has_no_type_next_to_floats(form, number):
    rows = [FORMS[form](number), FORMS[form](0.5)]
    with pytest.raises(
        dl.SchemaError, match=rf"floats together with the integer {number}, because float64"
    ):
        take(rows)


@pytest.mark.parametrize("form", FORMS)
def test_integer_that_a_float_represents_becomes_a_float_next_to_floats(form):
    result = take([FORMS[form](2**53), FORMS[form](0.5)])
    assert [np.ravel(value).item() for value in result[:]] == [2**53, 0.5]


def test_unsigned_integer_that_a_complex_number_would_round_has_no_type():
    with pytest.raises(
        dl.SchemaError, match="no column type can store floats together with the integer"
    ):
        take([np.array([2**63 + 1], "u8"), np.array([1j])])


def test_integers_without_a_common_dtype_have_no_type():
    with pytest.raises(
        dl.SchemaError, match=f"no column type can store both integers -1 and {2**63 + 1}"
    ):
        take([np.array([2**63 + 1], "u8"), np.array([-1])])


@pytest.mark.parametrize("unsigned", [[], [5], [2**63 - 1]])
def test_signed_and_unsigned_integers_are_integers(unsigned):
    result = take([np.array(unsigned, "u8"), np.array([-1])])
    assert result.htype.dtype == "int64"
    assert [row.tolist() for row in result[:]] == [unsigned, [-1]]


@pytest.mark.skipif(np.finfo("longdouble").nmant < 63, reason="longdouble is float64 here")
@pytest.mark.parametrize("number", [np.longdouble(2**63) + 1, np.clongdouble(2**63) + 1])
def test_longdouble_that_a_float_would_round_has_no_type(number):
    with pytest.raises(dl.SchemaError, match=r"9\.?223372036854775809.*float64 would round"):
        take([number])
    assert take([type(number)(0.5)])[0] == 0.5


def test_varying_numbers_of_strings_are_sequences():
    result = take([np.array(["a"]), np.array(["bc", "d"])])
    assert result.htype == dl.Sequence(dl.Text())
    assert result[:] == [["a"], ["bc", "d"]]


@pytest.mark.parametrize(
    "rows", [[Decimal("NaN")], [[Decimal("0.1"), 0.1]], [Decimal(1), 2], [Decimal("0.1"), "a"]]
)
def test_decimals_have_no_type_and_the_error_suggests_one(rows):
    with pytest.raises(dl.SchemaError, match=r"Decimal.*float\(value\) rounds a Decimal"):
        take(rows)


COLUMNS = {
    "Arrow": lambda v: pa.array(v),
    "pandas": lambda v: pd.array(v, "Int64"),
    "polars": lambda v: pl.Series(v),
    "masked": lambda v: np.ma.masked_array([x or 0 for x in v], [x is None for x in v]),
    "list": list,
}


@pytest.mark.parametrize("form", COLUMNS)
@pytest.mark.parametrize("shape", [(2,), (None,), None, (1, 2), (None, 2)])
@pytest.mark.parametrize("dtype", ["float64", "int64"])
def test_null_in_an_array_is_refused_in_every_container(form, shape, dtype):
    row = COLUMNS[form]([1, None])
    rows = [[row] if shape and len(shape) == 2 else row]
    with pytest.raises(dl.InvalidValueError, match="Sequence"):
        take(rows, schema={"x": dl.Array(dtype, shape)})


@pytest.mark.parametrize("null", [np.ma.masked, np.ma.masked_all(2), np.ma.masked_all((2, 2))])
def test_fully_masked_value_makes_the_type_nullable(null):
    result = take([null, np.ones(null.shape)])
    assert result.htype.nullable
    assert [np.ma.getmaskarray(value).all() or value is None for value in result[:]] == [
        True,
        False,
    ]


@pytest.mark.parametrize("unit", ["ns", "s", "M", "Y"])
@pytest.mark.parametrize("beside", [1, 1.5, 1j, True])
def test_duration_is_not_a_number(unit, beside):
    row = [np.timedelta64(5, unit), beside]
    for values in (row, [row], [[row]], np.array(row, object)):
        with pytest.raises(dl.SchemaError, match="no column type can store"):
            dl.from_arrays({"x": values}, f"memory://{next(fresh)}", progress=False)
    for htype in ("int64", "float32", "complex128", "bool", dl.Embedding(2), dl.Sequence("float64"),
                  dl.Array("int64", (None,)), dl.Array("float32", (2,))):  # fmt: skip
        ds = dl.create(f"memory://{next(fresh)}", {"x": htype})
        for values in (row, np.array(row, object)):
            with pytest.raises(dl.InvalidValueError):
                ds.append({"x": values if isinstance(htype, str) else [values]})
        assert len(ds) == 0


@pytest.mark.parametrize(
    "values",
    [
        *([True, 2], [True, 2.5], [2, False], [[True], [2]], [np.True_, 2]),
        *([np.array([True]), np.array([2])], [np.array(True), np.array(2.5)]),
        [[np.array([True])], [np.array([2])]],
    ],
)
def test_booleans_next_to_numbers_have_no_type(values):
    with pytest.raises(dl.SchemaError, match="no column type can store"):
        dl.from_arrays({"x": values}, f"memory://{next(fresh)}", progress=False)
