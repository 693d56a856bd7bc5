"""The functions that create a lake, and open a lake at a branch or a version."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.codecs.limits import DEFAULT_LIMITS, Limits
from deeplake_lite.dataset.dataset import Dataset
from deeplake_lite.dataset.handle import Handle
from deeplake_lite.dataset.selection import Lake
from deeplake_lite.dataset.versions import history
from deeplake_lite.errors import OptionError
from deeplake_lite.schema import Schema
from deeplake_lite.storage.repo import Repository, absolute_url, creating, is_web
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping


def create(
    url: str,
    schema: Mapping[str, object] | Schema,
    *,
    metadata: Mapping[str, object] | None = None,
    overwrite: bool = False,
    allow: list[str] | tuple[str, ...] = (),
    limits: Limits = DEFAULT_LIMITS,
    storage_options: Mapping[str, object] | None = None,
) -> Dataset:
    """Create a lake, and open its branch ``main``.

    Parameters
    ----------
    url : str
        A new or empty folder, ``memory://name``, ``s3://bucket/prefix``, ``gs://…`` or ``az://…``.
    schema : mapping
        Maps column names to types, each an htype such as ``dl.Image("jpeg")`` or a dtype name.
    metadata : mapping, optional
        Metadata of the dataset, a dict of JSON values.
    overwrite : bool
        Whether to replace an existing lake in the folder, with all its versions. The old lake stays
        until the new one is complete. A folder that holds anything other than a lake is not
        touched; an error is raised instead. A lake on an object store cannot be replaced, because
        object stores cannot do this atomically.
    allow, limits
        As for `open`.
    storage_options : mapping, optional
        Options of the object store: region, endpoint_url, credentials, time-outs and retries. By
        default, credentials come from the environment. See the guide on remote stores.

    Returns
    -------
    Dataset
        The new, empty dataset.

    Raises
    ------
    ExistsError
        When the location is not empty, unless it holds a lake and `overwrite` is true.
    SchemaError
        When the schema is not valid.

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
    attributes = checks.mapping("metadata", metadata)
    location = checks.location("url", url)
    options = checks.mapping("storage_options", storage_options)
    overwrite, roots = checks.flag("overwrite", overwrite), _check_roots(allow)
    _check_limits(limits)
    with creating(location, options, overwrite=overwrite) as repository:
        Table.create(repository, built, attributes)
    return open(location, allow=roots, limits=limits, storage_options=options)


def open(
    url: str,
    *,
    version: history.Version | None = None,
    branch: str = "main",
    allow: list[str] | tuple[str, ...] = (),
    limits: Limits = DEFAULT_LIMITS,
    storage_options: Mapping[str, object] | None = None,
    verify: Literal["read"] | None = None,
) -> Dataset:
    """Open a branch of a lake for reading and writing, or a fixed version for reading.

    Parameters
    ----------
    url : str
        URL or folder of the lake. A lake at ``https://…`` is read-only, and so is one on the
        Hugging Face hub, at ``hf://datasets/USER/REPO[@REVISION]/PATH``.
    version : str, datetime, date or Commit, optional
        Version to open read-only: a tag, branch, commit id (or its beginning), time, day (its
        beginning, in local time), or a commit from ``ds.log()``.
    branch : str
        Branch to open if no version is given.
    allow : list of str
        Roots under which linked files may be read: folders or URL prefixes.
    limits : Limits
        Limits on a single decoded image, mask or compressed array, both for appending and for
        reading. The default is 268 million pixels and 512 MiB; to change it, pass
        ``limits=dl.Limits(max_pixels=…, max_bytes=…)``.
    storage_options : mapping, optional
        Options of the object store, as for `create`.
    verify : {"read"}, optional
        With ``"read"``, all data read is compared with the checksum or hash recorded for its
        position in the lake, so that a swapped, copied or outdated file raises DamagedError. By
        default, only the checksums within chunks are checked. To check all data at once, call
        ``ds.verify()``.

    Returns
    -------
    Dataset
        The dataset, writable at the tip of a branch, or read-only at a version.

    Raises
    ------
    LakeNotFoundError
        When there is no lake at the URL.
    VersionNotFoundError
        When there is no such version or branch.
    FormatError
        When a newer release wrote the lake.
    DamagedError
        When the lake's document or history is damaged.

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
    lake = Lake(repository, options, _check_roots(allow))
    if version is None and is_web(repository.url):
        version = history.check_branch(repository, branch)
    if version is None:
        return at_branch(lake, branch)
    reader = repository.reader(history.resolve(repository, version))
    lake = lake.at(None, history.version_name(version))
    return Dataset(Handle(lake, Table.open(repository, reader)))


def open_for(lake: Lake, url: str, version: history.Version | None = None) -> Dataset:
    """Open a lake that a query or a saved view refers to by URL, with the settings of `lake`.

    The opened lake has the same limits and verifies reads in the same way. The storage options and
    the roots of links are the same only if the URL is that of `lake` itself, so that credentials
    never reach another store.

    Parameters
    ----------
    lake : Lake
        The lake of the query or the saved view.
    url, version
        As for `open`.

    Raises
    ------
    LakeNotFoundError, VersionNotFoundError, FormatError, DamagedError
        As for `open`.
    """
    repository = lake.repository
    is_same = absolute_url(checks.location("url", url)) == repository.url
    return open(
        url,
        version=version,
        allow=lake.allow if is_same else (),
        limits=repository.limits,
        storage_options=lake.options if is_same else None,
        verify="read" if repository.checks_reads else None,
    )


def exists(url: str, *, storage_options: Mapping[str, object] | None = None) -> bool:
    """Return whether there is a lake at `url`."""
    options = checks.mapping("storage_options", storage_options)
    return Repository.exists(checks.location("url", url), options)


def _check_roots(allow: object) -> tuple[str, ...]:
    """Return the roots under which linked files may be read. Raises OptionError.

    >>> _check_roots("images"), _check_roots(["images", "s3://bucket"])
    (('images',), ('images', 's3://bucket'))
    """
    roots = allow if isinstance(allow, list | tuple) else [allow]
    return tuple(checks.location("allow", root) for root in roots)


def _check_limits(limits: object) -> None:
    """Reject values that are not `Limits`. Raises OptionError."""
    if not isinstance(limits, Limits):
        raise OptionError(
            "limits must be a dl.Limits, such as dl.Limits(max_pixels=10**9), but it is "
            f"{brief(limits, 80)}."
        )


def at_branch(lake: Lake, branch: str) -> Dataset:
    """Return a dataset at the tip of a branch. Raises VersionNotFoundError."""
    table = Table.open(lake.repository, history.branch_reader(lake.repository, branch))
    return Dataset(Handle(lake.at(branch, branch), table))
