"""The part of the browser that lists branches, tags and commits, and shows versions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deeplake_lite.dataset.dataset import Dataset
from deeplake_lite.dataset.handle import Handle
from deeplake_lite.dataset.opening import at_branch
from deeplake_lite.dataset.versions import history
from deeplake_lite.storage.table import Table
from deeplake_lite.widget import fields
from deeplake_lite.widget.edits.editing import Editing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.dataset.selection import Lake
    from deeplake_lite.widget.messages import Pack
    from deeplake_lite.widget.parts import Handler, Host, Request

MAX_COMMITS = 500
"""Maximum number of listed commits."""


class Versions:
    """The part of the browser that lists and shows versions of the lake."""

    def __init__(self, host: Host) -> None:
        self._host = host

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """The methods that answer requests, by the type of the request."""
        return {"versions": self.versions, "show_version": self.show_version}

    def versions(self, request: Request, pack: Pack) -> dict[str, object]:  # noqa: ARG002
        """Return the branches, the tags, and the newest commits.

        The commits are those of all branches and of the shown version.
        """
        shown = self._host.shown
        repository = shown.base.rows.lake.repository
        branches, tags = history.branches(repository), history.tags(repository)
        names: dict[str, list[str]] = {}
        for name, commit in [*branches.items(), *tags.items()]:
            names.setdefault(commit, []).append(name)
        tips = [shown.base.version, *branches.values()]
        commits = {
            c.id: c
            for tip in dict.fromkeys(tips)
            for c in history.history(repository, tip, MAX_COMMITS)
        }
        newest = sorted(commits.values(), key=lambda c: c.time, reverse=True)[:MAX_COMMITS]
        return {
            "branches": sorted(branches),
            "tags": sorted(tags),
            "commits": [
                {
                    "id": c.id,
                    "message": c.message,
                    "time": c.time.isoformat(),
                    "names": names.get(c.id, []),
                }
                for c in newest
            ],
            "shown": shown.base.version,
        }

    def show_version(self, request: Request, pack: Pack) -> dict[str, object]:  # noqa: ARG002
        """Browse a branch, which can be edited, or any other version, which is read-only."""
        host = self._host
        host.part(Editing).check_none("another version is shown")
        host.browse(open_version(host.shown.base.rows.lake, fields.text(request, "version")))
        about = host.about
        return {
            "rows": len(host.shown.view),
            "version": about["version"],
            "branch": about["branch"],
            "writable": about["writable"],
        }


def open_version(lake: Lake, version: str) -> Dataset:
    """Return a writable dataset on a branch, or a read-only dataset at any other version.

    Raises VersionNotFoundError.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://open-version-doc", {"x": "int32"})
    >>> ds.tag("v1")
    >>> open_version(ds.rows.lake, "main").current_branch
    'main'
    >>> open_version(ds.rows.lake, "v1").read_only
    True
    """
    repository = lake.repository
    if version in history.branch_names(repository):
        return at_branch(lake, version)
    reader = repository.reader(history.resolve(repository, version))
    return Dataset(Handle(lake.at(None, version), Table.open(repository, reader)))
