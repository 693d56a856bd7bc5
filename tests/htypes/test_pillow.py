"""Pillow images are stored as the file they were opened from, as long as they are unchanged."""

import os
from contextlib import ExitStack
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image as Pillow
from PIL import ImageDraw, ImageOps, ImageSequence

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes import Image, Mask
from deeplake_lite.htypes.pillow import untouched_file
from deeplake_lite.htypes.reencoding import collect_notices
from deeplake_lite.testing.codecs import damage

PIXELS = np.random.default_rng(0).integers(0, 256, (40, 60, 3), "uint8")
CODECS = {"JPEG": "jpeg", "PNG": "png", "WEBP": "webp", "TIFF": "tiff", "BMP": "bmp"}
MODES = {
    "JPEG": ["L", "RGB", "CMYK"],
    "PNG": ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"],
    "WEBP": ["RGB", "RGBA"],
    "TIFF": ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK", "I;16", "F"],
    "BMP": ["1", "L", "P", "RGB"],
}


def file_of(format_, mode="RGB", **options):
    """Return an image file of noise."""
    file = BytesIO()
    source = Pillow.fromarray(PIXELS)
    image = source.convert("L").convert(mode) if mode == "I;16" else source.convert(mode)
    image.save(file, format_, **options)
    return file.getvalue()


def exif_with(orientation):
    exif = Pillow.Exif()
    exif[0x0112] = orientation
    exif[0x010F] = "Maker"
    return exif


@pytest.fixture
def opened(tmp_path):
    """Open a file as an image: by its path, as a stream in memory, or from the caller's handle."""
    with ExitStack() as stack:

        def open_image(data, how="path"):
            if how == "memory":
                return Pillow.open(BytesIO(data))
            path = tmp_path / f"{len(list(tmp_path.iterdir()))}"
            path.write_bytes(data)
            source = path if how == "path" else stack.enter_context(path.open("rb"))
            return stack.enter_context(Pillow.open(source))

        yield open_image


HOW = ["path", "memory", "handle"]


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("format_", CODECS)
@pytest.mark.parametrize("wanted", ["own", "auto"])
def test_file_in_the_columns_codec_is_stored_unchanged(format_, how, wanted, opened):
    for mode in MODES[format_]:
        data = file_of(format_, mode)
        image = opened(data, how)
        cells = Image(CODECS[format_] if wanted == "own" else "auto").encode([image] * 3)
        assert [bytes(buffer) for buffer in cells.buffers] == [data] * 3
        image.load()  # the owner can still read all of it


@pytest.mark.parametrize("format_", CODECS)
def test_file_of_a_loaded_image_is_found_by_name(format_, opened):
    for mode in MODES[format_]:
        data = file_of(format_, mode)
        image = opened(data)
        image.load()
        assert untouched_file(image) == data


