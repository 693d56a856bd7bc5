"""Every format gives back the objects that it was given, and what another format has read."""

from __future__ import annotations

import warnings
from uuid import uuid4

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import deeplake_lite as dl
from deeplake_lite.dataset.export.annotations.objects import bounds, box_of_mask
from deeplake_lite.errors import ExportWarning
from tests.ingest.annotations.datasets import (
    HEIGHT,
    WIDTH,
    labelstudio,
    png,
    same,
    write_cvat,
    write_fiftyone,
    write_labelstudio,
    write_voc,
)

NAMES = ["cat", "dög", "a b", "<x> & 'y'"]

SHAPES = {
    "voc": ("box",),
    "cvat": ("box", "polygon", "polyline", "points", "mask"),
    "labelstudio": ("box", "polygon", "point", "mask"),
    "fiftyone": ("box", "polygon", "polyline", "points", "mask"),
}
"""Shapes that each format can hold."""

EXACT = {"voc", "cvat"}
"""Formats whose coordinates are pixels; others divide by the size of the image."""


def write(ds, name, folder):
    """Export a lake to a format."""
    return getattr(ds, f"to_{name}")(folder / name)


def read(path, name, **options):
    """Ingest an export."""
    path = path / "tasks.json" if name == "labelstudio" else path
    ingest = getattr(dl, f"from_{name}")
    return ingest(path, f"memory://{uuid4().hex}", progress=False, **options)


def numbers(most):
    """Draw coordinates: pixels, halves, and any float32."""
    whole = st.integers(0, most).map(float)
    return whole | whole.map(lambda x: x / 2) | st.floats(0, most, width=32)


points = st.tuples(numbers(WIDTH), numbers(HEIGHT))


@st.composite
def shapes(draw, kinds):
    """Draw an object of one shape, by column."""
    kind = draw(st.sampled_from(kinds))
    own = {"segmentation": [], "polylines": [], "keypoints": np.zeros((3, 3), np.float32),
           "masks": np.zeros((HEIGHT, WIDTH), bool)}  # fmt: skip
    match kind:
        case "box":
            box = np.float32([draw(points), draw(points)])
            return {**own, "boxes": np.concatenate([box.min(0), box.max(0)])}
        case "polygon":
            part = np.float32(draw(st.lists(points, min_size=3, max_size=6)))
            return {**own, "segmentation": [part], "boxes": bounds([part])}
        case "polyline":
            part = np.float32(draw(st.lists(points, min_size=1, max_size=6)))
            return {**own, "polylines": [part], "boxes": bounds([part])}
        case "mask":
            left, top = draw(st.integers(0, WIDTH - 1)), draw(st.integers(0, HEIGHT - 1))
            own["masks"][top : top + draw(st.integers(1, 9)), left : left + 5] = True
            own["masks"][top + 1 : top + 2, left + 1 : left + 2] = False
            return {**own, "boxes": box_of_mask(own["masks"])}
    count = 1 if kind == "point" else 3
    own["keypoints"][:count] = np.float32([(*draw(points), 2) for _ in range(count)])
    return {**own, "boxes": bounds([own["keypoints"][:count]])}


@st.composite
def lakes(draw, name):
    """Draw a lake that a format can hold."""
    kinds = SHAPES[name]
    schema = {"image": dl.Image("png"), "path": "text", "boxes": dl.Boxes(),
              "labels": dl.Sequence(dl.ClassLabel(NAMES))}  # fmt: skip
    more = {"polygon": ("segmentation", dl.Sequence(dl.Polygons())),
            "polyline": ("polylines", dl.Sequence(dl.Sequence(dl.Array("float32", (None, 2))))),
            "points": ("keypoints", dl.Keypoints()), "point": ("keypoints", dl.Keypoints()),
            "mask": ("masks", dl.Mask("instance"))}  # fmt: skip
    schema |= dict(more[kind] for kind in kinds if kind in more)
    rows = draw(st.lists(st.lists(shapes(kinds), max_size=4), min_size=1, max_size=4))
    data = {column: [] for column in schema}
    for number, objects in enumerate(rows):
        data["image"].append(png(number))
        data["path"].append(f"{draw(st.sampled_from(['', 'train/', 'ä b/']))}{number}.png")
        data["labels"].append([draw(st.sampled_from(NAMES)) for _ in objects])
        for column in schema.keys() & {"segmentation", "polylines"}:
            data[column].append([own[column] for own in objects])
        empty = {"boxes": (0, 4), "keypoints": (0, 3, 3), "masks": (0, 1, 1)}
        for column in schema.keys() & empty.keys():
            cells = [own[column] for own in objects]
            data[column].append(np.array(cells) if cells else np.zeros(empty[column], np.float32))
    ds = dl.create(f"memory://{uuid4().hex}", schema)
    ds.append(data)
    return ds


