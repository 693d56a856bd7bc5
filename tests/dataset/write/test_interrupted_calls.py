"""Ctrl-C between any two calls, in the standard library too, when the user holds on to the error.

A traceback keeps everything that its frames refer to alive, such as suspended generators.
"""

import threading

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.storage.repo.locks import take_lock
from deeplake_lite.testing.interrupts import Interrupted, interrupt_everywhere

pytestmark = pytest.mark.filterwarnings(  # objects dropped before they are used up
    "ignore:Exception ignored in. <(coroutine|generator|_io.FileIO)"
    ":pytest.PytestUnraisableExceptionWarning",
    "ignore:coroutine '.*' was never awaited:RuntimeWarning",
    "ignore:unclosed file:ResourceWarning",
)


@pytest.fixture
def ds(tmp_path):
    ds = dl.create(str(tmp_path / "a.lake"), {"k": "int64", "t": "text"})
    ds.append({"k": range(5), "t": list("abcde")})
    ds.commit("rows")
    return ds


def cells(view):
    return {name: list(map(str, view[name][:])) for name in view.columns}


def contents(ds):
    return cells(ds), dict(ds.metadata)


EDITS = {
    "append": lambda ds: ds.append({"k": [7], "t": ["x"]}),
    "update": lambda ds: ds.update([1], {"t": ["y"]}),
    "set": lambda ds: ds["t"].__setitem__(0, "z"),
    "delete": lambda ds: ds.delete([2]),
    "upsert": lambda ds: ds.upsert({"k": [1, 9], "t": ["u", "v"]}, on="k"),
    "add_column": lambda ds: ds.add_column("n", "int32", values=range(len(ds))),
    "metadata": lambda ds: ds.metadata.update(note="hello"),
}


def in_another_thread(work):
    """Do work in another thread, which fails if it waits for this one."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(60)
    assert not thread.is_alive(), "it waits for a lock that an interrupt has left taken"


@pytest.mark.parametrize("dirty", [False, True], ids=["clean", "dirty"])
@pytest.mark.parametrize("edit", EDITS)
def test_interrupted_edit_is_done_or_undone_and_the_next_one_works(ds, edit, dirty):
    def reset():
        ds.discard()
        if dirty:
            ds.append({"k": [100], "t": ["pending"]})

    def check(place):
        assert contents(ds) in (before, after), place
        ds.update([0], {"k": [50]})
        assert ds["k"][0] == 50, place
        if place.endswith(("0", "5")):
            in_another_thread(lambda: ds.append({"k": [8], "t": ["other"]}))
            assert ds["t"][-1] == "other", place
        reset()

    reset()
    before = contents(ds)
    EDITS[edit](ds)
    after = contents(ds)
    assert before != after
    reset()
    assert interrupt_everywhere(lambda: EDITS[edit](ds), check) > 100
    assert contents(ds) == after


def test_interrupted_commit_leaves_no_lock_behind(ds):
    writers = ds.handle.repository.writers_folder()

    def work():
        ds["k"][0] = int(ds["k"][0]) + 1
        ds.commit("one more")

    def check(place):
        for purpose in ("commit", "claims", "pins"):
            with take_lock(writers / f"{purpose}.lock", timeout=0):
                pass
        expected = ds["k"][:].tolist()
        ds.commit("the rest")
        assert dl.open(ds.url)["k"][:].tolist() == expected, place

    assert interrupt_everywhere(work, check) > 500
    assert ds.verify()


def test_interrupted_transaction_does_not_discard_later_edits(ds):
    def work():
        with ds.transaction("k"):
            ds["k"][0] = 9

    moment = 1
    while kept := Interrupted(work, moment):
        ds.discard()
        ds["t"][0] = "later"
        place = kept.place
        del kept  # and everything that its traceback refers to
        assert ds["t"][0] == "later", place
        ds.discard()
        moment += 1 + moment // 40


QUERIES = {
    "scalar": "SELECT k, t WHERE k % 2 = 0 ORDER BY t",
    "tensor": "SELECT k WHERE MEAN(v) > 0 AND k % 2 = 0",
    "group": "SELECT k % 3 AS g, COUNT(*) AS n GROUP BY k % 3",
    "json": "SELECT k WHERE j['a'] = 1",
}


@pytest.mark.parametrize("text", QUERIES.values(), ids=QUERIES)
def test_interrupted_query_raises_keyboard_interrupt_and_the_next_one_works(make_lake, text):
    ds = make_lake(
        {"k": "int64", "t": "text", "v": dl.Array("float32", (3,)), "j": "json"},
        k=range(40),
        t=[f"t{i}" for i in range(40)],
        v=np.ones((40, 3), "float32"),
        j=[{"a": i % 2} for i in range(40)],
    )
    expected = cells(ds.query(text))

    def check(place):
        assert cells(ds.query(text)) == expected, place

    assert interrupt_everywhere(lambda: ds.query(text), check) > 500
