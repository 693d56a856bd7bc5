"""No value is decoded that takes more memory than the handle allows, on writes and on reads."""

import struct
import tracemalloc
import zlib
from io import BytesIO

import numpy as np
import pytest
from PIL import Image as Pillow

import deeplake_lite as dl
from deeplake_lite import codecs
from deeplake_lite.codecs.limits import NO_LIMITS
from deeplake_lite.htypes.cells import RaggedCells

SMALL = dl.Limits(max_pixels=64 * 64, max_bytes=3 * 64 * 64)


def picture(height, width, channels=3):
    return np.zeros((height, width, channels)[: 3 if channels else 2], "uint8")


def chunk(kind, data):
    return len(data).to_bytes(4) + kind + data + zlib.crc32(kind + data).to_bytes(4)


def png_bomb(height, width):
    """Return a PNG of a few kilobytes that contains all of its rows."""
    ihdr = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    deflate = zlib.compressobj(9)
    rows = [deflate.compress(bytes(1 + 3 * width)) for _ in range(height)]
    idat = b"".join([*rows, deflate.flush()])
    parts = [chunk(b"IHDR", ihdr), chunk(b"IDAT", idat), chunk(b"IEND", b"")]
    return b"".join([b"\x89PNG\r\n\x1a\n", *parts])


def webp_bomb(height, width):
    """Return a lossless WebP of one colour: 34 bytes whatever its size."""
    file = BytesIO()
    Pillow.new("RGB", (1, 1)).save(file, "webp", lossless=True)
    data = bytearray(file.getvalue())
    at = data.index(b"VP8L") + 9
    bits = int.from_bytes(data[at : at + 4], "little") >> 28 << 28
    data[at : at + 4] = (bits | (width - 1) | (height - 1) << 14).to_bytes(4, "little")
    return bytes(data)


def bmp_bomb(height, width):
    """Return a BMP with run-length encoded pixels."""
    data = b"\0\0" * 3 + b"\0\1"
    head = struct.pack("<IiiHHIIiiII", 40, width, height, 1, 8, 1, len(data), 0, 0, 256, 0)
    start = 14 + len(head) + 1024
    return b"BM" + struct.pack("<IHHI", start + len(data), 0, 0, start) + head + bytes(1024) + data


def tiff_bomb(height, width):
    file = BytesIO()
    Pillow.fromarray(picture(height, width)).save(file, "tiff", compression="tiff_adobe_deflate")
    return file.getvalue()


def jpeg_bomb(height, width):
    return bytes(codecs.get("jpeg").encode(picture(height, width)))


BOMBS = {
    "png": png_bomb,
    "webp": webp_bomb,
    "bmp": bmp_bomb,
    "tiff": tiff_bomb,
    "jpeg": jpeg_bomb,
}


@pytest.fixture(params=BOMBS)
def bomb(request):
    return BOMBS[request.param](300, 500)


def never(*_args, **_kwargs):
    raise AssertionError("pixels were decoded")


def forbid_decoding(monkeypatch):
    """Fail if pixels are allocated or decoded."""
    monkeypatch.setattr("PIL.ImageFile.ImageFile.load", never)
    monkeypatch.setattr("PIL.Image.new", never)
    monkeypatch.setattr("simplejpeg.decode_jpeg", never)
    monkeypatch.setattr("PIL._webp.WebPAnimDecoder", never)


@pytest.mark.parametrize("check", ["header", "full"])
@pytest.mark.parametrize("codec", ["auto", "png", "jpeg", "zstd"])
def test_file_over_the_limits_is_refused_by_its_header(make_lake, bomb, codec, check, monkeypatch):
    ds = dl.open(make_lake({"i": dl.Image(codec)}).url, limits=SMALL)
    forbid_decoding(monkeypatch)
    match = "column 'i', row 0: must decode to at most 4,096 pixels, but it has 300 x 500. If you"
    with pytest.raises(dl.TooLargeError, match=match):
        ds.append({"i": [bomb]}, check=check)
    assert len(ds) == 0


@pytest.mark.parametrize("htype", [dl.Image("png"), dl.Image("jpeg"), dl.Mask()])
def test_pillow_image_over_the_limits_is_refused_before_it_is_loaded(make_lake, monkeypatch, htype):
    ds = dl.open(make_lake({"x": htype}).url, limits=SMALL)
    image = Pillow.open(BytesIO(png_bomb(300, 500)))
    forbid_decoding(monkeypatch)
    with pytest.raises(dl.TooLargeError, match="at most 4,096 pixels"):
        ds.append({"x": [image]})


