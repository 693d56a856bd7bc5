"""A commit writes an amount of data proportional to the change, not to the size of the lake."""

import numpy as np
import pytest

import deeplake_lite as dl

SIZES = (25_000, 75_000)
"""Rows: more than three whole chunks of an index, and three times as many."""

ROWS = {"neighbours": [100, 101, 102], "one per chunk": [0, 8_192, 16_384]}


KINDS = {
    "number": ("int64", lambda n: np.arange(n), [7, 8, 9]),
    "text": ("text", lambda n: [f"row {i} of {n}" for i in range(n)], ["a", "b", "c"]),
    "boxes": (
        dl.Boxes("xyxy"),
        lambda n: [np.ones((i % 5, 4), "float32") for i in range(n)],
        [np.ones((3, 4))] * 3,
    ),
    "file": ("bytes", lambda n: [bytes(90)] * n, [bytes(99)] * 3),
    "vector": (
        dl.Embedding(64),
        lambda n: np.random.default_rng(0).random((n, 64), "float32"),
        np.ones((3, 64)),
    ),
}


def written(folder):
    """Return the size of every file, by path and modification time."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {(path, path.stat().st_mtime_ns): path.stat().st_size for path in files}


@pytest.fixture(scope="module")
def small_and_large(tmp_path_factory):
    lakes = []
    for size in SIZES:
        folder = tmp_path_factory.mktemp("sizes") / "a.lake"
        ds = dl.create(str(folder), {name: kind[0] for name, kind in KINDS.items()})
        ds.append({name: kind[1](size) for name, kind in KINDS.items()})
        ds.commit("rows")
        lakes.append((folder, ds))
    return lakes


@pytest.mark.usefixtures("only_arrays")
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("kind", KINDS)
def test_update_writes_only_the_chunks_it_changes_whatever_the_size_of_the_lake(
    small_and_large, kind, rows
):
    sizes, counts = [], []
    for folder, ds in small_and_large:
        before, ids = written(folder), ds.row_ids[ROWS[rows]]
        ds.update(ids=ids, data={kind: KINDS[kind][2]})
        ds.commit(f"{kind}, {rows}")
        new = written(folder).items() - before.items()
        counts.append(sum(path.parent.name == "chunks" for (path, _), _ in new))
        sizes.append(sum(size for _, size in new))
    small, large = sizes
    assert abs(counts[1] - counts[0]) <= 1, "chunks"
    assert large <= small + 8_192  # how well chunks compress, and where the tail ends
    assert large <= counts[1] * (1 << 18) + 16_384
