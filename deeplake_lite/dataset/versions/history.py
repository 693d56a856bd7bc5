"""Version names, the history of a version, and the common ancestors of two versions.

A version can be given as a branch, a tag, a commit id or its beginning, a time, or a commit from a
log. Names of internal branches begin with an underscore: ``_aux`` has saved views, ``_pin-…`` keeps
a version temporarily, ``_vacuum-…`` announces a running vacuum, ``_base-…`` keeps a common ancestor
of other versions, ``_job-…`` has the journal of a job, and ``_index-…`` has an index.
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
from deeplake_lite.checks import find_lone_surrogate
from deeplake_lite.dataset.versions.viewed import is_viewed
from deeplake_lite.errors import ExistsError, NotFoundError, SchemaError, VersionNotFoundError
from deeplake_lite.storage.repo import Commit, branch_ref, tag_ref, vacuums
from deeplake_lite.storage.repo.index_refs import IndexName, index_names

if TYPE_CHECKING:
    from collections.abc import Collection, Container, Iterable, Iterator, Mapping

    from deeplake_lite.storage.repo import Repository, Session

type Version = str | date | Commit
"""A branch, tag, commit id or ISO time as a string, a datetime, a date, or a commit from a log."""

MAX_NAMES = 10
"""Maximum number of branches and tags that an error message names."""

MAX_SUGGESTIONS = 3
"""Maximum number of similar names that an error message suggests."""

MAX_NAME_LENGTH = 200
"""Maximum length of the name of a branch or tag, which becomes part of a file name."""

JOB = "_job-"
"""Beginning of the names of the internal branches that hold the journals of unfinished jobs."""

COMMIT_ID = r"[0-9A-Z]{20}"
"""Pattern of a complete commit id."""

ROOT_MESSAGE = "Repository initialized"
"""Message of Icechunk's initial snapshot, which is not a version of a lake."""


def branches(repository: Repository) -> dict[str, str]:
    """Return a dict that maps the name of each branch to the commit id of its tip.

    Raises
    ------
    DamagedError
        When a branch is lost or was set back to an older version, if every read is verified.
    """
    return repository.refs.of_users("branch")


def tags(repository: Repository) -> dict[str, str]:
    """Return a dict that maps tags to commit ids. Raises the same errors as `branches`."""
    return repository.refs.of_users("tag")


def branch_names(repository: Repository) -> list[str]:
    """Return the names of all branches that are not internal."""
    return [name for name in repository.branch_names() if not name.startswith("_")]


def job_tips(repository: Repository) -> set[str]:
    """Return the tips of the branches that hold journals of unfinished jobs."""
    return {tip for name, tip in repository.branches().items() if name.startswith(JOB)}


def index_tips(repository: Repository) -> dict[IndexName, str]:
    """Return a dict that maps indexes to the tips of their branches."""
    branches = repository.branches()
    return {name: branches[name.branch] for name in index_names(branches)}


def tag_names(repository: Repository) -> list[str]:
    """Return the names of all tags that are not internal."""
    return [name for name in repository.tag_names() if not name.startswith("_")]


def history(repository: Repository, snapshot_id: str, most: int | None = None) -> list[Commit]:
    """Return the history of a snapshot, newest first, with at most `most` commits."""
    commits = repository.ancestry(snapshot_id)
    return list(islice((c for c in commits if c.message != ROOT_MESSAGE or c.parent), most))


def resolve(repository: Repository, version: Version) -> str:
    """Return the snapshot id of a version: a branch, tag, commit id, time or commit.

    A version that only saved views need must be given by its complete id.

    Raises
    ------
    VersionNotFoundError
        When there is no such version, all versions are newer than the given time, or the value has
        the wrong type.
    DamagedError
        When the branch or tag is lost or, if every read is verified, does not point to the version
        that its writer recorded.
    """
    if not isinstance(version, date):
        version = version_name(version)
        if version in tag_names(repository):
            return repository.tag_tip(version)
        if version in branch_names(repository):
            return repository.tip(version)
        for ref in (branch_ref(version), tag_ref(version)):
            repository.refs.check(ref)
    commit = _find_commit(repository, version)
    if _is_gone(repository, commit):
        repository.forget_caches()
        commit = _find_commit(repository, version)
    return commit


