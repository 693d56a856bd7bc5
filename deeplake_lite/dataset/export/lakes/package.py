"""Loading Deep Lake's package, which cannot share a process with every other one."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from deeplake_lite.errors import MissingPackageError

CLASH = "tensorflow"
"""Package with a copy of LLVM of its own. Deep Lake 4.7, imported after it, ends the process:
"inconsistency in registered CommandLine options"."""


def load_deeplake(purpose: str) -> Any:
    """Return the module ``deeplake``.

    Parameters
    ----------
    purpose : str
        Name of the function that needs it, for messages.

    Raises
    ------
    MissingPackageError
        If it is not installed, or importing it would end the process.
    """
    if CLASH in sys.modules and "deeplake" not in sys.modules:
        raise MissingPackageError(
            f"{purpose} needs the package deeplake, which crashes if it is imported after {CLASH}. "
            "Restart Python and import deeplake first, or use another process."
        )
    try:
        return import_module("deeplake")
    except ImportError as error:
        raise MissingPackageError.needed("deeplake", "deeplake", purpose) from error
