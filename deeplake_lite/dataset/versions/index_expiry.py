"""The indexes that a vacuum drops, because no remaining version uses them.

A version uses the newest index that was built for it or for one of its ancestors. An index is
dropped when neither its version nor a descendant of it uses it any longer. A remaining index keeps
its version, with which later versions are compared.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from deeplake_lite.dataset.versions import history
from deeplake_lite.dataset.versions.expiry import oldest_first, plan_expiry
from deeplake_lite.storage.repo import ANNOUNCED_AGE, local_folder
from deeplake_lite.storage.repo.index_refs import IndexName, index_names

if TYPE_CHECKING:
    from collections.abc import Collection

    from deeplake_lite.storage.repo import Repository


def stale_indexes(
    repository: Repository,
    cutoff: datetime | None,
    named: Collection[str],
    held: Collection[str],
) -> list[IndexName]:
    """Return the indexes that no version uses once a vacuum has let versions expire.

    They include indexes without contents, which killed processes left behind.

    Parameters
    ----------
    repository : Repository
        The lake.
    cutoff : datetime, optional
        Time before which versions expire; by default, no version expires.
    named, held : collection of str
        Versions that stay (see `plan_expiry`).
    """
    names = index_names(repository.branch_names())
    if not names:
        return []
    dead = [name for name in names if _is_unfinished(repository, name)]
    graph = history.Graph.read(repository, {*named, *held})
    kept = set(graph.commits)
    if cutoff is not None:
        kept = set(plan_expiry(repository, cutoff, named, held).kept)
    of_version: dict[str, list[IndexName]] = {}
    for name in names:
        if name not in dead:
            of_version.setdefault(name.version, []).append(name)
    used, uses = set[IndexName](), dict[str, dict[tuple[str, str, str], IndexName]]()
    for version in oldest_first(graph.parents):
        newest: dict[tuple[str, str, str], IndexName] = {}
        for parent in graph.parents.get(version, ()):
            for use, name in uses.get(parent, {}).items():
                other = newest.get(use)
                if other is None or _time(graph, name) > _time(graph, other):
                    newest[use] = name
        newest.update({name.use: name for name in of_version.get(version, ())})
        uses[version] = newest
        if version in kept:
            used.update(newest.values())
    return [name for name in names if name not in used]


def _time(graph: history.Graph, name: IndexName) -> datetime:
    return graph.commits[name.version].time


def _is_unfinished(repository: Repository, name: IndexName) -> bool:
    """Return whether the process that created the branch of an index has died before its commit.

    In a local lake, the branch is created and filled under the writers' lock, which the caller
    holds. On an object store, an old branch counts as the branch of a dead process.
    """
    if repository.branches().get(name.branch) != name.version:
        return False
    return local_folder(repository.url) is not None or (
        name.begun < datetime.now(UTC) - ANNOUNCED_AGE
    )
