from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from deeplake_lite.codecs.webp import Webp
from deeplake_lite.errors import DamagedError, InvalidValueError, SchemaError
from deeplake_lite.testing.codecs import (
    check_config,
    check_cut_short,
    check_damaged,
    check_encode_decode,
    check_file,
    check_refuses,
)

CODEC, LOSSLESS = Webp(), Webp(lossless=True)
UINT8 = np.dtype("uint8")


@pytest.mark.parametrize("codec", [CODEC, LOSSLESS, Webp(quality=0)])
def test_configuration_round_trips(codec):
    check_config(codec)


def test_configuration_out_of_range_is_refused():
    with pytest.raises(SchemaError, match="quality of 'webp' must be an integer from 0 to 100"):
        Webp(quality="high")
    with pytest.raises(SchemaError, match="lossless of 'webp' must be False or True"):
        Webp(lossless="yes")


def test_pixels_round_trip(pixels):
    kinds = ("rgb", "one pixel", "one row", "one column")
    check_encode_decode(LOSSLESS, [pixels[kind] for kind in (*kinds, "rgba")])
    check_encode_decode(CODEC, [pixels[kind] for kind in kinds], tolerance=8)
    check_encode_decode(Webp(100), [pixels["rgb"]], tolerance=3)


def test_unsupported_pixels_are_refused(pixels):
    kinds = ("grey", "grey alpha", "uint16", "int32", "float32")
    check_refuses(CODEC, [pixels[kind] for kind in kinds])
    check_refuses(CODEC, [np.zeros((0, 2, 3), UINT8), np.zeros((2, 2, 3), bool)])
    with pytest.raises(InvalidValueError, match="at most 16,383 pixels per side"):
        CODEC.encode(np.zeros((1, 16_384, 3), UINT8))


@pytest.mark.parametrize("mode", ["L", "P", "RGB", "RGBA"])
@pytest.mark.parametrize("options", [{}, {"lossless": True}, {"quality": 20, "method": 6}])
def test_files_decode_as_in_pillow(photo, oracle, file_of, mode, options):
    data = file_of(Image.fromarray(photo).convert(mode), "WEBP", **options)
    check_file(CODEC, data, oracle(data))


@pytest.mark.parametrize("orientation", range(1, 9))
def test_orientation_is_honoured(pixels, oracle, file_of, exif_of, xmp_of, orientation):
    for kind in ("rgb", "rgba"):
        exif = exif_of(orientation)
        for options in ({"exif": exif}, {"exif": exif[6:]}, {"xmp": xmp_of(orientation)}):
            data = file_of(pixels[kind], "WEBP", **options)
            check_file(CODEC, data, oracle(data))


def test_first_frame_of_an_animation_is_read(photo, oracle, file_of):
    more = [Image.fromarray(photo[::-1].copy())]
    data = file_of(photo, "WEBP", save_all=True, append_images=more, lossless=True)
    check_file(CODEC, data, oracle(data))


def test_truncated_file_is_refused(photo, file_of, exif_of):
    for options in ({}, {"lossless": True}, {"exif": exif_of(6)}):
        check_cut_short(CODEC, file_of(photo[:9, :7], "WEBP", **options))
    big, rng = file_of(photo, "WEBP"), np.random.default_rng(0)
    check_cut_short(CODEC, big, rng.integers(0, len(big), 200).tolist())


def test_bytes_after_the_end_are_ignored(photo, oracle, file_of):
    data = file_of(photo, "WEBP")
    check_file(CODEC, data + b"junk", oracle(data))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"the file is empty \(0 bytes\)"),
        (b"RIFF\4\0\0\0WAVE", "must be a WEBP file, but its 12 bytes look like"),
        (b"RIFF\4\0\0\0WEBP", "must be a complete WEBP file, but its 12 bytes are not: "),
    ],
)
def test_file_of_another_format_is_refused(data, message):
    with pytest.raises(InvalidValueError, match=message):
        CODEC.probe(data)
    with pytest.raises(DamagedError):
        CODEC.decode(data, (), UINT8)


def test_damage_raises_only_our_errors(photo, file_of, exif_of):
    check_damaged(CODEC, file_of(photo, "WEBP", exif=exif_of(6)), times=500)
    check_damaged(CODEC, file_of(photo, "WEBP", lossless=True), times=300)


@given(st.binary(max_size=200))
def test_noise_raises_only_our_errors(noise):
    for data in (noise, b"RIFF\x20\0\0\0WEBPVP8L" + noise, b"RIFF\x20\0\0\0WEBPVP8X" + noise):
        with pytest.raises(InvalidValueError):
            CODEC.probe(data)
