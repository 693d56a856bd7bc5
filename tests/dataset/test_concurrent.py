"""Two writers on one branch."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.export.portable import read_blocks
from deeplake_lite.dataset.versions.commit import commit
from deeplake_lite.storage.repo import Session
from deeplake_lite.storage.table import Table
from deeplake_lite.testing.invariants import check_consistent

from .everything import SCHEMA, VALUES

SIZE = 5 * 2**20  # more than one chunk of a heap


@pytest.fixture
def a(make_lake):
    return make_lake({"x": "int32", "t": "text"}, x=[1, 2, 3], t=["a", "b", "c"])


@pytest.fixture
def b(a):
    return dl.open(a.url)


def test_appends_of_both_writers_survive(a, b):
    a.append({"x": [4], "t": ["A"]})
    b.append({"x": [5, 6], "t": ["B", "B"]})
    a.commit("a")
    b.commit("b")
    assert b["x"][:].tolist() == [1, 2, 3, 4, 5, 6]
    assert len(np.unique(b.row_ids)) == 6
    assert a["x"][:].tolist() == [1, 2, 3, 4]
    assert a.refresh()["t"][:] == ["a", "b", "c", "A", "B", "B"]
    check_consistent(a)


def test_edits_of_different_cells_survive(a, b):
    a["x"][0] = 10
    a.delete([2])
    b["t"][0] = "z"
    b["x"][1] = 20
    a.commit("a")
    b.commit("b")
    assert b["x"][:].tolist() == [10, 20]
    assert b["t"][:] == ["z", "b"]


def test_edits_of_the_same_cell_conflict_at_the_second_commit(a, b):
    a["x"][0] = 10
    b["x"][0] = 20
    b["t"][1] = "z"
    a.commit("a")
    with pytest.raises(dl.ConflictError, match=r"cell 'x' of row \d+.*\n.*ds\.rebase") as error:
        b.commit("b")
    [conflict] = error.value.conflicts
    assert (conflict.kind, conflict.name, conflict.row_id) == ("cell", "x", b.row_ids[0])
    assert b["x"][0] == 20
    assert b.status()


def test_handle_that_commits_is_ours_in_a_conflict(a, b):
    a["x"][0] = 10
    a.delete([2])
    b["x"][0] = 20
    b["x"][2] = 30
    a.commit("a")
    with pytest.raises(dl.ConflictError) as error:
        b.commit("b")
    assert "cell 'x' of row 0: ours 20, theirs 10" in str(error.value)
    assert "row 2 of ours: theirs removed it, but the other side changed it" in str(error.value)


@pytest.mark.parametrize(("side", "expected"), [("ours", 20), ("theirs", 10)])
def test_loser_rebases_and_commits(a, b, side, expected):
    a["x"][0] = 10
    b["x"][0] = 20
    b["t"][1] = "z"
    b.append({"x": [4], "t": ["d"]})
    a.commit("a")
    with pytest.raises(dl.ConflictError, match="Keep your edits with"):
        b.rebase()
    b.rebase(on_conflict=side)
    b.commit("b")
    assert b["x"][:].tolist() == [expected, 2, 3, 4]
    assert b["t"][:] == ["a", "z", "c", "d"]


def test_rebase_without_edits_moves_to_the_tip(a, b):
    a["x"][0] = 10
    a.commit("a")
    b.rebase()
    assert b["x"][0] == 10
    assert b.version == a.version


@pytest.mark.parametrize("who", ["remover", "changer"])
def test_row_removed_by_one_writer_and_changed_by_the_other_is_a_conflict(a, b, who):
    a.delete([0])
    b["x"][0] = 20
    first, second = (a, b) if who == "changer" else (b, a)
    first.commit("first")
    with pytest.raises(dl.ConflictError, match="removed it, but the other side changed it"):
        second.commit("second")


def test_both_writers_may_remove_the_same_row(a, b):
    a.delete([0])
    b.delete([0, 1])
    a.commit("a")
    b.commit("b")
    assert b["x"][:].tolist() == [3]


def test_one_adds_a_column_while_the_other_appends(a, b):
    a.add_column("n", dl.Scalar("int8", default=7))
    b.append({"x": [4], "t": ["d"]})
    a.commit("a")
    b.commit("b")
    assert b["n"][:].tolist() == [7] * 4


def test_one_adds_a_column_without_default_while_the_other_appends(a, b):
    a.add_column("n", "int8", values=[1, 2, 3])
    b.append({"x": [4], "t": ["d"]})
    a.commit("a")
    with pytest.raises(dl.InvalidValueError, match=r"column 'n'.*other\.set_default\('n'"):
        b.commit("b")
    assert b["x"][:].tolist() == [1, 2, 3, 4]
    a.set_default("n", 0)
    a.commit("default")
    b.commit("b")
    assert b["n"][:].tolist() == [1, 2, 3, 0]


@pytest.mark.parametrize("side", ["ours", "theirs"])
def test_one_drops_a_column_while_the_other_appends_to_it(a, b, side):
    a.drop_column("t")
    b.append({"x": [4], "t": ["d"]})
    a.commit("a")
    with pytest.raises(
        dl.ConflictError, match="dropped it, but the other side added 1 row with values in it"
    ):
        b.commit("b")
    b.rebase(on_conflict=side)
    b.commit("b")
    assert b.columns == (("x", "t") if side == "ours" else ("x",))
    assert b["x"][:].tolist() == [1, 2, 3, 4]
    assert side == "theirs" or b["t"][:] == ["a", "b", "c", "d"]


def test_one_drops_a_column_while_the_other_changes_a_cell_of_it(a, b):
    a.drop_column("t")
    b["t"][0] = "z"
    a.commit("a")
    with pytest.raises(dl.ConflictError, match="dropped it, but the other side changed it"):
        b.commit("b")


def test_one_renames_a_column_while_the_other_appends(a, b):
    a.rename_column("x", "number")
    b.append({"x": [4], "t": ["d"]})
    b["x"][0] = 10
    a.commit("a")
    b.commit("b")
    assert b["number"][:].tolist() == [10, 2, 3, 4]


def test_one_makes_a_column_nullable_while_the_other_appends_and_edits(a, b):
    a.set_nullable("x")
    a.append({"x": [None], "t": ["n"]})
    b.append({"x": [4], "t": ["d"]})
    b["x"][0] = 10
    a.commit("a")
    b.commit("b")
    assert b["x"][:].tolist() == [10, 2, 3, None, 4]
    check_consistent(b)


def test_one_optimizes_while_the_other_appends_and_edits(a, b):
    a.delete([1])
    a.commit("a")
    b.append({"x": [4], "t": ["d"]})
    b["x"][2] = 30
    a.optimize(shuffle=True)
    b.commit("b")
    assert sorted(b["x"][:].tolist()) == [1, 4, 30]
    check_consistent(b)


def test_optimizing_a_stale_branch_keeps_the_newer_commits(a, b):
    b["x"][0] = 10
    done = b.commit("b")
    assert a.optimize() == a.version
    assert a["x"][0] == 10
    assert a.log()[0].parent == done
    check_consistent(a)


@pytest.mark.parametrize("times", [3, 20])
def test_optimize_is_repeated_if_the_branch_moves_meanwhile(a, monkeypatch, times):
    rewrite, before, left = Table.rewrite, a.version, [dl.ConflictError("moved")] * times

    def beaten(self, *args):
        if left:
            raise left.pop()
        return rewrite(self, *args)

    monkeypatch.setattr(Table, "rewrite", beaten)
    if times == 20:
        with pytest.raises(dl.ConflictError, match="20 attempts to optimize the lake"):
            a.optimize()
        assert a.version == before
    else:
        a.optimize()
        assert a.log()[0].message == "optimized"
        check_consistent(a)


def test_edits_with_large_cells_are_copied_onto_a_diverged_tip(make_lake):
    a = make_lake({"b": "bytes"}, b=[b"x"])
    b = dl.open(a.url)
    a.append({"b": [bytes([7]) * SIZE]})
    a.metadata["k"] = 1  # the document changes: the rows are copied
    b.append({"b": [bytes([8]) * SIZE]})
    b.commit("b")
    a.commit("a")
    assert [len(v) for v in a["b"][:]] == [1, SIZE, SIZE]
    assert [v[-1] for v in a["b"][1:]] == [8, 7]


def test_concurrent_writers_of_large_cells_use_different_chunks(make_lake):
    a = make_lake({"b": "bytes"}, b=[b"x"])
    b, c = dl.open(a.url), dl.open(a.url)
    for n, ds in enumerate((a, b, c)):
        ds.append({"b": [bytes([n]) * SIZE]})
    claims = [ds.handle.table._column(ds.schema["b"].id).heap.claimed for ds in (a, b, c)]
    assert len({claim.start for claim in claims}) == 3
    for ds in (c, a, b):
        ds.commit("large")
    assert [v[-1] for v in b["b"][1:]] == [2, 0, 1]
    for n, ds in enumerate((a.refresh(), b, c.refresh())):
        ds.append({"b": [bytes([n + 10]) * SIZE]})
        ds.commit("again")
    check_consistent(dl.open(a.url))
    assert sorted(v[-1] for v in dl.open(a.url)["b"][1:]) == [0, 1, 2, 10, 11, 12]


def test_large_values_of_both_writers_are_committed_without_another_copy(make_lake, monkeypatch):
    a = make_lake({"b": "bytes"}, b=[b"x", b"y" * SIZE])  # so that `values` exists
    b = dl.open(a.url)
    a.append({"b": [bytes([1]) * 4 * SIZE]})
    b.append({"b": [bytes([2]) * 4 * SIZE]})
    put, sizes = Session.put, []

    async def counted(self, key, data):
        sizes.append(len(memoryview(data)))
        await put(self, key, data)

    monkeypatch.setattr(Session, "put", counted)
    a.commit("a")
    b.commit("b")
    assert sum(sizes) < SIZE
    assert [v[0] for v in b["b"][2:]] == [1, 2]


def test_first_large_values_of_two_writers_are_both_committed(make_lake):
    a = make_lake({"b": "bytes"}, b=[b"x"])  # both create the array `values`
    b = dl.open(a.url)
    for writer, byte in ((a, b"1"), (b, b"2")):
        writer.append({"b": [byte * 4 * SIZE]})
    a.commit("a")
    b.commit("b")
    assert dl.open(a.url)["b"][:] == [b"x", b"1" * 4 * SIZE, b"2" * 4 * SIZE]
    assert dl.open(a.url).verify()


def test_threads_with_separate_handles_lose_no_row(make_lake):
    url = make_lake({"x": "int32"}).url

    def write(writer):
        ds = dl.open(url)
        for n in range(8):
            ds.append({"x": [100 * writer + n]})
            ds.commit(f"{writer}: {n}")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(4)))
    ds = dl.open(url)
    assert sorted(ds["x"][:].tolist()) == [100 * w + n for w in range(4) for n in range(8)]
    assert len(ds.log()) == 1 + 32


def test_threads_with_a_shared_handle_lose_no_row(make_lake):
    ds = make_lake({"x": "int32"})

    def write(n):
        ds.append({"x": [n]})

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(write, range(40)))
    ds.commit("forty")
    assert sorted(ds["x"][:].tolist()) == list(range(40))


@pytest.mark.parametrize("edit", ["update", "item", "upsert", "append"])
def test_threads_with_a_shared_handle_edit_the_rows_that_exist_at_their_turn(make_lake, edit):
    ds = make_lake({"x": "int32", "n": "int32"}, x=range(200), n=[0] * 200)
    first_gone = Event()

    def delete(_):
        for _ in range(50):
            ds.delete([0])
            first_gone.set()

    def change(_):
        first_gone.wait(10)
        for i in range(50):
            if edit == "update":
                ds.update(slice(-1, None), {"n": [i]})
            elif edit == "item":
                ds["n"][-1] = i
            elif edit == "upsert":
                ds.upsert({"x": [199], "n": [i]}, on="x")
            else:
                ds.append({"x": [200 + i], "n": [i]})

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda work: work(0), (delete, change)))
    more = 50 if edit == "append" else 0
    assert ds["x"][:].tolist() == list(range(50, 200 + more))
    assert ds["n"][:].tolist() == ([0] * 150 + list(range(50)) if more else [0] * 149 + [49])


def test_exported_rows_are_a_consistent_snapshot(a):
    a.append({"x": [4, 5, 6], "t": ["d", "e", "f"]})
    a.commit("more")
    blocks = read_blocks(a, a.schema.fields[:1], "x", rows=2)
    result = [*next(blocks)["x"].values]
    a.delete([0, 2])
    a.commit("fewer")
    a.optimize()
    assert [*result, *(x for block in blocks for x in block["x"].values)] == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize("edit", ["append", "update", "delete"])
def test_nullable_column_added_by_another_writer_is_complete_after_our_commit(a, b, edit):
    if edit == "append":
        a.append({"x": [4], "t": ["d"]})
    elif edit == "update":
        a["x"][0] = 10
    else:
        a.delete([2])
    b.add_column("n", dl.Scalar("int32", nullable=True), values=[7, None, 9])
    b.commit("a column")
    a.commit("ours")
    result = dl.open(a.url)
    assert result["n"][:2].tolist() == [7, None]
    if edit == "append":
        assert result["n"][:].tolist() == [7, None, 9, None]
    check_consistent(result)
    assert result.verify()


def test_metadata_commit_goes_on_top_of_other_commits(a, b):
    def others_commit(_):
        b["x"][0] = 10
        b.commit("b")

    a.handle.edit(others_commit)
    commit(a.handle, "note", {"k": 1}, empty=True)
    assert [c.message for c in a.log()][:2] == ["note", "b"]
    assert a["x"][0] == 10


# ---- writing the value that a cell already has is no change


def digests(ds, name):
    """Return digests of a column's stored cells, without following links."""
    table = ds.handle.table
    return table.digests(ds.schema[name].id, table.rows.live()).tolist()


