"""Merging an image column whose mode was set on one side."""

from itertools import permutations

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.repr.describe import seen_axes


def grey(value, height=4):
    return np.full((height, 5), value, np.uint8)


def coloured(value, height=4):
    return np.full((height, 5, 3), value, np.uint8)


def two_branches(new_url, codec):
    """Return a lake of three images, and a handle of its branch ``fix``."""
    ds = dl.create(new_url(), {"image": dl.Image(codec, nullable=True), "x": "int32"})
    ds.append({"image": [grey(10), coloured(20), None], "x": [0, 1, 2]})
    ds.commit("three")
    ds.branch("fix")
    return ds, dl.open(ds.url, branch="fix")


@pytest.mark.parametrize("other_way", [False, True], ids=["into the mode", "from the mode"])
@pytest.mark.parametrize("codec", ["png", "jpeg", "raw", "auto"])
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_merged_images_get_the_new_mode(new_url, mode, codec, other_way):
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
        result = handle["image"][:]
        assert [None if p is None else p.shape for p in result] == expected
        values = [10, 20, 50, 30, 40]
        assert [round(float(p.mean())) for p in result if p is not None] == values
        table, slots = handle.rows.locate()
        f = handle.schema["image"]
        shapes = table.shapes(f.id, slots)
        assert [tuple(n for n in row if n >= 0) or None for row in shapes.tolist()] == expected
        assert seen_axes(f.htype, shapes)[2:] == channels
        assert handle.verify()
        batches = list(handle.batches(1, columns=["image"]))
        assert [b["image"][0] is None for b in batches] == [h is None for h in heights]


def test_rebase_converts_pending_images_to_the_new_mode(new_url):
    ds, _ = two_branches(new_url, "png")
    other = dl.open(ds.url)
    other.append({"image": [grey(30)], "x": [3]})
    ds.set_mode("image", "RGB")
    ds.commit("mode")
    other.commit("a picture")
    assert [p is None or p.shape for p in other["image"][:]] == [
        (4, 5, 3), (4, 5, 3), True, (4, 5, 3),
    ]  # fmt: skip


def test_merge_is_refused_if_an_image_does_not_support_the_mode(new_url):
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


CHANGES = {
    "nullable": lambda ds: ds.set_nullable("img"),
    "default": lambda ds: ds.set_default("img", np.zeros((1, 1), "uint8")),
    "L": lambda ds: ds.set_mode("img", "L"),
    "RGB": lambda ds: ds.set_mode("img", "RGB"),
}


@pytest.mark.parametrize("way", ["merge", "commit"])
@pytest.mark.parametrize("on_conflict", ["raise", "ours", "theirs"])
@pytest.mark.parametrize("pair", [*permutations(CHANGES, 2)], ids="-".join)
def test_mode_change_merges_with_other_type_changes(tmp_path, pair, on_conflict, way):
    ds = dl.create(tmp_path / "x.lake", {"img": dl.Image("png")})
    ds.append({"img": [np.zeros((2, 2, 3), "uint8"), np.zeros((3, 2), "uint8")]})
    ds.commit("images")
    if way == "merge":
        ds.branch("other")
    theirs = dl.open(tmp_path / "x.lake", branch="other" if way == "merge" else "main")
    ours, others = pair
    CHANGES[ours](ds)
    ds.commit("ours")
    CHANGES[others](theirs)

    def finish():
        if way == "merge":
            theirs.commit("theirs")
            return ds.merge("other", on_conflict=on_conflict)
        if on_conflict != "raise":  # the edits of the rebasing handle are "ours"
            theirs.rebase(on_conflict="theirs" if on_conflict == "ours" else "ours")
        return theirs.commit("theirs")

    modes = {"L", "RGB"} & {*pair}
    if len(modes) == 2 and on_conflict == "raise":
        with pytest.raises(dl.ConflictError, match=r"mode: (ours|theirs) '(L|RGB)'"):
            finish()
        return
    finish()
    now = dl.open(tmp_path / "x.lake", verify="read")
    chosen = modes if len(modes) < 2 else {ours if on_conflict == "ours" else others}
    htype = now["img"].htype
    assert (htype.nullable, htype.default is not None) == ("nullable" in pair, "default" in pair)
    assert htype.mode == (min(chosen) if chosen else None)
    assert [image.ndim for image in now["img"][:]] == {"L": [2, 2], "RGB": [3, 3]}.get(
        htype.mode, [3, 2]
    )
    assert now.verify()
