"""Indexes of columns, which are stored in the lake next to the version that they were built for."""

from deeplake_lite.index.api import Index, create_index, drop_index, list_indexes
from deeplake_lite.index.verification import DamagedIndex, find_damage

__all__ = ["DamagedIndex", "Index", "create_index", "drop_index", "find_damage", "list_indexes"]
