"""No export loses a value silently: it can be read back, or an ExportWarning names its column."""

from __future__ import annotations

import warnings
from dataclasses import replace
from uuid import uuid4

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import ExportWarning, LakeError
from deeplake_lite.htypes import resolve
from tests.dataset.everything import SCHEMA, VALUES, png


def url():
    return f"memory://{uuid4().hex}"


def appended(table, ds):
    """Append an exported table to a new lake with the same schema."""
    new = dl.create(url(), ds.schema)
    new.append(table)
    return new


def folder(ds, path):
    image = "picture" if "picture" in ds.columns else None
    root = ds.to_folder(path / "out", image=image)
    return dl.from_folder(root, url(), labels=f"{root}/metadata.csv", schema=ds.schema)


def labelstudio(ds, path):
    file = ds.to_labelstudio(path / "tasks.json")
    (path / "images").mkdir()
    for row, image in enumerate(ds["image"].encoded()):
        (path / "images" / f"{row:012d}.png").write_bytes(bytes(image))
    return dl.from_labelstudio(file, url(), images=path / "images")


def written(export, ingest, name):
    """Return the way through a file or a folder."""
    return lambda ds, path: getattr(dl, ingest)(getattr(ds, export)(path / name), url())


TABLES = {
    "to_arrow": lambda ds, _: appended(ds.to_arrow(), ds),
    "to_pandas": lambda ds, _: appended(ds.to_pandas(), ds),
    "to_polars": lambda ds, _: appended(ds.to_polars(), ds),
    "to_xarray": lambda ds, _: dl.from_arrays(ds.to_xarray(), url()),
    "to_huggingface": lambda ds, _: dl.from_huggingface(ds.to_huggingface(), url()),
}
FILES = {
    "to_numpy": written("to_numpy", "from_numpy", "a.npz"),
    "to_torch": written("to_torch", "from_torch", "a.pt"),
    "to_parquet": written("to_parquet", "from_parquet", "out"),
    "to_webdataset": written("to_webdataset", "from_webdataset", "out"),
    "to_tfrecord": written("to_tfrecord", "from_tfrecord", "out"),
    "to_arrayrecord": written("to_arrayrecord", "from_arrayrecord", "out"),
    "to_mds": written("to_mds", "from_mds", "out"),
    "to_litdata": written("to_litdata", "from_litdata", "out"),
    "to_folder": folder,
}
ANNOTATIONS = {
    "to_coco": lambda ds, path: dl.from_coco(ds.to_coco(path / "a.json", images=path / "a"), url()),
    "to_yolo": written("to_yolo", "from_yolo", "out"),
    "to_voc": written("to_voc", "from_voc", "out"),
    "to_cvat": written("to_cvat", "from_cvat", "a.zip"),
    "to_labelstudio": labelstudio,
    "to_fiftyone": written("to_fiftyone", "from_fiftyone", "out"),
}
WAYS = TABLES | FILES | ANNOTATIONS

RAGGED = {name for name in SCHEMA if not hasattr(resolve(SCHEMA[name]).layout, "shape")}
DOCUMENTED = {
    "to_xarray": RAGGED  # listed in the attribute ragged_columns
    | {"age"}  # integers, because no library has durations in months
    | {"embedding", "matrix", "half", "wave"},  # null is NaN
    "to_polars": {"notes"},  # JSON is strings
    "to_folder": {"pixels", "objects", "matrix", "flags", "ragged", "packed", "blob"},  # npy files
    "to_yolo": {"boxes"},  # decimal fractions of the image, rounded
    "to_cvat": {"label", "number"},  # tags; classes without names are named by their numbers
    "to_fiftyone": {"number"},
}
"""Columns whose values take another form, as the documentation of the export says."""


APART = {"to_deeplake", "to_lance"}
"""Exports that tests/apart tests for every type."""


def test_every_export_is_tested():
    assert WAYS.keys() | APART == {name for name in dir(View) if name.startswith("to_")}


