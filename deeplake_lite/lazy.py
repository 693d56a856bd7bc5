"""Modules that are imported when they are first used: opening a lake needs few of them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


class LazyModule:
    """Stands for a module, and imports it when one of its names is first asked for.

    Every process pays for what it imports, even if all that it does is to open a lake and read a
    row, so the modules of what few processes do are named like this, and to type checkers and
    import-linter as usual:

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
