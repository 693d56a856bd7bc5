"""Conversion of tensors and other libraries' arrays to NumPy arrays.

None of these libraries is imported; tensors are recognised by their class names.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.foreign import (
    column_array,
    frame_array,
    is_column,
    is_frame,
    text_objects,
)


def is_tensor(kind: type) -> bool:
    """Return whether a type is a PyTorch tensor or a subclass of it, such as a parameter.

    >>> is_tensor(np.ndarray)
    False
    """
    return any(
        base.__name__ == "Tensor" and base.__module__.startswith("torch") for base in kind.__mro__
    )


def without_tensors(value: object) -> Any:
    """Replace tensors by arrays in a value or a nested list of values.

    >>> without_tensors([1, [2]])
    [1, [2]]
    """
    try:
        return _convert(value) if "torch" in sys.modules and _holds_tensor(value) else value
    except RecursionError:  # a list that contains itself; the type rejects it later
        return value


def _convert(value: object) -> object:
    if is_tensor(type(value)):
        return array_of(value)
    return [_convert(item) for item in value] if isinstance(value, list | tuple) else value


def _holds_tensor(value: object) -> bool:
    """Return whether a value is a tensor, or a list that contains one."""
    if not isinstance(value, list | tuple):
        return is_tensor(type(value))
    kinds = set(map(type, value))
    if any(map(is_tensor, kinds)):
        return True
    has_lists = any(issubclass(kind, list | tuple) for kind in kinds)
    return has_lists and any(map(_holds_tensor, value))


def array_of(value: Any) -> np.ndarray[Any, Any]:
    """Convert a tensor, or any value that NumPy can convert, to an array with a NumPy dtype.

    Columns of pandas, polars and Arrow keep their nulls and strings; see `column_array`.

    Raises
    ------
    InvalidValueError
        For a tensor without values, such as a tensor on the device "meta".
    """
    if not is_tensor(type(value)):
        return with_numpys_dtype(_to_numpy(value))
    try:
        detached = value.detach()
        dense = detached if str(value.layout) == "torch.strided" else detached.to_dense()
        plain = dense.cpu().resolve_conj().resolve_neg()
        wide = plain.float() if str(plain.dtype).startswith(_WITHOUT_NUMPY) else plain
        return np.asarray(wide.numpy())
    except (RuntimeError, TypeError, NotImplementedError) as error:
        raise InvalidValueError(
            f"a tensor must have values that NumPy can read, but its dtype is {value.dtype}, its "
            f"device is {str(value.device)!r} and its layout is {value.layout}. Pass it as an "
            "array: x.numpy(force=True)."
        ) from error


def object_in(value: Any) -> Any:
    """Return the Python object in an array without axes, such as TensorFlow's string tensors.

    Other values are returned unchanged.

    >>> object_in(np.array(b"a", object)), object_in(7)
    (b'a', 7)
    """
    if isinstance(value, str | bytes) or not hasattr(value, "__array__"):
        return value
    if is_tensor(type(value)) or getattr(value, "shape", None) != ():
        return value
    array = np.asarray(value)
    return array.item() if array.dtype == object else value


def with_numpys_dtype(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Convert other packages' dtypes to the smallest NumPy dtype that represents them exactly.

    JAX and TensorFlow use bfloat16, float8 and int4 from the package ml_dtypes.

    >>> with_numpys_dtype(np.ones(2, "int8"))
    array([1, 1], dtype=int8)
    """
    if array.dtype.isbuiltin != _REGISTERED:
        return array
    dtype = next((name for name in _WIDER if np.can_cast(array.dtype, name)), None)
    return array if dtype is None else array.astype(dtype)


_REGISTERED = 2
"""The value of `dtype.isbuiltin` for dtypes that other packages have registered with NumPy."""

_WIDER = ("uint8", "int8", "float32")
"""NumPy dtypes that can represent other libraries' dtypes, smallest first."""


def _to_numpy(value: object) -> np.ndarray[Any, Any]:
    if isinstance(value, np.ndarray):
        return text_objects(value) if value.dtype.kind == "T" else value
    if is_column(type(value)):
        return column_array(value)
    return frame_array(value) if is_frame(type(value)) else np.asarray(value)


_WITHOUT_NUMPY = ("torch.bfloat16", "torch.float8")
"""Prefixes of PyTorch dtypes that NumPy lacks. Float32 can represent their numbers exactly."""
