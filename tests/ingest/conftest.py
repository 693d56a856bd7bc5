"""Small folders of images, and URLs of lakes."""

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

PNG, JPEG = "PNG", "JPEG"


def picture(seed: int = 0, format_: str = PNG) -> bytes:
    """Return a small image file, a different one for each seed."""
    pixels = np.random.default_rng(seed).integers(0, 255, (8, 9, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, format_)
    return file.getvalue()


def fill(folder: Path, paths: Sequence[str]) -> Path:
    """Write an image for each path, in the format of its extension."""
    for seed, path in enumerate(paths):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        kind = PNG if path.endswith(".png") else JPEG
        (folder / path).write_bytes(picture(seed, kind))
    return folder


@pytest.fixture
def photos(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that makes a folder of images."""

    def make(*paths: str) -> Path:
        return fill(tmp_path / "photos", paths)

    return make


@pytest.fixture
def url(tmp_path: Path) -> str:
    return str(tmp_path / "photos.lake")
