from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from deeplake_lite.errors import InvalidValueError, SchemaError
from deeplake_lite.htypes import Array, Bytes, ClassLabel, Json, Scalar, Sequence, Text
from deeplake_lite.testing.htypes import check_config


def test_null_in_a_non_nullable_column_names_the_row_and_a_solution():
    with pytest.raises(
        InvalidValueError, match=r"^row 2: must not be null, but it is None.*nullable=True"
    ):
        Scalar("int8").encode([1, 2, None])


def test_masked_elements_are_null_whatever_their_data():
    values = np.ma.masked_array([1, 10**6], mask=[False, True])
    cells = Scalar("int8", nullable=True).encode(values)
    assert cells.values.tolist() == [1, 0]
    assert cells.valid.tolist() == [True, False]
    texts = np.ma.masked_array(np.array(["a", "b"], object), mask=[True, False])
    assert Text(nullable=True).decode_cells(Text(nullable=True).encode(texts)) == [None, "b"]
    labels = np.ma.masked_array(np.array(["x", "b"]), mask=[True, False])
    label = ClassLabel(["a", "b"], nullable=True)
    assert label.decode_cells(label.encode(labels)) == [None, 1]


@pytest.mark.parametrize("values", ["abc", b"abc", {"a": 1}, 5, np.float32(1)])
def test_single_value_is_not_a_block(values):
    with pytest.raises(InvalidValueError, match=r"must be one value per row, but it is a single"):
        Text().encode(values)


@pytest.mark.parametrize(
    "values", [(1, 2), np.array([1, 2]), pd.Series([1, 2], index=[5, 6]), range(1, 3), iter([1, 2])]
)
def test_blocks_may_be_any_sequence(values):
    assert Scalar("int8").encode(values).values.tolist() == [1, 2]


def test_missing_rows_get_the_default_then_null_then_an_error():
    assert Scalar("int8", default=5).encode_default(2).values.tolist() == [5, 5]
    assert Text(default="x", nullable=True).encode_default(2).buffers == [b"x", b"x"]
    assert Text(nullable=True).encode_default(2).valid.tolist() == [False, False]
    assert len(Text(default="x").encode_default(0)) == 0
    with pytest.raises(InvalidValueError, match=r"has no default.*nullable=True"):
        Text().encode_default(1)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Scalar("int8", default=300),
        lambda: Text(default=5),
        lambda: ClassLabel(["a"], default="b"),
        lambda: Array("int8", (2,), default=[1, 2, 3]),
        lambda: Text(nullable=1),
    ],
)
def test_invalid_default_is_a_schema_error(make):
    with pytest.raises(SchemaError):
        make()


@pytest.mark.parametrize(
    "htype",
    [
        Scalar("float32", default=float("nan")),
        Scalar("float64", default=float("-inf")),
        Scalar("complex64", default=1 + 2j),
        Scalar("complex64", default=complex("nan")),
        Scalar("datetime64[us]", default=np.datetime64("2026-01-02T03:04:05")),
        Scalar("timedelta64[s]", default=np.timedelta64(5, "m")),
        Array("float32", (2,), default=np.array([1, np.nan])),
        Bytes(default=b"\x00\xff"),
        Json(default={"$bytes": [1, {"$float": "nan"}], "b": None}),
        Json(default=[1, "NaN"]),
        Text(default="NaN"),
        Sequence("int8", default=(1, 2)),
        ClassLabel(["a", "b"], default="b", nullable=True),
    ],
)
def test_defaults_survive_configuration_and_repr(htype):
    check_config(htype)
    assert len(htype.encode_default(3)) == 3


def test_equal_configurations_compare_equal_whatever_they_were_made_from():
    assert ClassLabel(("a", "b")) == ClassLabel(["a", "b"])
    assert Array("f4", [None, 3]) == Array(np.float32, (None, 3))
    assert Scalar("int32") != Array("int32", (1,))
    assert Text() != "text"


def test_str_is_shorter_than_repr():
    many = ClassLabel([f"class {i}" for i in range(1000)])
    assert str(many) == "ClassLabel(['class 0', 'class 1', 'class 2', … 997 more])"
    assert eval(repr(many)) == many


def test_importing_the_types_imports_nothing_slow():
    slow = "PIL zarr numcodecs pandas pyarrow fsspec urllib.request simplejpeg"
    code = f"import sys, deeplake_lite.schema; print(*set('{slow}'.split()) & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_check_option_has_two_values():
    with pytest.raises(ValueError, match="check must be 'header' or 'full', but it is 'all'"):
        Text().encode(["a"], check="all")
