"""Arrays as Zarr makes, opens and writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import zarr.api.asynchronous as zarr_async
from icechunk import IcechunkStore

if TYPE_CHECKING:
    from collections.abc import Mapping

    from icechunk._icechunk_python import PySession
    from zarr.core.array_spec import ArrayConfigParams

WRITE_ALL: ArrayConfigParams = {"write_empty_chunks": True}
"""Chunks of zeros are written too: looking for them costs more, and a chunk that is missing is
damage."""


def store_of(session: PySession, *, is_fork: bool) -> IcechunkStore:
    """Return what Zarr takes for a session of the engine."""
    return IcechunkStore(session.store, for_fork=is_fork)


async def create_array(store: IcechunkStore, path: str, options: Mapping[str, Any]) -> Any:
    """Make the array at `path`."""
    return await zarr_async.create_array(store=store, name=path, config=WRITE_ALL, **options)


async def set_attributes(store: IcechunkStore, attributes: Mapping[str, Any]) -> None:
    """Set the root group's attributes, those that are given."""
    group = await zarr_async.open_group(store=store, mode="a", zarr_format=3)
    await group.update_attributes(dict(attributes))
