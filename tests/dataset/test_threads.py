"""One handle in several threads: readers next to a writer see a consistent set of rows."""

import pickle
import threading

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.testing.invariants import check_consistent

SCHEMA = {
    "k": "int64",
    "t": dl.Text(),
    "r": dl.Array("int32", (None,)),
    "s": dl.Sequence(dl.Text()),
    "n": dl.Scalar("int64", nullable=True),
}
ROWS = 60
EDITS = 10


def columns(values):
    """Return rows in which every cell encodes the same number."""
    values = [int(v) for v in values]
    return {
        "k": values,
        "t": [str(v) for v in values],
        "r": [[v] * (v % 4) for v in values],
        "s": [[str(v)] * (v % 3) for v in values],
        "n": [None if v % 5 == 0 else v for v in values],
    }


def check_rows(k, t, r=None, s=None, n=None):
    """Compare the cells of each row."""
    assert [str(int(v)) for v in k] == list(t)
    for v, cell in zip(k, r if r is not None else (), strict=r is not None):
        assert list(cell) == [v] * (v % 4)
    for v, cell in zip(k, s if s is not None else (), strict=s is not None):
        assert list(cell) == [str(v)] * (v % 3)
    for v, cell in zip(k, n if n is not None else (), strict=n is not None):
        assert (cell is None or cell is np.ma.masked) == (v % 5 == 0)


def check_block(block):
    check_rows(*(block[name] for name in SCHEMA if name in block))


def read_row(ds):
    check_rows(*([value] for value in ds[-1].values()))


def read_column(ds):
    values = ds["t"][:]
    assert all(value.isdigit() for value in values)
    assert all(len(set(cell)) <= 1 for cell in ds["r"][:])
    assert all(len(set(cell)) <= 1 for cell in ds["s"][:])


def read_view(ds):
    view = ds[5:]
    check_block({name: view[name][:] for name in ("k", "t", "r", "s")})
    assert len(view) == len(view["k"][:]) == len(view.row_ids)


def iterate(ds):
    for row in ds:
        check_rows(*([value] for value in row.values()))


def query(ds):
    result = ds.query("SELECT k, t, r, s WHERE k % 3 <> 1 ORDER BY k DESC LIMIT 40")
    check_block({name: result[name][:] for name in result.columns})


def export(ds):
    frame = ds.to_pandas()
    check_block({name: frame[name] for name in ("k", "t", "r", "s")})
    table = ds.to_arrow()
    assert [str(v) for v in table["k"].to_pylist()] == table["t"].to_pylist()


def load(ds):
    for batch in ds.batches(16, shuffle=True, columns=["k", "t", "r"]):
        check_block(batch)


def split(ds):
    parts = ds.split([0.5, 0.5])
    assert len({*parts[0].row_ids.tolist()} & {*parts[1].row_ids.tolist()}) == 0
    for part in parts:
        check_block({name: part[name][:] for name in ("k", "t")})


READERS = [read_row, read_column, read_view, iterate, query, export, load, split]


def append(ds, number):
    ds.append(columns([number, number + 1]))


def update(ds, number):
    rows = [number % ROWS, len(ds) - 1]
    ds.update(rows, columns([number, number + 7]))


def delete(ds, number):
    ds.append(columns([number]))
    ds.delete([number % ROWS])


def append_and_commit(ds, number):
    append(ds, number)
    if number % 3 == 0:
        ds.commit("some")


def append_and_discard(ds, number):
    update(ds, number)
    append(ds, number)
    if number % 3 == 0:
        ds.discard()


WRITERS = [append, update, delete, append_and_commit, append_and_discard]


@pytest.fixture
def ds(make_lake):
    ds = make_lake(SCHEMA, **columns(range(ROWS)))
    ds.append(columns(range(ROWS, ROWS + 5)))
    return ds


def beside(act, others):
    """Run a function while other threads repeat theirs; raise any error of theirs."""
    done, raised = threading.Event(), []

    def repeat(other):
        try:
            while not done.is_set():
                other()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=repeat, args=(other,)) for other in others]
    for thread in threads:
        thread.start()
    try:
        act()
    finally:
        done.set()
        for thread in threads:
            thread.join()
    if raised:
        raise raised[0]


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("read", READERS)
def test_reader_next_to_a_writer_sees_a_consistent_snapshot(ds, read, write):
    def act():
        for number in range(100, 100 + EDITS):
            write(ds, number)

    beside(act, [lambda: read(ds)])
    ds.commit("all")
    check_consistent(ds)
    check_block({name: ds[name][:] for name in SCHEMA})


def test_view_of_an_open_transaction_does_not_change(ds):
    view, before = ds[3:], ds[3:].to_pandas()
    update(ds, 200)
    append(ds, 300)
    delete(ds, 400)
    ds.set_nullable("t")
    assert view.to_pandas().equals(before)
    ds.discard()
    assert view.to_pandas().equals(before)


def test_readers_during_an_append_see_the_earlier_rows(ds):
    before = ds.to_pandas()

    def rows():
        for number in range(2_500):
            if number % 1_000 == 999:
                assert ds.to_pandas().equals(before)
            yield {name: cells[0] for name, cells in columns([number]).items()}

    ds.append(rows())
    assert len(ds) == len(before) + 2_500
    check_block({name: ds[name][:] for name in SCHEMA})


def test_rows_appended_by_two_threads_are_all_stored(ds):
    def add(first):
        for number in range(first, first + EDITS):
            ds.append({name: cell[0] for name, cell in columns([n]).items()} for n in [number] * 3)

    other = threading.Thread(target=add, args=(1_000,))
    other.start()
    add(2_000)
    other.join()
    ds.commit("both")
    check_block({name: ds[name][:] for name in SCHEMA})
    counts = np.bincount(ds["k"][:], minlength=3_000)
    assert (counts[1_000 : 1_000 + EDITS] == 3).all()
    assert (counts[2_000 : 2_000 + EDITS] == 3).all()
    assert len(np.unique(ds.row_ids)) == len(ds)
    check_consistent(ds)


def test_pickle_next_to_a_writer_is_a_version_or_refused(ds):
    ds.commit("rows")

    def act():
        for number in range(100, 100 + EDITS):
            append(ds, number)
            ds.commit("more")

    def pickled():
        try:
            result = pickle.loads(pickle.dumps(ds))
        except dl.UncommittedError:
            return
        assert (len(result) - ROWS - 5) % 2 == 0
        check_block({name: result[name][:] for name in ("k", "t")})

    beside(act, [pickled])
