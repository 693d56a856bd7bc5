"""Resized images, and the columns that count in their pixels."""

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.loader.make.sizes import resize_nearest

H, W = 24, 48


@pytest.fixture
def ds(make_lake):
    """Two images, 24 × 48 and 12 × 24; pixel coordinates surround the same part of both."""
    schema = {
        "image": dl.Image("png"),
        "boxes": dl.Boxes("xywh", nullable=True),
        "whole": dl.Boxes("cxcywh", dtype="int16"),
        "parts": dl.Boxes(units="fraction"),
        "points": dl.Keypoints(),
        "outlines": dl.Polygons(),
        "classes": dl.Mask(),
        "objects": dl.Mask("instance"),
    }
    images, masks, objects = [], [], []
    for k in (1, 2):
        h, w = H // k, W // k
        images.append(np.zeros((h, w, 3), "uint8"))
        images[-1][h // 4 : h // 2, : w // 2] = 255
        masks.append(images[-1][..., 0] // 255)
        objects.append(np.stack([masks[-1] == 1] * k))
    return make_lake(
        schema,
        image=images,
        boxes=[[[0, 6, 24, 6]], None],
        whole=[[[12, 9, 24, 6]], []],
        parts=[[[0, 0.25, 0.5, 0.5]]] * 2,
        points=[[[[24, 12, 2], [0, 0, 0]]], [[[12, 6, 1], [1, 1, 1]]]],
        outlines=[[[[0, 6], [24, 6], [24, 12]]], [[[0, 3], [12, 3], [12, 6]]]],
        classes=masks,
        objects=objects,
    )


@pytest.mark.parametrize("exporter", ["batches", "pytorch"])
@pytest.mark.parametrize("threads", [0, 2])
def test_pixel_coordinates_follow_the_image(ds, exporter, threads):
    (batch,) = getattr(ds, exporter)(2, size=(48, 24), num_workers=threads)
    first, second = batch["boxes"][0].tolist(), batch["boxes"][1]
    assert (first, second) == ([[0, 12, 12, 12]], None)
    assert batch["whole"][0].tolist() == [[6, 18, 12, 12]]
    assert [len(w) for w in batch["whole"]] == [1, 0]
    assert [np.asarray(p).tolist() for p in batch["parts"]] == [[[0, 0.25, 0.5, 0.5]]] * 2
    for row, visible in enumerate((2, 1)):
        assert batch["points"][row][0, 0].tolist() == [12, 24, visible]
        assert batch["outlines"][row][0].tolist() == [[0, 12], [12, 12], [12, 24]]
    assert batch["points"][1][0, 1].tolist() == [1, 4, 1]
    assert batch["classes"].shape == (2, 48, 24)
    for mask, objects in zip(batch["classes"], batch["objects"], strict=True):
        assert np.argwhere(np.asarray(mask)).min(axis=0).tolist() == [12, 0]
        assert int(mask.sum()) == 12 * 12
        for one in objects:
            assert np.array_equal(np.asarray(one), np.asarray(mask) == 1)
    assert [len(objects) for objects in batch["objects"]] == [1, 2]


@pytest.mark.parametrize("cache", ["encoded", "decoded"])
def test_pixel_coordinates_follow_the_image_in_every_epoch(ds, cache):
    loader = ds.batches(1, size=(48, 24), cache=cache)
    first, again = (list(loader) for _ in range(2))
    for a, b in zip(first, again, strict=True):
        np.testing.assert_equal(a, b)


def test_masks_are_padded_and_passed_to_other_frameworks_at_their_new_size(ds):
    batch = next(iter(ds.jax(2, columns=["image", "classes", "objects"], size=(48, 24))))
    assert batch["classes"].shape == (2, 48, 24)
    assert batch["objects"].shape == (2, 2, 48, 24)
    dataset = ds.tensorflow(2, columns=["image", "classes", "objects", "boxes"], size=(48, 24))
    assert dataset.element_spec["classes"].shape.as_list() == [None, 48, 24]
    (there,) = dataset
    np.testing.assert_array_equal(there["classes"], batch["classes"])
    assert there["boxes"][0].numpy().tolist() == [[0, 12, 12, 12]]


def test_coordinates_without_their_image_stay_unchanged(ds):
    (batch,) = ds.batches(2, columns=["boxes", "classes"])
    assert batch["boxes"][0].tolist() == [[0, 6, 24, 6]]
    assert batch["classes"][0].shape == (H, W)


@pytest.mark.parametrize(
    "size", [{"image": (8, 8)}, {"depth": (8, 8)}, {"image": (8, 8), "depth": (8, 8)}, (8, 8)]
)
def test_ambiguous_image_must_be_named(make_lake, size):
    picture = np.zeros((4, 4), "uint8")
    schema = {"image": dl.Image("png"), "depth": dl.Image("png"), "boxes": dl.Boxes()}
    ds = make_lake(schema, image=[picture], depth=[picture], boxes=[[]])
    with pytest.raises(ValueError, match=r"not clear which image 'boxes' .*columns="):
        ds.batches(1, size=size)
    assert len(list(ds.batches(1, size=size, columns=list(size)) if isinstance(size, dict)
                    else ds.batches(1, size=size, columns=["image", "boxes"]))) == 1  # fmt: skip


def masked(height, width, *, objects=False):
    """Return a mask whose upper half is 1."""
    mask = np.zeros((height, width), "uint8")
    mask[: height // 2] = 1
    return mask[np.newaxis] if objects else mask


FOLLOWING = {
    "boxes": (dl.Boxes(), [[1, 2, 3, 4]], [[2, 8, 6, 16]]),
    "fractions": (dl.Boxes(units="fraction"), [[0, 0, 0.5, 0.5]], [[0, 0, 0.5, 0.5]]),
    "points": (dl.Keypoints(), [[[1, 2, 2]]], [[[2, 8, 2]]]),
    "outlines": (dl.Polygons(), [[[1, 2], [3, 2], [3, 4]]], [[[2, 8], [6, 8], [6, 16]]]),
    "classes": (dl.Mask(), masked(4, 8), masked(16, 16)),
    "objects": (
        dl.Mask("instance"), masked(4, 8, objects=True), masked(16, 16, objects=True)
    ),
    "pictures": (dl.Image("png"), masked(4, 8) * 200, None),
    "number": (dl.Scalar("int32"), 5, 5),
    "text": (dl.Text(), "a", "a"),
}  # fmt: skip
"""Types, a value for an image of 4 × 8 pixels, and its equivalent for one of 16 × 16."""


def listed(value):
    """Return a value as plain lists."""
    if isinstance(value, list | tuple):
        return [listed(v) for v in value]
    return np.asarray(value).tolist()


@pytest.mark.parametrize("depth", [0, 1, 2])
@pytest.mark.parametrize("name", [n for n in FOLLOWING if n != "pictures"])
def test_pixel_coordinates_follow_in_sequences_of_any_depth(make_lake, name, depth):
    htype, value, expected = FOLLOWING[name]
    for _ in range(depth):
        htype, value, expected = dl.Sequence(htype), [value, value], [expected, expected]
    ds = make_lake({"image": dl.Image("png"), "v": htype}, image=[masked(4, 8)], v=[value])
    (batch,) = ds.batches(1, size=(16, 16), collate="list")
    assert listed(batch["v"][0]) == listed(expected)


@pytest.mark.parametrize("name", [n for n in FOLLOWING if n not in ("pictures", "number", "text")])
def test_items_of_sequences_follow_the_image_with_the_same_number(make_lake, name):
    htype, value, expected = FOLLOWING[name]
    schema = {"clip": dl.Sequence(dl.Image("png")), "v": dl.Sequence(htype)}
    ds = make_lake(schema, clip=[[masked(4, 8), masked(16, 16)], []], v=[[value, expected], []])
    first, second = ds.batches(1, size=(16, 16), collate="list", num_workers=0)
    assert listed(first["v"][0]) == listed([expected, expected])
    assert [frame.shape for frame in first["clip"][0]] == [(16, 16)] * 2
    assert (second["clip"], second["v"]) == ([[]], [[]])


@pytest.mark.parametrize("exporter", ["batches", "pytorch", "jax"])
def test_images_in_sequences_are_resized_and_converted(make_lake, exporter):
    clips = [[masked(4, 8) * 200, np.zeros((6, 6, 3), "uint8")], [masked(8, 8)], None]
    ds = make_lake({"clip": dl.Sequence(dl.Image("png"), nullable=True)}, clip=clips)
    (batch,) = getattr(ds, exporter)(3, size=(16, 12), mode="RGB")
    shapes = [None if clip is None else [tuple(p.shape) for p in clip] for clip in batch["clip"]]
    assert shapes == [[(16, 12, 3)] * 2, [(16, 12, 3)], None]


def test_coordinates_for_several_images_need_one_size(make_lake):
    schema = {"clip": dl.Sequence(dl.Image("png")), "boxes": dl.Boxes()}
    clips = [[masked(4, 8)] * 2, [masked(4, 8), masked(8, 8)], []]
    ds = make_lake(schema, clip=clips, boxes=[[[1, 2, 3, 4]]] * 3)
    loader = ds.batches(3, size=(16, 16), on_error="skip")
    (batch,) = loader
    assert [b.tolist() for b in batch["boxes"]] == [[[2, 8, 6, 16]], [[1, 2, 3, 4]]]
    assert [(s.position, s.column) for s in loader.skipped] == [(1, "boxes")]
    with pytest.raises(
        dl.LoaderError, match=r"row 1 of the view .*their sizes are \[\(4, 8\), \(8, 8\)\]"
    ):
        list(ds.batches(3, size=(16, 16)))


def test_items_without_an_image_of_the_same_number_are_reported(make_lake):
    schema = {"clip": dl.Sequence(dl.Image("png")), "boxes": dl.Sequence(dl.Boxes())}
    ds = make_lake(schema, clip=[[masked(4, 8)]], boxes=[[[], []]])
    with pytest.raises(dl.LoaderError, match=r"'boxes'.*there are 2 items and 1 image\."):
        list(ds.batches(1, size=(16, 16)))


def test_links_are_not_guessed(make_lake):
    schema = {"image": dl.Image("png"), "linked": dl.Link(dl.Mask())}
    ds = make_lake(schema, image=[masked(4, 8)], linked=["a.png"])
    with pytest.raises(ValueError, match=r"which image 'linked' .*its values are links"):
        ds.batches(1, size=(8, 8))


def test_null_images_leave_coordinates_unchanged(make_lake):
    schema = {"image": dl.Image("png", nullable=True), "boxes": dl.Boxes()}
    picture = np.zeros((4, 4), "uint8")
    ds = make_lake(schema, image=[None, picture], boxes=[[[0, 0, 2, 2]]] * 2)
    (batch,) = ds.batches(2, size=(8, 8))
    assert [b.tolist() for b in batch["boxes"]] == [[[0, 0, 2, 2]], [[0, 0, 4, 4]]]


def test_resized_mask_has_no_new_numbers():
    mask = np.random.default_rng(0).integers(0, 9, (5, 7), "uint8")
    for shape in ((3, 2), (5, 7), (11, 20)):
        result = resize_nearest(mask, *shape)
        assert result.shape == shape
        assert {*np.unique(result)} <= {*np.unique(mask)}
    np.testing.assert_array_equal(resize_nearest(mask, 5, 7), mask)
    np.testing.assert_array_equal(resize_nearest(resize_nearest(mask, 10, 14), 5, 7), mask)
