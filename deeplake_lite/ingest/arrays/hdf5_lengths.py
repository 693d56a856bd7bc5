"""Checks of the lengths of strings and lists of variable length in an HDF5 file.

The HDF5 library (1.14) allocates as much memory as a damaged length claims, up to 4 GiB per value,
before it reads the value. Therefore, lengths are compared with the size of the file beforehand. A
value is a reference to an object in a heap::

    length (4 bytes), address of the heap (usually 8), number of the object (4)

An attribute is a message in the header of its object, or in a continuation of the header::

    version (1 byte), flags (1), sizes of name, type and space (2 each), encoding (1, version 3)
    name, type, space (each padded to a multiple of 8 bytes in version 1), values

Values in compound types, in filtered chunks and in files with a user block are not checked. Here, a
*place* is the offset and size of the bytes of consecutive values.
"""

from __future__ import annotations

import mmap
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Iterator

REFERENCES = 2**16
"""Number of references that are read at a time."""

HEADER_BYTES = 2**16
"""Number of bytes, from the address of an object on, that are searched for its attributes."""


def check_lengths(file: Any, places: Iterator[tuple[int, int]], unit: int) -> None:
    """Check the lengths of values of variable length.

    Parameters
    ----------
    file : h5py.File
        The file.
    places : iterator of (int, int)
        Offset and size of the bytes of consecutive references to values.
    unit : int
        Number of bytes of an item of a value.

    Raises
    ------
    InvalidValueError
        If a value would be larger than the file.
    """
    address = file.id.get_create_plist().get_sizes()[0]
    reference = np.dtype([("length", "<u4"), ("object", f"V{address + 4}")])
    with _mapped(file) as data:
        for first, size in places if not file.userblock_size else ():
            stop = min(first + size, len(data))
            for at in range(first, stop, step := REFERENCES * reference.itemsize):
                part = data[at : min(at + step, stop)]
                values = np.frombuffer(part, reference, len(part) // reference.itemsize)
                longest = unit * int(values["length"].max(initial=0))
                if longest > len(data):
                    raise InvalidValueError(
                        f"{Path(file.filename).name!r} cannot be read, because it claims a value "
                        f"of {longest:,} bytes, but has only {len(data):,}. Fetch the file again."
                    )


def _mapped(file: Any) -> mmap.mmap:
    with Path(file.filename).open("rb") as opened:
        return mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)


def places_of_dataset(dataset: Any) -> Iterator[tuple[int, int]]:
    """Yield the offset and size of the bytes of each unfiltered chunk, or of the whole dataset.

    Nothing is yielded for a dataset whose chunks are filtered, that is, compressed.
    """
    if dataset.chunks is None:
        if (offset := dataset.id.get_offset()) is not None:
            yield offset, dataset.id.get_storage_size()
    elif not dataset.id.get_create_plist().get_nfilters():
        chunks = list[tuple[int, int]]()
        dataset.id.chunk_iter(lambda chunk: chunks.append((chunk.byte_offset, chunk.size)))
        yield from chunks


def places_of_attribute(
    file: Any, header: int, name: str, attribute: Any
) -> Iterator[tuple[int, int]]:
    """Yield the offset and size of an attribute's values, for each message that has its name.

    Parameters
    ----------
    file : h5py.File
        The file.
    header : int
        Address of the object that has the attribute.
    name : str
        Name of the attribute.
    attribute : h5py.h5a.AttrID
        The attribute.
    """
    text = name.encode(errors="surrogateescape") + b"\0"
    with _mapped(file) as data:
        at = data.find(text, header, header + HEADER_BYTES)
        while at >= 0:
            for version, head in ((1, 8), (2, 8), (3, 9)):
                found, _, *sizes = struct.unpack_from("<BBHHH", data, max(at - head, 0))
                if found == version and sizes[0] == len(text):
                    padded = [-(-n // 8) * 8 for n in sizes] if version == 1 else sizes
                    yield at + sum(padded), attribute.get_storage_size()
            at = data.find(text, at + 1, header + HEADER_BYTES)