def _find_commit(repository: Repository, version: str | date) -> str:
    """Return the commit with the given id or prefix, or the commit that was current at a time.

    A cached history may contain versions that a vacuum has deleted since it was read.
    """
    if isinstance(version, date):
        if hasattr(version, "to_pydatetime"):  # pandas' Timestamp compares differently
            version = cast("datetime", version.to_pydatetime(warn=False))
        moment = version if isinstance(version, datetime) else datetime.combine(version, time.min)
        return _at_time(repository, moment)
    named = repository.tips()
    commits = {c.id for tip in named for c in history(repository, tip)}
    matching = [i for i in commits if i.startswith(version)] if len(version) >= 4 else []
    if len(matching) == 1:
        return matching[0]
    if len(matching) > 1:
        raise VersionNotFoundError(
            f"The beginning of a commit id must be unique, but {len(matching)} ids begin with "
            f"{version!r}. Give more characters: {', '.join(sorted(matching))}."
        )
    if re.fullmatch(COMMIT_ID, version) and is_viewed(repository, version):
        return version
    if re.match(r"\d{4}-\d\d-\d\d", version):
        try:
            return _at_time(repository, datetime.fromisoformat(version))
        except ValueError as error:
            raise VersionNotFoundError(
                "A time must be in ISO 8601 format, such as 2026-01-31T12:00, but it is "
                f"{version!r}: {error}."
            ) from error
    raise _unknown_name("version", version, branch_names(repository), tag_names(repository))


def _is_gone(repository: Repository, commit: str) -> bool:
    """Return whether a vacuum has deleted a commit. The store is asked instead of the cache."""
    try:
        next(repository.reopened().ancestry(commit))
    except NotFoundError:
        return True
    return False


def version_name(version: Version) -> str:
    """Return a version as a string: the given name, or the id of a commit.

    >>> version_name(date(2026, 1, 31))
    '2026-01-31'
    """
    if isinstance(version, Commit):
        return version.id
    if not isinstance(version, str | date):
        raise VersionNotFoundError(
            "A version must be a branch, tag, commit id, time, or a commit from ds.log(), but it "
            f"is {type(version).__name__} {brief(version)}. ds.log()[0] is the newest commit, and "
            "ds.log()[1] is the commit before."
        )
    return str(version)


def _unknown_name(
    kind: str, name: str, branches: Iterable[str], tags: Iterable[str] = ()
) -> VersionNotFoundError:
    """Return the error for an unknown name. The message lists similar names or existing names.

    >>> print(_unknown_name("version", "fxi", ["main", "fix"], ["v1"]))
    There is no version 'fxi'. Did you mean 'fix'? Branches: 'main'. Tags: 'v1'. ds.log() lists the
    commits.
    """
    similar = get_close_matches(str(name), [*branches, *tags], n=MAX_SUGGESTIONS)
    remaining = MAX_NAMES - len(similar)
    text = f"There is no {kind} {brief(name)}."
    text += f" Did you mean {' or '.join(map(repr, similar))}?" if similar else ""
    for title, names in (("Branches", branches), ("Tags", tags)):
        others = [n for n in names if n not in similar]
        shown = [repr(n) for n in others[:remaining]]
        remaining -= len(shown)
        more = len(others) - len(shown)
        shown += [f"{'and ' if shown else ''}{more:,} more"] if more else []
        text += f" {title}: {', '.join(shown)}." if shown else ""
    return VersionNotFoundError(
        text + (" ds.log() lists the commits." if kind == "version" else "")
    )


def _at_time(repository: Repository, when: datetime) -> str:
    """Return the newest commit of ``main`` up to a time, which is local if it has no time zone."""
    when = _in_utc(when)
    commits = history(repository, repository.tip("main"))
    version = next((c.id for c in commits if c.time <= when), None)
    if version is None:
        raise VersionNotFoundError(
            f"The oldest version on 'main' is from {commits[-1].time:%Y-%m-%d %H:%M:%S} UTC, but "
            f"the given time is {when:%Y-%m-%d %H:%M:%S} UTC. Choose a later time."
        )
    return version


