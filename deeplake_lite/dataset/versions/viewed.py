"""The stored documents of saved views, and the versions that they read.

A vacuum keeps these versions even if they are no longer part of any branch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deeplake_lite.errors import DamagedError
from deeplake_lite.storage.repo import branch_ref, run
from deeplake_lite.storage.state import check_digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deeplake_lite.storage.repo import Repository, Session

AUX = "_aux"
"""Branch that holds the saved views and evaluations."""

KEY = "deeplake_lite_views"
"""Attribute of the root group on ``_aux``. The attribute maps names to documents, and has a digest
of the documents."""

DAMAGED = "The list of saved views is damaged. Restore the lake from a backup."


def views_session(repository: Repository) -> Session | None:
    """Return a session that reads the saved views, or None if there have never been any."""
    if repository.checks_reads:
        repository.refs.check(branch_ref(AUX))
    tips = repository.branches()
    return repository.reader(tips[AUX]) if AUX in tips else None


def view_documents(repository: Repository, session: Session | None) -> dict[str, Any]:
    """Return a dict that maps the names of saved views to documents. Raises DamagedError."""
    if session is None:
        return {}
    attribute = run(session.attributes()).get(KEY)
    if attribute is None and session.snapshot_id == first_version(repository):
        return {}  # another process is creating the branch, or was killed after creating it
    if not isinstance(attribute, dict) or not isinstance(attribute.get("views"), dict):
        raise DamagedError(DAMAGED)
    check_digest(attribute, "The list of saved views")
    return dict(attribute["views"])


def first_version(repository: Repository) -> str:
    """Return the id of the lake's first version."""
    return list(repository.ancestry(repository.tip("main")))[-1].id


def parts_of(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a view's document, and the documents of the views that its queries read."""
    yield document
    query = document.get("query")
    for part in () if query is None else (query["asked"], *query["sources"]):
        if part is not None:
            yield from parts_of(part)


def versions_of(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the versions of this lake that a view reads, directly or through queries."""
    return (str(part["version"]) for part in parts_of(document) if part.get("url") is None)


def with_version(document: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Return a view's document, with another version in it and in all documents inside it."""
    changed = {**document, "version": version}
    if (query := document.get("query")) is not None:
        asked, sources = query["asked"], query["sources"]
        changed["query"] = {
            **query,
            "asked": None if asked is None else with_version(asked, version),
            "sources": [with_version(source, version) for source in sources],
        }
    return changed


def is_viewed(repository: Repository, version: str) -> bool:
    """Return whether a saved view reads a version, given by its id. Raises DamagedError."""
    documents = view_documents(repository, views_session(repository))
    try:
        return any(version in versions_of(document) for document in documents.values())
    except (LookupError, TypeError, AttributeError, RecursionError) as error:
        raise DamagedError(DAMAGED) from error
