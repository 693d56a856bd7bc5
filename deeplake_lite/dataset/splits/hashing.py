"""The hash function xxh3_64 for arrays of numbers, in NumPy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MASK = 2**64 - 1
_SECRET = 0x1CAD21F72C81017C ^ 0xDB979083E96DD4DE
"""The words at bytes 8 and 16 of XXH3's secret, combined by xor."""


BLOCK = 2**15
"""Number of numbers that are hashed at a time, so that intermediate results stay in the processor's
cache."""


def xxh3_64(numbers: NDArray[Any], seed: int = 0) -> NDArray[np.uint64]:
    """Return the xxh3_64 hash of the 8 little-endian bytes of each 64-bit number.

    Notes
    -----
    This is ``XXH3_len_4to8_64b`` of https://github.com/Cyan4973/xxHash for 8 bytes. It is
    invertible, so no two numbers have the same hash.

    Examples
    --------
    >>> import xxhash
    >>> xxh3_64(np.array([2**40 + 1]), 7)[0] == xxhash.xxh3_64_intdigest(
    ...     (2**40 + 1).to_bytes(8, "little"), 7
    ... )
    np.True_
    """
    seed &= _MASK
    low = seed & 0xFFFFFFFF
    seed ^= int.from_bytes(low.to_bytes(4, "little"), "big") << 32
    words = np.ascontiguousarray(numbers).view(np.uint64)
    hashes = np.empty(len(words), np.uint64)
    for start in range(0, len(words), BLOCK):
        hashes[start : start + BLOCK] = _hash(words[start : start + BLOCK], seed)
    return hashes


def _hash(words: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    h = (words >> np.uint64(32)) | (words << np.uint64(32))
    h ^= np.uint64((_SECRET - seed) & _MASK)
    h ^= _rotate(h, 49) ^ _rotate(h, 24)
    h *= np.uint64(0x9FB21C651E98DF25)
    h ^= (h >> np.uint64(35)) + np.uint64(8)
    h *= np.uint64(0x9FB21C651E98DF25)
    return np.asarray(h ^ (h >> np.uint64(28)))


def _rotate(words: NDArray[np.uint64], bits: int) -> NDArray[np.uint64]:
    return np.asarray((words << np.uint64(bits)) | (words >> np.uint64(64 - bits)))