def _in_utc(when: datetime) -> datetime:
    """Convert a time to UTC. A time without a time zone is local time.

    If Python cannot represent the result, the time zone is replaced by UTC without a conversion.

    >>> _in_utc(datetime.fromisoformat("2026-01-31T12:00+02:00")).hour
    10
    """
    try:
        return when.astimezone(UTC)
    except (OverflowError, ValueError):
        return when.replace(tzinfo=UTC)


def check_new_name(repository: Repository, kind: str, name: str) -> None:
    """Reject a name that is not valid or is taken.

    Raises
    ------
    ExistsError, SchemaError
    """
    pattern = r"[A-Za-z0-9][A-Za-z0-9._+-]*(/[A-Za-z0-9][A-Za-z0-9._+-]*)*"
    if not isinstance(name, str) or len(name) > MAX_NAME_LENGTH or not re.fullmatch(pattern, name):
        raise SchemaError(
            f"The name of a {kind} must consist of at most {MAX_NAME_LENGTH} characters, which may "
            "be letters, digits or any of ._+-/, and must begin with a letter or digit, but it is "
            f"{brief(name)}. Choose another name."
        )
    for other, names in (("branch", branch_names), ("tag", tag_names)):
        if name in names(repository):
            raise ExistsError(f"A {other} {name!r} already exists. Choose another name.")


def branch_reader(repository: Repository, name: str) -> Session:
    """Return a session that reads the tip of a branch. Raises the same errors as `resolve`."""
    if _is_of_user(name) and not repository.checks_reads:
        with contextlib.suppress(VersionNotFoundError):
            return repository.branch_reader(name)
    return repository.reader(check_branch(repository, name))


def check_branch(repository: Repository, name: str) -> str:
    """Return the tip of a branch. Raises the same errors as `resolve`."""
    if _is_of_user(name):
        with contextlib.suppress(VersionNotFoundError):
            return repository.tip(name)
    branches = branch_names(repository)
    if not isinstance(name, str):
        raise _unknown_name("branch", name, branches)
    if name not in branches and name in tag_names(repository):
        raise VersionNotFoundError(
            f"Only a branch can be checked out, but {name!r} is a tag. Open the tag with "
            f"dl.open(…, version={name!r}), or go back to its version with ds.restore({name!r})."
        )
    if name not in branches:
        repository.refs.check(branch_ref(name))
        raise _unknown_name("branch", name, branches)
    return repository.tip(name)


def _is_of_user(name: object) -> bool:
    """Return whether a user may give a name to a branch or tag."""
    return (
        isinstance(name, str)
        and not name.startswith("_")
        and find_lone_surrogate(name) is None  # Icechunk takes names as UTF-8
    )


def check_tag(repository: Repository, name: str) -> None:
    """Reject the name of a tag that does not exist. Raises VersionNotFoundError, DamagedError."""
    tags = tag_names(repository)
    if not isinstance(name, str) or name not in tags:
        if isinstance(name, str):
            repository.refs.check(tag_ref(name))
        raise _unknown_name("tag", name, (), tags)


@contextlib.contextmanager
def keep_version(repository: Repository, snapshot_id: str) -> Iterator[None]:
    """Protect a version from vacuums while a branch, tag or saved view of it is created.

    The caller holds the writers' lock.

    Raises
    ------
    VersionNotFoundError
        When a vacuum has deleted the version.
    """
    with contextlib.ExitStack() as held:
        try:
            next(
                held.enter_context(vacuums.keep_version(repository, snapshot_id)).ancestry(
                    snapshot_id
                )
            )
        except NotFoundError as error:
            raise VersionNotFoundError(
                f"Only an existing version can be given a name, but version {snapshot_id} no "
                "longer exists: a vacuum deleted it, or the lake was recreated. Move to the "
                "newest version with ds.refresh(), or write the rows again."
            ) from error
        yield


