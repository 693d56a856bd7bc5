"""Finding the commits that led to a version, except those that a restore has undone."""

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
    """A commit that led to a version."""

    commit: Commit
    before: str | None
    """The version on which the commit is based: its parent, or the version that it restored."""
    merged: str | None = None
    """The version that the commit merged into `before`, or None if it merged no version."""

    @property
    def is_restore(self) -> bool:
        """Whether the commit replaced its parent with an older version."""
        return self.before != self.commit.parent


@dataclass(frozen=True)
class Lineage:
    """The versions from which a lake descends, including versions restored from other branches.

    Before a restore, the lineage continues with the older version that was restored, not with the
    version that was replaced. Commits that others made while the restore was staged are part of the
    lineage, as if they were merged. If a vacuum has deleted the older version, the restore counts
    as an ordinary commit.
    """

    graph: Graph

    @classmethod
    def of(cls, ds: Dataset) -> Lineage:
        """Read the commits that led to the version of a dataset."""
        starts = [ds.version]
        while True:
            graph = Graph.read(ds.rows.lake.repository, starts)
            restores = map(_restore_of, graph.commits.values())
            more = {older for _, older in filter(None, restores)} - graph.commits.keys() - {*starts}
            if not more:
                return cls(graph)
            starts += more

    def line(self, version: str) -> Iterator[Step]:
        """Yield the steps that led to a version, newest first, without those of merged branches."""
        while version in self.graph.commits:
            step = self._step(self.graph.commits[version])
            yield step
            version = str(step.before)

    def commits(self, version: str) -> list[Commit]:
        """Return the commits that led to a version, including commits of merged branches."""
        versions, todo = set[str](), [version]
        while todo:
            version = todo.pop()
            if version in versions or version not in self.graph.commits:
                continue
            versions.add(version)
            commit = self.graph.commits[version]
            if (restore := self._restore(commit)) is None:
                todo += self.graph.parents[version]
            else:
                replaced, older = restore
                meanwhile = self.graph.ancestors(self.graph.parents[version])
                versions |= meanwhile - self.graph.ancestors([replaced])
                todo.append(older)
        return [self.graph.commits[version] for version in versions]

    def bases(self, step: Step) -> list[str]:
        """Return the merge bases of a step that merges a version."""
        restore = self._restore(step.commit)
        if restore is not None:
            return [restore[0]]
        return self.graph.bases([str(step.before)], str(step.merged))

    def _step(self, commit: Commit) -> Step:
        restore = self._restore(commit)
        if restore is None:
            return Step(commit, commit.parent, self._if_known(commit.metadata.get("merge")))
        replaced, older = restore
        return Step(
            commit, older, self._if_known(commit.parent if commit.parent != replaced else None)
        )

    def _if_known(self, version: str | None) -> str | None:
        """Return a version, or None if a vacuum has deleted it."""
        return version if version in self.graph.commits else None

    def _restore(self, commit: Commit) -> tuple[str, str] | None:
        """Return the version that a restore replaced, and the version that it restored.

        Return None for other commits, or if a vacuum has deleted the restored version.
        """
        restore = _restore_of(commit)
        return restore if restore is not None and restore[1] in self.graph.commits else None


def _restore_of(commit: Commit) -> tuple[str, str] | None:
    """Return the version that a restore replaced, and the version that it restored.

    Return None for other commits.
    """
    match commit.metadata.get(RESTORED):
        case [str(replaced), str(older)]:
            return replaced, older
    return None
