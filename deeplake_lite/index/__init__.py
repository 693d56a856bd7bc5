"""Indexes of columns, which are stored in the lake next to the version that they were built for."""

from deeplake_lite.index.api import Index, create_index, drop_index, list_indexes

__all__ = ["Index", "create_index", "drop_index", "list_indexes"]
