from __future__ import annotations

import struct
from io import BytesIO

import numpy as np
import pytest
import tifffile
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, TiffImagePlugin

from deeplake_lite.codecs.tiff import Tiff
from deeplake_lite.errors import DamagedError, InvalidValueError, SchemaError
from deeplake_lite.testing.codecs import (
    check_config,
    check_cut_short,
    check_damaged,
    check_encode_decode,
    check_file,
    check_refuses,
)

CODEC = Tiff()
UINT8 = np.dtype("uint8")
COMPRESSIONS = ["deflate", "lzw", "none"]


def scientific(array: np.ndarray, **options: object) -> bytes:
    """Return a file written by tifffile."""
    file = BytesIO()
    tifffile.imwrite(file, array, **options)
    return file.getvalue()


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_configuration_round_trips(compression):
    check_config(Tiff(compression))


def test_configuration_out_of_range_is_refused():
    with pytest.raises(
        SchemaError, match="compression of 'tiff' must be 'none', 'deflate' or 'lzw'"
    ):
        Tiff("jpeg")


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_pixels_round_trip(pixels, compression):
    check_encode_decode(Tiff(compression), pixels.values())


def test_unsupported_pixels_are_refused(pixels):
    wrong = [pixels["rgb"].astype(dtype) for dtype in ("uint16", "float32", "int32")]
    check_refuses(CODEC, [*wrong, np.zeros((2, 2), "int16"), np.zeros((2, 2), "float64")])
    check_refuses(CODEC, [np.zeros((0, 2), UINT8), np.zeros((2, 2), bool)])


@pytest.mark.parametrize(
    "mode", ["1", "L", "LA", "P", "PA", "RGB", "RGBA", "RGBX", "CMYK", "YCbCr", "LAB", "I;16", "F"]
)
@pytest.mark.parametrize("compression", ["raw", "tiff_lzw", "packbits"])
def test_all_modes_decode_as_in_pillow(photo, oracle, file_of, mode, compression):
    image = Image.fromarray(photo)
    if mode == "LAB":
        image = Image.frombytes("LAB", image.size, image.tobytes())
    elif mode == "PA":
        image = image.convert("P").convert("PA")
    else:
        image = image.convert("L" if mode == "I;16" else mode).convert(mode)
    data = file_of(image, "TIFF", compression=compression)
    check_file(CODEC, data, oracle(data))


@pytest.mark.parametrize("compression", ["jpeg", "group4", "tiff_adobe_deflate"])
def test_all_compressions_decode_as_in_pillow(photo, oracle, file_of, compression):
    image = Image.fromarray(photo).convert("1" if compression == "group4" else "RGB")
    data = file_of(image, "TIFF", compression=compression)
    check_file(CODEC, data, oracle(data))
    check_cut_short(CODEC, data, range(0, len(data), 97))


@pytest.mark.parametrize("byteorder", ["<", ">"])
@pytest.mark.parametrize("bigtiff", [False, True])
@pytest.mark.parametrize("tile", [None, (32, 48)])
@pytest.mark.parametrize("kind", ["grey", "rgb", "uint16", "float32"])
def test_scientific_files_decode(pixels, oracle, byteorder, bigtiff, tile, kind):
    array = pixels[kind]
    data = scientific(array, byteorder=byteorder, bigtiff=bigtiff, tile=tile, rowsperstrip=7)
    if bigtiff and byteorder == ">":
        with pytest.raises(InvalidValueError, match="it is in big-endian BigTIFF format"):
            CODEC.probe(data)
        return
    check_file(CODEC, data, array)
    check_file(CODEC, data, oracle(data))
    check_cut_short(CODEC, data, range(0, len(data), 997))
    check_cut_short(CODEC, data, [len(data) - 1])


def test_planes_and_pages(photo, oracle):
    channels = photo.transpose(2, 0, 1).copy()
    planar = scientific(channels, planarconfig="separate", photometric="rgb")
    check_file(CODEC, planar, oracle(planar))
    pages = scientific(np.stack([photo, photo[::-1], photo]), photometric="rgb")
    check_file(CODEC, pages, photo)
    check_cut_short(CODEC, pages, range(0, len(pages), 997))


