"""Tensor functions: their registry, and how they are bound to arguments.

A function is bound once per query, when the types of its arguments are known (`Function.bind`).
Its binder checks them and returns a `Bound`, which has the type of the result and computes values.
Values are passed in one of two forms, depending on `lead`:

- One row at a time (``lead=0``). Null is None, and the result may be None.
- Rows of one shape, stacked along a first axis (``lead=1``). Nulls are masked rows of a masked
  array, in arguments and results. Rows without elements have nothing to mask, so they are stacked
  only if none of them is null; the result for such rows may be a list.

Arguments that are the same for all rows are passed without the first axis. Single numbers among
them are Python numbers, which have a weak dtype as in NumPy: ``float32 + 0.5`` is float32. The axes
that users name do not include the first axis. `Guarded` wraps each function and deals with nulls,
warnings and errors, so the function sees values only.

To add a function, write a binder with `@function` in one of this folder's files, and its test case.
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
    """The value of an argument that differs from row to row."""


@dataclass(frozen=True)
class Arg:
    """An argument of a function, as the binder sees it."""

    text: str
    """The expression, as written in the query, for messages."""
    type: Type
    """Type of its values."""
    value: Any = Unknown
    """Its value if that is the same for all rows, otherwise `Unknown`."""

    @classmethod
    def constant(cls, value: object) -> Self:
        """Return an argument that has the same value for all rows.

        >>> Arg.constant(0.5).type, Arg.constant("cat").type.dtype
        (Type(dtype='float64', shape=(), meaning=None), 'str')
        """
        if value is None or isinstance(value, str | dict):
            return cls(repr(value), Type("str" if isinstance(value, str) else "object"), value)
        array = np.asarray(value)
        if array.dtype.kind in "OU":
            return cls(repr(value), Type("str", array.shape), value)
        return cls(repr(value), Type(array.dtype.name, array.shape), value)

    @property
    def is_constant(self) -> bool:
        """Whether the value is the same for all rows."""
        return self.value is not Unknown


type Compute = Callable[..., Any]
"""Takes the arguments' values, and `lead`: one row (``lead=0``) or many, stacked (``lead=1``)."""


@dataclass(frozen=True)
class Bound:
    """A function that is bound to arguments of known types."""

    type: Type
    """Type of the result."""
    compute: Compute
    """Computes the result."""
    stacks: bool = True
    """Whether `compute` takes rows stacked along a first axis; otherwise one row at a time."""
    lists: bool = False
    """Whether stacked arguments and results may also be lists with one entry per row."""
    sees_null: bool = False
    """Whether `compute` takes nulls; otherwise a null argument makes the result null."""
    null_items: bool = False
    """Whether `compute` takes arrays of booleans some of which are null; see `truths`."""
    auxiliary: Callable[[NDArray[Any]], NDArray[Any]] | None = None
    """Computes an array from a column, (rows, *shape), that is worth caching for further queries;
    it has one entry per row. `compute` then takes the entries of its rows as ``auxiliary``."""


@dataclass(frozen=True)
class Function:
    """An entry of the registry."""

    name: str
    """Name in capitals, or the sign of an operator."""
    group: str
    """Heading in the reference."""
    signature: str
    """The call as users write it: ``"CLIP(x, low, high)"``."""
    summary: str
    """Description in one sentence."""
    binder: Callable[..., Bound] = field(repr=False)
    """Takes an `Arg` for each argument, and the values of options such as ``axis``."""
    aliases: tuple[str, ...] = ()
    """Other names."""

    def bind(self, *args: object, **named: Any) -> Bound:
        """Bind the function to arguments, positional or by name.

        Each argument is an `Arg` or the value of a constant. The bound function takes a value for
        each `Arg`, in order. It knows the values of constants, and ignores those passed for them.

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
                f"A call must have the form {self.signature}, but it is {text}: {error}."
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
        places = tuple(next((i for i, t in enumerate(values) if t is a), -1) for a in inputs)
        guarded = (text, bound.type, bound.compute, tuple(inputs), places)
        compute = Guarded(
            *guarded,
            sees_null=bound.sees_null,
            null_items=bound.null_items,
            is_users=bound.lists,
        )
        return replace(bound, compute=compute)

    def _call_text(self, args: list[str]) -> str:
        """Return the text of a call with these arguments."""
        if "(" in self.signature:
            return f"{self.name}({', '.join(args)})"
        infix = f" {self.name} ".join(args)
        return self.signature.replace("x", args[0]) if len(args) == 1 else infix

    def _convert_options(self, call: inspect.BoundArguments) -> list[Arg]:
        """Replace options in a call by their values; return the other arguments."""
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
        """Return the value of an option in built-in types."""
        if not arg.is_constant:
            raise QueryTypeError(
                f"{name} of {self.name} must be the same for all rows, but it is {arg.text}. "
                "Write a constant."
            )
        return arg.value.tolist() if hasattr(arg.value, "tolist") else arg.value


def _check_type(result: Type) -> None:
    """Reject a result whose known shape is too large. Raises ValueError."""
    if result.is_number and result.shape is not None and None not in result.shape:
        check_room([n or 0 for n in result.shape], np.dtype(result.dtype).itemsize, lead=0)


def _as_arg(value: object) -> Arg:
    """Return an argument; constant numbers become Python numbers."""
    if not isinstance(value, Arg):
        return Arg.constant(value)
    if value.type.is_number and value.is_constant and value.value is not None:
        array = np.asarray(value.value)
        return value if array.ndim else replace(value, value=array.item())
    return value


REGISTRY: dict[str, Function] = {}
"""All functions by their names and aliases, in capitals."""


def function(
    signature: str, *, group: str, aliases: tuple[str, ...] = (), name: str | None = None
) -> Callable[[Callable[..., Bound]], Callable[..., Bound]]:
    """Register a binder; the first line of its docstring is the summary in the reference.

    By default, the name is the part of the signature before the parenthesis.
    """

    def register(binder: Callable[..., Bound]) -> Callable[..., Bound]:
        key = name or signature.split("(")[0]
        summary = (binder.__doc__ or "").strip().splitlines()[0]
        entry = Function(key, group, signature, summary, binder, aliases)
        for known in (key, *aliases):
            REGISTRY[known] = entry
        return binder

    return register
