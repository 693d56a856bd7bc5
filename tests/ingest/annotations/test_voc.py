"""PASCAL VOC is ingested, and exported with the same content."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import ExportWarning, InvalidValueError, NotFoundError
from tests.ingest.annotations.datasets import (
    canonical_xml,
    mask,
    png,
    same,
    voc_object,
    voc_page,
    write,
    write_voc,
)


@pytest.fixture
def ingest(new_url):
    return lambda path, **options: dl.from_voc(path, new_url(), progress=False, **options)


def test_boxes_become_edges_counted_from_zero(tmp_path, ingest):
    ds = ingest(write_voc(tmp_path / "VOC2012"))
    expected = np.float32([[0, 0, 64, 48], [1.5, 2, 4, 5]])
    np.testing.assert_array_equal(ds["boxes"][0], expected)
    assert ds["labels"].names[7] == "cat"
    assert [ds["labels"].names[n] for n in ds["labels"][0]] == ["cat", "dog"]
    assert ds["split"].names == ("train", "val", "test")
    assert ds["split"][:].tolist() == [0, 1, 2]
    assert ds["truncated"][0] == [True, True]
    assert (ds["width"][0], ds["height"][1]) == (64, 48)


def test_edges_are_taken_as_they_are_with_origin_0(tmp_path, ingest):
    ds = ingest(write_voc(tmp_path), origin=0)
    np.testing.assert_array_equal(ds["boxes"][0][0], np.float32([1, 1, 64, 48]))
    same(ds, ingest(ds.to_voc(tmp_path / "out"), origin=0))


def test_files_come_out_with_the_same_content(tmp_path, ingest):
    root = write_voc(tmp_path / "in")
    ds = ingest(root)
    out = ds.to_voc(tmp_path / "out")
    names = {p.relative_to(root) for p in root.rglob("*") if p.is_file()}
    assert names == {p.relative_to(out) for p in out.rglob("*") if p.is_file()}
    for name in names:
        if name.suffix == ".xml":
            assert canonical_xml((out / name).read_bytes()) == canonical_xml(
                (root / name).read_bytes()
            )
        elif name.suffix == ".txt":
            words = [[line.split() for line in (r / name).read_text().splitlines()]
                     for r in (root, out)]  # fmt: skip
            assert words[0] == words[1], name
        else:
            assert (out / name).read_bytes() == (root / name).read_bytes()
    again = ingest(out)
    same(ds, again)
    assert ds.metadata["voc"] == again.metadata["voc"]


def test_masks_keep_their_bytes_and_pixels_that_do_not_count(tmp_path, ingest):
    ds = ingest(write_voc(tmp_path))
    assert ds.schema["segmentation_class"].htype.names[8] == "cat"
    assert np.unique(ds["segmentation_class"][0]).tolist() == [0, 8, 255]
    assert ds["segmentation_class"][1] is None
    out = ds.to_voc(tmp_path / "out")
    assert (out / "SegmentationObject/a1.png").read_bytes() == mask()


def test_edits_win_and_the_rest_stays(tmp_path, ingest):
    ds = ingest(write_voc(tmp_path / "in"))
    ds["labels"][0] = ["cow", "dog"]
    ds["boxes"][0] = [[0, 0, 10, 20], [1.5, 2, 4, 5]]
    ds["split"][0] = "test"
    out = ds.to_voc(tmp_path / "out")
    text = (out / "Annotations/a1.xml").read_text()
    assert "<name>cow</name>" in text
    assert "<xmax>10</xmax>" in text
    assert "<name>head</name>" in text
    assert (out / "ImageSets/Main/test.txt").read_text() == "a1\nc3\n"
    assert not (out / "ImageSets/Main/train.txt").exists()
    same(ds, ingest(out), ["boxes", "path", "truncated"])


def test_added_objects_lose_the_rest_with_a_warning(tmp_path, ingest):
    ds = ingest(write_voc(tmp_path / "in"))
    ds.update([0], {"labels": [["cat"]], "boxes": [[[0, 0, 1, 1]]], "truncated": [[True]],
                    "difficult": [[False]]})  # fmt: skip
    with pytest.warns(ExportWarning, match="1 row loses values"):
        ds.to_voc(tmp_path / "out")


@pytest.mark.parametrize("place", ["{}.xml", "annotations/{}.xml", "Annotations/{}.xml"])
def test_xml_files_of_labelimg_are_found(tmp_path, ingest, place):
    for name in ("a", "b"):
        write(tmp_path / f"{name}.png", png())
    write(tmp_path / place.format("a"), voc_page("a", voc_object("cat", (1, 1, 2, 2))))
    write(tmp_path / place.format("alone"), voc_page("alone"))
    ds = ingest(tmp_path)
    assert ds["path"][:] == ["a.png", "b.png"]
    assert [len(boxes) for boxes in ds["boxes"][:]] == [1, 0]
    assert [s.reason for s in ds.ingested.skipped] == ["there is no image for this annotation"]


def test_folders_of_splits_are_splits(tmp_path, ingest):
    for name in ("train/a", "valid/a"):
        write(tmp_path / f"{name}.png", png(len(name)))
        write(tmp_path / f"{name}.xml", voc_page("a.png", voc_object("cat", (1, 1, 2, 2))))
    ds = ingest(tmp_path)
    assert ds["split"].names == ("train", "valid")
    assert "cat" in ds["labels"].names


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1", "windows-1252", "gbk"])
def test_files_in_other_encodings_are_read(tmp_path, ingest, encoding):
    name = "猫" if encoding == "gbk" else "kätzchen"
    head = f'<?xml version="1.0" encoding="{encoding}"?>'
    write(tmp_path / "a.png", png())
    page = head + voc_page("a.png", voc_object(name, (1, 1, 2, 2)))
    write(tmp_path / "a.xml", page.encode(encoding))
    assert ingest(tmp_path)["labels"].names == (name,)


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ("<annotation>", "not valid XML"),
        ("<html></html>", "must be <annotation>"),
        ("<annotation><object><name>a</name></object></annotation>", "must have a bndbox"),
        (voc_page("a", voc_object("", (1, 1, 2, 2))), "must have a name"),
        (voc_page("a", voc_object("cat", (1, 1, "x", 2))), "xmax of object 'cat' must be a number"),
        (voc_page("a", voc_object("cat", (1, 1, "nan", 2))), "must be a finite number"),
        (voc_page("a", voc_object("cat", (9, 1, 2, 2))), "must have xmax >= xmin"),
        ('<!DOCTYPE a [<!ENTITY x "y">]><annotation>&x;</annotation>', "must not declare entities"),
        ("<annotation>" + "<a>" * 100 + "</a>" * 100 + "</annotation>", "nested at most 64 deep"),
    ],
    ids=["cut", "html", "no-box", "no-name", "word", "nan", "swapped", "entity", "deep"],
)
def test_bad_annotations_are_reported_with_their_file(tmp_path, ingest, page, reason):
    for name in ("a", "b"):
        write(tmp_path / f"{name}.png", png())
    write(tmp_path / "a.xml", page)
    write(tmp_path / "b.xml", voc_page("b", voc_object("cat", (1, 1, 2, 2))))
    with pytest.raises(InvalidValueError, match=f"a.xml: .*{reason}"):
        ingest(tmp_path)
    ds = ingest(tmp_path, on_error="skip")
    assert ds["path"][:] == ["b.png"]
    assert reason in ds.ingested.skipped[0].reason


def test_folders_without_a_dataset_are_reported(tmp_path, ingest):
    with pytest.raises(NotFoundError, match="no folder"):
        ingest(tmp_path / "nowhere")
    with pytest.raises(NotFoundError, match="no annotations"):
        ingest(tmp_path)
    for year in ("VOC2007", "VOC2012"):
        write_voc(tmp_path / year)
    with pytest.raises(InvalidValueError, match="must contain one dataset"):
        ingest(tmp_path)


def test_names_of_classes_and_their_order_survive(tmp_path, new_url, ingest):
    schema = {"image": dl.Image("png"), "path": "text", "boxes": dl.Boxes("cxcywh", "fraction"),
              "labels": dl.Sequence(dl.ClassLabel(["b", "a & <b>", "kätzchen"]))}  # fmt: skip
    ds = dl.create(new_url(), schema)
    ds.append({"image": [png()], "path": ["my images/a 1.png"],
               "boxes": [[[0.5, 0.5, 0.5, 0.5]]], "labels": [["a & <b>"]]})  # fmt: skip
    again = ingest(ds.to_voc(tmp_path / "out"))
    assert again["labels"].names == ("b", "a & <b>", "kätzchen")
    np.testing.assert_array_equal(again["boxes"][0], np.float32([[16, 12, 48, 36]]))
    assert again["path"][:] == ["my images/a 1.png"]


def test_names_that_files_cannot_have_are_refused_before_anything_is_written(tmp_path, new_url):
    schema = {"path": "text", "split": dl.ClassLabel(["a/b", "c"]), "boxes": dl.Boxes(),
              "labels": dl.Sequence(dl.ClassLabel(["cat", "a\x01b"]))}  # fmt: skip
    rows = {"path": ["a.png"], "split": ["c"], "boxes": [[[0, 0, 1, 1]]], "labels": [["cat"]]}
    for column, value, reason in [
        ("path", "../a.png", "must be inside the folder"), ("split", "a/b", "not a valid"),
        ("labels", ["a\x01b"], "XML does not allow"),
    ]:  # fmt: skip
        ds = dl.create(new_url(), schema)
        ds.append({**rows, column: [value]})
        with pytest.raises(InvalidValueError, match=reason):
            ds.to_voc(tmp_path / "out")
        assert not (tmp_path / "out").exists()