@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("format_", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_file_with_an_orientation_is_stored_unchanged_and_read_upright(
    format_, orientation, opened
):
    data = file_of(format_, exif=exif_with(orientation))
    image = opened(data)
    expected = ImageOps.exif_transpose(Pillow.open(BytesIO(data)))
    htype = Image(CODECS[format_])
    cells = htype.encode([image])
    assert bytes(cells.buffers[0]) == data
    result = htype.decode_cells(cells)[0]
    assert result.shape[:2] == (expected.height, expected.width)


def without_exif(image):
    image.getexif().clear()


def turned_by_exif(image):
    image.getexif()[0x0112] = 3


def drawn(image):
    ImageDraw.Draw(image).line((0, 0, 50, 30), fill=image.getpixel((0, 0)), width=5)


def one_pixel(image):
    value = image.getpixel((7, 5))
    other = (value[0] ^ 1, *value[1:]) if isinstance(value, tuple) else value ^ 1
    image.putpixel((7, 5), other)


def by_access(image):
    one_pixel(image)
    pixels = image.load()
    pixels[3, 3] = pixels[4, 4]


EDITS = {
    "thumbnail": lambda image: image.thumbnail((20, 20)),
    "putpixel": one_pixel,
    "pixel access": by_access,
    "paste": lambda image: image.paste(image.copy().rotate(180)),
    "draw": drawn,
    "transpose": lambda image: image.paste(image.transpose(Pillow.Transpose.ROTATE_180)),
    "putalpha": lambda image: image.putalpha(7),
    "exif removed": without_exif,
    "exif turned": turned_by_exif,
    "info removed": lambda image: image.info.clear(),
    "frombytes": lambda image: image.frombytes(bytes(len(image.tobytes()))),
}


@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("format_", ["JPEG", "PNG", "WEBP", "TIFF"])
def test_image_edited_in_place_is_never_stored_as_its_file(format_, edit, how, loaded, opened):
    data = file_of(format_, exif=exif_with(6))
    image = opened(data, how)
    if loaded:
        image.load()
    EDITS[edit](image)
    assert untouched_file(image) is None


@pytest.mark.parametrize(
    "changed",
    [
        lambda image: image.copy(),
        lambda image: image.convert("RGB"),
        lambda image: image.crop((0, 0, 9, 9)),
        lambda image: image.rotate(90),
        ImageOps.mirror,
        lambda image: ImageOps.exif_transpose(image),
    ],
)
def test_images_returned_by_methods_have_no_file(changed, opened):
    image = opened(file_of("JPEG"))
    assert untouched_file(changed(image)) is None


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("format_", ["PNG", "TIFF", "BMP"])
def test_changed_palette_is_an_edit(format_, loaded, how, opened):
    image = opened(file_of(format_, "P"), how)
    if loaded:
        image.load()
    image.putpalette([255, 0, 0] * 256)
    assert untouched_file(image) is None
    assert (Image("png").decode_cells(Image("png").encode([image]))[0] == [255, 0, 0]).all()


def test_scaled_decoding_of_a_jpeg_is_an_edit(opened):
    image = opened(file_of("JPEG"))
    image.draft("RGB", (30, 20))
    assert untouched_file(image) is None
    image = opened(file_of("JPEG"))
    image.draft("L", (60, 40))
    assert untouched_file(image) is None


@pytest.mark.parametrize("format_", ["TIFF", "WEBP", "PNG"])
def test_only_the_first_frame_represents_its_file(format_, opened):
    frames = [Pillow.fromarray(np.full((9, 9, 3), 50 * i, "uint8")) for i in range(3)]
    file = BytesIO()
    frames[0].save(file, format_, save_all=True, append_images=frames[1:])
    image = opened(file.getvalue())
    kept = [untouched_file(frame) is not None for frame in ImageSequence.Iterator(image)]
    assert kept == [True, False, False]
    image.seek(0)
    assert untouched_file(image) == file.getvalue()


def test_replaced_or_deleted_file_is_not_used(opened):
    image = opened(file_of("JPEG"))
    image.load()
    path = Path(image.filename)
    path.write_bytes(file_of("JPEG", quality=20))
    assert untouched_file(image) is None
    path.unlink()
    assert untouched_file(image) is None
    os.mkfifo(path)
    assert untouched_file(image) is None


def test_loaded_image_of_a_stream_no_longer_has_a_file():
    image = Pillow.open(BytesIO(file_of("JPEG")))
    image.load()  # as Hugging Face datasets do
    assert untouched_file(image) is None


def test_stream_position_is_preserved(tmp_path):
    (tmp_path / "x").write_bytes(file_of("PNG"))
    with (tmp_path / "x").open("rb") as stream, Pillow.open(stream) as image:
        place = stream.tell()
        assert untouched_file(image) is not None
        assert stream.tell() == place


def test_failing_stream_is_not_used_as_the_images_file():
    class Broken(BytesIO):
        def getvalue(self):
            raise OSError("the disk is gone")

    image = Pillow.open(Broken(file_of("PNG")))
    assert untouched_file(image) is None


def test_file_that_only_pillow_considers_complete_is_encoded():
    data = file_of("PNG") + b"trailing"
    assert Image("png").encode([Pillow.open(BytesIO(data))]).buffers[0] == data
    cut = file_of("PNG")[:-12]  # without its IEND chunk, which Pillow does not require
    cells = Image("png").encode([Pillow.open(BytesIO(cut))])
    assert bytes(cells.buffers[0]) != cut
    assert cells.shapes.tolist() == [[40, 60, 3]]


def test_files_written_by_hugging_face_are_accepted(tmp_path):
    data = file_of("JPEG")
    (tmp_path / "a.jpg").write_bytes(data)
    values = [
        {"bytes": data, "path": None},
        {"bytes": data, "path": "elsewhere.jpg"},
        {"bytes": None, "path": str(tmp_path / "a.jpg")},
    ]
    for htype in (Image("jpeg"), Image()):
        assert [bytes(b) for b in htype.encode(values).buffers] == [data] * 3
    mask = file_of("PNG", "L")
    assert bytes(Mask().encode([{"bytes": mask, "path": None}]).buffers[0]) == mask


def test_mask_keeps_its_palette_and_refuses_a_former_jpeg():
    palette = file_of("PNG", "P")
    assert bytes(Mask().encode([Pillow.open(BytesIO(palette))]).buffers[0]) == palette
    with pytest.raises(ValueError, match="lossless format, but JPEG is lossy"):
        Mask().encode([Pillow.open(BytesIO(file_of("JPEG", "L")))])


@given(st.data())
def test_lake_stores_the_image_after_any_edits(data):
    """After any sequence of edits, the stored image equals the pixels of the Pillow image."""
    format_ = data.draw(st.sampled_from(["PNG", "TIFF", "WEBP"]))
    image = Pillow.open(BytesIO(file_of(format_, lossless=True)))
    steps = {
        "load": lambda: image.load(),
        "seek": lambda: image.seek(0),
        "pixel": lambda: image.putpixel((1, 2), data.draw(st.sampled_from([(0, 0, 0), (9, 8, 7)]))),
        "same": lambda: image.putpixel((3, 3), image.getpixel((3, 3))),
        "shrink": lambda: (image.load(), image.thumbnail((50, 50))),
        "exif": lambda: image.getexif().update({0x0112: 8}),
        "info": lambda: image.info.update(note="mine"),
    }
    for step in data.draw(st.lists(st.sampled_from(sorted(steps)), max_size=4)):
        steps[step]()
    htype = Image("png")
    expected = np.array(ImageOps.exif_transpose(image))
    kept = Image("auto").encode([image])
    np.testing.assert_array_equal(htype.decode_cells(kept)[0], expected)


@pytest.mark.parametrize("format_", CODECS)
def test_damaged_image_that_pillow_has_only_opened_raises_our_error(format_):
    refused = 0
    for data in damage(file_of(format_), seed=0, times=40):
        for htype in (Image("png"), Image("auto"), Image("jpeg"), Image("zstd"), Mask()):
            try:
                image = Pillow.open(BytesIO(data))
            except Exception:
                continue
            try:
                htype.encode([image])
            except InvalidValueError:
                refused += 1
    assert refused


@pytest.mark.parametrize("how", ["path", "memory"])
@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize(("mode", "colour"), [("RGB", (1, 2, 3)), ("L", 7), ("P", 7), ("1", 0)])
def test_transparent_colour_is_not_lost(opened, how, loaded, mode, colour):
    with opened(file_of("PNG", mode), how) as image:
        if loaded:
            image.load()
        image.info["transparency"] = colour
        assert untouched_file(image) is None
        [value] = Image("png").decode_cells(Image("png").encode([image]))
    assert value.shape[-1] in (2, 4)  # with alpha


@pytest.mark.parametrize(("mode", "to"), [("RGBa", "RGBA"), ("La", "LA")])
def test_premultiplied_colours_are_reported_to_change(mode, to):
    image = Pillow.fromarray(PIXELS).convert(to)
    image.putalpha(100)
    with collect_notices() as notes:
        Image("png").encode([image.convert(mode)])
    assert f"has colours in {mode}, which were converted to {to}" in notes[0]


@pytest.mark.parametrize("codec", ["tiff", "png", "auto", "raw", "zstd"])
@pytest.mark.parametrize("orientation", range(1, 9))
@pytest.mark.parametrize("compression", [None, "tiff_adobe_deflate"])
@pytest.mark.parametrize("mode", ["L", "RGB", "RGBA", "P", "I;16"])
def test_rotated_tiff_files_are_upright_however_they_are_read(
    make_lake, tmp_path, mode, compression, orientation, codec
):
    exif, path = Pillow.Exif(), tmp_path / "turned.tif"
    exif[0x0112] = orientation
    pixels = np.arange(63, dtype="uint8").reshape(7, 9)
    original = Pillow.fromarray(pixels.astype("uint16")) if mode == "I;16" else (
        Pillow.fromarray(pixels).convert(mode))  # fmt: skip
    original.save(path, "TIFF", exif=exif, compression=compression)
    data = path.read_bytes()

    with ExitStack() as stack:
        images = []
        for source in (path, BytesIO(data), path, BytesIO(data), path, BytesIO(data)):
            image = stack.enter_context(Pillow.open(source))
            if len(images) >= 2:
                (image.load if len(images) < 4 else image.tobytes)()
            images.append(image)
        ds = make_lake({"image": Image(codec)}, image=[path, data, *images])
    expected, *others = ds["image"][:]
    assert expected.shape[:2] == ((7, 9) if orientation < 5 else (9, 7))
    for other in others:
        np.testing.assert_array_equal(other, expected)
