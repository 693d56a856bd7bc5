"""Suggestions of another dtype for numbers that do not fit the dtype of their column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError

_INTEGERS = ("int16", "uint16", "int32", "uint32", "int64", "uint64")
_NO_DTYPE = (
    "No column of this type can store this number. Leave it out, or map it to a smaller number."
)


@dataclass(frozen=True)
class Dtypes:
    """The dtypes that columns of a type may have, and how users declare them."""

    names: tuple[str, ...] = (*_INTEGERS, "float64", "complex128")
    """Names of the dtypes that error messages may suggest."""

    of: Any = None
    """The htype that messages suggest declaring with another dtype. If it is None, messages suggest
    only the name of the dtype."""

    def declared(self, name: str) -> str:
        """Return the code that declares a column with one of the dtypes.

        >>> Dtypes().declared("int16")
        "'int16'"
        """
        return repr(name) if self.of is None else str(replace(self.of, dtype=name))

    def wider(self, value: int, target: np.dtype[Any]) -> str:
        """Return a sentence that suggests a dtype for an integer that `target` cannot store.

        >>> Dtypes().wider(300, np.dtype("int8")), Dtypes().wider(-1, np.dtype("uint8"))
        ("Declare the column as 'int16'.", "Declare the column as 'int16'.")
        """
        names = [name for name in _INTEGERS if name in self.names]
        for dtype in sorted(map(np.dtype, names), key=lambda dtype: dtype.kind != target.kind):
            if np.can_cast(target, dtype) and np.iinfo(dtype).min <= value <= np.iinfo(dtype).max:
                return f"Declare the column as {self.declared(dtype.name)}."
        fits_float = "float64" in self.names and abs(value) < 2**1023
        if self != ANY and fits_float:
            return f"Declare the column as {self.declared('float64')}, which rounds the number."
        if self != ANY:
            return _NO_DTYPE
        unsigned = "'uint64' if no number is negative, else as " if 0 <= value < 2**64 else ""
        floats = "'float64', which rounds the number, or " if fits_float else ""
        return f"Declare the column as {unsigned}{floats}'text', and pass str(value)."

    def out_of_range(self, value: Any, target: np.dtype[Any]) -> InvalidValueError:
        """Build the error for an integer that is too large or too small for a dtype."""
        limits = np.iinfo(target)
        return InvalidValueError(
            f"{target.name} holds {limits.min} to {limits.max}, but the value is "
            f"{plain_repr(value)}. {self.wider(int(value), target)}"
        )

    def beyond_floats(self, value: Any, target: np.dtype[Any]) -> InvalidValueError:
        """Build the error for a number that would become infinite in a float dtype."""
        widest = "float64" if target.kind == "f" else "complex128"
        largest = float(np.finfo(widest).max)
        with np.errstate(over="ignore"):  # `largest` may overflow in float32
            is_finite = all(abs(part) <= largest for part in (value.real, value.imag))
        if widest in self.names and is_finite:
            hint = f"Declare the column as {self.declared(widest)}."
        elif self == ANY:
            hint = "Declare the column as 'text', and pass str(value)."
        else:
            hint = _NO_DTYPE
        return InvalidValueError(
            f"{target.name} holds at most {float(np.finfo(target).max):.4g}, but the value is "
            f"{plain_repr(value)}. {hint}"
        )

    def or_declare(self, kind: str) -> str:
        """Return a clause that suggests a float or complex dtype, or "" if `names` has none.

        >>> Dtypes().or_declare("f"), Dtypes(("uint8",)).or_declare("f")
        (', or declare a float column', '')
        """
        if self == ANY:
            return f", or declare a {'float' if kind == 'f' else 'complex'} column"
        widest = next((name for name in self.names[::-1] if np.dtype(name).kind == kind), None)
        return "" if widest is None else f", or declare the column as {self.declared(widest)}"


ANY = Dtypes()
"""Dtypes of arrays and scalars."""

FIXED = Dtypes(())
"""No dtypes to suggest, for types with a fixed dtype."""


def plain_repr(value: object) -> str:
    """Return a value's repr without its NumPy type.

    >>> plain_repr(np.int8(5))
    '5'
    """
    return brief(value.item() if isinstance(value, np.generic) else value)