def test_cell_stored_with_higher_limits_is_not_read_with_lower_ones(make_lake, bomb, monkeypatch):
    url = make_lake({"i": dl.Image("auto")}, i=[bomb]).url
    ds = dl.open(url, limits=SMALL)
    ways = [
        lambda: ds["i"][0],
        lambda: ds[0],
        lambda: ds["i"][:],
        lambda: next(iter(ds.batches(1))),
        lambda: ds.query("SELECT MEAN(i) AS m")["m"][:],
        lambda: ds.query("SELECT * WHERE MAX(i) > 300")["i"][:],
    ]
    forbid_decoding(monkeypatch)
    for way in ways:
        with pytest.raises(dl.LakeError, match="must decode to at most 4,096 pixels"):
            way()
    ds._repr_html_()  # thumbnails


ENCODED = {
    "array": (dl.Array("float64", (None,), "zstd"), np.zeros(9_000)),
    "lz4": (dl.Array("uint8", (None, None), "lz4"), np.zeros((200, 200), "uint8")),
    "blosc": (dl.Array("int16", None, "blosc"), np.zeros((9, 900), "int16")),
    "fixed": (dl.Array("int16", (9, 900), "zstd"), np.zeros((9, 900), "int16")),
    "mask": (dl.Mask(), picture(80, 80, 0)),
    "wide mask": (dl.Mask(dtype="int32"), np.zeros((60, 60), "int32")),
    "objects": (dl.Mask("instance"), np.zeros((9, 60, 60), bool)),
    "pixels": (dl.Image("zstd"), picture(80, 80)),
    "deep pixels": (dl.Image("blosc", dtype="float64"), np.zeros((60, 60))),
    "deep png": (dl.Image("png"), np.zeros((60, 60, 4), "uint8")),
    "items": (dl.Sequence(dl.Image("png")), [picture(9, 9), picture(80, 80)]),
    "mode": (dl.Image("png", mode="L"), picture(80, 80)),
}


@pytest.mark.parametrize("kind", ENCODED)
def test_every_encoded_cell_obeys_the_limits(make_lake, kind):
    htype, value = ENCODED[kind]
    url = make_lake({"x": htype}, x=[value]).url
    ds = dl.open(url, limits=SMALL)
    with pytest.raises(
        dl.TooLargeError, match=r"must decode to at most (4,096 pixels|12,288 bytes)"
    ):
        ds.append({"x": [value]})
    for way in (lambda: ds["x"][0], lambda: ds["x"][:], lambda: list(ds.batches(1))):
        with pytest.raises(dl.LakeError, match=r"must decode to at most (4,096 pix|12,288 byt)"):
            way()
    roomy = dl.open(url, limits=dl.Limits(max_pixels=None, max_bytes=None))
    roomy.append({"x": [value]})
    assert len(roomy["x"][:]) == 2


def test_uncompressed_cells_cannot_grow_and_have_no_limit(make_lake):
    schema = {"raw": dl.Array("float64", (None,), "raw"), "plain": dl.Array("float64", (None,))}
    ds = dl.open(make_lake(schema).url, limits=SMALL)
    ds.append({"raw": [np.zeros(9_000)], "plain": [np.zeros(9_000)]})
    assert ds["raw"][0].shape == ds["plain"][0].shape == (9_000,)


def test_limits_are_inherited_from_a_handle(make_lake):
    import pickle

    base = make_lake({"i": dl.Image("png"), "x": "int32"}, i=[picture(80, 80)], x=[1])
    ds = dl.open(base.url, limits=SMALL)
    ds.add_column("j", dl.Image("png", nullable=True))
    with pytest.raises(dl.TooLargeError):
        ds["j"][0] = picture(80, 80)
    ds.set_nullable("x")
    ds.commit("another column")
    others = [
        ds,
        ds[:],
        pickle.loads(pickle.dumps(ds)),
        ds.query("SELECT *"),
        ds.query("SELECT i AS i WHERE x = 1"),
    ]
    ds.branch("other")
    ds.checkout("other")
    for other in [*others, ds]:
        with pytest.raises(dl.TooLargeError, match="at most 4,096 pixels"):
            other["i"][0]


