"""Views are exported as datasets of Deep Lake and Lance, and come back."""

from __future__ import annotations

import io
import warnings
from uuid import uuid4

import deeplake
import lance
import numpy as np
import pytest
from hypothesis import given, settings
from PIL import Image as PillowImage

import deeplake_lite as dl
from deeplake_lite.errors import (
    ExistsError,
    ExportWarning,
    InvalidValueError,
    LakeError,
    SchemaError,
)
from deeplake_lite.testing import strategies
from tests.dataset.export.test_round_trips import COLUMNS


def url():
    return f"memory://{uuid4().hex}"


def lake(schema, columns):
    ds = dl.create(url(), schema)
    ds.append(columns)
    ds.commit("made")
    return ds


def image(value, kind="JPEG"):
    file = io.BytesIO()
    PillowImage.new("RGB", (8, 6), (value, 0, 0)).save(file, kind)
    return file.getvalue()


def digests(ds, name):
    return ds.handle.table.digests(ds.schema[name].id, np.arange(len(ds))).tolist()


def through_lance(ds, path):
    return dl.from_lance(ds.to_lance(path), url(), progress=False)


def through_deep_lake(ds, path):
    return dl.from_deeplake(ds.to_deeplake(path), url(), progress=False)


WAYS = {"Lance": through_lance, "Deep Lake": through_deep_lake}


def left_out(messages):
    """Return the columns that warnings say are left out."""
    parts = [part for message in messages for part in message.partition(": ")[2].split("; ")]
    return {part.split("'")[1] for part in parts if "is left out" in part}


