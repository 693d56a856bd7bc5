from __future__ import annotations

from importlib import import_module

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import InvalidValueError, SchemaError
from deeplake_lite.htypes import ClassLabel
from deeplake_lite.testing.htypes import check_config, check_encode_decode, check_refuses

FLOWERS = ClassLabel(["rose", "tulip", "daisy"])
SEVERAL = ClassLabel(["rose", "tulip", "daisy"], multiple=True)


def test_configurations_round_trip():
    for htype in (FLOWERS, SEVERAL, ClassLabel(), ClassLabel([], multiple=True)):
        check_config(htype)
    assert repr(FLOWERS) == "ClassLabel(['rose', 'tulip', 'daisy'])"


@pytest.mark.parametrize(
    "values",
    [
        ["rose", 2, "tulip", np.int64(0)],
        np.array(["rose", "daisy"]),
        np.array([2, 0], "uint8"),
        [np.str_("rose")],
    ],
)
def test_numbers_and_names_can_be_mixed_and_read_as_int32(values):
    expected = [FLOWERS.index(v) if isinstance(v, str) else v for v in list(values)]
    decoded = check_encode_decode(FLOWERS, values, expected)
    assert {value.dtype.name for value in decoded} == {"int32"}


def test_multiple_classes_per_row_round_trip():
    values = [["rose", 2], [], np.array([1]), ("daisy",)]
    check_encode_decode(SEVERAL, values, [[0, 2], [], [1], [2]])
    check_encode_decode(ClassLabel(multiple=True), [[7, 100]])


@pytest.mark.parametrize(
    ("htype", "bad", "match"),
    [
        (
            FLOWERS,
            "ros",
            "must be one of 3 classes, but it is 'ros'. Did you mean 'rose'. Known: 'rose', ",
        ),
        (FLOWERS, 3, "a class number must be 0 to 2, but it is 3"),
        (FLOWERS, -1, "a class number must be 0 to 2, but it is -1.*nullable=True"),
        (FLOWERS, 1.0, "must be int32, but it is float64 1.0"),
        (FLOWERS, ["rose"], r"must be one class per row, but it is \['rose'\].*multiple=True"),
        (FLOWERS, {"a": 1}, "must be int32, but it is dict"),
        (SEVERAL, [[0]], "item 0: must be one class per row"),
        (
            ClassLabel(),
            "rose",
            r"must be a class number, but it is 'rose'. Declare the names: ClassLabel\(",
        ),
        (ClassLabel(), -1, "a class number must be 0 or more, but it is -1"),
        (SEVERAL, "rose", "must be a list of classes, .*but it is 'rose'. Put it in a list"),
        (SEVERAL, 1, "must be a list of classes"),
        (SEVERAL, [0, "ros"], "item 1: must be one of 3 classes, but it is 'ros'"),
        (SEVERAL, [0, 1, 9], "item 2: a class number must be 0 to 2, but it is 9"),
    ],
)
def test_unknown_classes_are_refused_with_the_nearest_names(htype, bad, match):
    check_refuses(htype, bad, match)


HOT = [True, False, True]
VECTORS = {
    "a list": [HOT],
    "a tuple": [(True, False, True)],
    "one item": [[True]],
    "NumPy's items": [[np.False_]],
    "items without axes": [[np.array(True)]],
    "beside numbers": [[0, True]],
    "beside names": [["rose", False]],
    "an array": [np.array(HOT)],
    "an array of objects": [np.array(HOT, object)],
    "a block": np.array([HOT, HOT]),
    "tensors": lambda: [import_module("torch").tensor(HOT)],
    "a block of tensors": lambda: import_module("torch").tensor([HOT]),
    "scalars of tensors": lambda: [[import_module("torch").tensor(True)]],
    "Arrow": pa.array([HOT]),
    "Arrow's scalars": [[pa.scalar(True)]],
    "pandas": pd.Series([HOT]),
    "polars": lambda: import_module("polars").Series([HOT]),
}