def test_signed_16_bits_are_read_as_int32():
    data = scientific(np.array([[-3, 7]], "int16"))
    check_file(CODEC, data, np.array([[-3, 7]], "int32"))


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("compression", ["raw", "tiff_lzw"])
def test_orientation_is_honoured(pixels, oracle, file_of, xmp_of, orientation, compression):
    tag, packet = TiffImagePlugin.ImageFileDirectory_v2(), TiffImagePlugin.ImageFileDirectory_v2()
    tag[0x0112] = orientation
    packet.tagtype[700], packet[700] = 1, xmp_of(orientation)
    for kind in ("grey", "rgb", "uint16"):
        for info in (tag, packet):
            data = file_of(pixels[kind], "TIFF", tiffinfo=info, compression=compression)
            check_file(CODEC, data, oracle(data))
            height = CODEC.probe(data).shape[0]
            assert height == (96 if orientation < 5 else 128)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_truncated_file_is_refused(pixels, compression):
    for kind in ("grey", "rgba", "float32"):
        check_cut_short(CODEC, Tiff(compression).encode(pixels[kind][:9, :7]))
    big, rng = Tiff(compression).encode(pixels["rgb"]), np.random.default_rng(0)
    check_cut_short(CODEC, big, rng.integers(0, len(big), 200).tolist())


def test_file_with_truncated_metadata_is_refused(photo, file_of):
    exif = Image.Exif()
    exif[0x010F] = "a camera with a name that is kept elsewhere"
    exif.get_ifd(0x8769)[0x9003] = "2026:01:01 00:00:00"
    check_cut_short(CODEC, file_of(photo[:9, :7], "TIFF", exif=exif))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"the file is empty \(0 bytes\)"),
        (b"II*\1", "must be a TIFF file"),
        (b"II*\0", "a directory ends at byte 8, so the file is truncated"),
        (
            b"II*\0\x08\0\0\0\0\0\0\0\0\0",
            "the image needs 0 strips or tiles, but only 0 are listed",
        ),
    ],
)
def test_file_of_another_format_is_refused(data, message):
    with pytest.raises(InvalidValueError, match=message):
        CODEC.probe(data)
    with pytest.raises(DamagedError):
        CODEC.decode(data, (), UINT8)


def test_missing_strips_are_detected(photo):
    data = scientific(photo[..., 0], rowsperstrip=8)
    entry = struct.pack("<HHI", 257, 4, 1)  # ImageLength
    taller = data.replace(entry + struct.pack("<I", 96), entry + struct.pack("<I", 960))
    with pytest.raises(InvalidValueError, match="the image needs 120 strips or tiles, but only 12"):
        CODEC.probe(taller)


def test_circular_directories_terminate(photo):
    data = bytearray(scientific(photo))
    start = struct.unpack_from("<I", data, 4)[0]
    following = start + 2 + 12 * struct.unpack_from("<H", data, start)[0]
    struct.pack_into("<I", data, following, start)
    check_file(CODEC, bytes(data), photo)


def test_damage_raises_only_our_errors(pixels):
    for compression in COMPRESSIONS:
        for kind in ("rgb", "uint16"):
            check_damaged(CODEC, Tiff(compression).encode(pixels[kind]), times=300)


@pytest.mark.parametrize("compression", ["none", "lzw"])
def test_image_beyond_pillows_bomb_limit_is_read(compression):
    array = np.zeros((9_500, 9_500), UINT8)
    codec = Tiff(compression)
    assert codec.decode(codec.encode(array), array.shape, UINT8).shape == array.shape


@given(st.binary(max_size=200))
def test_noise_raises_only_our_errors(noise):
    for data in (noise, b"II*\0\x08\0\0\0" + noise, b"MM\0*\0\0\0\x08" + noise, b"II+\0" + noise):
        with pytest.raises(InvalidValueError):
            CODEC.probe(data)