@pytest.mark.parametrize("way", WAYS)
def test_every_type_survives_or_is_reported(way, tmp_path):
    wrong = []
    for at, (name, (schema, values)) in enumerate(COLUMNS.items()):
        ds = lake({"first": dl.Scalar("int8"), **{f.name: f.htype for f in schema}},
                  {"first": range(len(values)), name: values})  # fmt: skip
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            new = WAYS[way](ds, tmp_path / str(at))
        if name in left_out(str(w.message) for w in caught):
            continue
        if new.schema[name].htype != ds.schema[name].htype or digests(new, name) != digests(
            ds, name
        ):
            wrong.append(f"{name}: {new.schema[name].htype} {new[name][:]!r:.200}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=10)
@given(table=strategies.tables(min_size=1))
def test_drawn_rows_survive_or_are_reported(way, tmp_path_factory, table):
    schema, columns = table
    ds = lake(
        {"first": "int8", **schema}, {"first": range(len(next(iter(columns.values())))), **columns}
    )
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        new = WAYS[way](ds, tmp_path_factory.mktemp("out") / "out")
    rest = left_out(str(w.message) for w in caught)
    for name in ds.columns:
        if name not in rest:
            assert new.schema[name].htype == ds.schema[name].htype
            assert digests(new, name) == digests(ds, name), name


@pytest.fixture
def flowers():
    return lake(
        {"image": dl.Image("jpeg"), "label": dl.ClassLabel(["cat", "dog"]),
         "boxes": dl.Boxes("xywh"),
         "mask": dl.Mask("instance"), "v": dl.Embedding(2), "text": "text"},
        {"image": [image(1), image(2)], "label": ["dog", "cat"], "boxes": [[[1, 2, 3, 4]], []],
         "mask": [np.ones((2, 6, 8), bool), np.zeros((1, 6, 8), bool)], "v": [[0, 1], [1, 0]],
         "text": ["a", "ü"]},
    )  # fmt: skip


def test_deep_lake_reads_what_we_write(flowers, tmp_path):
    flowers.metadata["source"] = "garden"
    flowers.commit("metadata")
    path = flowers.to_deeplake(tmp_path / "out", message="from the lake")
    old = deeplake.open_read_only(str(path))
    kinds = {column.name: column.dtype.kind.name for column in old.schema.columns}
    assert kinds == {"image": "Image", "label": "ClassLabel", "boxes": "BoundingBox",
                     "mask": "BinaryMask", "v": "Embedding", "text": "Text"}  # fmt: skip
    assert old["image"].get_bytes(slice(0, 2)) == [image(1), image(2)]
    assert old["image"][0].shape == (6, 8, 3)
    assert old["label"].metadata["class_names"] == ["cat", "dog"]
    assert old["label"][0:2].tolist() == [1, 0]
    assert old["boxes"][0].tolist() == [[1, 2, 3, 4]]
    assert old["mask"][0].shape == (6, 8, 2)
    assert old["text"][0:2] == ["a", "ü"]
    assert old.metadata["source"] == "garden"
    assert old.history[len(old.history) - 1].message == "from the lake"


def test_lance_reads_what_we_write(flowers, tmp_path):
    table = lance.dataset(flowers.to_lance(tmp_path / "out", rows_per_file=1)).to_table()
    assert table.column("image").to_pylist() == [image(1), image(2)]
    assert table.column("label").to_pylist() == ["dog", "cat"]
    assert len(lance.dataset(tmp_path / "out").get_fragments()) == 2


def test_metadata_returns(flowers, tmp_path):
    flowers.metadata["a"] = {"list": [1, "x"]}
    flowers.commit("metadata")
    for way, export in WAYS.items():
        assert export(flowers, tmp_path / way).metadata["a"] == {"list": [1, "x"]}


@pytest.mark.parametrize(
    ("values", "reason"),
    [([image(1), image(2, "PNG")], "one image format"), ([image(1), None], "nullable images"),
     ([image(1, "WEBP"), image(2, "WEBP")], "one image format")],
    ids=["mixed", "null", "webp"],
)  # fmt: skip
def test_images_that_deep_lake_cannot_hold_become_bytes(values, reason, tmp_path):
    ds = lake({"image": dl.Image(nullable=True)}, {"image": values})
    with pytest.warns(ExportWarning, match=reason):
        path = ds.to_deeplake(tmp_path / "out")
    old = deeplake.open_read_only(str(path))
    assert list(old["image"][0:2]) == values
    back = dl.from_deeplake(path, url(), progress=False)
    assert digests(back, "image") == digests(ds, "image")


@pytest.mark.parametrize("codec", ["auto", "jpeg"])
def test_images_of_one_format_keep_their_files_in_deep_lake(codec, tmp_path):
    ds = lake({"image": dl.Image(codec)}, {"image": [image(1), image(2)]})
    old = deeplake.open_read_only(str(ds.to_deeplake(tmp_path / "out")))
    assert old["image"].get_bytes(slice(0, 2)) == [image(1), image(2)]


def test_infinite_numbers_are_refused_where_deep_lake_fails(tmp_path):
    ds = lake({"x": "float32"}, {"x": [1, np.inf]})
    with pytest.raises(InvalidValueError, match="column 'x': must be finite"):
        ds.to_deeplake(tmp_path / "out")
    assert not (tmp_path / "out").exists()
    ds = lake({"x": dl.Scalar("float32", nullable=True)}, {"x": [np.nan, np.inf, None]})
    old = deeplake.open_read_only(str(ds.to_deeplake(tmp_path / "out")))
    assert [None if x is None else float(x) for x in old["x"][0:3]][1:] == [np.inf, None]


def test_a_view_without_columns_for_deep_lake_is_rejected(tmp_path):
    ds = lake({"blobs": dl.Sequence("bytes")}, {"blobs": [[b"a"]]})
    with pytest.raises(SchemaError, match="needs a column that Deep Lake supports"):
        ds.to_deeplake(tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("method", ["to_deeplake", "to_lance"])
def test_a_folder_with_files_stays_as_it_is(method, flowers, tmp_path):
    (tmp_path / "a.txt").write_text("a")
    with pytest.raises(ExistsError, match="is not empty"):
        getattr(flowers, method)(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize("method", ["to_deeplake", "to_lance"])
def test_a_failure_leaves_nothing(method, flowers, tmp_path, monkeypatch):
    from deeplake_lite.dataset.export.lakes import deeplake as to_deep_lake
    from deeplake_lite.dataset.export.lakes import lance as to_lance

    def failing(*_, **__):
        raise LakeError("The chunk is damaged. Restore it.")
        yield

    for module in (to_deep_lake, to_lance):
        monkeypatch.setattr(module, "read_blocks", failing)
    with pytest.raises(LakeError, match="The chunk is damaged"):
        getattr(flowers, method)(tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_an_empty_view_is_exported(flowers, tmp_path):
    for way, export in WAYS.items():
        new = export(flowers[:0], tmp_path / way)
        assert (len(new), new.columns) == (0, flowers.columns)
        recognised = dl.ingest(tmp_path / way, url(), progress=False)
        assert (len(recognised), recognised.columns) == (0, flowers.columns)
