"""Indexes of columns. Each is stored in the lake, next to the version that it was built for."""

from deeplake_lite.index.api import Index, create_index, drop_index, list_indexes
from deeplake_lite.index.verification import DamagedIndex, find_damage

__all__ = ["DamagedIndex", "Index", "create_index", "drop_index", "find_damage", "list_indexes"]
