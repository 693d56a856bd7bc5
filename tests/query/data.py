"""The dataset of all query tests: a column of every type, and the same data as plain rows.

Rows differ from slots: a row in the middle was deleted, and some were edited after version ``v1``,
which has 40 rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import deeplake_lite as dl

ROWS = 60
CLASSES = ("dog", "cat", "bird")
"""Not in alphabetical order, so that sorting by number and by name differ."""
SIZES = ("small", "large")
TAGS = ("sky", "sea", "tree")
TEXTS = (
    "a cat", "A Dog", "", "naïve café", "it's 'quoted'", 'say "hi"', "日本語", "100%", "a_b",
    "the quick brown fox", "fox", "😀 smile",
)  # fmt: skip

SCHEMA = {
    "id": "int32",
    "n": dl.Scalar("int32", nullable=True),
    "small": "uint8",
    "value": "float32",
    "score": dl.Scalar("float64", nullable=True),
    "flag": "bool",
    "time": "datetime64[us]",
    "label": dl.ClassLabel(list(CLASSES)),
    "size": dl.ClassLabel(list(SIZES), nullable=True),
    "tags": dl.ClassLabel(list(TAGS), multiple=True),
    "text": dl.Text(),
    "note": dl.Text(nullable=True),
    "meta": dl.Json(),
    "extra": dl.Json(nullable=True),
    "emb": dl.Embedding(4),
    "vec": dl.Embedding(3, nullable=True),
    "boxes": dl.Boxes("xyxy"),
    "training/boxes": dl.Boxes("xyxy"),
    "predicted": dl.Boxes("xywh"),
    "mask": dl.Mask(names=["road", "sky", "car"]),
    "objects": dl.Mask("instance"),
    "image": dl.Image("png"),
    "numbers": dl.Sequence("int32"),
    "words": dl.Sequence(dl.Text()),
    "grid": dl.Array("float32", (3, 4)),
    "bytes": dl.Array("uint8", (2, 3)),
    "ragged": dl.Array("float64", (None, 2)),
}
SCALARS = ("id", "n", "small", "value", "score", "flag", "time", "label", "size", "text", "note")

OWNERS = {
    "id": [0, 1, 2, 3, 99],
    "name": ["Ada", "Bob", "Cyd", "Ada", "Zoe"],
    "label": ["cat", "dog", "cat", "bird", "bird"],
    "age": [30, 41, 28, 55, 7],
}


def row(i: int) -> dict[str, Any]:
    """Return a row in the form in which it is appended."""
    rng = np.random.default_rng(i)
    boxes = rng.integers(0, 40, (i % 4, 2)).astype("float32")
    boxes = np.concatenate([boxes, boxes + rng.integers(5, 50, (i % 4, 2))], 1).astype("float32")
    shifted = boxes + np.float32(i % 3)
    kept = boxes if i % 2 else boxes[:-1]
    shape = (8 + i % 5, 10 + i % 3, 3) if i % 3 else (6 + i % 4, 9)
    return {
        "id": i,
        "n": None if i % 11 == 0 else i % 7,
        "small": 250 if i % 2 else i,
        "value": np.nan if i % 13 == 5 else {20: np.inf, 21: -np.inf}.get(i, i / 8 - 3),
        "score": None if i % 9 == 4 else (i * 37 % 60) / 4,
        "flag": i % 3 == 0,
        "time": datetime(2024, 1, 1) + timedelta(days=7 * i, hours=i, minutes=5 * i),
        "label": CLASSES[(i * i + i // 5) % 3],
        "size": None if i % 10 == 3 else SIZES[i // 4 % 2],
        "tags": [t for k, t in enumerate(TAGS) if i >> k & 1],
        "text": TEXTS[i % len(TEXTS)],
        "note": None if i % 4 == 1 else f"note {i}" if i % 4 else "",
        "meta": {
            "a": i % 5,
            "b": {"c": [i, i + 1, {"d": f"deep {i % 3}"}]},
            "ok": i % 2 == 0,
            "name": f"cam{i % 2}",
            "none": None,
        },
        "extra": None if i % 5 == 0 else [i, str(i)] if i % 2 else {"k'q": i, "x": i / 2},
        "emb": np.zeros(4) if i % 15 == 7 else rng.normal(size=4),
        "vec": None if i % 6 == 2 else np.zeros(3) if i == 4 else [i, i % 5 - 2, 1],
        "boxes": boxes,
        "training/boxes": boxes if i % 5 else shifted,
        "predicted": np.concatenate([kept[:, :2], kept[:, 2:] - kept[:, :2]], 1),
        "mask": rng.integers(0, 3, (4 + i % 3, 5), dtype="uint8"),
        "objects": rng.random((i % 3, 4, 5)) > 0.6,
        "image": rng.integers(0, 256, shape, dtype="uint8"),
        "numbers": list(range(i % 5)),
        "words": ["alpha", "beta", "gamma"][: i % 4],
        "grid": rng.normal(size=(3, 4)).astype("float32"),
        "bytes": rng.integers(0, 256, (2, 3), dtype="uint8"),
        "ragged": rng.normal(size=(i % 4, 2)),
    }  # fmt: skip


@cache
def build() -> dl.Dataset:
    """Return the lake, committed: 60 rows, of which version v1 has 40 and other labels."""
    ds = dl.create("memory://query-tests", SCHEMA)
    junk = row(61) | {"id": -1}
    first = [row(i) for i in range(25)] + [junk] + [row(i) for i in range(25, 40)]
    ds.append(_columns(first))
    ds.delete([25])
    ds["label"][0:3] = ["bird", "bird", "bird"]
    ds.commit("40 rows")
    ds.tag("v1")
    ds["label"][0:3] = [row(i)["label"] for i in range(3)]
    ds.append(_columns([row(i) for i in range(40, ROWS)]))
    ds.commit("60 rows")
    return ds


@cache
def owners() -> dl.Dataset:
    """Return a second lake, whose classes have different numbers."""
    ds = dl.create(
        "memory://query-owners",
        {
            "id": "int32",
            "name": dl.Text(),
            "label": dl.ClassLabel(["bird", "cat", "dog"]),
            "age": "int64",
        },
    )
    ds.append(OWNERS)
    ds.commit("owners")
    return ds


def _columns(rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    return {name: [r[name] for r in rows] for name in SCHEMA}


@dataclass(frozen=True)
class Old:
    """The values of version v1."""

    rows: list[SimpleNamespace]


@cache
def rows() -> list[SimpleNamespace]:
    """Return the rows as plain values: arrays, numbers, strings, class names, None for null."""
    return [_plain(row(i)) for i in range(ROWS)]


@cache
def old_rows() -> list[SimpleNamespace]:
    """Return the rows of version v1."""
    result = [_plain(row(i)) for i in range(40)]
    for r in result[:3]:
        r.label = "bird"
    return result


def _plain(values: dict[str, Any]) -> SimpleNamespace:
    types = {
        "value": "float32", "emb": "float32", "vec": "float32", "boxes": "float32",
        "training/boxes": "float32", "predicted": "float32", "ragged": "float64",
    }  # fmt: skip
    for name, dtype in types.items():
        if values[name] is not None:
            values[name] = np.asarray(values[name], dtype)[()]
    return SimpleNamespace(**{name.replace("/", "_"): v for name, v in values.items()})


def table(found: list[SimpleNamespace]) -> pa.Table:
    """Return the scalar columns of rows as a plain table, with classes as strings."""
    return pa.table({name: [getattr(r, name) for r in found] for name in SCALARS})


@cache
def oracle() -> duckdb.DuckDBPyConnection:
    """Return DuckDB with the plain tables."""
    connection = duckdb.connect()
    connection.register("dataset", table(rows()))
    connection.register("old", table(old_rows()))
    connection.register("owners", pa.table(OWNERS))
    return connection
