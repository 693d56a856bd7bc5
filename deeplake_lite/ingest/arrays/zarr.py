"""Ingesting Zarr groups."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import zarr
from zarr.storage import ZipStore

from deeplake_lite import checks
from deeplake_lite.codecs.limits import DEFAULT_LIMITS
from deeplake_lite.errors import InvalidValueError, NotFoundError, OptionError
from deeplake_lite.htypes import Bytes, Htype, Sequence, Text
from deeplake_lite.ingest.arrays.array_source import ArraySource, Part
from deeplake_lite.ingest.arrays.attributes import json_attributes, json_value
from deeplake_lite.ingest.arrays.numpy_files import columns_in, reading
from deeplake_lite.ingest.arrays.tree import DEEPEST, Columns, Tree
from deeplake_lite.ingest.files import fingerprint
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.source import Skipped
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence as Names

    from deeplake_lite.ingest.options import Options
    from deeplake_lite.ingest.result import IngestedDataset

VARIABLE_BYTES = 1_024
"""Estimated size of a string in bytes."""

_UNSAFE = {"pickle", "numcodecs.pickle"}
"""Codecs that could run code that is stored in the data."""


@takes_options
def from_zarr(
    group: object,
    url: str,
    *,
    on: str | None = None,
    columns: Names[str] | None = None,
    **options: Unpack[Options],
) -> IngestedDataset:
    """Ingest the arrays of a Zarr group as columns. The first axis of an array becomes the rows.

    Zarr formats 2 and 3 are supported.

    Parameters
    ----------
    group : str, Path, zarr.Group or zarr.Array
        The group or array, or its folder or ZIP file.
    url : str
        URL of the lake, which is created if it does not exist.
    on : str, optional
        The column that identifies rows. Rows that are already in the lake are updated if they
        differ. By default, all rows are appended, unless the same files were ingested before.
    columns : sequence of str, optional
        The columns to ingest, which must have the same length. By default, all columns.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        The committed dataset, whose attribute ``ingested`` summarizes the import. An array in a
        nested group becomes a column such as ``"group.x"``. Missing chunks are read as the fill
        value. Attributes and arrays without axes are stored in ``ds.metadata["zarr"]``.

    Raises
    ------
    NotFoundError
        If the group or a column does not exist.
    InvalidValueError
        If the group is damaged, if arrays have different lengths, or if an array uses a pickle
        codec, because pickled objects are never read.

    Examples
    --------
    >>> import numpy as np
    >>> import zarr
    >>> import deeplake_lite as dl
    >>> group = zarr.create_group({})
    >>> x = group.create_array("x", data=np.zeros((2, 3), "float32"))
    >>> ds = dl.from_zarr(group, "memory://from-zarr")
    >>> [f.htype for f in ds.schema]
    [Array('float32', (3,))]
    """
    opened, title, group_fingerprint = _open(group)
    with reading(title):
        tree = _read_tree(opened, title)
    part = Part(title, tree.select(columns))
    source = ArraySource(
        title, (part,), on, types_of(options.get("schema")), group_fingerprint, tree.left_out,
        {"zarr": tree.metadata} if tree.metadata else {}, options.get("limits", DEFAULT_LIMITS),
    )  # fmt: skip
    return ingest(source, url, **options)


def _open(group: Any) -> tuple[Any, str, str | None]:
    """Return an opened group or array, its name, and its fingerprint (None if it was open)."""
    if isinstance(group, zarr.Group | zarr.Array):
        return group, group.basename or "zarr", None
    if not isinstance(group, str | os.PathLike):
        raise OptionError(
            f"group must be a zarr.Group, zarr.Array or path, but its type is "
            f"{type(group).__name__}. Pass other arrays to dl.from_arrays."
        )
    path = Path(checks.location("group", group)).expanduser()
    if not path.exists():
        raise NotFoundError(f"There is no Zarr group at {str(path)!r}. Check the path.")
    files = (
        [str(p) for p in sorted(path.rglob("*")) if p.is_file()] if path.is_dir() else [str(path)]
    )
    with reading(str(path)):
        try:
            opened = zarr.open(_store(path), mode="r")
        except (FileNotFoundError, KeyError) as error:
            raise NotFoundError(
                f"There is no Zarr group at {str(path)!r}. Check the path."
            ) from error
    return opened, path.name, fingerprint(path, files)


def _store(path: Path) -> Any:
    """Return the store for a folder or a ZIP file."""
    return ZipStore(path, mode="r", read_only=True) if path.is_file() else path


def _read_tree(root: Any, title: str) -> Tree:
    """Return the columns and the metadata of a group or array."""
    columns, left_out = Columns(title), list[Skipped]()
    attributes, scalars = dict[str, object](), dict[str, object]()
    for path, node in _nodes(root, title):
        name = ".".join(path)
        if node_attributes := json_attributes(dict(node.attrs).items()):
            attributes[name or "/"] = node_attributes
        if isinstance(node, zarr.Group):
            continue
        where = f"{title}, {'/'.join(path)}" if path else title
        _check_codecs(node, where)
        if not node.shape:
            scalars[name] = json_value(np.asarray(node[()]).item())
        elif node.dtype.kind in "TO":
            columns.add({name or "values": ZarrTexts(node, where)})
        elif node.dtype.kind == "V" and node.dtype.names is None:
            left_out.append(Skipped(where, f"{node.dtype} is not supported"))
        else:
            columns.add(columns_in(ZarrRows(node, where), name or "values"))
    metadata = {"attributes": attributes, "values": scalars}
    items: dict[str, object] = {key: item for key, item in metadata.items() if item}
    return Tree(title, columns.by_name, items, tuple(left_out))


def _nodes(root: Any, title: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each node with its path: the root, and all arrays and groups below it."""
    todo: list[tuple[tuple[str, ...], Any]] = [((), root)]
    while todo:
        path, node = todo.pop(0)
        yield path, node
        if len(path) > DEEPEST:
            raise InvalidValueError(
                f"Groups may be nested at most {DEEPEST} levels deep, but the groups of {title} "
                "are nested more deeply. Move their arrays to groups nearer to the root."
            )
        if isinstance(node, zarr.Group):
            todo += [((*path, name), item) for name, item in sorted(node.members())]


