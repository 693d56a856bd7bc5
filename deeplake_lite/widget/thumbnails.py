"""Rows to small pictures: decoded at the least scale that will do, in threads, and kept."""

from __future__ import annotations

from typing import ClassVar


class Thumbnails:
    """Small pictures of a lake's cells.

    Parameters
    ----------
    url : str
        Where the lake is.
    memory : int
        Bytes of memory that they may take.
    """

    MEMORY: ClassVar[int] = 256 * 2**20
    """Bytes of memory that they take, unless told otherwise."""

    def __init__(self, url: str, memory: int = MEMORY) -> None:
        self._url, self._memory = url, memory
