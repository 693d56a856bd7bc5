"""Reading files of tensors without running code from the files, which may be untrusted.

A file holds either columns, as a dict or a tuple of tensors of the same length, or a list of
samples.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite import checks
from deeplake_lite.codecs.limits import DEFAULT_LIMITS
from deeplake_lite.dataset.export.arrays.forms import NOTE
from deeplake_lite.errors import InvalidValueError, NotFoundError, OptionError
from deeplake_lite.htypes.tensors import array_of, is_tensor, without_tensors
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.ingest.arrays.array_source import ArrayColumn, ArraySource, Part
from deeplake_lite.ingest.arrays.attributes import json_value
from deeplake_lite.ingest.arrays.exported_columns import exported_columns, exported_metadata
from deeplake_lite.ingest.arrays.named_splits import parts_of
from deeplake_lite.ingest.arrays.numpy_files import NumpyColumn
from deeplake_lite.ingest.arrays.sample_source import (
    check_dense,
    flatten,
    infer_type,
    sample_size,
)
from deeplake_lite.ingest.exported_metadata import ExportedMetadata
from deeplake_lite.ingest.files import find_files, fingerprint
from deeplake_lite.ingest.options import types_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.htypes import Htype
    from deeplake_lite.ingest.options import Options


class FileSamples(list[Any]):
    """A list of the samples in a file, with the file's name and fingerprint."""

    title = ""
    """Name of the file."""

    fingerprint: str | None = None
    """A string that changes when the file changes."""


def read_torch_file(
    path: str, on: str | None, columns: Sequence[str] | None, options: Options
) -> ArraySource | FileSamples:
    """Return the source for a file that holds columns, or the samples of a file that holds a list.

    Raises
    ------
    InvalidValueError
        If the file cannot be read without running code from it, or holds neither columns nor
        samples.
    MissingPackageError
        If PyTorch is not installed.
    """
    file = Path(find_files(path, ".pt")[0])
    content = _load(file)
    file_fingerprint = fingerprint(file, [str(file)])
    if isinstance(content, list | tuple) and content and not _is_columns(content):
        samples = FileSamples(content)
        samples.title, samples.fingerprint = file.name, file_fingerprint
        return samples
    metadata = ExportedMetadata()
    if isinstance(content, dict) and isinstance(content.get(NOTE), str):
        parts = [_exported_part(file, content, columns)]
        metadata = exported_metadata(content[NOTE])
    else:
        named = _values_by_name(file, content, columns)
        chosen = columns if isinstance(content, dict) else None
        data_columns = _columns(file, named, chosen)
        parts = parts_of(file.name, data_columns, chosen)
        rest = {name: item for name, item in named.items() if name not in data_columns}
        if rest and chosen is None:
            metadata = ExportedMetadata({"torch": _json(rest)})
    return ArraySource(
        file.name, tuple(parts), on, types_of(options.get("schema")), file_fingerprint,
        metadata=metadata.of_dataset, column_metadata=metadata.of_columns,
        lineage=metadata.lineage, limits=options.get("limits", DEFAULT_LIMITS),
    )  # fmt: skip


def _load(file: Path) -> Any:
    """Return the content of a file, without running code from it.

    Raises InvalidValueError if this fails.
    """
    torch = checks.package("torch", "torch", "from_torch of a file")
    try:
        with file.open("rb") as opened:
            is_zip = opened.read(2) == b"PK"  # PyTorch before 1.6 wrote other files
        return torch.load(file, map_location="cpu", weights_only=True, mmap=is_zip)
    except Exception as error:  # PyTorch raises many types of errors
        if match := re.search(r"GLOBAL (\S+)", str(error)):
            raise InvalidValueError(
                f"{str(file)!r} cannot be read without running code from it, because it holds "
                f"Python objects of {match[1][:100]}. If you trust the file, pass its content: "
                "dl.from_torch(torch.load(path, weights_only=False), url)."
            ) from error
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidValueError(
            f"{str(file)!r} cannot be read: {reason[:200].rstrip('.')}. Check the file."
        ) from error


def _is_columns(content: Sequence[Any]) -> bool:
    """Return whether a tuple holds columns: at least two tensors, all of the same length."""
    if not isinstance(content, tuple) or len(content) < 2:
        return False
    lengths = {_rows(item) for item in content}
    return len(lengths) == 1 and None not in lengths


def _rows(value: Any) -> int | None:
    """Return the number of rows of a tensor. Return None for other values and without an axis."""
    return int(value.shape[0]) if is_tensor(type(value)) and value.ndim else None


