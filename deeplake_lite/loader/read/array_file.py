"""Files of arrays with hashes, so that damaged and swapped files are detected.

::

    magic number, length and hash of the list | list, JSON | array | array | …

The list contains the key of the file, which identifies the contents, and the name, dtype, shape,
offset and hash of each array. Arrays begin at multiples of `ALIGNED` bytes.
"""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

MAGIC = b"DLB1"
"""Magic number at the start of a file."""

_HEAD = struct.Struct("<4sQ16s")
"""The magic number, and the length and the hash of the list."""

ALIGNED = 64
"""Arrays begin at multiples of this many bytes."""

MAX_READ_BYTES = 4_096
"""Maximum size of files that are read into memory. Larger files are memory-mapped."""


def pack(key: str, arrays: Mapping[str, NDArray[Any]]) -> list[bytes | memoryview]:
    """Return the bytes of a file of named arrays, in pieces.

    Parameters
    ----------
    key : str
        Identifies the contents. A call of `read` with another key will reject the file.
    """
    flat = [np.ascontiguousarray(array).reshape(-1).view(np.uint8) for array in arrays.values()]
    listed, end = [], 0
    for (name, array), data in zip(arrays.items(), flat, strict=True):
        listed.append((name, array.dtype.str, array.shape, end, xxhash.xxh3_64_hexdigest(data)))
        end = _align(end + len(data))
    text = json.dumps([key, listed]).encode()
    pieces: list[bytes | memoryview] = [
        _HEAD.pack(MAGIC, len(text), xxhash.xxh3_128_digest(text)),
        text,
    ]
    position = _HEAD.size + len(text)
    for data in flat:
        pieces += [bytes(_align(position) - position), data.data]
        position = _align(position) + len(data)
    return pieces


def read(path: Path, key: str, *, check: bool = True) -> dict[str, NDArray[Any]]:
    """Return the arrays in a file as a dict by name.

    The arrays are read-only, and memory-mapped if the file is large.

    Parameters
    ----------
    check : bool
        Whether to compare the bytes of the arrays with their hashes. The list is always checked.

    Raises
    ------
    OSError
        When the file does not exist.
    ValueError
        When the file is damaged, or has another key.
    """
    data = _map_file(path)
    if len(data) < _HEAD.size:
        raise ValueError("The file is truncated.")
    magic, length, digest = _HEAD.unpack(data[: _HEAD.size])
    text = data[_HEAD.size : _HEAD.size + length].tobytes()
    if magic != MAGIC or xxhash.xxh3_128_digest(text) != digest:
        raise ValueError("The list of the file's arrays is damaged.")
    actual, listed = json.loads(text)
    if actual != key:
        raise ValueError(f"The file must have the key {key!r}, but it has {actual!r}.")
    body = data[_align(_HEAD.size + length) :]
    return {
        name: _array(body[start:], dtype, shape, hashed if check else None)
        for name, dtype, shape, start, hashed in listed
    }


def _array(
    data: NDArray[np.uint8], dtype: str, shape: list[int], hashed: str | None
) -> NDArray[Any]:
    """Return the array at the start of `data`. Raises ValueError if its hash does not match."""
    array = data[: int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize]
    if hashed is not None and xxhash.xxh3_64_hexdigest(array) != hashed:
        raise ValueError("An array does not match its hash.")
    return array.view(dtype).reshape(shape)


def _map_file(path: Path) -> NDArray[np.uint8]:
    """Return the bytes of a file, memory-mapped if it is large."""
    if path.stat().st_size <= MAX_READ_BYTES:
        return np.frombuffer(path.read_bytes(), np.uint8)
    return np.asarray(np.memmap(path, np.uint8, "r"))


def _align(position: int) -> int:
    """Return a position rounded up to a multiple of `ALIGNED`.

    >>> _align(0), _align(1), _align(64)
    (0, 64, 64)
    """
    return -(-position // ALIGNED) * ALIGNED
