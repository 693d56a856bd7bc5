"""Import Icechunk in two parts: its compiled module, and the Python package around it.

The compiled module is enough to open repositories and read from them. The package is only needed
for writing. It imports Zarr, which alone takes longer than everything else that opening a lake
involves.

Icechunk warns of every local repository in its log, so only errors are logged unless the
environment variable ``ICECHUNK_LOG`` is set.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

    import icechunk._icechunk_python as compiled

__all__ = ["compiled", "package"]

NAME = "icechunk._icechunk_python"


def _load() -> ModuleType:
    """Import the compiled module without its package.

    If the package is imported later, the package uses the same module object.
    """
    if NAME in sys.modules:
        return sys.modules[NAME]
    package = find_spec("icechunk")
    assert package is not None, "a dependency"
    spec = PathFinder.find_spec(NAME, package.submodule_search_locations)
    if spec is None or spec.loader is None:
        raise ImportError(f"The installed icechunk has no {NAME}. Install icechunk again.")
    module = sys.modules[NAME] = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


if not TYPE_CHECKING:
    compiled = _load()


def package() -> ModuleType:
    """Return Icechunk's Python package. This imports Zarr."""
    import icechunk

    return icechunk


# Whenever the package is imported, also by the compiled module for its first error, it sets the log
# filter from the environment.
compiled.set_logs_filter(os.environ.setdefault("ICECHUNK_LOG", "error"))
