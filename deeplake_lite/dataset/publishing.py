"""Publishing: a copy of one version of a lake, without anything else, for others to read.

The rows are written contiguously to a new lake that has a single version. Its folder can be served
by any web server, or uploaded to the Hugging Face hub. Tags, saved views and saved evaluations of
the version are copied, unless a view reads other versions or lakes as well.

A local lake is written to a staging folder, which gets its final name at the end. On an object
store, the lake can be opened as soon as the rows are complete. If a process is killed before that,
the next one begins again, and deletes what the first has written.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from deeplake_lite import checks
from deeplake_lite.dataset.saved import auxiliary, evaluations
from deeplake_lite.dataset.versions import history
from deeplake_lite.dataset.versions.viewed import (
    KEY,
    parts_of,
    view_documents,
    views_session,
    with_version,
)
from deeplake_lite.errors import ExistsError, LakeError, OptionError, ReadOnlyError
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.storage.repo import (
    Repository,
    absolute_url,
    creating,
    is_web,
    local_folder,
    remove_notes,
    run,
    vacuums,
)
from deeplake_lite.storage.repo.lake_refs import SKEW
from deeplake_lite.storage.state import add_digest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.handle import Handle

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
    """What the original lake has in addition: older versions, branches, names of other versions."""
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


def publish(
    handle: Handle, url: str, *, overwrite: bool, storage_options: Mapping[str, object] | None
) -> Published:
    """Copy one version to a new lake; see `Dataset.publish`."""
    handle.rows().check_committed("A published lake")
    location, overwrite = checks.location("url", url), checks.flag("overwrite", overwrite)
    options = checks.mapping("storage_options", storage_options)
    repository, version = handle.repository, handle.version
    table = handle.open(version)
    _check_target(repository.url, location)
    tags = tuple(name for name, v in history.tags(repository).items() if v == version)
    saved, left_out = _read_saved(repository, version), _left_out(repository, version)
    left_out = (*left_out, *saved.others)
    existing = _published_at(location, options)
    if existing is not None and overwrite and local_folder(location) is not None:
        _check_replaceable(existing, location)
    elif existing is not None and _origin(existing) == version:
        if local_folder(location) is None:
            _add_names(
                existing, tags, saved
            )  # the process that wrote the rows may have been killed
        _check_names(existing, location, tags, saved)
        return _describe(existing, location, len(table), tags, saved, left_out)
    source, begun = next(repository.ancestry(version)), datetime.now(UTC)
    record = {RECORD: {"version": version, "time": source.time.isoformat()}}
    with creating(location, options, overwrite=overwrite, unfinished=True) as target:
        target.limits = repository.limits
        table.copy_to(target, source.message, record)
        if existing is not None:
            vacuums.collect(target, begun - SKEW, dry_run=False)
        _add_names(target, tags, saved)
        if (folder := local_folder(target.url)) is not None:
            remove_notes(folder)
        return _describe(target, location, len(table), tags, saved, left_out)


def _check_target(source: str, location: str) -> None:
    """Reject places to which a lake cannot be published. Raises ReadOnlyError, OptionError."""
    if is_web(location):
        raise ReadOnlyError(
            f"A lake is published to a folder or an object store, but {location!r} is on a web "
            "server, where it can only be read. Publish to a folder, and upload the folder, for "
            "example with: hf upload USER/REPO FOLDER --repo-type dataset."
        )
    folders = [local_folder(source), local_folder(location)]
    is_same = absolute_url(location) == source
    if None not in folders:
        is_same = len({folder.resolve() for folder in folders if folder}) < len(folders)
    if is_same:
        raise OptionError(
            f"A lake must be published to another place, but {location!r} is the lake itself. "
            "Choose another folder or URL."
        )


def _published_at(location: str, options: Mapping[str, object]) -> Repository | None:
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
            "was not made by publishing. Choose another place, or delete that lake first."
        )


def _left_out(repository: Repository, version: str) -> tuple[str, ...]:
    """Describe the versions, branches and tags of a lake that are not published."""
    older = len(history.history(repository, version)) - 1
    parts = [pluralize(older, "older version")] if older else []
    for kind, names in (
        ("branch", history.branches(repository)),
        ("tag", history.tags(repository)),
    ):
        parts += [f"{kind} {name!r}" for name, v in names.items() if v != version]
    return tuple(parts)


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


def _add_names(target: Repository, tags: Iterable[str], saved: _Saved) -> None:
    """Write those tags, saved views and evaluations that a published lake does not have yet."""
    version, there = target.tip("main"), history.tags(target)
    for name in tags:
        if name not in there:
            target.create_tag(name, version)
    if (saved.views or saved.evaluations) and views_session(target) is None:
        session = auxiliary.writer(target)
        views = {name: with_version(d, version) for name, d in saved.views.items()}
        measured = {name: {**d, "version": version} for name, d in saved.evaluations.items()}
        run(session.set_attributes({KEY: add_digest({"views": views})}))
        if measured:
            run(session.set_attributes({evaluations.KEY: add_digest({"evaluations": measured})}))
        run(auxiliary.put_arrays(session, saved.arrays))
        session.commit("saved views and evaluations of the published version")


def _check_names(existing: Repository, location: str, tags: Iterable[str], saved: _Saved) -> None:
    """Reject a published lake whose tags, saved views and evaluations differ from those to publish.

    Raises
    ------
    ExistsError
    """
    session = views_session(existing)
    there = {
        "tags": sorted(history.tags(existing)),
        "saved views": sorted(view_documents(existing, session)),
        "saved evaluations": sorted(evaluations.documents(session)),
    }
    here = {
        "tags": sorted(tags),
        "saved views": sorted(saved.views),
        "saved evaluations": sorted(saved.evaluations),
    }
    if changed := [kind for kind, names in here.items() if names != there[kind]]:
        raise ExistsError(
            f"This version has been published to {location!r} before, but its {changed[0]} have "
            f"changed: they were {there[changed[0]]}, and are now {here[changed[0]]}. Publish to "
            "another place or, in a folder, replace the lake with overwrite=True."
        )


def _describe(
    target: Repository,
    location: str,
    rows: int,
    tags: tuple[str, ...],
    saved: _Saved,
    left_out: tuple[str, ...],
) -> Published:
    """Return the description of a published lake, with the number and size of its files."""
    folder = local_folder(target.url)
    sizes = None
    if folder is not None:
        sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return Published(
        location,
        target.tip("main"),
        rows,
        tags,
        tuple(saved.views),
        tuple(saved.evaluations),
        left_out,
        None if sizes is None else len(sizes),
        None if sizes is None else sum(sizes),
    )
