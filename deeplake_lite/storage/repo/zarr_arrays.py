"""Arrays as Zarr makes, opens and writes them."""

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
"""Chunks of zeros are written too: looking for them costs more, and a chunk that is missing is
damage."""


def store_of(session: PySession, *, is_fork: bool) -> IcechunkStore:
    """Return what Zarr takes for a session of the engine."""
    return IcechunkStore(session.store, for_fork=is_fork)


async def create_array(store: IcechunkStore, path: str, options: Mapping[str, Any]) -> Any:
    """Make the array at `path`."""
    with _translated(f"array {path!r}"):
        return await zarr_async.create_array(store=store, name=path, config=WRITE_ALL, **options)


async def set_attributes(store: IcechunkStore, attributes: Mapping[str, Any]) -> None:
    """Set the root group's attributes, those that are given."""
    with _translated("root group"):
        group = await zarr_async.open_group(store=store, mode="a", zarr_format=3)
        await group.update_attributes(dict(attributes))


@contextlib.contextmanager
def _translated(place: str) -> Iterator[None]:
    """Raise what Zarr says of a store that is not as the lake's document has it as DamagedError."""
    try:
        yield
    except BaseZarrError as error:
        raise DamagedError(
            f"The {place} cannot be written, as something else is in its place that the lake's "
            f"document does not name: {error} Restore the lake from a copy."
        ) from error
