"""Positions, slots and row ids."""

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.storage import rows as rows_module
from deeplake_lite.storage.repo import run
from deeplake_lite.storage.row_order import RowOrder
from deeplake_lite.storage.rows import BLOCK_ROWS, COUNTER_BITS
from deeplake_lite.storage.snapshot import Snapshot
from deeplake_lite.testing.invariants import check_consistent


def test_ids_of_one_transaction_are_consecutive(make_lake):
    ids = make_lake({"x": "int32"}, x=range(5)).row_ids
    assert np.diff(ids).tolist() == [1] * 4
    assert ids[0] & (BLOCK_ROWS - 1) == 0


def test_ids_are_positive_and_fit_into_63_bits(make_lake):
    ids = make_lake({"x": "int32"}, x=range(5)).row_ids
    assert (ids >= 0).all()


def test_more_rows_than_a_block_holds_take_more_blocks(make_lake):
    ds = make_lake({"x": "uint8"}, x=np.zeros(BLOCK_ROWS + 10, "uint8"))
    assert len(np.unique(ds.row_ids)) == BLOCK_ROWS + 10
    assert len(np.unique(ds.row_ids >> COUNTER_BITS)) == 2


def test_each_transaction_draws_its_own_block(make_lake):
    ds = make_lake({"x": "int32"}, x=[1])
    ds.append({"x": [2]})
    ds.commit("second")
    assert len(np.unique(ds.row_ids >> COUNTER_BITS)) == 2


def test_taken_block_is_drawn_again(make_lake, monkeypatch):
    drawn = iter([7, 7, 8, 8, 9])
    monkeypatch.setattr(rows_module.secrets, "randbits", lambda _: next(drawn))
    ds = make_lake({"x": "int32"}, x=[1])
    ds.append({"x": [2]})
    ds.commit("second")
    assert (ds.row_ids >> COUNTER_BITS).tolist() == [7, 8]


def test_block_also_drawn_by_another_writer_is_replaced_at_the_commit(make_lake, monkeypatch):
    ds = make_lake({"x": "int32"}, x=[1])
    drawn = iter([7, 7, 8])
    monkeypatch.setattr(rows_module.secrets, "randbits", lambda _: next(drawn))
    a, b = dl.open(ds.url), dl.open(ds.url)
    a.append({"x": [2, 3]})
    b.append({"x": [4, 5]})
    a.commit("a")
    b.commit("b")
    assert (b.row_ids[1:] >> COUNTER_BITS).tolist() == [7, 7, 8, 8]
    assert len(np.unique(b.row_ids)) == 5


def test_rows_in_slot_order_need_no_order(make_lake):
    ds = make_lake({"x": "int32"}, x=range(4))
    assert ds.handle.table.state.ordered
    ds.delete([1])
    ds.commit("fewer")
    assert ds.handle.table.state.ordered
    ds.append({"x": [9]})
    ds.commit("more")
    assert dl.open(ds.url)["x"][:].tolist() == [0, 2, 3, 9]
    ds.restore(ds.log()[2].id)
    ds.commit("the deleted row, at its position")
    assert not ds.handle.table.state.ordered
    assert dl.open(ds.url)["x"][:].tolist() == [0, 1, 2, 3]
    ds.optimize()
    assert ds.handle.table.state.ordered


@pytest.mark.usefixtures("tiny")
def test_order_grows_shrinks_and_disappears(make_lake):
    ds = make_lake({"x": "int32"}, x=range(12))
    expected = list(range(12))
    for gone in (5, 0, 9, 3):
        ds.delete([gone])
        del expected[gone]
        ds.append({"x": [100 + gone]})
        expected.append(100 + gone)
        ds.commit("one out, one in")
        assert dl.open(ds.url)["x"][:].tolist() == expected
    ds.delete(slice(None))
    ds.commit("none")
    assert len(dl.open(ds.url)) == 0
    ds.append({"x": [1]})
    ds.commit("one")
    assert dl.open(ds.url)["x"][:].tolist() == [1]


@pytest.mark.parametrize("rows", [[0], [2, 0], slice(None), slice(1, None, 2)])
def test_deleting_rows_keeps_the_ids_of_others(make_lake, rows):
    ds = make_lake({"x": "int32"}, x=range(4))
    kept = np.delete(ds.row_ids, rows)
    ds.delete(rows)
    assert ds.row_ids.tolist() == kept.tolist()
    ds.commit("fewer")
    assert ds.row_ids.tolist() == kept.tolist()


