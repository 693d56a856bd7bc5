"""Ingest a folder of images, skip a broken file, and later ingest only the new images.

Run it: python examples/ingest_folder.py
"""

import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

import deeplake_lite as dl

COLOURS = {"rose": (200, 30, 60), "tulip": (230, 190, 40), "iris": (70, 60, 170)}


def paint(folder: Path, per_class: int) -> None:
    """Write images of each flower. An image with the same number always has the same pixels."""
    for name, colour in COLOURS.items():
        (folder / name).mkdir(parents=True, exist_ok=True)
        for i in range(per_class):
            rng = np.random.default_rng(i)
            size = rng.integers(40, 90, 2)
            noise = rng.integers(-30, 30, (*size, 3))
            pixels = np.clip(np.array(colour) + noise, 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{i:03}.jpg", quality=90)


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        photos, url = Path(scratch) / "flowers", f"{scratch}/flowers.lake"
        paint(photos, per_class=20)
        (photos / "rose" / "broken.jpg").write_bytes(b"not an image")

        ds = dl.from_folder(photos, url, on_error="skip")
        print(ds.ingested)
        for skipped in ds.ingested.skipped:
            print("  left out", skipped)

        paint(photos, per_class=25)
        ds = dl.from_folder(photos, url, on_error="skip", progress=False)
        print(ds.ingested)

        assert len(ds) == 75
        counts = np.bincount(ds["label"][:])
        print(dict(zip(ds["label"].names, counts.tolist(), strict=True)))


if __name__ == "__main__":
    main()
