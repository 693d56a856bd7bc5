"""Converting the elements of tf.data: dense, ragged and sparse tensors, and strings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite import codecs
from deeplake_lite.errors import InvalidValueError, SchemaError
from deeplake_lite.htypes import Array, Bytes, Htype, Image, Scalar, Sequence, Text
from deeplake_lite.htypes.tensors import with_numpys_dtype
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deeplake_lite.codecs.limits import Limits

type Path = tuple[str | int, ...]

DEEPEST = 32


@dataclass(frozen=True)
class Leaf:
    """A tensor that is in each element of a dataset, and becomes a column."""

    name: str
    """Name of the column."""

    path: Path
    """Keys and positions that lead to the tensor in an element."""

    spec: Any
    """The TypeSpec of the tensor."""

    htype: Htype | None = None
    """Type of the column, or None if the dataset does not declare a type."""

    convert: Callable[[Any], Any] | None = None
    """Function that converts a value of the tensor to a value of the column, or None."""

    def value(self, element: Any, limits: Limits) -> Any:
        """Return the column's value for an element of a dataset.

        Raises InvalidValueError if it would exceed the limits.
        """
        for key in self.path:
            element = element[key]
        value = value_of(element, limits)
        return value if self.convert is None or value is None else self.convert(value)


def leaves(spec: Any, names: tuple[str, ...] | None) -> list[Leaf]:
    """Return a list with a `Leaf` for each tensor in an element of a dataset.

    Raises SchemaError if this is impossible.

    Parameters
    ----------
    spec : nested TypeSpec
        The ``element_spec`` of a dataset.
    names : tuple of str, optional
        Names for the items if each element is a tuple.
    """
    if isinstance(spec, tuple | list) and not isinstance(spec, Mapping):
        fields = (
            names or getattr(spec, "_fields", None) or tuple(f"item_{i}" for i in range(len(spec)))
        )
        if len(fields) != len(spec):
            raise SchemaError(
                "columns must have one name per item of an element, but it has "
                f"{pluralize(len(fields), 'name')} for {pluralize(len(spec), 'item')}."
            )
        tensors = [
            leaf
            for i, (name, item) in enumerate(zip(fields, spec, strict=True))
            for leaf in _leaves(item, (i,), (name,))
        ]
    elif isinstance(spec, Mapping):
        tensors = list(_leaves(spec, (), ()))
    else:
        tensors = list(_leaves(spec, (), (names or ("item",))[:1]))
    taken = set[str]()
    for leaf in tensors:
        if leaf.name in taken:
            raise SchemaError(
                "Names must be unique after joining nested names with dots, but two items are "
                f"named {leaf.name!r}. Rename one of them: dataset.map(…)."
            )
        taken.add(leaf.name)
    return tensors


def _leaves(spec: Any, path: Path, name: tuple[str, ...]) -> Iterator[Leaf]:
    if len(path) > DEEPEST:
        raise SchemaError(
            f"elements may be nested at most {DEEPEST} levels deep, but these are deeper. Flatten "
            "the elements: dataset.map(…)."
        )
    if isinstance(spec, Mapping):
        for key, item in spec.items():
            yield from _leaves(item, (*path, key), (*name, str(key)))
    elif isinstance(spec, tuple | list):
        for i, item in enumerate(spec):
            yield from _leaves(item, (*path, i), (*name, str(i)))
    else:
        yield Leaf(".".join(name), path, spec)


def type_of(spec: Any, values: list[Any]) -> Htype:
    """Return the column type for a TypeSpec.

    Strings become text, images or bytes, depending on the first values.

    Raises
    ------
    SchemaError
        If no type can store the values, such as nested datasets.
    """
    kind = type(spec).__name__
    if kind == "OptionalSpec":
        return replace(type_of(spec._element_spec, values), nullable=True)  # noqa: SLF001
    if kind not in ("TensorSpec", "RaggedTensorSpec", "SparseTensorSpec"):
        raise SchemaError(
            f"no column type can store a {kind}. Leave this item out: dataset.map(…)."
        )
    shape = None if spec.shape.rank is None else tuple(spec.shape.as_list())
    if spec.dtype.name == "string":
        htype = _of_strings([v for value in values for v in _strings(value)])
        for _ in shape or ():
            htype = Sequence(htype)
        return htype
    dtype = with_numpys_dtype(np.zeros(0, spec.dtype.as_numpy_dtype)).dtype
    lists = spec.ragged_rank if kind == "RaggedTensorSpec" and shape is not None else 0
    if lists:
        htype = Array(dtype.name, tuple(n or None for n in (shape or ())[lists:]))
        for _ in range(lists):
            htype = Sequence(htype)
        return htype
    if shape is None:
        return Array(dtype.name, None)
    return Array(dtype.name, tuple(n or None for n in shape)) if shape else Scalar(dtype.name)


def _strings(value: Any) -> Iterator[bytes]:
    if isinstance(value, bytes):
        yield value
    elif isinstance(value, list | np.ndarray):
        for item in value:
            yield from _strings(item)


def _of_strings(values: list[bytes]) -> Htype:
    """Infer the column type for bytes: `Image` for image files, `Text` for UTF-8, or else `Bytes`.

    >>> _of_strings([b"a"]), _of_strings([bytes([255])])
    (Text(), Bytes())
    """
    if values and all(map(_is_image, values)):
        return Image("auto")
    try:
        for value in values:
            value.decode("utf-8")
    except UnicodeDecodeError:
        return Bytes()
    return Text()


def _is_image(data: bytes) -> bool:
    try:
        codecs.sniff(data)
    except InvalidValueError:
        return False
    return True


def value_of(tensor: Any, limits: Limits) -> Any:
    """Convert a tensor to an array, a number, bytes or nested lists, or an empty optional to None.

    Raises
    ------
    InvalidValueError
        If a sparse tensor would take more memory than the limits allow.
    """
    kind = type(tensor).__name__
    if "Optional" in kind and hasattr(tensor, "has_value"):
        return value_of(tensor.get_value(), limits) if bool(tensor.has_value()) else None
    if hasattr(tensor, "dense_shape"):
        shape = [int(n) for n in tensor.dense_shape.numpy()]
        limits.check_bytes(shape, max(tensor.dtype.size, 1))
        return _dense(tensor, tuple(shape))
    if hasattr(tensor, "flat_values"):
        return (
            [_plain(row.numpy()) for row in tensor] if tensor.ragged_rank == 1 else tensor.to_list()
        )
    return _plain(tensor.numpy())


def _dense(tensor: Any, shape: tuple[int, ...]) -> Any:
    """Convert a sparse tensor to a dense array. Missing entries become 0 or empty strings."""
    values, indices = tensor.values.numpy(), tensor.indices.numpy()
    if len(indices) and ((indices < 0) | (indices >= np.array(shape))).any():
        raise InvalidValueError(
            f"the indices of a sparse tensor must be within its shape {shape}, but one is outside."
        )
    array = np.full(shape, b"" if values.dtype == object else 0, values.dtype)
    array[tuple(indices.T)] = values
    return _plain(array)


def _plain(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    if value.dtype == object:
        return value.tolist()
    return with_numpys_dtype(value)


def text_of(value: Any) -> Any:
    """Decode bytes, or bytes in nested lists, to strings. Bytes that are not UTF-8 stay bytes.

    >>> text_of([b"a", [b"b"]])
    ['a', ['b']]
    """
    if isinstance(value, list | tuple):
        return [text_of(item) for item in value]
    if not isinstance(value, bytes):
        return value
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        return value  # the column rejects bytes
