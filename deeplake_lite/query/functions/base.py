"""The registry of tensor functions, and how these functions are bound to arguments.

For each call in a query, `Function.bind` passes the types of the arguments to the function's
*binder*. The binder checks the types, and returns a `Bound`, which has the type of the result and
the Python function that computes values. This Python function receives values in one of two forms,
depending on its argument `lead`:

- ``lead=0``: the values of one row. Null is None, and the result may be None.
- ``lead=1``: the values of many rows with the same shape, stacked along a first axis. In arguments
  and results, nulls are masked rows of a masked array. Rows without elements have nothing that
  could be masked, so they are stacked only if none of them is null. The result for such rows may be
  a list.

Arguments that are the same for all rows are passed without the first axis. If they are single
numbers, they are Python numbers, which have a weak dtype as in NumPy: ``float32 + 0.5`` is float32.
The axes in a query do not count the first axis. `Guarded` wraps the Python function and handles
nulls, warnings and errors, so that the Python function receives only values.

To add a function, write a binder with `@function` in one of this folder's files, and a test case.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from deeplake_lite.errors import QueryError, QueryTypeError
from deeplake_lite.query.functions.guard import REFUSALS, Guarded, refusal
from deeplake_lite.query.functions.room import check_room
from deeplake_lite.query.functions.value_type import Type

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["REGISTRY", "Arg", "Bound", "Compute", "Function", "Type", "Unknown", "function"]


class Unknown:
    """Stands for the value of an argument that differs from row to row."""


SHORT = 16
"""Maximum number of elements of an array that messages show."""


@dataclass(frozen=True)
class Arg:
    """An argument that a binder receives."""

    text: str
    """The expression as written in the query, for messages."""
    type: Type
    """Type of the values."""
    value: Any = Unknown
    """The value, if it is the same for all rows; otherwise `Unknown`."""

    @classmethod
    def constant(cls, value: object) -> Self:
        """Return an argument that has the same value for all rows.

        >>> Arg.constant(0.5).type, Arg.constant("cat").type.dtype
        (Type(dtype='float64', shape=(), meaning=None), 'str')
        """
        if value is None or isinstance(value, str | dict):
            return cls(repr(value), Type("str" if isinstance(value, str) else "object"), value)
        array = np.asarray(value)
        # NumPy takes milliseconds to format a long array.
        text = repr(value) if array.size <= SHORT else f"an array of shape {array.shape}"
        if array.dtype.kind in "OU":
            return cls(text, Type("str", array.shape), value)
        return cls(text, Type(array.dtype.name, array.shape), value)

    @property
    def is_constant(self) -> bool:
        """Whether the value is the same for all rows."""
        return self.value is not Unknown


type Compute = Callable[..., Any]
"""A function that computes results from the values of arguments in one row (``lead=0``) or in
stacked rows (``lead=1``)."""


@dataclass(frozen=True)
class Bound:
    """A function that has been bound to arguments whose types are known."""

    type: Type
    """Type of the result."""
    compute: Compute
    """Computes the result."""
    stacks: bool = True
    """Whether `compute` accepts many rows that are stacked along a first axis (``lead=1``);
    otherwise, it accepts only one row at a time."""
    lists: bool = False
    """Whether stacked arguments and results may also be lists with one entry per row."""
    sees_null: bool = False
    """Whether `compute` receives nulls; otherwise, the result is null if an argument is null."""
    null_items: bool = False
    """Whether `compute` accepts arrays of booleans that contain nulls; see `truths`."""
    auxiliary: Callable[[NDArray[Any]], NDArray[Any]] | None = None
    """A function that computes a helper array, with one entry per row, from all values of a column,
    stacked to (rows, *shape). The array is cached for later queries. `compute` receives the entries
    for its rows as the argument ``auxiliary``."""


@dataclass(frozen=True)
class Function:
    """A function that queries can call, as an entry of the registry."""

    name: str
    """Name in capitals, or the symbol of an operator."""
    group: str
    """Heading under which the reference lists the function."""
    signature: str
    """The call as users write it: ``"CLIP(x, low, high)"``."""
    summary: str
    """Description in one sentence."""
    binder: Callable[..., Bound] = field(repr=False)
    """Binds the function: takes an `Arg` for each argument, and the values of options such as
    ``axis``, and returns a `Bound`."""
    aliases: tuple[str, ...] = ()
    """Other names."""

    def bind(self, *args: object, **named: Any) -> Bound:
        """Bind the function to positional and named arguments.

        Each argument is an `Arg` or the value of a constant. The bound function takes one value for
        each `Arg`, in the same order. If the `Arg` is constant, the function ignores this value and
        uses the one in the `Arg`.

        Raises
        ------
        QueryTypeError
            If the number, the names or the types of the arguments are wrong.
        """
        arguments = [_as_arg(a) for a in (*args, *named.values())]
        names = [""] * len(args) + [f"{name}=" for name in named]
        text = self._call_text([n + a.text for n, a in zip(names, arguments, strict=True)])
        try:
            call = inspect.signature(self.binder).bind(
                *arguments[: len(args)], **dict(zip(named, arguments[len(args) :], strict=True))
            )
        except TypeError as error:
            raise QueryTypeError(
                f"A call must have the form {self.signature}, but it is {text} ({error})."
            ) from None
        inputs = self._convert_options(call)
        try:
            bound = self.binder(*call.args, **call.kwargs)
            _check_type(bound.type)
        except QueryError:
            raise
        except REFUSALS as error:
            raise refusal(text, error, [str(a.type) for a in inputs]) from error
        is_arg = [isinstance(a, Arg) for a in (*args, *named.values())]
        values = [a for a, has_value in zip(arguments, is_arg, strict=True) if has_value]
        positions = tuple(next((i for i, t in enumerate(values) if t is a), -1) for a in inputs)
        guarded = (text, bound.type, bound.compute, tuple(inputs), positions)
        compute = Guarded(
            *guarded,
            sees_null=bound.sees_null,
            null_items=bound.null_items,
            is_users=bound.lists,
        )
        return replace(bound, compute=compute)

    def _call_text(self, args: list[str]) -> str:
        """Return the text of a call with the given arguments."""
        if "(" in self.signature:
            return f"{self.name}({', '.join(args)})"
        infix = f" {self.name} ".join(args)
        return self.signature.replace("x", args[0]) if len(args) == 1 else infix

    def _convert_options(self, call: inspect.BoundArguments) -> list[Arg]:
        """Replace the options in a call with their values, and return all other arguments."""
        inputs: list[Arg] = []
        for name, parameter in call.signature.parameters.items():
            argument = call.arguments.get(name)
            if argument is None:
                continue
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                inputs += argument
            elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
                inputs += argument.values()
            elif str(parameter.annotation).startswith("Arg"):
                inputs.append(argument)
            else:
                call.arguments[name] = self._option(name, argument)
        return inputs

    def _option(self, name: str, arg: Arg) -> object:
        """Return the value of an option as a built-in type, such as int or list."""
        if not arg.is_constant:
            raise QueryTypeError(
                f"The option {name} of {self.name} must be the same for all rows, but it is "
                f"{arg.text}. Write a constant."
            )
        return arg.value.tolist() if hasattr(arg.value, "tolist") else arg.value


def _check_type(result: Type) -> None:
    """Raise ValueError if the shape of a result is known and too large."""
    if result.is_number and result.shape is not None and None not in result.shape:
        check_room([n or 0 for n in result.shape], np.dtype(result.dtype).itemsize, lead=0)


def _as_arg(value: object) -> Arg:
    """Return an argument of `Function.bind` as an `Arg`; constant numbers become Python numbers."""
    if not isinstance(value, Arg):
        return Arg.constant(value)
    if value.type.is_number and value.is_constant and value.value is not None:
        array = np.asarray(value.value)
        return value if array.ndim else replace(value, value=array.item())
    return value


REGISTRY: dict[str, Function] = {}
"""Maps the names and aliases of functions, in capitals, to the functions."""


def function(
    signature: str, *, group: str, aliases: tuple[str, ...] = (), name: str | None = None
) -> Callable[[Callable[..., Bound]], Callable[..., Bound]]:
    """Return a decorator that registers a binder.

    The first line of the binder's docstring becomes the summary in the reference.

    Parameters
    ----------
    signature : str
        The call as users write it: ``"CLIP(x, low, high)"``.
    group : str
        Heading under which the reference lists the function.
    aliases : tuple of str
        Other names.
    name : str, optional
        Name of the function; by default, the part of the signature before the parenthesis.
    """

    def register(binder: Callable[..., Bound]) -> Callable[..., Bound]:
        key = name or signature.split("(")[0]
        summary = (binder.__doc__ or "").strip().splitlines()[0]
        entry = Function(key, group, signature, summary, binder, aliases)
        for alias in (key, *aliases):
            REGISTRY[alias] = entry
        return binder

    return register
