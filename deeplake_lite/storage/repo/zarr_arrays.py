"""Creation of arrays and attributes through the Zarr library."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import zarr.api.asynchronous as zarr_async
from icechunk import IcechunkStore
from zarr.errors import BaseZarrError

from deeplake_lite.errors import DamagedError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from icechunk._icechunk_python import PySession
    from zarr.core.array_spec import ArrayConfigParams

WRITE_ALL: ArrayConfigParams = {"write_empty_chunks": True}
"""Write chunks of zeros, too. Detecting them costs more, and a missing chunk means damage."""


class _Store(IcechunkStore):
    """A store whose text is constant.

    Zarr converts stores to text for no reason. Icechunk 2.3 waits for the session in doing so, and
    keeps the interpreter's lock meanwhile, which another task of the session may be waiting for.
    """

    def __str__(self) -> str:
        return "icechunk"

    __repr__ = __str__


def store_of(session: PySession) -> IcechunkStore:
    """Return the Zarr store of a session of the engine."""
    return _Store(session.store)


async def create_array(store: IcechunkStore, path: str, options: Mapping[str, Any]) -> object:
    """Create the array at `path`."""
    with _translated(f"array {path!r}"):
        return await zarr_async.create_array(store=store, name=path, config=WRITE_ALL, **options)


async def set_attributes(store: IcechunkStore, attributes: Mapping[str, object]) -> None:
    """Set some attributes of the root group, and keep the others."""
    with _translated("root group"):
        group = await zarr_async.open_group(store=store, mode="a", zarr_format=3)
        await group.update_attributes(dict(attributes))


@contextlib.contextmanager
def _translated(place: str) -> Iterator[None]:
    """Convert the errors of Zarr, when the store contradicts the document, to DamagedError."""
    try:
        yield
    except BaseZarrError as error:
        reason = str(error).rstrip(".")
        raise DamagedError(
            f"The {place} cannot be written, because an object exists there that the lake's "
            f"metadata document does not list: {reason}. Restore the lake from a backup."
        ) from error
