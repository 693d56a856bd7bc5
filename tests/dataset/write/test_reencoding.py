"""No write path re-encodes images needlessly, or loses detail without a warning."""

import struct
import warnings
import zlib
from io import BytesIO

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import tifffile
from PIL import Image as Pillow
from PIL import ImageCms

import deeplake_lite as dl

PIXELS = np.random.default_rng(0).integers(0, 256, (24, 32, 3), "uint8")


def file_of(format_="JPEG", **options):
    file = BytesIO()
    Pillow.fromarray(PIXELS).save(file, format_, **options)
    return file.getvalue()


JPEG, PNG = file_of(quality=50), file_of("PNG")


def opened(data=JPEG):
    return Pillow.open(BytesIO(data))


def append(ds, value):
    ds.append({"i": [value]})


def append_rows(ds, value):
    ds.append([{"i": value}])


def append_stream(ds, value):
    ds.append({"i": v} for v in [value])


def append_frame(ds, value):
    ds.append(pd.DataFrame({"i": pd.Series([value], dtype=object)}))


def update(ds, value):
    append(ds, JPEG)
    ds.update([-1], {"i": [value]})


def assign(ds, value):
    append(ds, JPEG)
    ds["i"][len(ds) - 1] = value


def upsert(ds, value):
    ds.add_column("key", "int64", values=np.arange(len(ds)))
    ds.upsert({"key": [7], "i": [value]}, on="key")


def upsert_there(ds, value):
    append(ds, PIXELS)
    ds.add_column("key", "int64", values=np.arange(len(ds)))
    ds.upsert({"key": [len(ds) - 1], "i": [value]}, on="key")


def add_column(ds, value):
    append(ds, JPEG)
    htype = ds["i"].htype
    ds.drop_column("i")
    ds.add_column("i", htype, values=[value] * len(ds))


WAYS = [
    append,
    append_rows,
    append_stream,
    append_frame,
    update,
    assign,
    upsert,
    upsert_there,
    add_column,
]


@pytest.mark.parametrize("way", WAYS)
def test_unchanged_file_is_stored_whatever_the_way_in(make_lake, way):
    for value in (opened(), JPEG, {"bytes": JPEG, "path": None}):
        ds = make_lake({"i": dl.Image("jpeg")})
        way(ds, value)
        assert bytes(ds["i"].encoded()[-1]) == JPEG


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("value", "what"),
    [
        (opened().convert("RGB"), "a Pillow image that is not an unchanged JPEG file"),
        (PNG, "a PNG file"),
        (opened(PNG), "a Pillow image that is not an unchanged JPEG file"),
    ],
    ids=["converted", "file", "opened"],
)
def test_lost_detail_is_reported_once_per_column(make_lake, way, value, what):
    ds = make_lake({"i": dl.Image("jpeg")})
    match = f"column 'i': {what} and was encoded as JPEG, so its pixels have changed"
    with pytest.warns(dl.ReencodedWarning, match=match) as caught:
        way(ds, value)
    assert len(caught) == 1
    assert caught[0].filename == __file__, "the line of the user is named"
    append_again = {name: [value if name == "i" else 9] for name in ds.columns}
    ds.append(append_again)  # would raise if it warned again


@pytest.mark.parametrize("codec", ["png", "auto", "tiff", "bmp", "raw", "zstd", "blosc"])
def test_no_warning_without_loss(make_lake, codec):
    ds = make_lake({"i": dl.Image(codec)})
    ds.append({"i": [opened(PNG).convert("RGB"), opened(PNG), PNG, PIXELS]})
    for value in ds["i"][:]:
        np.testing.assert_array_equal(value, PIXELS)


def test_arrays_are_always_encoded(make_lake):
    ds = make_lake({"i": dl.Image("jpeg")})
    ds.append({"i": [PIXELS, PIXELS]})


def in_mode(mode, format_="PNG", *, plain=False):
    """Return a file in a mode; a plain one is greyscale and opaque."""
    image = Pillow.fromarray(np.full_like(PIXELS, 9) if plain else PIXELS).convert(mode)
    if "A" in mode and not plain:
        image.putalpha(7)
    file = BytesIO()
    image.save(file, format_)
    return file.getvalue()


