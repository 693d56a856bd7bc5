"""Reading the datasets of an HDF5 file as columns."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes import Array, ClassLabel, Htype, Sequence, Text
from deeplake_lite.ingest.arrays.array_source import array_htype, has_nat
from deeplake_lite.ingest.arrays.attributes import json_attributes, json_value
from deeplake_lite.ingest.arrays.hdf5_heaps import check_heaps
from deeplake_lite.ingest.arrays.hdf5_lengths import (
    check_lengths,
    places_of_attribute,
    places_of_dataset,
)
from deeplake_lite.ingest.arrays.numpy_files import reading
from deeplake_lite.ingest.arrays.tree import DEEPEST, Columns, Tree
from deeplake_lite.ingest.source import Skipped

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE_BYTES = 1_024
"""Estimated size in bytes of a value of variable length."""


def read_tree(h5py: Any, file: Any, title: str) -> Tree:
    """Return the columns and the metadata of an open file.

    Parameters
    ----------
    h5py : module
        The package.
    file : h5py.File
        The file.
    title : str
        Name of the file in messages.
    """
    reader = _Reader(h5py, title, file)
    reader.walk(file)
    return Tree(title, reader.columns.by_name, reader.metadata, tuple(reader.left_out))


class _Reader:
    """A reader that collects the datasets and attributes of a file as columns and metadata."""

    def __init__(self, h5py: Any, title: str, file: Any) -> None:
        self.h5py, self.title = h5py, title
        self._file, self._is_checked = file, False
        self.columns, self.left_out = Columns(title), list[Skipped]()
        self.attributes: dict[str, object] = {}
        self.scalars: dict[str, object] = {}

    @property
    def metadata(self) -> dict[str, object]:
        """Metadata of the lake: attributes of groups and columns, and values of scalar datasets."""
        items = {"attributes": self.attributes, "values": self.scalars}
        return {name: item for name, item in items.items() if item}

    def walk(self, file: Any) -> None:
        """Collect the datasets of all groups.

        Each group is visited only once, because links may form cycles.
        """
        todo: list[tuple[tuple[str, ...], Any]] = [((), file)]
        seen = {self._address(file)}
        while todo:
            path, group = todo.pop(0)
            self._add_attributes(path, group)
            for name in group:
                link, item_path = group.get(name, getlink=True), (*path, name)
                if not isinstance(link, self.h5py.HardLink):
                    self._skip(item_path, "it is a link")
                    continue
                item = group[name]
                address = self._address(item)
                if isinstance(item, self.h5py.Dataset):
                    self._add_dataset(item_path, item)
                elif not isinstance(item, self.h5py.Group):
                    self._skip(item_path, "it is not a dataset")
                elif len(item_path) > DEEPEST or address in seen:
                    self._skip(
                        item_path, "it is nested too deeply, or another path has the same group"
                    )
                else:
                    seen.add(address)
                    todo.append((item_path, item))

    def _address(self, item: Any) -> int:
        return int(self.h5py.h5o.get_info(item.id).addr)

    def _skip(self, path: tuple[str, ...], reason: str) -> None:
        self.left_out.append(Skipped(f"{self.title}, {'/'.join(path)}", reason))

    def _add_attributes(self, path: tuple[str, ...], item: Any) -> None:
        attributes = json_attributes(self._attributes(item))
        if attributes:
            self.attributes[".".join(path) or "/"] = attributes

    def _attributes(self, item: Any) -> Iterator[tuple[str, Any]]:
        """Yield the attributes of an item, except those that HDF5 uses for dimension scales."""
        for name in item.attrs:
            if name in ("DIMENSION_LIST", "REFERENCE_LIST", "CLASS", "NAME"):
                continue
            try:
                attribute = item.attrs.get_id(name)
                self._check_heaps(attribute.dtype)
                if unit := self._unit(attribute.dtype):
                    address = self._address(item)
                    places = places_of_attribute(self._file, address, name, attribute)
                    check_lengths(self._file, places, unit)
                value = item.attrs[name]
            except InvalidValueError:
                raise
            except (OSError, TypeError, ValueError, KeyError, RuntimeError):
                continue
            yield name, value

    def _check_heaps(self, dtype: np.dtype[Any]) -> None:
        """Check the heaps of the file before values of variable length are read for the first time.

        Raises InvalidValueError if a heap is damaged.
        """
        if dtype.hasobject and not self._is_checked:
            self._is_checked = True
            check_heaps(Path(self._file.filename), self._file.id.get_create_plist().get_sizes()[1])

    def _unit(self, dtype: np.dtype[Any]) -> int:
        """Return the size in bytes of an item if values vary in length, or 0 otherwise."""
        if self.h5py.check_string_dtype(dtype) is not None:
            return 1 if dtype.hasobject else 0
        base = self.h5py.check_vlen_dtype(dtype)
        return 0 if base is None else int(np.dtype(base).itemsize)

    def _add_dataset(self, path: tuple[str, ...], dataset: Any) -> None:
        name = ".".join(path)
        try:
            dtype = dataset.dtype
        except TypeError as error:
            self._skip(path, f"its type is not supported: {error}")
            return
        self._check_heaps(dtype)
        if dataset.is_virtual or dataset.external:
            self._skip(path, "its data is in other files")
            return
        if unit := self._unit(dtype):
            check_lengths(self._file, places_of_dataset(dataset), unit)
        if dataset.shape in (None, ()):
            value = None if dataset.shape is None else dataset[()]
            self.scalars[name] = json_value(value)
            self._add_attributes(path, dataset)
        elif bad := [leaf for leaf in _leaves(dtype, (), ()) if self._is_unsupported(leaf[1])]:
            self._skip(path, f"{bad[0][1]} is not supported")
        else:
            self._add_attributes(path, dataset)
            rows = Rows(dataset, f"{self.title}, {'/'.join(path)}")
            self.columns.add(
                {
                    ".".join((name, *leaf)): Hdf5Column(self.h5py, rows, leaf, kind, shape)
                    for leaf, kind, shape in _leaves(dtype, dataset.shape[1:])
                }
            )

    def _is_unsupported(self, dtype: np.dtype[Any]) -> bool:
        """Return whether values are references, opaque bytes, or nested lists."""
        h5py = self.h5py
        if dtype.kind == "O":
            base = h5py.check_vlen_dtype(dtype)
            is_nested = base is not None and np.dtype(base).kind in "OV"
            return (base is None or is_nested) and h5py.check_string_dtype(dtype) is None
        return dtype.kind == "V"


def _leaves(
    dtype: np.dtype[Any], shape: tuple[int, ...], path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], np.dtype[Any], tuple[int, ...]]]:
    """Yield the path, dtype and shape of each field that is not itself a compound.

    The path has the names of the compound fields that contain the field, and its own name.
    """
    shape, dtype = (*shape, *dtype.shape), dtype.base
    if dtype.fields is None or dtype.names is None:
        yield path, dtype, shape
        return
    for name in dtype.names:
        yield from _leaves(dtype.fields[name][0], shape, (*path, name))


@dataclass
class Rows:
    """A dataset that caches the rows that were read last, because several columns need them."""

    dataset: Any
    title: str
    _last: tuple[int, int, Any] = field(default=(0, 0, None))

    def read(self, start: int, stop: int) -> Any:
        """Return the given rows."""
        if self._last[:2] != (start, stop) or self._last[2] is None:
            with reading(self.title):
                self._last = start, stop, self.dataset[start:stop]
        return self._last[2]


@dataclass(frozen=True)
class Hdf5Column:
    """A column that holds a dataset, or a field of a compound dataset."""

    h5py: Any
    rows: Rows
    path: tuple[str, ...]
    """Names of the field and of the compound fields that contain it, outermost first, or () for
    a whole dataset."""
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    """Shape of a value."""

    def __len__(self) -> int:
        return int(self.rows.dataset.shape[0])

    @cached_property
    def _names(self) -> dict[int, str]:
        """Maps each value of an enumeration to its name. Empty for arrays and for other types."""
        values = self.h5py.check_enum_dtype(self.dtype) or {}
        return {} if self.shape else {int(value): str(name) for name, value in values.items()}

    @cached_property
    def _is_text(self) -> bool:
        return self.h5py.check_string_dtype(self.dtype) is not None

    @cached_property
    def _items(self) -> np.dtype[Any] | None:
        """Dtype of the items if values are lists of variable length, or None for other values."""
        base = self.h5py.check_vlen_dtype(self.dtype)
        return None if base is None or self._is_text else np.dtype(base)

    @cached_property
    def htype(self) -> Htype:
        """Type of the values."""
        if self._names:
            return ClassLabel([name for _, name in sorted(self._names.items())])
        htype: Htype
        if self._is_text or self._items is not None:
            htype = Text() if self._items is None else Array(self._items.name, (None,))
            for _ in self.shape:
                htype = Sequence(htype)
            return htype
        htype = array_htype(self.dtype, self.shape)
        is_time = self.dtype.kind in "mM"
        return replace(htype, nullable=True) if is_time and has_nat(self) else htype

    @property
    def row_bytes(self) -> int:
        """Size in bytes of a row with all its fields, or an estimate if sizes vary."""
        shape, dtype = self.rows.dataset.shape[1:], self.rows.dataset.dtype
        item = VARIABLE_BYTES if dtype.hasobject else dtype.itemsize
        return int(math.prod(shape) * item)

    def read(self, start: int, stop: int) -> Any:
        """Return the values of the given rows."""
        values = self.rows.read(start, stop)
        for name in self.path:
            values = values[name]
        if self._names:
            return [self._name(row, value) for row, value in enumerate(values.tolist())]
        if self._is_text:
            return [_texts(row, value) for row, value in enumerate(values.tolist())]
        return values if self._items is None else [*values]

    def _name(self, row: int, value: int) -> str:
        if value not in self._names:
            raise InvalidValueError(
                f"must be a value of the enumeration {', '.join(self._names.values())}, but it is "
                f"{value}.",
                row=row,
            )
        return self._names[value]


def _texts(row: int, value: Any) -> Any:
    """Decode the strings in a value, which may be nested lists.

    `row` is the number of the value's row, for the message. Raises InvalidValueError if one is
    not UTF-8.
    """
    if isinstance(value, list):
        return [_texts(row, item) for item in value]
    if isinstance(value, str):
        return value
    try:
        return bytes(value).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidValueError(f"must be UTF-8 text, but it is {value!r:.60}.", row=row) from error
