"""The commits that made a lake as it is: those that a restore has undone are not among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deeplake_lite.dataset.versions.history import Graph
from deeplake_lite.storage.edits import RESTORED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.storage.repo import Commit


@dataclass(frozen=True)
class Step:
    """A commit on the line of versions that led to a state."""

    commit: Commit
    before: str | None
    """The version whose rows it went on with: its parent, or the one that it restored."""
    joined: str | None = None
    """The version that it brought in beside that one."""

    @property
    def is_restore(self) -> bool:
        """Whether it put an older version in place of its parent."""
        return self.before != self.commit.parent


@dataclass(frozen=True)
class Past:
    """Versions that a lake comes from, and those that were restored of any branch.

    A restored version goes on from the older one, not from the one that it replaced. What others
    committed while the restore was staged stays: it is brought in as by a merge. Where a vacuum has
    deleted the older version, the restore is a commit like any other.
    """

    graph: Graph

    @classmethod
    def of(cls, ds: Dataset) -> Past:
        """Read the history behind a lake's version."""
        starts = [ds.version]
        while True:
            graph = Graph.read(ds.rows.lake.repository, starts)
            marks = map(_restored, graph.commits.values())
            more = {older for _, older in filter(None, marks)} - graph.commits.keys() - {*starts}
            if not more:
                return cls(graph)
            starts += more

    def line(self, version: str) -> Iterator[Step]:
        """Yield the commits that led to a version's rows, newest first; no branches beside it."""
        while version in self.graph.commits:
            step = self._step(self.graph.commits[version])
            yield step
            version = str(step.before)

    def commits(self, version: str) -> list[Commit]:
        """Return the commits that led to a version's rows, on branches beside its line, too."""
        found, todo = set[str](), [version]
        while todo:
            version = todo.pop()
            if version in found or version not in self.graph.commits:
                continue
            found.add(version)
            commit = self.graph.commits[version]
            if (mark := self._mark(commit)) is None:
                todo += self.graph.parents[version]
            else:
                replaced, older = mark
                meanwhile = self.graph.ancestors(self.graph.parents[version])
                found |= meanwhile - self.graph.ancestors([replaced])
                todo.append(older)
        return [self.graph.commits[version] for version in found]

    def bases(self, step: Step) -> list[str]:
        """Return the versions that a step compared with when it brought one in."""
        mark = self._mark(step.commit)
        if mark is not None:
            return [mark[0]]
        return self.graph.bases([str(step.before)], str(step.joined))

    def _step(self, commit: Commit) -> Step:
        mark = self._mark(commit)
        if mark is None:
            return Step(commit, commit.parent, self._there(commit.metadata.get("merge")))
        replaced, older = mark
        return Step(
            commit, older, self._there(commit.parent if commit.parent != replaced else None)
        )

    def _there(self, version: str | None) -> str | None:
        """Return a version unless a vacuum has deleted it."""
        return version if version in self.graph.commits else None

    def _mark(self, commit: Commit) -> tuple[str, str] | None:
        """Return what a restore replaced and by what, where the older version is there."""
        mark = _restored(commit)
        return mark if mark is not None and mark[1] in self.graph.commits else None


def _restored(commit: Commit) -> tuple[str, str] | None:
    """Return the version that a commit replaced by an older one, and that one, if it did."""
    match commit.metadata.get(RESTORED):
        case [str(replaced), str(older)]:
            return replaced, older
    return None
