"""Merging into a branch to which others commit at the same time."""

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.versions import merge as merging
from deeplake_lite.storage.repo import Session
from deeplake_lite.storage.repo.locks import take_lock
from deeplake_lite.testing.invariants import check_consistent

LARGE = 5 * 2**20


@pytest.fixture
def ours(make_lake):
    """Return main, whose branch fix has changed a cell, removed a row and added two."""
    ds = make_lake(
        {"x": "int32", "t": "text", "b": "bytes"},
        x=range(5),
        t=list("abcde"),
        b=[b""] * 5,
    )
    ds.branch("fix")
    fix = dl.open(ds.url, branch="fix")
    fix["t"][0] = "A"
    fix.delete([4])
    fix.append({"x": [10, 11], "t": ["k", "l"], "b": [b"\1" * LARGE, b"\2"]})
    fix.commit("fix")
    return ds


def append(rival):
    rival.append({"x": [20], "t": ["u"], "b": [b"\3" * LARGE]})
    rival.commit("rival")


def change_another_cell(rival):
    rival["x"][0] = 100
    rival.commit("rival")


def change_the_same_cell(rival):
    rival["t"][0] = "rival"
    rival.commit("rival")


def remove_another_row(rival):
    rival.delete([1])
    rival.commit("rival")


def add_a_column(rival):
    rival.add_column("n", dl.Scalar("int32", nullable=True), values=range(len(rival)))
    rival.commit("rival")


def merge_the_same(rival):
    rival.merge("fix")


def bring_the_same_rows(rival):
    rival.restore("fix")
    rival.commit("rival")


def optimize(rival):
    rival.optimize()


@pytest.fixture
def interrupted(monkeypatch):
    """Let someone else commit between the planning and the commit of the first merges."""

    def interrupt(ds, rivals):
        merge_rows, left, rival_is_at_work = merging.merge_rows, list(rivals), []

        def merge_and_lose(plan, target, source):
            merge_rows(plan, target, source)
            if left and not rival_is_at_work:
                rival_is_at_work.append(True)
                left.pop(0)(dl.open(ds.url))
                rival_is_at_work.clear()

        monkeypatch.setattr(merging, "merge_rows", merge_and_lose)
        return left

    return interrupt


def rows_of(ds):
    return {int(row["x"]): (row["t"], row["b"][:1]) for row in ds[:]}


MERGED = {
    0: ("A", b""),
    **{i: (letter, b"") for i, letter in enumerate("bcd", 1)},
    10: ("k", b"\1"),
    11: ("l", b"\2"),
}


@pytest.mark.parametrize(
    ("rival", "expected"),
    [
        (append, MERGED | {20: ("u", b"\3")}),
        (change_another_cell, {k or 100: v for k, v in MERGED.items()}),
        (remove_another_row, {k: v for k, v in MERGED.items() if k != 1}),
        (add_a_column, MERGED),
        (merge_the_same, MERGED),
        (bring_the_same_rows, MERGED),
        (optimize, MERGED),
    ],
)
def test_merge_goes_on_top_of_concurrent_commits(ours, interrupted, rival, expected):
    left = interrupted(ours, [rival])
    done = ours.merge("fix")
    assert not left
    assert ours.version == done == dl.open(ours.url).version
    assert rows_of(ours) == expected
    assert len(np.unique(ours.row_ids)) == len(ours)
    here = dict(zip(ours["x"][:].tolist(), ours.row_ids.tolist(), strict=True))
    fix = dl.open(ours.url, version="fix")
    assert [here[10], here[11]] == fix.row_ids[-2:].tolist()
    check_consistent(ours)
    assert ours.merge("fix") == done


def test_merge_that_is_rebased_copies_large_values_once(ours, interrupted, monkeypatch):
    put, sizes = Session.put, []

    async def counted(self, key, data):
        sizes.append(len(memoryview(data)))
        await put(self, key, data)

    interrupted(ours, [change_another_cell])
    monkeypatch.setattr(Session, "put", counted)
    ours.merge("fix")
    assert sum(sizes) < 2 * LARGE


@pytest.mark.parametrize("side", ["raise", "ours", "theirs"])
def test_conflict_with_a_concurrent_commit_is_a_merge_conflict(ours, interrupted, side):
    interrupted(ours, [change_the_same_cell])
    if side == "raise":
        with pytest.raises(dl.ConflictError, match=r"cell 't' of row 0.*(?s:.)*ds\.merge"):
            ours.merge("fix")
        assert not ours.status()
        assert ours["t"][0] == "rival"
        ours.merge("fix", on_conflict="ours")
        side = "ours"
    else:
        ours.merge("fix", on_conflict=side)
    assert ours["t"][0] == {"ours": "rival", "theirs": "A"}[side]
    assert ours["x"][:].tolist() == [0, 1, 2, 3, 10, 11]
    check_consistent(ours)


def test_second_attempt_of_a_merge_holds_the_lock(ours, interrupted):
    refused = []

    def try_the_lock(rival):
        with pytest.raises(TimeoutError) as error:
            take_lock(rival.handle.repository.writers_folder() / "commit.lock", timeout=0)
        refused.append(error)

    interrupted(ours, [bring_the_same_rows, try_the_lock])
    ours.merge("fix")
    assert len(refused) == 1