def test_limits_are_not_part_of_a_type():
    htype = dl.Sequence(dl.Link(dl.Image("png")))
    limited = htype.limited(SMALL)
    assert limited == htype
    assert hash(limited) == hash(htype)
    assert repr(limited) == repr(htype)
    assert limited.get_config() == htype.get_config()
    assert limited.of.of.limits == SMALL
    config = {**dl.Image().get_config(), "_limits": {"max_pixels": 1}}
    with pytest.raises(dl.FormatError, match="has no field '_limits'"):
        dl.Schema.from_json({"columns": [{"name": "i", "id": "c00000000", "htype": config}]})


def test_linked_file_obeys_the_limits(make_lake, tmp_path):
    (tmp_path / "a.png").write_bytes(png_bomb(300, 500))
    url = make_lake({"l": dl.Link("image")}, l=["a.png"]).url
    ds = dl.open(url, allow=[str(tmp_path)], limits=SMALL)
    with pytest.raises(dl.TooLargeError, match="at most 4,096 pixels"):
        ds["l"][0]


@pytest.mark.parametrize("name", BOMBS)
def test_header_that_contradicts_the_lake_is_damage(name, monkeypatch):
    """Memory is allocated for the recorded size, never for the one that the bytes claim."""
    data = BOMBS[name](300, 500)
    htype = dl.Image(name)
    cells = RaggedCells([data], np.array([[30, 50, 3]], np.int32))
    forbid_decoding(monkeypatch)
    with pytest.raises(dl.DamagedError, match=r"the header says \(300, 500.* the stored shape is"):
        htype.decode_cells(cells)
    with pytest.raises(dl.DamagedError):
        htype.decode_small(data, (30, 50, 3), 8)
    converted = dl.Image(name, mode="RGB")
    with pytest.raises(dl.DamagedError):
        converted.decode(data, (30, 50, 3))


@pytest.mark.parametrize("shape", [(), (7,), (0, 0), (-5, 9), (1, 2, 3, 4), (2**31 - 1,) * 3])
@pytest.mark.parametrize("kind", ENCODED)
def test_invalid_shapes_raise_our_errors(kind, shape):
    htype, value = ENCODED[kind]
    if isinstance(htype, dl.Sequence):
        htype, value = htype.of, value[0]
    data = htype.encode([value]).buffers[0]
    with pytest.raises(dl.LakeError):
        htype.decode(data, shape)


def test_file_with_many_scans_is_refused():
    file = BytesIO()
    Pillow.fromarray(picture(64, 64)).save(file, "jpeg", progressive=True)
    data = file.getvalue()
    start = data.index(b"\xff\xda")
    scan = data[start : data.index(b"\xff", start + 14)]
    many = data[:-2] + scan * 600 + b"\xff\xd9"
    with pytest.raises(dl.InvalidValueError, match="scans"):
        dl.Image("jpeg").encode([many])


def test_tiles_larger_than_the_image_are_refused():
    """For a file with a single tile of 60,000 x 60,000, libtiff would allocate all of it."""
    entries = {
        256: 8,
        257: 8,
        258: 8,
        259: 1,
        262: 1,
        277: 1,
        322: 60_000,
        323: 60_000,
        324: 8,
        325: 64,
    }
    tags = b"".join(struct.pack("<HHII", tag, 4, 1, n) for tag, n in sorted(entries.items()))
    data = b"II*\0" + struct.pack("<IH", 8, len(entries)) + tags + bytes(4 + 64)
    with pytest.raises(dl.InvalidValueError, match="its tiles are larger than the image"):
        dl.Image("tiff").encode([data])


@pytest.mark.parametrize(
    ("limits", "match"),
    [({"max_pixels": 0}, "max_pixels must be"), ({"max_bytes": 1.5}, "max_bytes must be")],
)
def test_invalid_limits_are_refused(limits, match):
    with pytest.raises(ValueError, match=match):
        dl.Limits(**limits)


def test_default_limits_are_generous_and_finite():
    photo = dl.Limits()
    photo.check_picture((10_652, 14_204, 3), 1)  # 151 megapixels, the largest cameras
    photo.check_picture((10_980, 10_980), 2)  # a tile of Sentinel-2
    with pytest.raises(dl.TooLargeError):
        dl.Image("webp").encode([webp_bomb(16_384, 16_384)])
    NO_LIMITS.check_picture((1 << 20, 1 << 20), 8)