def check_related(repository: Repository, snapshot_id: str) -> None:
    """Reject a version that shares no history with a branch or tag, and so could not be merged.

    Such a version has expired, although its files may still exist. The caller protects the version
    with `keep_version`.

    Raises
    ------
    VersionNotFoundError
        When the version shares no history with any of them.
    """
    named = repository.tips()
    if snapshot_id in named:  # the usual case
        return
    # A vacuum may have truncated the histories that this process has cached.
    graph = Graph.read(repository.reopened(), [snapshot_id, *named])
    if graph.ancestors([snapshot_id]).isdisjoint(graph.ancestors(named)):
        raise VersionNotFoundError(
            "A branch or tag must share history with the other branches, but version "
            f"{snapshot_id} expired in a vacuum, so that version could never be merged. Move to "
            "the newest version with ds.refresh(), or copy the rows: "
            "dl.open(url).append(ds.to_arrow())."
        )


def parents(commit: Commit) -> list[str]:
    """Return the parent of a commit and, for a merge, the version that it merged."""
    merged = commit.metadata.get("merge")
    return [p for p in (commit.parent, merged) if isinstance(p, str)]


@dataclass(frozen=True)
class Graph:
    """Versions and their parents, including merged and linked versions."""

    commits: Mapping[str, Commit]
    """Maps commit ids to the commits of existing versions."""
    parents: Mapping[str, set[str]]
    """Maps the commit id of each version to the ids of its existing parents."""

    @classmethod
    def read(cls, repository: Repository, starts: Collection[str]) -> Graph:
        """Read some versions and all their ancestors.

        A vacuum may cut histories at the same time. The vacuum records links first, so the graph is
        complete if the links are the same before and after the graph is read.
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
            line = _read_first_parents(repository, start, commits)
            commits.update(line)
            todo += [p for c in line.values() for p in (*parents(c), *links.get(c.id, ()))]
            if start not in line:  # a merge commit refers to it, but it has expired
                missing.add(start)
        existing_parents = {
            v: {p for p in (*parents(c), *links.get(v, ())) if p in commits}
            for v, c in commits.items()
        }
        return cls(commits, existing_parents)

    def ancestors(self, starts: Iterable[str]) -> set[str]:
        """Return the set of the given versions and all their ancestors."""
        ancestors, todo = set[str](), list(starts)
        while todo:
            version = todo.pop()
            if version in self.parents and version not in ancestors:
                ancestors.add(version)
                todo += self.parents[version]
        return ancestors

    def bases(self, ours: Iterable[str], theirs: str) -> list[str]:
        """Return the common ancestors that are not ancestors of each other, the newest first."""
        common = self.ancestors(ours) & self.ancestors([theirs])
        followed = {parent for version in common for parent in self.parents[version]}
        return sorted(common - followed, key=lambda v: self.commits[v].time, reverse=True)


def _read_first_parents(
    repository: Repository, start: str, known: Container[str]
) -> dict[str, Commit]:
    """Return a version and its ancestors up to the first version in `known`, by commit id.

    Merged versions are not followed.

    The result is empty if one of these versions does not exist. Icechunk's initial snapshot, the
    only one without a parent, is not a version.
    """
    line: dict[str, Commit] = {}
    try:
        for commit in repository.ancestry(start):
            if commit.id in known or commit.id in line or commit.parent is None:
                break
            line[commit.id] = commit
    except NotFoundError:
        return {}
    return line


def merge_bases(repository: Repository, ours: Iterable[str], theirs: str) -> list[str]:
    """Return the merge bases of two versions, newest first.

    A merge base is a common ancestor that is not an ancestor of another common ancestor. There is
    only one, except after criss-cross merges.

    Parameters
    ----------
    repository : Repository
        The lake.
    ours : iterable of str
        One version, or several versions that count as merged with each other.
    theirs : str
        The other version.

    Raises
    ------
    VersionNotFoundError
        When the versions have no common ancestor.
    """
    ours = list(ours)
    bases = Graph.read(repository, [*ours, theirs]).bases(ours, theirs)
    if not bases:
        raise VersionNotFoundError(
            f"Only versions with a common ancestor can be merged, but {', '.join(ours)} and "
            f"{theirs} have none. Append the rows of one version to the other instead."
        )
    return bases