def _exported_part(file: Path, content: Mapping[str, Any], columns: Sequence[str] | None) -> Part:
    """Return the columns, with the lake's types, of a file that `View.to_torch` has written."""
    members = {
        name: TensorMember(value, f"{file.name}, {name}")
        for name, value in content.items()
        if isinstance(name, str)
    }
    exported = exported_columns(members, file.name, content[NOTE]) or {}
    names = exported if columns is None else checks.names("columns", columns)
    for name in names:
        if name not in exported:
            raise NotFoundError.named("column", name, exported)
    return Part(file.name, {name: exported[name] for name in names})


def _values_by_name(file: Path, content: Any, columns: Sequence[str] | None) -> dict[str, Any]:
    """Return a dict from column names to the values in a file.

    Raises InvalidValueError if the file holds no tensors, and OptionError if `columns` does not
    fit.
    """
    if isinstance(content, dict):
        return flatten(content)
    items = content if isinstance(content, tuple) else (content,)
    if not all(_rows(item) is not None for item in items) or not items:
        raise InvalidValueError(
            f"{str(file)!r} must hold a dict or tuple of tensors, a single tensor, or a list of "
            f"samples, but it holds {_describe(content)}. Pass a dataset or a list of samples "
            "instead of the file: dl.from_torch([…], url)."
        )
    usual = [file.stem] if len(items) == 1 else [f"item_{i}" for i in range(len(items))]
    names = usual if columns is None else checks.names("columns", columns)
    if len(names) != len(items):
        raise OptionError(
            f"columns must have one name per tensor of {file.name!r}, but it has "
            f"{pluralize(len(names), 'name')} for {pluralize(len(items), 'tensor')}."
        )
    return dict(zip(names, items, strict=True))


def _describe(content: Any) -> str:
    kind = type(content).__name__
    if is_tensor(type(content)):
        return "a tensor without axes"
    is_empty = isinstance(content, list | tuple) and not content
    return f"an empty {kind}" if is_empty else f"an object of type {kind}"


def _columns(
    file: Path, named: Mapping[str, Any], chosen: Sequence[str] | None
) -> dict[str, ArrayColumn]:
    """Return a dict of the columns of a file: tensors, and lists that are as long as a tensor."""
    lengths = {n for value in named.values() if (n := _rows(value)) is not None}
    lists = {len(value) for value in named.values() if isinstance(value, list)}
    if not lengths and len(lists) == 1:
        lengths = lists
    result = dict[str, ArrayColumn]()
    for name, value in named.items():
        is_chosen = chosen is not None and name in chosen
        if _rows(value) is not None:
            check_dense(value)
            result[name] = NumpyColumn(TensorMember(value, f"{file.name}, {name}"))
        elif isinstance(value, list) and value and (len(value) in lengths or is_chosen):
            result[name] = ListColumn(value)
    if not result:
        listed = ", ".join(map(repr, named)) or "nothing"
        raise InvalidValueError(
            f"{str(file)!r} must hold tensors with an axis for rows, or lists of the same length, "
            f"but it holds {listed}. Pass a part of the file: "
            "dl.from_torch(torch.load(path)['…'], url)."
        )
    return result


def _json(values: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the values of a file that are not columns to JSON values."""
    return {
        name: json_value(array_of(value) if is_tensor(type(value)) else without_tensors(value))
        for name, value in values.items()
    }


@dataclass(frozen=True)
class ListColumn:
    """A column that is a list of values."""

    values: list[Any]

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def htype(self) -> Htype:
        """Type of the values. Raises SchemaError if no type fits all of them."""
        return infer_type(self.values)

    @property
    def row_bytes(self) -> int:
        """Estimated size of a value in bytes."""
        return sum(map(sample_size, self.values)) // max(len(self), 1)

    def read(self, start: int, stop: int) -> list[Any]:
        """Return the given rows."""
        return self.values[start:stop]


@dataclass(frozen=True)
class TensorMember:
    """A tensor, or a list of strings, in a file, read as a NumPy array."""

    value: Any
    title: str

    @cached_property
    def _array(self) -> NDArray[Any]:
        if is_tensor(type(self.value)):
            return array_of(self.value)
        texts = self.value if isinstance(self.value, list) else []
        array = np.empty(len(texts), object)
        array[:] = [str(text) for text in texts]
        return array

    @property
    def dtype(self) -> np.dtype[Any]:
        """Dtype of the array."""
        return self._array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the array."""
        return self._array.shape

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return the given rows."""
        return self._array[start:stop]
