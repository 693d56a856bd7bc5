from __future__ import annotations

import io
import struct
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image, PngImagePlugin

import deeplake_lite as dl
from deeplake_lite.codecs.png import Png
from deeplake_lite.errors import DamagedError, InvalidValueError, SchemaError
from deeplake_lite.testing.codecs import (
    check_config,
    check_cut_short,
    check_damaged,
    check_encode_decode,
    check_file,
    check_refuses,
)

CODEC, INDEXED = Png(), Png(indexed=True)
UINT8 = np.dtype("uint8")
SIGNATURE = b"\x89PNG\r\n\x1a\n"
END = b"\0\0\0\0IEND\xaeB`\x82"


def chunk(kind: bytes, payload: bytes) -> bytes:
    check = zlib.crc32(kind + payload)
    return struct.pack(">I", len(payload)) + kind + payload + struct.pack(">I", check)


def png(width: int, height: int, bits: int, color: int, rows: bytes, *between: bytes) -> bytes:
    """Return a PNG of packed rows, each after its filter byte."""
    header = struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, 0)
    image = chunk(b"IDAT", zlib.compress(rows))
    return SIGNATURE + chunk(b"IHDR", header) + b"".join(between) + image + END


def with_chunk_behind(data: bytes, kind: bytes, payload: bytes) -> bytes:
    return data[:-12] + chunk(kind, payload) + END


@pytest.mark.parametrize("codec", [CODEC, INDEXED, Png(indexed=False, level=9)])
def test_configuration_round_trips(codec):
    check_config(codec)


def test_configuration_out_of_range_is_refused():
    with pytest.raises(
        SchemaError, match="level of 'png' must be an integer from 0 to 9, but it is 10"
    ):
        Png(level=10)
    with pytest.raises(SchemaError, match="indexed of 'png' must be False or True, but it is 1"):
        Png(indexed=1)


def test_pixels_round_trip(pixels):
    kinds = ("grey", "grey alpha", "rgb", "rgba", "uint16", "one pixel", "one row", "one column")
    check_encode_decode(CODEC, [pixels[kind] for kind in kinds])
    check_encode_decode(Png(level=0), [pixels["rgb"]])
    check_encode_decode(INDEXED, [pixels["grey"], pixels["uint16"]])


def test_unsupported_pixels_are_refused(pixels):
    check_refuses(CODEC, [pixels["int32"], pixels["float32"], np.zeros((2, 2), bool)])
    check_refuses(CODEC, [np.zeros((2, 0), UINT8), np.zeros((2, 2, 3), "uint16")])
    check_refuses(INDEXED, [pixels["rgb"], np.zeros((2, 2), "int64")])


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_all_modes_decode_as_in_pillow(photo, oracle, file_of, mode):
    image = Image.fromarray(photo).convert("L" if mode == "I;16" else mode).convert(mode)
    data = file_of(image, "PNG")
    check_file(CODEC, data, oracle(data))


@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_transparent_grey_level_becomes_alpha(bits):
    top = (1 << bits) - 1
    packed = {1: 0b01000000, 2: 0b00110000, 4: 0x0F}.get(bits)
    row = bytes([0, packed]) if packed is not None else bytes([0, 0, top])
    data = png(2, 1, bits, 0, row, chunk(b"tRNS", struct.pack(">H", top)))
    header = CODEC.probe(data)
    assert (header.shape, header.dtype) == ((1, 2, 2), "uint8")
    assert CODEC.decode(data, header.shape, UINT8).tolist() == [[[0, 255], [255, 0]]]
    assert INDEXED.decode(data, INDEXED.probe(data).shape, UINT8).tolist() == [[0, top]]


def test_transparent_colour_becomes_alpha():
    row = bytes([0, 1, 2, 3, 1, 2, 4])
    data = png(2, 1, 8, 2, row, chunk(b"tRNS", struct.pack(">HHH", 1, 2, 3)))
    assert CODEC.decode(data, (1, 2, 4), UINT8).tolist() == [[[1, 2, 3, 0], [1, 2, 4, 255]]]
    assert CODEC.probe(data).shape == (1, 2, 4)


def test_transparent_16_bit_colour_is_ignored():
    row = struct.pack(">B3H3H", 0, 257, 514, 771, 256, 512, 768)
    data = png(2, 1, 16, 2, row, chunk(b"tRNS", struct.pack(">HHH", 257, 514, 771)))
    assert CODEC.decode(data, CODEC.probe(data).shape, UINT8).tolist() == [[[1, 2, 3], [1, 2, 3]]]
    grey = png(1, 1, 16, 0, b"\0\1\2", chunk(b"tRNS", b"\1\2"))
    assert CODEC.decode(grey, (1, 1), np.dtype("uint16")).tolist() == [[258]]