@pytest.mark.parametrize("name", SCHEMA)
def test_rewriting_a_cell_unchanged_keeps_the_other_writers_change(make_lake, name):
    first, second, third = VALUES[name][:3]
    a = make_lake({name: SCHEMA[name]}, **{name: [first, second, third]})
    expected = digests(a, name)[0]
    b = dl.open(a.url)
    a.update([1], {name: [first]})
    a.commit("a")
    b.update([1, 2], {name: [second, first]})
    b.commit("b")
    assert digests(b, name) == [expected] * 3


EDITS = {
    "one cell": lambda b: b.update([1], {"x": [2]}),
    "all cells": lambda b: b.update(slice(None), {"x": [1, 2, 3], "t": ["a", "b", "c"]}),
    "a column": lambda b: b["x"].__setitem__(slice(None), [1, 2, 3]),
    "to and fro": lambda b: (b["x"].__setitem__(1, 5), b["x"].__setitem__(1, 2)),
    "by id": lambda b: b.update(ids=b.row_ids, data={"x": [1, 2, 3]}),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
@pytest.mark.parametrize("more", ["nothing", "a row", "a cell", "a deletion"])
@pytest.mark.parametrize("rebased", [False, True])
def test_other_writers_change_is_kept_whatever_else_is_committed(a, b, edit, more, rebased):
    edit(b)
    expected = [1, 99, 3]
    if more == "a row":
        b.append({"x": [4], "t": ["d"]})
        expected = [1, 99, 3, 4]
    elif more == "a cell":
        b["x"][0] = 7
        expected = [7, 99, 3]
    elif more == "a deletion":
        b.delete([0])
        expected = [99, 3]
    a["x"][1] = 99
    a.commit("a")
    if rebased:
        b.rebase()
    b.commit("b")
    assert b["x"][:].tolist() == expected
    assert not b.status()
    assert dl.open(a.url)["x"][:].tolist() == expected
    check_consistent(b)


def test_nothing_is_committed_if_the_branch_already_has_all_edits(a, b):
    b["x"][1] = 2
    a["x"][1] = 99
    version = a.commit("a")
    assert b.commit("b") == version
    assert b.version == version
    assert not b.status()


def test_metadata_is_committed_even_if_the_branch_already_has_all_edits(a, b):
    b["x"][1] = 2
    a["x"][1] = 99
    version = a.commit("a")
    assert commit(b.handle, "noted", {"k": 1}, empty=True) != version
    assert b.log()[0].message == "noted"
    assert b["x"][:].tolist() == [1, 99, 3]


def test_real_conflict_next_to_an_unchanged_cell_is_reported(a, b):
    b["x"][:] = [10, 2, 3]
    a["x"][:2] = [11, 99]
    a.commit("a")
    with pytest.raises(dl.ConflictError) as error:
        b.commit("b")
    assert [c.row_id for c in error.value.conflicts] == [b.row_ids[0]]
    b.rebase(on_conflict="ours")
    b.commit("b")
    assert b["x"][:].tolist() == [10, 99, 3]
