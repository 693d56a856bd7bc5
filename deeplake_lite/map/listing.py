"""The jobs of a lake: unfinished jobs, which have a journal, and finished jobs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deeplake_lite import checks
from deeplake_lite.dataset.versions.history import Graph, branches
from deeplake_lite.errors import JobError
from deeplake_lite.map.journal import Journal, Running, journal_names
from deeplake_lite.map.record import find_record
from deeplake_lite.storage.repo import Repository

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class JobInfo:
    """A job of a lake.

    >>> JobInfo("embed-emb", "stopped", "main", "V1", "clips.embed", rows=2000, done=500)
    embed-emb: stopped, 500 of 2,000 rows, clips.embed on main
    """

    name: str
    """Name of the job."""
    phase: str
    """``"running"``, ``"stopped"`` (it can be resumed) or ``"finished"``. On an object store, a job
    that runs in another process counts as stopped."""
    branch: str
    """The branch to which the job writes."""
    version: str
    """The version that the job reads."""
    function: str
    """Module and qualified name of the function."""
    rows: int
    """Number of rows of the job."""
    done: int
    """Number of rows in finished parts."""

    def __repr__(self) -> str:
        rows = f"{self.done:,} of {self.rows:,} rows"
        return f"{self.name}: {self.phase}, {rows}, {self.function} on {self.branch}"


def jobs(url: str, *, storage_options: Mapping[str, object] | None = None) -> list[JobInfo]:
    """Return the jobs of a lake that `Dataset.map` has begun, unfinished ones first.

    Parameters
    ----------
    url : str
        URL or folder of the lake.
    storage_options : mapping, optional
        Options of the object store, as for `open`.

    Returns
    -------
    list of JobInfo
        Name, phase and progress of each job. Finished jobs are those whose commits still exist,
        newest first.

    Raises
    ------
    LakeNotFoundError
        When there is no lake at the URL.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://jobs-doc", {"x": "int32"})
    >>> ds.append({"x": range(5)})
    >>> commit = ds.commit("five rows")
    >>> def double(batch):
    ...     return batch["x"] * 2
    >>> job = ds.map(double, into={"y": "int32"}, name="doubles")
    >>> dl.jobs(ds.url)
    [doubles: finished, 5 of 5 rows, deeplake_lite.map.listing.double on main]
    """
    options = checks.mapping("storage_options", storage_options)
    repository = Repository.open(checks.location("url", url), options)
    begun = [Journal.find(repository, name) for name in journal_names(repository)]
    journals = [journal for journal in begun if journal is not None]
    return [_unfinished(repository, journal) for journal in journals] + _finished(
        repository, {journal.document["id"] for journal in journals}
    )


def _unfinished(repository: Repository, journal: Journal) -> JobInfo:
    document = journal.document
    try:
        Running(repository, document["name"]).end()
        phase = "stopped"
    except JobError:
        phase = "running"
    function = document["function"]
    return JobInfo(
        document["name"],
        phase,
        document["branch"],
        document["version"],
        f"{function['module']}.{function['name']}",
        document["rows"],
        journal.rows_done,
    )


def _finished(repository: Repository, unfinished: set[str]) -> list[JobInfo]:
    """Return the jobs whose results have been committed, newest first."""
    graph = Graph.read(repository, list(branches(repository).values()))
    found: dict[str, JobInfo] = {}
    for commit in sorted(graph.commits.values(), key=lambda c: c.time, reverse=True):
        record = find_record(commit)
        if record is None or record["job"] in unfinished:
            continue
        rows = int(record.get("rows", 0)) + int(record.get("skipped", 0))
        known = found.get(record["job"])  # a job that commits each part has several commits
        total = rows if known is None else known.rows + rows
        function = record["function"]
        found[record["job"]] = JobInfo(
            record["name"],
            "finished",
            str(commit.branch or "") if known is None else known.branch,
            record["version"],
            f"{function['module']}.{function['name']}",
            total,
            total,
        )
    return list(found.values())
