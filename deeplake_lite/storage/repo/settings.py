"""Settings of the engine that are stored in a new repository."""

from __future__ import annotations

from deeplake_lite.storage.repo.engine import compiled, package

INDEX_SPLIT = 64
"""Chunks per manifest of index arrays. A commit of one row rewrites only the last manifest."""

HEAP_SPLIT = 16_384
"""Chunks per manifest of heaps. This must not be small, because a heap has 2**28 chunk numbers and
the engine enumerates all of its manifests."""


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
        manifest=compiled.ManifestConfig(splitting=splitting),
        num_updates_per_repo_info_file=LOGGED_UPDATES,
    )
