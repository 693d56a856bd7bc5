"""Damaged cells, ids and orders are never copied, because the copy would have valid hashes."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.htypes.cells import DenseCells, NestedCells
from deeplake_lite.storage.chunk_files import chunk_names
from deeplake_lite.testing.tiny import only_arrays as write_only_arrays

N, ROW = 1_200, 7
RNG = np.random.default_rng(0)


def images(count):
    return list(RNG.integers(0, 255, (count, 8, 8, 3), np.uint8))


RAGGED = {
    "bytes": ("bytes", lambda n: [RNG.bytes(90) for _ in range(n)]),
    "ragged": (dl.Array("float32", (None,)), lambda n: list(RNG.random((n, 30), np.float32))),
    "raw": (dl.Image("raw"), images),
    "png": (dl.Image("png"), images),
    "sequence": (dl.Sequence("bytes"), lambda n: [[RNG.bytes(50), b"x"] for _ in range(n)]),
}
DENSE = {
    "embedding": (dl.Embedding(16), lambda n: RNG.random((n, 16), np.float32)),
    "scalar": ("int64", lambda n: RNG.integers(2**60, size=n)),
    "fixed": (dl.Array("uint8", (4, 5)), lambda n: RNG.integers(0, 255, (n, 4, 5), np.uint8)),
}
TYPES = {**RAGGED, **DENSE}


def shrink(monkeypatch):
    for name, value in {
        "array_spec.INDEX_ROWS": 512,
        "column.SPILL_BYTES": 1_024,
        "heap.RAW_CHUNK": 4_096,
        "chunks.COPY_ROWS": 500,
    }.items():
        monkeypatch.setattr(f"deeplake_lite.storage.{name}", value)


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch, only_arrays):  # noqa: ARG001 (nothing may be in a log)
    shrink(monkeypatch)


@pytest.fixture(scope="module", params=TYPES)
def sound(request, tmp_path_factory):
    """Return a lake with diverged branches, its type, and a function that draws values."""
    htype, draw = TYPES[request.param]
    url = str(tmp_path_factory.mktemp("sound") / request.param)
    with pytest.MonkeyPatch.context() as patch, write_only_arrays():
        shrink(patch)
        ds = dl.create(url, {"v": htype, "k": "int64"})
        ds.append({"v": draw(N), "k": range(N)})
        ds.commit("rows")
        ds.tag("v1")
        ds[:20].save("first")
        ds.query("SELECT v AS w, k ORDER BY k LIMIT 20").save("asked")
        for name in ("rows", "cells", "column"):
            ds.branch(name)
        rows = dl.open(url, branch="rows")
        rows.append({"v": draw(100), "k": range(100)})
        rows.commit("more")
        cells = dl.open(url, branch="cells")
        cells.update(range(ROW, ROW + 60), {"v": draw(60)})  # enough for a chunk
        cells.commit("other values")
        column = dl.open(url, branch="column")
        column.add_column("w", htype, values=draw(N))
        column.commit("another column")
        ds.append({"v": draw(1), "k": [N]})
        ds.commit("ours")
    return url, htype, draw


@pytest.fixture
def url(sound, tmp_path):
    return str(shutil.copytree(sound[0], tmp_path / "copy.lake"))


def files(url):
    return set(Path(url, "chunks").iterdir())


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


def chunks_of(ds, path):
    """Return the files of an array's chunks by number."""
    [node] = [
        n
        for n in ds.handle.repository.inspect(ds.version)["nodes"]
        if n["path"].endswith(f"/{path}")
    ]
    manifests = (Path(ds.url, "manifests", ref["id"]) for ref in node["manifest_refs"])
    names = [pair for m in manifests for pair in chunk_names(m.read_bytes())]
    return {number: Path(ds.url, "chunks", name) for number, name in names}


