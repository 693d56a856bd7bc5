"""Misplaced files, false documents, and frames that decompress to more than they should."""

from __future__ import annotations

import json
import os
import shutil
import threading
import tracemalloc

import icechunk
import numpy as np
import pytest
import zarr
from numcodecs import Blosc, Zstd

import deeplake_lite as dl
from deeplake_lite.storage import frames, state
from deeplake_lite.storage.array_spec import ArraySpec, with_checksum
from deeplake_lite.testing.tiny import only_arrays

N = 2_000

pytestmark = pytest.mark.usefixtures("only_arrays")


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("sound") / "a.lake"
    columns = {"a": "int64", "b": "int64", "t": "text", "v": dl.Array("uint8", (70, 70))}
    with only_arrays():
        make(str(folder), columns, rng)
    return folder


def make(url, columns, rng):
    ds = dl.create(url, {**columns, "d": "bytes"})
    ds.append(
        {
            "a": rng.integers(2**60, size=N),
            "b": rng.integers(2**60, size=N),
            "t": [rng.bytes(30).hex() for _ in range(N)],
            "v": rng.integers(0, 255, (N, 70, 70), np.uint8),
            "d": [rng.bytes(3_000) for _ in range(N)],
        }
    )
    ds.commit("rows")


@pytest.fixture
def lake(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "a.lake")


def snapshot(lake):
    repository = icechunk.Repository.open(icechunk.local_filesystem_storage(str(lake)))
    tip = repository.lookup_branch("main")
    return repository.inspect_snapshot(tip)


def manifest_of(lake, column, name="data"):
    ds = dl.open(str(lake))
    path = f"/0/{ds.schema[column].id}/{name}"
    [node] = [n for n in snapshot(lake)["nodes"] if n["path"] == path]
    return lake / "manifests" / node["manifest_refs"][0]["id"]


def chunk_of(lake, column, name="data", number=0):
    from deeplake_lite.storage.chunk_files import chunk_names

    names = dict(chunk_names(manifest_of(lake, column, name).read_bytes()))
    return lake / "chunks" / names[number]


def swap(one, other):
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)


def test_swapped_chunks_of_two_columns_are_damage(lake):
    swap(chunk_of(lake, "a"), chunk_of(lake, "b"))
    report = dl.open(str(lake)).verify()
    assert {d.column for d in report.damaged} == {"a", "b"}
    assert "of another chunk" in str(report)
    ds = dl.open(str(lake), verify="read")
    for column in "ab":
        with pytest.raises(dl.DamagedError, match="of another chunk"):
            ds[column][5]


def test_swapped_chunks_of_one_column_are_damage(lake):
    swap(chunk_of(lake, "v", number=0), chunk_of(lake, "v", number=1))
    damaged = dl.open(str(lake)).verify().damaged
    assert {d.column for d in damaged} == {"v"}
    assert {d.row for d in damaged} == set(range(2 * ArraySpec("uint8", (70, 70)).chunk_rows))
    with pytest.raises(dl.DamagedError, match="of another chunk"):
        dl.open(str(lake), verify="read")["v"][0]


@pytest.mark.parametrize("name", ["extents", "hashes"])
def test_swapped_parts_of_an_index_are_damage(lake, name):
    swap(chunk_of(lake, "t", name), chunk_of(lake, "d", name))
    assert not dl.open(str(lake)).verify()
    for column in "td":
        with pytest.raises(dl.DamagedError):
            dl.open(str(lake), verify="read")[column][:]


def test_misplaced_cell_is_damage_when_reads_are_checked(lake):
    path = chunk_of(lake, "d", "values")
    data = path.read_bytes()
    path.write_bytes(data[3_000:6_000] + data[:3_000] + data[6_000:])
    assert dl.open(str(lake))["d"][0] != dl.open(str(lake))["d"][2]  # nothing is reported
    with pytest.raises(dl.DamagedError, match="hashes"):
        dl.open(str(lake), verify="read")["d"][0]
    assert {d.row for d in dl.open(str(lake)).verify().damaged} == {0, 1}


def test_damage_is_not_written_again_as_valid_data(lake):
    swap(chunk_of(lake, "a"), chunk_of(lake, "b"))
    ds = dl.open(str(lake))
    ds["a"][0] = 1
    with pytest.raises(dl.DamagedError, match="of another chunk"):
        ds.commit("on damaged ground")
    assert len(dl.open(str(lake)).log()) == 2


def test_manifest_of_another_array_is_damage(lake):
    shutil.copy(manifest_of(lake, "b"), manifest_of(lake, "a"))
    with pytest.raises(dl.DamagedError):
        dl.open(str(lake))["a"][:]
    ds = dl.open(str(lake))
    result = {(d.column, d.version) for d in ds.verify().damaged}
    assert result == {("a", None), (None, ds.version)}


def pipe(path):
    os.mkfifo(path)


def link_to_itself(path):
    path.symlink_to(path)


def link_to_zeros(path):
    path.symlink_to("/dev/zero")


