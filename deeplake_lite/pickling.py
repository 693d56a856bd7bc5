"""Pickle values that are sent to other processes."""

from __future__ import annotations

import pickle
import sys


def pickle_value(value: object) -> bytes:
    """Pickle a value, using cloudpickle if necessary and installed.

    Functions and classes defined in a notebook or at a prompt need cloudpickle, because pickle only
    stores their names, which other processes cannot import.

    Raises
    ------
    Exception
        Any error that pickling the value raises.
    """
    try:
        data = pickle.dumps(value, 5)
        problem: Exception = pickle.PicklingError(
            "it is defined in a notebook, which other processes cannot import"
        )
    except Exception as error:
        data, problem = b"", error
    if data and (b"__main__" not in data or hasattr(sys.modules["__main__"], "__file__")):
        return data
    try:
        import cloudpickle
    except ImportError:
        raise problem from None
    by_value: bytes = cloudpickle.dumps(value, 5)
    return by_value
