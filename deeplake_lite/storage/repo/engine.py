"""The engine in two parts: its compiled module, and the Python package around it, for writing.

The package imports Zarr, which takes longer than all else that opening and reading a lake need. The
compiled module alone opens repositories and reads from them.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import icechunk._icechunk_python as compiled

__all__ = ["arrays", "compiled", "package"]

NAME = "icechunk._icechunk_python"


def _load() -> Any:
    """Import the compiled module without its package; the package takes the same one later."""
    if NAME in sys.modules:
        return sys.modules[NAME]
    package = find_spec("icechunk")
    assert package is not None, "a dependency"
    spec = PathFinder.find_spec(NAME, package.submodule_search_locations)
    if spec is None or spec.loader is None:
        raise ImportError(f"There is no {NAME} in the installed icechunk. Install icechunk again.")
    module = sys.modules[NAME] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if not TYPE_CHECKING:
    compiled = _load()


def hush() -> None:
    """Have the engine log errors alone: it warns on stderr of every lake that is local."""
    compiled.set_logs_filter("error")


hush()


def package() -> Any:
    """Return the engine's Python package; it imports Zarr."""
    is_new = "icechunk" not in sys.modules
    import icechunk

    if is_new:
        hush()  # the package sets up the log of its own
    return icechunk


def arrays() -> Any:
    """Return the module that has Zarr create, open and write arrays; it imports Zarr."""
    package()
    from deeplake_lite.storage.repo import zarr_arrays

    return zarr_arrays
