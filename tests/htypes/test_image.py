from __future__ import annotations

import re
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image as Pillow

from deeplake_lite.errors import DamagedError, InvalidValueError, SchemaError
from deeplake_lite.htypes import Image, Mask, Picture, Ragged
from deeplake_lite.testing.htypes import check_config, check_encode_decode, check_refuses

FILES = ["jpeg", "png", "webp", "tiff", "bmp"]
NUMBERS = ["raw", "zstd", "lz4", "blosc"]
RNG = np.random.default_rng(0)


def picture(*shape, dtype="uint8"):
    """A smooth image, which lossy codecs hardly change."""
    y, x = np.mgrid[: shape[0], : shape[1]]
    pixels = (x * 3 + y * 2) % 200
    if len(shape) == 3:
        pixels = np.stack([pixels + 10 * c for c in range(shape[2])], axis=2)
    return pixels.astype(dtype)


def file_of(image, kind, **options):
    """An encoded file, made by Pillow."""
    image = image if isinstance(image, Pillow.Image) else Pillow.fromarray(image)
    file = BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def turned(pixels, orientation, kind="JPEG"):
    """A file whose EXIF orientation turns it on its side."""
    exif = Pillow.Exif()
    exif[0x0112] = orientation
    return file_of(pixels, kind, exif=exif)


@pytest.mark.parametrize("codec", ["auto", *FILES, *NUMBERS])
def test_configurations_round_trip(codec):
    check_config(Image(codec))
    check_config(Image(codec, mode="RGB", nullable=True))
    assert Image(codec).layout == Ragged("uint8" if codec in NUMBERS else "bytes", 3)


@pytest.mark.parametrize("codec", ["auto", "png", "tiff", "bmp", *NUMBERS])
def test_arrays_round_trip_through_lossless_codecs(codec):
    values = [picture(20, 30), picture(7, 5, 3), picture(1, 1, 3)]
    check_encode_decode(Image(codec), values)


@pytest.mark.parametrize("codec", ["jpeg", "webp"])
def test_arrays_round_trip_approximately_through_lossy_codecs(codec):
    values = [picture(20, 30, 3), picture(33, 17, 3)]
    decoded = Image(codec).decode_cells(Image(codec).encode(values))
    for got, expected in zip(decoded, values, strict=True):
        assert got.shape == expected.shape
        assert np.abs(got.astype(int) - expected).mean() < 12


@pytest.mark.parametrize("codec", FILES)
def test_file_in_the_columns_codec_is_stored_unchanged(codec):
    data = file_of(picture(20, 30, 3), codec.upper())
    for htype in (Image(codec), Image("auto")):
        for value in (data, bytearray(data), memoryview(data)):
            cells = htype.encode([value])
            assert bytes(cells.buffers[0]) == data
            assert cells.shapes.tolist() == [[20, 30, 3]]
        check_encode_decode(htype, [data], [htype.decode(data, (20, 30, 3))])


@pytest.mark.parametrize("codec", ["jpeg", "webp", "raw", "zstd"])
def test_files_in_another_codec_are_re_encoded(codec):
    data = file_of(picture(20, 30, 3), "PNG")
    cells = Image(codec).encode([data])
    assert cells.shapes.tolist() == [[20, 30, 3]]
    assert bytes(cells.buffers[0]) != data
    assert Image(codec).decode_cells(cells)[0].shape == (20, 30, 3)


def test_pixels_of_a_lossless_column_equal_those_of_the_file():
    data = file_of(picture(20, 30, 3), "JPEG", quality=50)
    pixels = Image("jpeg").decode(data, (20, 30, 3))
    for codec in ("png", "raw"):
        np.testing.assert_array_equal(
            Image(codec).decode_cells(Image(codec).encode([data]))[0], pixels
        )


def test_values_may_be_paths_urls_and_pillow_images(tmp_path):
    data = file_of(picture(20, 30, 3), "PNG")
    path = tmp_path / "a b.png"
    path.write_bytes(data)
    with Pillow.open(path) as image:
        values = [path, str(path), path.as_uri(), data, image, picture(20, 30, 3)]
        check_encode_decode(Image("png"), values, [picture(20, 30, 3)] * 6)
        assert [bytes(b) for b in Image("png").encode(values[:5]).buffers] == [data] * 5


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        ("L", "L"),
        ("RGB", "RGB"),
        ("RGBA", "RGBA"),
        ("LA", "LA"),
        ("1", "L"),
        ("P", "RGB"),
        ("CMYK", "RGB"),
        ("YCbCr", "RGB"),
        ("HSV", "RGB"),
    ],
)
def test_pillow_images_of_every_mode_round_trip(mode, expected):
    image = Pillow.fromarray(picture(9, 8, 3)).convert(mode)
    wanted = np.array(image.convert(expected))
    check_encode_decode(Image("png"), [image], [wanted])


