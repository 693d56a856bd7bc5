"""Random edits on two handles, compared with a lake of plain dicts."""

from contextlib import ExitStack
from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)

import deeplake_lite as dl
from deeplake_lite.testing.invariants import check_consistent, check_content
from deeplake_lite.testing.model import (
    ConflictsError,
    Content,
    ModelColumn,
    ModelHandle,
    ModelLake,
    NoDefaultError,
    difference,
)
from deeplake_lite.testing.strategies import values
from deeplake_lite.testing.tiny import tiny_chunks
from deeplake_lite.testing.values import freeze

HTYPES = (
    dl.Scalar("int32", default=7),
    dl.Scalar("float32", nullable=True),
    dl.Text(default="?"),
    dl.Text(nullable=True),
    dl.Array("int16", (None, 2), default=[[1, 2]]),
    dl.Array("uint8", (3,), default=[1, 2, 3]),
    dl.Bytes(default=b"-"),
    dl.Json(default={"n": 1}),
    dl.Sequence("text", nullable=True),
    dl.Sequence(dl.Sequence("int8"), default=[]),
    dl.Scalar("int8"),
)
NAMES = ("a", "b", "c", "d", "e/f", "e")
BRANCHES = ("main", "x", "y")

NOTES = (None, 0, False, 1, True, [1], [True])

numbers = count()
handles = st.sampled_from((0, 1))
sides = st.sampled_from(("raise", "ours", "theirs"))
winners = st.sampled_from(("ours", "theirs"))


