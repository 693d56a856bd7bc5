"""Check that an object store honours conditional writes, on which commits rely.

Two writers commit at the same time: both read the object ``repo``, and each writes a new one with
the header ``If-Match`` and the version that it has read. A store that ignores this header lets the
second writer overwrite the first one's commit. A store that ignores ``If-None-Match`` lets two
processes create the same lake.

A new repository consists of three small objects. The check writes two of them again, with
conditions that do not hold. A store that honours conditions rejects these writes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deeplake_lite.errors import UnsafeStoreError
from deeplake_lite.storage.repo.engine import compiled
from deeplake_lite.storage.repo.places import storage_at
from deeplake_lite.storage.repo.s3_deletion import delete_objects
from deeplake_lite.storage.repo.store_options import Patience
from deeplake_lite.storage.repo.vacuums import ROOT
from deeplake_lite.storage.repo.work import gather, run

if TYPE_CHECKING:
    from collections.abc import Mapping

CONDITIONS = {"If-Match": f'"{"0" * 32}"', "If-None-Match": "*"}
"""Headers of conditions that do not hold for an object that exists."""

OBJECTS = ("repo", f"snapshots/{ROOT}", f"transactions/{ROOT}")
"""Names of the objects of a new repository."""


def check_conditional_writes(url: str, options: Mapping[str, object]) -> None:
    """Reject a store that ignores conditions. Its new repository is deleted.

    Google's and Microsoft's stores honour conditions. Stores with the S3 protocol come from many
    vendors, so only these are checked.

    Parameters
    ----------
    url : str
        URL of a repository that this process has just created.
    options : mapping
        Storage options of the store.

    Raises
    ------
    UnsafeStoreError
        When the store carries out a write although its condition does not hold.
    StorageError
        When a request to the store fails.
    """
    if not url.startswith("s3://"):
        return
    ignored = run(_find_ignored(url, options))
    if not ignored:
        return
    left = delete_objects(url, OBJECTS, options)
    end = f"Delete {', '.join(left)} below {url!r}, and create" if left else "Create"
    store = options.get("endpoint_url") or "Amazon S3"
    raise UnsafeStoreError(
        "An object store must honour conditional writes, because two simultaneous commits would "
        f"otherwise overwrite each other, but the store at {store} ignores the header "
        f"{' and the header '.join(ignored)}. {end} the lake in a folder, or on a store that "
        "honours these headers, such as Amazon S3, MinIO or SeaweedFS."
    )


async def _find_ignored(url: str, options: Mapping[str, object]) -> list[str]:
    """Return the conditional headers that the store ignores."""
    accepted = await gather(_is_accepted(url, options, name) for name in CONDITIONS)
    return [name for name, is_accepted in zip(CONDITIONS, accepted, strict=True) if is_accepted]


async def _is_accepted(url: str, options: Mapping[str, object], name: str) -> bool:
    """Write the first objects of a repository again, under a condition that does not hold."""
    given = options.get("write_headers") or {}
    assert isinstance(given, dict), "Icechunk has created a repository with these options"
    headers = {**given, name: CONDITIONS[name]}
    unconditional = compiled.StorageSettings(
        unsafe_use_conditional_create=False, unsafe_use_conditional_update=False
    )  # Icechunk itself adds no further conditions to `headers`
    try:
        await compiled.PyRepository.create_async(
            storage_at(url, {**options, "write_headers": headers}),
            config=compiled.RepositoryConfig(storage=Patience.of(options).apply(unconditional)),
            check_clean_root=False,
        )
    except compiled.IcechunkError as error:
        if error.kind == "object-not-found":  # Icechunk's error for status 412
            return False
        raise
    return True