def test_16_bits_round_trip():
    pixels = picture(9, 8, dtype="uint16") * 300
    check_encode_decode(
        Image("png"), [pixels, Pillow.fromarray(pixels), file_of(pixels, "PNG")], [pixels] * 3
    )
    check_encode_decode(Image("zstd", dtype="uint16"), [pixels])
    check_encode_decode(Image("png"), [Pillow.fromarray(pixels.astype("int32"))], [pixels])
    check_encode_decode(Image("raw", dtype="float32"), [pixels.astype("float32") / 7])


def test_alpha_and_channels_are_preserved_where_the_codec_allows():
    rgba = picture(9, 8, 4)
    check_encode_decode(
        Image("png"),
        [rgba, picture(9, 8, 2), picture(9, 8, 1)],
        [rgba, picture(9, 8, 2), picture(9, 8)],
    )
    check_encode_decode(Image("raw"), [rgba, picture(9, 8, 1)])


@pytest.mark.parametrize("orientation", [1, 3, 6, 8, 5])
def test_shape_is_measured_after_orientation(orientation):
    data = turned(picture(20, 30, 3), orientation)
    cells = Image("jpeg").encode([data])
    assert bytes(cells.buffers[0]) == data
    decoded = Image("jpeg").decode_cells(cells)[0]
    assert (
        decoded.shape
        == tuple(cells.shapes[0])
        == ((20, 30, 3) if orientation in (1, 3) else (30, 20, 3))
    )
    assert Image("png").encode([data]).shapes.tolist() == cells.shapes.tolist()
    rgb = Image("jpeg", mode="L")
    assert rgb.decode_cells(rgb.encode([data]))[0].shape == decoded.shape[:2]


def test_cmyk_files_become_rgb():
    data = file_of(Pillow.fromarray(picture(16, 16, 3)).convert("CMYK"), "JPEG")
    expected = np.array(Pillow.open(BytesIO(data)).convert("RGB"))
    check_encode_decode(Image("jpeg"), [data], [expected])
    check_encode_decode(Image("png"), [data], [expected])


@pytest.mark.parametrize(
    ("mode", "shape"), [("RGB", (9, 8, 3)), ("L", (9, 8)), ("RGBA", (9, 8, 4))]
)
@pytest.mark.parametrize("codec", ["auto", "png", "webp", "raw", "zstd"])
def test_mode_converts_as_in_pillow(codec, mode, shape):
    if (codec, mode) == ("webp", "L"):
        with pytest.raises(SchemaError, match="WebP cannot store grey images"):
            Image(codec, mode=mode)
        return
    htype = Image(codec, mode=mode)
    sources = [picture(9, 8, 3), picture(9, 8, 4), picture(9, 8, 2), picture(9, 8)]
    files = [file_of(source, "PNG") for source in sources]
    expected = [np.array(Pillow.fromarray(source).convert(mode)) for source in sources]
    for values in (sources, files):
        cells = htype.encode(values)
        decoded = htype.decode_cells(cells)
        assert [value.shape for value in decoded] == [shape] * 4
        assert [tuple(s for s in row if s >= 0) for row in cells.shapes.tolist()] == [shape] * 4
        if codec != "webp":
            for got, want in zip(decoded, expected, strict=True):
                np.testing.assert_array_equal(got, want)


def test_mode_drops_alpha_for_jpeg():
    htype = Image("jpeg", mode="RGB")
    assert htype.encode([picture(9, 8, 4)]).shapes.tolist() == [[9, 8, 3]]


@pytest.mark.parametrize("codec", ["jpeg", "png", "auto", "raw"])
@pytest.mark.parametrize(
    ("bad", "match"),
    [
        (b"", "."),
        (b"hello world", "."),
        ("nowhere.jpg", "there is no file 'nowhere.jpg'.*Check the path"),
        (Path("nowhere.jpg"), "there is no file 'nowhere.jpg'"),
        (5, "must be an image: a path, .*but it is int 5"),
        ([[1, 2]], "must be an image.*but it is list .*np.asarray"),
        (np.zeros(5, "uint8"), r"must have shape \(h, w\) or \(h, w, 1 to 4\), but it has \(5,\)"),
        (
            np.zeros((3, 20, 30), "uint8"),
            r"but it has \(3, 20, 30\). Put channels last: x.transpose\(1, 2, 0\)",
        ),
        (np.zeros((0, 5), "uint8"), r"but it has \(0, 5\)"),
    ],
)
def test_invalid_image_is_refused(codec, bad, match):
    check_refuses(Image(codec), bad, match)


