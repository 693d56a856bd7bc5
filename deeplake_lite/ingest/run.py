"""One ingest under way: what is read, compared, written and committed, and what is counted."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.column import Column
from deeplake_lite.dataset.versions import history
from deeplake_lite.dataset.versions.commit import commit
from deeplake_lite.dataset.write.keys import Keys
from deeplake_lite.dataset.write.tables import Exported
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.cells import take
from deeplake_lite.htypes.reencoding import warn_once
from deeplake_lite.ingest.edited import Edited, History
from deeplake_lite.ingest.encoding import Encoded, OnError, encode, select
from deeplake_lite.ingest.files import are_same_files, are_same_state
from deeplake_lite.ingest.notes import NOTE, Content, Note, Notes, runs_of
from deeplake_lite.ingest.result import Ingested, Kept
from deeplake_lite.ingest.source import Block, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.htypes.base import Check
    from deeplake_lite.ingest.options import Update
    from deeplake_lite.ingest.source import Source
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.table import Table


@dataclass
class Run:
    """One ingest under way."""

    ds: Dataset
    source: Source
    names: tuple[str, ...]
    """Columns that the source gives."""
    message: str
    """Of the commits."""
    update: Update
    start: int = 0
    """Rows of the source that an earlier, interrupted run has committed."""
    only: NDArray[np.int64] | None = None
    """Rows of the source that are taken, where an earlier run has all others."""
    missing: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """Rows of the source that were left out so far."""
    read: int = 0
    """Rows of the source read so far."""
    pending: int = 0
    """Rows read since the last commit."""
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    kept: list[Kept] = field(default_factory=list)
    repeated: str = ""
    """The version that has these rows already."""
    content: Content | None = None
    """Digest of the rows, where they are told apart by nothing else."""
    keys: Keys | None = None
    seen: set[int] = field(default_factory=set)
    """Digests of the keys that this run has met."""

    def begin(self) -> bool:
        """Find out which rows are there; return whether there is anything to read."""
        if self.key is not None:
            self._find_keys()
            return True
        if self.source.fingerprint is not None and self._is_taken(self.source.fingerprint):
            return False
        self.content = None if self._goes_on else Content()
        return True

    @property
    def _goes_on(self) -> bool:
        """Whether an earlier run has some of the rows, which have no key."""
        return self.start > 0 or self.only is not None

    def _is_taken(self, fingerprint: str) -> bool:
        """Find out which rows of these files are there; return whether all of them are."""
        notes = Notes(self.ds)
        past = notes.last(
            lambda n: are_same_state(n.source, fingerprint) and n.is_of(self._columns)
        )
        if past is None:
            self._check_finished(notes, fingerprint)
            return False
        version, note = past
        if not note.done:
            self.start = self.read = note.rows
            self.missing = note.missing
        elif self.update != "force":
            self.repeated = version
            self.only = note.missing if note.skipped else None
            self.unchanged = 0 if note.skipped else note.rows
            return not note.skipped
        return False

    @property
    def _columns(self) -> list[str]:
        return sorted(self.names)

    def _check_finished(self, notes: Notes, fingerprint: str) -> None:
        """Refuse files that have changed since a part of them was taken. Raises InvalidValueError.

        Without a key, nobody knows which of their rows are there.
        """
        past = notes.last(
            lambda n: n.source and are_same_files(n.source, fingerprint) and n.is_of(self._columns)
        )
        if past is not None and not past[1].done and self.update != "force":
            raise InvalidValueError(
                f"{self.source.title} has changed since a run was interrupted that committed "
                f"{past[1].rows:,} of its rows, and has no key that tells which. Give one, on=, or "
                'go back to before that run, ds.restore(…), commit, and add all: update="force".'
            )

    @property
    def key(self) -> Field | None:
        """The column that tells rows apart; here it takes no null."""
        if self.source.key is None:
            return None
        f = self.ds.schema[self.source.key]
        return replace(f, htype=replace(f.htype, nullable=False))

    @property
    def fields(self) -> list[Field]:
        """The source's columns, the key first."""
        fields = [self.ds.schema[name] for name in self.names if name != self.source.key]
        return fields if self.key is None else [self.key, *fields]

    @cached_property
    def edited(self) -> Edited:
        """What people have changed in the lake since it was ingested."""
        if self.update == "force" or self.key is None:
            return Edited()
        return History(self.ds, self.key).edited(self.ds.version)

    # ---- reading, a block ahead

    def encoded(self, check: Check, on_error: OnError) -> Iterator[Encoded]:
        """Yield the source's blocks, checked."""
        fields, first = self.fields, self.start
        for block in self.source.blocks(self.start):
            rows = self._rows_to_read(block, first)
            first += len(block.places)
            some = block if rows is None else _part(block, rows.tolist())
            unread = len(block.places) - len(some.places)
            done = encode(some, fields, check, on_error)
            bad = done.bad if rows is None else rows[done.bad]
            yield replace(done, taken=done.taken + unread, unread=unread, bad=bad)

    def _rows_to_read(self, block: Block, first: int) -> NDArray[np.int64] | None:
        """Return which rows of a block to read, whose first has that number; None for all."""
        if self.only is not None:
            return np.flatnonzero(np.isin(np.arange(first, first + len(block.places)), self.only))
        return None if self.update else self._unseen(block)

    def _unseen(self, block: Block) -> NDArray[np.int64] | None:
        """Return the rows of a block whose key is new; the others are not read any further."""
        if self.keys is None or self.key is None:
            return None
        probe = encode(block, [self.key], "header", "skip")
        if probe.skipped:  # `encode` will say where
            return None
        return np.flatnonzero(self.keys.find(self._digest(probe)) < 0)

    def _digest(self, block: Encoded) -> NDArray[np.uint64]:
        assert self.keys is not None
        assert self.key is not None
        return self.keys.digest(block.cells[self.key.id])

    # ---- writing

    def write(self, block: Encoded, on_error: OnError) -> None:
        """Append what is new and change what differs."""
        self.skipped += block.skipped
        self.missing = np.append(self.missing, self.read + block.bad)
        self.read += block.taken
        self.pending += block.taken if self.only is None else 0  # those are noted all at once
        self.unchanged += block.unread
        for f in self.fields:
            warn_once(f.id, f.name, block.reencoded.get(f.id, ()))
        if len(block):
            self.ds.handle.edit(self._write, block, on_error)

    def _write(self, table: Table, block: Encoded, on_error: OnError) -> None:
        if self.keys is None:
            self._append(table, block)
        else:
            self._upsert(table, self._without_twins(block, on_error))

    def _append(self, table: Table, block: Encoded) -> NDArray[np.int64]:
        known = set(block.cells)
        rest = {f.id: f.htype.encode_default(len(block)) for f in table.schema if f.id not in known}
        self.added += len(block)
        if self.content is not None:
            fields = [f for f in table.schema if f.id in known]
            self.content.add({f.name: table.digest(f.id, block.cells[f.id]) for f in fields})
        return table.append([{**block.cells, **rest}])

    def _upsert(self, table: Table, block: Encoded) -> None:
        assert self.keys is not None
        slots = self.keys.find(self._digest(block))
        old, new = select(block, slots >= 0), self._not_gone(select(block, slots < 0))
        if len(new):
            self.keys.add(self._digest(new), self._append(table, new))
        if len(old):
            changed = self._change(table, slots[slots >= 0], old)
            self.changed += changed
            self.unchanged += len(old) - changed

    def _not_gone(self, block: Encoded) -> Encoded:
        """Return a block without the rows that a person has deleted, or given another key."""
        edited = self.edited
        if not len(block) or not (len(edited.deleted) or len(edited.rekeyed)):
            return block
        digests = self._digest(block)
        renamed = np.isin(digests, edited.rekeyed)
        gone = renamed | np.isin(digests, edited.deleted)
        columns = (str(self.source.key),)
        for i in np.flatnonzero(gone).tolist():
            self.kept.append(Kept(block.places[i], columns if renamed[i] else ()))
        return select(block, ~gone)

    def _change(self, table: Table, slots: NDArray[np.int64], block: Encoded) -> int:
        """Change the cells that differ and are no person's; return how many rows did."""
        touched, kept = np.zeros(len(slots), bool), dict[int, list[str]]()
        names = {f.id: f.name for f in self.fields}
        for column, cells in block.cells.items():
            differ = table.digest(column, cells) != table.digests(column, slots)
            if differ.any() and self.edited.cells:
                mine = differ & self.edited.has(column, table.ids(slots))
                for i in np.flatnonzero(mine).tolist():
                    kept.setdefault(i, []).append(names[column])
                differ &= ~mine
            if differ.any():
                table.update(slots[differ], {column: take(cells, np.flatnonzero(differ))})
                touched |= differ
        self.kept += [Kept(block.places[i], tuple(some)) for i, some in sorted(kept.items())]
        return int(touched.sum())

    def _without_twins(self, block: Encoded, on_error: OnError) -> Encoded:
        """Return a block whose keys differ from each other, or raise InvalidValueError."""
        first = np.ones(len(block), bool)
        for i, digest in enumerate(self._digest(block).tolist()):
            first[i] = digest not in self.seen
            self.seen.add(digest)
        twins = [block.places[i] for i in np.flatnonzero(~first).tolist()]
        rule = f"a key tells rows apart, but this one comes twice in column {self.source.key!r}"
        if twins and on_error == "raise":
            raise InvalidValueError(f'{twins[0]}: {rule}. Or leave such rows out: on_error="skip".')
        self.skipped += [Skipped(place, rule) for place in twins]
        return select(block, first)

    # ---- committing

    def finish(self) -> None:
        """Commit the rest; or nothing, when rows without a key are there already as they are."""
        content = self.content.hexdigest() if self.content and self.added else None
        past = None
        if self.update != "force" and content is not None:
            past = Notes(self.ds).last(lambda note: note.done and note.content == content)
        if self.only is not None and not self.added:
            self.ds.discard()  # what was left out is still missing
        elif past is None:
            self.repeated = ""
            self.commit(done=True, content=content)
        else:
            self.ds.discard()
            self.repeated, self.added, self.unchanged = past[0], 0, self.added

    def commit(self, *, done: bool, content: str | None = None) -> None:
        """Make what was written the branch's next version, and note how far the source was read."""
        before, slots = self.ds.version, _slots(self.ds)
        runs = () if self.key else runs_of(self.missing)
        note = Note(self.source.fingerprint, self.read, done, self._columns, content, runs)
        went_on = self.keys is None and self.start > 0
        if went_on:
            self.ds.handle.edit(lambda _: None)  # a run that finds nothing left to do says so, too
        commit(self.ds.handle, self.message, {NOTE: note.to_json()}, empty=went_on)
        self.pending, self.start = 0, self.read
        if not done and self.key is not None and slots != _slots(self.ds):
            self._find_keys()
        newest = history.history(self.ds.rows.lake.repository, self.ds.version, 1)[0]
        if self.ds.version != before and newest.parent != before:  # others have committed meanwhile
            self.__dict__.pop("edited", None)

    def _find_keys(self) -> None:
        assert self.key is not None
        key = self.key
        self.keys = self.ds.handle.edit(lambda table: Keys(table, key).unique())

    def result(self, seconds: float) -> Ingested:
        """Return what was done."""
        skipped, kept = (*self.source.left_out, *self.skipped), tuple(self.kept)
        return Ingested(
            self.added, self.changed, self.unchanged, skipped, kept, self.repeated, seconds
        )


def pick(values: Any, rows: list[int]) -> Any:
    """Return the values of some rows, of an array or any sequence.

    >>> pick(["a", "b", "c"], [2, 0])
    ['c', 'a']
    """
    if isinstance(values, Column):
        return Column(values.view[rows], values.name)
    if isinstance(values, Exported):
        return replace(values, values=pick(values.values, rows))
    return values[rows] if isinstance(values, np.ndarray) else [values[i] for i in rows]


def _part(block: Block, rows: list[int]) -> Block:
    """Return some rows of a block."""
    columns = {name: pick(values, rows) for name, values in block.columns.items()}
    return replace(block, columns=columns, places=[block.places[i] for i in rows])


def _slots(ds: Dataset) -> tuple[int, int]:
    """Tell whether other writers have moved our rows: the lake's generation and number of slots."""
    table = ds.handle.table
    return table.state.generation, table.rows.slots
