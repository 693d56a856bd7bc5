"""The row details, and the history of a row."""

from __future__ import annotations

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

import deeplake_lite as dl
from deeplake_lite.widget.row.history import row_history


@pytest.fixture
def ds(make_lake):
    return make_lake(
        {
            "image": "image",
            "label": dl.ClassLabel(["cat", "dog"]),
            "tags": dl.ClassLabel(["a", "b"], multiple=True),
            "boxes": dl.Boxes(),
            "mask": dl.Mask(),
            "note": dl.Text(nullable=True),
            "emb": dl.Embedding(4),
            "meta": "json",
        },
        image=[np.full((400, 600, 3), i, "uint8") for i in range(3)],
        label=["cat", "dog", "cat"],
        tags=[["a"], [], ["b", "a"]],
        boxes=[[[0, 0, 300, 200]]] * 3,
        mask=[np.eye(400, 600, dtype="uint8")] * 3,
        note=["long " * 50, None, "x"],
        emb=np.arange(12).reshape(3, 4),
        meta=[{"k": [1]}] * 3,
    )


def test_every_column_of_a_row_is_described(ds, page):
    p = page(ds)
    reply, data = p.ask("detail", p=2, size=200)
    columns = {c["name"]: c for c in reply["columns"]}
    assert (reply["id"], reply["position"]) == (str(ds.row_ids[2]), 2)
    assert (reply["w"], reply["h"], reply["picture"]) == (600, 400, "image")
    offset, length, mime = columns["image"]["v"]
    assert Image.open(BytesIO(data[offset : offset + length])).size == (200, 133)
    assert mime == "image/jpeg"
    assert (columns["image"]["shape"], columns["image"]["type"]) == ("400 × 600 × 3", "Image")
    assert (columns["label"]["text"], columns["label"]["c"]) == ("cat", 0)
    assert columns["tags"]["tags"] == ["b", "a"]
    assert columns["boxes"]["marks"]["boxes"] == [[0, 0, 0.5, 0.5]]
    assert columns["mask"]["marks"]["v"][2] == "image/png"
    assert columns["mask"]["v"]
    assert columns["emb"]["numbers"] == [8, 9, 10, 11]
    assert columns["meta"]["text"] == '{\n  "k": [\n    1\n  ]\n}'
    assert columns["note"]["text"] == "x"


def test_image_is_sent_at_full_size(ds, page):
    reply, data = page(ds).ask("detail", p=0, size=0)
    offset, length, mime = reply["columns"][0]["v"]
    assert (mime, data[offset : offset + length]) == (
        "image/png",
        bytes(ds["image"].encoded([0])[0]),
    )


def test_null_and_long_strings_are_shown(ds, page):
    p = page(ds)
    [note] = [c for c in p.asks("detail", p=1, size=64)["columns"] if c["name"] == "note"]
    assert (note["text"], note["null"]) == (None, True)
    [note] = [c for c in p.asks("detail", p=0, size=64)["columns"] if c["name"] == "note"]
    assert note["text"] == "long " * 50


def test_missing_row_is_refused(ds, page):
    assert "0 to 2, but it is 3" in page(ds).fails("detail", p=3, size=0)["message"]
    assert "0 to 2, but it is -1" in page(ds).fails("history", p=-1)["message"]


def test_row_of_groups_is_shown_and_has_no_history(ds, page):
    p = page(ds)
    p.w.query = "SELECT label, COUNT(*) AS n GROUP BY label"
    reply = p.asks("detail", p=0, size=0)
    assert (reply["id"], reply["picture"]) == (None, None)
    assert "the query computes this row" in p.fails("history", p=0)["message"]


def test_history_of_a_row_follows_its_id(ds, page):
    row = int(ds.row_ids[2])
    ds["label"][2] = "dog"
    ds.commit("a dog")
    ds["note"][0] = "another row"
    ds.commit("elsewhere")
    ds.delete([0])
    ds.rename_column("note", "remark")
    ds.commit("one less")
    result = row_history(ds, row)
    assert result["complete"]
    assert [(v["message"], v["changes"]) for v in result["versions"]] == [
        ("a dog", [{"column": "label", "before": "cat", "after": "dog"}]),
        ("rows", [{"column": None, "before": None, "after": "added"}]),
    ]
    p = page(ds)
    p.w.query = "SELECT * WHERE label = 'dog' ORDER BY ROW_ID() DESC"
    at = p.w.view.row_ids.tolist().index(row)
    assert p.asks("history", p=at)["versions"] == result["versions"]


def test_new_column_is_part_of_the_history(make_lake):
    ds = make_lake({"x": "int32"}, x=[1])
    ds.add_column("y", "int32", values=[7])
    ds.commit("a column")
    changes = row_history(ds, int(ds.row_ids[0]))["versions"][0]["changes"]
    assert changes == [{"column": "y", "before": None, "after": "7"}]
