"""Ingesting NumPy's npy and npz files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from deeplake_lite import checks
from deeplake_lite.codecs.limits import DEFAULT_LIMITS
from deeplake_lite.errors import InvalidValueError, OptionError
from deeplake_lite.ingest.arrays.array_source import ArraySource, Part
from deeplake_lite.ingest.arrays.attributes import json_value
from deeplake_lite.ingest.arrays.exported_columns import (
    exported_columns,
    exported_metadata,
    note_of,
)
from deeplake_lite.ingest.arrays.named_splits import parts_of
from deeplake_lite.ingest.arrays.numpy_files import (
    NpyFile,
    columns_in,
    item_of,
    npz_members,
    reading,
)
from deeplake_lite.ingest.files import find_files, fingerprint
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.source import Skipped
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deeplake_lite.ingest.arrays.array_source import ArrayColumn
    from deeplake_lite.ingest.options import Options
    from deeplake_lite.ingest.result import IngestedDataset

type Location = str | os.PathLike[str]

_NPZ, _NPY = b"PK", b"\x93NUMPY"
"""First bytes of npz and npy files."""


@takes_options
def from_numpy(
    files: Location | Sequence[Location] | Mapping[str, Location],
    url: str,
    *,
    on: str | None = None,
    columns: Sequence[str] | None = None,
    **options: Unpack[Options],
) -> IngestedDataset:
    """Ingest the arrays in NumPy's npy and npz files as columns. The first axis becomes the rows.

    Parameters
    ----------
    files : str, Path, sequence or mapping
        Paths and patterns. Each array of an npz file becomes a column; the rows of several npz
        files are concatenated. An npy file becomes a column with the name of the file. To choose
        the names of columns, pass a mapping such as ``{"image": "x.npy", "label": "y.npy"}``.
    url : str
        URL of the lake, which is created if it does not exist.
    on : str, optional
        The column that identifies rows. Rows that are already in the lake are updated if they
        differ. By default, all rows are appended, unless the same files were ingested before.
    columns : sequence of str, optional
        The columns to ingest, which must have the same length. By default, all columns. Arrays such
        as ``x_train``, ``y_train``, ``x_test`` and ``y_test`` become the columns ``x``, ``y`` and
        ``split``.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        The committed dataset, whose attribute ``ingested`` summarizes the import. Fields of
        structured arrays become columns such as ``"points.x"``. Arrays without axes are stored in
        ``ds.metadata["numpy"]``.

    Raises
    ------
    NotFoundError
        If a file or column does not exist.
    InvalidValueError
        If a file is damaged, if arrays have different lengths, or if they contain Python objects,
        which are never unpickled.

    Notes
    -----
    Files are read block by block. Arrays of images become `Array` columns; to display and compress
    them as images, declare ``schema={"image": dl.Image("png")}``. Columns of files written by
    `View.to_numpy` get the same types and metadata as in the lake from which they were
    exported.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> import deeplake_lite as dl
    >>> path = f"{tempfile.mkdtemp()}/digits.npz"
    >>> np.savez(path, image=np.zeros((2, 8, 8), "uint8"), label=np.array([3, 7]))
    >>> ds = dl.from_numpy(path, "memory://from-numpy")
    >>> [f.htype for f in ds.schema]
    [Array('uint8', (8, 8)), Scalar('int64')]
    """
    source = _source(files, on, columns, options)
    return ingest(
        source, url, column_metadata=source.column_metadata, lineage=source.lineage, **options
    )


def _source(
    files: Any, on: str | None, chosen: Sequence[str] | None, options: Options
) -> ArraySource:
    """Return the source for npy or npz files.

    Raises NotFoundError or InvalidValueError if the files do not exist or cannot be read.
    """
    if isinstance(files, Mapping):
        named = {
            checks.text("a column name", name): _find_one_file(file) for name, file in files.items()
        }
    else:
        named = {}
        paths = _find_numpy_files(files)
        if not all(_starts_with(path, _NPY) for path in paths):
            return _npz_source(paths, on, chosen, options)
        for path in paths:
            if path.stem in named:
                raise InvalidValueError(
                    "Files must have different names, because columns are named after them, but "
                    f"both {str(named[path.stem])!r} and {str(path)!r} would become the column "
                    f"{path.stem!r}. Pass the names of the columns: {{'image': 'x.npy'}}."
                )
            named[path.stem] = path
    if not named:
        raise OptionError(
            "files must name at least one file, but the mapping is empty. Pass a path."
        )
    columns: dict[str, ArrayColumn] = {}
    for name, path in named.items():
        if not _starts_with(path, _NPY):
            raise InvalidValueError(
                f"{str(path)!r} must be an npy file, but it does not begin with the bytes "
                f"{_NPY!r}. Check the file."
            )
        array = NpyFile(str(path), path.name)
        if not array.shape:
            raise InvalidValueError(
                f"An array must have an axis for rows, but the array in {path.name!r} has no axes. "
                "Leave this file out."
            )
        _add(columns, columns_in(array, name, prefix=len(named) > 1), path.name)
    title = next(iter(named.values())).name if len(named) == 1 else "npy files"
    file_paths = [str(path) for path in named.values()]
    return _array_source(title, tuple(parts_of(title, columns, chosen)), file_paths, on, options)


def _array_source(
    title: str, parts: tuple[Part, ...], paths: Sequence[str], on: str | None, options: Options,
    **more: Any,
) -> ArraySource:  # fmt: skip
    return ArraySource(
        title, parts, on, types_of(options.get("schema")), fingerprint(paths[0], paths),
        limits=options.get("limits", DEFAULT_LIMITS), **more,
    )  # fmt: skip


def _npz_source(
    paths: Sequence[Path], on: str | None, chosen: Sequence[str] | None, options: Options
) -> ArraySource:
    parts, metadata, left_out = list[Part](), dict[str, object](), list[Skipped]()
    exported, column_metadata = dict[str, object](), dict[str, Mapping[str, object]]()
    lineages = list[Mapping[str, object]]()
    for path in paths:
        if not _starts_with(path, _NPZ):
            raise InvalidValueError(
                "Either all files must be npz files, or all must be npy files, but "
                f"{str(path)!r} is not an npz file. Pass files of only one kind."
            )
        members, rest = npz_members(path)
        left_out += [Skipped(f"{path.name}, {name}", "it is not an npy file") for name in rest]
        note = note_of(members)
        noted = exported_metadata(note)
        exported |= noted.of_dataset
        column_metadata |= noted.of_columns
        lineages.append(noted.lineage)
        columns: dict[str, ArrayColumn] = {**(exported_columns(members, path.name, note) or {})}
        if not (is_exported := bool(columns)):
            for name, member in members.items():
                if member.shape:
                    _add(columns, columns_in(member, name), path.name)
                else:
                    metadata[name] = json_value(item_of(member))
        parts += parts_of(path.name, columns, chosen, in_names=not is_exported)
    title = paths[0].name if len(paths) == 1 else f"{paths[0].name} and {len(paths) - 1} more"
    return _array_source(
        title, tuple(parts), [str(path) for path in paths], on, options, left_out=left_out,
        metadata={**exported, **({"numpy": metadata} if metadata else {})},
        column_metadata=column_metadata, lineage=lineages[0] if len(paths) == 1 else {},
    )  # fmt: skip


def _add(columns: dict[str, Any], more: Mapping[str, Any], title: str) -> None:
    """Add the columns `more` to `columns`. Raises InvalidValueError if a name occurs in both."""
    for name in columns.keys() & more.keys():
        raise InvalidValueError(
            f"Column names must be unique, but {title!r} has two columns {name!r}. Rename one of "
            "them."
        )
    columns.update(more)


def _find_numpy_files(files: Any) -> list[Path]:
    """Return the files that paths, folders and patterns stand for, in the order of `files`."""
    if isinstance(files, str | os.PathLike):
        files = [files]
    elif not isinstance(files, list | tuple) or not files:
        raise OptionError(
            "files must be a path, a list of paths, or a mapping of names to paths, but it is "
            f"{files!r:.80}."
        )
    paths = list[Path]()
    for file in files:
        is_folder = Path(checks.location("files", file)).expanduser().is_dir()
        paths += map(Path, find_files(file, ".npz", *([".npy"] if is_folder else [])))
    return paths


def _find_one_file(file: Any) -> Path:
    """Return the only file that a path or pattern stands for.

    Raises NotFoundError if there is no such file, and InvalidValueError if there are several.
    """
    matches = find_files(file, ".npy")
    if len(matches) > 1:
        raise InvalidValueError(
            f"A column must be one file, but {str(file)!r} matches {len(matches)} files. Pass one "
            "of them."
        )
    return Path(matches[0])


def _starts_with(path: Path, first: bytes) -> bool:
    with reading(str(path)), path.open("rb") as file:
        return file.read(len(first)) == first
