"""When two JSON values are the same."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeplake_lite.htypes import Json, Scalar
from deeplake_lite.htypes.json_values import canonical_json, same_json
from deeplake_lite.schema import Schema

# Python's == takes the values of each pair as equal.
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
def test_what_python_confuses_is_told_apart(a, b):
    assert a == b
    assert not same_json(a, b)
    assert not same_json(b, a)


@pytest.mark.parametrize(("a", "b"), ALIKE, ids=repr)
def test_numbers_are_the_same_by_value_and_objects_in_any_order(a, b):
    assert same_json(a, b)
    assert same_json(b, a)


@given(documents, documents)
def test_what_is_the_same_is_equal_and_a_query_takes_it_as_one_value(a, b):
    assert same_json(a, json.loads(json.dumps(a)))
    assert same_json(a, b) == same_json(b, a)
    if same_json(a, b):
        assert a == b
        assert canonical_json(a) == canonical_json(b)
    elif a == b:
        text = json.dumps([a, b])
        assert "true" in text or "false" in text or "-0.0" in text


@pytest.mark.parametrize(("a", "b"), UNLIKE, ids=repr)
def test_types_with_other_defaults_and_columns_with_other_notes_differ(a, b):
    types, schema = [Json(default={"v": v}) for v in (a, b)], Schema.build({"x": "int8"})
    assert types[0] != types[1]
    first, second = (schema.replace_metadata("x", {"k": v}) for v in (a, b))
    assert first != second
    assert first.compare(second).noted
    assert first.compare(first.replace_metadata("x", {"k": a})).noted == ()


@pytest.mark.parametrize(("a", "b"), ALIKE, ids=repr)
def test_equal_types_and_columns_have_one_hash(a, b):
    types = [Json(default={"v": v}) for v in (a, b)]
    assert types[0] == types[1]
    assert len(set(types)) == 1


def test_the_sign_of_a_zero_is_part_of_a_default():
    assert Scalar("float64", default=0.0) != Scalar("float64", default=-0.0)
