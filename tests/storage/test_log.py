"""Small commits add their entries to the log in the document; large ones write them to arrays."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import deeplake_lite as dl
from deeplake_lite.errors import DamagedError, LakeError
from deeplake_lite.storage import log
from deeplake_lite.storage.array_spec import ArraySpec
from deeplake_lite.storage.log import Entries, Log, LogWriter, Size
from deeplake_lite.storage.snapshot import Snapshot
from deeplake_lite.storage.state import KEY, State, add_digest
from deeplake_lite.storage.touched import Touched
from deeplake_lite.testing.invariants import check_consistent
from tests.dataset import everything

SPEC = ArraySpec("int16", (2,))


def entries(rows, updates):
    return Entries(
        np.array([[n, -n] for n in rows], "int16").reshape(-1, 2),
        np.array(list(updates), np.int64),
        np.array([[n, n] for n in updates.values()], "int16").reshape(-1, 2),
    )


def files_of(folder):
    return {path for path in folder.rglob("*") if path.is_file() and ".writers" not in path.parts}


@pytest.fixture
def default_limit(monkeypatch):
    monkeypatch.setattr(log, "MAX_BYTES", 64 * 1024)


def arrays_of(ds):
    nodes = ds.handle.repository.inspect(ds.version)["nodes"]
    return {n["path"].strip("/").partition("/")[2] for n in nodes if n["node_type"] == "array"}


# ---- the log itself


def test_log_round_trips_and_does_not_depend_on_the_order_of_its_arrays():
    logs = []
    for paths in ("ab", "ba"):
        writer = LogWriter()
        for path in paths:
            added = entries([1, 2], {7: 3}) if path == "a" else entries([], {0: 1, 4: 2})
            writer.add(f"0/{path}", added)
        writer.add("0/c", entries([], {}))
        logs.append(Log.from_json(json.loads(json.dumps(writer.log().to_json()))))
    assert logs[0] == logs[1]
    assert logs[0].index.keys() == {"a", "b"}
    assert len(logs[0]) == 3 * 4 + 8 + 2 * 12
    assert (logs[0].size("a"), logs[0].size("b")) == (Size(20, 2), Size(24, 1))
    a, b, c = (logs[0].entries(path, SPEC) for path in "abc")
    assert (a.rows.tolist(), a.slots.tolist(), a.values.tolist()) == (
        [[1, -1], [2, -2]], [7], [[3, 3]],
    )  # fmt: skip
    assert (b.rows.tolist(), b.slots.tolist(), b.values.tolist()) == ([], [0, 4], [[1, 1], [2, 2]])
    assert not c
    copy = LogWriter()
    copy.copy(logs[0], "b")
    copy.copy(logs[0], "c")
    assert copy.log().entries("b", SPEC).values.tolist() == b.values.tolist()


WRONG = [None, True, -1, 2**60, 1.5, "x", [], {}, [1, 2, 3], "====", "KLUv"]


@pytest.mark.usefixtures("default_limit")
@pytest.mark.parametrize("wrong", WRONG, ids=repr)
@pytest.mark.parametrize("key", ["log", "data", "arrays", "entry", "path", "rows"])
def test_wrong_logs_are_damage(make_lake, key, wrong):
    ds = make_lake({"x": "int32", "t": "text"}, x=[1, 2], t=["a", "b"])
    document = json.loads(json.dumps(ds.handle.table.state.to_json()[KEY]))
    stored, path = document["log"], next(p for p in document["log"]["arrays"] if "data" in p)
    if key == "log":
        document["log"] = wrong
    elif key == "entry":
        stored["arrays"][path] = wrong
    elif key == "path":
        stored["arrays"][f"{wrong}"] = [0, 0, 0, 0]
    elif key == "rows":
        stored["arrays"][path][2] = wrong
    else:
        stored[key] = wrong
    with pytest.raises(LakeError):
        read_with(document, ds)


def read_with(document, ds):
    """Read the lake as if it had another document."""
    state = State.from_json({KEY: add_digest(document)})
    repository = ds.handle.repository
    snapshot = Snapshot(repository, repository.reader(ds.version), state)
    return snapshot.read([f.id for f in state.schema], np.arange(2))


# ---- what is written

VALUES = {"int32": 1, "text": "a"}
"""A value of some types; the others have sequences."""


@pytest.mark.usefixtures("default_limit")
def test_small_commit_writes_four_files_whatever_the_number_of_columns(tmp_path):
    wide = {f"c{i}": ["int32", "text", dl.Boxes(), dl.Sequence("text")][i % 4] for i in range(40)}
    for name, schema in {"narrow": {"x": "int32"}, "wide": wide}.items():
        ds = dl.create(str(tmp_path / name), schema)
        before = files_of(tmp_path / name)
        ds.append([{name: VALUES.get(str(kind), []) for name, kind in schema.items()}])
        ds.commit("a row")
        added = files_of(tmp_path / name) - before  # and the object ``repo`` is replaced
        assert sorted(p.parent.name for p in added) == ["overwritten", "snapshots", "transactions"]
        assert not arrays_of(ds)
        check_consistent(ds)


@pytest.mark.usefixtures("default_limit")
def test_large_commit_writes_the_largest_arrays(make_lake):
    ds = make_lake({"x": "int64", "t": "text"}, x=[1, 2], t=["a", "b"])
    assert len(ds.handle.table.state.log)
    ds.append({"x": np.arange(10_000), "t": ["c"] * 10_000})
    ds.commit("many")
    stored = ds.handle.table.state.log.index
    assert {path.rpartition("/")[2] for path in arrays_of(ds)} == {
        "id", "checksums", "data", "extents", "hashes",
    }  # fmt: skip
    assert {path.partition("/")[2]: n for path, (_, _, *n) in stored.items()} == {
        "bounds": [2, 0], "counts": [2, 0], "tail": [10_002, 0], "block": [2, 0],
    }  # fmt: skip
    ds["x"][[0, 9_000]] = [7, 8]
    ds.append({"x": [5], "t": ["e"]})
    ds.commit("few")
    stored = ds.handle.table.state.log.index
    assert {path.partition("/")[2]: n for path, (_, _, *n) in stored.items()} == {
        "data": [1, 2], "bounds": [2, 0], "counts": [2, 0], "extents": [1, 0], "hashes": [1, 0],
        "tail": [10_003, 0], "id": [1, 0], "block": [3, 0],
    }  # fmt: skip
    again = dl.open(ds.url)
    assert again["x"][[0, 1, 2, 9_000, -1]].tolist() == [7, 2, 0, 8, 5]
    assert again["x"][:].tolist() == [7, 2, *range(8_998), 8, *range(8_999, 10_000), 5]
    assert again["t"][-2:] == ["c", "e"]
    check_consistent(again)


def scattered(ds, updates, step):
    """Commit updates of every `step`th row, some more in each commit."""
    expected = ds["x"][:]
    for start in range(0, len(ds), len(ds) // updates):
        slots = np.arange(start, min(start + len(ds) // updates, len(ds)), step)
        ds.update(slots, {"x": -(slots % 100)})
        expected[slots] = -(slots % 100)
        ds.commit("scattered")
        yield ds.handle.table.state.log
    np.testing.assert_array_equal(dl.open(ds.url)["x"][:], expected)
    assert ds.verify()


@pytest.mark.usefixtures("default_limit")
def test_updates_of_many_chunks_stay_in_a_large_log(make_lake):
    ds = make_lake({"x": "int8"}, x=np.zeros(2_000_000, np.int8))
    logs = list(scattered(ds, 10, 200))
    sizes = [len(log) for log in logs]
    assert 64 * 1024 < sizes[-1] <= 512 * 1024
    large = [size > 64 * 1024 for size in sizes]
    assert [log.age for log in logs] == np.cumsum(large).tolist()
    paths = {path.rpartition("/")[2] for path in logs[-1].index}
    assert "data" in paths
    assert Log.from_json(json.loads(json.dumps(logs[-1].to_json()))) == logs[-1]


@pytest.mark.usefixtures("default_limit")
def test_updates_of_few_chunks_are_moved_to_arrays(make_lake):
    ds = make_lake({"x": "int64"}, x=np.arange(20_000))
    assert all(len(log) <= 64 * 1024 and not log.age for log in scattered(ds, 10, 1))


@pytest.mark.usefixtures("default_limit")
def test_large_log_is_moved_to_arrays_after_many_commits(make_lake, monkeypatch):
    monkeypatch.setattr(log, "MIN_RATIO", 2)
    ds = make_lake(
        {"x": "int64", "y": "int8"}, x=np.arange(1_000_000), y=np.zeros(1_000_000, np.int8)
    )
    ds.update(np.arange(0, 1_000_000, 100), {"x": np.arange(10_000)})
    ages = []
    while not ages or ages[-1]:
        ds["y"][len(ages)] = 1
        ds.commit("one")
        ages.append(ds.handle.table.state.log.age)
    # 123 chunks of 16 KiB are 12.6 times as large as 10,000 updates of 16 bytes.
    assert ages == [*range(1, 14), 0]
    assert dl.open(ds.url)["x"][::100].tolist() == list(range(10_000))
    assert ds.verify()


@pytest.mark.usefixtures("default_limit")
def test_log_beyond_the_limit_keeps_as_much_as_fits(make_lake, monkeypatch):
    monkeypatch.setattr(log, "MIN_RATIO", 2)
    rows = np.arange(1_000_000)
    ds = make_lake({"x": "int64", "y": "int64", "z": "int64"}, x=rows, y=rows, z=rows)
    slots = rows[::80]
    ds.update(slots, dict.fromkeys("xyz", -slots))
    ds.commit("scattered")
    stored = ds.handle.table.state.log
    assert len(stored) <= 512 * 1024
    assert sum(path.endswith("/data") for path in stored.index) == 2
    for name in "xyz":
        np.testing.assert_array_equal(dl.open(ds.url)[name][::80], -slots)
    assert ds.verify()


@pytest.mark.usefixtures("default_limit")
@pytest.mark.parametrize("age", [-1, True, 1.5, "x", None, 2**60])
def test_wrong_age_is_damage(make_lake, age):
    ds = make_lake({"x": "int32"}, x=[1, 2])
    document = json.loads(json.dumps(ds.handle.table.state.to_json()[KEY]))
    document["log"]["age"] = age
    with pytest.raises(LakeError):
        read_with(document, ds)


@pytest.mark.usefixtures("default_limit")
def test_same_updates_in_two_logs_do_not_count_as_touched(make_lake):
    ds = make_lake({"x": "float64"}, x=np.arange(50_000))
    ds.update([5, 9_000, 40_000], {"x": [-1, np.nan, 3]})
    first = ds.commit("three")
    ds.update([5, 7, 40_000], {"x": [-1, 8, 4]})
    second = ds.commit("one new, one changed, one again")
    old, new = (dl.open(ds.url, version=v).handle.table for v in (first, second))
    touched = Touched()
    old.compare_logs(new, touched)
    [slots] = [s for path, s in touched.logged.items() if path.endswith("/data")]
    assert slots.slots().tolist() == [7, 40_000]
    diff = ds.diff(first, second)
    assert len(diff.changed["x"]) == 2


@pytest.mark.parametrize("limit", [-1, 100, 1_000, 64 * 1024])
@pytest.mark.parametrize("name", [n for n in everything.SCHEMA if n != "link"])
def test_cells_are_the_same_for_every_limit(make_lake, monkeypatch, name, limit):
    monkeypatch.setattr(log, "MAX_BYTES", limit)
    values = everything.VALUES[name]
    ds = make_lake({name: everything.SCHEMA[name]})
    for part in (values[:1], values[1:], values):
        ds.append({name: part})
        ds.commit("more")
    ds.update([0], {name: values[-1:]})
    ds.commit("changed")
    expected = make_lake({name: everything.SCHEMA[name]}, **{name: [*values, *values]})
    expected.update([0], {name: values[-1:]})
    assert repr(dl.open(ds.url)[name][:]) == repr(expected[name][:])
    check_consistent(ds)


# ---- versions


@pytest.mark.usefixtures("default_limit")
@pytest.mark.parametrize("rows", [3, 20_000])
def test_versions_with_logs_are_compared_and_merged(make_lake, rows):
    ds = make_lake({"x": "int64", "t": "text"}, x=np.arange(rows), t=["a"] * rows)
    first = ds.version
    ds.branch("fix")
    fix = dl.open(ds.url, branch="fix")
    fix["x"][1] = -1
    fix.append({"x": [50], "t": ["new"]})
    fix.commit("fix")
    ds["t"][2] = "b"
    ds.commit("other cell")
    changes = ds.diff(first, "fix")
    assert (len(changes.added), changes.changed.keys()) == (1, {"x"})
    assert ds.diff(first, "main").changed.keys() == {"t"}
    assert ds.diff("fix", "main").changed.keys() == {"x", "t"}
    ds.merge("fix")
    assert (ds["x"][1], ds["t"][2], ds["x"][-1], len(ds)) == (-1, "b", 50, rows + 1)
    assert not ds.diff("main", "main")
    ds.restore(first)
    ds.commit("back")
    assert ds["x"][:].tolist() == [*range(rows)]
    check_consistent(ds)


@settings(max_examples=5)
@given(st.data())
def test_two_writers_with_logs_lose_nothing(data):
    number = data.draw(st.integers(0, 10**9))
    ds = dl.create(f"memory://log-{number}", {"x": "int64", "b": "bytes"}, overwrite=True)
    writers, expected = [ds, dl.open(ds.url)], []
    for step in range(data.draw(st.integers(1, 8))):
        writer = writers[data.draw(st.integers(0, 1))]
        size = data.draw(st.sampled_from([1, 20, 3_000]))
        writer.append({"x": [step] * size, "b": [bytes([step])] * size})
        expected += [step] * size
        if data.draw(st.booleans()):
            writer.commit("rows")
    for writer in writers:
        writer.commit("rest")
    again = dl.open(ds.url)
    assert sorted(again["x"][:].tolist()) == sorted(expected)
    assert [b[0] for b in again["b"][:]] == again["x"][:].tolist()
    check_consistent(again)


# ---- crafted logs


SLOTS = {
    "not ascending": ([2, 1], "ascending"),
    "repeated": ([1, 1], "ascending"),
    "negative": ([-1, 1], "ascending"),
    "of a row in the log": ([1, 3], "only slots below 3"),
    "beyond the end": ([1, 2**50], "only slots below 3"),
}


@pytest.mark.usefixtures("default_limit")
@pytest.mark.parametrize(("slots", "message"), SLOTS.values(), ids=SLOTS)
def test_impossible_updates_are_damage(make_lake, monkeypatch, slots, message):
    ds = lake_with_updates(make_lake, monkeypatch)
    damaged = with_entries(ds, "data", lambda e: replace(e, slots=np.array(slots)))
    [column] = ds.schema
    with pytest.raises(DamagedError, match=message):
        damaged.read([column.id], np.arange(4))
    with pytest.raises(DamagedError, match=message):
        damaged.compare_logs(ds.handle.table, Touched())
    assert message in damaged.verify(column.id, np.arange(4))[0].reason


@pytest.mark.usefixtures("default_limit")
def test_bytes_that_are_no_entries_are_damage(make_lake, monkeypatch):
    ds = lake_with_updates(make_lake, monkeypatch)
    stored = ds.handle.table.state.log
    [path] = (p for p in stored.index if p.endswith("/data"))
    at, size, rows, updates = stored.index[path]
    longer = Log({**stored.index, path: (at, size + 1, rows, updates)}, stored.data)
    with pytest.raises(DamagedError, match="more bytes"):
        longer.entries(path, ArraySpec("int64"))


@pytest.mark.usefixtures("default_limit")
@pytest.mark.parametrize("change", ["updates", "length"])
def test_impossible_tails_are_damage(make_lake, change):
    ds = make_lake({"t": "text"}, t=["abc", "d"])
    if change == "updates":
        one = {"slots": np.array([0]), "values": np.array([1], "uint8")}
        damaged = with_entries(ds, "tail", lambda e: replace(e, **one))
    else:
        damaged = with_entries(ds, "tail", lambda e: replace(e, rows=np.zeros(5, "uint8")))
    [column] = ds.schema
    with pytest.raises(DamagedError, match="which has 4 bytes and is never updated"):
        damaged.read([column.id], np.arange(2))


def lake_with_updates(make_lake, monkeypatch):
    """Make a lake with three rows in its arrays, and a row and two updates in the log."""
    with monkeypatch.context() as patch:
        patch.setattr(log, "MAX_BYTES", -1)
        ds = make_lake({"x": "int64"}, x=[1, 2, 3])
    ds["x"][[1, 2]] = [5, 6]
    ds.append({"x": [4]})
    ds.commit("few")
    return ds


def with_entries(ds, name, change):
    """Return the version of `ds` with other entries of one array in the log."""
    state, writer = ds.handle.table.state, LogWriter()
    for path in state.log.index:
        if path.endswith(f"/{name}"):
            spec = ArraySpec("uint8" if name == "tail" else "int64")
            writer.add(f"0/{path}", change(state.log.entries(path, spec)))
        else:
            writer.copy(state.log, path)
    repository = ds.handle.repository
    changed = replace(state, log=writer.log())
    return Snapshot(repository, repository.reader(ds.version), changed)


@pytest.mark.usefixtures("default_limit")
@pytest.mark.parametrize("index", [(3,), (slice(2, 9, 3),), (..., -1)], ids=repr)
def test_parts_of_rows_are_read_by_range_beside_logged_rows(make_lake, index):
    rows = np.arange(40 * 4_000, dtype="float32").reshape(40, 4_000)
    ds = make_lake({"v": dl.Array("float32", (4_000,))}, v=rows)
    ds.append({"v": -rows[:1]})
    ds["v"][7] = -rows[7]
    ds.commit("one more, one changed")
    expected = np.concatenate([rows, -rows[:1]])
    expected[7] *= -1
    table, [f] = ds.handle.table, ds.schema
    assert len(table.state.log)
    for slots in (np.arange(41), np.array([40, 7, 3]), np.array([40]), np.array([1, 2])):
        part = table.part(f.id, slots, index).values
        np.testing.assert_array_equal(part, expected[(slots, *index)])


@pytest.mark.parametrize("limit", [-1, 64 * 1024])
@pytest.mark.parametrize("htype", ["text", "bytes", dl.Sequence("int8"), dl.Boxes()], ids=str)
def test_deleted_nulls_are_intact_once_the_column_allows_none(make_lake, monkeypatch, htype, limit):
    monkeypatch.setattr(log, "MAX_BYTES", limit)
    empty = {"text": "", "bytes": b""}.get(str(htype), [])
    ds = make_lake({"t": htype}, t=[empty] * 2)
    first = ds.version
    ds.set_nullable("t")
    ds["t"][1] = None
    ds.append({"t": [None]})
    ds.commit("nulls")
    ds.restore(first)
    ds.commit("back")
    assert ds.verify(), ds.verify()
