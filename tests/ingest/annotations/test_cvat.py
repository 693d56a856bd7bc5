"""CVAT's files are ingested, and exported with the same content."""

from __future__ import annotations

import zipfile

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import ExportWarning, InvalidValueError, NotFoundError
from tests.ingest.annotations.datasets import CVAT, canonical_xml, png, same, write, write_cvat


@pytest.fixture
def ingest(new_url):
    return lambda path, **options: dl.from_cvat(path, new_url(), progress=False, **options)


def one(shape, meta=""):
    """Return a file with one image."""
    image = f'<image id="0" name="a.png" width="64" height="48">{shape}</image>'
    return f"<annotations>{meta}{image}</annotations>"


def test_each_shape_becomes_an_object(tmp_path, ingest):
    ds = ingest(write_cvat(tmp_path))
    assert ds["path"][:] == ["train/a.png", "val/b.png"]
    assert ds["split"].names == ("train", "val")
    assert ds["labels"].names == ("cat", "body")
    assert ds["tags"].names == ("night",)
    np.testing.assert_allclose(ds["boxes"][0][[0, 2, 5, 7]], [
        [4, 5.5, 24.123457, 15], [1, 1, 5, 4], [7, 5, 13, 15], [1, 1, 7, 9],
    ])  # fmt: skip
    outline = ds["segmentation"][0][1][0]
    np.testing.assert_allclose(outline.mean(axis=0), [14, 10], atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(outline[1] - outline[0]), 20, atol=1e-4)
    assert ds["masks"][0][6].nonzero()[0].tolist() == [4, 5]
    np.testing.assert_array_equal(ds["keypoints"][0][8][:2], [[7, 8, 0], [5, 6, 1]])
    assert ds["occluded"][0][0]


@pytest.mark.parametrize("kind", ["out.xml", "out.zip", "out"])
def test_file_comes_out_with_the_same_content(tmp_path, ingest, kind):
    path = write_cvat(tmp_path / "in")
    ds = ingest(path)
    out = ds.to_cvat(tmp_path / kind)
    again = ingest(out, images=path.parent / "images" if kind == "out.xml" else None)
    same(ds, again)
    assert ds.metadata["cvat"] == again.metadata["cvat"]
    if kind == "out.zip":
        page = zipfile.ZipFile(out).read("annotations.xml")
        assert zipfile.ZipFile(out).read("images/train/a.png") == png(0)
    else:
        page = (out if out.is_file() else out / "annotations.xml").read_bytes()
    assert canonical_xml(page) == canonical_xml(CVAT.encode())


def test_same_rows_give_the_same_bytes(tmp_path, ingest):
    ds = ingest(write_cvat(tmp_path / "in"))
    first, second = (ds.to_cvat(tmp_path / name).read_bytes() for name in ("a.zip", "b.zip"))
    assert first == second


def test_edits_win_and_attributes_stay(tmp_path, ingest):
    ds = ingest(write_cvat(tmp_path / "in"))
    boxes = ds["boxes"][0].copy()
    boxes[0], boxes[5] = [1, 2, 3, 4], [5, 6, 7, 8]
    ds["boxes"][0] = boxes
    text = ds.to_cvat(tmp_path / "out.xml").read_text()
    assert 'xtl="1.00" ytl="2.00" xbr="3.00" ybr="4.00"' in text
    assert '<attribute name="age">3</attribute>' in text
    assert "<ellipse" not in text
    assert "<cuboid" in text


def test_frames_of_a_video_are_rows(tmp_path, ingest):
    meta = ("<meta><task><original_size><width>64</width><height>48</height></original_size>"
            "</task></meta>")  # fmt: skip
    box = (
        '<box frame="{}" outside="{}" occluded="0" keyframe="1" xtl="{}" ytl="0" xbr="9" ybr="9"/>'
    )
    track = "".join(box.format(*values) for values in [(0, 0, 0), (2, 0, 4), (4, 1, 4)])
    track = f'<track id="5" label="cat" source="manual">{track}</track>'
    for frame in range(5):
        write(tmp_path / f"images/frame_{frame:06d}.png", png(frame))
    path = write(tmp_path / "annotations.xml", f"<annotations>{meta}{track}</annotations>")
    ds = ingest(path)
    assert [len(boxes) for boxes in ds["boxes"][:]] == [1, 1, 1, 1, 0]
    assert [float(boxes[0, 0]) for boxes in ds["boxes"][:4]] == [0, 2, 4, 4]
    assert ds["cvat"][0]["objects"][0]["track"] == "5"
    assert ds["width"][0] == 64
    assert len(ingest(path, images=False)) == 4
    with pytest.warns(ExportWarning, match="4 objects lose their track number"):
        ds.to_cvat(tmp_path / "out.xml")


