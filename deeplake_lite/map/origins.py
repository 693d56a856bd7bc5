"""Find the origin of a column in the commits of jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deeplake_lite.dataset.dataset import Dataset
from deeplake_lite.dataset.handle import Handle
from deeplake_lite.errors import VersionNotFoundError
from deeplake_lite.ingest.lineage import Lineage as History
from deeplake_lite.map.copied import Copied
from deeplake_lite.map.origin import Origin
from deeplake_lite.map.record import find_record

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deeplake_lite.storage.repo import Commit

MOST_STEPS = 20
"""Maximum number of jobs in a chain."""


@dataclass(frozen=True)
class Recorded:
    """The commits in the history of a version that have a record of a job or of a copy."""

    ds: Dataset
    """The version."""
    jobs: Sequence[tuple[Commit, Mapping[str, Any]]]
    """Commits of jobs, with the jobs' records, newest first."""
    copies: Sequence[tuple[Commit, Copied]]
    """Commits that copied columns from another lake, with their records, newest first."""

    @classmethod
    def of(cls, ds: Dataset) -> Recorded:
        """Read the records of a version."""
        commits = History.of(ds).commits(ds.version)
        commits.sort(key=lambda c: c.time, reverse=True)
        jobs = [(c, record) for c in commits if (record := find_record(c)) is not None]
        copies = [(c, copied) for c in commits if (copied := Copied.find(c)) is not None]
        return cls(ds, jobs, copies)

    def job_of(self, column_id: str) -> tuple[Commit, Mapping[str, Any]] | None:
        """Return the newest commit in which a job filled a column, and the job's record."""
        for commit, record in self.jobs:
            if column_id in {*record["into"].values(), *record.get("kept", {}).values()}:
                return commit, record
        return None

    def copy_of(self, column_id: str) -> tuple[Commit, Copied] | None:
        """Return the newest commit that copied a column, and its record."""
        return next((pair for pair in self.copies if column_id in pair[1].ids), None)


def find_origin(recorded: Recorded, column: str, column_id: str) -> Origin | None:
    """Return the origin of a column; see `Dataset.lineage`."""
    return _origin(recorded, column, column_id, MOST_STEPS)


def newest_record(ds: Dataset, column_id: str) -> tuple[Commit, Mapping[str, Any]] | None:
    """Return the newest commit in which a job filled a column, and the record of the job."""
    return Recorded.of(ds).job_of(column_id)


def is_complete(ds: Dataset, record: Mapping[str, Any]) -> bool:
    """Return whether the commits of a record's job have the results of all parts."""
    if record.get("parts") is None:
        return True
    parts = set[int]()
    for commit in History.of(ds).commits(ds.version):
        other = find_record(commit)
        if other is not None and other["job"] == record["job"]:
            parts.update(other.get("parts") or range(other["part_count"]))
    return len(parts) == int(record["part_count"])


def _origin(recorded: Recorded, column: str, column_id: str, steps: int) -> Origin | None:
    found, copied = recorded.job_of(column_id), recorded.copy_of(column_id)
    if steps == 0 or (found is None and copied is None):
        return None
    if found is None or (copied is not None and copied[0].time > found[0].time):
        return None if copied is None else copied[1].origin(copied[0], column, column_id)
    commit, record = found
    is_kept = column_id in record.get("kept", {}).values()
    return Origin(
        column=column,
        version=commit.id,
        time=commit.time,
        job=record["name"],
        input_version=record["version"],
        lake=record.get("source"),
        inputs=_inputs(recorded.ds, record, steps, column if is_kept else None),
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
    """Return the origins of the columns that a job read, in the version that it read.

    If the job read another lake, the record itself has the origins. `kept` is the name of a column
    that the job only copied, or None.
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
    recorded = Recorded.of(before)
    return {name: _origin(recorded, name, i, steps - 1) for name, i in columns.items()}


def at_version(ds: Dataset, version: str) -> Dataset:
    """Return a read-only dataset at an older version of the same lake."""
    return Dataset(Handle(ds.rows.lake.at(None, version), ds.handle.open(version)))
