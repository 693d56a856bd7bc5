"""Types whose cells are strings or bytes."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeplake_lite.errors import DamagedError
from deeplake_lite.htypes import Bytes, Json, Text
from deeplake_lite.testing.htypes import check_config, check_encode_decode, check_refuses

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.lists(st.text(), min_size=1))
def test_strings_round_trip(texts):
    check_config(Text())
    check_encode_decode(Text(), texts)


def test_strings_may_come_in_arrays():
    check_encode_decode(Text(), np.array(["a", "grün"]), ["a", "grün"])
    check_encode_decode(Text(), np.array(["a", "b"], object), ["a", "b"])
    assert Text().preview("x" * 100) == "x" * 79 + "…"


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        (5, r"must be text, but it is int 5. Convert it: str\(value\)"),
        (b"a", "must be text, but it is bytes"),
        (float("nan"), "must not be null, but it is nan"),
        ("a\ud800", "UTF-8 can encode, but it has a lone surrogate at character 1"),
    ],
)
def test_non_strings_are_refused(bad, match):
    check_refuses(Text(), bad, match)


def test_invalid_utf_8_is_damaged():
    with pytest.raises(DamagedError, match="must be UTF-8, but its byte 1 is not"):
        Text().decode(b"a\xff", ())


@given(st.lists(JSON.filter(lambda value: value is not None), min_size=1))
def test_json_round_trips(values):
    check_config(Json())
    check_encode_decode(Json(), values)


def test_json_is_compact_and_preserves_the_order_of_keys():
    cells = Json().encode([{"b": "ü", "a": [1, 2.5, None]}])
    assert cells.buffers == ['{"b":"ü","a":[1,2.5,null]}'.encode()]


def test_numpy_values_become_json():
    values = [
        {"a": np.float32(0.5), "b": np.arange(3), "c": (np.int8(1), np.bool_(True), np.str_("x"))}
    ]
    check_encode_decode(Json(), values, [{"a": 0.5, "b": [0, 1, 2], "c": [1, True, "x"]}])
    assert Json().preview({"a": "ü"}) == '{"a": "ü"}'


def loop():
    value = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    ("bad", "match"),
    [
        (float("nan"), "must be a JSON value, but it is float nan .*Use None for NaN"),
        ({"a": [float("inf")]}, "must be a JSON value, but it is dict"),
        (np.array([np.nan]), "must be a JSON value"),
        ({1, 2}, "must be a JSON value, but it is set"),
        (b"a", "bytes cannot be stored as JSON"),
        (1j, "complex cannot be stored as JSON"),
        (np.datetime64("2026-01-01"), "datetime64 cannot be stored as JSON"),
        ({("a", "b"): 1}, "must be a JSON value, but it is dict"),
        ("\ud800", "must be a JSON value, but it is str"),
        (loop(), "must be a JSON value, but it is list"),
    ],
)
def test_value_that_is_not_json_is_refused(bad, match):
    check_refuses(Json(), bad, match)


def test_invalid_json_is_damaged():
    for data in (b"{", b"\xff", b"[" * 100_000):
        with pytest.raises(DamagedError, match="cannot be parsed"):
            Json().decode(data, ())
    assert Json().from_file(b'{"a": 1}') == {"a": 1}
    assert json.loads(Json().encode([{}]).buffers[0]) == {}


@given(st.lists(st.binary(), min_size=1))
def test_bytes_round_trip(values):
    check_config(Bytes())
    check_encode_decode(Bytes(), values)


def test_mutable_buffers_are_copied():
    value = bytearray(b"ab")
    cells = Bytes().encode([value, memoryview(b"abcd")[::2]])
    value[0] = 0
    assert cells.buffers == [b"ab", b"ac"]
    assert Bytes().preview(b"\x00" * 20) == "20 bytes: " + " ".join(["00"] * 16) + " …"


@pytest.mark.parametrize(
    ("bad", "match"),
    [("a", r"must be bytes, but it is str 'a'. Encode it"), (5, "but it is int 5")],
)
def test_non_bytes_are_refused(bad, match):
    check_refuses(Bytes(), bad, match)
