"""Lakes written by released versions are read unchanged by later ones."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import deeplake_lite as dl

GOLDEN = Path(__file__).parent / "golden"
LONG = "long " * 120_000

GREY = np.full((8, 8, 3), 128, "uint8")
TRIANGLE, SQUARE = [[0, 0], [4, 0], [0, 3]], [[1, 1], [2, 1], [2, 2], [1, 2]]


def a(dtype, values):
    return np.array(values, dtype)


HTYPES = {
    "scalar": (dl.Scalar("float32", nullable=True), [np.float32(1.5), np.float32("nan"), None]),
    "when": (
        dl.Scalar("datetime64[ms]", nullable=True),
        [np.datetime64("2026-01-02T03:04:05.006", "ms"), None, np.datetime64("1969-07-20", "ms")],
    ),
    "fixed": (
        dl.Array("int16", (2, 2)),
        [a("int16", [[i, i + 1], [i + 2, i + 3]]) for i in (0, 4, 8)],
    ),
    "ragged": (
        dl.Array("uint8", (None,), nullable=True),
        [a("uint8", [1, 2, 3]), a("uint8", []), None],
    ),
    "packed": (
        dl.Array("float64", (None, 2), codec="zstd"),
        [a("float64", [[0, 1]]), np.zeros((0, 2)), a("float64", [[2, 3], [4, 5]])],
    ),
    "embedding": (
        dl.Embedding(3),
        [a("float32", row) for row in ([1, 0, 0], [0, 1, 0], [0, 0, 1])],
    ),
    "label": (dl.ClassLabel(["rose", "tulip"], nullable=True), [np.int32(1), None, np.int32(0)]),
    "labels": (
        dl.ClassLabel(["rose", "tulip"], multiple=True),
        [a("int32", [1, 0]), a("int32", []), a("int32", [0])],
    ),
    "text": (dl.Text(nullable=True), ["grün", "", None]),
    "json": (dl.Json(default={"$a": [1]}), [{"a": [1, None]}, "x", []]),
    "bytes": (dl.Bytes(), [b"\0\xff", b"", b"abc"]),
    "link": (dl.Link("image", nullable=True), ["photos/a.jpg", None, "https://example.org/ü.png"]),
    "jpeg": (dl.Image("jpeg"), [GREY, GREY[..., 0], GREY[:4]]),
    "png": (
        dl.Image("png"),
        [a("uint8", [[0, 1, 2], [3, 4, 5]]), GREY[:1, :2], a("uint16", [[60_000, 60_000]])],
    ),
    "mask": (
        dl.Mask(names=["void", "cat"], nullable=True),
        [a("uint8", [[1, 0], [0, 1]]), None, a("uint8", [[0, 255]])],
    ),
    "objects": (
        dl.Mask("instance"),
        [np.ones((1, 2, 3), bool), np.zeros((0, 1, 1), bool), np.eye(3, dtype=bool)[None]],
    ),
    "boxes": (
        dl.Boxes("xywh", "fraction"),
        [
            a("float32", [[0, 0, 0.5, 1]]),
            np.zeros((0, 4), "float32"),
            a("float32", [[0, 0, 0.25, 0.5], [0.5, 0.5, 0.5, 0.5]]),
        ],
    ),
    "keypoints": (
        dl.Keypoints(["nose"], dims=2),
        [
            a("float32", [[[1, 2]]]),
            np.zeros((0, 1, 2), "float32"),
            a("float32", [[[3, 4]], [[5, 6]]]),
        ],
    ),
    "polygons": (
        dl.Polygons(nullable=True),
        [[a("float32", TRIANGLE), a("float32", SQUARE)], [], None],
    ),
    "sequence": (dl.Sequence("text", nullable=True), [["a", "b"], [], None]),
}
"""Contents of format2-htypes.lake and format2-arrays.lake: its type and values by column."""

SAME = pytest.mark.parametrize("file", ["format2-htypes.lake", "format2-arrays.lake"])


@pytest.fixture
def lake(tmp_path):
    """Return a function that makes a writable copy of a golden lake."""
    return lambda name: str(shutil.copytree(GOLDEN / name, tmp_path / name))


def same(found, wanted):
    if isinstance(wanted, list):
        assert len(found) == len(wanted)
        for one, other in zip(found, wanted, strict=True):
            same(one, other)
    elif isinstance(wanted, np.ndarray | np.generic):
        assert np.asarray(found).dtype == wanted.dtype
        np.testing.assert_array_equal(found, wanted, strict=True)
    else:
        assert found == wanted


@SAME
@pytest.mark.parametrize("name", HTYPES)
def test_every_htype_of_format_2_is_read_unchanged(lake, file, name):
    ds = dl.open(lake(file))
    htype, values = HTYPES[name]
    assert ds[name].htype == htype
    result = ds[name].urls() if name == "link" else [ds[name][i] for i in range(3)]
    same(result, values)


@SAME
def test_metadata_of_format_2_is_read(lake, file):
    ds = dl.open(lake(file))
    assert ds.columns == tuple(HTYPES)
    assert dict(ds.metadata) == {"licence": "CC-BY"}
    assert dict(ds["label"].metadata) == {"source": "garden"}
    assert [commit.message for commit in ds.log()] == ["three rows", "created"]


@SAME
def test_lake_of_format_2_accepts_more_rows(lake, file):
    url = lake(file)
    ds = dl.open(url)
    assert ds.verify(), ds.verify()
    first, ids = ds.version, ds.row_ids.tolist()
    ds.append({name: values[:2] for name, (_, values) in HTYPES.items()})
    ds.update([0], {name: values[1:2] for name, (_, values) in HTYPES.items()})
    ds.commit("two more")
    again = dl.open(url)
    assert again.verify(), again.verify()
    assert again.row_ids[:3].tolist() == ids
    for name, (_, values) in HTYPES.items():
        result = again[name].urls() if name == "link" else [again[name][i] for i in range(5)]
        same(result, [values[1], values[1], values[2], values[0], values[1]])
    assert len(dl.open(url, version=first)) == 3


HISTORY = {
    "main": {"label": [1, 0, 1], "caption": ["a", LONG, "d"], "score": [0.5, 0.5, 0.5]},
    "tidy": {"label": [1, 0, 1], "caption": ["a", LONG, "d"], "score": [0.5, 0.5, 0.5]},
    "fix": {"label": [1, 1, 0], "caption": ["a", "b", LONG], "score": [0.5, 0.5, 0.5]},
    "v1": {"label": [0, 1, 0], "title": ["a", "b", LONG]},
}
"""Contents of format2-history.lake: by version, values by column."""


@pytest.mark.parametrize("version", HISTORY)
def test_every_version_of_format_2_is_read_unchanged(lake, version):
    ds = dl.open(lake("format2-history.lake"), version=version)
    assert {name: list(ds[name][:]) for name in ds.columns} == HISTORY[version]
    assert ds.verify(), ds.verify()


def test_history_of_format_2_is_known(lake):
    url = lake("format2-history.lake")
    ds = dl.open(url)
    assert set(ds.branches) == {"main", "fix", "tidy"}
    assert set(ds.tags) == {"v1"}
    assert [c.message for c in ds.log()] == [
        "merge fix",
        "one more, one less",
        "three rows",
        "created",
    ]
    assert ds.log()[0].metadata == {"merge": ds.branches["fix"], "merged": "fix"}
    assert ds.merge("fix") == ds.version
    assert dl.open(url, version="tidy").row_ids.tolist() == ds.row_ids.tolist()


def test_saved_view_of_format_2_opens(lake):
    views = dl.open(lake("format2-history.lake")).views()
    assert list(views) == ["ends"]
    assert views["ends"]["caption"][:] == ["d", "a"]


def test_branches_of_format_2_can_be_merged(lake):
    url = lake("format2-history.lake")
    fix = dl.open(url, branch="fix")
    fix.append({"label": ["rose"], "caption": ["e"]})
    fix["score"][0] = 1.0
    fix.commit("a row, a score")
    ds = dl.open(url)
    ds.append({"label": ["rose"], "caption": ["f"], "score": [2]})
    ds.commit("a row")
    ds.merge("fix")
    again = dl.open(url)
    assert again["caption"][:] == ["a", LONG, "d", "f", "e"]
    assert again["score"][:].tolist() == [1.0, 0.5, 0.5, 2.0, 0.5]
    assert again.verify(), again.verify()