LOST = {("L", "RGB"), ("L", "RGBA"), ("L", "LA"), ("RGB", "LA"), ("RGB", "RGBA")}


@pytest.mark.parametrize("codec", ["tiff", "bmp", "zstd", "raw", "png", "auto"])
@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA"])
@pytest.mark.parametrize("of", ["L", "LA", "RGB", "RGBA"])
@pytest.mark.parametrize("how", ["file", "opened", "changed"])
def test_dropped_channels_are_reported_once(make_lake, codec, mode, of, how):
    if (codec, mode) == ("bmp", "RGBA"):
        return  # BMP has no alpha
    ds, data = make_lake({"i": dl.Image(codec, mode=mode)}), in_mode(of)
    value = data if how == "file" else opened(data) if how == "opened" else opened(data).copy()
    kept = codec in ("png", "auto") and how != "changed"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", dl.ReencodedWarning)
        ds.append({"i": [value]})
        ds.append({"i": [value]})
    expected = 1 if (mode, of) in LOST and not kept else 0
    assert len(caught) == expected
    for warning in caught:
        assert f"was converted from {of} to {mode} and encoded as" in str(warning.message)
    np.testing.assert_array_equal(ds["i"][1], np.array(opened(data).convert(mode)))
    if kept:
        assert bytes(ds["i"].encoded()[1]) == data


@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA"])
@pytest.mark.parametrize("of", ["L", "LA", "RGB", "RGBA"])
def test_grey_opaque_file_loses_nothing_in_any_mode(make_lake, mode, of):
    ds = make_lake({"i": dl.Image("tiff", mode=mode)})
    ds.append({"i": [in_mode(of, plain=True), PIXELS if mode != "L" else PIXELS[..., 0]]})


def test_items_of_a_sequence_are_stored_unchanged_or_reported(make_lake):
    ds = make_lake({"s": dl.Sequence(dl.Image("jpeg"))})
    ds.append({"s": [[opened(), JPEG], [{"bytes": JPEG, "path": "a.jpg"}]]})
    with pytest.warns(dl.ReencodedWarning, match="column 's': a PNG file"):
        ds.append({"s": [[PNG]]})


def test_warning_turned_into_an_error_leaves_the_lake_unchanged(make_lake):
    ds = make_lake({"i": dl.Image("jpeg")}, i=[JPEG])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(dl.ReencodedWarning):
            ds.append({"i": [JPEG, PNG]})
    assert len(ds) == 1


TAKEN = {
    "from_arrays": lambda value, url: dl.from_arrays(
        {"i": [value]}, url, schema={"i": dl.Image("jpeg")}
    ),
    "skipping": lambda value, url: dl.from_arrays(
        {"i": [value, b"no picture"]}, url, schema={"i": dl.Image("jpeg")}, on_error="skip",
        progress=False,
    ),
    "from_dataframe": lambda value, url: dl.from_dataframe(
        pd.DataFrame({"i": pd.Series([value], dtype=object)}), url, schema={"i": dl.Image("jpeg")}
    ),
}  # fmt: skip


@pytest.mark.parametrize("taken", TAKEN)
def test_ingest_stores_files_unchanged_and_reports_the_others(taken, new_url):
    for value in (opened(), {"bytes": JPEG, "path": None}):
        assert bytes(TAKEN[taken](value, new_url())["i"].encoded()[0]) == JPEG
    with pytest.warns(dl.ReencodedWarning, match="column 'i'") as caught:
        TAKEN[taken](opened().convert("RGB"), new_url())
    assert caught[0].filename == __file__


def test_pillow_images_without_a_type_are_stored_as_their_files(new_url):
    ds = dl.from_dataframe(pd.DataFrame({"i": pd.Series([opened(), opened(PNG)])}), new_url())
    assert list(map(bytes, ds["i"].encoded())) == [JPEG, PNG]


def test_arrow_structs_of_files_are_appended(make_lake):
    ds = make_lake({"i": dl.Image("jpeg", nullable=True), "s": dl.Sequence(dl.Image())})
    file = {"bytes": JPEG, "path": None}
    ds.append(pa.table({"i": [file, None], "s": [[file, file], []]}))
    assert bytes(ds["i"].encoded()[0]) == JPEG
    assert ds["i"][1] is None
    assert [len(s) for s in ds["s"][:]] == [2, 0]


