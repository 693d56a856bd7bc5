"""Blocks cached on disk are read again if the file has changed, and are private to the process."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import LoaderError
from deeplake_lite.htypes.cells import DenseCells, NestedCells, RaggedCells
from deeplake_lite.loader.order import shuffle as order_shuffle
from deeplake_lite.loader.read import array_file, block_policy
from deeplake_lite.loader.read.disk import Disk
from deeplake_lite.loader.workers import run
from deeplake_lite.query.functions import user

ROWS = 40
NULL = np.array([True, False])


@pytest.fixture(autouse=True)
def cache(monkeypatch, tmp_path):
    """Cache blocks in a folder of the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "deeplake_lite" / "blocks"


def files_in(folder):
    """Return the files of blocks. Other files have names that begin with a dot."""
    return sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.startswith("."))


CELLS = {
    "numbers": DenseCells(np.arange(2)),
    "nulls": DenseCells(np.array([1.0, 0.0], np.float32), NULL),
    "times": DenseCells(np.array(["2026-01-01", "NaT"], "datetime64[ns]")),
    "large": DenseCells(np.arange(2 * 5000).reshape(2, 50, 100)),
    "no axes": DenseCells(np.empty((2, 0, 3), np.int16)),
    "texts": RaggedCells([b"a", b"bc"], np.empty((2, 0), np.int32), NULL),
    "lists": NestedCells(
        np.array([2, 0]), RaggedCells([b"a", b"bc"], np.array([[1], [2]], np.int32)), NULL
    ),
    "ä/b.c": DenseCells(np.array([True, False])),
}


def assert_same(kept, cells):
    """Compare a block with the cells that it was made from."""
    kept = kept.cells() if hasattr(kept, "cells") else kept
    assert type(kept) is type(cells)
    assert (kept.valid is None) == (cells.valid is None)
    if cells.valid is not None:
        np.testing.assert_array_equal(kept.valid, cells.valid)
    match cells:
        case DenseCells(values):
            assert kept.values.dtype == values.dtype
            np.testing.assert_array_equal(kept.values, values)
        case RaggedCells(buffers, shapes):
            assert [bytes(b) for b in kept.buffers] == [bytes(b) for b in buffers]
            np.testing.assert_array_equal(kept.shapes, shapes)
        case NestedCells(counts, items):
            np.testing.assert_array_equal(kept.counts, counts)
            assert_same(kept.items, items)


def assert_same_or_none(block, cells):
    """Compare a block that may still be valid: bytes between its arrays belong to none."""
    for name, kept in (block or {}).items():
        assert_same(kept, cells[name])


@pytest.mark.parametrize("name", CELLS)
def test_block_is_loaded_as_it_was_saved(tmp_path, name):
    disk = Disk("own", tmp_path)
    disk.save(0, 2, {name: CELLS[name]})
    [(result, kept)] = disk.load(0, 2).items()
    assert result == name
    assert_same(kept, CELLS[name])


def test_file_removed_by_another_process_is_not_an_error(tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "0-4").symlink_to(tmp_path / "nowhere")
    Disk("own", tmp_path)
    assert (tmp_path / "own").is_dir()