WAYS = {
    "append": lambda ds, **given: ds.append({"c": given["values"]}),
    "assign": lambda ds, **given: ds["c"].__setitem__(0, given["row"]),
    "a default": lambda ds, **given: ds.set_default("c", given["row"]),
    "from_arrays": lambda ds, **given: dl.from_arrays({"c": given["values"]}, ds.url),
}


def made(values):
    return values() if callable(values) else values


@pytest.mark.parametrize("names", [["rose", "tulip", "daisy"], ["rose", "tulip"], []])
@pytest.mark.parametrize("values", VECTORS.values(), ids=VECTORS)
@pytest.mark.parametrize("way", WAYS)
def test_booleans_are_not_a_row_of_multiple_classes(names, values, way):
    htype, values = ClassLabel(names, multiple=True), made(values)
    ds = dl.create("memory://truths", {"c": htype}, overwrite=True)
    ds.append({"c": [[0]]})
    row = values[0].to_list() if hasattr(values[0], "to_list") else values[0]  # polars' Series
    expected = r"is a boolean\. .*np\.flatnonzero\(row\)|no column type can store bool, (str|int)"
    with pytest.raises(dl.LakeError, match=expected):
        WAYS[way](ds, values=values, row=row)


def test_numbers_from_flatnonzero_are_accepted():
    check_encode_decode(SEVERAL, [np.flatnonzero(HOT), np.flatnonzero([False] * 3)], [[0, 2], []])


TRUTHS = {
    "a list": [True, False],
    "NumPy's": [np.True_, np.False_],
    "an array": np.array([True, False]),
    "objects": np.array([True, False], object),
    "a tensor": lambda: import_module("torch").tensor([True, False]),
    "Arrow": pa.array([True, False]),
    "pandas": pd.Series([True, False]),
    "polars": lambda: import_module("polars").Series([True, False]),
}


@pytest.mark.parametrize("names", [["no", "yes"], [], ["yes"], ["rose", "tulip", "daisy"]])
@pytest.mark.parametrize("values", TRUTHS.values(), ids=TRUTHS)
def test_booleans_are_classes_if_there_are_two(names, values):
    ds = dl.create("memory://truths-of-two", {"c": ClassLabel(names)}, overwrite=True)
    if len(names) in (0, 2):
        ds.append({"c": made(values)})
        assert ds["c"][:].tolist() == [1, 0]
        return
    with pytest.raises(InvalidValueError, match=r"row 0: .*is a boolean\. .*astype\(int\)"):
        ds.append({"c": made(values)})


@pytest.mark.parametrize("row", [[0, 0], ["rose", 0], np.array([2, 1, 2])])
def test_row_of_multiple_classes_may_repeat_one(row):
    expected = [SEVERAL.index(c) if isinstance(c, str) else c for c in row]
    check_encode_decode(SEVERAL, [row], [expected])


def test_names_and_numbers_translate_into_each_other():
    assert FLOWERS.index("tulip") == 1
    assert FLOWERS.to_names(1) == "tulip"
    assert FLOWERS.to_names(np.array([[1], [0]])) == [["tulip"], ["rose"]]
    assert FLOWERS.to_names(np.ma.masked_array([0, 1], [True, False])) == [None, "tulip"]
    assert ClassLabel().to_names([7]) == ["7"]
    assert SEVERAL.preview(np.array([0, 1])) == "rose, tulip"
    with pytest.raises(InvalidValueError, match="but it is 'oak'"):
        FLOWERS.index("oak")


@pytest.mark.parametrize("names", [["a", "a"], [""], [1], "rose", 5, None, [None], [["a"]]])
def test_invalid_class_names_are_schema_errors(names):
    with pytest.raises(SchemaError, match="names must be"):
        ClassLabel(names)
    with pytest.raises(SchemaError, match="multiple must be True or False, but it is 'yes'"):
        ClassLabel(multiple="yes")
