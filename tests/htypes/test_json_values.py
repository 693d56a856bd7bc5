"""Equality of JSON values."""

import json
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deeplake_lite as dl
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes import Json, Scalar
from deeplake_lite.htypes.json_values import canonical_json, same_json
from deeplake_lite.schema import Schema

# Python's == calls the values of each pair equal.
UNLIKE = [
    (1, True),
    (0, False),
    (1.0, True),
    (0.0, -0.0),
    (0, -0.0),
    ([1], [True]),
    ({"q": 0}, {"q": False}),
    ({"q": [{"r": 1}]}, {"q": [{"r": True}]}),
]
ALIKE = [
    (1, 1.0),
    (0, 0.0),
    (-0.0, -0.0),
    (2**53, float(2**53)),
    ([True, None], [True, None]),
    ({"a": 1, "b": [2]}, {"b": [2.0], "a": 1}),
]
numbers = st.integers(-1, 1) | st.sampled_from([-1.0, -0.0, 0.0, 0.5, 1.0])
documents = st.recursive(
    st.none() | st.booleans() | numbers | st.text("a1", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab"), inner, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize(("a", "b"), UNLIKE, ids=repr)
def test_values_that_python_confuses_are_distinguished(a, b):
    assert a == b
    assert not same_json(a, b)
    assert not same_json(b, a)


@pytest.mark.parametrize(("a", "b"), ALIKE, ids=repr)
def test_numbers_are_equal_by_value_and_objects_in_any_order(a, b):
    assert same_json(a, b)
    assert same_json(b, a)


@given(documents, documents)
def test_equal_json_values_are_one_value_in_a_query(a, b):
    assert same_json(a, json.loads(json.dumps(a)))
    assert same_json(a, b) == same_json(b, a)
    if same_json(a, b):
        assert a == b
        assert canonical_json(a) == canonical_json(b)
    elif a == b:
        text = json.dumps([a, b])
        assert "true" in text or "false" in text or "-0.0" in text


@pytest.mark.parametrize(("a", "b"), UNLIKE, ids=repr)
def test_types_with_different_defaults_and_columns_with_different_metadata_differ(a, b):
    types, schema = [Json(default={"v": v}) for v in (a, b)], Schema.build({"x": "int8"})
    assert types[0] != types[1]
    first, second = (schema.replace_metadata("x", {"k": v}) for v in (a, b))
    assert first != second
    assert first.compare(second).metadata
    assert first.compare(first.replace_metadata("x", {"k": a})).metadata == ()


@pytest.mark.parametrize(("a", "b"), ALIKE, ids=repr)
def test_equal_types_and_columns_have_equal_hashes(a, b):
    types = [Json(default={"v": v}) for v in (a, b)]
    assert types[0] == types[1]
    assert len(set(types)) == 1


def test_sign_of_zero_is_part_of_a_default():
    assert Scalar("float64", default=0.0) != Scalar("float64", default=-0.0)


@pytest.mark.parametrize(
    "value",
    [
        {1: "a", "1": "b"},
        {True: 1, "true": 2},
        {None: 1, "null": 2},
        {"a": [({1.0: 1, "1.0": 2},)]},
        np.array([{1: "a", "1": "b"}], object),
    ],
    ids=str,
)
def test_keys_that_become_equal_strings_are_refused(value):
    ds = dl.create("memory://same-keys", {"x": "json"}, overwrite=True)
    with pytest.raises(dl.InvalidValueError, match=r"two keys of an object become the string '.*'"):
        ds.append([{"x": value}])
    with pytest.raises(dl.SchemaError, match="two keys of an object"):
        dl.Json(default=value)
    with pytest.raises(dl.LakeError, match=r"must be (JSON|unchanged by a conversion to JSON)"):
        ds.metadata["note"] = value
    if isinstance(value, dict):
        with pytest.raises(dl.LakeError, match=r"two keys of an object become the string '.*'"):
            ds.query("SELECT x WHERE x = $v", {"v": value})


def test_keys_that_are_different_strings_are_stored():
    ds = dl.create("memory://same-keys", {"x": "json"}, overwrite=True)
    ds.append([{"x": {1: "a", "2": "b", None: {2: 3}}}])
    assert ds["x"][0] == {"1": "a", "2": "b", "null": {"2": 3}}


LONG = np.finfo("longdouble").nmant > np.finfo("float64").nmant


@pytest.mark.skipif(not LONG, reason="longdouble is float64 here")
@pytest.mark.parametrize("wrap", [lambda v: v, lambda v: {"a": [v]}, lambda v: np.array([v])])
def test_longdouble_is_a_json_number_if_a_float_holds_it(wrap) -> None:
    with pytest.raises(dl.InvalidValueError, match="float64 would round the longdouble"):
        dl.Json().encode([wrap(np.longdouble("0.1"))])
    [text] = dl.Json().encode([wrap(np.longdouble("0.5"))]).buffers
    assert b"0.5" in text


# ---- decimals


@pytest.mark.parametrize(
    ("number", "expected"),
    [("1.50", 1.5), ("0.1", 0.1), ("-7", -7), ("12345678901234567890", 12345678901234567890)],
)
def test_decimals_within_json_become_numbers(number, expected):
    value = {"a": [Decimal(number)]}
    stored, zero = Json().decode_cells(Json().encode([value, {"b": Decimal(0)}]))
    assert stored == {"a": [expected]}
    assert type(stored["a"][0]) is type(expected)
    assert zero == {"b": 0}
    assert canonical_json(value) == canonical_json({"a": [expected]})


@pytest.mark.parametrize("number", ["12345678901234567.5", "1e400", "NaN", "Infinity"])
def test_decimals_that_json_lacks_are_refused(number):
    with pytest.raises(InvalidValueError, match="must be a JSON value"):
        Json().encode([{"a": Decimal(number)}])