def test_every_way_to_make_a_lake_accepts_limits(tmp_path, new_url):
    (tmp_path / "a.png").write_bytes(png_bomb(300, 500))
    with pytest.raises(dl.TooLargeError, match=r"a\.png.*at most 4,096 pixels"):
        dl.from_folder(tmp_path, new_url(), limits=SMALL)
    with pytest.raises(dl.TooLargeError):
        dl.create(new_url(), {"i": dl.Image()}, limits=SMALL).append({"i": [picture(80, 80)]})
    skipped = dl.from_arrays(
        {"i": [(tmp_path / "a.png").read_bytes(), png_bomb(8, 8)]},
        new_url(),
        schema={"i": dl.Image()},
        limits=SMALL,
        on_error="skip",
        progress=False,
    )
    assert len(skipped) == 1


# ---- compressed numbers

SKIPPED = bytes.fromhex("502a4d18 04000000 00000000")  # a frame that Zstandard skips
EMPTY = bytes.fromhex("28b52ffd 2000 010000")  # an empty frame
NUMBERS = {name: ENCODED[name] for name in ("array", "lz4", "blosc", "fixed", "wide mask")}
NUMBERS |= {name: ENCODED[name] for name in ("objects", "pixels", "deep pixels")}
NUMBERS["raw"] = (dl.Array("uint8", (None, None), "raw"), np.zeros((200, 200), "uint8"))
NUMBERS["raw pixels"] = (dl.Image("raw"), picture(80, 80))


def stretched(htype, value, times):
    """Return the bytes of a cell that is longer than `value`."""
    longer = np.zeros((times * value.shape[0], *value.shape[1:]), value.dtype)
    if isinstance(htype, dl.Array):
        htype = dl.Array(htype.dtype, (None,) * longer.ndim, htype.codec)
    return bytes(htype.limited(NO_LIMITS).encode([longer]).buffers[0])


DAMAGE = {
    "longer": lambda htype, value, _: stretched(htype, value, 2),
    "bomb": lambda htype, value, _: stretched(htype, value, 500),
    "cut": lambda _, __, data: data[:-1],
    "half": lambda _, __, data: data[: len(data) // 2],
    "nothing": lambda _, __, ___: b"",
    "zero behind": lambda _, __, data: data + b"\0",
    "zeros behind": lambda _, __, data: data + bytes(100),
    "twice": lambda _, __, data: data * 2,
    "skipped frame behind": lambda _, __, data: data + SKIPPED,
    "skipped frame before": lambda _, __, data: SKIPPED + data,
    "empty frame behind": lambda _, __, data: data + EMPTY,
    "a size of 4 GiB": lambda _, __, data: data[:4] + b"\xff" * 4 + data[8:],
}


@pytest.mark.parametrize("damaged", DAMAGE)
@pytest.mark.parametrize("kind", NUMBERS)
def test_arrays_of_a_size_other_than_recorded_are_damage_and_take_no_memory(kind, damaged):
    htype, value = NUMBERS[kind]
    cells = htype.encode([value])
    data = DAMAGE[damaged](htype, value, bytes(cells.buffers[0]))
    if data == bytes(cells.buffers[0]) or (damaged.startswith("a size") and kind.startswith("raw")):
        return
    shape = tuple(n for n in cells.shapes[0].tolist() if n >= 0)
    tracemalloc.start()
    try:
        with pytest.raises(dl.DamagedError):
            htype.decode(data, shape)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 4 * value.nbytes + 100_000


FLAT = {
    **NUMBERS,
    "any": (dl.Array("float32", None), np.zeros((2, 2), "float32")),
    "boxes": (dl.Boxes("xyxy"), np.zeros((2, 4))),
    "keypoints": (dl.Keypoints(["a", "b"]), np.zeros((1, 2, 3))),
    "labels": (dl.ClassLabel(multiple=True), [1, 2]),
    "mask": ENCODED["mask"],
    "png": ENCODED["deep png"],
}


@pytest.mark.parametrize("sizes", [(0, -1), (-1, 0), (-1, -1)])
@pytest.mark.parametrize("kind", FLAT)
def test_recorded_shape_without_elements_or_with_huge_ones_never_crashes(kind, sizes):
    """-1 stands for the largest size, of which NumPy makes no array even if another size is 0."""
    htype, value = FLAT[kind]
    ndim = htype.layout.ndim if htype.layout.ndim < 8 else 7
    first, last = (2**31 - 1 if n == -1 else n for n in sizes)
    for shape in ((first,) * (ndim - 1) + (last,), (first,) + (last,) * (ndim - 1)):
        for data in (b"", bytes(htype.encode([value]).buffers[0])):
            try:
                result = htype.decode(data, shape)
            except dl.LakeError:
                continue
            assert result.shape == shape
            assert result.size == 0