def test_pending_shuffled_and_restored_rows_are_found_by_id(make_lake):
    ds = make_lake({"x": "int32"}, x=range(9))
    first = ds.version
    ds.delete([2, 5])
    ds.commit("fewer")
    ds.restore(first)  # the ids of two rows are now in two slots each
    ds.commit("as before")
    ds.optimize(shuffle=True, seed=0)
    ds.append({"x": [9]})
    ds.delete([0])
    table, live, ids = ds.handle.table, ds.rows.live(), ds.row_ids
    assert table.find(ids[::-1]).tolist() == live[::-1].tolist()
    assert table.find(np.array([ids.max() + 1, -1])).tolist() == [-1, -1]
    assert table.ids(live[::2]).tolist() == ids[::2].tolist()


def test_searching_an_empty_lake_finds_no_rows(make_lake):
    assert make_lake({"x": "int32"}).handle.table.find(np.array([7])).tolist() == [-1]


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("twice", [1, 3])
def test_id_shared_by_two_rows_is_damage_but_a_restored_one_is_not(
    make_lake, monkeypatch, moved, twice
):
    ds = make_lake({"x": "int32"}, x=range(5))
    before = ds.version
    ds.delete([1, 2])
    ds.commit("two less")
    ds.restore(before)
    ds.commit("they are back")
    if moved:
        ds.delete([0])
        ds.commit("moved")
    assert ds.verify()
    ids = ds.row_ids[-1] + np.arange(twice)

    async def draw(*_):
        return ids

    with monkeypatch.context() as patch:
        patch.setattr(rows_module.Rows, "_draw_ids", draw)
        ds.append({"x": range(twice)})
        ds.commit("twice")
    report = ds.verify()
    assert not report
    assert [d.row for d in report.damaged] == [len(ds) - twice]
    assert "another row has the same id" in str(report)


# ---- deleted rows


def ranges(ds):
    """Return the ranges of deleted slots that the latest version lists, in the order of writing."""
    return run(dl.open(ds.url).handle.table.rows._deleted_array.read_all()).tolist()


def test_deleting_rows_appends_their_ranges(make_lake):
    ds = make_lake({"x": "int32"}, x=range(100))
    ds.delete(slice(40, 60))
    ds.commit("many")
    ds.delete([0, 45])
    ds.commit("two")
    assert ranges(ds) == [[40, 60], [0, 1], [65, 66]]
    assert dl.open(ds.url)["x"][:].tolist() == [*range(1, 40), *range(60, 65), *range(66, 100)]
    check_consistent(ds)


def test_restored_rows_are_no_longer_listed(make_lake):
    ds = make_lake({"x": "int32"}, x=range(100))
    ds.delete([3, 4, 50])
    ds.commit("fewer")
    ds.restore(ds.log()[1].id)
    ds.delete([99])
    ds.commit("all but the last")
    assert dl.open(ds.url)["x"][:].tolist() == [*range(99)]
    check_consistent(ds)


def test_rows_that_two_writers_delete_are_deleted_once(make_lake):
    ds = make_lake({"x": "int32"}, x=range(20))
    a, b = dl.open(ds.url), dl.open(ds.url)
    a.delete([1, 2, 9])
    a.append({"x": [100, 101]})
    a.delete([17])  # the first new row
    b.delete([2, 3])
    b.append({"x": [200, 201]})
    b.delete([19])  # the second one
    a.commit("a")
    b.commit("b")
    expected = [0, *range(4, 9), *range(10, 20), 101, 200]
    assert dl.open(ds.url)["x"][:].tolist() == expected
    check_consistent(b)


@pytest.mark.parametrize(
    "damage",
    [[[5, 5]], [[-1, 2]], [[3, 11]], [[4, 2]], [[2**62, 2**63 - 1]]],
    ids=["empty", "negative", "beyond", "backwards", "huge"],
)
def test_impossible_ranges_of_deleted_rows_are_damage(make_lake, damage):
    ds = make_lake({"x": "int32"}, x=range(10))
    ds.delete([0])
    rows = ds.handle.table.rows
    rows._deleted_array._appended = [np.array(damage, np.int64)]
    with pytest.raises(dl.DamagedError, match="deleted slots"):
        ds.commit("wrong")  # opens the version that it has written
    with pytest.raises(dl.DamagedError, match="deleted slots"):
        dl.open(ds.url)


def test_deleted_ranges_that_contradict_the_order_are_damage(make_lake):
    ds = make_lake({"x": "int32"}, x=range(10))
    ds.delete([3])
    ds.commit("fewer")
    ds.restore(ds.log()[1].id)
    ds.commit("the first rows, in their order")
    assert not ds.handle.table.state.ordered
    ds.delete([0])
    ds.handle.table.rows._deleted_array._appended = [np.array([[7, 8]])]
    with pytest.raises(dl.DamagedError, match="contradicts"):
        ds.commit("wrong")  # opens the version that it has written
    with pytest.raises(dl.DamagedError, match="contradicts"):
        dl.open(ds.url)


def count_calls(monkeypatch, owner, name, calls):
    original = getattr(owner, name)

    def counted(self, *args):
        calls.append(args)
        return original(self, *args)

    monkeypatch.setattr(owner, name, counted)