def swap(ds, path, number):
    """Swap the files of a chunk and another chunk of the same array."""
    paths = chunks_of(ds, path)
    one, other = paths[number], paths[max(n for n in paths if n != number)]
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def damage(ds, row=ROW, name="v"):
    """Damage one row: swap chunks of a dense column, or flip a bit of the row's bytes."""
    table, f = ds.handle.table, ds.schema[name]
    slots = table.at(np.array([row]))
    cells = table.read([f.id], slots)[f.id]
    if isinstance(cells, DenseCells):
        swap(ds, f"{f.id}/data", int(slots[0]) // 512)
        return
    buffers = cells.items.buffers if isinstance(cells, NestedCells) else cells.buffers
    data, flipped = bytes(buffers[0]), 0
    for start in range(len(data) - 16, 0, -16):  # the bytes may continue in the next chunk
        for path in files(ds.url):
            if (at := path.read_bytes().find(data[start : start + 16])) >= 0:
                flip(path, at)
                flipped += 1
        if flipped:
            return
    raise AssertionError("the row's bytes are in no file")


NAMED = r"column '\w+', row [\d,]+ of version \w+ of '.*'.*damaged.*ds\.verify\(\).*ds\.delete\(\["


def refuses(url, operation, *args, branch="main", match=NAMED):
    """Check that a copy fails, that the error names the cell, and that the lake is unchanged."""
    before, report = dl.open(url, branch=branch).version, dl.open(url, branch=branch).verify()
    with pytest.raises(dl.DamagedError, match=match):
        operation(*args)
    ds = dl.open(url, branch=branch)
    assert ds.version == before
    assert bool(ds.verify()) == bool(report)
    return ds


def other_lake(ds):
    return dl.create("memory://damaged-copies", ds.schema, overwrite=True)


def commit_copy_of(view):
    other = other_lake(view)
    other.append(view)
    other.commit("copied")


COPIES = {
    "optimize": lambda ds, _: ds.optimize(),
    "shuffle": lambda ds, _: ds.optimize(shuffle=True),
    "materialize": lambda ds, to: ds.materialize(to),
    "materialize a slice": lambda ds, to: ds[5:9].materialize(to),
    "materialize a saved view": lambda ds, to: ds.views()["first"].materialize(to),
    "materialize a saved query": lambda ds, to: ds.views()["asked"].materialize(to),
    "materialize a query": lambda ds, to: ds.query("SELECT v AS w LIMIT 20").materialize(to),
    "materialize rows of a query": lambda ds, to: (
        ds.query("SELECT v AS w").query("SELECT w, w AS x LIMIT 20").materialize(to)
    ),
    "append a dataset": lambda ds, _: commit_copy_of(ds),
    "append a view": lambda ds, _: commit_copy_of(ds[5:9]),
    "append own rows": lambda ds, _: (ds.append(ds[5:9]), ds.commit("twice")),
    "append columns": lambda ds, _: ds.append({"v": ds["v"], "k": ds["k"]}),
    "update": lambda ds, _: ds.update(range(10, 20), {"v": ds[:10]["v"]}),
    "upsert": lambda ds, _: (lambda o: (o.upsert(ds, on="k"), o.commit("u")))(other_lake(ds)),
    "add a column": lambda ds, _: ds.add_column("w", ds.schema["v"].htype, values=ds["v"]),
}


@pytest.mark.parametrize("name", COPIES)
def test_damaged_row_is_never_copied_with_a_new_hash(url, name, tmp_path):
    damage(dl.open(url))
    to = str(tmp_path / "to.lake")
    refuses(url, COPIES[name], dl.open(url), to)
    assert not dl.exists(to)


@pytest.mark.parametrize("regenerated", [False, True], ids=["one generation", "two generations"])
@pytest.mark.parametrize("branch", ["rows", "cells", "column"])
def test_damaged_cell_is_not_merged(url, branch, regenerated):
    theirs = dl.open(url, branch=branch)
    if regenerated:
        theirs.optimize()
    damage(theirs, N + 5 if branch == "rows" else ROW, "w" if branch == "column" else "v")
    ds = dl.open(url)
    refuses(url, ds.merge, branch)
    assert not ds.handle.table.uncommitted


@pytest.mark.parametrize("regenerated", [False, True], ids=["one generation", "two generations"])
def test_damaged_cell_is_not_restored(url, sound, regenerated):
    ds = dl.open(url)
    ds.update([ROW], {"v": sound[2](1)})
    ds.commit("changed")
    if regenerated:
        ds.optimize()
    damage(dl.open(url, version="v1"))
    refuses(url, ds.restore, "v1")
    assert not ds.handle.table.uncommitted


@pytest.mark.parametrize("rebases", [False, True], ids=["commit", "rebase"])
def test_damaged_edits_are_not_copied_onto_another_generation(url, sound, rebases):
    ds, known = dl.open(url), files(url)
    ds.append({"v": sound[2](2_000), "k": range(2_000)})
    written = files(url) - known
    assert written
    dl.open(url).optimize()
    for path in written:
        flip(path, path.stat().st_size // 2)
    refuses(url, ds.rebase if rebases else ds.commit, *(() if rebases else ("rows",)))
    assert ds.handle.table.uncommitted
    ds.discard()


@pytest.mark.parametrize("sound", RAGGED, indirect=True)
def test_advice_in_the_message_works(url):
    ds = dl.open(url)
    damage(ds)
    with pytest.raises(dl.DamagedError, match=r"ds\.delete\(\[7\]\)\.$"):
        ds.optimize()
    ds.delete([7])
    ds.commit("without it")
    ds.optimize()
    assert ds.verify()


@pytest.mark.parametrize("name", COPIES)
@pytest.mark.parametrize("sound", DENSE, indirect=True)
def test_dense_chunk_with_a_flipped_bit_is_never_copied_with_a_new_checksum(url, name, tmp_path):
    path = chunks_of(dl.open(url), f"{dl.open(url).schema['v'].id}/data")[0]
    flip(path, 100)
    refuses(url, COPIES[name], dl.open(url), str(tmp_path / "to.lake"))


@pytest.mark.parametrize("sound", ["raw"], indirect=True)
def test_setting_a_mode_does_not_hash_damaged_pixels(url):
    ds = dl.open(url)
    damage(ds)
    refuses(url, ds.set_mode, "v", "L")


@pytest.mark.parametrize("sound", ["scalar"], indirect=True)
class TestRows:
    ELSEWHERE = "bytes of another chunk"

    @pytest.mark.parametrize("name", ["optimize", "materialize", "materialize a slice"])
    def test_misplaced_ids_are_not_copied(self, url, name, tmp_path):
        ds = dl.open(url)
        ds.optimize(shuffle=True)
        swap(ds, "rows/id", 0)
        to = str(tmp_path / "to.lake")
        refuses(url, COPIES[name], dl.open(url), to, match=self.ELSEWHERE)

    def test_misplaced_ids_are_not_merged(self, url):
        theirs = dl.open(url, branch="cells")
        theirs.optimize(shuffle=True)
        swap(theirs, "rows/id", 0)
        refuses(url, dl.open(url).merge, "cells", match=self.ELSEWHERE)

    @pytest.mark.parametrize(
        "change",
        [
            lambda ds, _: ds.optimize(),
            lambda ds, to: ds.materialize(to),
            lambda ds, _: commit_copy_of(ds),
            lambda ds, _: (ds.delete([0]), ds.commit("fewer rows")),
        ],
        ids=["optimize", "materialize", "append", "delete"],
    )
    def test_misplaced_order_is_not_written_again(self, url, change, tmp_path):
        ds = dl.open(url)
        ds.optimize(shuffle=True)
        ds.restore("v1")
        ds.commit("the old order")
        swap(ds, "rows/slot", 0)
        with pytest.raises(dl.DamagedError, match=self.ELSEWHERE):
            change(dl.open(url), str(tmp_path / "to.lake"))
        with pytest.raises(dl.DamagedError, match=self.ELSEWHERE):
            dl.open(url, verify="read")


@pytest.mark.parametrize("sound", ["bytes"], indirect=True)
def test_small_merge_reads_few_ids(url, monkeypatch):
    from deeplake_lite.storage.arrays import SlotArray

    read, rows = SlotArray.read, []

    async def count(self, slots, out=None):
        if self._checked:
            rows.append(len(slots))
        return await read(self, slots, out)

    monkeypatch.setattr(SlotArray, "read", count)
    dl.open(url).merge("cells")
    assert sum(rows) < 600
