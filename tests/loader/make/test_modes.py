"""Greyscale and colour images in one batch, and columns that are converted permanently."""

import io

import numpy as np
import pytest
from PIL import Image as Pillow

import deeplake_lite as dl

SHAPES = [(24, 32), (24, 32, 3), (24, 32, 4), (24, 32), (24, 32, 3)]


def pictures(shapes=SHAPES):
    rng = np.random.default_rng(0)
    return [rng.integers(0, 255, shape, "uint8") for shape in shapes]


def converted(pixels, mode):
    return np.asarray(Pillow.fromarray(pixels).convert(mode))


@pytest.fixture(params=["png", "raw", "auto"])
def ds(request, make_lake):
    return make_lake({"image": dl.Image(request.param), "x": "int32"}, image=pictures(), x=range(5))


@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA"])
@pytest.mark.parametrize("cache", ["encoded", "decoded"])
def test_images_of_all_kinds_stack_in_a_mode(ds, mode, cache):
    loader = ds.batches(3, mode=mode, cache=cache)
    expected = [converted(pixels, mode) for pixels in pictures()]
    for _ in range(2):
        result = np.concatenate([batch["image"] for batch in loader])
        np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA"])
def test_mode_can_be_combined_with_a_size(ds, mode):
    result = np.concatenate([b["image"] for b in ds.batches(2, mode=mode, size=(12, 16))])
    expected = ds.batches(5, columns=["image"], collate="list", mode=mode)
    channels = {"RGB": (3,), "L": (), "RGBA": (4,)}[mode]
    assert result.shape == (5, 12, 16, *channels)
    (whole,) = expected
    means = [pixels.mean() for pixels in whole["image"]]
    np.testing.assert_allclose(result.reshape(5, -1).mean(axis=1), means, atol=2)


@pytest.mark.parametrize("mode", [{"image": "RGB"}, "RGB"])
def test_all_frameworks_know_the_shape(ds, mode):
    options = {"columns": ["image"], "mode": mode}
    spec = ds.tensorflow(5, **options).element_spec["image"]
    assert tuple(spec.shape) == (None, 24, 32, 3)
    for view in (ds, ds[:1]):
        for make in (view.pytorch, view.jax, view.tensorflow):
            (batch,) = make(5, **options)
            assert tuple(batch["image"].shape) == (len(view), 24, 32, 3)
            assert set(batch) == {"image"}
    assert tuple(ds.pytorch_dataset(**options)[0]["image"].shape) == (24, 32, 3)


def test_images_of_different_sizes_are_lists_in_the_mode(make_lake):
    ds = make_lake({"image": dl.Image("png")}, image=pictures([(4, 5), (6, 7, 3)]))
    (batch,) = ds.batches(2, mode="RGB")
    assert [pixels.shape for pixels in batch["image"]] == [(4, 5, 3), (6, 7, 3)]
    (batch,) = ds.batches(2, mode="RGB", collate="pad")
    assert (batch["image"].shape, batch["image_mask"].shape) == ((2, 6, 7, 3), (2, 6, 7))


def test_nulls_and_transforms_use_the_mode(make_lake):
    ds = make_lake({"image": dl.Image("png", nullable=True)}, image=[*pictures()[:2], None])
    shapes = []
    loader = ds.batches(
        3, mode="RGB", num_workers=0,
        transform=lambda s: shapes.append(None if s["image"] is None else s["image"].shape) or s,
    )  # fmt: skip
    (batch,) = loader
    assert shapes == [(24, 32, 3), (24, 32, 3), None]
    (batch,) = ds.batches(3, mode="RGB", size=(8, 9))
    assert (batch["image"].shape, batch["image_valid"].tolist()) == (
        (3, 8, 9, 3),
        [True, True, False],
    )


