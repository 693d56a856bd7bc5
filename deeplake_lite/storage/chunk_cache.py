"""The cache of decoded chunks."""

from __future__ import annotations

from typing import Any

from deeplake_lite.lru import LRUCache

CACHE_BYTES = 64 * 2**20
"""Default maximum size of the cache, in bytes."""

LARGEST_SHARE = 4
"""Chunks larger than the limit divided by this number are not cached."""


class ChunkCache(LRUCache[tuple[str, int], Any]):
    """A cache that maps (array path, chunk number) to the decoded chunk."""

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        super().__init__(limit, LARGEST_SHARE)
