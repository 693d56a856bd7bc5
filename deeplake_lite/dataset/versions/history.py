"""Which version a name means, what came before it, and where two histories meet.

A name is a branch, a tag, a commit id (or enough of its beginning), a time, or a commit of a log.
Names that begin with an underscore are the lake's own: ``_aux`` holds saved views, ``_pin-…`` keeps
a version for a while, ``_vacuum-…`` tells of a vacuum that is at work, and ``_base-…`` keeps a
version that lines of history have in common.
"""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING, cast

from deeplake_lite.brief import brief
from deeplake_lite.errors import ExistsError, NotFoundError, SchemaError, VersionNotFoundError
from deeplake_lite.storage.repo import Commit, branch_ref, tag_ref

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator, Mapping

    from deeplake_lite.storage.repo import Repository

type Version = str | date | Commit
"""What means a version: a branch, tag, commit id or ISO time, a time, a day, or a log's commit."""

AUX = "_aux"
"""Branch of saved views."""

MOST_NAMES = 10
"""Branches and tags that an error message names."""

NEAREST = 3
"""Names among them that look most like the one asked for."""

LONGEST_NAME = 200
"""Characters of a branch's or tag's name: it becomes a file's, with a suffix."""

ROOT_MESSAGE = "Repository initialized"
"""Of the engine's own first snapshot, which holds no lake."""


def branches(repository: Repository) -> dict[str, str]:
    """Return the commit id of each branch's tip.

    Raises
    ------
    DamagedError
        Where every read is checked, when one is lost or was set back.
    """
    return repository.refs.of_users("branch")


def tags(repository: Repository) -> dict[str, str]:
    """Return the commit id of each tag. Raises as `branches`."""
    return repository.refs.of_users("tag")


def branch_names(repository: Repository) -> list[str]:
    """Return the names of the branches that are there."""
    return [name for name in repository.branch_names() if not name.startswith("_")]


def tag_names(repository: Repository) -> list[str]:
    """Return the names of the tags that are there."""
    return [name for name in repository.tag_names() if not name.startswith("_")]


def history(repository: Repository, snapshot_id: str, most: int | None = None) -> list[Commit]:
    """Return the commits up to a snapshot, newest first; at most so many."""
    found = repository.ancestry(snapshot_id)
    return list(islice((c for c in found if c.message != ROOT_MESSAGE or c.parent), most))


def resolve(repository: Repository, version: Version) -> str:
    """Return the snapshot id that a branch, tag, commit id, time or commit stands for.

    Raises
    ------
    VersionNotFoundError
        When nothing of that name, or from before that time, is there; and for what is no name.
    DamagedError
        For a branch or tag that is lost; where every read is checked, also for one that names
        another version than its writer made it name.
    """
    if isinstance(version, date):
        if hasattr(version, "to_pydatetime"):  # pandas' Timestamp compares differently
            version = cast("datetime", version.to_pydatetime(warn=False))
        whole = version if isinstance(version, datetime) else datetime.combine(version, time.min)
        return _at_time(repository, whole)
    version = version_name(version)
    if version in tag_names(repository):
        return repository.tag_tip(version)
    if version in branch_names(repository):
        return repository.tip(version)
    for ref in (branch_ref(version), tag_ref(version)):
        repository.refs.check(ref)
    named = {*repository.branches().values(), *repository.tags().values()}
    commits = {c.id for tip in named for c in history(repository, tip)}
    matching = [i for i in commits if i.startswith(version)] if len(version) >= 4 else []
    if len(matching) == 1:
        return matching[0]
    if len(matching) > 1:
        raise VersionNotFoundError(
            f"{version!r} begins {len(matching)} commit ids. "
            f"Give more of it: {', '.join(sorted(matching))}."
        )
    if re.match(r"\d{4}-\d\d-\d\d", version):
        try:
            return _at_time(repository, datetime.fromisoformat(version))
        except ValueError as error:
            raise VersionNotFoundError(
                f"A time is given in ISO 8601, such as 2026-01-31T12:00, got {version!r}: {error}."
            ) from error
    raise _unknown("version", version, branch_names(repository), tag_names(repository))


def version_name(version: Version) -> str:
    """Return a version as text: what it was called, or a commit's id.

    >>> version_name(date(2026, 1, 31))
    '2026-01-31'
    """
    if isinstance(version, Commit):
        return version.id
    if not isinstance(version, str | date):
        raise VersionNotFoundError(
            "A version is a branch, tag, commit id, time, or a commit of ds.log(), got "
            f"{type(version).__name__} {brief(version)}. ds.log()[0] is the newest commit, "
            "ds.log()[1] the one before."
        )
    return str(version)


