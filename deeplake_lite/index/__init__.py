"""Indexes of columns. Each is stored in the lake, next to the version that it was built for."""

from deeplake_lite.index.api import Index, create_index, drop_index, list_indexes

__all__ = ["Index", "create_index", "drop_index", "list_indexes"]
