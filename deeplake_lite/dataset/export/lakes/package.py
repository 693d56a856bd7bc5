"""Import of Deep Lake's package, which crashes if it is imported after TensorFlow."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

from deeplake_lite.errors import MissingPackageError

CLASH = "tensorflow"
"""A package with its own copy of LLVM. If this package is imported before Deep Lake 4.7, the import
of Deep Lake crashes the process with "inconsistency in registered CommandLine options"."""


def load_deeplake(purpose: str) -> Any:
    """Return the module ``deeplake``.

    Parameters
    ----------
    purpose : str
        Name of the function that needs the module, for messages.

    Raises
    ------
    MissingPackageError
        If the package is not installed, or importing it would crash the process.
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
