from __future__ import annotations

import io
import re
import struct
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from sklearn.datasets import load_sample_images

from deeplake_lite.codecs._files import MAX_BYTES
from deeplake_lite.codecs.base import Header
from deeplake_lite.codecs.jpeg import Jpeg
from deeplake_lite.errors import DamagedError, InvalidValueError, SchemaError
from deeplake_lite.testing.codecs import (
    check_config,
    check_cut_short,
    check_damaged,
    check_encode_decode,
    check_file,
    check_refuses,
)

CODEC = Jpeg()
UINT8 = np.dtype("uint8")


def segment(marker: int, payload: bytes) -> bytes:
    return bytes([0xFF, marker]) + struct.pack(">H", len(payload) + 2) + payload


def lossless(width: int, height: int) -> bytes:
    """Return a grey lossless JPEG (SOF3) in which every pixel is 128."""
    return (
        b"\xff\xd8"
        + segment(0xC3, struct.pack(">BHHB", 8, height, width, 1) + bytes([1, 0x11, 0]))
        + segment(0xC4, bytes([0, 1, *[0] * 15, 0]))
        + segment(0xDA, bytes([1, 1, 0, 1, 0, 0]))
        + bytes(width * height // 8)
        + b"\xff\xd9"
    )


def patched(data: bytes, marker: int, at: int, value: int) -> bytes:
    """Change a byte of the first segment with a marker, counted from the marker."""
    place = data.index(bytes([0xFF, marker])) + at
    return data[:place] + bytes([value]) + data[place + 1 :]


@pytest.mark.parametrize("codec", [CODEC, Jpeg(1, "444"), Jpeg(quality=100, subsampling="422")])
def test_configuration_round_trips(codec):
    check_config(codec)


@pytest.mark.parametrize(
    "options", [{"quality": 0}, {"quality": 101}, {"quality": True}, {"subsampling": "410"}]
)
def test_configuration_out_of_range_is_refused(options):
    with pytest.raises(SchemaError, match=f"{next(iter(options))} of 'jpeg' must be"):
        Jpeg(**options)


def test_pixels_round_trip_approximately(pixels):
    kinds = ("grey", "rgb", "one pixel", "one row", "one column")
    check_encode_decode(CODEC, [pixels[kind] for kind in kinds], tolerance=6)
    check_encode_decode(Jpeg(100, "444"), [pixels[kind] for kind in kinds], tolerance=1)


def test_alpha_16_bits_and_no_pixels_are_refused(pixels):
    kinds = ("grey alpha", "rgba", "uint16", "int32", "float32")
    check_refuses(CODEC, [pixels[kind] for kind in kinds])
    check_refuses(CODEC, [np.zeros((0, 4), UINT8), np.zeros((4, 4, 1), UINT8), np.zeros(4, UINT8)])
    check_refuses(CODEC, [np.zeros((2, 2), bool)])
    with pytest.raises(InvalidValueError, match="use PNG for alpha or 16 bits"):
        CODEC.encode(pixels["rgba"])
    with pytest.raises(InvalidValueError, match="at most 65,500 pixels per side"):
        CODEC.encode(np.zeros((1, 65_501), UINT8))


def test_photographs_decode_as_in_pillow(oracle, file_of):
    for image in load_sample_images().images:
        data = file_of(image[:301, :207], "JPEG", quality=85)
        check_file(CODEC, data, oracle(data))


@pytest.mark.parametrize(
    "options",
    [
        {"progressive": True},
        {"subsampling": 0},
        {"subsampling": 1},
        {"subsampling": "4:1:1"},
        {"restart_marker_blocks": 3},
        {"optimize": True, "comment": b"\xff\xd9 in a comment"},
        {"icc_profile": bytes(range(256)) * 1000},
        {"keep_rgb": True},
    ],
)
def test_all_kinds_of_files_decode_as_in_pillow(photo, oracle, file_of, options):
    data = file_of(photo, "JPEG", **options)
    check_file(CODEC, data, oracle(data))
    grey = file_of(photo[..., 0], "JPEG", **{k: v for k, v in options.items() if k != "keep_rgb"})
    check_file(CODEC, grey, oracle(grey))


@pytest.mark.parametrize("transform", [None, 0, 2])
def test_cmyk_and_ycck_convert_as_in_pillow(photo, oracle, file_of, transform):
    data = file_of(Image.fromarray(photo).convert("CMYK"), "JPEG", quality=90)
    if transform is None:
        start = data.index(b"\xff\xee")
        data = data[:start] + data[start + 16 :]  # no Adobe segment
    else:
        data = patched(data, 0xEE, 15, transform)
    assert CODEC.probe(data).shape == photo.shape
    check_file(CODEC, data, oracle(data))


@pytest.mark.parametrize("factors", [0x14, 0x41, 0x24])
def test_odd_subsampling_decodes_as_in_pillow(photo, oracle, file_of, factors):
    data = patched(file_of(photo, "JPEG", subsampling=2), 0xC0, 11, factors)
    check_file(CODEC, data, oracle(data))


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_exif_orientation_is_honoured(
    photo, oracle, file_of, exif_of, xmp_of, orientation, channels
):
    image = Image.fromarray(photo).convert({1: "L", 3: "RGB", 4: "CMYK"}[channels])
    for options in ({"exif": exif_of(orientation)}, {"xmp": xmp_of(orientation)}):
        data = file_of(image, "JPEG", **options)
        expected = oracle(data)
        assert expected.shape[:2] == ((96, 128) if orientation < 5 else (128, 96))
        check_file(CODEC, data, expected)


def test_exif_takes_precedence_over_xmp_and_invalid_orientations_are_ignored(
    photo, oracle, file_of, exif_of, xmp_of
):
    for options in (
        {"exif": exif_of(3), "xmp": xmp_of(6)},
        {"exif": exif_of(0)},
        {"exif": exif_of(9), "xmp": xmp_of(6)},
        {"exif": b"Exif\0\0"},
        {"exif": b"Exif\0\0II*\0\xff\xff\xff\xff"},
        {"exif": b"Exif\0\0MM\0*\0\0\0\x08\xff\xff" + bytes(30)},
        {"xmp": xmp_of(9)},
    ):
        data = file_of(photo, "JPEG", **options)
        with warnings.catch_warnings(action="ignore"):  # from Pillow
            expected = oracle(data)
        check_file(CODEC, data, expected)


def test_four_byte_orientation_is_read(photo, oracle, file_of):
    for order, head in ((">", b"MM\0*\0\0\0\x08"), ("<", b"II*\0\x08\0\0\0")):
        block = head + struct.pack(order + "HHHII", 1, 0x0112, 4, 1, 8) + bytes(4)
        data = file_of(photo, "JPEG", exif=b"Exif\0\0" + block)
        check_file(CODEC, data, oracle(data))
        assert CODEC.probe(data).shape == (128, 96, 3)


def test_truncated_file_is_refused(photo, file_of, exif_of):
    thumbnail = file_of(photo[::8, ::8], "JPEG")
    exif = exif_of(6) + thumbnail
    assert b"\xff\xd9" in exif
    check_cut_short(CODEC, file_of(photo[:24, :31], "JPEG", exif=exif))
    check_cut_short(CODEC, file_of(photo[:24, :31], "JPEG", progressive=True))
    big, rng = file_of(photo, "JPEG", exif=exif, quality=95), np.random.default_rng(0)
    check_cut_short(CODEC, big, rng.integers(0, len(big), 300).tolist())


def test_bytes_after_the_end_are_ignored(photo, oracle, file_of):
    data = file_of(photo, "JPEG")
    check_file(CODEC, data + b"junk", oracle(data))
    check_file(CODEC, data + data, oracle(data))


def test_only_padding_before_the_end_marker_is_ignored(photo, oracle, file_of):
    data = file_of(photo, "JPEG")
    check_file(CODEC, data[:-2] + bytes(3) + b"\xff\xd9", oracle(data))
    message = r"Corrupt JPEG data: .*\. Restore the image from a backup\.$"
    for wrong in (data[:-2] + bytes(300) + b"\xff\xd9", data[: len(data) // 2] + b"\xff\xd9"):
        assert CODEC.probe(wrong).shape == photo.shape
        with pytest.raises(DamagedError, match=message):
            CODEC.decode(wrong, photo.shape, UINT8)


def test_zero_scan_parameters_are_ignored_but_damage_is_not(photo, oracle, file_of):
    data = file_of(photo, "JPEG")
    scan = data.index(b"\xff\xda")
    zeros = data[: scan + 11] + bytes(3) + data[scan + 14 :]
    check_file(CODEC, zeros, oracle(data))
    with pytest.raises(DamagedError, match="premature end"):
        CODEC.decode(zeros[: len(data) // 2] + b"\xff\xd9", (), UINT8)


def test_fill_bytes_between_segments_are_skipped(photo, oracle, file_of):
    data = file_of(photo, "JPEG")
    filled = data.replace(b"\xff\xc0", b"\xff\xff\xff\xc0", 1)
    check_file(CODEC, filled, oracle(data))


def test_lossless_jpeg_is_read(oracle):
    data = lossless(16, 24)
    check_file(CODEC, data, np.full((24, 16), 128, UINT8))
    check_file(CODEC, data, oracle(data))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty (0 bytes)"),
        (
            b"\x89PNG\r\n\x1a\n" + bytes(20),
            "must be a JPEG file, but its 28 bytes look like a PNG",
        ),
        (b"<html>", "look like text '<html>'"),
        (b"\xff\xd8", "must be a JPEG file"),
        (b"\xff\xd8\xff", "ends before the first scan"),
        (b"\xff\xd8\xff\xe0\0\2\0\0\0\0", "no segment begins at byte 6"),
        (b"\xff\xd8" + segment(0xDA, bytes(6)) + b"\xff\xd9", "the frame header is missing"),
    ],
)
def test_file_of_another_format_is_refused(data, message):
    with pytest.raises(InvalidValueError, match=re.escape(message)):
        CODEC.probe(data)
    with pytest.raises(DamagedError):
        CODEC.decode(data, (), UINT8)


@pytest.mark.parametrize(
    ("at", "value", "message"),
    [
        (4, 12, "has 3 channels, 12 bits and process SOF0"),
        (9, 2, "has 2 channels"),
        (1, 0xC7, "process SOF7"),
        (5, 0xF0, "too few for the header's 61,"),
    ],
)
def test_unreadable_headers_are_refused(photo, file_of, at, value, message):
    data = file_of(photo, "JPEG")
    with pytest.raises(InvalidValueError, match=message):
        CODEC.probe(patched(data, 0xC0, at, value))


def test_empty_or_oversized_images_are_refused(photo, file_of):
    data = file_of(photo, "JPEG")
    frame = data.index(b"\xff\xc0")
    with pytest.raises(InvalidValueError, match="must have pixels, but this JPEG file has 0 x 128"):
        CODEC.probe(data[: frame + 5] + bytes(2) + data[frame + 7 :])
    wide = data[: frame + 5] + struct.pack(">HH", 1, 65_535) + data[frame + 9 :]
    with pytest.raises(InvalidValueError, match="has 1 x 65,535 pixels, more than 65,500 per"):
        CODEC.probe(wide)
    huge = data[: frame + 5] + struct.pack(">HH", 60_000, 60_000) + data[frame + 9 :]
    with pytest.raises(InvalidValueError, match=f"decode to at most {MAX_BYTES:,} bytes"):
        CODEC.probe(huge)


def test_damage_raises_only_our_errors(photo, file_of, exif_of):
    check_damaged(CODEC, file_of(photo, "JPEG", exif=exif_of(6)), times=500)
    check_damaged(CODEC, file_of(photo[:40], "JPEG", progressive=True), seed=1, times=300)
    check_damaged(CODEC, file_of(Image.fromarray(photo).convert("CMYK"), "JPEG"), times=200)


@given(st.binary(max_size=200))
def test_noise_raises_only_our_errors(noise):
    for data in (noise, b"\xff\xd8\xff" + noise):
        with pytest.raises(InvalidValueError):
            CODEC.probe(data)


@given(st.integers(1, 40), st.integers(1, 40), st.sampled_from([(), (3,)]), st.integers(1, 100))
def test_probe_returns_the_encoded_shape(height, width, channels, quality):
    array = np.full((height, width, *channels), 77, UINT8)
    data = Jpeg(quality).encode(array)
    assert CODEC.probe(data) == Header(array.shape, "uint8")
    assert np.array(Image.open(io.BytesIO(data))).shape == array.shape


@pytest.mark.parametrize("orientation", [1, 6])
def test_thumbnail_is_upright_and_keeps_the_longer_side(photo, file_of, exif_of, orientation):
    large = np.tile(photo, (8, 6, 1))[:640, :480]
    data = file_of(large, "JPEG", exif=exif_of(orientation))
    header = CODEC.probe(data)
    small = CODEC.decode_small(data, header.shape, np.dtype("uint8"), 96)
    whole = CODEC.decode(data, header.shape, np.dtype("uint8"))
    assert max(small.shape) == 160
    step = whole.shape[0] // small.shape[0]
    rough = whole.reshape(small.shape[0], step, small.shape[1], step, 3).mean(axis=(1, 3))
    assert np.abs(small - rough).mean() < 8


def test_damage_is_also_found_when_decoding_a_thumbnail(photo, file_of):
    data = file_of(photo, "JPEG")[:-2]
    with pytest.raises(DamagedError):
        CODEC.decode_small(data, photo.shape, np.dtype("uint8"), 8)
