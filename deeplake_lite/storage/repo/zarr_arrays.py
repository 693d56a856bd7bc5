"""Create arrays and set attributes through the Zarr library."""

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
"""Chunks of zeros are written, too, since a missing chunk would count as damage."""


def store_of(session: PySession, *, is_fork: bool) -> IcechunkStore:
    """Return the Zarr store of an Icechunk session."""
    return IcechunkStore(session.store, for_fork=is_fork)


async def create_array(store: IcechunkStore, path: str, options: Mapping[str, Any]) -> object:
    """Create the array at `path`."""
    with _translate_errors(f"array {path!r}"):
        return await zarr_async.create_array(store=store, name=path, config=WRITE_ALL, **options)


async def set_attributes(store: IcechunkStore, attributes: Mapping[str, object]) -> None:
    """Set the given attributes of the root group. All other attributes stay unchanged."""
    with _translate_errors("root group"):
        group = await zarr_async.open_group(store=store, mode="a", zarr_format=3)
        await group.update_attributes(dict(attributes))


@contextlib.contextmanager
def _translate_errors(target: str) -> Iterator[None]:
    """Raise Zarr's errors, which mean that the store contradicts the document, as DamagedError."""
    try:
        yield
    except BaseZarrError as error:
        reason = str(error).rstrip(".")
        raise DamagedError(
            f"The {target} cannot be written, because an object exists there that the lake's "
            f"metadata document does not list: {reason}. Restore the lake from a backup."
        ) from error
