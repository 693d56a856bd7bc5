"""Test photographs, and Pillow as the oracle for the contents of an image file."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import numpy as np
import pytest
from PIL import Image, ImageOps
from skimage import data as photographs

if TYPE_CHECKING:
    from collections.abc import Callable

_CONVERTED = {
    "1": "L",
    "CMYK": "RGB",
    "YCbCr": "RGB",
    "LAB": "RGB",
    "RGBX": "RGB",
    "PA": "RGBA",
    "RGBa": "RGBA",
}


@pytest.fixture(scope="session")
def photo() -> np.ndarray:
    """Return a photograph: (96, 128, 3) uint8."""
    return np.ascontiguousarray(photographs.astronaut()[40:136, 150:278])


@pytest.fixture(scope="session")
def pixels(photo: np.ndarray) -> dict[str, np.ndarray]:
    """Return pixels of every kind that a format can hold, by name."""
    alpha = np.linspace(0, 255, photo.shape[0] * photo.shape[1]).astype("uint8")
    alpha = alpha.reshape(*photo.shape[:2], 1)
    grey = photo[..., 1].copy()
    return {
        "grey": grey,
        "grey alpha": np.concatenate([grey[..., None], alpha], -1),
        "rgb": photo,
        "rgba": np.concatenate([photo, alpha], -1),
        "uint16": grey.astype("uint16") * 257 + 3,
        "int32": grey.astype("int32") * 70_000 - 5,
        "float32": grey.astype("float32") / 7 - 1,
        "one pixel": photo[:1, :1].copy(),
        "one row": photo[:1].copy(),
        "one column": photo[:, :1].copy(),
    }


@pytest.fixture(scope="session")
def file_of() -> Callable[..., bytes]:
    """Return the function that makes a file of a Pillow image or of pixels."""

    def write(image: Image.Image | np.ndarray, kind: str, **options: object) -> bytes:
        file = BytesIO()
        image = Image.fromarray(image) if isinstance(image, np.ndarray) else image
        image.save(file, kind, **options)
        return file.getvalue()

    return write


@pytest.fixture(scope="session")
def oracle() -> Callable[[bytes], np.ndarray]:
    """Return the pixels that Pillow reads."""

    def read(data: bytes) -> np.ndarray:
        with Image.open(BytesIO(data)) as opened:
            image = ImageOps.exif_transpose(opened)
        if image.mode == "P":
            image = image.convert("RGBA" if "transparency" in image.info else "RGB")
        array = np.array(image.convert(_CONVERTED.get(image.mode, image.mode)))
        return array.astype(array.dtype.newbyteorder("="))

    return read


@pytest.fixture(scope="session")
def exif_of() -> Callable[[int], bytes]:
    """Return the function that makes an EXIF block with an orientation."""

    def write(orientation: int) -> bytes:
        exif = Image.Exif()
        exif[0x010F] = "a camera"
        exif[0x0112] = orientation
        return exif.tobytes()

    return write


@pytest.fixture(scope="session")
def xmp_of() -> Callable[[int], bytes]:
    """Return the function that makes an XMP packet with an orientation."""

    def write(orientation: int) -> bytes:
        return (
            b'<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF><rdf:Description '
            b'tiff:Orientation="%d"/></rdf:RDF></x:xmpmeta>' % orientation
        )

    return write
