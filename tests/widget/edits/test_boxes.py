"""Boxes that nobody moved stay unchanged, whatever is drawn beside them."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.htypes import convert_boxes
from deeplake_lite.widget.edits.boxes import boxes_from
from deeplake_lite.widget.images.overlays import marks

SIZE = (600, 400)

CORNERS = {
    "inside": [[0.1, 0.2, 0.3, 0.4], [1 / 3, 0.25, 2 / 3, 0.5]],
    "beyond a side": [
        [-0.02, 0.1, 0.3, 0.9], [0.1, -0.3, 0.3, 0.9], [0.8, 0.1, 1.1, 0.9], [0.1, 0.8, 0.3, 1.2],
    ],
    "beyond every side": [[-0.4, -0.3, 1.5, 1.7]],
    "wholly outside": [[-0.9, 0.1, -0.5, 0.2], [1.2, 1.3, 1.6, 1.9]],
    "the same twice": [[0.1, 0.2, 0.3, 0.4]] * 2,
    "nearly the same": [[0.1, 0.2, 0.3, 0.4], [0.1000001, 0.2, 0.3, 0.4]],
    "without a width": [[0.5, 0.5, 0.5, 0.7]],
    "none": np.zeros((0, 4)),
}  # fmt: skip

TYPES = [
    *product(("xyxy", "xywh", "cxcywh"), ["pixels"], ("float16", "float32", "float64", "int32")),
    *product(("xyxy", "xywh", "cxcywh"), ["fraction"], ("float16", "float32", "float64")),
]


def stored(kind, htype, size):
    """Return boxes of a kind in stored form."""
    scale = np.array([*size, *size]) if htype.units == "pixels" else 1
    boxes = convert_boxes(np.array(CORNERS[kind], float) * scale, "xyxy", htype.format)
    return (
        np.round(boxes).astype(htype.dtype) if "int" in htype.dtype else boxes.astype(htype.dtype)
    )


def sent(htype, boxes, size):
    """Return boxes in the form in which the page receives and sends them."""
    return json.loads(json.dumps(marks(htype, boxes, *size)))["boxes"]


@pytest.mark.parametrize("kind", CORNERS)
@pytest.mark.parametrize(("form", "units", "dtype"), TYPES)
@pytest.mark.parametrize("size", [SIZE, (7001, 5003), (1, 1)])
def test_unmoved_boxes_are_stored_to_the_last_digit(form, units, dtype, kind, size):
    htype = dl.Boxes(form, units, dtype=dtype)
    before = stored(kind, htype, size)
    there = sent(htype, before, size)
    np.testing.assert_array_equal(boxes_from(there, htype, size, before), before)
    more = boxes_from([*there, [0.5, 0.5, 0.75, 1]], htype, size, before)
    np.testing.assert_array_equal(more[:-1], before)
    for gone in range(len(before)):
        kept = boxes_from(there[:gone] + there[gone + 1 :], htype, size, before)
        if kind != "nearly the same":
            np.testing.assert_array_equal(kept, np.delete(before, gone, axis=0))


@pytest.mark.parametrize("kind", [kind for kind in CORNERS if kind != "none"])
def test_moved_box_is_clipped_to_the_image_and_the_others_are_not(kind):
    htype = dl.Boxes()
    before = stored(kind, htype, SIZE)
    there = sent(htype, before, SIZE)
    there[0] = [v + 0.25 for v in there[0]]
    after = boxes_from(there, htype, SIZE, before)
    np.testing.assert_array_equal(after[1:], before[1:])
    assert (after[0] >= 0).all()
    assert (after[0] <= [*SIZE, *SIZE]).all()


def test_box_moved_there_and_back_is_unchanged():
    htype = dl.Boxes()
    before = np.array([[30.25, 10.125, 300.1, 200.7]], np.float32)
    [box] = sent(htype, before, SIZE)
    box = [v + 0.1 - 0.3 + 0.2 for v in box]
    np.testing.assert_array_equal(boxes_from([box], htype, SIZE, before), before)


def test_box_moves_by_one_pixel_in_images_of_any_size():
    htype, size = dl.Boxes(dtype="int32"), (90_000, 60_000)
    before = np.array([[45_000, 100, 46_800, 900]], np.int32)
    [box] = sent(htype, before, size)
    step = 1 / size[0]
    after = boxes_from([[box[0] + step, box[1], box[2] + step, box[3]]], htype, size, before)
    assert after.tolist() == [[45_001, 100, 46_801, 900]]


@pytest.mark.parametrize(
    ("htype", "corners", "message"),
    [
        (dl.Boxes(), [[0, 0, float("nan"), 1]], "must be finite"),
        (dl.Boxes(dtype="int16"), [[0, 0, float("inf"), 1]], "must be finite"),
        (dl.Boxes(dtype="int16"), [[0, 0, 1, 1]], "int16 holds"),
    ],
)
def test_corners_that_the_column_cannot_hold_are_refused(htype, corners, message):
    with pytest.raises(dl.InvalidValueError, match=message):
        boxes_from(corners, htype, (90_000, 60_000), np.zeros((0, 4), htype.dtype))


PICTURES = {"one": dl.Image("png"), "several": dl.Sequence(dl.Image("png"))}


@pytest.mark.parametrize("kind", PICTURES)
def test_boxes_outside_the_image_stay_when_one_is_drawn_in_the_page(make_lake, page, kind):
    pixels = np.zeros((400, 600, 3), np.uint8)
    old = [[-12.5, 30.25, 200.125, 390.5], [500, 300, 640, 420]]
    lake = make_lake(
        {"image": PICTURES[kind], "boxes": dl.Boxes()},
        image=[pixels] if kind == "one" else [[pixels, pixels]],
        boxes=[old],
    )
    shown = page(lake)
    columns = {c["name"]: c for c in shown.asks("detail", p=0, size=600)["columns"]}
    there = columns["boxes"]["marks"]["boxes"]
    value = {"boxes": [*there, [0.25, 0.5, 0.5, 1.0]], "c": None}
    expected = {"positions": [0], "column": "boxes", "op": "set_boxes", "value": value}
    shown.asks("stage", edits=[expected])
    shown.asks("commit", message="one more")
    assert lake["boxes"][0].tolist() == [*old, [150, 200, 300, 400]]
