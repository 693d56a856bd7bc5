"""NumPy masked arrays as values: a masked row is null, and no masked number is stored."""

from __future__ import annotations

from dataclasses import replace
from uuid import uuid4

import numpy as np
import pytest

import deeplake_lite as dl

NONE, PART, ALL = (np.array([[bool(a), bool(b)]] * 2) for a, b in ((0, 0), (1, 0), (1, 1)))

PIXELS = np.ones((2, 2), "uint8")

TYPES = {
    "fixed": (dl.Array("int64", (2, 2), nullable=True), PIXELS.astype("int64")),
    "ragged": (dl.Array("int64", (None, 2), nullable=True), PIXELS.astype("int64")),
    "image": (dl.Image("png", nullable=True), PIXELS),
    "numbers": (dl.Image("zstd", nullable=True), PIXELS),
    "mask": (dl.Mask(nullable=True), PIXELS),
    "vector": (dl.Embedding(2, nullable=True), np.ones(2, "float32")),
    "labels": (dl.ClassLabel(["a", "b"], multiple=True, nullable=True), np.ones(2, "int32")),
}


def _masked(values: np.ndarray, mask: np.ndarray) -> np.ma.MaskedArray:
    return np.ma.masked_array(values, mask if values.ndim == 2 else mask[0])


def _lake(htype: dl.htypes.Htype) -> dl.Dataset:
    return dl.create(f"memory://{uuid4()}", {"x": htype})


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("pack", [list, np.ma.stack], ids=["list", "block"])
def test_masked_row_is_null(name: str, pack) -> None:
    htype, values = TYPES[name]
    ds = _lake(htype)
    ds.append({"x": pack([_masked(values, NONE), _masked(values, ALL)])})
    whole, null = ds["x"][:]
    np.testing.assert_array_equal(np.ma.getdata(whole), values)
    assert null is None or np.ma.getmaskarray(null).all()


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("pack", [list, np.ma.stack], ids=["list", "block"])
def test_partially_masked_row_is_refused(name: str, pack) -> None:
    htype, values = TYPES[name]
    rows = pack([_masked(values, NONE), _masked(values, PART)])
    with pytest.raises(dl.InvalidValueError, match="row 1: a row must be entirely masked"):
        _lake(htype).append({"x": rows})


@pytest.mark.parametrize("htype", [dl.Sequence(dl.Scalar("int64", nullable=True)), dl.Json()])
@pytest.mark.parametrize("pack", [list, np.ma.stack], ids=["list", "block"])
def test_masked_item_of_a_list_is_none(htype, pack) -> None:
    ds = _lake(htype)
    rows = [np.ma.masked_array([1, 2], mask) for mask in ([0, 0], [1, 0], [1, 1])]
    ds.append({"x": pack(rows)})
    assert [list(row) for row in ds["x"][:]] == [[1, 2], [None, 2], [None, None]]


@pytest.mark.parametrize("dtype", ["int64", "float32", "bool", "datetime64[s]"])
def test_masked_scalars_are_null(dtype: str) -> None:
    ds = _lake(dl.Scalar(dtype, nullable=True))
    values = np.ma.masked_array(np.ones(3, "int64").astype(dtype), [0, 1, 0])
    ds.append({"x": values})
    ds.append({"x": list(ds["x"][:])})
    assert np.ma.getmaskarray(ds["x"][:]).tolist() == [False, True, False] * 2


@pytest.mark.parametrize("name", TYPES)
def test_values_read_from_a_column_can_be_written_back(name: str) -> None:
    htype, values = TYPES[name]
    ds = _lake(htype)
    ds.append({"x": [values, None]})
    ds.append({"x": list(ds["x"][:])})
    ds.append({"x": ds["x"][:2]})
    nulls = [v is None or bool(np.ma.getmaskarray(v).all()) for v in ds["x"][:]]
    assert nulls == [False, True] * 3


def _hidden(value: object, *, dtype: str = "float64") -> np.ma.MaskedArray:
    array = np.ma.masked_array(np.asarray(value, dtype), False)
    array.mask[..., -1] = True
    return array


WITHIN = {
    "boxes": (dl.Boxes(), [_hidden([1, 2, 3, 4])]),
    "boxes beside others": (dl.Boxes(), [[1, 2, 3, 4], _hidden([1, 2, 3, 4])]),
    "a tuple": (dl.Boxes(), (_hidden([1, 2, 3, 4]),)),
    "fixed": (dl.Array("int64", (1, 2)), [_hidden([1, 2], dtype="int64")]),
    "ragged": (dl.Array("int64", (None, 2)), [_hidden([1, 2], dtype="int64")]),
    "any axes": (dl.Array("int64", None), [_hidden([1, 2], dtype="int64")]),
    "times": (dl.Array("datetime64[s]", (None, 2)), [_hidden(["2020", "2021"], dtype="M8[s]")]),
    "numbers": (dl.Array("int64", (2,)), [np.ma.masked_array(1, mask=True), 7]),
    "masked": (dl.Array("int64", (2,)), [np.ma.masked, 7]),
    "vector": (dl.Embedding(2), [np.ma.masked_array(1.0, mask=True), 7.0]),
    "labels": (dl.ClassLabel(["a", "b"], multiple=True), [np.ma.masked_array(1, mask=True), 0]),
    "labels, masked": (dl.ClassLabel(["a", "b"], multiple=True), [np.ma.masked, 0]),
    "points": (dl.Keypoints(dims=2), [[_hidden([1, 2])]]),
    "outlines": (dl.Polygons(), [[_hidden([1, 2]), [3, 4], [5, 6]]]),
    "objects": (dl.Mask("instance"), [[_hidden([1, 0], dtype="int64")]]),
    "items": (dl.Sequence(dl.Boxes()), [[_hidden([1, 2, 3, 4])]]),
}


@pytest.mark.parametrize("name", WITHIN)
@pytest.mark.parametrize("nullable", [False, True])
def test_masked_number_in_a_list_is_never_stored(name: str, nullable: bool) -> None:
    htype, row = WITHIN[name]
    ds = _lake(replace(htype, nullable=nullable))
    with pytest.raises(dl.InvalidValueError, match="a row must be entirely masked"):
        ds.append({"x": [row]})


def test_list_of_masked_values_is_null() -> None:
    ds = _lake(dl.Array("int64", (None, 2), nullable=True))
    ds.append({"x": [[np.ma.masked_all(2, "int64")] * 2, [np.ma.masked_array([1, 2])]]})
    null, row = ds["x"][:]
    assert null is None
    assert row.tolist() == [[1, 2]]


def test_list_without_masked_values_is_stored_as_numbers() -> None:
    ds = _lake(dl.Boxes())
    ds.append({"x": [[np.ma.masked_array([1, 2, 3, 4], mask=False)]]})
    assert ds["x"][0].tolist() == [[1, 2, 3, 4]]
