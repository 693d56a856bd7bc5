"""Call functions that users have registered, with copies of arguments, and check their results."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Set
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.errors import (
    DamagedError,
    InvalidValueError,
    QueryError,
    QueryTypeError,
    message_of,
)
from deeplake_lite.htypes import Json
from deeplake_lite.htypes.base import Htype
from deeplake_lite.query.database import interrupt
from deeplake_lite.query.functions.base import Arg, Bound, Function
from deeplake_lite.query.functions.value_type import Type
from deeplake_lite.query.tensors.trees import objects

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

GROUP = "Your own"

type Returns = str | tuple[str, tuple[int | None, ...]] | Htype

_CASTS = {"b": "b", "i": "biu", "u": "biu", "f": "biuf", "c": "biufc", "M": "M", "m": "m"}
"""Maps the kind of the declared dtype to the dtype kinds that a result may have."""


OWN: dict[str, Function] = {}
"""Maps names, in capitals, to the functions that the user has registered. Such functions are not in
`REGISTRY`, because they may override functions there."""


def entry(name: str, function: Callable[..., Any], type_: Type, per: str) -> Function:
    """Return a Python function as a function that queries can call.

    Parameters
    ----------
    name : str
        Name in queries, in capitals.
    function : callable
        The Python function.
    type_ : Type
        Declared type of the result for one row.
    per : str
        "row" or "block"; see `registering.function`.
    """
    signature = inspect.signature(function)
    bind = partial(_bind, name, function, type_, per, signature)
    summary = (inspect.getdoc(function) or "A registered function.").splitlines()[0]
    return Function(name, GROUP, f"{name}{_without_annotations(signature)}", summary, bind)


def _bind(
    name: str,
    function: Callable[..., Any],
    type_: Type,
    per: str,
    signature: inspect.Signature,
    *args: Arg,
    **named: Arg,
) -> Bound:
    """Bind a call of a Python function. Other processes can unpickle a `partial` of this."""
    try:
        signature.bind(*args, **named)
    except TypeError as error:
        raise QueryTypeError(f"A call must match {name}{signature}: {error}.") from None
    call = _Call(name, function, type_, per, len(args), tuple(named), (*args, *named.values()))
    return Bound(type_, call, lists=True)


def _without_annotations(signature: inspect.Signature) -> str:
    parameters = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    return str(inspect.Signature(parameters))


def declared_type(returns: Returns) -> Type:
    """Return the type that the argument `returns` of `registering.function` declares."""
    if isinstance(returns, Htype):
        return Type.of(returns)
    spec: Any = returns
    is_pair = isinstance(spec, tuple) and len(spec) == 2
    dtype, shape = spec if is_pair else (spec, ())
    try:
        if not isinstance(dtype, np.dtype | type):
            name = checks.text("returns", dtype)
            dtype = {"text": "str", "json": "object"}.get(name, name)
        canonical = dtype if dtype in ("str", "object") else np.dtype(dtype).name
        return Type(canonical, tuple(shape))
    except (TypeError, ValueError):
        raise QueryTypeError(
            f"returns must be a dtype, (dtype, shape) or an htype, but it is {brief(returns)}. "
            "Write, for example, 'float32' or ('float32', (3,))."
        ) from None


def _as_block(value: object, arg: Arg) -> object:
    """Return the value of an argument in one row as a block of one row.

    The block is an array if the shape of values is fixed, and otherwise a list.
    """
    if arg.is_constant:
        return value
    if arg.type.ndim != 0 and not arg.type.has_fixed_shape:
        return [value]
    return value[None] if isinstance(value, np.ndarray | np.generic) else objects([value])


def _copy(value: object) -> object:
    """Return a copy of an argument that a function may modify."""
    match value:
        case np.ndarray():
            return deepcopy(value) if value.dtype.hasobject else np.array(value, subok=True)
        case list():
            return [_copy(item) for item in value]
        case tuple():
            return tuple(map(_copy, value))
        case dict():
            return {name: _copy(item) for name, item in value.items()}
    return value


_NO_SEQUENCES = (str, bytes, bytearray, Mapping, Set)
"""Types that have a length, but are not sequences with one result per row."""


class _Call:
    """A function that the user has registered, bound to arguments."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        type_: Type,
        per: str,
        positional: int,
        names: tuple[str, ...],
        args: tuple[Arg, ...],
    ) -> None:
        self.name, self.function, self.type, self.per = name, function, type_, per
        self.positional, self.names, self.args = positional, names, args

    def __call__(self, *values: Any, lead: int) -> object:
        if not lead:
            if self.per == "row":
                return self._check(self._call(values, None), None)
            blocks = [_as_block(v, arg) for v, arg in zip(values, self.args, strict=True)]
            return self._call_block(blocks, 1)[0]
        count = max(len(v) for v, arg in zip(values, self.args, strict=True) if not arg.is_constant)
        return self._stack(self._call_block(values, count))

    def _call_block(self, values: Sequence[object], count: int) -> list[Any]:
        """Return the checked results for `count` rows."""
        if self.per == "block":
            results = self._call(values, None)
            if not hasattr(results, "__len__") or isinstance(results, _NO_SEQUENCES):
                raise QueryTypeError(
                    f"{self.name} must return a list or an array with one result per row, {count} "
                    f"in total, but it returned {type(results).__name__}."
                )
            if len(results) != count:
                raise QueryTypeError(
                    f"{self.name} must return one result per row, {count} in total, but it "
                    f"returned {len(results)}."
                )
            return [self._check(result, row) for row, result in enumerate(results)]
        return [self._row_result(values, row) for row in range(count)]

    def _row_result(self, values: Sequence[object], row: int) -> Any:
        interrupt.check()  # a slow function may take a minute for a block
        arguments = [self._row_value(v, i, row) for i, v in enumerate(values)]
        return self._check(self._call(arguments, row), row)

    def _row_value(self, values: Any, argument: int, row: int) -> Any:
        return values if self.args[argument].is_constant else values[row]

    def _call(self, values: Sequence[object], row: int | None) -> Any:
        """Call the Python function with copies of its arguments.

        Raises QueryError if the function raises an error.
        """
        copies = [_copy(value) for value in values]
        named = dict(zip(self.names, copies[self.positional :], strict=True))
        try:
            return self.function(*copies[: self.positional], **named)
        except Exception as error:
            position = "" if row is None else f" in row {row} of a block of rows"
            raise QueryError(
                f"{self.name} failed{position}: {type(error).__name__}: {message_of(error)}"
            ) from error

    def _check(self, value: object, row: int | None) -> Any:
        """Return a result as a value of the declared dtype, or None if it is null.

        The value is a copy, because the function may later modify an array and return it again.

        Raises
        ------
        QueryTypeError
            If the result does not have the declared type.
        """
        if value is None or value is np.ma.masked:
            return None
        if np.ma.isMaskedArray(value) and np.ma.getmaskarray(value).any():
            if value.mask.all():
                return None
            if self.type.dtype != "object":
                raise self._unexpected("a partly masked array", row)
            value = value.tolist()
        match self.type.dtype:
            case "object":
                return self._json(value, row) if self.type.items is None else deepcopy(value)
            case "str" if isinstance(value, str):
                return self._text(value, row)
            case "bytes" if isinstance(value, bytes | bytearray | memoryview):
                return bytes(value)
            case "str" | "bytes":
                raise self._unexpected(type(value).__name__, row)
        return self._number(value, row)

    def _text(self, value: str, row: int | None) -> str:
        """Return a string. Raises InvalidValueError if UTF-8 cannot encode it."""
        if (position := checks.find_lone_surrogate(value)) is not None:
            raise self._invalid(
                f"the string has a lone surrogate at position {position}, which UTF-8 cannot "
                "encode. Replace it: value.encode(errors='replace').decode().",
                row,
            )
        return str(value)

    def _json(self, value: object, row: int | None) -> object:
        """Return a result as the JSON value that a JSON column would contain."""
        try:
            return Json().decode_cells(Json().encode([value]))[0]
        except InvalidValueError as error:
            raise self._unexpected(str(error).removeprefix("row 0: "), row) from error

    def _number(self, value: object, row: int | None) -> NDArray[Any]:
        """Return a result of numbers, booleans or times as an array of the declared dtype."""
        array, expected = self._array(value, row), np.dtype(self.type.dtype)
        if array.dtype.kind not in _CASTS.get(expected.kind, ""):
            raise self._unexpected(f"{array.dtype} {array.shape}", row)
        with np.errstate(all="ignore"):
            cast = array.astype(expected)  # `astype` always copies, see `_check`
        if expected.kind in "iuMm" and not _are_same(cast, array):
            raise self._unexpected(f"{array.dtype} out of its range", row)
        if not self.type.admits(self.type.dtype, array.shape):
            raise self._unexpected(f"{array.dtype} {array.shape}", row)
        self._check_meaning(cast, row)
        return cast[()]

    def _check_meaning(self, array: NDArray[Any], row: int | None) -> None:
        """Check a result whose declared type is an htype.

        Raises
        ------
        InvalidValueError
            If a number is not the number of a class, or if the htype does not allow the shape.
        """
        classes, htype = self.type.classes, self.type.htype
        if classes is not None:
            try:
                classes.encode([array if array.ndim else array.item()])
            except InvalidValueError as error:
                raise self._invalid(error.args[0], row) from error
        elif htype is not None:
            try:
                htype.check_shape(array.shape)
                fits = not self.type.is_like_image or array.ndim in (2, 3)
            except DamagedError:  # `check_shape` takes the shape for that of a damaged cell
                fits = False
            if not fits:
                raise self._invalid(f"it returned an array of shape {array.shape}.", row)

    def _array(self, value: object, row: int | None) -> NDArray[Any]:
        """Return a result as an array.

        Class names become class numbers. An empty list becomes an array with the number of axes
        that the declared type has.
        """
        kind, classes = np.dtype(self.type.dtype).kind, self.type.classes
        if classes is not None and classes.names:
            try:
                names = [value] if isinstance(value, str) else value
                if isinstance(names, list | tuple) and all(isinstance(v, str) for v in names):
                    numbers = np.array([classes.index(v) for v in names], np.int64)
                    return numbers[0] if isinstance(value, str) else numbers
            except InvalidValueError as error:
                raise self._unexpected(f"a class that {error}", row) from error
        shape = self.type.shape
        if isinstance(value, list | tuple) and not value and shape and shape[0] is None:
            return np.empty([n or 0 for n in shape], self.type.dtype)
        array = np.asarray(value)
        return array.astype(f"{kind}8") if kind in "Mm" and array.dtype == object else array

    def _invalid(self, reason: str, row: int | None) -> InvalidValueError:
        position = "" if row is None else f" for row {row} of a block of rows"
        expected = self.type.htype or self.type
        return InvalidValueError(f"{self.name} must return {expected}{position}: {reason}")

    def _unexpected(self, actual: str, row: int | None) -> QueryTypeError:
        position = "" if row is None else f" for row {row} of a block of rows"
        is_json = self.type.dtype == "object" and self.type.items is None
        expected = "JSON" if is_json else self.type
        return QueryTypeError(
            f"{self.name} must return {expected}, but it returned {actual}{position}."
        )

    def _stack(self, results: list[Any]) -> object:
        """Return results of a fixed shape as an array, with nulls masked, and others as a list."""
        if not self.type.has_fixed_shape:
            return results
        null = np.array([result is None for result in results], bool)
        shape = (len(results), *(n or 0 for n in self.type.shape or ()))
        stack = np.zeros(shape, self.type.dtype)
        if not null.all():
            stack[~null] = [result for result in results if result is not None]
        if not null.any():
            return stack
        axes = tuple(range(1, stack.ndim))
        return np.ma.MaskedArray(stack, np.broadcast_to(np.expand_dims(null, axes), shape))


def _are_same(cast: NDArray[Any], array: NDArray[Any]) -> bool:
    """Return whether a cast of integers or times to another dtype has changed no value."""
    times = array.dtype.kind in "Mm"
    with np.errstate(all="ignore"):
        back = cast.astype(array.dtype) if times else cast
    return np.array_equal(back, array, equal_nan=times)
