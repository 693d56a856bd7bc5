"""Write the rows that a function returns to their lake.

The rows are in the order of the rows from which they were computed. Each part is written only once:
a part is not committed if the branch's history already has a commit of the same job with this part.
On an object store, two drivers may try at the same time. Then one of them finds the other's commit
when it repeats its attempt on the new tip.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.opening import at_branch
from deeplake_lite.dataset.versions.commit import commit
from deeplake_lite.errors import JobError
from deeplake_lite.htypes import from_config
from deeplake_lite.map.journal import first_version
from deeplake_lite.map.publish import Published, published_parts
from deeplake_lite.map.record import check_not_overtaken, repeated
from deeplake_lite.storage.defaults import MissingDefaultError, default_cells
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deeplake_lite.dataset.selection import Lake
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.map.journal import Document
    from deeplake_lite.map.results import Results


class _RepeatedError(Exception):
    """Raised if another driver has committed some of the parts."""


def publish_rows(
    lake: Lake,
    document: Document,
    parts: Sequence[int],
    results: Results,
    message: str,
    record: Mapping[str, Any],
) -> Published:
    """Commit the rows of some parts on top of the branch's tip.

    Parameters
    ----------
    lake : Lake
        The lake for the rows.
    document : Document
        The parameters of the job.
    parts : sequence of int
        The parts.
    results : Results
        Their results.
    message : str
        Commit message.
    record : mapping
        The record of the job, for the metadata of the commit.

    Raises
    ------
    JobError
        When another writer has dropped or changed a column, or added one without a default, or
        another driver has committed some of the parts.
    """
    ds = at_branch(lake, document["branch"])

    def check(tip: str) -> None:
        check_not_overtaken(lake.repository, tip, document)
        if published_parts(lake, document, tip) & set(parts):
            raise _RepeatedError

    try:
        _check_columns(ds.handle.table, document)
        old = _rows_to_replace(lake, document)
        added = ds.handle.edit(_write, document, results, old)
        found = {
            **record,
            "rows": len(results.rows),
            "added": added,
            "edited": 0,
            "outdated": 0,
            "deleted": 0,
        }
        return Published(commit(ds.handle, message, {"map": found}, empty=True, check=check), added)
    except _RepeatedError:
        raise JobError(repeated(document["name"])) from None
    except MissingDefaultError as error:
        raise JobError(
            f"The rows of job {document['name']!r} lack a value for column {error.column!r}, which "
            "another writer has added without a default. Set a default with "
            f"ds.set_default({error.column!r}, …), commit it, and run the job again."
        ) from error
    finally:
        ds.discard()


def _write(table: Table, document: Document, results: Results, old: Any) -> int:
    """Append the new rows to a table, and delete those that they replace. Return their number."""
    slots = table.find(old)
    if (slots >= 0).any():
        table.delete(table.rows.positions(slots[slots >= 0]))
    return len(table.append(_blocks(table, document, results)))


def _blocks(table: Table, document: Document, results: Results) -> Iterator[Mapping[str, Cells]]:
    """Yield the new rows with all columns; those that the job does not fill get their defaults."""
    own = {target["id"] for target in document["into"]}
    others = [f for f in table.schema if f.id not in own]
    for block in results.new_rows():
        count = len(next(iter(block.values())))
        yield {**block, **{f.id: default_cells(f, count) for f in others}}


def _rows_to_replace(lake: Lake, document: Document) -> Any:
    """Return the ids of the rows that a job replaces with its first commit, (n,) int64."""
    if not document["rows_into"]["replaces"] or published_parts(lake, document):
        return np.empty(0, np.int64)
    repository = lake.repository
    before = Table.open(repository, repository.reader(first_version(document)))
    return before.ids(before.rows.live())


def _check_columns(tip: Table, document: Document) -> None:
    """Raise JobError if another writer has dropped or changed a column of the job."""
    known = {f.id: f for f in tip.schema}
    for target in document["into"]:
        f, expected = known.get(target["id"]), from_config(target["htype"])
        if f is None:
            change = "dropped it"
        elif f.htype.bare != expected.bare or expected.nullable > f.htype.nullable:
            change = f"changed its type to {f.htype}"
        else:
            continue
        raise JobError(
            f"The job {document['name']!r} writes to the column {target['name']!r}, but another "
            f"writer has {change}. Go back to the columns with ds.restore(…), commit, and run the "
            "job again; its results are kept."
        )
