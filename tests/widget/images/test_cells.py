"""The visible rows: images and cards of every type, and the annotations drawn over them."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

import deeplake_lite as dl
from deeplake_lite.widget.images.drawing import SLACK


def part(data, span):
    """Return some bytes of a reply."""
    offset, length, _ = span
    result = data[offset : offset + length]
    assert len(result) == length
    return result


def opened(data, cell):
    return Image.open(BytesIO(part(data, cell["v"])))


def picture(h=60, w=80, channels=3, dtype="uint8"):
    ramp = np.arange(h * w).reshape(h, w) % 251
    pixels = ramp if channels is None else np.repeat(ramp[..., None], channels, axis=2)
    return pixels.astype(dtype)


@pytest.mark.parametrize(
    ("pixels", "codec", "mode"),
    [
        (picture(300, 200), "jpeg", "RGB"),
        (picture(300, 200, None), "jpeg", "L"),
        (picture(30, 20, None), "png", "L"),
        (picture(300, 200, 4), "png", "RGBA"),
        (picture(300, 200, 2), "png", "LA"),
        (picture(300, 200, None, "uint16") * 200, "png", "RGB"),
        (picture(300, 200, 1), "raw", "RGB"),
        (picture(30, 20, 1), "raw", "L"),
        (picture(300, 200), "webp", "RGB"),
        (picture(300, 200), "bmp", "RGB"),
    ],
)
def test_images_of_all_kinds_are_drawn(make_lake, page, pixels, codec, mode):
    ds = make_lake({"image": dl.Image(codec)}, image=[pixels])
    reply, data = page(ds).ask("cells", start=0, stop=1, size=64)
    [cell] = reply["cells"]
    drawn = opened(data, cell)
    assert (cell["w"], cell["h"]) == pixels.shape[1::-1]
    assert drawn.mode == mode
    expected = min(64, max(pixels.shape[:2]))
    assert expected <= max(drawn.size) <= SLACK * expected
    assert cell["v"][2] == f"image/{drawn.format.lower()}"


def test_float_images_are_stretched_whatever_they_contain(make_lake, page):
    pixels = np.linspace(0, 1e-3, 80 * 80, dtype="float32").reshape(80, 80)
    pixels[0, :2] = np.nan, np.inf
    ds = make_lake({"image": dl.Image("raw", dtype="float32")}, image=[pixels])
    reply, data = page(ds).ask("cells", start=0, stop=1, size=64)
    assert np.ptp(np.asarray(opened(data, reply["cells"][0]))) > 200


def test_small_file_is_sent_unchanged(make_lake, page):
    file = BytesIO()
    Image.fromarray(picture(60, 60)).save(file, "jpeg")
    ds = make_lake({"image": dl.Image("jpeg")}, image=[file.getvalue()])
    reply, data = page(ds).ask("cells", start=0, stop=1, size=64)
    assert part(data, reply["cells"][0]["v"]) == file.getvalue()


def test_cmyk_file_is_converted_for_the_page(make_lake, page):
    file = BytesIO()
    Image.new("CMYK", (60, 60)).save(file, "jpeg")
    ds = make_lake({"image": dl.Image("jpeg")}, image=[file.getvalue()])
    reply, data = page(ds).ask("cells", start=0, stop=1, size=64)
    assert opened(data, reply["cells"][0]).mode == "RGB"


def test_null_cells_are_labelled(make_lake, page):
    ds = make_lake(
        {"image": dl.Image("png", nullable=True), "t": dl.Text(nullable=True)},
        image=[None, picture()],
        t=[None, "a"],
    )
    reply, _ = page(ds).ask("cells", start=0, stop=9, size=64, columns=["t"])
    null, there = reply["cells"]
    assert (null["card"], null["v"]) == ({"kind": "null"}, None)
    assert null["caption"] == {"t": {"t": None, "c": None}}
    assert there["v"]
    assert there["caption"]["t"]["t"] == "a"


def test_damaged_cell_is_labelled_and_the_others_are_sent(make_lake, page, monkeypatch):
    ds = make_lake(
        {"image": dl.Image("png"), "t": "text"},
        image=[picture(i, 80) for i in (70, 80, 90)],
        t=list("abc"),
    )
    whole = ds["image"].encoded([1])
    damage = bytes(whole[0])[:-40] + bytes(40)
    from deeplake_lite.storage.ragged import RaggedColumn

    read = RaggedColumn.read

    async def damaged(self, slots):
        cells = await read(self, slots)
        at = [damage if bytes(b) == bytes(whole[0]) else b for b in cells.buffers]
        return type(cells)(at, cells.shapes, cells.valid)

    monkeypatch.setattr(RaggedColumn, "read", damaged)
    reply, _ = page(ds).ask("cells", start=0, stop=3, size=64, columns=["t"])
    first, bad, last = reply["cells"]
    assert bad["card"]["kind"] == "damaged"
    assert "column 'image', row 1" in bad["card"]["text"]
    assert first["v"]
    assert last["v"]
    assert bad["caption"]["t"]["t"] == "b"


@pytest.mark.parametrize(
    ("htype", "value", "kind", "text"),
    [
        ("text", "<img src=x onerror=alert(1)>", "text", "<img src=x onerror=alert(1)>"),
        ("json", {"a": [1]}, "json", '{\n  "a": [\n    1\n  ]\n}'),
        (dl.Embedding(3), [1, 2, 4], "numbers", "float32 (3)"),
        ("float64", 0.5, "value", "0.5"),
        (dl.ClassLabel(["<b>", 'a"\n']), 1, "value", 'a"\n'),
        (dl.Link("image"), "photos/a.jpg", None, None),
        (dl.Sequence("text"), ["a", "b"], "value", "a, b"),
        ("datetime64[s]", "2026-01-31T12:00:00", "value", "2026-01-31T12:00:00"),
    ],
)
def test_all_types_have_cards(make_lake, page, htype, value, kind, text):
    ds = make_lake({"x": htype}, x=[value])
    reply = page(ds).asks("cells", start=0, stop=1, size=64, picture="x")
    card = reply["cells"][0]["card"]
    if kind is None:  # a link that must not be followed
        assert (card["kind"], "allow" in card["text"]) == ("damaged", True)
    else:
        assert (card["kind"], card["text"]) == (kind, text)


def test_card_without_an_image_lists_the_columns(make_lake, page):
    names = ['a "quoted" <b>', "y"]
    ds = make_lake(dict.fromkeys(names, "int32"), **{name: [5] for name in names})
    p = page(ds)
    assert p.w.settings["picture"] is None
    card = p.asks("cells", start=0, stop=1, size=64, picture=None)["cells"][0]["card"]
    assert card == {"kind": "table", "rows": [[n, "5"] for n in names], "more": 0}


def test_first_image_of_a_sequence_is_drawn(make_lake, page):
    ds = make_lake(
        {"clip": dl.Sequence("image")}, clip=[[picture(70, 80), picture(20, 20)], [], [picture()]]
    )
    cells = page(ds).asks("cells", start=0, stop=3, size=64)["cells"]
    assert [(c["w"], c["h"]) for c in cells] == [(80, 70), (None, None), (80, 60)]
    assert cells[1]["card"] == {"kind": "null"}


def test_boxes_masks_polygons_and_points_are_relative_to_the_image(make_lake, page):
    mask = np.zeros((60, 80), "uint8")
    mask[:30] = 2
    points = [[[20, 30, 2]]]
    ds = make_lake(
        {
            "image": "image",
            "boxes": dl.Boxes("xywh"),
            "parts": dl.Boxes("xyxy", "fraction"),
            "labels": dl.ClassLabel(["cat", "dog"], multiple=True),
            "mask": dl.Mask(names=["none", "a", "b"]),
            "objects": dl.Mask("instance"),
            "outline": dl.Polygons(),
            "points": dl.Keypoints(["nose"]),
        },
        image=[picture(60, 80)],
        boxes=[[[8, 6, 16, 12]]],
        parts=[[[0.1, 0.2, 0.3, 0.4]]],
        labels=[["dog"]],
        mask=[mask],
        objects=[np.stack([mask > 5, mask > 1])],
        outline=[[[[0, 0], [80, 0], [0, 60]]]],
        points=[points],
    )
    names = ["boxes", "parts", "mask", "objects", "outline", "points", "gone"]
    reply, data = page(ds).ask("cells", start=0, stop=1, size=64, overlays=names)
    marks = reply["cells"][0]["marks"]
    assert marks["boxes"] == {"boxes": [[0.1, 0.1, 0.3, 0.3]], "c": [1], "more": 0}
    assert marks["parts"]["boxes"] == [[0.1, 0.2, 0.3, 0.4]]
    assert marks["outline"]["rings"] == [[[0, 0], [1, 0], [0, 1]]]
    assert marks["points"]["points"] == [[[0.25, 0.5, 2]]]
    for name, numbers in (("mask", {0, 2}), ("objects", {0, 2})):
        drawn = opened(data, marks[name])
        assert drawn.mode == "L"
        assert set(np.unique(np.asarray(drawn))) == numbers


def test_mask_of_many_classes_lists_them(make_lake, page):
    mask = np.zeros((60, 80), "int32")
    mask[0, 0] = 100_000
    ds = make_lake({"image": "image", "m": dl.Mask(dtype="int32")}, image=[picture()], m=[mask])
    reply, data = page(ds).ask("cells", start=0, stop=1, size=128, overlays=["m"])
    mark = reply["cells"][0]["marks"]["m"]
    assert mark["of"] == [0, 100_000]
    assert np.asarray(opened(data, mark))[0, 0] == 1


def test_no_rows_make_no_cells(make_lake, page):
    p = page(make_lake({"image": "image"}))
    assert p.asks("cells", start=0, stop=28, size=64)["cells"] == []
    assert p.w.state["rows"] == 0


def test_rows_have_ids_and_groups_have_none(make_lake, page):
    ds = make_lake({"x": "int32"}, x=[4, 5])
    p = page(ds)
    cells = p.asks("cells", positions=[1], size=64)["cells"]
    assert [(c["p"], c["id"]) for c in cells] == [(1, str(ds.row_ids[1]))]
    p.w.query = "SELECT x, COUNT(*) AS n GROUP BY x"
    cells = p.asks("cells", start=0, stop=2, size=64)["cells"]
    assert [c["id"] for c in cells] == [None, None]
    assert len(cells[0]["card"]["rows"]) == 2


def test_images_computed_by_a_query_are_drawn(make_lake, page):
    ds = make_lake({"image": "image", "x": "int32"}, image=[picture(), picture()], x=[1, 2])
    p = page(ds)
    p.w.query = "SELECT image[10:40, 5:, :] AS crop, x WHERE x > 1"
    assert p.w.about["picture"] == "crop"
    [cell] = p.asks("cells", start=0, stop=2, size=64)["cells"]
    assert (cell["w"], cell["h"]) == (75, 30)


def test_too_many_rows_are_refused(make_lake, page):
    ds = make_lake({"x": "int32"}, x=range(2000))
    assert "1,000 rows" in page(ds).fails("cells", start=0, stop=2000)["message"]