COPIES = {
    "view": lambda source, to: to.append(source),
    "column": lambda source, to: to.append({"i": source["i"]}),
    "slice": lambda source, to: to.append(source[:]),
}


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("to", [dl.Image("jpeg", quality=95), dl.Image(), dl.Image("jpeg")])
def test_files_are_copied_between_lakes_unchanged(make_lake, copy, to):
    source = make_lake({"i": dl.Image("jpeg")}, i=[JPEG, JPEG])
    ds = make_lake({"i": to})
    COPIES[copy](source, ds)
    assert list(map(bytes, ds["i"].encoded())) == [JPEG, JPEG]


def test_column_of_files_is_copied_to_another_column(make_lake):
    ds = make_lake({"i": dl.Image("jpeg", nullable=True)}, i=[JPEG, None])
    ds.add_column("auto", dl.Image(nullable=True), values=ds["i"])
    assert bytes(ds["auto"].encoded()[0]) == JPEG
    assert ds["auto"][1] is None
    with pytest.warns(dl.ReencodedWarning, match="column 'webp': a JPEG file"):
        ds.add_column("webp", dl.Image("webp", nullable=True), values=ds["i"])


def test_column_is_copied_to_another_by_class_names(make_lake):
    source = make_lake(
        {"l": dl.ClassLabel(["rose", "lily"]), "n": "int32"}, l=[0, 1, 0], n=[1, 2, 3]
    )
    ds = make_lake({"l": dl.ClassLabel(["lily", "rose"]), "n": "int32"})
    ds.append({"l": source["l"], "n": source["l"]})
    assert ds["l"][:].tolist() == [1, 0, 1]
    assert ds["n"][:].tolist() == [0, 1, 0]
    ds.update([0, 2], {"l": source[[1, 1]]["l"]})
    assert ds["l"][:].tolist() == [0, 0, 0]


def test_links_are_replaced_by_their_files(make_lake, tmp_path):
    (tmp_path / "a.jpg").write_bytes(JPEG)
    linked = make_lake({"l": dl.Link("image")}, l=["a.jpg"])
    linked = dl.open(linked.url, allow=[str(tmp_path)])
    ds = make_lake({"i": dl.Image("jpeg"), "l": dl.Link("image")})
    ds.append({"i": linked["l"], "l": linked["l"]})
    assert bytes(ds["i"].encoded()[0]) == JPEG
    assert ds["l"].urls() == ["a.jpg"]


def tiff16(channels):
    file, pixels = BytesIO(), np.full((4, 5, channels), 40_000, "uint16")
    kind = "rgb" if channels > 2 else None
    tifffile.imwrite(file, pixels if kind else pixels[..., 0], photometric=kind)
    return file.getvalue()


