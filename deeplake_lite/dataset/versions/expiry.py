"""Which old versions a vacuum lets go, and how those that stay know what they come from.

The engine drops everything older than a time from each history, but for the versions that a branch
or tag names; the oldest version that stays then follows the engine's first snapshot. A merge needs
more: the versions where lines of history parted. Links keep these: branches of the lake's own that
name a version and a later one that comes from it, with nothing between the two any more.

Steps: read the graph of all versions; find where lines parted; find what each version that stays
comes from. A branch that nobody has touched for a year keeps the one version where it began, and
not all that came after it on ``main``.
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
"""A version, and a later one that comes from it."""


@dataclass(frozen=True)
class Expiry:
    """Versions that a vacuum expires."""

    expiring: frozenset[str]
    """Versions that no history leads to any more."""
    kept: frozenset[str]
    """Versions that stay."""
    links: frozenset[Link]
    """Links that must be recorded once the versions between have expired."""


def plan_expiry(
    repository: Repository, cutoff: datetime, named: Iterable[str], held: Iterable[str]
) -> Expiry:
    """Plan which versions older than `cutoff` go.

    Parameters
    ----------
    named : iterable of str
        Versions that branches and tags name: they may be merged.
    held : iterable of str
        Versions that stay for another reason: saved views and open transactions read them.
    """
    named, held = set(named), set(held)
    graph = history.Graph.read(repository, named | held)
    parted = branch_points(graph.parents, named & graph.commits.keys())
    recent = {v for v in named | held for v in _recent(graph.commits, v, cutoff)}
    kept = recent | parted | ((named | held) & graph.commits.keys())
    links = {
        (older, version)
        for version, seen in _comes_from(graph.parents, kept).items()
        for older in seen - _still_known(graph.commits[version], recent, kept)
    }
    return Expiry(frozenset(graph.commits.keys() - kept), frozenset(kept), frozenset(links))


def branch_points(parents: Mapping[str, set[str]], tips: Iterable[str]) -> set[str]:
    """Return the tips and the versions where lines that lead to them parted.

    These are the merge bases of any two of them, those of the bases, and so on.

    >>> history = {"fix": {"2"}, "main": {"3"}, "3": {"2"}, "2": {"1"}, "1": set()}
    >>> sorted(branch_points(history, ["main", "fix"]))
    ['2', 'fix', 'main']
    """
    children: dict[str, list[str]] = {v: [] for v in parents}
    for version, before in parents.items():
        for parent in before:
            children[parent].append(version)
    order = _oldest_first(parents)[::-1]
    found, points = set[str](), set(tips)
    while points != found:
        found, led_to = points, dict[str, int]()
        bit = {version: 1 << i for i, version in enumerate(sorted(found))}
        points = set(found)
        for version in order:  # as bits, which of the points come from it
            after = [led_to[child] for child in children[version]]
            mask = bit.get(version, 0)
            for some in after:
                mask |= some
            led_to[version] = mask
            if mask and mask not in after:
                points.add(version)
    return found


def _recent(commits: Mapping[str, Commit], tip: str, cutoff: datetime) -> set[str]:
    """Return the versions of a tip's own line that are not older than `cutoff`."""
    found, version = set[str](), tip
    while version in commits and commits[version].time >= cutoff:
        found.add(version)
        version = commits[version].parent or ""
    return found


def _comes_from(parents: Mapping[str, set[str]], kept: set[str]) -> dict[str, set[str]]:
    """Return the versions among `kept` that each of them comes from with no other between."""
    nearest, result = dict[str, set[str]](), dict[str, set[str]]()
    for version in _oldest_first(parents):
        before = {v for parent in parents[version] for v in nearest[parent]}
        nearest[version] = {version} if version in kept else before
        if version in kept:
            result[version] = before
    return result


def _still_known(commit: Commit, recent: set[str], kept: set[str]) -> set[str]:
    """Return what a version is known to come from after the engine has cut the histories."""
    followed = {commit.parent} if {commit.id, commit.parent} <= recent else set[str | None]()
    merged = {v for v in history.parents(commit) if v != commit.parent}
    return {v for v in followed | merged if v in kept}


def _oldest_first(parents: Mapping[str, set[str]]) -> list[str]:
    """Return versions such that each comes after its parents. Raises DamagedError."""
    try:
        return list(TopologicalSorter(parents).static_order())
    except CycleError as error:
        raise DamagedError(
            "A version comes after those that it was made from, but in this lake some come from "
            "themselves. Its history was damaged or tampered with: restore it from a copy."
        ) from error
