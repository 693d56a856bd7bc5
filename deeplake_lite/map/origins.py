"""Finding the origin of a column in the commits of jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deeplake_lite.dataset.dataset import Dataset
from deeplake_lite.dataset.handle import Handle
from deeplake_lite.errors import VersionNotFoundError
from deeplake_lite.ingest.lineage import Lineage as History
from deeplake_lite.map.origin import Origin
from deeplake_lite.map.record import find_record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.storage.repo import Commit

MOST_STEPS = 20
"""Maximum number of jobs in a chain."""


def find_origin(ds: Dataset, column: str) -> Origin | None:
    """Return the origin of a column; see `Dataset.lineage`."""
    return _origin(ds, column, ds.field(column).id, MOST_STEPS)


def newest_record(ds: Dataset, column_id: str) -> tuple[Commit, Mapping[str, Any]] | None:
    """Return the newest commit of a job that has filled a column, and the record of the job."""
    commits = History.of(ds).commits(ds.version)
    for commit in sorted(commits, key=lambda c: c.time, reverse=True):
        record = find_record(commit)
        if record is not None and column_id in {
            *record["into"].values(),
            *record.get("kept", {}).values(),
        }:
            return commit, record
    return None


def is_complete(ds: Dataset, record: Mapping[str, Any]) -> bool:
    """Return whether the commits of the job with a record have the results of all parts."""
    if record.get("parts") is None:
        return True
    parts = set[int]()
    for commit in History.of(ds).commits(ds.version):
        other = find_record(commit)
        if other is not None and other["job"] == record["job"]:
            parts.update(other.get("parts") or range(other["part_count"]))
    return len(parts) == int(record["part_count"])


def _origin(ds: Dataset, column: str, column_id: str, steps: int) -> Origin | None:
    found = newest_record(ds, column_id) if steps else None
    if found is None:
        return None
    commit, record = found
    is_kept = column_id in record.get("kept", {}).values()
    return Origin(
        column=column,
        version=commit.id,
        time=commit.time,
        job=record["name"],
        input_version=record["version"],
        lake=record.get("source"),
        inputs=_inputs(ds, record, steps, column if is_kept else None),
        function="keep" if is_kept else record["function"]["name"],
        module="deeplake_lite" if is_kept else record["function"]["module"],
        source="" if is_kept else record["function"]["digest"],
        parameters={k: record.get(k) for k in ("where", "batch", "on_error", "update")},
        packages=dict(record["function"]["packages"]) | {"python": str(record.get("python"))},
        executor=str(record.get("executor")),
        seconds=float(record.get("seconds", 0)),
        rows=int(record.get("rows", 0)),
        skipped=int(record.get("skipped", 0)),
        skipped_rows={int(row): str(error) for row, error in record.get("skipped_rows", ())},
    )


def _inputs(
    ds: Dataset, record: Mapping[str, Any], steps: int, kept: str | None
) -> dict[str, Origin | None]:
    """Return the origins of the columns that a job has read, in the version that it has read.

    If the job has read another lake, they are part of the record. `kept` is the name of a column
    that the job has only copied, or None.
    """
    columns: Mapping[str, str] = record["columns"]
    if "source" in record:
        origins: Mapping[str, Any] = record.get("origins", {})
        names = columns if kept is None else [kept]
        return {name: Origin.from_json(origins.get(name)) for name in names}
    try:
        before = at_version(ds, record["version"])
    except VersionNotFoundError:  # a vacuum has deleted it
        return dict.fromkeys(columns)
    return {name: _origin(before, name, i, steps - 1) for name, i in columns.items()}


def at_version(ds: Dataset, version: str) -> Dataset:
    """Return a dataset at an older version of the same lake, read-only."""
    return Dataset(Handle(ds.rows.lake.at(None, version), ds.handle.open(version)))
