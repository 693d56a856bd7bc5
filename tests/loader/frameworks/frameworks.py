"""Lakes and models shared by the tests of several frameworks."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np

import deeplake_lite as dl

ROWS = 10

SCHEMA = {
    "image": dl.Image("png"),
    "photo": dl.Image("png"),
    "label": dl.ClassLabel(["a", "b", "c"]),
    "count": "int64",
    "x": "float32",
    "wide": "float64",
    "score": dl.Scalar("float32", nullable=True),
    "text": "text",
    "note": dl.Text(nullable=True),
    "meta": dl.Json(),
    "boxes": dl.Boxes(),
    "maybe": dl.Boxes(nullable=True),
    "tokens": dl.Sequence("int32"),
    "words": dl.Sequence("text"),
    "outlines": dl.Polygons(),
    "when": dl.Scalar("datetime64[us]"),
}


def columns(n: int = ROWS) -> dict[str, list]:
    """Return rows of every kind of column."""
    rng = np.random.default_rng(0)

    def boxes(k: int) -> np.ndarray:
        return rng.random((k, 4), np.float32).cumsum(axis=1)

    return {
        "image": [rng.integers(0, 255, (6, 5, 3), np.uint8) for _ in range(n)],
        "photo": [rng.integers(0, 255, (4 + k % 3, 3 + k % 2, 3), np.uint8) for k in range(n)],
        "label": [k % 3 for k in range(n)],
        "count": [k - 5 for k in range(n)],
        "x": rng.random(n, np.float32).tolist(),
        "wide": rng.random(n).tolist(),
        "score": [None if k % 3 == 1 else k / 2 for k in range(n)],
        "text": [f"té {k}" for k in range(n)],
        "note": [None if k % 2 else f"note {k}" for k in range(n)],
        "meta": [{"k": k} for k in range(n)],
        "boxes": [boxes(k % 4) for k in range(n)],
        "maybe": [None if k % 2 else boxes(1 + k % 3) for k in range(n)],
        "tokens": [list(range(k % 4)) for k in range(n)],
        "words": [["wort"] * (k % 3) for k in range(n)],
        "outlines": [[[[0, 0], [k, 0], [0, 1]]] * (k % 3) for k in range(n)],
        "when": [np.datetime64(10**15 + k, "us") for k in range(n)],
    }


def run_python(code: str, **environment: str) -> str:
    """Run code in a process of its own and return its output."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", **environment},
        capture_output=True, text=True, timeout=1_800, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


BLOCKED = """
import sys
sys.modules["{package}"] = None
import deeplake_lite as dl
ds = dl.create("memory://blocked", {{"x": "int32"}})
ds.append({{"x": [1]}})
try:
    ds.{exporter}(2)
except dl.MissingPackageError as error:
    print(error)
"""
