"""HASH depends on values, not on how they are stored."""

import numpy as np
import pytest

import deeplake_lite as dl

from .. import data


@pytest.mark.parametrize(
    "condition",
    [
        "HASH(image) = HASH(image[:, :])",
        "HASH(image) = HASH(image)",
        "HASH(ragged[:]) = HASH(ragged)",
        "HASH(bytes) = HASH(bytes[:])",
    ],
)
def test_column_and_its_values_have_the_same_digest(ds, condition):
    assert len(ds.query(f"SELECT id WHERE {condition}")) == len(ds)


@pytest.mark.parametrize("name", ["image", "bytes", "grid", "ragged"])
def test_rows_are_found_by_the_digest_of_an_array(ds, name):
    expected = getattr(data.rows()[7], name)
    result = ds.query(f"SELECT id WHERE HASH({name}) = HASH($p)", {"p": expected})
    assert 7 in result["id"][:].tolist()
    for i in result["id"][:].tolist():
        np.testing.assert_array_equal(getattr(data.rows()[i], name), expected)


def test_columns_of_two_types_compare_by_value():
    ds = dl.create(
        "memory://digests",
        {"png": dl.Image("png"), "raw": dl.Image("raw"), "fixed": dl.Array("uint8", (2, 3))},
    )
    pictures = [np.full((2, 3), i, "uint8") for i in range(3)]
    ds.append({"png": pictures, "raw": pictures, "fixed": pictures[::-1]})
    ds.commit("pictures")
    assert len(ds.query("SELECT png WHERE HASH(png) = HASH(raw)")) == 3
    assert len(ds.query("SELECT png WHERE HASH(png) = HASH(fixed)")) == 1
    assert len(ds.query("SELECT png WHERE HASH(png) <> HASH(fixed)")) == 2
