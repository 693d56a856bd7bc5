"""Types whose rows hold items: sequences and polygons."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeplake_lite.errors import InvalidValueError, SchemaError
from deeplake_lite.htypes import Array, ClassLabel, Nested, Polygons, Scalar, Sequence, Text
from deeplake_lite.testing.htypes import check_config, check_encode_decode, check_refuses

TRIANGLE = [[0, 0], [4, 0], [0, 3]]


@pytest.mark.parametrize(
    "htype",
    [
        Sequence(Text()),
        Sequence("int32"),
        Sequence(Array("float32", (None, 3)), nullable=True),
        Sequence(Sequence(ClassLabel(["a", "b"]))),
        Sequence(Text(nullable=True, default="x")),
        Polygons(),
    ],
)
def test_configurations_round_trip(htype):
    check_config(htype)


def test_items_may_be_any_type_specification():
    assert Sequence("int32") == Sequence(Scalar("int32")) == Sequence(np.int32)
    assert Sequence(str).layout == Nested(Text())
    with pytest.raises(SchemaError, match=r"There is no type 'texts'. Did you mean 'text'?"):
        Sequence("texts")


@given(st.lists(st.lists(st.text(max_size=3), max_size=3), min_size=1, max_size=4))
def test_sequences_of_strings_round_trip(rows):
    check_encode_decode(Sequence(Text()), rows)
    check_encode_decode(Sequence(Sequence(Text())), [rows, [], rows[:1]])


def test_sequences_of_arrays_and_nullable_items_round_trip():
    check_encode_decode(
        Sequence(Array("int8", (None, 2))), [[np.ones((3, 2), "int8"), [[1, 2]]], []]
    )
    check_encode_decode(Sequence("float32"), [np.arange(3.0), [1, 2], ()], [[0, 1, 2], [1, 2], []])
    check_encode_decode(Sequence(Text(nullable=True)), [["a", None], [None]])


@pytest.mark.parametrize(
    ("htype", "bad", "match"),
    [
        (Sequence(Text()), "abc", "must be a list of items, but it is str 'abc'. Put it in a list"),
        (Sequence(Text()), {"a": 1}, "must be a list of items, but it is dict"),
        (Sequence(Text()), ["a", 5], "item 1: must be text, but it is int 5"),
        (
            Sequence(Text()),
            ["a", None],
            r"item 1: must not be null.*Declare nullable items, dl\.Text\(nullable=True\)\.",
        ),
        (
            Sequence(Sequence("int8")),
            [[1], [2, 300]],
            "item 1: item 1: int8 holds .*the value is 300",
        ),
        (Polygons(), TRIANGLE, r"item 0: must have shape \(…, 2\), but it has \(2,\)"),
        (
            Polygons(),
            [TRIANGLE, TRIANGLE[:2]],
            "item 1: a polygon must have at least three corners, but it has 2",
        ),
        (Polygons(), [[[0, 0], [1, np.nan], [2, 2]]], "item 0: corner 1 must be finite, but it is"),
        (Polygons(), 5, "must be a list of items"),
    ],
)
def test_bad_items_are_reported_by_row_and_item(htype, bad, match):
    check_refuses(htype, bad, match)


def test_row_of_a_bad_item_is_found_after_empty_rows():
    with pytest.raises(InvalidValueError, match=r"^row 3: item 0: must be text"):
        Sequence(Text()).encode([["a", "b"], [], [], [5], []])


def test_polygons_round_trip():
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]], "float32")
    rows = [[TRIANGLE, square], [], np.stack([square, square])]
    check_encode_decode(Polygons(), rows)
    assert Polygons().preview([square]) == "1 polygon of 4 corners"
    assert Polygons().layout == Nested(Array("float32", (None, 2)))
