"""Settings of the engine that a new repository keeps."""

from __future__ import annotations

from deeplake_lite.storage.repo.engine import compiled, package

INDEX_SPLIT = 64
"""Index chunks per manifest: a commit of one row rewrites the last manifest of each array only."""

HEAP_SPLIT = 16_384
"""Heap chunks per manifest: the address space of a heap is 2**28 chunks, and its splits are
enumerated."""


def settings() -> compiled.RepositoryConfig:
    """Return the settings that a new repository keeps."""
    engine = package()  # which completes the compiled classes
    condition, along = engine.ManifestSplitCondition, engine.ManifestSplitDimCondition
    heaps = condition.name_matches("^(values|tail)$")
    splitting = engine.ManifestSplittingConfig.from_dict(
        {heaps: {along.Any(): HEAP_SPLIT}, condition.AnyArray(): {along.Any(): INDEX_SPLIT}}
    )
    return compiled.RepositoryConfig(manifest=compiled.ManifestConfig(splitting=splitting))
