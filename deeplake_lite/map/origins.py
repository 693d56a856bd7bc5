"""Where the values of a column come from: the job that has filled it, and the jobs before that."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deeplake_lite.dataset.dataset import Dataset
from deeplake_lite.dataset.handle import Handle
from deeplake_lite.errors import VersionNotFoundError
from deeplake_lite.ingest.lineage import Lineage as History
from deeplake_lite.map.record import find_record

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from deeplake_lite.storage.repo import Commit

MOST_STEPS = 20
"""Maximum number of jobs in a chain."""


@dataclass(frozen=True)
class Origin:
    """The job that has last filled a column."""

    column: str
    """Name of the column."""
    version: str
    """Id of the commit with the results."""
    time: datetime
    """Time of this commit, in UTC."""
    job: str
    """Name of the job."""
    input_version: str
    """The version that the function has read."""
    inputs: Mapping[str, Origin | None]
    """Maps the columns that the function has read to their own origins, or None if no job has
    filled them."""
    function: str
    """Qualified name of the function."""
    module: str
    """Module of the function; ``__main__`` in a notebook."""
    source: str
    """Digest of the function's source."""
    parameters: Mapping[str, Any]
    """The parameters ``where``, ``batch``, ``on_error`` and ``update``."""
    packages: Mapping[str, str]
    """Maps packages that the function uses to their versions."""
    executor: str
    """Kind of the executor."""
    seconds: float
    """Duration of the run that has finished the job, in seconds."""
    rows: int
    """Number of rows with results in this commit."""
    skipped: int
    """Number of rows that were skipped because of errors."""
    skipped_rows: Mapping[int, str] = field(default_factory=dict, repr=False)
    """Maps ids of skipped rows, of which at most 1,000 are recorded, to their errors."""

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, indent: str = "") -> list[str]:
        """Return a line for this job, followed by indented lines for the jobs before it."""
        first = (
            f"{indent}{self.column}: {self.module}.{self.function} ({self.source[:8]}) of "
            f"{', '.join(self.inputs)} in version {self.input_version}, "
            f"{self.rows:,} rows, {self.time:%Y-%m-%d %H:%M}"
        )
        lines = [first]
        for origin in self.inputs.values():
            lines += [] if origin is None else origin.lines(f"{indent}  ")
        return lines


def find_origin(ds: Dataset, column: str) -> Origin | None:
    """Return the origin of a column; see `Dataset.lineage`."""
    return _origin(ds, column, ds.field(column).id, MOST_STEPS)


def newest_record(ds: Dataset, column_id: str) -> tuple[Commit, Mapping[str, Any]] | None:
    """Return the newest commit of a job that has filled a column, and the record of the job."""
    commits = History.of(ds).commits(ds.version)
    for commit in sorted(commits, key=lambda c: c.time, reverse=True):
        record = find_record(commit)
        if record is not None and column_id in record["into"].values():
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
    return Origin(
        column=column,
        version=commit.id,
        time=commit.time,
        job=record["name"],
        input_version=record["version"],
        inputs=_inputs(ds, record, steps),
        function=record["function"]["name"],
        module=record["function"]["module"],
        source=record["function"]["digest"],
        parameters={k: record.get(k) for k in ("where", "batch", "on_error", "update")},
        packages=dict(record["function"]["packages"]) | {"python": str(record.get("python"))},
        executor=str(record.get("executor")),
        seconds=float(record.get("seconds", 0)),
        rows=int(record.get("rows", 0)),
        skipped=int(record.get("skipped", 0)),
        skipped_rows={int(row): str(error) for row, error in record.get("skipped_rows", ())},
    )


def _inputs(ds: Dataset, record: Mapping[str, Any], steps: int) -> dict[str, Origin | None]:
    """Return the origins of the columns that a job has read, in the version that it has read."""
    columns: Mapping[str, str] = record["columns"]
    try:
        before = at_version(ds, record["version"])
    except VersionNotFoundError:  # a vacuum has deleted it
        return dict.fromkeys(columns)
    return {name: _origin(before, name, i, steps - 1) for name, i in columns.items()}


def at_version(ds: Dataset, version: str) -> Dataset:
    """Return a dataset at an older version of the same lake, read-only."""
    return Dataset(Handle(ds.rows.lake.at(None, version), ds.handle.open(version)))
