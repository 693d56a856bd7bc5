"""The plan of a vacuum: old versions that expire, and links between the versions that stay.

In each history, Icechunk drops all snapshots older than a given time, except the tips of branches
and tags. The parent of the oldest remaining version is then Icechunk's initial snapshot. But merges
need the versions at which histories forked. Links keep these versions. A link is an internal
branch. Its name consists of the ids of a version and of a descendant of this version, such that all
versions between these two have expired.

The plan is made in three steps: read the graph of all versions, find the forks, and find the
nearest remaining ancestors of each version that stays. For example, a branch that has not changed
for a year keeps the version at which it forked, but not the versions that followed on ``main``.
"""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

from deeplake_lite.dataset.versions import history
from deeplake_lite.errors import DamagedError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from datetime import datetime

    from deeplake_lite.storage.repo import Commit, Repository

type Link = tuple[str, str]
"""The ids of a version and of one of its descendants."""


@dataclass(frozen=True)
class Expiry:
    """The versions that expire in a vacuum, and the versions and links that stay."""

    expiring: frozenset[str]
    """Versions that expire."""
    kept: frozenset[str]
    """Versions that stay."""
    links: frozenset[Link]
    """Links between versions that stay, where all versions in between expire."""


def plan_expiry(
    repository: Repository, cutoff: datetime, named: Iterable[str], held: Iterable[str]
) -> Expiry:
    """Decide which versions older than `cutoff` expire.

    Parameters
    ----------
    repository : Repository
        The lake.
    cutoff : datetime
        Time before which versions expire.
    named : iterable of str
        Versions to which branches and tags point, and which may be merged later.
    held : iterable of str
        Versions that stay because saved views or open transactions read them.
    """
    named, held = set(named), set(held)
    graph = history.Graph.read(repository, named | held)
    forks = branch_points(graph.parents, named & graph.commits.keys())
    recent = {v for v in named | held for v in _recent(graph.commits, v, cutoff)}
    kept = recent | forks | ((named | held) & graph.commits.keys())
    links = {
        (older, version)
        for version, ancestors in _nearest_ancestors(graph.parents, kept).items()
        for older in ancestors - _parents_left(graph.commits[version], recent, kept)
    }
    return Expiry(frozenset(graph.commits.keys() - kept), frozenset(kept), frozenset(links))


def branch_points(parents: Mapping[str, set[str]], tips: Iterable[str]) -> set[str]:
    """Return the tips, and the versions at which the histories of tips forked.

    These are the merge bases of any two tips, the merge bases of these bases, and so on.

    >>> history = {"fix": {"2"}, "main": {"3"}, "3": {"2"}, "2": {"1"}, "1": set()}
    >>> sorted(branch_points(history, ["main", "fix"]))
    ['2', 'fix', 'main']
    """
    children: dict[str, list[str]] = {v: [] for v in parents}
    for version, before in parents.items():
        for parent in before:
            children[parent].append(version)
    order = oldest_first(parents)[::-1]
    # `descendants` maps a version to the points in `previous` that descend from it, as a bit mask.
    # If no child has the same mask, the histories of two points fork at the version.
    previous, points = set[str](), set(tips)
    while points != previous:
        previous, descendants = points, dict[str, int]()
        bit = {version: 1 << i for i, version in enumerate(sorted(previous))}
        points = set(previous)
        for version in order:
            of_children = [descendants[child] for child in children[version]]
            mask = bit.get(version, 0)
            for child_mask in of_children:
                mask |= child_mask
            descendants[version] = mask
            if mask and mask not in of_children:
                points.add(version)
    return previous


def _recent(commits: Mapping[str, Commit], tip: str, cutoff: datetime) -> set[str]:
    """Return a tip and its ancestors that are not older than `cutoff`, without merged versions."""
    recent, version = set[str](), tip
    while version in commits and commits[version].time >= cutoff:
        recent.add(version)
        version = commits[version].parent or ""
    return recent


def _nearest_ancestors(parents: Mapping[str, set[str]], kept: set[str]) -> dict[str, set[str]]:
    """Return the nearest ancestors in `kept` of each version in `kept`."""
    nearest, result = dict[str, set[str]](), dict[str, set[str]]()
    for version in oldest_first(parents):
        before = {v for parent in parents[version] for v in nearest[parent]}
        nearest[version] = {version} if version in kept else before
        if version in kept:
            result[version] = before
    return result


def _parents_left(commit: Commit, recent: set[str], kept: set[str]) -> set[str]:
    """Return the parents that a version keeps when Icechunk truncates the histories.

    Merged versions are never lost, because the commit's metadata names them.
    """
    parent = {commit.parent} if {commit.id, commit.parent} <= recent else set[str | None]()
    merged = {v for v in history.parents(commit) if v != commit.parent}
    return {v for v in parent | merged if v in kept}


def oldest_first(parents: Mapping[str, set[str]]) -> list[str]:
    """Return a list of the versions, each version after its parents. Raises DamagedError."""
    try:
        return list(TopologicalSorter(parents).static_order())
    except CycleError as error:
        raise DamagedError(
            "A version must not be its own ancestor, but some versions of this lake are. The "
            "history was damaged or tampered with. Restore the lake from a backup."
        ) from error
