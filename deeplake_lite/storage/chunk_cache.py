"""The cache of decoded chunks."""

from __future__ import annotations

from typing import Any

from deeplake_lite.lru import LRUCache

CACHE_BYTES = 64 * 2**20
"""Default size limit of the cache."""

LARGEST_SHARE = 4
"""A chunk larger than the limit divided by this is not cached."""


class ChunkCache(LRUCache[tuple[str, int], Any]):
    """A cache of decoded chunks by the path of their array and their number."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        super().__init__(limit, LARGEST_SHARE)