def hole(path):
    with path.open("wb") as file:
        file.truncate(2**40)


STRANGE = [pipe, link_to_itself, link_to_zeros, os.mkdir, hole]
PLACES = {
    "chunk": lambda lake: chunk_of(lake, "a"),
    "wide chunk": lambda lake: chunk_of(lake, "v"),
    "bytes": lambda lake: chunk_of(lake, "d", "values"),
    "manifest": lambda lake: manifest_of(lake, "a"),
    "repo": lambda lake: lake / "repo",
    "snapshot": lambda lake: lake / "snapshots" / snapshot(lake)["id"],
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes")
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("make", STRANGE, ids=lambda make: make.__name__)
def test_special_files_neither_block_nor_crash(lake, place, make):
    if place in ("repo", "snapshot", "bytes") and make is hole:
        return  # the engine reads the expected length; a mapped hole takes no memory
    path = PLACES[place](lake)
    path.unlink()
    make(path)
    outcomes = []

    def read():
        try:
            ds = dl.open(str(lake))
            outcomes.append([ds["a"][0], ds["v"][:], ds["d"][:50], ds.log()])
        except dl.LakeError as error:
            outcomes.append(error)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    reader.join(60)
    assert outcomes, "the read waits for ever"
    assert isinstance(outcomes[0], dl.LakeError)


# ---- documents


def craft(lake, change, *, sealed=True):
    """Commit a different document, with its digest."""
    repository = icechunk.Repository.open(icechunk.local_filesystem_storage(str(lake)))
    session = repository.writable_session("main")
    root = zarr.open_group(session.store, mode="a")
    document = json.loads(json.dumps(root.attrs[state.KEY]))
    change(document)
    root.attrs[state.KEY] = state.add_digest(document) if sealed else document
    session.commit("crafted")


WRONG = [None, True, -1, 2**200, 1.5, "1", [], {}, {"a": {}}, [[[]]], "x" * 100_000]
KEYS = ["generation", "slots", "ordered", "revision", "schema", "heaps", "lengths", "checksums"]


@pytest.fixture(scope="module")
def document(sound):
    repository = icechunk.Repository.open(icechunk.local_filesystem_storage(str(sound)))
    root = zarr.open_group(repository.readonly_session("main").store, mode="r")
    return dict(root.attrs[state.KEY])


@pytest.mark.parametrize("key", [*KEYS, "metadata"])
@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:12])
def test_document_with_wrong_types_is_damage_or_means_what_it_says(document, key, value):
    if (key, value) in [("metadata", {}), ("metadata", {"a": {}}), ("heaps", {})]:
        return  # these are valid
    if key == "ordered" and value is True:
        return
    error = dl.LakeError if key == "schema" else dl.DamagedError
    with pytest.raises(error, match=r"Restore the (lake|schema) from a backup"):
        state.State.from_json({state.KEY: state.add_digest({**document, key: value})})


@pytest.mark.parametrize("key", [*KEYS, "metadata"])
def test_document_with_a_missing_key_is_damage(document, key):
    bare = {k: v for k, v in document.items() if k != key}
    with pytest.raises(dl.DamagedError, match="document is damaged"):
        state.State.from_json({state.KEY: state.add_digest(bare)})


def test_changed_document_is_damage(lake):
    craft(lake, lambda document: document["metadata"].update(licence="MIT"), sealed=False)
    with pytest.raises(dl.DamagedError, match="digest"):
        dl.open(str(lake))


def nest(document):
    htype = {"htype": "text"}
    for _ in range(100):
        htype = {"htype": "sequence", "of": htype}
    document["schema"]["columns"][0]["htype"] = htype


LIES = {
    "fewer slots": lambda d: d.update(slots=5),
    "many slots": lambda d: d.update(slots=10**12),
    "another generation": lambda d: d.update(generation=7),
    "an order that is not there": lambda d: (
        d.update(ordered=False),
        d["lengths"].update({"rows/slot": 10}),
    ),
    "a huge cell": lambda d: d["schema"]["columns"][0].update(
        htype={"htype": "embedding", "dim": 10**15}
    ),
    "deep sequences": nest,
    "a column twice": lambda d: d["schema"]["columns"].append(d["schema"]["columns"][0]),
    "a climbing path": lambda d: d["heaps"].update({"../../x/values": 3}),
    "a far row of checksums": lambda d: d["checksums"].update(dict.fromkeys(d["checksums"], 2**40)),
}


@pytest.mark.parametrize("lie", LIES)
def test_document_that_contradicts_the_arrays_is_damage(lake, lie):
    craft(lake, LIES[lie])
    with pytest.raises(dl.DamagedError):
        dl.open(str(lake))


