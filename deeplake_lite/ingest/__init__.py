"""Ingesting existing data into lakes, with a module for each kind of source and a common writer.

A source (`source.Source`) has columns and yields blocks of rows. `writer.ingest` checks the rows in
threads, appends rows with new keys, updates rows that differ, and can resume after a crash.
"""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any, Unpack

if TYPE_CHECKING:
    from deeplake_lite.ingest.detection.api import ingest
    from deeplake_lite.ingest.options import Options
    from deeplake_lite.ingest.result import IngestedDataset

__all__ = ["ingest"]


def __getattr__(name: str) -> Any:
    """Import `ingest` on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(f"{__name__}.detection.api"), name)
    return value


class _Ingest(ModuleType):
    """A package that can be called, since `deeplake_lite.ingest` is also the name of a function."""

    def __call__(self, data: Any, url: str, **options: Unpack[Options]) -> IngestedDataset:
        """Ingest data in any format; see `deeplake_lite.ingest.ingest` for the arguments."""
        return self.ingest(data, url, **options)  # type: ignore[no-any-return]


sys.modules[__name__].__class__ = _Ingest