def _unknown(
    kind: str, name: str, branches: Iterable[str], tags: Iterable[str] = ()
) -> VersionNotFoundError:
    """Return the error for a name that is not there: the nearest, then other branches and tags.

    >>> print(_unknown("version", "fxi", ["main", "fix"], ["v1"]))
    There is no version 'fxi'. Did you mean 'fix'? Branches: 'main'. Tags: 'v1'. ds.log() lists the
    commits.
    """
    near = get_close_matches(str(name), [*branches, *tags], n=NEAREST)
    left = MOST_NAMES - len(near)
    text = f"There is no {kind} {brief(name)}."
    text += f" Did you mean {' or '.join(map(repr, near))}?" if near else ""
    for title, names in (("Branches", branches), ("Tags", tags)):
        others = [n for n in names if n not in near]
        shown = [repr(n) for n in others[:left]]
        left -= len(shown)
        more = len(others) - len(shown)
        shown += [f"{'and ' if shown else ''}{more:,} more"] if more else []
        text += f" {title}: {', '.join(shown)}." if shown else ""
    return VersionNotFoundError(
        text + (" ds.log() lists the commits." if kind == "version" else "")
    )


def _at_time(repository: Repository, when: datetime) -> str:
    """Return the last commit of ``main`` at `when`, local time unless it has a zone."""
    when = _in_utc(when)
    commits = history(repository, repository.tip("main"))
    found = next((c.id for c in commits if c.time <= when), None)
    if found is None:
        raise VersionNotFoundError(
            f"The oldest version on 'main' is from {commits[-1].time:%Y-%m-%d %H:%M:%S} UTC, "
            f"got {when:%Y-%m-%d %H:%M:%S} UTC. Give a later time."
        )
    return found


def _in_utc(when: datetime) -> datetime:
    """Return a time in UTC, local unless it has a zone.

    At the ends of the calendar, where no other zone has that time, the zone is left out.

    >>> _in_utc(datetime.fromisoformat("2026-01-31T12:00+02:00")).hour
    10
    """
    try:
        return when.astimezone(UTC)
    except (OverflowError, ValueError):
        return when.replace(tzinfo=UTC)


def check_new_name(repository: Repository, kind: str, name: str) -> Collection[str]:
    """Refuse a name that a branch or tag has, or that cannot be one; return the branches' names.

    Raises
    ------
    ExistsError, SchemaError
    """
    pattern = r"[A-Za-z0-9][A-Za-z0-9._+-]*(/[A-Za-z0-9][A-Za-z0-9._+-]*)*"
    if not isinstance(name, str) or len(name) > LONGEST_NAME or not re.fullmatch(pattern, name):
        raise SchemaError(
            f"A {kind} is named with letters, digits and ._+-/, at most {LONGEST_NAME} in all, and "
            f"begins with a letter or digit, got {brief(name)}. Choose another name."
        )
    branches = branch_names(repository)
    for other, names in (("branch", branches), ("tag", tag_names(repository))):
        if name in names:
            raise ExistsError(f"There is a {other} {name!r} already. Choose another name.")
    return branches


def check_branch(repository: Repository, name: str) -> str:
    """Return the tip of a branch. Raises as `resolve`."""
    known = branch_names(repository)
    if not isinstance(name, str):
        raise _unknown("branch", name, known)
    if name not in known and name in tag_names(repository):
        raise VersionNotFoundError(
            f"{name!r} is a tag, which never moves. Open it with dl.open(…, version={name!r}), or "
            f"go back to it with ds.restore({name!r})."
        )
    if name not in known:
        repository.refs.check(branch_ref(name))
        raise _unknown("branch", name, known)
    return repository.tip(name)


def check_tag(repository: Repository, name: str) -> None:
    """Refuse a name that no tag has. Raises VersionNotFoundError, and DamagedError."""
    known = tag_names(repository)
    if not isinstance(name, str) or name not in known:
        if isinstance(name, str):
            repository.refs.check(tag_ref(name))
        raise _unknown("tag", name, (), known)


@contextlib.contextmanager
def kept(repository: Repository, snapshot_id: str) -> Iterator[None]:
    """Keep a version while it gets a name. Raises VersionNotFoundError where a vacuum deleted it.

    The caller holds the writers' lock.
    """
    with contextlib.ExitStack() as held:
        try:
            next(held.enter_context(repository.kept(snapshot_id)).ancestry(snapshot_id))
        except NotFoundError as error:
            raise VersionNotFoundError(
                "Only versions that are there get a name, but a vacuum has deleted "
                f"{snapshot_id}, or the lake was created anew. Go to the branch's newest version "
                "with ds.refresh(), or write the rows again."
            ) from error
        yield


