"""Slots per version: edits on top, spills, and commits on a tip that has moved."""

import numpy as np
import pytest
from hypothesis import given

import deeplake_lite as dl
from deeplake_lite.storage.repo import Session
from deeplake_lite.testing.invariants import check_consistent
from deeplake_lite.testing.strategies import tables
from deeplake_lite.testing.tiny import tiny_chunks
from deeplake_lite.testing.values import freeze, stored


@pytest.mark.parametrize("size", ["tiny", "real"])
def test_every_type_round_trips_before_and_after_the_commit(size, new_url):
    @given(tables(max_size=12))
    def check(table):
        schema, data = table
        expected = {name: stored(htype, data[name]) for name, htype in schema.items()}
        ds = dl.create(new_url(), schema)
        ds.append(data)
        for _ in ("pending", "committed"):
            for name in schema:
                assert [freeze(v) for v in ds[name][:]] == expected[name]
            ds.commit("rows")
        check_consistent(dl.open(ds.url))

    if size == "real":
        check()
    else:
        with tiny_chunks():
            check()


@pytest.mark.usefixtures("tiny")
def test_spilling_transaction_reads_its_base_version(make_lake):
    ds = make_lake({"x": "int32"}, x=range(10))
    late, early = dl.open(ds.url), dl.open(ds.url)
    early["x"][0] = 77
    early.commit("first")
    late.append({"x": range(100)})
    assert late["x"][0] == 0
    late.commit("second")
    assert late["x"][[0, 1, 10, -1]].tolist() == [77, 1, 0, 99]


@pytest.mark.usefixtures("tiny")
def test_spilling_transaction_survives_an_optimize(make_lake):
    ds = make_lake({"x": "int32", "t": "text"}, x=range(10), t=map(str, range(10)))
    late, early = dl.open(ds.url), dl.open(ds.url)
    early.delete([0])
    early.commit("fewer")
    early.optimize()
    late.append({"x": range(100), "t": [str(n) * 9 for n in range(100)]})
    assert late["t"][[0, 5, 99]] == ["0", "5", "89" * 9]
    late.commit("more")
    assert late["x"][:].tolist() == [*range(1, 10), *range(100)]
    assert late["t"][:] == [*map(str, range(1, 10)), *(str(n) * 9 for n in range(100))]
    check_consistent(late)


def test_views_of_the_committed_version_stay_valid_during_edits(make_lake):
    ds = make_lake({"x": "int32", "t": "text"}, x=[1, 2], t=["a", "b"])
    view = ds[:]
    ds["x"][0] = 9
    ds.append({"x": [3], "t": ["c"]})
    assert view["x"][:].tolist() == [1, 2]
    pending = ds[:]
    ds.commit("edits")
    assert pending["x"][:].tolist() == [9, 2, 3]
    assert view["t"][:] == ["a", "b"]


@pytest.mark.usefixtures("tiny")
def test_write_that_fails_in_the_middle_of_an_append_keeps_pending_rows(make_lake, monkeypatch):
    ds = make_lake({"b": "bytes"}, b=[b"committed"])
    ds.append({"b": [b"p" * 50]})
    put, calls = Session.put, []

    async def put_twice(self, key, data):
        calls.append(key)
        if len(calls) > 2:
            raise OSError(28, "No space left on device")
        await put(self, key, data)

    monkeypatch.setattr(Session, "put", put_twice)
    with pytest.raises(OSError, match="No space left"):
        ds.append({"b": [b"x" * 60] * 20})
    assert ds["b"][:] == [b"committed", b"p" * 50]
    monkeypatch.undo()
    ds.append({"b": [b"y" * 60] * 3})
    ds.commit("later")
    assert ds["b"][:] == [b"committed", b"p" * 50, *[b"y" * 60] * 3]
    check_consistent(ds)


@pytest.mark.usefixtures("tiny")
def test_failed_commit_is_retried_without_loss(make_lake, monkeypatch):
    ds = make_lake({"b": "bytes", "x": "int32"}, b=[b"committed"], x=[0])
    ds.append({"b": [b"x" * 60] * 20, "x": range(20)})
    ds["b"][0] = b"changed"
    version, commit = ds.version, Session.commit

    def refuse(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Session, "commit", refuse)
    for _ in range(2):
        with pytest.raises(OSError, match="No space left"):
            ds.commit("full")
    assert ds.version == version
    assert len(dl.open(ds.url)) == 1
    monkeypatch.setattr(Session, "commit", commit)
    ds.commit("room again")
    assert ds["b"][:] == [b"changed", *[b"x" * 60] * 20]
    assert ds["x"][:].tolist() == [0, *range(20)]
    check_consistent(dl.open(ds.url))


@pytest.mark.usefixtures("tiny")
def test_many_commits_of_one_row_read_like_one_append(make_lake):
    ds = make_lake({"x": "int32", "t": "text", "s": dl.Sequence("int8")})
    for n in range(60):
        ds.append({"x": [n], "t": [str(n)], "s": [[n] * (n % 4)]})
        ds.commit(f"row {n}")
    again = dl.open(ds.url)
    assert again["x"][:].tolist() == list(range(60))
    assert again["t"][:] == [str(n) for n in range(60)]
    assert [np.asarray(v).tolist() for v in again["s"][:]] == [[n] * (n % 4) for n in range(60)]
    check_consistent(again)


def test_revision_counts_commits(make_lake):
    ds = make_lake({"x": "int32"}, x=[1])
    before = ds.handle.table.state.revision
    ds["x"][0] = 2
    ds.commit("edit")
    assert ds.handle.table.state.revision == before + 1
    ds.optimize()
    assert ds.handle.table.state.revision == before + 2