@pytest.mark.parametrize("mode", [None, "RGBA", "RGB", "L"])
def test_columns_convert_transparent_colours_as_pillow_does(mode):
    grey = png(2, 1, 8, 0, bytes([0, 7, 9]), chunk(b"tRNS", b"\0\x07"))
    colour = png(1, 1, 8, 2, bytes([0, 1, 2, 3]), chunk(b"tRNS", struct.pack(">HHH", 1, 2, 3)))
    ds = dl.create(f"memory://transparent-{mode}", {"im": dl.Image("auto", mode=mode)})
    ds.append({"im": [grey, colour]})
    for file, default, result in zip((grey, colour), ("LA", "RGBA"), ds["im"][:], strict=True):
        expected = np.array(Image.open(io.BytesIO(file)).convert(mode or default))
        np.testing.assert_array_equal(result, expected)


def test_pillow_images_preserve_their_transparent_colour():
    image = Image.fromarray(np.array([[7, 9]], "uint8"))
    image.info["transparency"] = 7
    ds = dl.create("memory://transparent-pillow", {"im": dl.Image("png")})
    ds.append({"im": [image]})
    assert ds[0]["im"].tolist() == [[[7, 0], [9, 255]]]


@pytest.mark.parametrize("transparency", [3, bytes([0, 100, 255])])
def test_palette_with_transparency_is_rgba(photo, oracle, file_of, transparency):
    data = file_of(Image.fromarray(photo).convert("P"), "PNG", transparency=transparency)
    expected = oracle(data)
    assert expected.shape == (96, 128, 4)
    check_file(CODEC, data, expected)
    check_file(INDEXED, data, np.array(Image.open(io.BytesIO(data))))


@pytest.mark.parametrize("colors", [2, 4, 16, 200])
def test_indexed_returns_palette_indices(photo, file_of, colors):
    image = Image.fromarray(photo).quantize(colors)
    check_file(INDEXED, file_of(image, "PNG"), np.array(image))


@pytest.mark.parametrize(
    ("bits", "packed", "indices"),
    [
        (1, 0b01000000, [0, 1]),
        (2, 0b01110000, [1, 3]),
        (4, 0x7F, [7, 15]),
    ],
)
def test_indexed_returns_low_bit_grey_values_as_stored(oracle, bits, packed, indices):
    data = png(2, 1, bits, 0, bytes([0, packed]))
    check_file(INDEXED, data, np.array([indices], UINT8))
    check_file(CODEC, data, np.array([indices], UINT8) * (255 // (2**bits - 1)))
    check_file(CODEC, data, oracle(data))


def test_16_bit_colours_are_read_as_8_bits(oracle):
    rows = b"\0" + struct.pack(">6H", 0, 256, 512, 65535, 255, 1)
    data = png(2, 1, 16, 2, rows)
    check_file(CODEC, data, oracle(data))
    assert CODEC.probe(data).dtype == "uint8"


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("mode", ["L", "RGBA", "P", "I;16"])
def test_orientation_is_honoured_wherever_it_is_stored(
    photo, oracle, file_of, exif_of, xmp_of, orientation, mode
):
    image = Image.fromarray(photo).convert("L" if mode == "I;16" else mode).convert(mode)
    plain, exif = file_of(image, "PNG"), exif_of(orientation)
    texts = PngImagePlugin.PngInfo()
    texts.add_itxt("XML:com.adobe.xmp", xmp_of(orientation).decode())
    profile = PngImagePlugin.PngInfo()
    profile.add_text("Raw profile type exif", f"\nexif\n {len(exif)}\n{exif.hex()}\n", zip=True)
    for data in (
        file_of(image, "PNG", exif=exif),
        file_of(image, "PNG", pnginfo=texts),
        file_of(image, "PNG", pnginfo=profile),
        with_chunk_behind(plain, b"eXIf", exif[6:]),
        with_chunk_behind(plain, b"tEXt", b"date:create\x002026"),
    ):
        check_file(CODEC, data, oracle(data))
        assert CODEC.probe(data).shape[0] in (96, 128)


def test_interlaced_animated_and_many_chunks(photo, oracle, file_of):
    frames = [Image.fromarray(photo), Image.fromarray(photo[::-1].copy())]
    data = file_of(frames[0], "PNG", save_all=True, append_images=frames[1:])
    check_file(CODEC, data, photo)
    rows = b"".join(b"\0" + row.tobytes() for row in photo[..., 0])
    packed = zlib.compress(rows)
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", 128, 96, 8, 0, 0, 0, 0))
    pieces = [packed[start : start + 100] for start in range(0, len(packed), 100)]
    many = SIGNATURE + header + b"".join(chunk(b"IDAT", piece) for piece in pieces) + END
    check_file(CODEC, many, photo[..., 0])
    # Adam7 of one pixel: its first pass alone
    one = SIGNATURE + chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 1))
    one += chunk(b"IDAT", zlib.compress(b"\0\7")) + END
    check_file(CODEC, one, oracle(one))