def check_related(repository: Repository, snapshot_id: str, branches: Collection[str]) -> None:
    """Refuse a version whose history no branch or tag shares any more: it could not be merged.

    The caller keeps the version. It has expired, though its files may still be spared.

    Raises
    ------
    VersionNotFoundError
    """
    named = set(repository.branches(branches).values())
    if snapshot_id in named:  # as ever so often, and tags cost requests of their own
        return
    named |= set(repository.tags().values())
    if snapshot_id in named:
        return
    graph = Graph.read(repository.reopened(), [snapshot_id, *named])  # histories may have been cut
    if graph.ancestors([snapshot_id]).isdisjoint(graph.ancestors(named)):
        raise VersionNotFoundError(
            f"A vacuum has let version {snapshot_id} expire, so that it has no history in common "
            "with any branch: a branch or tag of it could never be merged. Go to the branch's "
            "newest version with ds.refresh(), or copy the rows: "
            "dl.open(url).append(ds.to_arrow())."
        )


def parents(commit: Commit) -> list[str]:
    """Return the versions that a commit was made from: its parent, and what it merged."""
    merged = commit.metadata.get("merge")
    return [p for p in (commit.parent, merged) if isinstance(p, str)]


@dataclass(frozen=True)
class Graph:
    """Versions and what each of them was made from, merges and links included."""

    commits: Mapping[str, Commit]
    parents: Mapping[str, set[str]]
    """Of those that are there, by commit id."""

    @classmethod
    def read(cls, repository: Repository, starts: Collection[str]) -> Graph:
        """Read some versions, and all that they come from.

        A vacuum may cut histories meanwhile. It notes links first, so that what was read is whole
        if the links are still the same afterwards.
        """
        links = repository.links()
        while True:
            graph = cls._read(repository, starts, links)
            before, links = links, repository.links()
            if links == before:
                return graph

    @classmethod
    def _read(
        cls, repository: Repository, starts: Iterable[str], links: Mapping[str, set[str]]
    ) -> Graph:
        commits = dict[str, Commit]()
        todo, missing = list(starts), set[str]()
        while todo:
            start = todo.pop()
            if start in commits or start in missing:
                continue
            found = _line(repository, start, commits)
            commits.update(found)
            todo += [p for c in found.values() for p in (*parents(c), *links.get(c.id, ()))]
            if start not in found:  # expired: what was merged is in the merge commit all the same
                missing.add(start)
        known = {
            v: {p for p in (*parents(c), *links.get(v, ())) if p in commits}
            for v, c in commits.items()
        }
        return cls(commits, known)

    def ancestors(self, starts: Iterable[str]) -> set[str]:
        """Return some versions and all that they come from."""
        found, todo = set[str](), list(starts)
        while todo:
            version = todo.pop()
            if version in self.parents and version not in found:
                found.add(version)
                todo += self.parents[version]
        return found

    def bases(self, ours: Iterable[str], theirs: str) -> list[str]:
        """Return the versions that both have seen and that no other such version follows."""
        common = self.ancestors(ours) & self.ancestors([theirs])
        followed = {parent for version in common for parent in self.parents[version]}
        return sorted(common - followed, key=lambda v: self.commits[v].time, reverse=True)


def _line(repository: Repository, start: str, known: Container[str]) -> dict[str, Commit]:
    """Return a version and those before it that are not known; none where one is not there.

    The engine's own first snapshot is no version.
    """
    found: dict[str, Commit] = {}
    try:
        for commit in repository.ancestry(start):
            if commit.id in known or commit.id in found or commit.parent is None:
                break
            found[commit.id] = commit
    except NotFoundError:
        return {}
    return found


def merge_bases(repository: Repository, ours: Iterable[str], theirs: str) -> list[str]:
    """Return the versions that both have seen and that no other such version follows.

    `ours` is one version, or several that count as merged. Merges count. There is one base, unless
    two branches have merged each other crosswise; newest first.

    Raises
    ------
    VersionNotFoundError
        When the two have nothing in common.
    """
    ours = list(ours)
    found = Graph.read(repository, [*ours, theirs]).bases(ours, theirs)
    if not found:
        raise VersionNotFoundError(
            f"Versions {', '.join(ours)} and {theirs} have no common history."
        )
    return found
