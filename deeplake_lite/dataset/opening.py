"""Where datasets come from: a lake that is made, or opened at a branch or a version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.codecs.limits import DEFAULT_LIMITS, Limits
from deeplake_lite.dataset.dataset import Dataset
from deeplake_lite.dataset.handle import Handle
from deeplake_lite.dataset.selection import Lake
from deeplake_lite.dataset.versions import history
from deeplake_lite.errors import OptionError
from deeplake_lite.schema import Schema
from deeplake_lite.storage.repo import Repository, settled
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping


def create(
    url: str,
    schema: Mapping[str, Any] | Schema,
    *,
    metadata: Mapping[str, Any] | None = None,
    overwrite: bool = False,
    allow: list[str] | tuple[str, ...] = (),
    limits: Limits = DEFAULT_LIMITS,
    storage_options: Mapping[str, Any] | None = None,
) -> Dataset:
    """Make a new lake, and open its branch ``main``.

    Parameters
    ----------
    url : str
        A folder that is new or empty, ``memory://name``, ``s3://bucket/prefix``, ``gs://…`` or
        ``az://…``.
    schema : mapping
        Type of each column, by name: an htype such as ``dl.Image("jpeg")``, or a dtype name.
    metadata : mapping, optional
        Notes on the dataset, JSON.
    overwrite : bool
        Whether a lake that is in the folder is replaced, with all its versions. It stays until the
        new one is whole. Anything that is no lake is never touched, and is an error; so is a lake
        on an object store, where nothing can be put in its place at once.
    allow, limits
        As for `open`.
    storage_options : mapping, optional
        What an object store needs: region, endpoint_url, credentials. By default its environment
        variables.

    Returns
    -------
    Dataset
        No rows, writable.

    Raises
    ------
    ExistsError
        Where there is a lake already, unless it is to be replaced, or anything else.
    SchemaError
        For a schema that contradicts itself.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> schema = {"image": dl.Image("jpeg"), "label": dl.ClassLabel(["rose"])}
    >>> ds = dl.create("memory://flowers", schema)
    >>> ds.columns
    ('image', 'label')
    >>> dl.create("memory://flowers", {"x": "int32"}, overwrite=True).columns
    ('x',)
    """
    built = schema if isinstance(schema, Schema) else Schema.build(schema)
    notes = checks.mapping("metadata", metadata)
    place, options = checks.location("url", url), checks.mapping("storage_options", storage_options)
    overwrite, roots = checks.flag("overwrite", overwrite), _roots(allow)
    _check_limits(limits)
    with Repository.creating(place, options, overwrite=overwrite) as repository:
        Table.create(repository, built, notes)
    return open(place, allow=roots, limits=limits, storage_options=options)


def open(
    url: str,
    *,
    version: history.Version | None = None,
    branch: str = "main",
    allow: list[str] | tuple[str, ...] = (),
    limits: Limits = DEFAULT_LIMITS,
    storage_options: Mapping[str, Any] | None = None,
    verify: Literal["read"] | None = None,
) -> Dataset:
    """Open a lake: a branch to write to, or a version that never moves.

    Parameters
    ----------
    url : str
        Where the lake is.
    version : str, datetime, date or Commit, optional
        A tag, branch, commit id (or its beginning), time, day (its first moment, local time), or a
        commit of ``ds.log()``. The dataset is then read-only.
    branch : str
        The branch to open when no version is given.
    allow : list of str
        Roots under which linked files may be read: folders or URL prefixes.
    limits : Limits
        How much memory one picture, mask or compressed array may take once decoded, when it is
        appended and when it is read: 268 million pixels and 512 MiB, unless you say otherwise:
        ``limits=dl.Limits(max_pixels=…, max_bytes=…)``.
    storage_options : mapping, optional
        What an object store needs.
    verify : {"read"}, optional
        Compare everything that is read with the checksum or hash that was noted for its place in
        the lake, so that a swapped, copied or older file raises a DamagedError. By default only
        the checksums within chunks are checked, and ``ds.verify()`` compares everything at once.

    Returns
    -------
    Dataset
        At a branch's tip, writable, or at a version that never moves.

    Raises
    ------
    LakeNotFoundError
        When there is no lake.
    VersionNotFoundError
        When there is no such version or branch.
    FormatError
        When a newer release wrote it.
    DamagedError
        When the lake's document, or its history, is not what was written.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://open-doc", {"x": "int32"})
    >>> ds.tag("v1")
    >>> dl.open("memory://open-doc").current_branch
    'main'
    >>> dl.open("memory://open-doc", version="v1").read_only
    True
    """
    checks.choice("verify", verify, (None, "read"), "To read everything once, use ds.verify().")
    options = checks.mapping("storage_options", storage_options)
    _check_limits(limits)
    repository = Repository.open(checks.location("url", url), options, limits)
    if verify == "read":
        repository = repository.checking()
    lake = Lake(repository, options, _roots(allow))
    if version is None:
        return at_branch(lake, branch)
    reader = repository.reader(history.resolve(repository, version))
    lake = lake.at(None, history.version_name(version))
    return Dataset(Handle(lake, Table.open(repository, reader)))


def open_for(lake: Lake, url: str, version: history.Version | None = None) -> Dataset:
    """Open what a query or a view of a lake names by its URL, read as carefully as that lake is.

    Limits and checks are those of the lake's handle. Its credentials and its roots of links go to
    the lake itself alone, and to no other.

    Parameters
    ----------
    lake : Lake
        The lake that is asked.
    url, version
        As for `open`.

    Raises
    ------
    LakeNotFoundError, VersionNotFoundError, FormatError, DamagedError
        As `open`.
    """
    repository = lake.repository
    own = settled(checks.location("url", url)) == repository.url
    return open(
        url,
        version=version,
        allow=lake.allow if own else (),
        limits=repository.limits,
        storage_options=lake.options if own else None,
        verify="read" if repository.checks_reads else None,
    )


def exists(url: str, *, storage_options: Mapping[str, Any] | None = None) -> bool:
    """Tell whether there is a lake at `url`."""
    options = checks.mapping("storage_options", storage_options)
    return Repository.exists(checks.location("url", url), options)


def _roots(allow: Any) -> tuple[str, ...]:
    """Return where links may lead. Raises OptionError.

    >>> _roots("pictures"), _roots(["pictures", "s3://bucket"])
    (('pictures',), ('pictures', 's3://bucket'))
    """
    roots = allow if isinstance(allow, list | tuple) else [allow]
    return tuple(checks.location("allow", root) for root in roots)


def _check_limits(limits: Any) -> None:
    """Refuse what are no limits. Raises OptionError."""
    if not isinstance(limits, Limits):
        raise OptionError(
            f"limits are given as dl.Limits(max_pixels=…, max_bytes=…), got {brief(limits, 80)}."
        )


def at_branch(lake: Lake, branch: str) -> Dataset:
    """Return a branch's tip, to write on. Raises VersionNotFoundError."""
    tip = history.check_branch(lake.repository, branch)
    table = Table.open(lake.repository, lake.repository.reader(tip))
    return Dataset(Handle(lake.at(branch, branch), table))
