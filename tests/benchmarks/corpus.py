"""The bytes that every contender gets: 20,000 JPEG crops of photographs that ship in wheels.

They are made once and cached in the temporary folder; nothing is downloaded. Nine colour
photographs of scikit-image and scikit-learn (without those that have large black areas), 250x250
crops at seeded positions, quality 90, chroma 4:2:0: about 21.5 KB each, 429 MB in all.
"""

import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import simplejpeg
import skimage
import sklearn
from numpy.typing import NDArray
from PIL import Image

ROWS, SIZE, CHUNK = 20_000, 250, 4 << 20
PHOTOS = (
    *("astronaut.png", "chelsea.png", "coffee.png", "hubble_deep_field.jpg", "ihc.png"),
    *("motorcycle_left.png", "motorcycle_right.png", "china.jpg", "flower.jpg"),
)


def folder() -> Path:
    """Return the folder of ``00000.jpg`` to ``19999.jpg``; create it if it does not exist."""
    place = Path(tempfile.gettempdir()) / f"deeplake_lite-bench-{ROWS}-{SIZE}"
    if not place.exists():
        fresh = Path(tempfile.mkdtemp(dir=place.parent))
        for i, data in enumerate(jpeg_crops(ROWS, SIZE, seed=0)):
            (fresh / f"{i:05d}.jpg").write_bytes(data)
        shutil.move(fresh, place)  # complete or absent, also after Ctrl-C
    return place


def load() -> list[bytes]:
    return [path.read_bytes() for path in sorted(folder().glob("*.jpg"))]


def jpeg_crops(count: int, size: int, *, seed: int) -> list[bytes]:
    crops = random_crops(count, size, seed=seed)
    return [simplejpeg.encode_jpeg(crop, 90, colorsubsampling="420") for crop in crops]


def random_crops(count: int, size: int, *, seed: int) -> list[NDArray[np.uint8]]:
    """Return contiguous crops, (size, size, 3) uint8, the same ones for the same seed."""
    rng = np.random.default_rng(seed)
    return [crop(photos()[rng.integers(len(PHOTOS))], size, rng) for _ in range(count)]


def crop(photo: NDArray[np.uint8], size: int, rng: np.random.Generator) -> NDArray[np.uint8]:
    y, x = (int(rng.integers(side - size + 1)) for side in photo.shape[:2])
    return np.ascontiguousarray(photo[y : y + size, x : x + size])


@cache
def photos() -> list[NDArray[np.uint8]]:
    skimage_data = Path(skimage.__file__).parent / "data"
    roots = (skimage_data, Path(sklearn.__file__).parent / "datasets" / "images")
    paths = [root / name for name in PHOTOS for root in roots if (root / name).exists()]
    return [np.asarray(Image.open(path).convert("RGB")) for path in paths]


def raw_arrays(count: int = 400, side: int = 1024) -> NDArray[np.uint8]:
    """Return mosaics of photographs, (count, side, side, 3) uint8."""
    tile, pool = 256, np.stack(random_crops(500, 256, seed=1))
    picks = np.random.default_rng(2).integers(len(pool), size=(count, side // tile, side // tile))
    out = np.empty((count, side, side, 3), np.uint8)
    for mosaic, rows in zip(out, picks, strict=True):
        grid = mosaic.reshape(side // tile, tile, side // tile, tile, 3)
        grid[:] = pool[rows].transpose(0, 2, 1, 3, 4)
    return out


def write_chunk_files(jpegs: Sequence[bytes], target: Path, size: int = CHUNK) -> list[Path]:
    """Write the same bytes as one file per chunk, to time `Path.read_bytes` on."""
    target.mkdir(exist_ok=True)
    data = b"".join(jpegs)
    paths = [target / f"{start // size:05d}" for start in range(0, len(data), size)]
    for i, path in enumerate(paths):
        path.write_bytes(data[i * size : (i + 1) * size])
    return paths
