"""The record of a job in the metadata of its commits."""

from __future__ import annotations

import sys
from itertools import takewhile
from typing import TYPE_CHECKING, Any, cast

from deeplake_lite.map.journal import first_version

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

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
    first = first_version(document)
    history = takewhile(lambda c: c.id != first, repository.ancestry(tip))
    return [c for c in history if (r := find_record(c)) is not None and r["job"] == document["id"]]


def parts_of(commit: Commit, every: Iterable[int]) -> list[int]:
    """Return the parts whose results a commit contains, given all parts of the job."""
    record = find_record(commit)
    parts = None if record is None else record.get("parts")
    return list(every) if parts is None else [part for part in every if part in set(parts)]
