"""A cache of parsed pictures, which an import reads twice. Large pictures are not cached."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deeplake_lite.dataset.export.annotations.objects import Object, Picture

MAX_OBJECTS = 100_000
"""Maximum number of objects that are cached, which take one or two kilobytes each."""

MAX_BYTES = 64 * 2**20
"""Maximum size in bytes of the masks and images that are cached."""


class CachedPictures:
    """Pictures that can be iterated over several times.

    Parameters
    ----------
    read : callable
        Yields the pictures. It is called again for each iteration if its pictures are too large to
        cache.
    """

    def __init__(self, read: Callable[[], Iterator[Picture]]) -> None:
        self._read = read
        self._cached: list[Picture] | None = None

    def __iter__(self) -> Iterator[Picture]:
        if self._cached is not None:
            yield from self._cached
            return
        cached: list[Picture] | None = []
        objects = size = 0
        for picture in self._read():
            yield picture
            objects += 1 + len(picture.objects)
            size += sum(map(_mask_bytes, picture.objects))
            size += len(picture.image) if isinstance(picture.image, bytes) else 0
            if objects > MAX_OBJECTS or size > MAX_BYTES:
                cached = None
            if cached is not None:
                cached.append(picture)
        self._cached = cached


def _mask_bytes(obj: Object) -> int:
    return 0 if obj.mask is None else obj.mask.nbytes
