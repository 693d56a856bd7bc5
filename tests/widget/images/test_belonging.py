"""Annotations are drawn, and edited, only over the image that they belong to."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl

SIZE = (100, 200)
BOX = [[20, 20, 60, 60]]
SCHEMA = {
    "image": "image",
    "thumb": "image",
    "depth": dl.Array("float32", (None, None)),
    "boxes": dl.Boxes(),
    "parts": dl.Boxes(units="fraction"),
    "rings": dl.Polygons(),
    "points": dl.Keypoints(["nose"]),
    "mask": "mask",
}
MARKS = ["boxes", "parts", "rings", "points", "mask"]
NAMES = ", ".join(MARKS)
COMPUTED = "the query computes"

# The query, the chosen image, and why annotations are not drawn on it, or None if they are.
OVER = {
    "its own": ("", "image", None),
    "its own, by another name": (f"SELECT image AS photo, {NAMES}", "photo", None),
    "its own, in another order": ("SELECT * ORDER BY ROW_ID() DESC", "image", None),
    "its own, of a query in it": ("SELECT * FROM (SELECT * FROM dataset)", "image", None),
    "one of that size": ("", "depth", None),
    "one of another size": ("", "thumb", "belongs to 'image'"),
    "the only one shown": (f"SELECT thumb, {NAMES}", "thumb", "belongs to 'image'"),
    "another one by the name": (f"SELECT thumb AS image, {NAMES}", "image", "belongs to 'image'"),
    "scaled": (f"SELECT RESIZE(image, 50, 100) AS image, {NAMES}", "image", COMPUTED),
    "cut": (f"SELECT image[10:90, 10:100] AS image, {NAMES}", "image", COMPUTED),
    "cut, by another name": (f"SELECT image[10:90] AS part, {NAMES}", "part", COMPUTED),
    "mirrored, of that size": (f"SELECT image[:, ::-1] AS image, {NAMES}", "image", COMPUTED),
}  # fmt: skip


@pytest.fixture
def ds(make_lake):
    large = np.full((*SIZE, 3), 90, np.uint8)
    rows = {
        "image": large,
        "thumb": large[::4, ::4],
        "depth": large[..., 0].astype("float32"),
        "boxes": BOX,
        "parts": [[0.1, 0.2, 0.3, 0.6]],
        "rings": [[[20, 20], [60, 20], [60, 60]]],
        "points": [[[20, 20, 2]]],
        "mask": large[..., 0],
    }
    return make_lake(SCHEMA, **{name: [value] * 3 for name, value in rows.items()})


def asked(page, ds, query, picture):
    shown = page(ds)
    shown.w.settings = {**shown.w.settings, "picture": picture}
    shown.w.query = query
    return shown


def columns(shown, position=0):
    return {c["name"]: c for c in shown.asks("detail", p=position, size=64)["columns"]}


def nudge(shown, name, **value):
    value = {"boxes": [[0.2, 0.2, 0.4, 0.6]], "c": None, **value}
    return shown.ask(
        "stage", edits=[{"positions": [0], "column": name, "op": "set_boxes", "value": value}]
    )[0]


@pytest.mark.parametrize("over", OVER)
def test_annotations_are_drawn_and_edited_only_over_their_image(ds, page, over):
    query, picture, why = OVER[over]
    shown = asked(page, ds, query, picture)
    [cell] = shown.asks(
        "cells", positions=[0], size=64, picture=picture, columns=[], overlays=MARKS
    )["cells"]
    assert set(cell["marks"]) == (set() if why else set(MARKS))
    result = columns(shown)
    for name in MARKS:
        assert bool(result[name]["marks"]) == (why is None)
        assert (why or "") in (result[name]["unmarked"] or "")
    assert result["boxes"]["unmarked"] is None or name in str(result[name]["unmarked"])
    for name in ("boxes", "parts"):
        reply = nudge(shown, name)
        assert reply["ok"] == (why is None)
        assert why is None or why in reply["error"]["message"]
    if why is None:
        shown.w.commit("nudged")
        row = int(np.flatnonzero(ds.row_ids == shown.w.view.row_ids[0])[0])
        assert np.round(ds["boxes"][row]).tolist() == [[40, 20, 80, 60]]


def test_computed_annotations_belong_to_the_image_too(ds, page):
    for picture, drawn in [("image", True), ("thumb", False)]:
        result = columns(asked(page, ds, f"SELECT {picture}, boxes[:1] AS boxes", picture))
        assert bool(result["boxes"]["marks"]) == drawn
        assert not result["boxes"]["editable"]


def test_edit_belongs_to_the_image_it_was_drawn_over(ds, page):
    shown = asked(page, ds, "", "thumb")  # chosen while the boxes lay over the image
    assert nudge(shown, "boxes", picture="image")["ok"]
    assert np.round(shown.w.commit("drawn") and ds["boxes"][0]).tolist() == [[40, 20, 80, 60]]


def test_images_of_different_sizes_per_row_are_distinguished(make_lake, page):
    large, small = np.zeros((*SIZE, 3), np.uint8), np.zeros((25, 50, 3), np.uint8)
    ds = make_lake(
        {"image": "image", "thumb": "image", "boxes": dl.Boxes()},
        image=[large, small],
        thumb=[small, small],
        boxes=[BOX, [[1, 1, 5, 5]]],
    )
    shown = asked(page, ds, "", "thumb")
    expected = {"start": 0, "stop": 2, "size": 64, "picture": "thumb", "overlays": ["boxes"]}
    first, second = shown.asks("cells", **expected)["cells"]
    assert (first["marks"], set(second["marks"])) == ({}, {"boxes"})
    assert set(first["unmarked"]) == {"boxes"}
    assert "unmarked" not in second


def test_group_and_metadata_say_which_image_annotations_belong_to(make_lake, page):
    large, small = np.zeros((*SIZE, 3), np.uint8), np.zeros((25, 50, 3), np.uint8)
    ds = make_lake(
        {"image": "image", "rear/image": "image", "rear/boxes": "boxes", "noted": "boxes"},
        **{"image": [large], "rear/image": [small], "rear/boxes": [BOX], "noted": [BOX]},
    )
    ds["noted"].metadata["picture"] = "rear/image"
    ds.commit("noted")
    for picture, drawn in [("image", False), ("rear/image", True)]:
        result = columns(asked(page, ds, "", picture))
        assert [bool(result[name]["marks"]) for name in ("rear/boxes", "noted")] == [drawn] * 2


def test_boxes_of_another_lake_are_drawn_only_over_images_of_their_size(make_lake, page):
    schema = {"key": "int32", "image": "image", "boxes": dl.Boxes()}
    sizes = [SIZE, (25, 50)]
    lakes = [
        make_lake(schema, key=[1], image=[np.zeros((*size, 3), np.uint8)], boxes=[BOX])
        for size in sizes
    ]
    for other, drawn in zip(lakes, [True, False], strict=True):
        joined = lakes[0].query(
            "SELECT p.image, dataset.boxes FROM dataset JOIN p ON p.key = dataset.key",
            sources={"p": other},
        )
        assert bool(columns(page(joined))["boxes"]["marks"]) == drawn


@pytest.mark.parametrize("cell", ["null", "none there"])
def test_row_without_its_own_image_shows_no_annotations_over_another(make_lake, page, cell):
    image = dl.Image("png", nullable=True)
    small = np.zeros((25, 50, 3), np.uint8)
    schema = {"image": image, "thumb": "image", "boxes": dl.Boxes()}
    ds = make_lake(schema, image=[None], thumb=[small], boxes=[BOX])
    query = "" if cell == "null" else "SELECT thumb, boxes"
    result = columns(asked(page, ds, query, "thumb"))
    assert result["boxes"]["marks"] is None
    assert "size is unknown" in result["boxes"]["unmarked"]


def test_annotations_staged_in_an_empty_row_are_drawn_in_the_grid(make_lake, page):
    ds = make_lake(
        {"image": "image", "boxes": dl.Boxes(nullable=True)},
        image=[np.zeros((100, 200, 3), np.uint8)] * 2,
        boxes=[None, [[10, 10, 40, 40]]],
    )
    shown = page(ds)
    value = {"boxes": [[0.05, 0.1, 0.2, 0.4]], "c": None, "picture": "image"}
    edit = {"positions": [0], "column": "boxes", "op": "set_boxes", "value": value}

    def drawn():
        [cell] = shown.asks("cells", start=0, stop=1, overlays=["boxes"])["cells"]
        return cell["marks"]["boxes"]

    assert drawn() is None
    shown.asks("stage", edits=[edit])
    assert np.round(drawn()["boxes"], 6).tolist() == value["boxes"]
