"""Loaders use only the interface of a type, so that an unknown type works like built-in ones."""

from dataclasses import dataclass

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.htypes import ClassLabel
from deeplake_lite.htypes.array import shapes_of
from deeplake_lite.htypes.base import Htype
from deeplake_lite.htypes.cells import DenseCells, RaggedCells
from deeplake_lite.htypes.facets import Coordinates, Pixels
from deeplake_lite.htypes.layouts import Dense, Ragged
from deeplake_lite.loader.report.explain import Situation

GRADES = ClassLabel(["poor", "fair", "good"])


@dataclass(frozen=True, repr=False, eq=False)
class _Numbers(Htype):
    """Arrays of numbers, stored unchanged."""

    @property
    def blank(self):
        return np.zeros((0,) * self.layout.ndim, self.layout.dtype)

    def _encode(self, values, check):  # noqa: ARG002
        arrays = [np.asarray(value, self.layout.dtype) for value in values]
        return RaggedCells([a.tobytes() for a in arrays], shapes_of(arrays, self.layout.ndim))

    def decode(self, data, shape):
        return np.frombuffer(data, self.layout.dtype).reshape(shape)

    def preview(self, value):
        return str(value)


@dataclass(frozen=True, repr=False, eq=False)
class Scan(_Numbers):
    """A greyscale image."""

    name = "scan"
    layout = Ragged("uint8", 2)
    pixels = Pixels("image", "raw", "uint8")


@dataclass(frozen=True, repr=False, eq=False)
class Region(_Numbers):
    """A class for each pixel."""

    name = "region"
    layout = Ragged("uint8", 2)
    pixels = Pixels("class_mask", "raw", "uint8")


@dataclass(frozen=True, repr=False, eq=False)
class Spots(_Numbers):
    """Points, row before column."""

    name = "spots"
    layout = Ragged("float32", 2)
    coordinates = Coordinates("keypoints", ("y", "x", "visibility"))


@dataclass(frozen=True, repr=False, eq=False)
class Grade(_Numbers):
    """One of three grades."""

    name = "grade"
    layout = Dense("int32")
    classes = GRADES

    @property
    def blank(self):
        return 0

    def _encode(self, values, check):  # noqa: ARG002
        return DenseCells(np.asarray(values, "int32"))

    def decode(self, data, shape):  # noqa: ARG002
        return data


@pytest.fixture
def ds(install, make_lake):
    install(Scan, Region, Spots, Grade)
    region = np.zeros((8, 4), "uint8")
    region[0, 0] = 2
    return make_lake(
        {"scan": Scan(), "region": Region(), "spots": Spots(), "grade": Grade()},
        scan=[np.full((8, 4), 9), np.full((32, 16), 7)],
        region=[region, np.ones((32, 16))],
        spots=[[[4, 1, 2]], [[8, 2, 1], [0, 0, 0]]],
        grade=[2, 0],
    )


@pytest.mark.parametrize("cache", ["encoded", "decoded"])
def test_coordinates_and_masks_follow_their_resized_image(ds, cache):
    loader = ds.batches(2, size=(16, 8), cache=cache)
    for batch in (next(iter(loader)) for _ in range(2)):
        assert batch["scan"].shape == (2, 16, 8)
        assert np.unique(batch["scan"]).tolist() == [7, 9]
        assert [spots.tolist() for spots in batch["spots"]] == [
            [[8, 2, 2]],
            [[4, 1, 1], [0, 0, 0]],
        ]
        assert np.argwhere(batch["region"][0]).tolist() == [[0, 0], [0, 1], [1, 0], [1, 1]]


def test_frameworks_accept_foreign_types(ds):
    import torch

    batch = next(iter(ds.pytorch(2, size=(16, 8))))
    assert batch["scan"].dtype == torch.uint8
    assert batch["grade"].dtype == torch.int64, "as losses take classes"


def test_reports_know_images_and_classes(ds):
    loader = ds.batches(2)
    assert loader.shuffle_quality().label == "grade"
    situation = Situation.of(loader.resources.samples, loader.options, "none", "whole", 1)
    assert situation.images == {"scan": "raw", "region": "mask"}


def test_views_with_foreign_types_can_be_mixed(ds):
    batch = next(iter(dl.mix([(ds, 1), (ds, 1)]).batches(4, columns=["grade", "scan"])))
    assert sorted(batch["grade"].tolist()) == [0, 0, 2, 2]
