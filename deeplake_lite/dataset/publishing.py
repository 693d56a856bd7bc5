"""Publishing: a copy of one version of a lake, without anything else, for others to read.

The rows are written contiguously to a new lake that has a single version. Its folder can be served
by any web server, or uploaded to the Hugging Face hub. Tags, saved views and saved evaluations of
the version are copied, unless a view reads other versions or lakes as well.

A local lake is written to a staging folder, which gets its final name at the end. On an object
store, the lake can be opened as soon as the rows are complete. If a process is killed before that,
the next process starts over, and deletes everything that the first one wrote.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.dataset import lazy_calls
from deeplake_lite.dataset.saved import auxiliary, evaluations
from deeplake_lite.dataset.versions import history
from deeplake_lite.dataset.versions.viewed import (
    KEY,
    parts_of,
    view_documents,
    views_session,
    with_version,
)
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import ExistsError, LakeError, OptionError, ReadOnlyError
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.storage.repo import (
    Repository,
    creating,
    is_web,
    local_folder,
    overlap,
    remove_notes,
    run,
    vacuums,
)
from deeplake_lite.storage.repo.index_refs import index_names
from deeplake_lite.storage.repo.lake_refs import SKEW
from deeplake_lite.storage.state import add_digest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.handle import Handle
    from deeplake_lite.schema import Schema
    from deeplake_lite.storage.repo import Commit
    from deeplake_lite.storage.table import Table

RECORD = "published"
"""Key in the metadata of a published version. The value has the id and time of the original."""


@dataclass(frozen=True)
class Published:
    """A published version."""

    url: str
    """URL of the new lake."""
    version: str
    """Id of its only version."""
    rows: int
    """Number of rows."""
    tags: tuple[str, ...]
    """Names of the tags that were copied."""
    views: tuple[str, ...]
    """Names of the saved views that were copied."""
    evaluations: tuple[str, ...]
    """Names of the saved evaluations that were copied."""
    left_out: tuple[str, ...]
    """Parts of the original lake that were not copied: older versions, branches, names of other
    versions, indexes, and files to which cells link."""
    files: int | None = None
    """Number of files; None on an object store."""
    bytes: int | None = None
    """Total size of the files; None on an object store."""


@dataclass(frozen=True)
class _Saved:
    """Saved views and evaluations of one version."""

    views: dict[str, Any] = field(default_factory=dict)
    """Maps names to documents."""
    evaluations: dict[str, Any] = field(default_factory=dict)
    """Maps names to documents."""
    others: tuple[str, ...] = ()
    """Descriptions of the views and evaluations that read something else, or are damaged."""
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    """Maps paths to the arrays of the documents."""


@dataclass(frozen=True)
class _Content:
    """Everything that is published."""

    table: Table
    """The version, without edits."""
    commit: Commit
    """The commit of the version."""
    tags: tuple[str, ...]
    """Names of its tags."""
    saved: _Saved
    """Its saved views and evaluations."""
    left_out: tuple[str, ...]
    """Descriptions of everything that is not published."""
    lineage: Mapping[str, object]
    """The record of the columns' lineage, without the location of the lake."""

    @classmethod
    def of(cls, handle: Handle) -> _Content:
        """Collect everything that belongs to the version of a dataset."""
        repository, version, table = handle.repository, handle.version, handle.open(handle.version)
        saved, commit = _read_saved(repository, version), next(repository.ancestry(version))
        tags = tuple(name for name, v in history.tags(repository).items() if v == version)
        others = (*_left_out(repository, version), *saved.others, *_linked(table.schema))
        view = View(handle.rows(), tuple(f.name for f in table.schema), "")
        lineage = lazy_calls.record_copy(view, "publish", with_places=False)
        return cls(table, commit, tags, saved, others, lineage)

    def write_rows(self, target: Repository) -> None:
        """Write the rows as the first version of an empty repository."""
        target.limits = self.table.repository.limits
        record = {"version": self.commit.id, "time": self.commit.time.isoformat()}
        metadata = {**self.lineage, RECORD: record}
        self.table.copy_to(target, self.commit.message, metadata)

    def write_names(self, target: Repository) -> None:
        """Write the tags, saved views and evaluations that a published lake does not have yet."""
        version, existing = target.tip("main"), history.tags(target)
        for name in self.tags:
            if name not in existing:
                target.create_tag(name, version)
        if (self.saved.views or self.saved.evaluations) and views_session(target) is None:
            self._write_saved(target, version)

    def _write_saved(self, target: Repository, version: str) -> None:
        session, saved = auxiliary.writer(target), self.saved
        views = {name: with_version(d, version) for name, d in saved.views.items()}
        run(session.set_attributes({KEY: add_digest({"views": views})}))
        if saved.evaluations:
            documents = {name: {**d, "version": version} for name, d in saved.evaluations.items()}
            run(session.set_attributes({evaluations.KEY: add_digest({"evaluations": documents})}))
        run(auxiliary.put_arrays(session, saved.arrays))
        session.commit("saved views and evaluations of the published version")

    def check_names(self, existing: Repository, location: str) -> None:
        """Reject a lake whose tags, saved views or evaluations differ from the ones to publish.

        Raises
        ------
        ExistsError
        """
        session = views_session(existing)
        for kind, there, here in (
            ("tags", history.tags(existing), self.tags),
            ("saved views", view_documents(existing, session), self.saved.views),
            ("saved evaluations", evaluations.documents(session), self.saved.evaluations),
        ):
            if sorted(there) != sorted(here):
                raise ExistsError(
                    f"This version has been published to {location!r} before, but its {kind} have "
                    f"changed since: they were {brief(sorted(there), 200)}, and are now "
                    f"{brief(sorted(here), 200)}. Publish to another URL, or replace the lake with "
                    "overwrite=True if it is in a folder."
                )

    def describe(self, target: Repository, location: str) -> Published:
        """Return the description of a published lake, with the number and size of its files."""
        folder, sizes = local_folder(target.url), None
        if folder is not None:
            sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
        return Published(
            location,
            target.tip("main"),
            len(self.table),
            self.tags,
            tuple(self.saved.views),
            tuple(self.saved.evaluations),
            self.left_out,
            None if sizes is None else len(sizes),
            None if sizes is None else sum(sizes),
        )