def test_grey_and_colour_jpegs_are_scaled_while_decoding(make_lake):
    files = []
    for shape in [(64, 80), (64, 80, 3)]:
        buffer = io.BytesIO()
        Pillow.fromarray(np.full(shape, 90, "uint8")).save(buffer, "jpeg")
        files.append(buffer.getvalue())
    ds = make_lake({"image": dl.Image("jpeg")}, image=files)
    (batch,) = ds.batches(2, mode="RGB", size=(16, 20))
    assert np.abs(batch["image"].astype(int) - 90).max() <= 1


def test_error_without_a_mode_suggests_one(ds):
    with pytest.raises(dl.LoaderError, match="differ in channels, convert them with mode='RGB'"):
        list(ds.batches(5, size=(8, 8)))


def test_16_bit_images_have_no_mode(make_lake):
    deep = np.full((4, 5), 40_000, "uint16")
    ds = make_lake({"image": dl.Image("png")}, image=[deep, np.zeros((4, 5, 3), "uint8")])
    with pytest.raises(dl.LoaderError, match="8-bit image for mode='RGB', but it is uint16"):
        list(ds.batches(2, mode="RGB"))
    with pytest.raises(dl.InvalidValueError, match="8-bit image for mode='RGB', but it is uint16"):
        ds.set_mode("image", "RGB")
    assert ds["image"][0].max() == 40_000


@pytest.mark.parametrize(
    ("mode", "error", "match"),
    [
        ("CMYK", ValueError, "mode must be 'L', 'RGB', 'RGBA' or None"),
        ({"x": "RGB"}, ValueError, "mode converts columns of type Image, but column 'x'"),
        ({"imag": "RGB"}, dl.ColumnNotFoundError, "Did you mean 'image'"),
    ],
)
def test_invalid_mode_is_refused(ds, mode, error, match):
    with pytest.raises(error, match=match):
        ds.batches(2, mode=mode)


# ---- permanent conversion


@pytest.mark.parametrize("mode", ["RGB", "L", "RGBA"])
def test_column_is_converted_permanently(ds, mode):
    before = [bytes(b) for b in raw(ds)]
    ds.commit("pictures")
    ds.set_mode("image", mode)
    ds.append({"image": pictures()[:1], "x": [5]})
    ds.commit("converted")
    again = dl.open(ds.url)
    expected = [converted(pixels, mode) for pixels in [*pictures(), pictures()[0]]]
    for result, pixels in zip(again["image"][:], expected, strict=True):
        np.testing.assert_array_equal(result, pixels)
    assert again.schema["image"].htype.mode == mode
    assert {tuple(shape) for shape in again["image"].shapes.tolist()} == {
        (24, 32, {"RGB": 3, "L": -1, "RGBA": 4}[mode])
    }
    if again.schema["image"].htype.codec != "raw":
        assert [bytes(b) for b in raw(again)][:5] == before  # the files are unchanged
    assert again.verify()
    (batch,) = again.batches(6)
    np.testing.assert_array_equal(batch["image"], expected)


def raw(ds):
    table, slots = ds.rows.locate()
    return table.read([ds.schema["image"].id], slots)[ds.schema["image"].id].buffers


def test_mode_can_be_removed_again(ds):
    ds.set_mode("image", "L")
    ds.set_mode("image", None)
    if ds.schema["image"].htype.codec != "raw":  # which has cached the converted pixels
        for result, pixels in zip(ds["image"][:], pictures(), strict=True):
            np.testing.assert_array_equal(result, pixels)
    ds.set_mode("image", None)


def test_non_image_column_has_no_mode(ds):
    with pytest.raises(dl.SchemaError, match="Only image columns have a mode, but column 'x'"):
        ds.set_mode("x", "RGB")
    with pytest.raises(dl.SchemaError, match="mode of an image"):
        ds.set_mode("image", "CMYK")


def test_empty_column_gets_a_mode(make_lake):
    ds = make_lake({"image": dl.Image("png")})
    ds.set_mode("image", "RGB")
    ds.append({"image": pictures()[:1]})
    assert ds["image"][0].shape == (24, 32, 3)
