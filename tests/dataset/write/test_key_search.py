"""The search for keys reads blocks and skips chunks, but finds the same rows as an index."""

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.write import key_search
from deeplake_lite.dataset.write.key_search import find_slots
from deeplake_lite.dataset.write.keys import KeyColumn, Keys
from deeplake_lite.storage import log
from deeplake_lite.storage.repo.session import Session

KINDS = {
    "int64": ("int64", np.arange(-30, 30) * 7, [-210, 0, 7, 8, 203, 10_000]),
    "uint8": ("uint8", np.arange(60), [0, 59, 60, 255]),
    "bool": ("bool", [False, True], [True, False]),
    "float32": ("float32", [*np.arange(50) / 4, -0.0, np.nan], [0.0, 1.25, np.nan, 99]),
    "text": ("text", [f"k{i}" for i in range(60)], ["k59", "k0", "k7", "x", ""]),
    "vector": (dl.Array("int16", (3,)), np.arange(180).reshape(60, 3), [[0, 1, 2], [9, 9, 9]]),
    "json": ("json", [{"a": i, "b": [i]} for i in range(40)], [{"b": [3], "a": 3.0}, {"a": 1}]),
    "sequence": (dl.Sequence("int8"), [[i, 1] for i in range(40)], [[1, 1], [1], []]),
    "datetime": (
        "datetime64[ms]",
        np.arange(60).astype("datetime64[D]").astype("datetime64[ms]"),
        np.array(["1970-01-05", "1999-01-01"], "datetime64[ms]"),
    ),
    "nullable": (dl.Scalar("int32", nullable=True), [None, *range(40)], [None, 0, 39, 40]),
}


def check(ds, keys):
    """Compare the rows that the search and the index find."""
    table, f = ds.handle.table, ds.schema["k"]
    cells = f.htype.encode(keys)
    digests = KeyColumn(table, f).digest(cells)
    found = find_slots(table, f, cells, digests)
    np.testing.assert_array_equal(found, Keys(table, f).find(digests))
    return found


def drop_zero(values):
    """Remove the second of two equal keys."""
    return [v for v in values if not (isinstance(v, float) and str(v) == "-0.0")]


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("block_rows", [1, 7, 2**18])
@pytest.mark.parametrize("kind", KINDS)
def test_search_finds_the_same_rows_as_an_index(make_lake, monkeypatch, kind, block_rows):
    monkeypatch.setattr(key_search, "BLOCK_ROWS", block_rows)
    htype, values, keys = KINDS[kind]
    values = drop_zero(values)
    ds = make_lake({"k": htype, "x": "int8"}, k=values, x=[0] * len(values))
    assert (check(ds, keys) >= 0).any()
    ds.delete([0, len(ds) - 1])
    check(ds, keys)
    ds.append({"k": values[:1], "x": [0]})
    check(ds, keys)
    ds.commit("moved")
    check(dl.open(ds.url), keys)
    ds.update([0], {"k": [keys[-1]]})
    assert check(ds, keys)[-1] >= 0
    ds.commit("changed")
    assert check(dl.open(ds.url), keys)[-1] >= 0
    ds.optimize()
    check(dl.open(ds.url), keys)


@pytest.mark.usefixtures("tiny")
@pytest.mark.parametrize("block_rows", [1, 2**18])
def test_keys_of_several_rows_are_rejected_only_if_they_are_searched(
    make_lake, monkeypatch, block_rows
):
    monkeypatch.setattr(key_search, "BLOCK_ROWS", block_rows)
    ds = make_lake({"k": "int64"}, k=[*range(20), 3])
    with pytest.raises(dl.InvalidValueError, match="the lake has several rows with the same key"):
        check(ds, [5, 3])
    assert check(ds, [5, 4]).tolist() == [5, 4]
    with pytest.raises(dl.InvalidValueError, match="several rows"):
        ds.upsert({"k": [3]}, on="k")


def test_keys_that_collide_in_the_filter_are_told_apart(make_lake):
    values = np.random.default_rng(0).integers(-(2**62), 2**62, 20_000)
    values[::2] = np.arange(10_000) << 40
    ds = make_lake({"k": "int64"}, k=values)
    found = check(ds, [*values[5:9_000:3], *range(1, 5_000)])
    assert found[:2_999].tolist() == list(range(5, 9_000, 3))
    assert (found[2_999:] == -1).all()


def test_chunks_without_a_key_are_not_read(tmp_path, monkeypatch):
    ds = dl.create(str(tmp_path / "a.lake"), {"k": "int64", "x": "int64"})
    ds.append({"k": np.arange(100_000), "x": np.arange(100_000)})
    ds.commit("rows")
    read, original = [], Session.each_chunk

    def each_chunk(self, path, numbers, *args):
        read.append((path.split("/")[1:], [*numbers]))
        return original(self, path, numbers, *args)

    monkeypatch.setattr(Session, "each_chunk", each_chunk)
    ds = dl.open(ds.url)
    key, x = (f.id for f in ds.schema)
    ds.upsert({"k": [8_191, 40_000, 10**9], "x": [8_191, -1, -2]}, on="k")
    chunks = {c: [n for p, ns in read if p == [c, "data"] for n in ns] for c in (key, x)}
    assert chunks == {key: [0, 4], x: [0, 4]}
    assert ds.status().updated == {"x": 1}
    ds.commit("upserted")
    assert ds["x"][[8_191, 40_000, -1]].tolist() == [8_191, -1, -2]


def test_upsert_of_few_cells_rewrites_no_chunk_and_no_equal_column(tmp_path, monkeypatch):
    monkeypatch.setattr(log, "MAX_BYTES", 64 * 1024)
    count = 400_000
    ds = dl.create(str(tmp_path / "a.lake"), {"k": "int64", "x": "int64", "y": "int64"})
    ds.append({name: np.arange(count) for name in "kxy"})
    ds.commit("rows")
    chunks = {path.name for path in (tmp_path / "a.lake" / "chunks").iterdir()}
    keys = np.arange(0, count, 500)
    ds.upsert({"k": keys, "x": -keys, "y": keys}, on="k")
    ds.commit("upserted")
    assert {path.name for path in (tmp_path / "a.lake" / "chunks").iterdir()} == chunks
    paths = [path.split("/") for path in ds.handle.table.state.log.index]
    stored = {column for column, name in paths if name == "data"}
    assert {f.name for f in ds.schema if f.id in stored} == {"x"}
    np.testing.assert_array_equal(dl.open(ds.url)["x"][::500], -keys)
