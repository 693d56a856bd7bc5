"""A small lake with a column of every type, and the values written to it."""

from io import BytesIO
from uuid import uuid4

import numpy as np
from PIL import Image as Pillow

import deeplake_lite as dl

SCHEMA = {
    "image": dl.Image("png", nullable=True),
    "pixels": dl.Image("zstd", dtype="uint16"),
    "mask": dl.Mask(names=["sky", "sea"]),
    "objects": dl.Mask("instance"),
    "label": dl.ClassLabel(["rose", "tulip"], nullable=True),
    "tags": dl.ClassLabel(["a", "b", "c"], multiple=True),
    "number": dl.ClassLabel(),
    "boxes": dl.Boxes("xyxy", nullable=True),
    "points": dl.Keypoints(["nose", "tail"], dims=2),
    "outlines": dl.Polygons(),
    "embedding": dl.Embedding(3, nullable=True),
    "matrix": dl.Array("float32", (2, 3)),
    "flags": dl.Array("bool", (2, 2)),
    "ragged": dl.Array("int16", (None, 2), nullable=True),
    "packed": dl.Array("float64", (2, None), codec="zstd"),
    "x": "int32",
    "n/small": dl.Scalar("int8", nullable=True),
    "half": dl.Scalar("float16", nullable=True),
    "wave": dl.Scalar("complex64", nullable=True),
    "ok": dl.Scalar("bool", nullable=True),
    "when": dl.Scalar("datetime64[ms]", nullable=True),
    "day": "datetime64[D]",
    "age": dl.Scalar("timedelta64[M]"),
    "text": dl.Text(nullable=True),
    "notes": dl.Json(nullable=True),
    "blob": dl.Bytes(nullable=True),
    "link": dl.Link("image", nullable=True),
    "frames": dl.Sequence("image"),
    "words": dl.Sequence("text", nullable=True),
    "counts": dl.Sequence(dl.Scalar("int32", nullable=True)),
}


def png(shape, seed=0):
    """Return an image as a PNG file."""
    pixels = np.random.default_rng(seed).integers(0, 255, shape, np.uint8)
    file = BytesIO()
    Pillow.fromarray(pixels).save(file, "PNG")
    return file.getvalue()


VALUES = {
    "image": [png((4, 5)), png((6, 3, 3)), None],
    "pixels": [np.full((2, 3), 7), np.ones((2, 2, 3), int), np.zeros((1, 1), int)],
    "mask": [np.eye(3, dtype=int), [[0, 1]], [[255]]],
    "objects": [np.ones((2, 3, 3), bool), np.zeros((0, 3, 3), bool), np.eye(3, dtype=bool)[None]],
    "label": ["tulip", None, "rose"],
    "tags": [["a", "c"], [], ["b"]],
    "number": [3, 0, 900],
    "boxes": [[[0, 0, 2, 1]], None, []],
    "points": [[[[1, 2], [3, 4]]], [], [[[5, 6], [7, 8]], [[0, 0], [1, 1]]]],
    "outlines": [[[[0, 0], [4, 0], [0, 3]]], [], [[[0, 0], [1, 0], [1, 1], [0, 1]]] * 2],
    "embedding": [[1, 2, 3], None, [4, 5, 6]],
    "matrix": np.arange(18.0).reshape(3, 2, 3),
    "flags": [np.eye(2, dtype=bool)] * 3,
    "ragged": [[[1, 2]], None, [[3, 4], [5, 6]]],
    "packed": [[[1.0], [2.0]], np.zeros((2, 0)), [[3.0, 4.0], [5.0, 6.0]]],
    "x": [1, -2, 3],
    "n/small": [1, None, 3],
    "half": [0.5, None, float("nan")],
    "wave": [1 + 2j, None, 3],
    "ok": [True, None, False],
    "when": ["2026-01-02T03:04:05.006", None, "1969-12-31"],
    "day": ["2026-01-02", "1960-02-29", "9999-12-31"],
    "age": ["5 M", "0 M", "-3 M"],
    "text": ["grün", None, ""],
    "notes": [{"a": [1, None]}, None, "x"],
    "blob": [b"\0\xff", None, b""],
    "link": ["a.png", None, "/etc/passwd"],
    "frames": [[png((2, 2)), png((3, 1))], [], [png((1, 1))]],
    "words": [["a", ""], None, []],
    "counts": [[1, None], [], [3]],
}


def lake(schema=None, values=None):
    """Make a new lake, committed."""
    ds = dl.create(f"memory://{uuid4().hex}", SCHEMA if schema is None else schema)
    if values is None or len(next(iter(values.values()))):
        ds.append(VALUES if values is None else values)
    ds.commit("filled")
    return ds
