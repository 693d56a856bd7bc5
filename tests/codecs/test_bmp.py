from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from deeplake_lite.codecs.bmp import Bmp
from deeplake_lite.errors import DamagedError, InvalidValueError
from deeplake_lite.testing.codecs import (
    check_config,
    check_cut_short,
    check_damaged,
    check_encode_decode,
    check_file,
    check_refuses,
)

CODEC = Bmp()
UINT8 = np.dtype("uint8")


def bmp(
    width: int, height: int, bits: int, compression: int, packed: bytes, *, tell_size: bool = True
) -> bytes:
    """Return a BMP, with a reversed grey palette if it has a palette."""
    colors = 1 << bits if bits <= 8 else 0
    palette = b"".join(bytes([255 - i] * 3 + [0]) for i in range(colors))
    start = 54 + len(palette)
    size = len(packed) if tell_size else 0
    info = (40, width, height, 1, bits, compression, size, 0, 0, colors, 0)
    head = b"BM" + struct.pack("<IHHI", start + len(packed), 0, 0, start)
    return head + struct.pack("<IiiHHIIiiII", *info) + palette + packed


RUNS = bytes([3, 7, 1, 9, 0, 0, 0, 4, 1, 2, 3, 4, 0, 1])
"""RLE8 of 4 x 2 pixels: a run of three, one of one, end of line, four literal ones, end."""


def test_configuration_round_trips():
    check_config(CODEC)


def test_pixels_round_trip(pixels):
    kinds = ("grey", "rgb", "one pixel", "one row", "one column")
    check_encode_decode(CODEC, [pixels[kind] for kind in kinds])


def test_unsupported_pixels_are_refused(pixels):
    check_refuses(CODEC, [pixels[kind] for kind in ("grey alpha", "rgba", "uint16", "float32")])
    check_refuses(CODEC, [np.zeros((0, 2), UINT8), np.zeros((2, 2), bool)])


@pytest.mark.parametrize("mode", ["1", "L", "P", "RGB", "RGBA"])
def test_all_modes_decode_as_in_pillow(photo, oracle, file_of, mode):
    data = file_of(Image.fromarray(photo[:, :125]).convert(mode), "BMP")
    check_file(CODEC, data, oracle(data))


@pytest.mark.parametrize("tell_size", [True, False])
def test_runs_of_pixels_decode(oracle, tell_size):
    data = bmp(4, 2, 8, 1, RUNS, tell_size=tell_size)
    check_file(CODEC, data, oracle(data))
    check_cut_short(CODEC, data)


def test_top_down_rows_and_low_bit_depths_decode(oracle):
    for data in (
        bmp(2, -2, 24, 0, bytes(range(16))),
        bmp(2, 2, 4, 0, bytes(range(8))),
        bmp(2, 2, 16, 0, bytes(range(8))),
        bmp(2, 2, 32, 0, bytes(range(16))),
    ):
        check_file(CODEC, data, oracle(data))
        check_cut_short(CODEC, data)


def test_oldest_header_is_read(oracle):
    palette = bytes(range(6))
    head = b"BM" + struct.pack("<IHHI", 26 + 6 + 8, 0, 0, 26 + 6)
    data = head + struct.pack("<IHHHH", 12, 3, 2, 1, 1) + palette + bytes([0xA0, 0, 0, 0] * 2)
    check_file(CODEC, data, oracle(data))
    check_cut_short(CODEC, data)


def test_wrong_file_size_is_ignored(photo, oracle, file_of):
    data = file_of(photo, "BMP")
    wrong = data[:2] + bytes(4) + data[6:]
    check_file(CODEC, wrong, oracle(data))
    check_file(CODEC, wrong + b"junk", oracle(data))


def test_truncated_file_is_refused(photo, file_of):
    for mode in ("1", "L", "P", "RGB", "RGBA"):
        check_cut_short(CODEC, file_of(Image.fromarray(photo[:9, :7]).convert(mode), "BMP"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"the file is empty \(0 bytes\)"),
        (b"MZ" + bytes(60), "must be a BMP file, but its 62 bytes look like an unknown format"),
        (b"BM", "its pixels end at byte 18, so the file is truncated"),
        (bmp(2, 2, 8, 4, bytes(8)), "must be a complete BMP file"),
        (bmp(0, 2, 8, 0, bytes(8)), "must be a complete BMP file"),
        (bmp(60_000, 60_000, 8, 1, RUNS), "decode to at most 2,147,483,648 bytes"),
    ],
)
def test_file_of_another_format_is_refused(data, message):
    with pytest.raises(InvalidValueError, match=message):
        CODEC.probe(data)
    with pytest.raises(DamagedError):
        CODEC.decode(data, (), UINT8)


def test_truncated_runs_are_damage():
    data = bmp(4, 200, 8, 1, RUNS)
    with pytest.raises(DamagedError, match="bytes of BMP cannot be decoded"):
        CODEC.decode(data, (200, 4), UINT8)


def test_damage_raises_only_our_errors(photo, file_of):
    check_damaged(CODEC, file_of(photo, "BMP"), times=300)
    check_damaged(CODEC, bmp(4, 2, 8, 1, RUNS), times=500)


@given(st.binary(max_size=200))
def test_noise_raises_only_our_errors(noise):
    with pytest.raises(InvalidValueError):
        CODEC.probe(noise)
