"""The one way from a source into a lake: open it, check, compare by key, write, commit, go on.

Steps: the source's columns meet the lake's (`fitting`); blocks are read and checked one ahead of
what is being written (`encoding`); rows whose key is new are appended, those that differ are
changed (`run`), but for what people have changed since (`edited`); every so many rows are
committed. A rerun finds the rows by their key. Rows without a key are counted instead, and told by
their content: the commit notes them (`notes`).
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from deeplake_lite.codecs.limits import DEFAULT_LIMITS, Limits
from deeplake_lite.dataset.opening import create, exists
from deeplake_lite.dataset.opening import open as open_lake
from deeplake_lite.dataset.repr import bars
from deeplake_lite.ingest.encoding import OnError, ahead
from deeplake_lite.ingest.fitting import fit, wanted
from deeplake_lite.ingest.options import Types, Update, check_commit_every, types_of
from deeplake_lite.ingest.result import Ingested, IngestedDataset
from deeplake_lite.ingest.run import Run
from deeplake_lite.storage.repo import local_folder, remove_unmade

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.base import Check
    from deeplake_lite.ingest.source import Source


def ingest(
    source: Source,
    url: str,
    *,
    schema: Types = None,
    branch: str = "main",
    on_error: OnError = "raise",
    check: Check = "header",
    update: Update = True,
    commit_every: int | None = None,
    message: str = "",
    progress: bool = True,
    limits: Limits = DEFAULT_LIMITS,
    storage_options: Mapping[str, Any] | None = None,
) -> IngestedDataset:
    """Take the rows of a source into the lake at `url`, which is made if there is none.

    Parameters
    ----------
    source : Source
        The rows.
    url : str
        Where the lake is.
    schema, branch, on_error, check, update, commit_every, message, progress
        See `Options`.
    limits, storage_options
        See `Options`.

    Returns
    -------
    IngestedDataset
        The dataset, committed; its `ingested` tells what was done.

    Raises
    ------
    InvalidValueError
        For a bad row, with its file or its number. What was not committed yet is gone, and so is a
        lake on this machine that was made for it.
    SchemaError
        When the columns do not fit those of the lake.
    """
    check_commit_every(commit_every, source)
    started, types = time.perf_counter(), types_of(schema)
    columns = wanted(source, types)
    made = not exists(url, storage_options=storage_options)
    ds = _open_or_create(url, branch, columns, limits, storage_options)
    at_first = ds.version
    try:
        declared = types if made else {*types, *ds.columns}
        source.check_unrounded([name for name in columns if name not in declared])
        fit(ds, columns, types)
        run = Run(ds, source, tuple(columns), message or f"ingest {source.title}", update)
        if run.begin():
            with bars.bar(
                source.title, source.rows, done=run.start, shown=progress, leave=True
            ) as bar:
                for block in ahead(run.encoded(check, on_error)):
                    run.write(block, on_error)
                    bar.update(block.taken)
                    if commit_every and run.pending >= commit_every:
                        run.commit(done=False)
            run.finish()
    except BaseException as error:
        ds.discard()
        if ds.version != at_first:
            error.add_note(f"{run.read - run.pending:,} rows are committed. Run it again to go on.")
        elif made:
            _remove(ds)
        raise
    done = run.result(time.perf_counter() - started)
    if progress:
        _tell(done)
    return IngestedDataset(ds, done)


def _open_or_create(
    url: str,
    branch: str,
    columns: Mapping[str, Htype],
    limits: Limits,
    storage_options: Mapping[str, Any] | None,
) -> Dataset:
    if not exists(url, storage_options=storage_options):
        made = create(url, columns, storage_options=storage_options)
        if branch != made.current_branch:
            made.branch(branch)
    return open_lake(url, branch=branch, limits=limits, storage_options=storage_options)


def _remove(ds: Dataset) -> None:
    """Take away a lake that was made in vain; on an object store it stays, without rows."""
    folder = local_folder(ds.url)
    if folder is not None and len(ds.log()) == 1:
        remove_unmade(folder)


def _tell(done: Ingested) -> None:
    """Say on stderr what was not done as it might be expected."""
    if done.skipped:
        _say(f"{len(done.skipped):,} left out, see .ingested.skipped; first: {done.skipped[0]}")
    if done.kept:
        _say(
            f"{len(done.kept):,} kept as they are in the lake, see .ingested.kept; first: "
            f'{done.kept[0]}. To have them as in the source: update="force".'
        )
    if done.repeated:
        _say(
            f"nothing added: version {done.repeated} has these rows already. To add them once "
            'more: update="force".'
        )


def _say(text: str) -> None:
    """Print one line where the progress bar goes."""
    import sys

    sys.stderr.write(f"{text}\n")
