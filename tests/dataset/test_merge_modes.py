"""Merges of a column of pictures whose mode one side has set."""

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.repr.describe import seen_axes


def grey(value, height=4):
    return np.full((height, 5), value, np.uint8)


def coloured(value, height=4):
    return np.full((height, 5, 3), value, np.uint8)


def two_branches(new_url, codec):
    """Return a lake of three pictures, and a handle of its branch ``fix``."""
    ds = dl.create(new_url(), {"image": dl.Image(codec, nullable=True), "x": "int32"})
    ds.append({"image": [grey(10), coloured(20), None], "x": [0, 1, 2]})
    ds.commit("three")
    ds.branch("fix")
    return ds, dl.open(ds.url, branch="fix")


@pytest.mark.parametrize("other_way", [False, True], ids=["into the mode", "from the mode"])
@pytest.mark.parametrize("codec", ["png", "jpeg", "raw", "auto"])
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_pictures_of_the_other_side_get_the_mode(new_url, mode, codec, other_way):
    ds, fix = two_branches(new_url, codec)
    fix.append({"image": [grey(30, 7), coloured(40, 8), None], "x": [3, 4, 5]})
    fix["image"][2] = grey(50, 9)
    fix.commit("pictures")
    ds.set_mode("image", mode)
    ds.commit("mode")
    merged, source = (fix, "main") if other_way else (ds, "fix")
    merged.merge(source)
    channels = {"RGB": (3,), "L": ()}[mode]
    heights = [4, 4, 9, 7, 8, None]
    expected = [None if h is None else (h, 5, *channels) for h in heights]
    for handle in (merged, dl.open(merged.url, branch="fix" if other_way else "main")):
        found = handle["image"][:]
        assert [None if p is None else p.shape for p in found] == expected
        values = [10, 20, 50, 30, 40]
        assert [round(float(p.mean())) for p in found if p is not None] == values
        table, slots = handle.rows.locate()
        f = handle.schema["image"]
        shapes = table.shapes(f.id, slots)
        assert [tuple(n for n in row if n >= 0) or None for row in shapes.tolist()] == expected
        assert seen_axes(f.htype, shapes)[2:] == channels
        assert handle.verify()
        batches = list(handle.batches(1, columns=["image"]))
        assert [b["image"][0] is None for b in batches] == [h is None for h in heights]


def test_a_rebase_brings_pending_pictures_to_the_mode(new_url):
    ds, _ = two_branches(new_url, "png")
    other = dl.open(ds.url)
    other.append({"image": [grey(30)], "x": [3]})
    ds.set_mode("image", "RGB")
    ds.commit("mode")
    other.commit("a picture")
    assert [p is None or p.shape for p in other["image"][:]] == [
        (4, 5, 3), (4, 5, 3), True, (4, 5, 3),
    ]  # fmt: skip


def test_a_picture_that_has_no_such_mode_refuses_the_merge(new_url):
    ds, fix = two_branches(new_url, "png")
    fix.append({"image": [np.full((4, 5), 40_000, np.uint16)], "x": [3]})
    fix.commit("16 bits")
    ds.set_mode("image", "RGB")
    ds.commit("mode")
    before = ds.version
    with pytest.raises(dl.errors.LakeError, match="row 3"):
        ds.merge("fix")
    assert ds.version == before
    assert len(ds) == 3
    assert not ds.status()
