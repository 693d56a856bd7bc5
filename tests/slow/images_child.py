"""Mutate images of all codecs, write them to a lake and print the outcomes as JSON.

Runs in a process of its own with limited memory. The arguments are the number of images, the limit
of the address space in bytes, and a folder.
"""

from __future__ import annotations

import json
import resource
import struct
import sys
from collections import Counter
from io import BytesIO

import numpy as np
from PIL import Image as Pillow

import deeplake_lite as dl
from deeplake_lite.testing.codecs import damage

LIMITS = dl.Limits(max_pixels=1 << 22, max_bytes=1 << 24)
SIDES = (1, 2, 255, 4_096, 16_383, 16_384, 30_000, 65_500, 65_535, 2**31 - 1, 2**32 - 1)


def file_of(image, format_, **options):
    file = BytesIO()
    image.save(file, format_, **options)
    return file.getvalue()


def originals():
    """Return files of all codecs, modes and compressions, with metadata."""
    rng = np.random.default_rng(0)
    smooth = np.add.outer(np.arange(48), np.arange(64)).astype("uint8")[..., None] + np.arange(3)
    photo = Pillow.fromarray((smooth + rng.integers(0, 9, smooth.shape)).astype("uint8"))
    exif = Pillow.Exif()
    exif[0x0112] = 6
    files = []
    for mode in ("L", "RGB", "CMYK"):
        files += [file_of(photo.convert(mode), "JPEG", exif=exif, progressive=p) for p in (0, 1)]
    for mode in ("1", "L", "LA", "P", "RGB", "RGBA", "I;16"):
        image = photo.convert("L").convert(mode) if mode == "I;16" else photo.convert(mode)
        files.append(file_of(image, "PNG", exif=exif))
    files += [file_of(photo.convert(m), "WEBP", exif=exif) for m in ("RGB", "RGBA")]
    files.append(file_of(photo, "WEBP", lossless=True))
    files.append(file_of(photo, "WEBP", save_all=True, append_images=[photo.rotate(90)]))
    for packing in ("raw", "tiff_lzw", "tiff_adobe_deflate", "packbits", "jpeg"):
        files += [file_of(photo.convert(m), "TIFF", compression=packing) for m in ("L", "RGB")]
    files.append(file_of(photo.convert("F"), "TIFF", compression="tiff_adobe_deflate"))
    files.append(file_of(photo.convert("1"), "TIFF", compression="group4"))
    files += [file_of(photo.convert(m), "BMP") for m in ("1", "L", "P", "RGB")]
    return files


def lying(data, rng):
    """Return a file with four bytes of its header replaced by false sizes."""
    wrong, at = bytearray(data), int(rng.integers(4, min(len(data), 200)))
    side = int(rng.choice(SIDES))
    pack = rng.choice(["<I", ">I", "<H", ">H"])
    packed = struct.pack(str(pack), side & (0xFFFF if pack[1] == "H" else 0xFFFFFFFF))
    wrong[at : at + len(packed)] = packed
    return bytes(wrong)


def mutated(files, count):
    """Return `count` files, with alternating kinds of damage and with false headers."""
    rng = np.random.default_rng(1)
    for turn in range(count):
        data = files[turn % len(files)]
        if turn % 3 == 0:
            yield lying(data, rng)
        else:
            yield next(iter(damage(data, seed=turn, times=1 + turn % 5)))


def main(count, memory, folder):
    resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    counts, foreign = Counter(), []
    columns = {
        "auto": dl.Image(),
        "jpeg": dl.Image("jpeg", nullable=True),
        "grey": dl.Image("png", mode="L", nullable=True),
        "mask": dl.Mask(nullable=True),
    }
    ds = dl.create(f"{folder}/lake", columns, limits=LIMITS)
    htypes = {f.name: f.htype for f in ds.handle.table.schema}
    cells = {name: htype.encode([htype.blank]) for name, htype in htypes.items()}
    shapes = {name: c.shapes for name, c in cells.items()}
    for turn, data in enumerate(mutated(originals(), count)):
        counts["trials"] += 1
        name = list(columns)[turn % len(columns)]
        htype = htypes[name]
        steps = [
            lambda htype=htype, data=data: htype.encode([data]),
            lambda htype=htype, data=data: htype.encode([data], check="full"),
            lambda htype=htype, data=data: htype.decode_cells(htype.encode([data])),
            lambda htype=htype, data=data: htype.encode([Pillow.open(BytesIO(data))]),
            lambda htype=htype, data=data, name=name: htype.decode(
                data, tuple(n for n in shapes[name][0].tolist() if n >= 0)
            ),
        ]
        for step in steps:
            try:
                step()
            except dl.LakeError:
                counts["refused"] += 1
            except (Pillow.UnidentifiedImageError, Pillow.DecompressionBombError):
                counts["not opened"] += 1  # by Pillow, on behalf of a user
            except Exception as error:
                user = "Pillow.open" if step is steps[3] else "lake"
                if user == "Pillow.open" and _raised_by_open(error):
                    counts["not opened"] += 1
                else:
                    foreign.append(f"{turn} {name}: {type(error).__name__}: {error}"[:200])
            else:
                counts["decoded"] += 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    sys.stdout.write(json.dumps({**counts, "foreign": foreign[:20], "peak_rss": peak}) + "\n")


def _raised_by_open(error):
    """Tell whether an error comes from Pillow's open itself, before a lake got the image."""
    frame = error.__traceback__
    files = []
    while frame is not None:
        files.append(frame.tb_frame.f_code.co_filename)
        frame = frame.tb_next
    return not any("deeplake_lite" in file for file in files[1:])


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore")
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])