def png16(colours):
    """Return a 16-bit PNG: greyscale (0), RGB (2), greyscale with alpha (4) or RGBA (6)."""
    channels = {0: 1, 2: 3, 4: 2, 6: 4}[colours]
    header = struct.pack(">IIBBBBB", 5, 4, 16, colours, 0, 0, 0)
    rows = (b"\0" + b"\x9c\x40" * 5 * channels) * 4
    chunks = ((b"IHDR", header), (b"IDAT", zlib.compress(rows)), (b"IEND", b""))
    parts = [
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


@pytest.mark.parametrize("codec", ["auto", "png", "tiff", "zstd"])
@pytest.mark.parametrize(
    ("data", "kind"),
    [(png16(2), "PNG"), (png16(4), "PNG"), (png16(6), "PNG"), (tiff16(3), "TIFF")],
    ids=["rgb", "grey alpha", "rgba", "tiff"],
)
def test_files_with_unread_bits_are_reported(make_lake, codec, data, kind):
    ds = make_lake({"i": dl.Image(codec)})
    match = f"column 'i': a {kind} file has 16 bits per colour channel, of which only 8 are read"
    with pytest.warns(dl.ReencodedWarning, match=match):
        ds.append({"i": [data]})
    assert ds["i"][0].dtype == np.uint8


@pytest.mark.parametrize("codec", ["auto", "png", "tiff", "raw", "zstd"])
@pytest.mark.parametrize("data", [png16(2), png16(4), png16(6)], ids=["rgb", "grey alpha", "rgba"])
@pytest.mark.parametrize("is_drawn_on", [False, True])
def test_images_of_files_with_unread_bits_are_reported(
    make_lake, tmp_path, codec, data, is_drawn_on
):
    (tmp_path / "deep.png").write_bytes(data)
    ds = make_lake({"i": dl.Image(codec)})
    with Pillow.open(tmp_path / "deep.png") as image:
        if is_drawn_on:
            image.putpixel((0, 0), (1,) * len(image.getbands()))
        match = (
            "PNG file( of a Pillow image)? has 16 bits per colour channel, of which only 8 are read"
        )
        with pytest.warns(dl.ReencodedWarning, match=match):
            ds.append({"i": [image]})
    assert ds["i"][0].dtype == np.uint8


@pytest.mark.parametrize("codec", ["raw", "tiff", "png"])
def test_images_that_replaced_a_file_with_more_bits_are_not_reported(make_lake, tmp_path, codec):
    path = tmp_path / "deep.png"
    path.write_bytes(saved(Pillow.fromarray(PIXELS), "PNG"))
    ds = make_lake({"i": dl.Image(codec)})
    with Pillow.open(path) as image:
        image.load()
        path.write_bytes(png16(2))  # of a different size
        ds.append({"i": [image]})  # warnings are errors


@pytest.mark.parametrize("data", [png16(0), tiff16(1)])
def test_16_bit_grey_is_read_completely(make_lake, data):
    ds = make_lake({"i": dl.Image("auto")})
    ds.append({"i": [data]})
    assert ds["i"][0].tolist() == [[40_000] * 5] * 4


CODECS = ["png", "tiff", "bmp", "webp", "jpeg", "raw", "zstd", "lz4", "blosc"]
NAMED = {"png": "PNG", "tiff": "TIFF", "bmp": "BMP", "webp": "WEBP", "jpeg": "JPEG"}


def image_in(space):
    image = Pillow.fromarray(PIXELS)
    if space != "LAB":
        return image.convert(space)
    spaces = map(ImageCms.createProfile, ("sRGB", "LAB"))
    return ImageCms.applyTransform(image, ImageCms.buildTransform(*spaces, "RGB", "LAB"))


def saved(image, format_, **options):
    file = BytesIO()
    image.save(file, format_, **options)
    return file.getvalue()


def notices(ds, value):
    """Append a value twice; return the warnings, which are only given once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", dl.ReencodedWarning)
        append(ds, value() if callable(value) else value)
        append(ds, value() if callable(value) else value)
    return [str(warning.message) for warning in caught]


COLOURS = {
    **{f"an image in {space}": image_in(space) for space in ("CMYK", "LAB", "HSV", "YCbCr")},
    "a JPEG in CMYK": saved(image_in("CMYK"), "JPEG"),
    "a TIFF in CMYK": saved(image_in("CMYK"), "TIFF"),
    "a TIFF in LAB": saved(image_in("LAB"), "TIFF"),
    "an opened JPEG in CMYK": lambda: opened(saved(image_in("CMYK"), "JPEG")),
    "an opened TIFF in LAB": lambda: opened(saved(image_in("LAB"), "TIFF")),
}


@pytest.mark.parametrize("codec", [*CODECS, "auto"])
@pytest.mark.parametrize("what", COLOURS)
def test_colours_converted_to_rgb_are_reported_when_encoded(make_lake, codec, what):
    is_kept = not what.startswith("an image") and (codec == "auto" or f" {codec.upper()} " in what)
    said = notices(make_lake({"i": dl.Image(codec)}), COLOURS[what])
    space = what.rpartition(" ")[2]
    wanted = [] if is_kept else [f"has colours in {space}, which were converted to RGB"]
    assert len(said) == len(wanted)
    for message, expected in zip(said, wanted, strict=True):
        assert expected in message


@pytest.mark.parametrize("space", ["CMYK", "LAB", "HSV", "YCbCr"])
def test_other_colour_spaces_are_stored_as_suggested(make_lake, space):
    ds = make_lake({"i": dl.Image("zstd")})
    assert notices(ds, np.asarray(image_in(space))) == []
    np.testing.assert_array_equal(ds["i"][0], np.asarray(image_in(space)))


PAGES = [Pillow.fromarray(np.roll(PIXELS, i, axis=1)) for i in range(3)]
SEVERAL = {
    format_: saved(PAGES[0], format_, save_all=True, append_images=PAGES[1:], **options)
    for format_, options in {"TIFF": {}, "WEBP": {"lossless": True}, "PNG": {}, "GIF": {}}.items()
}


@pytest.mark.parametrize("codec", [*CODECS, "auto"])
@pytest.mark.parametrize("format_", SEVERAL)
@pytest.mark.parametrize("how", ["file", "opened"])
def test_dropped_frames_are_reported(make_lake, codec, format_, how):
    if (format_, how) == ("GIF", "file"):
        return  # not one of our codecs: it is refused
    ds = make_lake({"i": dl.Image(codec)})
    data = SEVERAL[format_]
    said = notices(ds, data if how == "file" else lambda: opened(data))
    is_kept = format_ != "GIF" and (codec == "auto" or NAMED.get(codec) == format_)
    if is_kept:
        assert said == []
        assert bytes(ds["i"].encoded()[0]) == data
    else:
        [message] = said
        assert "has 3 frames or pages, but only the first was encoded" in message
    if codec not in ("jpeg", "webp") and format_ != "GIF":
        np.testing.assert_array_equal(ds["i"][0], PIXELS)


@pytest.mark.parametrize("format_", SEVERAL)
def test_single_frame_is_not_reported_as_one_of_several(make_lake, format_):
    image = opened(SEVERAL[format_])
    image.seek(1)
    expected = np.asarray(image.convert("RGB"))
    ds = make_lake({"i": dl.Image("png")})
    assert notices(ds, image) == []
    np.testing.assert_array_equal(ds["i"][0], expected)


def test_checking_for_frames_keeps_edited_pixels(make_lake):
    image = opened(SEVERAL["TIFF"])
    image.putpixel((0, 0), (1, 2, 3))
    ds = make_lake({"i": dl.Image("png")})
    notices(ds, image)
    assert ds["i"][0][0, 0].tolist() == [1, 2, 3]
    assert image.getpixel((0, 0)) == (1, 2, 3)


def test_mask_is_not_a_multi_page_file(make_lake):
    pages = [Pillow.fromarray(np.full((2, 3), i, "uint8")) for i in range(2)]
    data = saved(pages[0], "TIFF", save_all=True, append_images=pages[1:])
    ds = make_lake({"m": dl.Mask()})
    with pytest.raises(
        dl.InvalidValueError, match="must have one frame, but this TIFF has 2 frames"
    ):
        ds.append({"m": [data]})


@pytest.mark.parametrize(
    ("codec", "shape", "read"),
    [
        ("png", (2, 3, 1), (2, 3)),
        ("tiff", (2, 3, 1), (2, 3)),
        ("jpeg", (2, 3, 1), (2, 3)),
        ("auto", (2, 3, 1), (2, 3)),
        ("zstd", (2, 3, 1), (2, 3, 1)),
        ("webp", (2, 3, 4), (2, 3, 3)),
        ("png", (2, 3, 4), (2, 3, 4)),
    ],
)
def test_axes_that_files_lack_are_dropped(make_lake, codec, shape, read):
    ds = make_lake({"i": dl.Image(codec)}, i=[np.full(shape, 255, "uint8")])
    assert ds["i"][0].shape == read


@pytest.mark.parametrize("codec", ["png", "webp", "zstd", "raw"])
@pytest.mark.parametrize(("channels", "mode"), [(4, "RGB"), (2, "L"), (3, "L")])
def test_dropped_channels_of_an_array_are_reported(codec, channels, mode):
    if (codec, mode) == ("webp", "L"):
        return  # WebP has no greyscale images
    array = np.random.default_rng(0).integers(0, 255, (4, 5, channels)).astype("uint8")
    ds = dl.create("memory://modes", {"i": dl.Image(codec, mode=mode)}, overwrite=True)
    with pytest.warns(
        dl.ReencodedWarning, match=f"column 'i': an array was converted .* to {mode}"
    ):
        ds.append({"i": [array]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        other = dl.create("memory://modes-2", {"i": dl.Image(codec, mode=mode)}, overwrite=True)
        other.append({"i": [np.zeros((4, 5, *((3,) if mode == "RGB" else ())), "uint8")]})