def _check_codecs(array: Any, title: str) -> None:
    """Raise InvalidValueError if an array has a pickle codec, which could run code."""
    names = {str(_codec_name(codec)) for codec in _codecs(array.metadata)}
    if names & _UNSAFE:
        raise InvalidValueError(
            f"{title!r} must not contain pickled objects, because reading them could run arbitrary "
            "code. Leave the array out, or write it with another codec."
        )


def _codecs(metadata: Any) -> Iterator[Any]:
    for name in ("codecs", "filters"):
        yield from getattr(metadata, name, None) or ()
    compressor = getattr(metadata, "compressor", None)
    if compressor is not None:
        yield compressor


def _codec_name(codec: Any) -> object:
    return getattr(codec, "codec_name", None) or getattr(codec, "codec_id", None) or type(codec)


@dataclass(frozen=True)
class ZarrRows:
    """A Zarr array of numbers, times or structures."""

    array: Any
    title: str

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the array."""
        dtype: np.dtype[Any] = np.dtype(self.array.dtype)
        return dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return tuple(self.array.shape)

    def read(self, start: int, stop: int) -> Any:
        """Return the given rows."""
        with reading(self.title):
            return np.asarray(self.array[start:stop])


@dataclass(frozen=True)
class ZarrTexts:
    """A column for a Zarr array of strings or bytes of variable length."""

    array: Any
    title: str

    def __len__(self) -> int:
        return int(self.array.shape[0])

    @cached_property
    def htype(self) -> Htype:
        """Type of the values."""
        kinds = {str(_codec_name(codec)) for codec in _codecs(self.array.metadata)}
        is_bytes = any("vlen-bytes" in kind or "variable_length_bytes" in kind for kind in kinds)
        htype: Htype = Bytes() if is_bytes else Text()
        for _ in self.array.shape[1:]:
            htype = Sequence(htype)
        return htype

    @property
    def row_bytes(self) -> int:
        """Estimated size of a value in bytes."""
        return int(VARIABLE_BYTES * math.prod(self.array.shape[1:]))

    def read(self, start: int, stop: int) -> Any:
        """Return the values of the given rows."""
        with reading(self.title):
            return np.asarray(self.array[start:stop]).astype(object).tolist()
