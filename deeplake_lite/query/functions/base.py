"""What a tensor function is: a name, what it says of its result, and how it computes it.

A function is bound once per query, when the types of its arguments are known (`Function.bind`):
the binder checks them, and gives a `Bound`, which knows the result's type and computes values.
Values come in one of two forms, told apart by `lead`:

- one row at a time (``lead=0``): null is None, and a result may be None;
- rows of one shape stacked along a first axis (``lead=1``): nulls are rows of a masked array, and
  where some of a result's rows are null, it is a masked array. Rows without elements, which a mask
  cannot hide, come in this form where none of them is null; a result of them may be a list.

Arguments that are the same for all rows come without the first axis, and numbers among them as
Python's, which are weak as in NumPy: ``float32 + 0.5`` is float32. Axes that users name count
behind the first axis. Nulls, warnings and errors are dealt with around each function (`Guarded`),
so that it sees values only.

A new function is a binder in one of this folder's files under `@function`, and a case in its test.
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

__all__ = ["REGISTRY", "Arg", "Bound", "Compute", "Function", "Type", "Unknown", "function"]


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

    @classmethod
    def constant(cls, value: Any) -> Self:
        """Return the argument that a value is, for all rows.

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
    """A function with its arguments' types: what it gives, and how."""

    type: Type
    """What the result is."""
    compute: Compute
    """How it comes about."""
    stacks: bool = True
    """Whether `compute` takes rows stacked along a first axis; otherwise one at a time."""
    lists: bool = False
    """Whether stacked arguments, and the result, may be lists with an entry per row as well."""
    sees_null: bool = False
    """Whether `compute` is given nulls; otherwise a null argument makes the result null."""
    auxiliary: Callable[[Any], Any] | None = None
    """What is worth keeping of a column, (rows, *shape), from one query to the next: an array of an
    entry per row. Where there is one, `compute` takes its rows as ``auxiliary``."""


@dataclass(frozen=True)
class Function:
    """One entry of the registry."""

    name: str
    """In capitals, or an operator's sign."""
    group: str
    """Heading in the reference."""
    signature: str
    """As users write it: ``"CLIP(x, low, high)"``."""
    summary: str
    """One sentence."""
    binder: Callable[..., Bound] = field(repr=False)
    """Takes an `Arg` per argument, and the values of options (``axis``)."""
    aliases: tuple[str, ...] = ()
    """Other names."""

    def bind(self, *args: Any, **named: Any) -> Bound:
        """Bind the function to arguments, positional or by name.

        Each is an `Arg`, or a constant as it is. What is bound takes a value for each `Arg` given
        here, in order; it knows those of constants, and does not look at what comes for them.

        Raises
        ------
        QueryTypeError
            When their number, their names, or what is known of them does not fit.
        """
        given = [_as_arg(a) for a in (*args, *named.values())]
        names = [""] * len(args) + [f"{name}=" for name in named]
        text = self._text([n + a.text for n, a in zip(names, given, strict=True)])
        try:
            call = inspect.signature(self.binder).bind(
                *given[: len(args)], **dict(zip(named, given[len(args) :], strict=True))
            )
        except TypeError as error:
            raise QueryTypeError(f"Call it as {self.signature}, got {text}: {error}.") from None
        inputs = self._sort_out(call)
        try:
            made = self.binder(*call.args, **call.kwargs)
            _check_type(made.type)
        except QueryError:
            raise
        except REFUSALS as error:
            raise refusal(text, error, [str(a.type) for a in inputs]) from error
        came = [isinstance(a, Arg) for a in (*args, *named.values())]
        taken = [a for a, has_value in zip(given, came, strict=True) if has_value]
        places = tuple(next((i for i, t in enumerate(taken) if t is a), -1) for a in inputs)
        guarded = (text, made.type, made.compute, tuple(inputs), places)
        compute = Guarded(*guarded, sees_null=made.sees_null, is_users=made.lists)
        return replace(made, compute=compute)

    def _text(self, args: list[str]) -> str:
        """Return the call as users write it."""
        if "(" in self.signature:
            return f"{self.name}({', '.join(args)})"
        infix = f" {self.name} ".join(args)
        return self.signature.replace("x", args[0]) if len(args) == 1 else infix

    def _sort_out(self, call: inspect.BoundArguments) -> list[Arg]:
        """Return the arguments that are values, and put those of options in the call."""
        inputs: list[Arg] = []
        for name, parameter in call.signature.parameters.items():
            given = call.arguments.get(name)
            if given is None:
                continue
            if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
                inputs += given
            elif parameter.kind is inspect.Parameter.VAR_KEYWORD:
                inputs += given.values()
            elif str(parameter.annotation).startswith("Arg"):
                inputs.append(given)
            else:
                call.arguments[name] = self._option(name, given)
        return inputs

    def _option(self, name: str, arg: Arg) -> Any:
        """Return an option's value in built-in types."""
        if not arg.is_constant:
            raise QueryTypeError(
                f"{name} of {self.name} must be the same for all rows, got {arg.text}. "
                "Write the value."
            )
        return arg.value.tolist() if hasattr(arg.value, "tolist") else arg.value


def _check_type(result: Type) -> None:
    """Refuse results that are known to be too large. Raises ValueError."""
    if result.is_number and result.shape is not None and None not in result.shape:
        check_room([n or 0 for n in result.shape], np.dtype(result.dtype).itemsize, lead=0)


def _as_arg(value: Any) -> Arg:
    """Return an argument; numbers that are the same for all rows become Python's."""
    if not isinstance(value, Arg):
        return Arg.constant(value)
    if value.type.is_number and value.is_constant and value.value is not None:
        array = np.asarray(value.value)
        return value if array.ndim else replace(value, value=array.item())
    return value


REGISTRY: dict[str, Function] = {}
"""Every function by name, in capitals."""


def function(
    signature: str, *, group: str, aliases: tuple[str, ...] = (), name: str | None = None
) -> Callable[[Callable[..., Bound]], Callable[..., Bound]]:
    """Put a binder into the registry; its docstring's first line is the summary.

    The name is what stands before the parenthesis of the signature, where it is not given.
    """

    def register(binder: Callable[..., Bound]) -> Callable[..., Bound]:
        key = name or signature.split("(")[0]
        summary = (binder.__doc__ or "").strip().splitlines()[0]
        entry = Function(key, group, signature, summary, binder, aliases)
        for known in (key, *aliases):
            REGISTRY[known] = entry
        return binder

    return register
