"""Ingesting a source into a lake.

1. The schema of the lake is extended if the columns of the source require it (`fitting`).
2. Blocks are read and encoded in a thread, one block ahead (`encoding`), or by the workers of an
   executor (`distributed`).
3. Rows with new keys are appended, and rows that differ from the source are updated (`run`), except
   for cells and rows that people have edited (`edits`).
4. The rows are committed, optionally in several commits.

When an ingest is run again, it finds existing rows by their keys. If rows have no key, the metadata
of the commits records the number of rows and a digest of their content (`records`).
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from deeplake_lite.codecs.limits import DEFAULT_LIMITS, Limits
from deeplake_lite.dataset.opening import create, exists
from deeplake_lite.dataset.opening import open as open_lake
from deeplake_lite.dataset.repr import bars
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.ingest.copied_lineage import record_lineage
from deeplake_lite.ingest.encoding import OnError, read_ahead
from deeplake_lite.ingest.fitting import fit, types_of_source
from deeplake_lite.ingest.options import Types, Update, check_commit_every, types_of
from deeplake_lite.ingest.result import Ingested, IngestedDataset
from deeplake_lite.ingest.run import Run
from deeplake_lite.storage.repo import local_folder, remove_unmade

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, MutableMapping
    from contextlib import AbstractContextManager

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.base import Check
    from deeplake_lite.ingest.encoding import Encoded
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
    storage_options: Mapping[str, object] | None = None,
    executor: Any = None,
    column_metadata: Mapping[str, Mapping[str, object]] = MappingProxyType({}),
    lineage: Mapping[str, object] = MappingProxyType({}),
) -> IngestedDataset:
    """Ingest the rows of a source into the lake at `url`, creating the lake if necessary.

    Parameters
    ----------
    source : Source
        The source of the rows.
    url : str
        URL of the lake.
    schema, branch, on_error, check, update, commit_every, message, progress
        See `Options`.
    limits, storage_options, executor
        See `Options`.
    column_metadata : mapping, optional
        Maps columns to items for their metadata, which replace items that the lake has.
    lineage : mapping, optional
        The lineage of the rows in the lake from which they were exported. It is recorded if the
        lake has no rows yet.

    Returns
    -------
    IngestedDataset
        The committed dataset, whose attribute `ingested` summarizes the import.

    Raises
    ------
    InvalidValueError
        If a row is bad. The message names its file or row number. Uncommitted rows are discarded.
        If nothing was committed, a new lake on this machine is removed.
    SchemaError
        If the columns do not fit the lake.
    """
    check_commit_every(commit_every, source)
    started, types = time.perf_counter(), types_of(schema)
    columns = types_of_source(source, types)
    is_new = not exists(url, storage_options=storage_options)
    ds = _open_or_create(url, branch, columns, limits, storage_options)
    first_version = ds.version
    try:
        declared = types if is_new else {*types, *ds.columns}
        source.check_unrounded([name for name in columns if name not in declared])
        fit(ds, columns, types)
        _merge_metadata(ds.metadata, source.metadata)
        for name in columns.keys() & column_metadata.keys():
            _merge_metadata(ds[name].metadata, column_metadata[name])
        record = {} if len(ds) else record_lineage(lineage, ds.schema, "ingest")
        run = Run(ds, source, tuple(columns), message or f"ingest {source.title}", update, record)
        if run.begin():
            with (
                _encoding(run, executor, check, on_error) as blocks,
                bars.bar(
                    source.title, source.rows, done=run.start, visible=progress, leave=True
                ) as bar,
            ):
                for block in blocks:
                    run.write(block, on_error)
                    bar.update(block.taken)
                    if commit_every and run.pending >= commit_every:
                        run.commit(done=False)
            run.finish()
    except BaseException as error:  # including Ctrl-C: discard everything that is not committed
        ds.discard()
        if ds.version != first_version:
            error.add_note(
                f"Committed so far: {pluralize(run.read - run.pending, 'row')} of the source. To "
                "resume, run the ingest again."
            )
        elif is_new:
            _remove(ds)
        raise
    ingested = run.result(time.perf_counter() - started)
    if progress:
        report(ingested)
    return IngestedDataset(ds, ingested)


def _encoding(
    run: Run, executor: Any, check: Check, on_error: OnError
) -> AbstractContextManager[Iterator[Encoded]]:
    """Return a context with the encoded blocks of the source."""
    if executor is None:
        return nullcontext(read_ahead(run.encode_blocks(check, on_error)))
    from deeplake_lite.ingest.distributed import encoding_elsewhere

    return encoding_elsewhere(run, executor, check, on_error)


def _open_or_create(
    url: str,
    branch: str,
    columns: Mapping[str, Htype],
    limits: Limits,
    storage_options: Mapping[str, object] | None,
) -> Dataset:
    if not exists(url, storage_options=storage_options):
        ds = create(url, columns, storage_options=storage_options)
        if branch != ds.current_branch:
            ds.branch(branch)
    return open_lake(url, branch=branch, limits=limits, storage_options=storage_options)


def _merge_metadata(target: MutableMapping[str, Any], metadata: Mapping[str, object]) -> None:
    """Stage the items of `metadata` that differ from the present items of `target`.

    If both items are dicts, they are merged.
    """
    for key, items in metadata.items():
        known = target.get(key)
        merged = (
            {**known, **items} if isinstance(known, dict) and isinstance(items, dict) else items
        )
        if merged != known:
            target[key] = merged


def _remove(ds: Dataset) -> None:
    """Remove a new lake after a failure. In an object store, the lake remains, without rows."""
    folder = local_folder(ds.url)
    if folder is not None and len(ds.log()) == 1:
        remove_unmade(folder)


def report(ingested: Ingested) -> None:
    """Print to stderr how many rows were skipped, kept or absent, and whether all were repeated."""
    if ingested.skipped:
        _print(
            f"{len(ingested.skipped):,} skipped, see .ingested.skipped; first: "
            f"{ingested.skipped[0]}"
        )
    if ingested.kept:
        _print(
            f"{len(ingested.kept):,} kept as they are in the lake, see .ingested.kept; first: "
            f'{ingested.kept[0]}. To overwrite them from the source, pass update="force".'
        )
    if ingested.absent and ingested.is_whole:
        count = len(ingested.absent)
        _print(
            f"{count:,} row{' of the lake is' if count == 1 else 's of the lake are'} not in the "
            "source, see .ingested.absent. To delete them: ds.delete(ds.ingested.absent)."
        )
    if ingested.repeated:
        _print(
            f"No rows were added, because version {ingested.repeated} already has them. To add "
            'them again, pass update="force".'
        )


def _print(text: str) -> None:
    """Print a line to stderr, where the progress bar is drawn."""
    import sys

    sys.stderr.write(f"{text}\n")
