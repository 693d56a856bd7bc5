"""A running ingest, which reads, compares and writes rows, and commits."""

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
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.ingest.edits import Edits, History
from deeplake_lite.ingest.encoding import Encoded, OnError, encode, select
from deeplake_lite.ingest.files import are_same_files, are_same_state
from deeplake_lite.ingest.records import METADATA_KEY, Content, Record, Records, runs_of
from deeplake_lite.ingest.result import Ingested, Kept
from deeplake_lite.ingest.source import Block, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes.base import Check
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.ingest.options import Update
    from deeplake_lite.ingest.source import Source
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.table import Table


@dataclass(frozen=True)
class Reading:
    """A block of the source, reduced to the rows that must be read."""

    block: Block
    """The rows that must be read."""
    rows: NDArray[np.int64] | None
    """Positions of these rows in the whole block, or None for all rows."""
    unread: int = 0
    """Number of the other rows in the whole block."""

    @classmethod
    def of_all(cls) -> Reading:
        """Return the reading of a whole block that another process has read."""
        return cls(Block({}, ()), None)


@dataclass
class Run:
    """A running ingest, with the state that changes from block to block."""

    ds: Dataset
    source: Source
    names: tuple[str, ...]
    """Names of the source's columns."""
    message: str
    """Commit message."""
    update: Update
    lineage: Mapping[str, Any] = field(default_factory=dict)
    """The record of the columns' lineage for the metadata of commits, see `copied_lineage`."""
    start: int = 0
    """Number of rows of the source that an interrupted run has already committed."""
    only: NDArray[np.int64] | None = None
    """Numbers of the source's rows that earlier runs have skipped, if they ingested all other rows.
    Only these rows are read. None if all rows are read."""
    missing: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """Row numbers of the source that have been skipped so far."""
    read: int = 0
    """Number of rows that have been read from the source so far."""
    pending: int = 0
    """Number of rows that have been read since the last commit."""
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    left_out: list[Skipped] = field(default_factory=list)
    """Files and records that are not rows, in parts of the source that other processes read."""
    kept: list[Kept] = field(default_factory=list)
    repeated: str = ""
    """The version that already has the rows of the source, or an empty string."""
    content: Content | None = None
    """Digest of the rows, by which later ingests recognise rows without a key."""
    keys: Keys | None = None
    seen: set[int] = field(default_factory=set)
    """Digests of the keys that this run has read."""
    source_keys: list[NDArray[np.uint64]] = field(default_factory=list)
    """Digests of the keys in each block of the source, including the keys of rows that are not
    written."""
    absent: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """Ids of rows of the lake that the source does not have."""

    def begin(self) -> bool:
        """Find the rows that are already in the lake. Return whether there are rows to read."""
        if self.key is not None:
            self._find_keys()
            return True
        if self.source.fingerprint is not None and self._is_complete(self.source.fingerprint):
            return False
        self.content = None if self._resumes else Content()
        return True

    @property
    def _resumes(self) -> bool:
        """Whether an earlier run ingested some of the rows of a source without a key."""
        return self.start > 0 or self.only is not None

    def _is_complete(self, fingerprint: str) -> bool:
        """Return whether the lake has all rows of a source without a key.

        If it has only some of them, determine which rows are still to be read.
        """
        records = Records(self.ds)
        last = records.last(
            lambda r: are_same_state(r.source, fingerprint) and r.has_columns(self._columns)
        )
        if last is None:
            self._check_finished(records, fingerprint)
            return False
        version, record = last
        if not record.done:
            self.start = self.read = record.rows
            self.missing = record.missing
        elif self.update != "force":
            self.repeated = version
            self.only = record.missing if record.skipped else None
            self.unchanged = 0 if record.skipped else record.rows
            return not record.skipped
        return False

    @property
    def _columns(self) -> list[str]:
        return sorted(self.names)

    def _check_finished(self, records: Records, fingerprint: str) -> None:
        """Raise InvalidValueError if the files have changed since an interrupted ingest.

        Without a key, it is unknown which rows of the files are already in the lake.
        """
        last = records.last(
            lambda r: (
                r.source and are_same_files(r.source, fingerprint) and r.has_columns(self._columns)
            )
        )
        if last is not None and not last[1].done and self.update != "force":
            raise InvalidValueError(
                f"{self.source.title} has changed since an interrupted ingest, which read its "
                f"first {pluralize(last[1].rows, 'row')}. Without a key, these rows cannot be "
                "recognised in the lake. Pass a key column with on=, or go back to the version "
                "before that ingest with ds.restore(…), commit, and ingest all rows with "
                'update="force".'
            )

    @property
    def key(self) -> Field | None:
        """The column that identifies rows, with a type that does not allow nulls."""
        if self.source.key is None:
            return None
        f = self.ds.schema[self.source.key]
        return replace(f, htype=replace(f.htype, nullable=False))

    @property
    def fields(self) -> list[Field]:
        """The source's columns, starting with the key."""
        fields = [self.ds.schema[name] for name in self.names if name != self.source.key]
        return fields if self.key is None else [self.key, *fields]

    @cached_property
    def edits(self) -> Edits:
        """Edits that people have made in the lake since earlier ingests."""
        if self.update == "force" or self.key is None:
            return Edits()
        return History(self.ds, self.key).edits(self.ds.version)

    # ---- reading, in a thread, one block ahead

    def encode_blocks(self, check: Check, on_error: OnError) -> Iterator[Encoded]:
        """Yield the encoded blocks of the source."""
        fields = self.fields
        for reading in self.readings():
            yield self.finish_block(reading, encode(reading.block, fields, check, on_error))

    def readings(self) -> Iterator[Reading]:
        """Yield the blocks of the source, with the rows that must be read."""
        first = self.start
        for block in self.source.blocks(self.start):
            rows = self._rows_to_read(block, first)
            first += len(block.row_names)
            part = block if rows is None else _part(block, rows.tolist())
            yield Reading(part, rows, len(block.row_names) - len(part.row_names))

    def finish_block(self, reading: Reading, encoded: Encoded) -> Encoded:
        """Complete an encoded block with the rows that were not read, and note its keys."""
        if self.key is not None and reading.rows is None:
            self.source_keys.append(self._digest(encoded.keys))
        bad = encoded.bad if reading.rows is None else reading.rows[encoded.bad]
        taken = encoded.taken + reading.unread
        return replace(encoded, taken=taken, unread=reading.unread, bad=bad)

    @property
    def reads_everything(self) -> bool:
        """Whether all rows from `start` on are read, rather than a selection of each block."""
        return self.only is None and (bool(self.update) or self.key is None)

    def _rows_to_read(self, block: Block, first: int) -> NDArray[np.int64] | None:
        """Return the positions of the rows in a block that must be read, or None for all rows.

        `first` is the number of the block's first row in the source.

        If an earlier run skipped rows, only the skipped rows are read. With ``update=False``, only
        rows with new keys are read.
        """
        if self.only is not None:
            return np.flatnonzero(
                np.isin(np.arange(first, first + len(block.row_names)), self.only)
            )
        return None if self.update else self._unseen(block)

    def _unseen(self, block: Block) -> NDArray[np.int64] | None:
        """Return the positions of the rows in a block whose keys are new, or None for all rows.

        Of the other rows, only the keys are read.
        """
        if self.keys is None or self.key is None:
            return None
        probe = encode(block, [self.key], "header", "skip")
        if probe.skipped:  # bad keys, which are raised or listed when the whole block is encoded
            return None
        digests = self._digest(probe.keys)
        self.source_keys.append(digests)
        return np.flatnonzero(self.keys.find(digests) < 0)

    def _keys_of(self, block: Encoded) -> NDArray[np.uint64]:
        assert self.key is not None
        return self._digest(block.cells[self.key.id])

    def _digest(self, keys: Cells | None) -> NDArray[np.uint64]:
        assert self.keys is not None
        assert keys is not None
        return self.keys.digest(keys)

    # ---- writing

    def write(self, block: Encoded, on_error: OnError) -> None:
        """Append new rows, and update rows that differ."""
        self.skipped += block.skipped
        self.missing = np.append(self.missing, self.read + block.bad)
        self.read += block.taken
        # Rows that an earlier run skipped are committed all at once, because a record cannot tell
        # which of these rows were read.
        self.pending += block.taken if self.only is None else 0
        self.unchanged += block.unread
        for f in self.fields:
            warn_once(f.id, f.name, block.reencoded.get(f.id, ()))
        if len(block):
            self.ds.handle.edit(self._write, block, on_error)

    def _write(self, table: Table, block: Encoded, on_error: OnError) -> None:
        if self.keys is None:
            self._append(table, block)
        else:
            self._upsert(table, self._without_duplicates(block, on_error))

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
        slots = self.keys.find(self._keys_of(block))
        old, new = select(block, slots >= 0), self._without_deleted(select(block, slots < 0))
        if len(new):
            self.keys.add(self._keys_of(new), self._append(table, new))
        if len(old):
            changed = self._update(table, slots[slots >= 0], old)
            self.changed += changed
            self.unchanged += len(old) - changed

    def _without_deleted(self, block: Encoded) -> Encoded:
        """Return a block without rows that people have deleted, or whose keys they have changed."""
        edited = self.edits
        if not len(block) or not (len(edited.deleted) or len(edited.rekeyed)):
            return block
        digests = self._keys_of(block)
        rekeyed = np.isin(digests, edited.rekeyed)
        gone = rekeyed | np.isin(digests, edited.deleted)
        columns = (str(self.source.key),)
        for i in np.flatnonzero(gone).tolist():
            self.kept.append(Kept(block.row_names[i], columns if rekeyed[i] else ()))
        return select(block, ~gone)

    def _update(self, table: Table, slots: NDArray[np.int64], block: Encoded) -> int:
        """Update the cells that differ and were not edited. Return the number of changed rows."""
        touched = np.zeros(len(slots), bool)
        differ = {
            column: table.digest(column, cells) != table.digests(column, slots)
            for column, cells in block.cells.items()
        }
        if self.edits.cells:
            self._keep_edits(differ, table.ids(slots), block)
        for column, rows in differ.items():
            if rows.any():
                cells = take(block.cells[column], np.flatnonzero(rows))
                table.update(slots[rows], {column: cells})
                touched |= rows
        return int(touched.sum())

    def _keep_edits(
        self, differ: dict[str, NDArray[np.bool_]], ids: NDArray[np.int64], block: Encoded
    ) -> None:
        """Remove edited cells from `differ`, along with the cells that are linked to them.

        If the labels of a row were edited, new boxes from the source would get the wrong labels.
        """
        edited = {c: rows & self.edits.has(c, ids) for c, rows in differ.items() if rows.any()}
        together = np.zeros(len(ids), bool)
        for column in block.linked:
            together |= edited.get(column, False)
        linked = {c: differ[c] & together & ~edited[c] for c in block.linked if c in edited}
        names = {f.id: f.name for f in self.fields}
        for i in np.flatnonzero(np.logical_or.reduce([*edited.values()])).tolist():
            self.kept.append(
                Kept(
                    block.row_names[i],
                    tuple(names[c] for c, rows in edited.items() if rows[i]),
                    tuple(names[c] for c, rows in linked.items() if rows[i]),
                )
            )
        for column, rows in (*edited.items(), *linked.items()):
            differ[column] = differ[column] & ~rows

    def _without_duplicates(self, block: Encoded, on_error: OnError) -> Encoded:
        """Return a block without the rows whose key has already been read.

        Raises InvalidValueError if there are rows with such a key and `on_error` is "raise".
        """
        first = np.ones(len(block), bool)
        for i, digest in enumerate(self._keys_of(block).tolist()):
            first[i] = digest not in self.seen
            self.seen.add(digest)
        duplicates = [block.row_names[i] for i in np.flatnonzero(~first).tolist()]
        rule = f"a key must be unique, but this key occurs twice in column {self.source.key!r}"
        if duplicates and on_error == "raise":
            raise InvalidValueError(
                f'{duplicates[0]}: {rule}. To skip such rows, pass on_error="skip".'
            )
        self.skipped += [Skipped(place, rule) for place in duplicates]
        return select(block, first)

    # ---- committing

    def finish(self) -> None:
        """Commit the remaining rows, or discard them if the lake has them and they have no key."""
        if self.keys is not None:
            slots = self.keys.others(np.concatenate([np.empty(0, np.uint64), *self.source_keys]))
            self.absent = self.ds.handle.edit(lambda table: table.ids(slots))
        content = self.content.hexdigest() if self.content and self.added else None
        last = None
        if self.update != "force" and content is not None:
            last = Records(self.ds).last(lambda record: record.done and record.content == content)
        if self.only is not None and not self.added:
            self.ds.discard()  # the rows that an earlier run skipped are still bad
        elif last is None:
            self.repeated = ""
            self.commit(done=True, content=content)
        else:
            self.ds.discard()
            self.repeated, self.added, self.unchanged = last[0], 0, self.added

    def commit(self, *, done: bool, content: str | None = None) -> None:
        """Commit the pending rows, with a record of the ingest's progress."""
        before, slots = self.ds.version, _slots(self.ds)
        runs = () if self.key else runs_of(self.missing)
        record = Record(self.source.fingerprint, self.read, done, self._columns, content, runs)
        is_resumed = self.keys is None and self.start > 0
        if is_resumed:
            # A resumed run must record that the source is complete, even without new rows.
            self.ds.handle.edit(lambda _: None)
        metadata = {**self.lineage, METADATA_KEY: record.to_json()}
        commit(self.ds.handle, self.message, metadata, empty=is_resumed)
        self.pending, self.start = 0, self.read
        if not done and self.key is not None and slots != _slots(self.ds):
            self._find_keys()
        newest = history.history(self.ds.rows.lake.repository, self.ds.version, 1)[0]
        if self.ds.version != before and newest.parent != before:
            self.__dict__.pop("edits", None)  # other writers have committed, perhaps edits

    def _find_keys(self) -> None:
        assert self.key is not None
        key = self.key
        self.keys = self.ds.handle.edit(lambda table: Keys(table, key).unique())

    def result(self, seconds: float) -> Ingested:
        """Return the summary of the ingest."""
        left_out = (*self.source.left_out, *self.left_out)
        skipped, kept = (*left_out, *self.skipped), tuple(self.kept)
        absent = None if self.key is None else self._absent_rows()
        return Ingested(
            self.added, self.changed, self.unchanged, skipped, kept, self.repeated, seconds, absent
        )

    def _absent_rows(self) -> View:
        table = self.ds.handle.table
        slots = table.find(self.absent)
        return self.ds[table.rows.positions(slots[slots >= 0])]


def pick(values: Any, rows: list[int]) -> object:
    """Return the values at the given positions of an array, a sequence or a column.

    >>> pick(["a", "b", "c"], [2, 0])
    ['c', 'a']
    """
    if isinstance(values, Column):
        return Column(values.view[rows], values.name)
    if isinstance(values, Exported):
        return replace(values, values=pick(values.values, rows))
    return values[rows] if isinstance(values, np.ndarray) else [values[i] for i in rows]


def _part(block: Block, rows: list[int]) -> Block:
    """Return a block with only the given rows."""
    columns = {name: pick(values, rows) for name, values in block.columns.items()}
    errors = {n: block.errors[i] for n, i in enumerate(rows) if i in block.errors}
    row_names = [block.row_names[i] for i in rows]
    return replace(block, columns=columns, row_names=row_names, errors=errors)


def _slots(ds: Dataset) -> tuple[int, int]:
    """Return the lake's generation and its number of slots.

    If other writers have moved rows of this run to other slots, at least one of the numbers
    changes.
    """
    table = ds.handle.table
    return table.state.generation, table.rows.slots
