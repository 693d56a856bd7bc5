"""Ingesting a source again after an older version, or that of another branch, was restored.

Only the history behind the restored version counts, and what was committed after the restore.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.versions import history

KEYS = range(4)


def ingest(url, rows, **options):
    columns = {"k": list(rows), "v": list(rows.values())}
    return dl.from_arrays(columns, url, on="k", progress=False, **options)


def rows_of(ds):
    return dict(zip(ds["k"][:].tolist(), ds["v"][:], strict=True))


@pytest.fixture
def lake(url):
    """Return an empty lake with a key."""
    return dl.create(url, {"k": "int64", "v": "text"})


# ---- a source whose ingest was undone


def test_rows_removed_by_a_restore_are_ingested_again(lake, url):
    before = lake.version
    ds = ingest(url, {1: "bad", 2: "bad"})
    ds.restore(before)
    ds.commit("the ingest was wrong")
    ds = ingest(url, {1: "good", 2: "good"})
    assert rows_of(ds) == {1: "good", 2: "good"}
    assert (ds.ingested.added, ds.ingested.kept) == (2, ())


def test_second_ingest_undone_by_a_restore_is_ingested_with_corrections(url):
    ds = ingest(url, {1: "a", 2: "b"})
    first = ds.version
    ds = ingest(url, {1: "WRONG", 2: "b", 3: "c"})
    ds.restore(first)
    ds.commit("the second was wrong")
    ds = ingest(url, {1: "A", 2: "b", 3: "c"})
    assert rows_of(ds) == {1: "A", 2: "b", 3: "c"}
    assert ds.ingested.kept == ()


def test_edit_undone_by_a_restore_belongs_to_nobody(url):
    ds = ingest(url, {1: "a", 2: "b"})
    first = ds.version
    ds["v"][0] = "person"
    ds.delete([1])
    ds.commit("edited")
    ds.restore(first)
    ds.commit("not so")
    assert rows_of(ingest(url, {1: "A", 2: "B"})) == {1: "A", 2: "B"}


# ---- edits before the restored version


def edited_branch(url, name):
    """Return a branch with ingested rows, one of them corrected and one deleted."""
    ds = ingest(url, {1: "a", 2: "b"}, branch=name)
    ds["v"][len(ds) - 2] = "person"
    ds.delete([len(ds) - 1])
    ds.commit("one corrected, one deleted")
    return ds


@pytest.mark.parametrize("before", [{}, {9: "z"}], ids=["empty", "another ingest"])
@pytest.mark.parametrize("way", ["restored", "merged", "restored on a branch and merged"])
def test_edits_of_a_restored_branch_are_kept(lake, url, before, way):
    ds = ingest(url, before) if before else lake
    ds.branch("b")
    ds.branch("c")
    source = edited_branch(url, "b")
    if way == "restored":
        ds.restore(source.version)
        ds.commit("take b")
    elif way == "merged":
        ds.merge("b")
    else:
        c = dl.open(url, branch="c")
        c.restore(source.version)
        c.commit("take b")
        ds.merge("c")
    ds = ingest(url, {1: "A", 2: "B"})
    assert rows_of(ds) == {**before, 1: "person"}
    assert len(ds.ingested.kept) == 2


def test_edits_restored_after_being_undone_are_kept(lake, url):
    before = lake.version
    ds = edited_branch(url, "main")
    version = ds.version
    ds.restore(before)
    ds.commit("back")
    ds = ingest(url, {7: "q"})
    ds.restore(version)
    ds.commit("forward")
    ds = ingest(url, {1: "A", 2: "B"})
    assert rows_of(ds) == {1: "person"}
    assert len(ds.ingested.kept) == 2


def test_corrections_of_a_folder_are_kept_when_a_branch_was_restored(photos, url):
    folder = photos("rose/a.png", "rose/b.png", "tulip/c.png", "tulip/d.png")
    label = dl.ClassLabel(["rose", "tulip"])
    ds = dl.create(url, {"image": dl.Image("png"), "label": label, "path": "text"})
    before = ds.version
    ds.branch("trial")
    trial = dl.from_folder(folder, url, branch="trial", progress=False)
    trial["label"][0] = "tulip"
    trial.delete([3])
    trial.commit("one corrected, one deleted")
    edited = dict(zip(trial["path"][:], trial["label"][:].tolist(), strict=True))
    ds.restore(trial.version)
    ds.commit("take the trial")
    for branch in ("main", "trial"):
        ds = dl.from_folder(folder, url, branch=branch, progress=False)
        assert dict(zip(ds["path"][:], ds["label"][:].tolist(), strict=True)) == edited
        assert (ds.ingested.added, ds.ingested.unchanged, len(ds.ingested.kept)) == (0, 3, 2)
    ds.restore(before)
    ds.commit("empty")
    assert dl.from_folder(folder, url, branch="trial", progress=False).ingested.added == 4


def test_edits_are_kept_when_the_restored_version_is_gone(url):
    """It is unknown who wrote what in that version, so nothing is overwritten."""
    ds = ingest(url, {1: "a", 2: "b", 3: "c"})
    ds.branch("b")
    b = dl.open(url, branch="b")
    b["v"][0] = "person"
    b.delete([1])
    b.commit("one corrected, one deleted")
    ds.restore(b.version)
    ds.commit("take b")
    ds.delete_branch("b")
    ds.vacuum(spare="0s")
    with pytest.raises(dl.LakeError, match="no longer exists"):
        ds.handle.open(b.version)
    ds = ingest(url, {1: "A", 2: "B", 3: "C"})
    assert rows_of(ds) == {1: "person", 3: "C"}
    assert len(ds.ingested.kept) == 2


@pytest.mark.parametrize("others", ["an ingest", "an edit", "both"])
@pytest.mark.parametrize("own", [True, False])
def test_commits_of_others_while_a_restore_is_staged_remain_theirs(url, others, own):
    ds = ingest(url, {1: "a", 2: "b", 3: "c"})
    first = ds.version
    ds["v"][:2] = ["undone", "undone"]
    ds.commit("corrected")
    ds.restore(first)
    if own:
        ds["v"][0] = "mine"
    other = dl.open(url)
    if others != "an edit":
        other = ingest(url, {4: "d"})
    if others != "an ingest":
        other["v"][2] = "person"
        other.commit("corrected")
    ds.commit("back")
    ds = ingest(url, {1: "A", 2: "B", 3: "C", 4: "D"})
    ours = {1: "mine" if own else "A", 3: "C" if others == "an ingest" else "person"}
    assert rows_of(ds) == {**ours, 2: "B", 4: "D"}
    assert len(ds.ingested.kept) == own + (others != "an ingest")


# ---- any order of operations, against a model


@dataclass(frozen=True)
class State:
    """Who wrote what in one version."""

    mine: frozenset[int] = frozenset()
    """Ids of the rows whose value was written by a person."""
    gone: frozenset[int] = frozenset()
    """Keys of rows that a person deleted or gave a different key."""
    event: int = 0
    """Number of the last ingest or merge; 0 before the first ingest."""
    born: tuple[int, ...] = ()
    """Ids of the rows that people have added since."""


@dataclass
class Model:
    """A lake, and who wrote what in each of its versions."""

    url: str
    chance: np.random.Generator
    states: dict[str, State] = field(default_factory=dict)
    events: int = 0
    news: int = 100
    branches: list[str] = field(default_factory=lambda: ["main"])
    done: Counter = field(default_factory=Counter)

    def __post_init__(self):
        ds = dl.create(self.url, {"k": "int64", "v": "text"})
        self.states[ds.version] = State()

    def pick(self, values):
        return list(values)[self.chance.integers(len(values))]

    def open(self):
        self.branch = self.pick(self.branches)
        self.ds = dl.open(self.url, branch=self.branch)
        return self.states[self.ds.version]

    @staticmethod
    def cells(ds):
        ids = ds.handle.table.ids(ds.handle.table.rows.live()).tolist()
        pairs = zip(ds["k"][:].tolist(), ds["v"][:], strict=True)
        return dict(zip(ids, pairs, strict=True))

    def new_event(self):
        self.events += 1
        return self.events

    def new(self):
        self.news += 1
        return self.news

    def commit(self, ds, state):
        ds.commit("by a person")
        self.states[ds.version] = state

    # ---- edits by people

    def change(self, ds, state):
        """Stage an edit by a person; return the resulting state."""
        cells = self.cells(ds)
        begun, kind = state.event > 0, self.pick(["edit", "delete", "add", "rekey"])
        if kind == "add" or not cells:
            key = self.pick([k for k in KEYS if k not in {k for k, _ in cells.values()}] or [-1])
            if key < 0:
                return state
            ds.append({"k": [key], "v": [f"p{self.new()}"]})
            (new,) = self.cells(ds).keys() - cells.keys()
            born = (*state.born, new)
            return replace(state, mine=state.mine | ({new} if begun else set()), born=born)
        at = int(self.chance.integers(len(cells)))
        row, (key, _) = list(cells.items())[at]
        if kind == "edit":
            ds["v"][at] = f"p{self.new()}"
            return replace(state, mine=state.mine | ({row} if begun else set()))
        if kind == "delete":
            ds.delete([at])
        else:
            ds["k"][at] = self.new()
        return replace(
            state, gone=state.gone | ({key} if begun and row not in state.born else set())
        )

    def by_hand(self):
        state = self.open()
        self.commit(self.ds, self.change(self.ds, state))

    # ---- versions

    def restore(self):
        self.open()
        version = self.pick(self.states)
        self.ds.restore(version)
        state = self.states[version]
        if self.chance.random() < 0.3:
            state = self.change(self.ds, state)
        self.commit(self.ds, state)

    def make_branch(self):
        if len(self.branches) < 3:
            self.open()
            name = f"b{len(self.branches)}"
            self.ds.branch(name)
            self.branches.append(name)

    def merge(self):
        ours, our_cells = self.open(), self.cells(self.ds)
        before, other = self.ds.version, dl.open(self.url, branch=self.pick(self.branches))
        theirs, their_cells = self.states[other.version], self.cells(other)
        repository = self.ds.handle.repository
        bases = history.merge_bases(repository, [before], other.version)
        self.ds.merge(other.version, on_conflict=self.pick(["ours", "theirs"]))
        if self.ds.version == before:
            return
        merged = self.cells(self.ds)
        sides = ((ours, our_cells), (theirs, their_cells))
        mine = {i for s, c in sides for i in s.mine if i in merged and c.get(i) == merged[i]}
        undone = {k for b in bases for s, _ in sides for k in self.states[b].gone - s.gone}
        event = self.new_event() if ours.event or theirs.event else 0
        gone = (ours.gone | theirs.gone) - undone
        self.states[self.ds.version] = State(frozenset(mine), frozenset(gone), event)

    # ---- ingests

    def take(self):
        state = self.open()
        cells = {k: (i, v) for i, (k, v) in self.cells(self.ds).items()}
        some = [k for k in KEYS if self.chance.random() < 0.7]
        rows = {k: self.pick(["s0", "s1"]) for k in some}
        force = self.chance.random() < 0.2
        expected = {k: v for k, (_, v) in cells.items()}
        kept, mine, version = [], set(state.mine), self.ds.version
        for n, (key, value) in enumerate(rows.items()):
            row, old = cells.get(key, (None, None))
            if old == value:
                continue
            if not force and (row in mine if key in cells else key in state.gone):
                kept.append(f"arrays, row {n}")
                continue
            mine.discard(row)
            expected[key] = value
        ds = ingest(self.url, rows, branch=self.branch, update="force" if force else True)
        assert rows_of(ds) == expected
        assert sorted(k.path for k in ds.ingested.kept) == sorted(kept)
        self.done["ingests"] += 1
        self.done["kept"] += len(kept)
        if ds.version != version:
            self.states[ds.version] = State(frozenset(mine), state.gone, self.new_event())

    def has_twins(self):
        return any(
            len(rows_of(ds)) < len(ds)
            for ds in (dl.open(self.url, branch=name) for name in self.branches)
        )


@pytest.mark.parametrize("seed", range(20))
def test_any_order_of_edits_restores_merges_and_ingests_knows_who_wrote_each_row(new_url, seed):
    model = Model(new_url(), np.random.default_rng(seed))
    steps = [model.take, model.take, model.take, model.by_hand, model.by_hand]
    steps += [model.restore, model.restore, model.make_branch, model.merge]
    for _ in range(16):
        model.pick(steps)()
        if model.has_twins():  # two branches added a key: every ingest refuses it
            break
    assert model.done
