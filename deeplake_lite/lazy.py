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
    ...     from deeplake_lite.dataset import merge
    ... else:
    ...     [merge] = lazy("deeplake_lite.dataset", "merge")
    >>> merge
    LazyModule('deeplake_lite.dataset.merge')
    >>> callable(merge.restore)
    True
    """

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._name), name)

    def __repr__(self) -> str:
        return f"LazyModule({self._name!r})"


def lazy(package: str, *names: str) -> tuple[LazyModule, ...]:
    """Return modules of a package, none of which is imported yet."""
    return tuple(LazyModule(f"{package}.{name}") for name in names)