@pytest.mark.parametrize(
    ("shape", "reason"),
    [
        ('<box label="a" xtl="1" ytl="1" xbr="0" ybr="2"/>', "must have xbr >= xtl"),
        ('<box xtl="1" ytl="1" xbr="2" ybr="2"/>', "must have a label"),
        ('<polygon label="a" points="1,2;3"/>', "points must be pairs"),
        ('<star label="a"/>', "a shape must be box"),
        ('<mask label="a" rle="1,9" left="0" top="0" width="2" height="2"/>', "must add up to"),
        ('<mask label="a" rle="4" left="63" top="0" width="2" height="2"/>', "lie in its image"),
        ('<skeleton label="a"/>', "must have points"),
    ],
    ids=["swapped", "no-label", "odd", "star", "rle", "outside", "skeleton"],
)
def test_bad_shapes_are_reported_with_their_image(tmp_path, ingest, shape, reason):
    path = write(tmp_path / "a.xml", one(shape))
    with pytest.raises(InvalidValueError, match=rf"a\.png: .*({reason})"):
        ingest(path, images=False)
    assert len(ingest(path, images=False, on_error="skip").ingested.skipped) == 1


def test_masks_of_any_claimed_size_are_refused(tmp_path, ingest):
    text = one('<mask label="a" rle="4" left="0" top="0" width="999999999" height="999999999"/>')
    path = write(
        tmp_path / "a.xml", text.replace('"64"', '"999999999"').replace('"48"', '"9999999"')
    )
    with pytest.raises(InvalidValueError, match="pixels"):
        ingest(path, images=False)


def test_images_outside_the_folder_are_refused(tmp_path, ingest):
    write(tmp_path / "secret.png", png())
    path = write(tmp_path / "in/a.xml", one("").replace("a.png", "../secret.png"))
    with pytest.raises(InvalidValueError, match="must be inside the folder"):
        ingest(path)


def test_missing_files_are_reported(tmp_path, ingest):
    with pytest.raises(NotFoundError, match="There is no file"):
        ingest(tmp_path)
    path = write(tmp_path / "annotations.xml", one(""))
    with pytest.raises(InvalidValueError, match=r"there is no image 'a\.png'"):
        ingest(path)
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr("x.txt", "")
    with pytest.raises(InvalidValueError, match=r"must contain exactly one annotations\.xml"):
        ingest(tmp_path / "a.zip")


def test_objects_of_several_shapes_are_reported(tmp_path, new_url):
    schema = {"path": "text", "boxes": dl.Boxes(), "segmentation": dl.Sequence(dl.Polygons()),
              "labels": dl.Sequence(dl.ClassLabel(["cat"])),
              "scores": dl.Sequence("float32")}  # fmt: skip
    ds = dl.create(new_url(), schema)
    triangle = [[0, 0], [4, 0], [0, 4]]
    ds.append({"path": ["a.png"], "boxes": [[[0, 0, 9, 9]]], "labels": [["cat"]],
               "segmentation": [[[triangle, triangle]]], "scores": [[0.5]]})  # fmt: skip
    with pytest.warns(ExportWarning) as caught:
        ds.to_cvat(tmp_path / "out.xml")
    text = str(caught[0].message)
    assert "'scores' is left out" in text
    assert "1 object with several outlines is split into one polygon per outline" in text
    assert "the box of 1 object is replaced by the bounding" in text
    assert (tmp_path / "out.xml").read_text().count("<polygon") == 2
