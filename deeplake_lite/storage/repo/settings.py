"""Settings of Icechunk: some are stored in a new repository, others depend on its location."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deeplake_lite.errors import ExistsError, FormatError
from deeplake_lite.storage.repo.engine import compiled, package
from deeplake_lite.storage.repo.places import MEMORY

if TYPE_CHECKING:
    from deeplake_lite.storage.repo.store_options import Patience

SPECIFICATION = 2
"""Version of Icechunk's specification that lakes follow."""

INDEX_SPLIT = 64
"""Number of chunks per manifest of all arrays except heaps. It is small because committing one row
rewrites the last manifest of each array."""

HEAP_SPLIT = 2**18
"""Number of chunks per manifest of heaps. They hold 1 TiB of values, and their references take 8
MB. The number must not be small: a heap has 2**28 chunk numbers, and the commit that creates it
enumerates all of its possible manifests. This takes 25 ms per heap; with 2**14 chunks per manifest,
it takes 370 ms."""

LOGGED_UPDATES = 1
"""How many of its latest changes the object ``repo`` lists. We need none of them, and the object is
read and written as a whole."""


def settings() -> compiled.RepositoryConfig:
    """Return the settings for a new repository."""
    engine = package()  # importing it adds methods to the compiled classes
    condition, along = engine.ManifestSplitCondition, engine.ManifestSplitDimCondition
    heaps = condition.name_matches("^(values|tail)$")
    splitting = engine.ManifestSplittingConfig.from_dict(
        {heaps: {along.Any(): HEAP_SPLIT}, condition.AnyArray(): {along.Any(): INDEX_SPLIT}}
    )
    return compiled.RepositoryConfig(
        manifest=compiled.ManifestConfig(preload=_no_preload(), splitting=splitting),
        num_updates_per_repo_info_file=LOGGED_UPDATES,
    )


def _no_preload() -> compiled.ManifestPreloadConfig:
    """Have Icechunk read manifests when they are needed, and not all of them at the first read.

    By default, the first read of a session also reads the manifests of small arrays. Opening a
    lake of ten million rows took 48 ms instead of 3 ms because of that.
    """
    return compiled.ManifestPreloadConfig(max_total_refs=0, max_arrays_to_scan=0)


def settings_of(
    storage: compiled.Storage, patience: Patience | None = None
) -> compiled.StorageSettings:
    """Return the settings for a repository at its present place.

    A repository stores the settings of the place where it was created. Settings that a place does
    not determine would be taken from these, so Icechunk's defaults are passed instead.

    Parameters
    ----------
    patience : Patience, optional
        Time-outs and retries, for an object store.
    """
    here = storage.default_settings()
    for name in ("conditional_create", "conditional_update", "metadata"):
        if getattr(here, f"unsafe_use_{name}") is None:
            setattr(here, f"unsafe_use_{name}", True)
    here.retries = here.retries or compiled.StorageRetriesSettings(10, 100, 180_000)
    here.concurrency = here.concurrency or compiled.StorageConcurrencySettings(18, 12 * 2**20)
    return here if patience is None else patience.apply(here)


def engine_exists(storage: compiled.Storage, patience: Patience | None) -> bool:
    """Return whether there is a repository.

    The first call for a `storage` determines its time-outs and retries. If they were passed to
    Icechunk's `create`, they would be stored in the repository.
    """
    return bool(compiled.PyRepository.exists(storage, settings_of(storage, patience)))


def create_engine(
    url: str, storage: compiled.Storage, patience: Patience | None
) -> compiled.PyRepository:
    """Create a repository. Raises ExistsError if there is one."""
    hint = ", or replace it with overwrite=True" if url.startswith(MEMORY) else ""
    taken = ExistsError(
        f"A lake at {url!r} already exists. Choose another name, or open it with dl.open{hint}."
    )
    if engine_exists(storage, patience):
        raise taken
    try:
        return compiled.PyRepository.create(storage, config=settings())
    except compiled.ConflictError as error:  # another process has just created it
        raise taken from error


def open_engine(
    url: str, storage: compiled.Storage, patience: Patience | None = None
) -> compiled.PyRepository:
    """Open a repository with the settings of its present place.

    Icechunk stores the settings of the place where a repository was created. A lake that was
    copied from a folder to an object store would be changed there without compare-and-swap.

    Raises
    ------
    FormatError
        When the repository has another version of Icechunk's specification.
    """
    config = compiled.RepositoryConfig(storage=settings_of(storage, patience))
    repository = compiled.PyRepository.open(storage, config=config)
    version = int(repository.spec_version)
    if version != SPECIFICATION:
        raise FormatError(
            f"A lake must have version {SPECIFICATION} of Icechunk's specification, but {url!r} "
            f"has version {version}. Open it with the release that wrote it, and copy its rows."
        )
    return repository
