"""The one way from a source into a lake: open it, check, compare by key, write, commit, go on.

Steps: the source's columns meet the lake's (`fitting`); blocks are read and checked one ahead of
what is being written (`encoding`); rows whose key is new are appended, those that differ are
changed (`keys`); every so many rows are committed. A rerun finds the rows by their key. Rows
without a key are counted instead: the commit notes how far the source was read.
"""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from deeplake_lite.dataset.commit import commit
from deeplake_lite.dataset.dataset import create, exists
from deeplake_lite.dataset.dataset import open as open_lake
from deeplake_lite.dataset.keys import Keys
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.cells import take
from deeplake_lite.ingest.encoding import Encoded, OnError, ahead, encode, select
from deeplake_lite.ingest.fitting import fit, wanted
from deeplake_lite.ingest.result import Ingested, IngestedDataset
from deeplake_lite.ingest.source import Block, Skipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.htypes.base import Check
    from deeplake_lite.ingest.source import Source
    from deeplake_lite.schema import Field
    from deeplake_lite.storage.table import Table

NOTE = "ingest"
"""Key of a commit's metadata: which source it took rows from, how many, whether that was all."""

DELAY = 1.0
"""Seconds before the progress bar shows."""


class Options(TypedDict, total=False):
    """What every ingest can be told."""

    schema: Mapping[str, Any]
    """Types of some columns, instead of those that are found: ``{"image": dl.Image("jpeg")}``."""
    branch: str
    """The branch to write to, ``"main"`` if left out."""
    on_error: OnError
    """What a bad row does: ``"raise"``, or ``"skip"`` it and list it in `Ingested.skipped`."""
    check: Check
    """How files are checked: ``"header"`` and end, or ``"full"``, by decoding them."""
    update: bool
    """Whether rows whose key is there are compared and changed (True), or left unread."""
    commit_every: int | None
    """Commit every so many rows; an interrupted ingest goes on from there when it is run again."""
    message: str
    """Of the commit."""
    progress: bool
    """Whether a bar shows when it takes longer than a second."""
    storage_options: Mapping[str, Any] | None
    """What an object store needs."""


def ingest(
    source: Source,
    url: str,
    *,
    schema: Mapping[str, Any] | None = None,
    branch: str = "main",
    on_error: OnError = "raise",
    check: Check = "header",
    update: bool = True,
    commit_every: int | None = None,
    message: str = "",
    progress: bool = True,
    storage_options: Mapping[str, Any] | None = None,
) -> IngestedDataset:
    """Take the rows of a source into the lake at `url`, which is made if there is none.

    Parameters
    ----------
    source : Source
        The rows.
    url : str
        Where the lake is.
    schema, branch, on_error, check, update, commit_every, message, progress, storage_options
        See `Options`.

    Returns
    -------
    IngestedDataset
        The dataset, committed; its `ingested` tells what was done.

    Raises
    ------
    InvalidValueError
        For a bad row, with its file or its number. What was not committed yet is gone.
    SchemaError
        When the columns do not fit those of the lake.
    """
    _check_options(source, on_error, commit_every)
    started, columns = time.perf_counter(), wanted(source, schema)
    if exists(url, storage_options=storage_options):
        ds = open_lake(url, branch=branch, storage_options=storage_options)
    else:
        ds = create(url, columns, storage_options=storage_options)
    try:
        fit(ds, columns, schema or {})
        run = _Run(ds, source, tuple(columns), message or f"ingest {source.title}")
        blocks = run.encoded(check, on_error, update)
        with _bar(source, progress, run.start) as bar:
            for block in ahead(blocks):
                run.write(block, on_error)
                bar.update(block.taken)
                if commit_every and run.pending >= commit_every:
                    run.commit(done=False)
        run.commit(done=True)
    except BaseException:
        ds.discard()
        raise
    done = run.result(time.perf_counter() - started)
    if progress and done.skipped:
        _say(f"{len(done.skipped):,} left out, see .ingested.skipped; first: {done.skipped[0]}")
    return IngestedDataset(ds, done)


