"""The record of a job in the metadata of its commits."""

from __future__ import annotations

import sys
from itertools import takewhile
from typing import TYPE_CHECKING, Any, cast

from deeplake_lite.errors import JobError
from deeplake_lite.map.journal import first_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from deeplake_lite.map.journal import Document
    from deeplake_lite.storage.repo import Commit, Repository

KEY = "map"
"""Key of the record in the metadata of a commit."""

MOST_SKIPPED = 1_000
"""Maximum number of skipped rows that a record lists. The record always has the total number."""


def record_of(
    document: Document,
    executor: str,
    seconds: float,
    skipped: Sequence[tuple[int, str]],
    parts: Sequence[int] | None,
    count: int,
) -> dict[str, Any]:
    """Return the record of a job.

    Parameters
    ----------
    document : Document
        The parameters of the job.
    executor : str
        Kind of the executor.
    seconds : float
        Duration of the last run, in seconds.
    skipped : sequence of (int, str)
        Ids of the skipped rows, with the errors.
    parts : sequence of int, optional
        The parts whose results the commit contains; None means all parts.
    count : int
        Number of parts of the job.
    """
    record = {
        "job": document["id"],
        "name": document["name"],
        "version": document["version"],
        "function": dict(document["function"]),
        "setup": document["setup"],
        "columns": dict(document["columns"]),
        "into": {target["name"]: target["id"] for target in document["into"]},
        "where": document["where"],
        "batch": document["batch"],
        "on_error": document["on_error"],
        "update": document["update"],
        "whole": document["whole"],
        "executor": executor,
        "python": ".".join(map(str, sys.version_info[:3])),
        "seconds": round(seconds, 3),
        "skipped": len(skipped),
        "skipped_rows": [[str(row), error] for row, error in skipped[:MOST_SKIPPED]],
        "parts": None if parts is None else list(parts),
        "part_count": count,
    }
    if "rows_into" in document:
        kept = document["rows_into"]["keep"]
        record["source"] = document["rows_into"]["source"]
        record["kept"] = dict(kept)
        record["into"] = {t["name"]: t["id"] for t in document["into"] if t["name"] not in kept}
    return record


def find_record(commit: Commit) -> dict[str, Any] | None:
    """Return the record of a job in the metadata of a commit, or None if there is none."""
    record: Any = commit.metadata.get(KEY)
    match record:
        case {
            "job": str(),
            "name": str(),
            "version": str(),
            "function": {"name": str(), "module": str(), "digest": str(), "packages": dict()},
            "columns": dict(),
            "into": dict(),
            "whole": bool(),
            "part_count": int(),
            "rows": int(),
            "skipped": int(),
            "skipped_rows": list(),
        } if "source" not in record or _is_of_other_lake(record):
            return cast("dict[str, Any]", record)
    return None


def _is_of_other_lake(record: Mapping[str, Any]) -> bool:
    """Return whether the record of a job that read another lake is complete."""
    match record:
        case {"source": str(), "kept": dict(), "origins": dict()}:
            return True
    return False


def commits_of(repository: Repository, tip: str, document: Document) -> list[Commit]:
    """Return the commits of a job in the history of `tip`, newest first."""
    jobs = _jobs_since(repository, tip, document)
    return [commit for commit, record in jobs if record["job"] == document["id"]]


class OvertakenError(JobError):
    """Raised if another process has begun the same job at the same time, and has committed first.

    This only happens on an object store, where no lock keeps two drivers from starting one job.
    """


def check_not_overtaken(repository: Repository, tip: str, document: Document) -> None:
    """Raise OvertakenError if another job of the same name has committed since a job began."""
    for _, record in _jobs_since(repository, tip, document):
        if record["name"] == document["name"] and record["job"] != document["id"]:
            raise OvertakenError(repeated(document["name"]))


def repeated(name: str) -> str:
    """Return the message for results that another process has committed."""
    return (
        f"The job {name!r} runs in another process, too, which has committed the same rows. They "
        "were not committed again. Open the lake to see them."
    )


def _jobs_since(
    repository: Repository, tip: str, document: Document
) -> Iterator[tuple[Commit, dict[str, Any]]]:
    """Yield the commits of all jobs since a job began, with their records, newest first."""
    first = first_version(document)
    for commit in takewhile(lambda c: c.id != first, repository.ancestry(tip)):
        if (record := find_record(commit)) is not None:
            yield commit, record


def parts_of(commit: Commit, every: Iterable[int]) -> list[int]:
    """Return the parts whose results a commit contains, given all parts of the job."""
    record = find_record(commit)
    parts = None if record is None else record.get("parts")
    return list(every) if parts is None else [part for part in every if part in set(parts)]