def test_floats_are_not_pixels_of_a_file():
    for codec in ("png", "jpeg", "auto"):
        check_refuses(Image(codec), np.zeros((4, 5)), "uint8")
    check_refuses(Image("raw"), np.full((4, 5), 0.5), "must be uint8, but it is float64")


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF", "BMP"])
def test_truncated_files_are_reported_with_their_path(tmp_path, kind):
    data = file_of(picture(64, 64, 3), kind)
    path = tmp_path / "cut.img"
    for length in (3, 30, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:length])
        with pytest.raises(InvalidValueError, match=r"^row 1: '.*cut.img': ") as caught:
            Image("auto").encode([data, path])
        assert caught.value.row == 1
        check_refuses(Image("png"), data[:length], ".")


def test_damage_inside_a_file_is_only_found_by_a_full_check():
    data = bytearray(file_of(RNG.integers(0, 255, (64, 64, 3), "uint8"), "PNG"))
    data[len(data) // 2] ^= 0xFF
    Image("png").encode([bytes(data)])
    with pytest.raises(
        InvalidValueError, match=r"row 0: .*cannot be decoded.*Fetch the file again\.$"
    ) as caught:
        Image("png").encode([bytes(data)], check="full")
    assert caught.value.row == 0


@pytest.mark.parametrize("channels", [2, 4])
def test_alpha_into_jpeg_is_refused_with_a_suggestion(channels):
    match = (
        r"JPEG cannot store alpha, but the image has . channels. Declare Image\('png'\).*mode='RGB'"
    )
    check_refuses(Image("jpeg"), picture(9, 8, channels), match)
    check_refuses(Image("jpeg"), file_of(picture(9, 8, channels), "PNG"), match)


def test_mode_requires_eight_bits():
    pixels = picture(9, 8, dtype="uint16")
    for value in (pixels, file_of(pixels, "PNG")):
        check_refuses(
            Image("png", mode="RGB"), value, "8-bit image for mode='RGB', but it is uint16"
        )


@pytest.mark.parametrize(
    "arguments",
    [
        {"codec": "gif"},
        {"codec": None},
        {"mode": "CMYK"},
        {"dtype": "uint16"},
        {"codec": "raw", "mode": "RGB", "dtype": "uint16"},
        {"codec": "raw", "dtype": "int64"},
        {"codec": "png", "quality": 90},
        {"codec": "jpeg", "quality": 101},
        {"codec": "jpeg", "quality": "high"},
    ],
)
def test_invalid_configurations_are_schema_errors(arguments):
    with pytest.raises(SchemaError):
        Image(**arguments)


def test_stored_bytes_that_are_not_an_image_are_damaged():
    for htype in (Image("auto"), Image("png"), Image("jpeg", mode="L")):
        with pytest.raises(DamagedError):
            htype.decode(b"\x89PNG broken", (4, 5, 3))


def test_quality_determines_the_encoded_size():
    sizes = [
        len(Image("jpeg", quality=q).encode([picture(99, 99, 3)]).buffers[0]) for q in (20, 95)
    ]
    assert sizes[0] < sizes[1]
    check_config(Image("webp", quality=50, mode="RGB"))


def test_default_image_is_stored_as_a_file():
    data = file_of(picture(2, 3), "PNG")
    for default in (data, picture(2, 3), Pillow.fromarray(picture(2, 3))):
        for codec in ("png", "zstd"):
            htype = Image(codec, default=default)
            assert isinstance(htype.default, bytes)
            check_config(htype)
            cells = htype.encode_default(2)
            np.testing.assert_array_equal(htype.decode_cells(cells)[1], picture(2, 3))


@pytest.mark.parametrize(
    "pixels",
    [
        picture(200, 100),
        picture(100, 3000, 3),
        picture(50, 60, 4),
        picture(5, 5, 2),
        picture(300, 300, 1),
        picture(99, 99, dtype="uint16"),
        picture(40, 40).astype("float32") / 255,
        np.full((9, 9), np.nan, "float32"),
    ],
)
def test_previews_are_small_images(pixels):
    preview = Image("raw").preview(pixels)
    assert isinstance(preview, Picture)
    with Pillow.open(BytesIO(preview.data)) as image:
        assert image.size == (preview.width, preview.height)
        assert max(image.size) <= 96
        assert Pillow.MIME[image.format] == preview.mime


@pytest.mark.parametrize("htype", [Image(), Image("jpeg"), Image("png", mode="RGB"), Mask()])
@pytest.mark.parametrize("data", [b"", b"no picture at all", b"%PDF-1.7"])
def test_damaged_image_is_to_be_restored_rather_than_converted(htype, data):
    with pytest.raises(DamagedError, match=r"Restore") as caught:
        htype.decode(data, (4, 4, -1))
    assert not re.search("Convert|Fetch|column type|leave the row out", str(caught.value))


def test_converted_image_may_exceed_pillows_limit(monkeypatch):
    data = file_of(picture(9, 8), "PNG")
    monkeypatch.setattr(Pillow, "MAX_IMAGE_PIXELS", 10)
    htype = Image(mode="RGB")
    assert htype.decode_cells(htype.encode([data]))[0].shape == (9, 8, 3)
    assert htype.from_file(data).shape == (9, 8, 3)