@pytest.mark.usefixtures("only_arrays")
@pytest.mark.parametrize("change", ["delete", "update", "append"])
def test_changes_are_found_without_reading_all_rows(make_lake, monkeypatch, change):
    size, edits = (
        8_192,
        {
            "delete": lambda ds: ds.delete([70_000]),
            "update": lambda ds: ds.update([70_000], {"x": [-1]}),
            "append": lambda ds: ds.append({"x": [5]}),
        },
    )
    ds = make_lake({"x": "int32"}, x=range(100_000))
    before = ds.version
    edits[change](ds)
    ds.commit("one row")
    ds, ids, digests = dl.open(ds.url), [], []
    count_calls(monkeypatch, Snapshot, "ids", ids)
    count_calls(monkeypatch, Snapshot, "digests", digests)
    monkeypatch.setattr(RowOrder, "live", lambda _: pytest.fail("all rows were listed"))
    diff = ds.diff(before)
    found = {"append": diff.added, "delete": diff.removed, "update": diff.changed.get("x")}
    assert len(found[change]) == 1
    assert [n for n, ids in found.items() if ids is not None and len(ids)] == [change]
    assert sum(len(slots) for (slots,) in ids) <= 2 * size + 2
    assert sum(len(slots) for _, slots in digests) <= 2 * size


@pytest.mark.parametrize("edit", ["delete", "update"])
def test_edits_of_a_row_that_was_deleted_and_restored_meanwhile_are_kept(make_lake, edit):
    ds = make_lake({"x": "int64"}, x=[0, 1, 2])
    first, mine = ds.version, dl.open(ds.url)
    if edit == "delete":
        mine.delete([1])
    else:
        mine["x"][1] = 99
    ds.delete([1])
    ds.commit("deleted")
    ds.restore(first)
    ds.commit("restored to another slot")
    mine.commit("mine")
    found = dl.open(ds.url)
    assert sorted(found["x"][:].tolist()) == ([0, 2] if edit == "delete" else [0, 2, 99])
    check_consistent(found)


@pytest.mark.parametrize("other", [False, True], ids=["nothing else", "another edit"])
def test_row_that_two_writers_restore_is_there_once(make_lake, other):
    ds = make_lake({"x": "int64"}, x=[0, 1, 2])
    first = ds.version
    ds.delete([2])
    ds.commit("deleted")
    a, b = dl.open(ds.url), dl.open(ds.url)
    for writer in (a, b):
        writer.restore(first)
    if other:
        b["x"][0] = 10
    a.commit("a")
    b.commit("b")
    found = dl.open(ds.url)
    assert found["x"][:].tolist() == [10 if other else 0, 1, 2]
    check_consistent(found)


@pytest.mark.parametrize("way", ["delete", "shuffle"])
@pytest.mark.parametrize("other", ["metadata", "row"])
def test_order_of_a_restore_is_kept_if_another_writer_commits(make_lake, way, other):
    ds = make_lake({"x": "int64"}, x=[0, 1, 2, 3])
    first = ds.version
    if way == "shuffle":
        ds.optimize(shuffle=True, seed=0)
        assert ds["x"][:].tolist() != [0, 1, 2, 3]
    else:
        ds.delete([1])
        ds.commit("deleted")
    mine = dl.open(ds.url)
    mine.restore(first)
    if other == "metadata":
        ds.metadata["a"] = 1
    else:
        ds.append({"x": [9]})
    ds.commit("other")
    mine.commit("restored")
    found = dl.open(ds.url)
    assert found["x"][:].tolist() == [0, 1, 2, 3, *([9] if other == "row" else [])]
    check_consistent(found)


@pytest.mark.parametrize("value", [0, 5])
def test_null_that_became_a_value_is_a_change_in_both_directions(make_lake, value):
    ds = make_lake({"x": "int64"}, x=[value, 1])
    first = ds.version
    ds.set_nullable("x")
    ds["x"][0] = None
    second = ds.commit("null")
    for older, newer in ((first, second), (second, first)):
        assert len(ds.diff(older, newer).changed["x"]) == 1
    ds.restore(first)
    ds.commit("back")
    assert len(ds.diff(second).changed["x"]) == 1


def test_straddling_cells_are_written_to_the_tail_and_not_to_the_log(make_lake, monkeypatch):
    monkeypatch.setattr("deeplake_lite.storage.log.MAX_BYTES", 64 * 1024)
    ds = make_lake({"b": "bytes"})
    cells = [bytes(3 * 2**20), bytes(2**20 + 1_000)]
    ds.append({"b": cells})
    ds.commit("the second one straddles two chunks")
    assert len(ds.handle.table.state.log) <= 64 * 1024
    assert dl.open(ds.url)["b"][:] == cells