def test_truncated_file_is_refused(photo, file_of, exif_of):
    check_cut_short(CODEC, file_of(photo[:9, :7], "PNG", exif=exif_of(6)))
    check_cut_short(INDEXED, file_of(Image.fromarray(photo[:9, :7]).quantize(9), "PNG"))
    big, rng = file_of(photo, "PNG"), np.random.default_rng(0)
    check_cut_short(CODEC, big, rng.integers(0, len(big), 200).tolist())


def test_bytes_after_the_end_are_ignored(photo, oracle, file_of):
    data = file_of(photo, "PNG")
    check_file(CODEC, data + b"junk", oracle(data))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"the file is empty \(0 bytes\)"),
        (b"GIF89a", "must be a PNG file, but its 6 bytes look like a GIF image"),
        (SIGNATURE, "the header IHDR is truncated or missing"),
        (SIGNATURE + chunk(b"IDAT", bytes(20)) + END, "the header IHDR is truncated or missing"),
        (png(60_000, 60_000, 8, 0, b"\0"), "the IDAT chunks are too small for the header's pixels"),
        (png(0, 1, 8, 0, b"\0"), "must have pixels, but this PNG file has"),
        (png(1, 1, 3, 0, b"\0\0"), "must be a complete PNG file"),
    ],
)
def test_file_of_another_format_is_refused(data, message):
    with pytest.raises(InvalidValueError, match=message):
        CODEC.probe(data)
    with pytest.raises(DamagedError):
        CODEC.decode(data, (), UINT8)


def test_every_flipped_bit_of_the_pixels_is_detected(photo, file_of):
    data = file_of(photo[:9, :7], "PNG")
    expected = CODEC.decode(data, (), UINT8)
    for bit in range(8 * 8, 8 * len(data)):
        wrong = bytearray(data)
        wrong[bit // 8] ^= 1 << bit % 8
        try:
            decoded = CODEC.decode(wrong, (), UINT8)
        except DamagedError:
            continue
        np.testing.assert_array_equal(decoded, expected)


def test_truncated_pixels_are_damage(photo):
    rows = b"".join(b"\0" + row.tobytes() for row in photo[:50, :, 0])
    for filled in (photo[50:, :, 0], photo[50:, :, 0] * 0 + 0xA5):
        whole = np.concatenate([photo[:50, :, 0], filled])
        check_file(
            CODEC, png(128, 96, 8, 0, b"".join(b"\0" + row.tobytes() for row in whole)), whole
        )
    data = png(128, 96, 8, 0, rows)
    with pytest.raises(DamagedError, match="the IDAT chunks end before the last row"):
        CODEC.decode(data, (96, 128), UINT8)


def test_damage_raises_only_our_errors(photo, file_of, exif_of):
    check_damaged(CODEC, file_of(photo, "PNG", exif=exif_of(6)), times=500)
    check_damaged(INDEXED, file_of(Image.fromarray(photo).quantize(9), "PNG"), times=300)


def test_image_beyond_pillows_bomb_limit_is_read():
    array = np.zeros((9_500, 9_500), UINT8)
    data = Png(level=1).encode(array)
    assert Png(level=1).decode(data, array.shape, UINT8).shape == array.shape


@given(st.binary(max_size=200))
def test_noise_raises_only_our_errors(noise):
    for data in (noise, SIGNATURE + noise, SIGNATURE + b"\0\0\0\x0dIHDR" + noise):
        with pytest.raises(InvalidValueError):
            CODEC.probe(data)


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_16_bits_round_trip(height, width, seed):
    array = np.random.default_rng(seed).integers(0, 65536, (height, width), "uint16")
    check_encode_decode(CODEC, [array])


def adam7(array: np.ndarray) -> bytes:
    """Return the rows of grey pixels in seven passes."""
    passes = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2)]
    rows = []
    for left, top, right, down in [*passes, (0, 1, 1, 2)]:
        part = array[top::down, left::right]
        rows += [b"\0" + row.tobytes() for row in part if part.size]
    return b"".join(rows)


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (2, 2), (5, 3), (20, 33)])
def test_interlaced_images_decode_if_complete(photo, oracle, shape):
    array = photo[: shape[0], : shape[1], 0]
    header = chunk(b"IHDR", struct.pack(">IIBBBBB", shape[1], shape[0], 8, 0, 0, 0, 1))
    rows = adam7(array)
    data = SIGNATURE + header + chunk(b"IDAT", zlib.compress(rows)) + END
    check_file(CODEC, data, array)
    check_file(CODEC, data, oracle(data))
    for missing in {1, min(shape[1], len(rows) // 2)}:
        wrong = SIGNATURE + header + chunk(b"IDAT", zlib.compress(rows[:-missing])) + END
        with pytest.raises(DamagedError, match="bytes of PNG cannot be decoded"):
            CODEC.decode(wrong, array.shape, UINT8)
