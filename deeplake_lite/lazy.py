"""Modules that are imported on first use, since only a few are needed to open a lake."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LazyModule:
    """A proxy for a module that imports it when one of its names is first looked up.

    Every import takes time, even in a process that only opens a lake and reads a row. Modules that
    few processes need are therefore declared as below. In this form, type checkers and
    import-linter see an ordinary import:

    >>> from typing import TYPE_CHECKING
    >>> if TYPE_CHECKING:
    ...     from deeplake_lite.dataset.versions import merge
    ... else:
    ...     merge = LazyModule("deeplake_lite.dataset.versions.merge")
    >>> merge
    LazyModule('deeplake_lite.dataset.versions.merge')
    >>> callable(merge.restore)
    True
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)

    def __repr__(self) -> str:
        return f"LazyModule({self._name!r})"
