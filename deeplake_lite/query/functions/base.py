"""What a tensor function is: a name, what it says of its result, and how it computes it.

A function is bound once per query, when the types of its arguments are known: `bind` checks them,
and returns a `Bound`, which knows the result's type and computes values. Values come in one of two
forms, told apart by `lead`: one row at a time (``lead=0``), or many rows of one shape stacked along
a first axis (``lead=1``). Axes that users name count behind it.

A new function is a Python function in one of this folder's files under `@function`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from deeplake_lite.errors import QueryTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from deeplake_lite.htypes import Htype

type Shape = tuple[int | None, ...]


@dataclass(frozen=True)
class Type:
    """What is known of a value before the query runs."""

    dtype: str
    """NumPy name of the elements' dtype, ``"str"`` for text, ``"object"`` for JSON."""
    shape: Shape = ()
    """Shape of one row's value; None where it varies."""
    meaning: Htype | None = None
    """What the elements mean where a column says so: boxes and their format, names of classes."""

    @property
    def ndim(self) -> int:
        """How many axes a row's value has; 0 for a scalar."""
        return len(self.shape)

    @property
    def is_number(self) -> bool:
        """Whether the elements are numbers or truth values."""
        return self.dtype not in ("str", "object") and np.dtype(self.dtype).kind in "biufc"

    def __str__(self) -> str:
        """Return a short text: ``float32 (?, 4)``.

        >>> str(Type("float32", (None, 4)))
        'float32 (?, 4)'
        """
        sizes = ", ".join("?" if n is None else str(n) for n in self.shape)
        comma = "," if len(self.shape) == 1 else ""
        return f"{self.dtype} ({sizes}{comma})" if self.shape else self.dtype


class Unknown:
    """The value of an argument that differs from row to row."""


@dataclass(frozen=True)
class Arg:
    """An argument, as a function sees it when it is bound."""

    text: str
    """As the query has it, for messages."""
    type: Type
    """What is known of it."""
    value: Any = Unknown
    """Its value where it is the same for all rows, else `Unknown`."""

    @property
    def is_constant(self) -> bool:
        """Whether the value is the same for all rows."""
        return self.value is not Unknown


class Compute(Protocol):
    """Values of the arguments to the value of the result."""

    def __call__(self, *values: Any, lead: int) -> Any:
        """Compute one row (``lead=0``) or rows stacked along the first axis (``lead=1``)."""
        ...


@dataclass(frozen=True)
class Bound:
    """A function with its arguments' types: what it gives, and how."""

    type: Type
    """What the result is."""
    compute: Compute
    """How it comes about."""
    stacks: bool = True
    """Whether `compute` takes rows stacked along a first axis; otherwise one at a time."""


@dataclass(frozen=True)
class Function:
    """One entry of the registry."""

    name: str
    """In capitals."""
    group: str
    """Heading in the reference."""
    signature: str
    """As users write it: ``"CLIP(x, low, high)"``."""
    summary: str
    """One sentence."""
    bind: Callable[..., Bound] = field(repr=False)
    """Takes an `Arg` per argument; options by keyword (``axis=``)."""
    aliases: tuple[str, ...] = ()
    """Other names."""


REGISTRY: dict[str, Function] = {}
"""Every function by name, in capitals."""


def function(
    signature: str, *, group: str, aliases: tuple[str, ...] = ()
) -> Callable[[Callable[..., Bound]], Callable[..., Bound]]:
    """Put a binder into the registry; its docstring's first line is the summary."""

    def register(bind: Callable[..., Bound]) -> Callable[..., Bound]:
        name = signature.split("(")[0]
        summary = (bind.__doc__ or "").strip().splitlines()[0]
        entry = Function(name, group, signature, summary, bind, aliases)
        for key in (name, *aliases):
            REGISTRY[key] = entry
        return bind

    return register


def numbers(name: str, *args: Arg) -> None:
    """Check that arguments are numbers. Raises QueryTypeError."""
    for arg in args:
        if not arg.type.is_number:
            raise QueryTypeError(f"{name} takes numbers, got {arg.text}, which is {arg.type}.")


def axes(ndim: int, axis: int | tuple[int, ...] | None, lead: int) -> tuple[int, ...]:
    """Return the axes that a reduction goes over, counted behind the leading one.

    >>> axes(3, None, 1), axes(3, -1, 1), axes(2, 0, 0)
    ((1, 2), (2,), (0,))
    """
    inner = ndim - lead
    if axis is None:
        return tuple(range(lead, ndim))
    chosen = (axis,) if isinstance(axis, int) else axis
    return tuple(lead + (a % inner) for a in chosen)


def align(values: tuple[Any, ...], lead: int) -> tuple[NDArray[Any], ...]:
    """Return arrays that broadcast row by row: axes of size 1 behind the leading one.

    >>> a, b = align((np.zeros((5,)), np.zeros((5, 2, 3))), lead=1)
    >>> a.shape
    (5, 1, 1)
    """
    arrays = tuple(np.asarray(v) for v in values)
    if not lead:
        return arrays
    most = max(a.ndim for a in arrays)
    return tuple(
        a if a.ndim == most else a.reshape(a.shape[:1] + (1,) * (most - a.ndim) + a.shape[1:])
        for a in arrays
    )


def widened(array: NDArray[Any]) -> NDArray[Any]:
    """Return integers and truth values as int64 (uint64 stays), so that arithmetic does not wrap.

    >>> widened(np.array([250], "uint8")) + 10
    array([260])
    """
    if array.dtype.kind in "bi" or (array.dtype.kind == "u" and array.dtype.itemsize < 8):
        return array.astype(np.int64)
    return array


def result_of(compute: Compute, *types: Type) -> Type:
    """Return the type that a function gives: run on zeros, axes that vary being of size 1.

    An axis of the result is unknown where it is of size 1 and some argument's axis is unknown.
    """
    samples = [np.zeros([1 if n is None else n for n in t.shape], t.dtype) for t in types]
    with np.errstate(all="ignore"):
        found = np.asarray(compute(*samples, lead=0))
    varies = any(n is None for t in types for n in t.shape)
    shape = tuple(None if varies and n <= 1 else n for n in found.shape)
    return Type(found.dtype.name, shape)
