"""Makes the golden lakes of the current format: ``python tests/golden/make.py``.

Run it only while a format is unreleased. After the release its lakes never change, so that they
show whether old lakes can still be read; the next format adds lakes of its own. Ids are random,
the content is not.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np

import deeplake_lite as dl
from deeplake_lite.storage import log
from deeplake_lite.storage.state import FORMAT

HERE = Path(__file__).parent
LONG = "long " * 120_000  # three chunks of strings, a few bytes once they are compressed


def place(name: str) -> str:
    folder = HERE / f"format{FORMAT}-{name}.lake"
    shutil.rmtree(folder, ignore_errors=True)
    return str(folder)


def make_htypes(name: str) -> None:
    """Every htype, two rows and a null, in one commit."""
    triangle, square = [[0, 0], [4, 0], [0, 3]], [[1, 1], [2, 1], [2, 2], [1, 2]]
    grey = np.full((8, 8, 3), 128, "uint8")
    columns = {
        "scalar": (dl.Scalar("float32", nullable=True), [1.5, np.nan, None]),
        "when": (
            dl.Scalar("datetime64[ms]", nullable=True),
            ["2026-01-02T03:04:05.006", None, "1969-07-20"],
        ),
        "fixed": (dl.Array("int16", (2, 2)), np.arange(12).reshape(3, 2, 2)),
        "ragged": (dl.Array("uint8", (None,), nullable=True), [[1, 2, 3], [], None]),
        "packed": (
            dl.Array("float64", (None, 2), codec="zstd"),
            [[[0, 1]], np.zeros((0, 2)), [[2, 3], [4, 5]]],
        ),
        "embedding": (dl.Embedding(3), np.eye(3, dtype="float32")),
        "label": (dl.ClassLabel(["rose", "tulip"], nullable=True), ["tulip", None, "rose"]),
        "labels": (
            dl.ClassLabel(["rose", "tulip"], multiple=True),
            [["tulip", "rose"], [], ["rose"]],
        ),
        "text": (dl.Text(nullable=True), ["grün", "", None]),
        "json": (dl.Json(default={"$a": [1]}), [{"a": [1, None]}, "x", []]),
        "bytes": (dl.Bytes(), [b"\0\xff", b"", b"abc"]),
        "link": (
            dl.Link("image", nullable=True),
            ["photos/a.jpg", None, "https://example.org/ü.png"],
        ),
        "jpeg": (dl.Image("jpeg"), [grey, grey[..., 0], grey[:4]]),
        "png": (
            dl.Image("png"),
            [
                np.arange(6, dtype="uint8").reshape(2, 3),
                grey[:1, :2],
                np.full((1, 2), 60_000, "uint16"),
            ],
        ),
        "mask": (
            dl.Mask(names=["void", "cat"], nullable=True),
            [np.eye(2, dtype="uint8"), None, [[0, 255]]],
        ),
        "objects": (
            dl.Mask("instance"),
            [np.ones((1, 2, 3), bool), np.zeros((0, 1, 1), bool), np.eye(3, dtype=bool)[None]],
        ),
        "boxes": (
            dl.Boxes("xywh", "fraction"),
            [[[0, 0, 0.5, 1]], [], [[0, 0, 0.25, 0.5], [0.5, 0.5, 0.5, 0.5]]],
        ),
        "keypoints": (dl.Keypoints(["nose"], dims=2), [[[[1, 2]]], [], [[[3, 4]], [[5, 6]]]]),
        "polygons": (dl.Polygons(nullable=True), [[triangle, square], [], None]),
        "sequence": (dl.Sequence("text", nullable=True), [["a", "b"], [], None]),
    }
    ds = dl.create(
        place(name),
        {n: htype for n, (htype, _) in columns.items()},
        metadata={"licence": "CC-BY"},
    )
    ds["label"].metadata["source"] = "garden"
    ds.append({name: values for name, (_, values) in columns.items()})
    ds.commit("three rows")


def make_history() -> None:
    """Branches, a merge, a tag, deleted and changed rows, a saved view, a rewritten branch."""
    ds = dl.create(place("history"), {"label": dl.ClassLabel(["rose", "tulip"]), "title": "text"})
    ds.append({"label": ["rose", "tulip", "rose"], "title": ["a", "b", LONG]})
    ds.commit("three rows")
    ds.tag("v1")
    ds.branch("fix")
    ds.append({"label": ["tulip"], "title": ["d"]})
    ds.delete([1])
    ds.commit("one more, one less")
    ds.checkout("fix")
    ds["label"][0] = "tulip"
    ds.rename_column("title", "caption")
    ds.add_column("score", dl.Scalar("float32", default=0.5))
    ds.commit("a label corrected, columns changed")
    ds.checkout("main")
    ds.merge("fix")
    ds[["caption"]][[2, 0]].save("ends")
    ds.branch("tidy")
    ds.checkout("tidy")
    ds.optimize()


if __name__ == "__main__":
    make_htypes("htypes")
    make_history()
    log.MAX_BYTES = -1
    make_htypes("arrays")  # the same without a log
    for folder in HERE.glob(f"format{FORMAT}-*.lake"):
        shutil.rmtree(folder / ".writers", ignore_errors=True)
        files = [path for path in folder.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files)
        print(f"{folder.name}: {len(files)} files, {size:,} bytes")