def as_objects(ds):
    """Return the objects of each row by path: label, and arrays of the columns that have any."""
    result = {}
    for row in range(len(ds)):
        values = ds[row]
        names = ds["labels"].names
        objects = []
        for n, label in enumerate(values["labels"]):
            own = {"label": names[label], "boxes": values["boxes"][n]}
            for column in ("segmentation", "polylines"):
                if column in values and len(values[column][n]):
                    own[column] = np.concatenate(values[column][n])
            for column in ("keypoints", "masks"):
                if column in values and values[column][n].any():
                    cell = values[column][n]
                    own[column] = cell[cell.any(axis=1)] if column == "keypoints" else cell
            objects.append(own)
        result[values["path"]] = objects
    return result


@pytest.mark.parametrize("name", SHAPES)
@settings(deadline=None, suppress_health_check=list(HealthCheck), max_examples=6)
@given(st.data())
def test_objects_survive_each_format(name, tmp_path_factory, data):
    ds = data.draw(lakes(name))
    with warnings.catch_warnings():
        warnings.simplefilter("error", ExportWarning)
        again = read(write(ds, name, tmp_path_factory.mktemp("round")), name)
    first, second = as_objects(ds), as_objects(again)
    paths = {p.removeprefix("images/") if name == "labelstudio" else p: p for p in second}
    assert first.keys() == paths.keys()
    for path, objects in first.items():
        found = second[paths[path]]
        assert len(found) == len(objects)
        for own, other in zip(objects, found, strict=True):
            assert own.keys() == other.keys()
            assert own["label"] == other["label"]
            for column in own.keys() - {"label"}:
                if name in EXACT:
                    np.testing.assert_array_equal(own[column], other[column])
                else:
                    np.testing.assert_allclose(own[column], other[column], rtol=2e-6, atol=2e-5)


@pytest.mark.parametrize("target", ["voc", "cvat", "labelstudio", "fiftyone", "coco", "yolo"])
@pytest.mark.parametrize("source", ["voc", "cvat", "labelstudio", "fiftyone"])
@pytest.mark.filterwarnings("ignore::deeplake_lite.errors.ExportWarning")
def test_import_of_one_format_is_exported_to_another(source, target, tmp_path):
    if source == "labelstudio":
        path = write_labelstudio(tmp_path / "in", labelstudio()).parent
    else:
        made = {"voc": write_voc, "cvat": write_cvat, "fiftyone": write_fiftyone}
        path = made[source](tmp_path / "in")
    ds = read(path, source)
    boxes = sum(map(len, ds["boxes"][:]))
    if target in ("coco", "yolo"):
        split = ds if target == "yolo" or "split" not in ds.columns else ds[:1]
        out = getattr(split, f"to_{target}")(tmp_path / ("out.json" if target == "coco" else "out"))
        assert out.exists()
        return
    again = read(write(ds, target, tmp_path / "out"), target)
    assert len(again) == len(ds)
    assert sum(map(len, again["boxes"][:])) >= boxes
    assert {*again["labels"].names} >= {
        ds["labels"].names[n] for row in ds["labels"][:] for n in row
    }


# ---- damage


def test_ingest_twice_writes_nothing_new(tmp_path, new_url):
    url = new_url()
    root = write_voc(tmp_path)
    first = dl.from_voc(root, url, progress=False)
    second = dl.from_voc(root, url, progress=False)
    assert second.ingested.added == 0
    same(first, second)