class Lake(RuleBasedStateMachine):
    """Two handles of one lake, and the model of both."""

    tiny = True

    def __init__(self):
        super().__init__()
        self.patches = ExitStack()
        if self.tiny:
            self.patches.enter_context(tiny_chunks())
        self.ids_seen = set()

    def teardown(self):
        for ds in getattr(self, "open", []):
            ds.discard()
        self.patches.close()

    @initialize(htypes=st.lists(st.sampled_from(HTYPES), min_size=1, max_size=3))
    def create(self, htypes):
        columns = dict(zip(NAMES, htypes, strict=False))
        ds = dl.create(f"memory://machine-{next(numbers)}", columns)
        self.lake = ModelLake()
        content = Content({f.id: ModelColumn(f.name, f.htype) for f in ds.schema})
        self.lake.commit("main", ds.version, content)
        self.url = ds.url
        self.open = [ds, dl.open(ds.url)]
        self.models = [ModelHandle.open(self.lake, "main") for _ in self.open]

    # ---- rows

    @rule(h=handles, n=st.integers(0, 9), data=st.data())
    def append(self, h, n, data):
        ds, model = self.open[h], self.models[h]
        columns = [c for c in model.content.columns.values() if data.draw(self._given(c))]
        if not columns:
            n = 0
        rows = {c.name: data.draw(self._values(c.htype, n)) for c in columns}
        before = len(ds)
        ds.append(rows)
        ids = ds.row_ids[before:].tolist()
        assert len(ids) == len(set(ids)) == n
        assert not self.ids_seen & set(ids), "row ids are new"
        self.ids_seen |= set(ids)
        model.content.append(ids, rows)
        model.dirty |= n > 0

    @staticmethod
    def _values(htype, count):
        return st.lists(values(htype), min_size=count, max_size=count)

    @staticmethod
    def _given(column):
        optional = column.htype.nullable or column.htype.default is not None
        return st.booleans() if optional else st.just(True)

    @precondition(lambda self: any(m.content.rows for m in self.models))
    @rule(h=handles, data=st.data())
    def update(self, h, data):
        ds, model = self.open[h], self.models[h]
        rows = data.draw(self._positions(model))
        names = [c.name for c in model.content.columns.values()]
        if not rows or not names:
            return
        name = data.draw(st.sampled_from(names))
        htype = model.content.columns[model.content.by_name(name)].htype
        new = data.draw(st.lists(values(htype), min_size=len(rows), max_size=len(rows)))
        ids = ds.row_ids[rows].tolist()
        if len(rows) == 1:
            ds[name][rows[0]] = new[0]
        else:
            ds.update(rows, {name: new})
        model.content.set_cells(ids, name, new)
        model.dirty = True

    @staticmethod
    def _positions(model):
        count = len(model.content.rows)
        return st.lists(st.integers(0, max(count - 1, 0)), unique=True, max_size=min(count, 5))

    @rule(h=handles, data=st.data())
    def delete(self, h, data):
        ds, model = self.open[h], self.models[h]
        rows = data.draw(self._positions(model))
        for i in ds.row_ids[rows].tolist():
            del model.content.rows[i]
        ds.delete(rows)
        model.dirty |= bool(rows)

    @rule(h=handles, data=st.data())
    def upsert(self, h, data):
        ds, model = self.open[h], self.models[h]
        keys = [c for c in model.content.columns.values() if c.htype == HTYPES[0]]
        if not keys:
            return
        key = model.content.by_name(keys[0].name)
        held = [row[key] for row in model.content.rows.values()]
        given = data.draw(st.lists(st.integers(0, 9), unique=True, min_size=1, max_size=4))
        rows = {
            c.name: given
            if c is keys[0]
            else data.draw(st.lists(values(c.htype), min_size=len(given), max_size=len(given)))
            for c in model.content.columns.values()
        }
        if any(held.count(k) > 1 for k in given):
            with pytest.raises(dl.InvalidValueError, match="rows with the same key"):
                ds.upsert(rows, on=keys[0].name)
            return
        before, content = len(ds), model.content.copy()
        done = ds.upsert(rows, on=keys[0].name)
        new = [n for n, k in enumerate(given) if k not in held]
        ids = ds.row_ids[before:].tolist()
        self.ids_seen |= set(ids)
        by_key = {row[key]: i for i, row in content.rows.items()}
        content.append(ids, {name: [v[n] for n in new] for name, v in rows.items()})
        for n, k in enumerate(given):
            if k in by_key:
                for name, new_values in rows.items():
                    content.set_cells([by_key[k]], name, [new_values[n]])
        changed = sum(content.rows[i] != row for i, row in model.content.rows.items())
        assert (done.added, done.changed) == (len(new), changed)
        model.content = content
        model.dirty |= bool(new or changed)

    # ---- columns

    @rule(h=handles, name=st.sampled_from(NAMES), htype=st.sampled_from(HTYPES), data=st.data())
    def add_column(self, h, name, htype, data):
        ds, model = self.open[h], self.models[h]
        given = None
        count = len(model.content.rows)
        if (htype.default is None and not htype.nullable) or data.draw(st.booleans()):
            given = data.draw(st.lists(values(htype), min_size=count, max_size=count))
        taken = {c.name for c in model.content.columns.values()}
        if any(name == t or f"{name}/" in f"{t}/" or f"{t}/" in f"{name}/" for t in taken):
            with pytest.raises(dl.SchemaError):
                ds.add_column(name, htype, values=given)
            return
        ds.add_column(name, htype, values=given)
        model.content.add_column(ds.schema[name].id, ModelColumn(name, htype), given)
        model.dirty = True

    @rule(h=handles, data=st.data())
    def drop_column(self, h, data):
        ds, model = self.open[h], self.models[h]
        if len(model.content.columns) < 2:
            return
        name = data.draw(st.sampled_from([c.name for c in model.content.columns.values()]))
        ds.drop_column(name)
        model.content.drop_column(name)
        model.dirty = True

    @rule(h=handles, new=st.sampled_from(NAMES[:4]), data=st.data())
    def rename_column(self, h, new, data):
        ds, model = self.open[h], self.models[h]
        names = [c.name for c in model.content.columns.values()]
        if not names or new in names:
            return
        old = data.draw(st.sampled_from(names))
        ds.rename_column(old, new)
        model.content.rename_column(old, new)
        model.dirty = True

    @rule(h=handles, data=st.data())
    def set_nullable(self, h, data):
        ds, model = self.open[h], self.models[h]
        c = data.draw(self._column(model))
        if c is None or model.content.columns[c].htype.nullable:
            return
        ds.set_nullable(model.content.columns[c].name)
        self._retype(model, c, nullable=True)

    @rule(h=handles, data=st.data())
    def set_default(self, h, data):
        ds, model = self.open[h], self.models[h]
        c = data.draw(self._column(model))
        if c is None:
            return
        value = data.draw(values(replace(model.content.columns[c].htype, nullable=False)))
        ds.set_default(model.content.columns[c].name, value)
        self._retype(model, c, default=value)

    @staticmethod
    def _column(model):
        return st.sampled_from(list(model.content.columns) or [None])

    @staticmethod
    def _retype(model, c, **changes):
        column = model.content.columns[c]
        model.content.columns[c] = replace(column, htype=replace(column.htype, **changes))
        model.dirty = True

    @rule(h=handles, key=st.sampled_from("kl"), value=st.sampled_from(NOTES))
    def note(self, h, key, value):
        self.open[h].metadata[key] = value
        self.models[h].content.metadata[key] = value
        self.models[h].dirty = True

    # ---- versions

    @rule(h=handles)
    def commit(self, h):
        ds, model = self.open[h], self.models[h]
        if not model.dirty:
            assert ds.commit("nothing") == model.version
            return
        try:
            content = model.rebased("raise")
        except ConflictsError as expected:
            with pytest.raises(dl.ConflictError) as raised:
                ds.commit("conflict")
            self._check_conflicts(raised.value, expected.conflicts)
        except NoDefaultError:
            with pytest.raises((dl.InvalidValueError, dl.ConflictError)):
                ds.commit("no default")
        else:
            version = ds.commit("edits")
            if version != model.version:
                self._committed(h, version, content)
                return
            assert content == self.lake.commits[version].content  # the edits have cancelled out
            model.go(version)

    def _committed(self, h, id_, content, *merged):
        model = self.models[h]
        self.lake.commit(model.branch, id_, content, *merged)
        model.go(id_)
        assert self.open[h].version == id_

    @staticmethod
    def _check_conflicts(error, expected):
        got = {(c.kind, c.name, c.row_id) for c in error.conflicts}
        rows = {c for c in got if c[0] in ("row", "cell")}
        assert rows == {c for c in expected if c[0] in ("row", "cell")}
        assert {c[0] for c in got} == {c[0] for c in expected}

    @rule(h=handles, side=sides)
    def rebase(self, h, side):
        ds, model = self.open[h], self.models[h]
        if not model.dirty:
            ds.rebase(on_conflict=side)
            model.go(model.tip)
            return
        try:
            content = model.rebased(side)
        except ConflictsError as expected:
            with pytest.raises(dl.ConflictError) as raised:
                ds.rebase(on_conflict=side)
            self._check_conflicts(raised.value, expected.conflicts)
        except NoDefaultError:
            with pytest.raises((dl.InvalidValueError, dl.ConflictError)):
                ds.rebase(on_conflict=side)
        else:
            ds.rebase(on_conflict=side)
            model.content, model.version = content, model.tip
            model.dirty = bool(
                ds.handle.table.edits
            )  # the same change on both sides is no longer an edit

    @rule(h=handles)
    def discard(self, h):
        self.open[h].discard()
        self.models[h].go(self.models[h].version)

    @rule(h=handles, name=st.sampled_from(BRANCHES))
    def branch(self, h, name):
        ds, model = self.open[h], self.models[h]
        if name in self.lake.branches:
            with pytest.raises(dl.ExistsError, match="already"):
                ds.branch(name)
            return
        ds.branch(name)
        self.lake.branches[name] = model.version

    def _has_edits(self, h):
        """Tell whether a handle has edits; edits that cancel out do not count."""
        model = self.models[h]
        if model.dirty and not self.open[h].status():
            assert model.content == self.lake.commits[model.version].content
            model.dirty = False
        return model.dirty

    @rule(h=handles, data=st.data())
    def checkout(self, h, data):
        ds, model = self.open[h], self.models[h]
        name = data.draw(st.sampled_from(sorted(self.lake.branches)))
        if self._has_edits(h):
            with pytest.raises(dl.UncommittedError, match="uncommitted edits"):
                ds.checkout(name)
            return
        ds.checkout(name)
        model.branch = name
        model.go(model.tip)

    @rule(h=handles, side=sides, data=st.data())
    def merge(self, h, side, data):
        ds = self.open[h]
        name = data.draw(st.sampled_from(sorted(self.lake.branches)))
        if self._has_edits(h):
            with pytest.raises(dl.UncommittedError, match="uncommitted edits"):
                ds.merge(name)
            return
        self._merge(h, name, self.lake.branches[name], side)

    @precondition(lambda self: not any(m.dirty for m in self.models))
    @rule(data=st.data(), winners=st.tuples(winners, winners))
    def merge_crosswise(self, data, winners):
        """Let two branches diverge, change what they share, and merge each into the old other."""
        for h, name in enumerate(("main", "x")):
            if name not in self.lake.branches:
                self.open[0].branch(name)
                self.lake.branches[name] = self.models[0].version
            self.open[h].checkout(name)
            self.models[h].branch = name
            self.models[h].go(self.models[h].tip)
        for h in (0, 1):
            edit = data.draw(st.sampled_from((self.update, self.delete, self.set_default)))
            edit(h=h, data=data)
            self.note(h=h, key="k", value=data.draw(st.sampled_from(NOTES)))
            self.commit(h=h)
        tips = [model.version for model in self.models]
        for h, side in enumerate(winners):
            self._merge(h, tips[1 - h], tips[1 - h], side)

    def _merge(self, h, name, theirs, side):
        ds, model = self.open[h], self.models[h]
        model.go(model.tip)
        if self.lake.merge_bases(theirs, model.version) == [theirs]:
            assert ds.merge(name, on_conflict=side) == model.version
            return
        try:
            content = model.merged(theirs, side)
        except ConflictsError as expected:
            with pytest.raises(dl.ConflictError) as raised:
                ds.merge(name, on_conflict=side)
            self._check_conflicts(raised.value, expected.conflicts)
        except NoDefaultError:
            with pytest.raises((dl.InvalidValueError, dl.ConflictError)):
                ds.merge(name, on_conflict=side)
        else:
            self._committed(h, ds.merge(name, on_conflict=side), content, theirs)

    @rule(h=handles, data=st.data())
    def restore(self, h, data):
        ds, model = self.open[h], self.models[h]
        version = data.draw(st.sampled_from(list(self.lake.commits)))
        if version not in set().union(*map(self.lake.ancestors, self.lake.branches.values())):
            return
        if self._has_edits(h):
            with pytest.raises(dl.UncommittedError, match="uncommitted edits"):
                ds.restore(version)
            return
        ds.restore(version)
        model.content = self.lake.commits[version].content.copy()
        model.dirty = True

    @rule(h=handles, shuffle=st.booleans())
    def optimize(self, h, shuffle):
        ds, model = self.open[h], self.models[h]
        if self._has_edits(h):
            with pytest.raises(dl.UncommittedError, match="uncommitted edits"):
                ds.optimize()
        else:
            done = ds.optimize(shuffle=shuffle)
            model.go(model.tip)
            content = model.content
            if shuffle:
                assert sorted(ds.row_ids.tolist()) == sorted(content.rows)
                content.rows = {i: content.rows[i] for i in ds.row_ids.tolist()}
            self._committed(h, done, content)

    @rule(h=handles)
    def reopen(self, h):
        model = self.models[h]
        self.open[h].discard()
        self.open[h] = dl.open(self.url, branch=model.branch)
        model.go(model.tip)

    # ---- invariants

    @rule(data=st.data())
    def read_an_old_version(self, data):
        version = data.draw(st.sampled_from(list(self.lake.commits)))
        old = dl.open(self.url, version=version)
        check_content(old, self.lake.commits[version].content)

    @rule(data=st.data())
    def compare_two_versions(self, data):
        a, b = (data.draw(st.sampled_from(list(self.lake.commits))) for _ in "ab")
        self._check_diff(self.open[0].diff(a, b), *(self.lake.commits[v].content for v in (a, b)))

    @rule(h=handles)
    def compare_with_the_last_commit(self, h):
        ds, model = self.open[h], self.models[h]
        base = self.lake.commits[model.version].content
        self._check_diff(ds.diff(), base, model.content)

    @staticmethod
    def _check_diff(diff, a, b):
        expected = difference(a, b)
        assert diff.added.tolist() == expected.added
        assert diff.removed.tolist() == expected.removed
        names = {c: column.name for c, column in b.columns.items()}
        assert {n: set(ids.tolist()) for n, ids in diff.changed.items()} == {
            names[c]: ids for c, ids in expected.cells.items()
        }
        for c, ids in expected.cells.items():
            some = np.array(sorted(ids))
            after = [freeze(v) for v in diff.after(names[c], some)]
            assert after == [b.rows[i][c] for i in some.tolist()]

    @rule(h=handles)
    def verify(self, h):
        if not self.models[h].dirty:
            check_consistent(self.open[h])

    @invariant()
    def both_handles_hold_what_the_model_says(self):
        for ds, model in zip(getattr(self, "open", []), getattr(self, "models", []), strict=True):
            check_content(ds, model.content)
            assert ds.version == model.version
            assert ds.current_branch == model.branch


class TinyChunks(Lake):
    tiny = True


class RealChunks(Lake):
    tiny = False


del Lake
TestTinyChunks = TinyChunks.TestCase
TestTinyChunks.settings = settings(max_examples=3 * settings.default.max_examples)
TestRealChunks = RealChunks.TestCase