@pytest.mark.parametrize("key", ["heaps", "lengths"])
def test_write_never_overwrites_data_missing_from_a_document(lake, key):
    before = dl.open(str(lake))["d"][:]

    def forget(document):
        tails = {k: 0 for k in document["lengths"] if k.endswith("/tail")}
        document[key] = {} if key == "heaps" else {**document[key], **tails}

    craft(lake, forget)
    pixels = np.zeros((1, 70, 70), np.uint8)
    row = {"a": [1], "b": [1], "t": ["x"], "v": pixels, "d": [bytes(4_500_000)]}
    ds = dl.open(str(lake))
    with pytest.raises(dl.DamagedError), ds.transaction("over others"):
        ds.append(row)
    first = dl.open(str(lake)).log()[1].id
    assert dl.open(str(lake), version=first)["d"][:] == before


def test_snapshot_of_another_version_is_damage(lake):
    ds = dl.open(str(lake))
    newest, older, *_ = [commit.id for commit in ds.log()]
    shutil.copy(lake / "snapshots" / newest, lake / "snapshots" / older)
    assert {d.version for d in dl.open(str(lake)).verify().damaged} == {older}
    with pytest.raises(dl.DamagedError, match=f"its file contains version {newest}"):
        dl.open(str(lake), version=older)


SPANS = {
    "many items": (1, [0, 1 << 60]),
    "a billion items": (1, [0, 1 << 30]),
    "far away": (1, [1 << 60, 1]),
    "before the first": (1, [-5, 2]),
    "less than none": (1, [0, -2]),
    "sums that overflow": (1, [-(1 << 63), (1 << 63) - 1]),
    "all items for each cell": (slice(None), [[0, 8]] * 4),
}
WAYS = {
    "column": lambda ds: ds["x"][:],
    "cells": lambda ds: [ds["x"][i] for i in range(4)] and ds["x"][:],
    "batches": lambda ds: list(ds.batches(2)),
    "query": lambda ds: ds.query("SELECT x ORDER BY ROW_NUMBER() DESC")["x"][:],
    "arrow": lambda ds: ds.to_arrow(),
    "split": lambda ds: ds.split([0.5, 0.5], by="x"),
    "optimize": lambda ds: ds.optimize(),
}


@pytest.mark.parametrize("of", ["text", "polygons"])
@pytest.mark.parametrize("span", SPANS)
def test_missing_items_take_no_memory(tmp_path, span, of):
    row = ["a", "b"] if of == "text" else [np.zeros((3, 2), "float32")] * 2
    htype = dl.Sequence(dl.Text()) if of == "text" else dl.Polygons()
    ds = dl.create(str(tmp_path / "a.lake"), {"x": htype})
    ds.append({"x": [row] * 4})
    ds.commit("rows")
    repository = icechunk.Repository.open(icechunk.local_filesystem_storage(ds.url))
    session = repository.writable_session("main")
    spans = zarr.open_group(session.store, mode="a")[f"0/{ds.schema['x'].id}/spans"]
    at, values = SPANS[span]
    spans[at] = values
    for way in WAYS.values():
        if way is not WAYS["optimize"]:
            way(ds)  # imports are slow while memory is traced
    session.commit("crafted")
    for way in WAYS.values():
        ds = dl.open(ds.url)
        tracemalloc.start()
        try:
            with pytest.raises(dl.DamagedError, match="items"):
                way(ds)
            assert tracemalloc.get_traced_memory()[1] < 1 << 27
        finally:
            tracemalloc.stop()
    assert dl.open(ds.url).verify().damaged


# ---- sizes


def test_frames_that_decompress_to_another_size_are_refused():
    bomb = bytes(Zstd().encode(bytes(50_000_000)))
    with pytest.raises(ValueError, match="instead of 65536"):
        frames.unzstd(bomb, 65_536)
    two = bytes(Zstd().encode(bytes(100))) * 2
    with pytest.raises(ValueError, match="must end with the data, at byte"):
        frames.unzstd(two, 100)
    with pytest.raises(ValueError, match="more than 1000"):
        frames.unzstd_within(bomb, 1_000)


@pytest.mark.parametrize("size", [0, 1, 255, 256, 65_791, 65_792, 300_000])
def test_frames_of_all_header_sizes_decompress(size):
    data = np.random.default_rng(size).bytes(size)
    packed = bytes(Zstd(checksum=bool(size % 2)).encode(data))
    assert frames.unzstd(packed, size) == data
    assert frames.unzstd_within(packed, size) == data
    for cut in range(min(len(packed), 20)):
        with pytest.raises(ValueError, match=r"Zstandard|decompresses"):
            frames.unzstd(packed[:cut], size)


def test_blosc_chunk_of_another_size_is_refused():
    spec = ArraySpec("int64")
    large = np.frombuffer(Blosc("zstd", 1).encode(np.zeros(10**7)), np.uint8).copy()
    with pytest.raises(ValueError, match="decompresses to 80000000"):
        spec.decode_chunk(memoryview(with_checksum(large)))


def test_open_only_checks_reads(lake):
    with pytest.raises(ValueError, match=r"None or 'read', but it is 'all'.*ds\.verify"):
        dl.open(str(lake), verify="all")
