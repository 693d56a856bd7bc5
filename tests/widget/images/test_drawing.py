"""Stored images are sent as the file itself, or scaled down."""

from io import BytesIO

import numpy as np
import pytest
from PIL import Image

import deeplake_lite as dl
from deeplake_lite.htypes.show import thumbnail
from deeplake_lite.widget.images.drawing import draw_functions


def jpeg(orientation, size=(80, 40)):
    exif, file = Image.Exif(), BytesIO()
    exif[0x112] = orientation
    Image.new("RGB", size, (200, 30, 30)).save(file, "JPEG", exif=exif)
    return file.getvalue()


def drawn(data, side):
    htype = dl.Image("jpeg")
    [draw] = draw_functions(htype, htype.encode([data]))
    return draw(side)


@pytest.mark.parametrize("orientation", [2, 3, 6, 8])
def test_rotated_image_is_sent_upright(orientation):
    file = jpeg(orientation)
    sent = drawn(file, 128)
    assert sent.data != file
    size = (40, 80) if orientation >= 5 else (80, 40)
    assert (sent.width, sent.height) == size
    shown = Image.open(BytesIO(sent.data))
    assert shown.size == size
    assert not shown.getexif()


def test_upright_small_image_is_sent_unchanged():
    file = jpeg(1)
    assert drawn(file, 128).data == file


@pytest.mark.parametrize("shape", [(125, 100, 3), (100, 125), (125, 125, 1)])
def test_slightly_oversized_image_keeps_its_size(shape):
    pixels = np.full(shape, 90, np.uint8)
    kept, smaller = thumbnail(pixels, 100, slack=1.25), thumbnail(pixels, 100)
    assert (kept.height, kept.width) == shape[:2]
    assert max(smaller.height, smaller.width) == 100
    assert kept.mime == smaller.mime == "image/jpeg"


def test_transparency_is_preserved_in_a_slightly_oversized_image():
    assert thumbnail(np.zeros((110, 110, 4), np.uint8), 100, slack=1.25).mime == "image/png"