@dataclass
class _Run:
    """One ingest under way."""

    ds: Dataset
    source: Source
    names: tuple[str, ...]
    message: str
    start: int = 0
    """Rows of the source that an earlier, interrupted run has committed."""
    read: int = 0
    """Rows of the source read so far."""
    pending: int = 0
    """Rows read since the last commit."""
    added: int = 0
    changed: int = 0
    unchanged: int = 0
    skipped: list[Skipped] = field(default_factory=list)
    keys: Keys | None = None
    seen: set[int] = field(default_factory=set)
    """Digests of the keys that this run has met."""

    def __post_init__(self) -> None:
        self.skipped += self.source.left_out
        if self.key is not None:
            with self.ds._editing() as table:
                self.keys = Keys(table, self.key).unique()
        elif self.source.fingerprint is not None:
            self.start = self.read = committed_rows(self.ds, self.source.fingerprint)

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

    def encoded(self, check: Check, on_error: OnError, update: bool) -> Iterator[Encoded]:
        """Yield the source's blocks, checked."""
        fields = self.fields
        for block in self.source.blocks(self.start):
            some = block if update else self._unseen(block)
            unread = len(block.places) - len(some.places)
            done = encode(some, fields, check, on_error)
            yield replace(done, taken=done.taken + unread, unread=unread)

    def _unseen(self, block: Block) -> Block:
        """Return those rows of a block whose key is new; the others are not read any further."""
        if self.keys is None or self.key is None:
            return block
        probe = encode(block, [self.key], "header", "skip")
        if probe.skipped:  # `encode` will say where
            return block
        new = np.flatnonzero(self.keys.find(self._digest(probe)) < 0).tolist()
        columns = {name: pick(values, new) for name, values in block.columns.items()}
        return Block(columns, [block.places[i] for i in new])

    def _digest(self, block: Encoded) -> NDArray[np.uint64]:
        assert self.keys is not None
        assert self.key is not None
        return self.keys.digest(block.cells[self.key.id])

    def write(self, block: Encoded, on_error: OnError) -> None:
        """Append what is new and change what differs."""
        self.skipped += block.skipped
        self.read += block.taken
        self.pending += block.taken
        self.unchanged += block.unread
        if len(block):
            with self.ds._editing() as table:
                if self.keys is None:
                    self._append(table, block)
                else:
                    self._upsert(table, self._without_twins(block, on_error))

    def _append(self, table: Table, block: Encoded) -> NDArray[np.int64]:
        known = set(block.cells)
        rest = {f.id: f.htype.encode_default(len(block)) for f in table.schema if f.id not in known}
        self.added += len(block)
        return table.append([{**block.cells, **rest}])

    def _upsert(self, table: Table, block: Encoded) -> None:
        assert self.keys is not None
        slots = self.keys.find(self._digest(block))
        old, new = select(block, slots >= 0), select(block, slots < 0)
        if len(new):
            self.keys.add(self._digest(new), self._append(table, new))
        if len(old):
            changed = update_cells(table, slots[slots >= 0], old)
            self.changed += changed
            self.unchanged += len(old) - changed

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

    def commit(self, *, done: bool) -> None:
        """Make what was written the branch's next version, and note how far the source was read."""
        print_, slots = self.source.fingerprint, _slots(self.ds)
        note = {"source": print_, "rows": self.read, "done": done}
        counted = self.keys is None and print_ is not None and (not done or self.start > 0)
        if counted:
            with self.ds._editing():
                pass  # a run that finds nothing left to do says so, too
        commit(self.ds, self.message, {NOTE: note} if counted else {}, force=counted)
        self.pending = 0
        if self.key is not None and not done and slots != _slots(self.ds):
            with self.ds._editing() as table:
                self.keys = Keys(table, self.key).unique()
        self.start = self.read

    def result(self, seconds: float) -> Ingested:
        """Return what was done."""
        return Ingested(self.added, self.changed, self.unchanged, tuple(self.skipped), seconds)


def committed_rows(ds: Dataset, fingerprint: str) -> int:
    """Return how many rows of a source an interrupted run has committed; 0 when none, or all."""
    notes = (c.metadata.get(NOTE) for c in ds.log())
    last = next((n for n in notes if isinstance(n, dict) and n["source"] == fingerprint), None)
    return 0 if last is None or last["done"] else int(last["rows"])


def update_cells(table: Table, slots: NDArray[np.int64], block: Encoded) -> int:
    """Change the cells that differ from those at `slots`; return how many rows did."""
    touched = np.zeros(len(slots), bool)
    for column, cells in block.cells.items():
        differ = table.digest(column, cells) != table.digests(column, slots)
        if differ.any():
            table.update(slots[differ], {column: take(cells, np.flatnonzero(differ))})
            touched |= differ
    return int(touched.sum())


def pick(values: Any, rows: list[int]) -> Any:
    """Return the values of some rows, of an array or any sequence.

    >>> pick(["a", "b", "c"], [2, 0])
    ['c', 'a']
    """
    return values[rows] if isinstance(values, np.ndarray) else [values[i] for i in rows]


def _slots(ds: Dataset) -> tuple[int, int]:
    """Tell whether other writers have moved our rows: the lake's generation and number of slots."""
    table = ds._table
    return table.state.generation, table.rows.slots


def _check_options(source: Source, on_error: str, commit_every: int | None) -> None:
    if on_error not in ("raise", "skip"):
        raise ValueError(f"on_error is 'raise' or 'skip', got {on_error!r}.")
    if commit_every is None:
        return
    if commit_every < 1:
        raise ValueError(f"commit_every is a number of rows, 1 or more, got {commit_every}.")
    if source.key is None and source.fingerprint is None:
        raise ValueError(
            f"commit_every= needs a key for rows from {source.title}: without one, an "
            "interrupted ingest that is run again would write rows twice. Name that column: "
            "on=…."
        )


def _bar(source: Source, progress: bool, done: int) -> Any:
    """Return the progress bar, which shows after a second."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where ipywidgets lacks, tqdm says so and draws with text
        from tqdm.auto import tqdm  # 50 ms

    return tqdm(
        total=source.rows,
        initial=done,
        desc=source.title,
        unit=" rows",
        unit_scale=True,
        delay=DELAY,
        disable=not progress,
    )


def _say(text: str) -> None:
    """Print one line where the progress bar goes."""
    import sys

    sys.stderr.write(f"{text}\n")
