from __future__ import annotations

import json
from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deeplake_lite import htypes
from deeplake_lite.errors import FormatError, SchemaError
from deeplake_lite.htypes import (
    Array,
    Bytes,
    ClassLabel,
    Htype,
    Image,
    Json,
    Link,
    Mask,
    Scalar,
    Sequence,
    Text,
    from_config,
    resolve,
)
from deeplake_lite.htypes.plain import from_json, to_builtins, to_json
from deeplake_lite.htypes.registry import CLASSES, load_class


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("int32", Scalar("int32")),
        ("datetime64[ns]", Scalar("datetime64[ns]")),
        (np.dtype("timedelta64[s]"), Scalar("timedelta64[s]")),
        (np.dtype(">f4"), Scalar("float32")),
        (np.uint8, Scalar("uint8")),
        (np.dtype("U5"), Text()),
        (np.dtype("S5"), Bytes()),
        (int, Scalar("int64")),
        (float, Scalar("float64")),
        (bool, Scalar("bool")),
        (complex, Scalar("complex128")),
        (str, Text()),
        (bytes, Bytes()),
        (dict, Json()),
        (datetime, Scalar("datetime64[us]")),
        (timedelta, Scalar("timedelta64[us]")),
        ("text", Text()),
        ("str", Text()),
        ("float", Scalar("float64")),
        ("image", Image()),
        ("Image", Image()),
        ("ClassLabel", ClassLabel()),
        ("string", Text()),
        ("double", Scalar("float64")),
        ("Float32", Scalar("float32")),
        ("f4", Scalar("float32")),
        (Text, Text()),
        (Image("jpeg"), Image("jpeg")),
    ],
)
def test_short_names_resolve_to_types(spec, expected):
    assert resolve(spec) == expected


@pytest.mark.parametrize(
    ("spec", "match"),
    [
        ("imgae", "There is no type 'imgae'. Did you mean 'image'"),
        ("datetime", r"Did you mean 'datetime64\[us\]'"),
        ("boolean", "Did you mean 'bool'"),
        ("int33", "Did you mean 'int3?8?2?"),
        ("datetime64", r"datetime64\[unit\]"),
        ("array", r"Array needs arguments. Write Array\(…\)"),
        (Array, "Array needs arguments"),
        ("scalar", "Scalar needs arguments"),
        ("sequence", "Sequence needs arguments"),
        (np.dtype(object), "A column's dtype must be one of"),
        (np.dtype([("a", "i4")]), "A column's dtype must be one of"),
        (list, "must be an htype such as Image"),
        (None, "must be an htype"),
        ([1], "must be an htype"),
        ({"htype": "text"}, "must be an htype"),
    ],
)
def test_unknown_type_is_a_schema_error(spec, match):
    with pytest.raises(SchemaError, match=match):
        resolve(spec)


def test_every_public_type_is_registered_under_its_name():
    public = {getattr(htypes, name) for name in htypes.__all__}
    types = {t for t in public if isinstance(t, type) and issubclass(t, Htype) and t is not Htype}
    assert {load_class(name) for name in CLASSES} == types
    assert all(name == load_class(name).name for name in CLASSES)
    assert sorted(htypes.__all__, key=lambda name: (name.islower(), name)) == htypes.__all__


def test_nested_configurations_round_trip():
    htype = Sequence(Link(Mask(names=["a"]), nullable=True))
    config = {
        "htype": "sequence",
        "of": {"htype": "link", "nullable": True, "of": {"htype": "mask", "names": ["a"]}},
    }
    assert htype.get_config() == config
    assert from_config(config) == htype


@pytest.mark.parametrize(
    ("config", "error"),
    [
        (None, FormatError),
        ("text", FormatError),
        ([], FormatError),
        ({}, FormatError),
        ({"htype": "hologram"}, FormatError),
        ({"htype": ["text"]}, FormatError),
        ({"htype": "text", "font": "serif"}, FormatError),
        ({"htype": "text", "_set": 1}, FormatError),
        ({"htype": "text", "layout": 1}, FormatError),
        ({"htype": "array"}, FormatError),
        ({"htype": "array", "dtype": "float32", "shape": {"a": 1}}, SchemaError),
        ({"htype": "array", "dtype": {"a": 1}, "shape": [1]}, SchemaError),
        ({"htype": "array", "dtype": "float32", "shape": [10**30]}, SchemaError),
        ({"htype": "scalar", "dtype": "O"}, SchemaError),
        ({"htype": "scalar", "dtype": "int8", "default": 300}, SchemaError),
        ({"htype": "scalar", "dtype": "int8", "default": {"$pickle": ""}}, FormatError),
        ({"htype": "bytes", "default": {"$bytes": "§"}}, FormatError),
        ({"htype": "class_label", "names": {"a": 1}}, SchemaError),
        ({"htype": "class_label", "names": ["a", 1]}, SchemaError),
        ({"htype": "image", "codec": ["jpeg"]}, SchemaError),
        ({"htype": "image", "mode": {}}, SchemaError),
        ({"htype": "boxes", "format": []}, SchemaError),
        ({"htype": "sequence", "of": "text"}, FormatError),
        ({"htype": "sequence"}, FormatError),
        ({"htype": "link", "of": {"htype": "boxes"}}, SchemaError),
        ({"htype": "keypoints", "connections": [[0, []]]}, SchemaError),
        ({"htype": "text", "nullable": "yes"}, SchemaError),
    ],
)
def test_hostile_configurations_raise_format_or_schema_errors(config, error):
    with pytest.raises(error):
        from_config(config)


def test_too_deeply_nested_configuration_is_a_format_error():
    config: dict = {"htype": "text"}
    for _ in range(100_000):
        config = {"htype": "sequence", "of": config}
    with pytest.raises(FormatError):
        from_config(config)


KEYS = st.sampled_from(
    [
        "dtype",
        "shape",
        "codec",
        "names",
        "default",
        "of",
        "nullable",
        "dim",
        "mode",
        "kind",
        "format",
        "units",
        "dims",
        "connections",
        "multiple",
    ]
)
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=4)
    | st.sampled_from(["int8", "float32", "jpeg", "text"]),
    lambda v: (
        st.lists(v, max_size=3)
        | st.dictionaries(st.sampled_from(["htype", "$bytes", "$float", "$complex", "a"]), v)
    ),
    max_leaves=4,
)


@given(st.sampled_from(sorted(CLASSES)), st.dictionaries(KEYS, VALUES, max_size=4))
def test_random_configurations_make_a_type_or_raise_format_or_schema_errors(name, rest):
    try:
        htype = from_config({"htype": name, **rest})
    except (FormatError, SchemaError):
        return
    assert from_config(json.loads(json.dumps(htype.get_config(), allow_nan=False))) == htype


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.binary()
    | st.complex_numbers()
    | st.text(),
    lambda v: (
        st.lists(v, max_size=3)
        | st.dictionaries(st.text() | st.sampled_from(["$float", "$object", "$x"]), v, max_size=3)
    ),
    max_leaves=6,
)


@given(PLAIN)
def test_plain_values_survive_strict_json(value):
    text = json.dumps(to_json(value), allow_nan=False)
    assert repr(from_json(json.loads(text))) == repr(value)


def test_plain_values_have_built_in_types():
    given = {
        "a": (np.int8(1), np.array([[1.5]])),
        "b": np.array(["2026-01-02"], "datetime64[ns]"),
        "c": bytearray(b"x"),
    }
    assert to_builtins(given) == {
        "a": [1, [[1.5]]],
        "b": ["2026-01-02T00:00:00.000000000"],
        "c": b"x",
    }
