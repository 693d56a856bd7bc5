"""Settings of Icechunk that are stored in a new repository."""

from __future__ import annotations

from deeplake_lite.storage.repo.engine import compiled, package

INDEX_SPLIT = 64
"""Number of chunks per manifest of all arrays except heaps. It is small because committing one row
rewrites the last manifest of each array."""

HEAP_SPLIT = 16_384
"""Number of chunks per manifest of heaps. It must not be small, because a heap has 2**28 chunk
numbers and Icechunk enumerates all of the heap's manifests."""


def settings() -> compiled.RepositoryConfig:
    """Return the settings for a new repository."""
    engine = package()  # importing it adds methods to the compiled classes
    condition, along = engine.ManifestSplitCondition, engine.ManifestSplitDimCondition
    heaps = condition.name_matches("^(values|tail)$")
    splitting = engine.ManifestSplittingConfig.from_dict(
        {heaps: {along.Any(): HEAP_SPLIT}, condition.AnyArray(): {along.Any(): INDEX_SPLIT}}
    )
    return compiled.RepositoryConfig(manifest=compiled.ManifestConfig(splitting=splitting))
