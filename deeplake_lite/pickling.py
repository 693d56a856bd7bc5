"""Pickle values for other processes."""

from __future__ import annotations

import pickle
import sys


def pickled(value: object) -> bytes:
    """Pickle a value, with cloudpickle if it is installed and pickle does not suffice.

    Functions and classes that are defined in a notebook or at a prompt need it, because pickle
    stores only their names, and no other process can import them.

    Raises
    ------
    Exception
        Any that pickling the value raises.
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