def make(name, is_nullable, method):
    """Return a lake with a column of one type, and those that the export needs."""
    values = [value for value in VALUES[name] if value is not None]
    htype = replace(resolve(SCHEMA[name]), nullable=is_nullable)
    values = [*values[:2], None] if is_nullable else values
    schema, rows, count = {}, {}, len(values)
    if method in ANNOTATIONS:
        pictures = [png((8, 9 + i, 3), i) for i in range(count)]
        boxes = [[[0, 0, 2, i + 1]] for i in range(count)]
        if name == "boxes":
            boxes = [[[0, 0, 2, 1]] * (0 if value is None else len(value)) for value in values]
        labels = [["cat"] * len(own) for own in boxes]
        schema = {"image": "image", "boxes": dl.Boxes(), "labels": dl.Sequence(PETS)}
        rows = {"image": pictures, "boxes": boxes, "labels": labels}
    elif method == "to_folder" and name != "image":
        schema = {"picture": dl.Image("png")}
        rows = {"picture": [png((8, 9, 3), i) for i in range(count)]}
    elif method == "to_webdataset":
        schema, rows = {"number": "int64"}, {"number": range(count)}
    ds = dl.create(url(), {**schema, name: htype})
    ds.append({**rows, name: values})
    ds.commit("made")
    return ds


PETS = dl.ClassLabel(["cat", "dog"])


def values_of(ds, name):
    """Return the stored form of each cell, in any order: to_folder sorts rows by class."""
    return sorted(ds.handle.table.digests(ds.schema[name].id, np.arange(len(ds))).tolist())


def comes_back(ds, new, name):
    """Return whether a column has the same values, perhaps in another type."""
    if name not in new.columns:
        return False
    if new.schema[name].htype == ds.schema[name].htype:
        return values_of(ds, name) == values_of(new, name)
    again = dl.create(url(), {name: ds.schema[name].htype})
    again.append({name: new[name]})
    return values_of(ds, name) == values_of(again, name)


CASES = [(name, is_nullable) for name in SCHEMA for is_nullable in (False, True)]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case[0]}{' or null' * case[1]}")
@pytest.mark.parametrize("method", WAYS)
def test_a_value_comes_back_or_its_loss_is_announced(method, case, tmp_path):
    name, is_nullable = case
    ds = make(name, is_nullable, method)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ExportWarning)
        try:
            new = WAYS[method](ds, tmp_path)
        except LakeError:
            return  # the user learns of it
    announced = " ".join(str(w.message) for w in caught if w.category is ExportWarning)
    if name == "image" and "image" in announced:  # rows without an image are left out
        return
    if repr(name) in announced or name in DOCUMENTED.get(method, ()):
        return
    assert comes_back(ds, new, name), f"{name} is lost: {new!r} {announced}"


def exported(method, ds, path):
    """Return the dataset that comes back from an export, and the text of its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ExportWarning)
        new = WAYS[method](ds, path)
    return new, " ".join(str(w.message) for w in caught if w.category is ExportWarning)


INTO_FILES = sorted([*FILES, *ANNOTATIONS, "to_huggingface"])
"""Exports that leave the lake behind."""


@pytest.mark.parametrize("method", INTO_FILES)
def test_metadata_of_columns_comes_back_or_its_loss_is_announced(method, tmp_path):
    ds = make("image", False, method)
    ds["image"].metadata["camera"] = "left"
    ds.commit("noted")
    new, announced = exported(method, ds, tmp_path)
    if "the metadata of 'image'" not in announced:
        assert new["image"].metadata == {"camera": "left"}


@pytest.mark.parametrize("method", INTO_FILES)
def test_metadata_of_the_dataset_comes_back_or_its_loss_is_announced(method, tmp_path):
    ds = make("image", False, method)
    ds.metadata["license"] = {"name": "CC0", "years": [2024, 2025]}
    ds.commit("noted")
    new, announced = exported(method, ds, tmp_path)
    if "the dataset's metadata 'license'" not in announced:
        assert new.metadata["license"] == {"name": "CC0", "years": [2024, 2025]}


def test_results_of_queries_keep_metadata(make_lake, tmp_path):
    ds = make_lake({"x": "int64", "t": "text"}, x=[1, 2], t=["a", "b"])
    ds.metadata["k"] = {"v": 1}
    ds["x"].metadata["unit"] = "m"
    ds.commit("metadata")
    for query in ("SELECT x AS y, t", "SELECT x AS y, t, x + 1 AS z ORDER BY t DESC"):
        view = ds.query(query)
        exported = view.to_xarray()
        assert (exported.attrs["k"], exported["y"].attrs["unit"]) == ('{"v": 1}', "m")
        view.to_mds(tmp_path / f"{len(query)}")
        again = dl.from_mds(tmp_path / f"{len(query)}", f"memory://kept-{len(query)}")
        assert again.metadata["k"] == {"v": 1}
        assert again["y"].metadata == {"unit": "m"}
    assert ds.query("SELECT x + 1 AS x, t").schema["x"].metadata == {}
    groups = ds.query("SELECT t, COUNT(*) AS n GROUP BY t")
    assert groups.rows.table.metadata == {}