@pytest.mark.parametrize("name", CELLS)
def test_block_with_a_changed_byte_is_not_loaded(tmp_path, name):
    cells = {name: CELLS[name]}
    disk = Disk("own", tmp_path)
    disk.save(0, 2, cells)
    [file] = files_in(tmp_path)
    written = file.read_bytes()
    begins = {0, 3, 4, 11, 12, 20, 28, len(written) // 2, len(written) - 1}
    for at in sorted(begins | {*range(28, min(len(written), 400), 7)}):
        wrong = bytearray(written)
        wrong[at] ^= 1
        file.write_bytes(wrong)
        assert_same_or_none(Disk("own", tmp_path).load(0, 2), cells)
    for size in (0, 1, 27, 28, 100, len(written) - 1):
        file.write_bytes(written[:size])
        assert_same_or_none(Disk("own", tmp_path).load(0, 2), cells)
    disk.save(0, 2, cells)
    assert_same(disk.load(0, 2)[name], CELLS[name])


@pytest.mark.parametrize("length", [2**62, 2**64 - 1, 10**6])
def test_list_with_a_false_length_takes_no_memory(tmp_path, length):
    disk = Disk("own", tmp_path)
    disk.save(0, 2, {"x": CELLS["numbers"]})
    [file] = files_in(tmp_path)
    file.write_bytes(file.read_bytes()[:4] + length.to_bytes(8, "little") + file.read_bytes()[12:])
    assert disk.load(0, 2) is None


def test_misplaced_block_is_not_loaded(tmp_path):
    disk, other = Disk("own", tmp_path), Disk("other", tmp_path)
    for place in (disk, other):
        place.save(0, 2, {"x": DenseCells(np.arange(2))})
        place.save(2, 4, {"x": DenseCells(np.arange(2, 4))})
    first, second = tmp_path / "own" / "0-2", tmp_path / "own" / "2-4"
    assert disk.load(0, 2) is not None
    first.write_bytes(second.read_bytes())
    assert disk.load(0, 2) is None
    (tmp_path / "other" / "2-4").replace(second)
    assert disk.load(2, 4) is None


def test_unchanged_file_is_compared_with_its_hashes_once(tmp_path, monkeypatch):
    disk, checks = Disk("own", tmp_path), []
    read = array_file.read
    monkeypatch.setattr(array_file, "read", lambda *a, check: checks.append(check) or read(*a))
    disk.save(0, 2, {"x": CELLS["large"]})
    for _ in range(2):
        assert disk.load(0, 2) is not None
    disk.save(0, 2, {"x": CELLS["large"]})
    assert disk.load(0, 2) is not None
    assert checks == [True, False, True]


def test_leftovers_of_a_killed_process_are_removed_but_not_those_of_live_ones(tmp_path):
    live = Disk("own", tmp_path)
    [loader] = (tmp_path / "own").glob("*.loader")
    names = [".0.1.new", ".0.loader", ".0.uses", ".0-4.reading"]
    ours = loader.with_suffix(".1.new")
    for file in [ours, *(tmp_path / "own" / name for name in names)]:
        file.write_text("")
    Disk("own", tmp_path)
    assert {file.name for file in (tmp_path / "own").iterdir()} == {".used", loader.name, ours.name}
    del live
    assert {file.name for file in (tmp_path / "own").iterdir()} == {".used"}


def test_folder_removed_by_another_process_stores_no_more_blocks(tmp_path):
    disk = Disk("own", tmp_path)
    shutil.rmtree(tmp_path / "own")
    disk.save(0, 4, {"x": DenseCells(np.arange(4))})
    assert disk.load(0, 4) is None


def test_unwritable_cache_is_reported_with_its_location(make_lake, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    loader = make_lake({"x": "int32"}, x=[1, 2]).batches(2, cache="disk")
    with pytest.raises(LoaderError, match=r"cache='disk' stores files in .*Set XDG_CACHE_HOME"):
        next(iter(loader))


# ---- loaders


def epoch(view, **options):
    """Return the columns of an epoch, concatenated and in Python types."""
    with view.batches(16, cache="disk", **options) as loader:
        batches = list(loader)
    return {name: [row for b in batches for row in _rows(b[name])] for name in batches[0]}


def _rows(column):
    return [np.asarray(row).tolist() for row in column]


@pytest.mark.parametrize("first", range(0, 20, 5))
@pytest.mark.parametrize("bit", [0, 3, 7])
def test_loader_reads_damaged_blocks_again(make_lake, cache, bit, first):
    schema = {"x": "float32", "n": dl.Scalar("float32", nullable=True), "t": "text"}
    rows = range(ROWS)
    ds = make_lake(
        schema, x=rows, n=[None if i % 3 else i for i in rows], t=[str(i) * 9 for i in rows]
    )
    expected = epoch(ds)
    [file] = files_in(cache)
    written = file.read_bytes()
    for at in range(first, len(written), 20):
        file.write_bytes(written[:at] + bytes([written[at] ^ (1 << bit)]) + written[at + 1 :])
        assert epoch(ds) == expected


def overwrite(file):
    """Overwrite bytes of a file in place."""
    with file.open("r+b") as f:
        f.seek(file.stat().st_size // 2)
        f.write(b"wrong" * 100)


def cut(file):
    os.truncate(file, 100)


def empty(file):
    os.truncate(file, 0)


def replace_by_another(file):
    other = min(p for p in files_in(file.parent) if p != file)
    copy = file.with_name("copy")
    copy.write_bytes(other.read_bytes())
    copy.replace(file)


def touch(file):
    os.utime(file)


def remove(file):
    file.unlink()


CHANGES = (overwrite, cut, empty, replace_by_another, touch, remove)


@pytest.fixture
def blocks(make_lake, monkeypatch):
    """A lake whose rows take several blocks in mapped files."""
    monkeypatch.setattr(block_policy, "rows_of_block", lambda _: 50)
    values = np.random.default_rng(0).random((300, 100))
    return make_lake({"x": dl.Array("float64", (100,))}, x=values)


@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.__name__)
def test_mapped_block_is_read_again_when_its_file_has_changed(blocks, cache, change, shuffle):
    def rows(loader):
        return sorted(row for batch in loader for row in batch["x"].tolist())

    expected = sorted(blocks["x"][:].tolist())
    with blocks.batches(16, cache="disk", shuffle=shuffle, seed=0) as loader:
        assert rows(loader) == expected
        assert len(files_in(cache)) > 2
        for file in files_in(cache)[1:]:
            change(file)
        assert rows(loader) == expected
        assert rows(loader) == expected


def rows_read(loader):
    """Run an epoch, and return how many rows it reads from the lake."""
    before = loader.resources.blocks.tally.counts.rows
    assert sum(len(batch["x"]) for batch in loader) == 300
    return loader.resources.blocks.tally.counts.rows - before


@pytest.mark.parametrize("fitting", [0, 1, 3, 5])
@pytest.mark.parametrize("shuffle", [False, "block", "exact"])
def test_epoch_reads_only_the_rows_that_do_not_fit(blocks, cache, monkeypatch, shuffle, fitting):
    monkeypatch.setattr(order_shuffle, "rows_of_block", lambda _: 50)
    monkeypatch.setattr(order_shuffle, "MIN_WINDOW", 1)
    monkeypatch.setattr(order_shuffle, "WINDOW_BYTES", 1)
    monkeypatch.setattr(run, "READ_AHEAD_BYTES", 1)  # with so few rows, all would be read ahead
    budget, least = int(fitting * 50 * 800 * 1.1), 300 - 50 * fitting
    # Blocks that are shuffled, or read in order, take up space while they are used.
    most = least if shuffle == "exact" or not fitting else min(300, least + 150)
    with blocks.batches(10, cache="disk", disk_budget=budget, shuffle=shuffle) as loader:
        assert rows_read(loader) == 300
        for _ in range(3):
            assert least <= rows_read(loader) <= most
            assert len(files_in(cache)) <= fitting


def mapped_blocks(cache):
    """Return the mapped files of blocks, on systems that list them."""
    maps = Path("/proc/self/maps")
    lines = maps.read_text().splitlines() if maps.exists() else []
    return [line for line in lines if f"{cache}" in line and ".uses" not in line]


def test_evicted_blocks_do_not_stay_mapped(blocks, cache):
    with blocks.batches(10, cache="disk", disk_budget=int(2 * 50 * 800 * 1.1)) as loader:
        for _ in range(2):
            for _ in loader:
                assert len(mapped_blocks(cache)) <= 4


def test_loader_continues_when_the_cache_is_deleted(blocks, cache):
    expected = sorted(blocks["x"][:].tolist())
    with blocks.batches(16, cache="disk", shuffle=True, memory_budget=1) as loader:
        for _ in range(3):
            rows = []
            for number, batch in enumerate(loader):
                rows += batch["x"].tolist()
                if number == 5:
                    shutil.rmtree(cache, ignore_errors=True)
            assert sorted(rows) == expected


def test_unchanged_file_is_not_loaded_again(blocks, monkeypatch):
    loads, load = [], Disk.load
    monkeypatch.setattr(Disk, "load", lambda self, *span: loads.append(span) or load(self, *span))
    with blocks.batches(16, cache="disk", shuffle=True, seed=0) as loader:
        for _ in range(2):
            list(loader)
        first = len(loads)
        list(loader)
    assert len(loads) == first


def test_block_that_could_not_be_stored_is_held_in_memory(blocks, monkeypatch):
    monkeypatch.setattr(Disk, "save", lambda *_: None)
    expected = blocks["x"][:].tolist()
    with blocks.batches(16, cache="disk") as loader:
        for _ in range(2):
            assert [row for batch in loader for row in batch["x"].tolist()] == expected


@pytest.fixture
def numbers(make_lake, registry):  # noqa: ARG001 what is registered goes
    user.OWN.clear()  # including functions registered by other tests
    return make_lake({"k": "int64", "v": dl.Embedding(3)}, k=range(ROWS), v=np.ones((ROWS, 3)))


def register(sign):
    """Register functions whose results depend on a sign."""
    dl.function(returns="float64", name="feature")(lambda k: sign * float(np.sum(k)))
    dl.function(returns=("float64", (2,)), name="vector")(lambda k: np.array([sign, k], float))


def subview(ds):
    return ds.query("SELECT k, FEATURE(k) AS x")[3:]


def asked_again(ds):
    return ds.query("SELECT k, v, FEATURE(k) AS f").query("SELECT k, f + 1 AS x, v * f AS y")


def joined(ds):
    other = ds.query("SELECT k, FEATURE(k) AS f, VECTOR(k) AS y")
    text = "SELECT a.k, b.f AS x, b.y FROM ds AS a JOIN other AS b ON a.k = b.k ORDER BY a.k"
    return ds.query(text, sources={"ds": ds, "other": other})


OWN = {
    "scalar": lambda ds: ds.query("SELECT k, FEATURE(k) AS x"),
    "of a tensor": lambda ds: ds.query("SELECT k, FEATURE(v) AS x"),
    "tensor": lambda ds: ds.query("SELECT k, VECTOR(k) AS x"),
    "nested": lambda ds: ds.query("SELECT k, v * FEATURE(k) + 1 AS x"),
    "subquery": lambda ds: ds.query("SELECT k, x FROM (SELECT k, FEATURE(k) * 2 AS x FROM ds)"),
    "value of a query": lambda ds: ds.query("SELECT k, k + (SELECT SUM(FEATURE(k)) FROM ds) AS x"),
    "aggregate": lambda ds: ds.query("SELECT k % 5 AS m, SUM(FEATURE(k)) AS x GROUP BY m"),
    "rows": lambda ds: ds.query("SELECT k * 2 AS x ORDER BY FEATURE(k)"),
    "view of a view": subview,
    "query of a query": asked_again,
    "join": joined,
}


@pytest.mark.parametrize("ask", OWN.values(), ids=OWN)
def test_results_of_a_user_function_are_not_reused(numbers, ask):
    for sign in (1.0, -1.0, 2.0):
        register(sign)
        view = ask(numbers)
        expected = {name: _rows(view[name][:]) for name in view.columns}
        for _ in range(2):
            result = epoch(view)
            assert {name: result[name] for name in expected} == expected


@pytest.mark.parametrize(("name", "text"), [("mean", "AVG(v)"), ("power", "POW(k, 1)")])
def test_function_called_under_another_name_is_not_reused(numbers, name, text):
    for sign in (1.0, -1.0):
        dl.function(returns="float64", name=name, override=True)(
            lambda v, *_, sign=sign: sign * float(np.sum(v))
        )
        view = numbers.query(f"SELECT k, {text} AS x")
        assert epoch(view)["x"] == _rows(view["x"][:])


def test_function_with_changed_results_is_called_by_each_loader(numbers):
    calls = []

    @dl.function(returns="float64")
    def feature(v):  # noqa: ARG001
        calls.append(1)
        return float(len(calls))

    view = numbers.query("SELECT k, FEATURE(v) + v AS x")
    first, second = epoch(view), epoch(view)
    assert first["x"] != second["x"]


def test_mixes_with_a_user_function_are_not_reused(numbers):
    for sign in (1.0, -1.0):
        register(sign)
        view = numbers.query("SELECT k, FEATURE(k) AS x")
        result = epoch(dl.mix([(view, 1), (view[:20], 1)], seed=0))
        assert {x * sign for x in result["x"]} == {float(k) for k in result["k"]}


def test_files_for_a_user_function_are_deleted_with_their_loader(numbers, cache):
    register(1.0)
    loader = numbers.query("SELECT k, FEATURE(k) AS x").batches(16, cache="disk")
    assert len(list(loader)) == len(list(loader))
    assert len(files_in(cache)) == 1
    loader.close()
    assert [path for path in cache.iterdir() if path.is_dir()] == []


def test_stored_columns_and_those_of_known_functions_are_cached_for_the_next_process(
    numbers, cache
):
    for view in (numbers, numbers.query("SELECT k, v * 2 AS x, SUM(v) AS y")):
        epoch(view)
    before = {file: file.stat().st_mtime_ns for file in files_in(cache)}
    assert len(before) == 2
    for view in (numbers, numbers.query("SELECT k, v * 2 AS x, SUM(v) AS y")):
        epoch(view)
    register(1.0)
    epoch(numbers)
    epoch(numbers.query("SELECT k, v WHERE FEATURE(k) >= 0"))
    assert {file: file.stat().st_mtime_ns for file in files_in(cache)} == before


def test_another_release_of_the_package_has_its_own_blocks(numbers, cache, monkeypatch):
    epoch(numbers)
    [before] = files_in(cache)
    monkeypatch.setattr("importlib.metadata.version", lambda name: f"{name} 99.0")
    epoch(numbers)
    assert len(files_in(cache)) == 2
    assert before in files_in(cache)
