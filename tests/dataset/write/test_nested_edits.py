"""Code that computes the values of an edit and calls its own handle for another edit or version."""

import contextlib

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.query.registering import unregister
from deeplake_lite.testing.invariants import check_consistent

ROWS = 2_500  # more than a generator is asked for at a time


@pytest.fixture
def ds(make_lake):
    ds = make_lake({"k": "int64", "t": "text"}, k=[0, 1, 2], t=["0", "1", "2"])
    ds.branch("other")
    return ds


def failing_transaction(ds):
    with contextlib.suppress(KeyError), ds.transaction("inner"):
        raise KeyError


CALLS = {
    "refresh": lambda ds: ds.refresh(),
    "checkout": lambda ds: ds.checkout("other"),
    "discard": lambda ds: ds.discard(),
    "rebase": lambda ds: ds.rebase(),
    "commit": lambda ds: ds.commit("inner"),
    "merge": lambda ds: ds.merge("other"),
    "restore": lambda ds: ds.restore("other"),
    "optimize": lambda ds: ds.optimize(),
    "transaction": failing_transaction,
    "append": lambda ds: ds.append({"k": [9], "t": ["9"]}),
    "update": lambda ds: ds.update([0], {"k": [9]}),
    "assignment": lambda ds: ds["k"].__setitem__(0, 9),
    "upsert": lambda ds: ds.upsert({"k": [0], "t": ["9"]}, on="k"),
    "delete": lambda ds: ds.delete([0]),
    "add_column": lambda ds: ds.add_column("new", "int8", values=1),
    "drop_column": lambda ds: ds.drop_column("t"),
    "rename_column": lambda ds: ds.rename_column("t", "u"),
    "set_nullable": lambda ds: ds.set_nullable("t"),
    "metadata": lambda ds: ds.metadata.update(a=1),
}


def rows_with(call, count=4):
    """Yield rows, and make a call in between."""
    for i in range(3, 3 + count):
        if i == 1 + count:
            call()
        yield {"k": i, "t": str(i)}


def column_with(call, values):
    for i, value in enumerate(values):
        if i == 1:
            call()
        yield value


EDITS = {
    "append": lambda ds, call: ds.append(rows_with(call)),
    "append of blocks": lambda ds, call: ds.append(rows_with(call, ROWS)),
    "append of columns": lambda ds, call: ds.append(
        {"k": column_with(call, [3, 4]), "t": ["3", "4"]}
    ),
    "extend": lambda ds, call: ds.extend(rows_with(call)),
    "upsert": lambda ds, call: ds.upsert(rows_with(call), on="k"),
    "update": lambda ds, call: ds.update([0, 1], {"k": column_with(call, [7, 8])}),
    "assignment": lambda ds, call: ds["k"].__setitem__([0, 1], column_with(call, [7, 8])),
    "new column": lambda ds, call: ds.add_column("n", "int64", values=column_with(call, [7, 8, 9])),
    "computed column": lambda ds, call: ds.add_column(
        "n", "int64", compute=lambda row: call() or int(row["k"])
    ),
}


def content(ds):
    return {name: ds[name][:] for name in ds.columns}


def same(a, b):
    return a.keys() == b.keys() and all(list(a[name]) == list(b[name]) for name in a)


PAIRS = [
    *((edit, "discard") for edit in EDITS),
    *(("append", call) for call in CALLS),
    *(("append of blocks", call) for call in ("append", "add_column", "commit")),
]


@pytest.mark.parametrize("dirty", [False, True], ids=["clean", "dirty"])
@pytest.mark.parametrize(("edit", "call"), PAIRS)
def test_nested_edit_is_refused_and_nothing_is_lost(ds, edit, call, dirty):
    if dirty:
        ds.append({"k": [-1], "t": ["-1"]})
        ds.update([1], {"t": ["one"]})
    before, status = content(ds), str(ds.status())
    with pytest.raises(dl.UncommittedError, match=r"one edit at a time.*dl\.open\('memory://"):
        EDITS[edit](ds, lambda: CALLS[call](ds))
    assert same(content(ds), before)
    assert (str(ds.status()), ds.current_branch) == (status, "main")
    ds.append({"k": [5], "t": ["5"]})
    ds.commit("the handle goes on")
    check_consistent(ds)
    assert ds["k"][-1] == 5


@pytest.mark.parametrize("count", [4, ROWS])
@pytest.mark.parametrize("call", ["refresh", "discard", "transaction", "append", "add_column"])
def test_append_whose_generator_catches_the_refusal_keeps_all_rows(ds, call, count):
    def suppressed():
        with contextlib.suppress(dl.UncommittedError):
            CALLS[call](ds)

    ds.append(rows_with(suppressed, count))
    assert ds["k"][:].tolist() == list(range(3 + count))
    assert ds["t"][:] == list(map(str, range(3 + count)))
    ds.commit("rows")
    check_consistent(ds)


def test_values_may_be_computed_from_the_handle(ds):
    ds.append({"k": int(k) + len(ds), "t": ds["t"][i]} for i, k in enumerate(ds["k"][:]))
    assert ds["k"][:].tolist() == [0, 1, 2, 3, 4, 5]
    ds.add_column("n", "int64", compute=lambda row: len(ds) - int(row["k"]))
    assert ds["n"][:].tolist() == [6, 5, 4, 3, 2, 1]
    assert np.array_equal(dl.open(ds.url)["k"][:], [0, 1, 2])


def test_generator_may_use_another_handle(ds):
    other = dl.open(ds.url, branch="other")

    def rows():
        for i in (3, 4):
            other.append({"k": [i], "t": [str(i)]})
            other.commit("between")
            yield {"k": i, "t": str(i)}

    ds.append(rows())
    ds.commit("rows")
    assert ds["k"][:].tolist() == other["k"][:].tolist() == [0, 1, 2, 3, 4]


def test_query_function_that_resets_the_handle_does_not_lose_appended_rows(ds):
    @dl.function(returns="int64")
    def resetting(k):
        if asked:
            ds.discard()
        return k

    asked = []
    view = ds.query("SELECT RESETTING(k) AS k, t")
    asked.append(True)
    ds.append({"k": [9], "t": ["9"]})
    with pytest.raises(dl.QueryError, match="one edit at a time"):
        ds.append(view)
    assert ds["k"][:].tolist() == [0, 1, 2, 9]
    unregister("resetting")
