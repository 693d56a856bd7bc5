"""Strings cast to floats: numbers beyond the range are errors, or null, and never infinity."""

from __future__ import annotations

import math

import pytest

import deeplake_lite as dl

TYPES = {
    "FLOAT": "1e39",
    "float32": "-1e39",
    "REAL": "3.5e38",
    "DOUBLE": "1e309",
    "float64": "-1e400",
}


@pytest.fixture
def query(make_lake):
    ds = make_lake({"s": dl.Text(), "j": dl.Json()}, s=["1.5"], j=["1e500"])
    ds.append({"s": ["1e500"], "j": [2.5]})
    return lambda text: ds.query(f"SELECT {text} AS x")["x"][:].tolist()


@pytest.mark.parametrize(("type_", "text"), TYPES.items())
def test_numbers_out_of_range_are_errors_in_cast(query, type_, text):
    for form in (
        f"CAST('{text}' AS {type_})",
        f"LIST_TRANSFORM(['{text}'], v -> CAST(v AS {type_}))",
    ):
        message = f"A number is out of range of {type_}: {text}. Use TRY_CAST or a wider type"
        with pytest.raises(dl.QueryTypeError, match=message):
            query(form)


@pytest.mark.parametrize(("type_", "text"), TYPES.items())
def test_numbers_out_of_range_are_null_in_try_cast(query, type_, text):
    assert query(f"TRY_CAST('{text}' AS {type_})") == [None, None]
    assert query(f"TRY_CAST(s AS {type_})") == [1.5, None]
    assert query(f"TRY_CAST(j AS {type_})") == [None, 2.5]


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("text", ["inf", "-Inf", " +infinity ", "Infinity"])
def test_strings_of_infinity_are_infinity(query, type_, text):
    assert query(f"CAST('{text}' AS {type_})") == [float(text)] * 2


@pytest.mark.parametrize("type_", TYPES)
def test_other_strings_are_their_number(query, type_):
    assert (
        query(f"CAST('1e-60' AS {type_})")
        == [0 if "32" in type_ or type_ in ("FLOAT", "REAL") else 1e-60] * 2
    )
    assert query(f"CAST(' 2.5 ' AS {type_})") == [2.5, 2.5]
    assert math.isnan(query(f"CAST('nan' AS {type_})")[0])
    with pytest.raises(dl.QueryTypeError, match="The string 'two' cannot be converted"):
        query(f"CAST('two' AS {type_})")