def publish(
    handle: Handle, url: str, *, overwrite: bool, storage_options: Mapping[str, object] | None
) -> Published:
    """Copy one version to a new lake; see `Dataset.publish`."""
    handle.rows().check_committed("A published lake")
    location, overwrite = checks.location("url", url), checks.flag("overwrite", overwrite)
    options = checks.mapping("storage_options", storage_options)
    _check_target(handle.url, location)
    content, begun = _Content.of(handle), datetime.now(UTC)
    existing, is_local = _repository_at(location, options), local_folder(location) is not None
    if existing is not None and overwrite and is_local:
        _check_replaceable(existing, location)
    elif existing is not None and _origin(existing) == content.commit.id:
        if not is_local:  # the process that wrote the rows may have been killed
            content.write_names(existing)
        content.check_names(existing, location)
        return content.describe(existing, location)
    with creating(location, options, overwrite=overwrite, unfinished=True) as target:
        content.write_rows(target)
        if existing is not None and not is_local:
            vacuums.collect(target, begun - SKEW, dry_run=False)
        content.write_names(target)
        if (folder := local_folder(target.url)) is not None:
            remove_notes(folder)
        return content.describe(target, location)


def _check_target(source: str, location: str) -> None:
    """Reject places to which a lake cannot be published. Raises ReadOnlyError, OptionError."""
    if is_web(location):
        raise ReadOnlyError(
            f"A lake is published to a folder or an object store, but {location!r} is on a web "
            "server, where it can only be read. Publish to a folder, and upload the folder, for "
            "example with: hf upload USER/REPO FOLDER --repo-type dataset."
        )
    if overlap(source, location):
        raise OptionError(
            f"A lake must be published outside its own folder, but {location!r} is in the lake, or "
            "contains it. Choose another folder or URL."
        )


def _repository_at(location: str, options: Mapping[str, object]) -> Repository | None:
    """Return the repository at a URL, or None if there is none."""
    return Repository.open(location, options) if Repository.exists(location, options) else None


def _origin(repository: Repository) -> str | None:
    """Return the id of the version that was published to a repository, or None for other lakes."""
    with contextlib.suppress(LakeError):
        tip = next(repository.ancestry(repository.tip("main")))
        record = tip.metadata.get(RECORD)
        return record.get("version") if isinstance(record, dict) else None
    return None


def _check_replaceable(existing: Repository, location: str) -> None:
    """Reject a lake that was not published, which may be the only copy of its history."""
    if _origin(existing) is None:
        raise ExistsError(
            f"Only a published lake can be replaced by another one, but the lake at {location!r} "
            "was not made by publishing. Choose another URL, or delete that lake first."
        )


def _left_out(repository: Repository, version: str) -> tuple[str, ...]:
    """Describe the versions, branches, tags and indexes of a lake that are not published."""
    older = len(history.history(repository, version)) - 1
    parts = [pluralize(older, "older version")] if older else []
    for kind, names in (
        ("branch", history.branches(repository)),
        ("tag", history.tags(repository)),
    ):
        parts += [f"{kind} {name!r}" for name, v in names.items() if v != version]
    indexes = len(index_names(repository.branch_names()))
    if indexes:
        parts.append(f"{pluralize(indexes, 'index')} (build them in the copy: ds.create_index)")
    return tuple(parts)


def _linked(schema: Schema) -> Iterator[str]:
    """Describe the files to which columns link."""
    for column in schema:
        htype = column.htype
        while htype.item is not None:
            htype = htype.item
        if htype.target is not None:
            yield f"linked files of column {column.name!r}"


def _read_saved(repository: Repository, version: str) -> _Saved:
    """Return the saved views and evaluations that read only the given version."""
    session, others = views_session(repository), list[str]()
    if session is None:
        return _Saved()
    kept: dict[str, dict[str, Any]] = {"view": {}, "evaluation": {}}
    arrays: dict[str, NDArray[Any]] = {}
    for kind, documents in (
        ("view", view_documents(repository, session)),
        ("evaluation", evaluations.documents(session)),
    ):
        for name, document in documents.items():
            noun = f"{kind} {name!r}"
            try:
                parts = list(parts_of(document))
                if any(p.get("url") is not None or p["version"] != version for p in parts):
                    others.append(f"saved {noun}")
                    continue
                paths = [part["array"] for part in parts if "array" in part]
                arrays |= {p: run(auxiliary.read_array(session, p, noun)) for p in paths}
            except (*auxiliary.DAMAGE, LakeError):
                others.append(f"saved {noun}, which is damaged")
                continue
            kept[kind][name] = document
    return _Saved(kept["view"], kept["evaluation"], tuple(others), arrays)
