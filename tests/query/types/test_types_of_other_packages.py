"""Queries use only the interface of a type, so that an unknown type works like built-in ones."""

from dataclasses import dataclass

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.htypes import ClassLabel
from deeplake_lite.htypes.base import Htype
from deeplake_lite.htypes.cells import DenseCells
from deeplake_lite.htypes.facets import Coordinates
from deeplake_lite.htypes.layouts import Dense

GRADES = ClassLabel(["poor", "fair", "good"])


@dataclass(frozen=True, repr=False, eq=False)
class _Numbers(Htype):
    """Fixed-shape numbers, stored unchanged."""

    blank = 0

    def _encode(self, values, check):  # noqa: ARG002
        return DenseCells(np.asarray(values, self.layout.dtype))

    def decode(self, data, shape):  # noqa: ARG002
        return data

    def preview(self, value):
        return str(value)


@dataclass(frozen=True, repr=False, eq=False)
class Grade(_Numbers):
    """One of three grades."""

    name = "grade"
    layout = Dense("int32")
    sql = "class"
    classes = GRADES


@dataclass(frozen=True, repr=False, eq=False)
class Celsius(_Numbers):
    """A temperature."""

    name = "celsius"
    layout = Dense("float32")
    sql = "number"
    scalar = "float32"


@dataclass(frozen=True, repr=False, eq=False)
class Face(_Numbers):
    """The box around a face, as corner and size."""

    name = "face"
    layout = Dense("float32", (1, 4))
    coordinates = Coordinates("boxes", ("x", "y", "x", "y"), format="xywh")


@pytest.fixture
def ds(install):
    install(Grade, Celsius, Face)
    schema = {"grade": Grade(), "heat": Celsius(), "face": Face(), "truth": dl.Boxes()}
    ds = dl.create("memory://types-of-other-packages", schema, overwrite=True)
    ds.append(
        {
            "grade": [2, 0, 2],
            "heat": [20.5, np.nan, 30],
            "face": [[[1, 1, 2, 2]], [[0, 0, 4, 4]], [[0, 0, 2, 4]]],
            "truth": [[[1, 1, 3, 3]], [[0, 0, 4, 8]], [[5, 5, 9, 9]]],
        }
    )
    return ds


def test_classes_are_compared_by_name(ds):
    result = ds.query("SELECT NAME(grade) AS name, grade WHERE grade <> 'poor'")
    assert result["name"][:] == ["good", "good"]
    assert result.schema["grade"].htype == Grade()
    counted = ds.query("SELECT grade, COUNT(*) AS n GROUP BY grade ORDER BY n")
    assert counted.schema["grade"].htype.names == GRADES.names
    assert counted["grade"][:].tolist() == [0, 2]


def test_numbers_are_compared_and_nan_sorts_last(ds):
    assert ds.query("SELECT heat WHERE heat > 25")["heat"][:].tolist() == [30]
    assert ds.query("SELECT heat + 1 AS warm ORDER BY heat")["warm"][:2].tolist() == [21.5, 31]


def test_boxes_keep_their_format(ds):
    assert ds.query("SELECT IOU(face, truth) AS iou")["iou"][:].tolist() == [1, 0.5, 0]
    with pytest.raises(dl.QueryError, match="xywh"):
        ds.query("SELECT face + truth AS sum")
