"""The parts of a stored index: arrays, whose bytes are in chunks on the index's branch.

The bytes of all parts are in one Zarr array, whose chunks have the same size. Each part begins at a
new chunk. The document of the index says where each part begins, and has the digests of the chunks.
A part is read as a whole or by ranges of bytes. For ranges, the index must check digests itself::

    chunk   0          1          2                3
            centres    lists      vectors ───────► vectors …
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

from deeplake_lite.index.damage import DamagedIndexError, read_index
from deeplake_lite.storage.chunks import pieces
from deeplake_lite.storage.repo import run
from deeplake_lite.storage.zarr_metadata import array_metadata

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.storage.repo import Session

PATH = "index/values"
"""Path of the array. Settings for heaps apply to it because of its name."""

CHUNK = 4 * 2**20
"""Size of a chunk in bytes. The last chunk of a part is shorter."""

_MAX_CHUNKS = 2**20

ARRAY = array_metadata((_MAX_CHUNKS * CHUNK,), (CHUNK,), "uint8", [], ["byte"])
"""Zarr metadata of the array."""

_DTYPES = ("int8", "uint8", "int32", "int64", "uint64", "float32")


class PartWriter:
    """Writes the parts of an index, one after the other.

    Parameters
    ----------
    session : Session
        Collects the chunks.
    """

    def __init__(self, session: Session) -> None:
        self._session, self._next = session, 0
        self.parts: dict[str, dict[str, Any]] = {}
        """Maps the names of parts to their descriptions."""
        self.nbytes = 0
        """Total size of the parts."""

    def add(self, name: str, array: NDArray[Any]) -> None:
        """Write a part."""
        self.stream(name, array.dtype.name, array.shape, [array])

    def stream(
        self, name: str, dtype: str, shape: tuple[int, ...], blocks: Iterable[NDArray[Any]]
    ) -> None:
        """Write a part whose bytes arrive in blocks."""
        first, digests, rest = self._next, list[str](), b""
        for block in blocks:
            data = rest + np.ascontiguousarray(block, block.dtype.newbyteorder("<")).tobytes()
            whole = len(data) // CHUNK * CHUNK
            for start in range(0, whole, CHUNK):
                digests.append(self._put(data[start : start + CHUNK]))
            rest = data[whole:]
        if rest:
            digests.append(self._put(rest))
        self.parts[name] = {
            "chunk": first, "dtype": dtype, "shape": list(shape), "digests": digests,
        }  # fmt: skip

    def _put(self, data: bytes) -> str:
        run(self._session.put(f"{PATH}/c/{self._next}", data))
        self._next += 1
        self.nbytes += len(data)
        return xxhash.xxh3_64_hexdigest(data)


class PartReader:
    """Reads the parts of an index.

    Parameters
    ----------
    session : Session
        Reads the index's branch.
    parts : mapping
        Maps the names of parts to their descriptions.
    """

    def __init__(self, session: Session, parts: Mapping[str, Any]) -> None:
        self._session = session
        self._parts = {name: _check_part(name, part) for name, part in parts.items()}

    @property
    def names(self) -> list[str]:
        """Names of the parts."""
        return list(self._parts)

    def _part(self, name: str) -> dict[str, Any]:
        if name not in self._parts:
            raise DamagedIndexError(f"its part {name!r} is missing")
        return self._parts[name]

    def nbytes(self, name: str) -> int:
        """Return the size of a part."""
        part = self._part(name)
        return int(prod(part["shape"]) * np.dtype(part["dtype"]).itemsize)

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of a part."""
        return tuple(self._part(name)["shape"])

    def dtype(self, name: str) -> np.dtype[Any]:
        """Return the dtype of a part."""
        dtype: np.dtype[Any] = np.dtype(str(self._part(name)["dtype"]))
        return dtype.newbyteorder("<")

    def whole(self, name: str) -> NDArray[Any]:
        """Return a part. Raises DamagedIndexError if a chunk does not match its digest."""
        part = self._part(name)
        joined, dtype = b"".join(self._chunks(part)), np.dtype(part["dtype"]).newbyteorder("<")
        if len(joined) != self.nbytes(name):
            raise DamagedIndexError(
                f"{name!r} has {len(joined):,} bytes instead of {self.nbytes(name):,}"
            )
        return np.frombuffer(joined, dtype).reshape(part["shape"])

    def check(self, name: str) -> None:
        """Read a part, chunk by chunk. Raises DamagedIndexError if a byte has changed."""
        part = self._part(name)
        size = sum(len(data) for data in self._chunks(part))
        if size != self.nbytes(name):
            raise DamagedIndexError(f"{name!r} has {size:,} bytes instead of {self.nbytes(name):,}")

    def _chunks(self, part: Mapping[str, Any]) -> Iterator[memoryview]:
        """Yield the chunks of a part. Raises DamagedIndexError."""
        for number, digest in enumerate(part["digests"], part["chunk"]):
            with read_index():
                data = run(self._session.get(f"{PATH}/c/{number}", CHUNK))
            if data is None:
                raise DamagedIndexError(f"chunk {number} is missing")
            if xxhash.xxh3_64_hexdigest(data) != digest:
                raise DamagedIndexError(f"chunk {number} does not match its digest")
            yield data

    def ranges(self, name: str, spans: Sequence[tuple[int, int]]) -> list[bytes | memoryview]:
        """Return ranges of a part's bytes, given as (start, length), without checking them."""
        with read_index():
            return run(self._ranges(self._part(name)["chunk"], spans))

    async def _ranges(
        self, first: int, spans: Sequence[tuple[int, int]]
    ) -> list[bytes | memoryview]:
        cut = [
            [(first + chunk, a, b) for chunk, a, b in pieces(start, length, CHUNK)]
            for start, length in spans
        ]
        flat = [piece for part in cut for piece in part]
        datas = iter(await self._session.get_ranges(PATH, flat))
        out: list[bytes | memoryview] = []
        for part in cut:
            found = [next(datas) for _ in part]
            if any(data is None for data in found):
                raise DamagedIndexError("a chunk is missing")
            out.append(found[0] if len(found) == 1 else b"".join(found))  # type: ignore[arg-type]
        return out


def _check_part(name: str, part: Any) -> dict[str, Any]:
    """Return the description of a part. Raises DamagedIndexError if it is not valid."""
    match part:
        case {
            "chunk": int(chunk),
            "dtype": str(dtype),
            "shape": list(shape),
            "digests": list(digests),
        } if (
            dtype in _DTYPES
            and 0 <= chunk <= _MAX_CHUNKS
            and shape
            and all(type(n) is int and n >= 0 for n in shape)
            and -(-prod(shape) * np.dtype(dtype).itemsize // CHUNK) == len(digests)
        ):
            return dict(part)
    raise DamagedIndexError(f"the description of its part {name!r:.40} is not valid")
