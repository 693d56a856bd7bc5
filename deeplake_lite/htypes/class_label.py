"""The type of class labels: stored as integers, shown as names."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, override

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.checks import find_lone_surrogate
from deeplake_lite.errors import DamagedError, InvalidValueError, SchemaError
from deeplake_lite.htypes.array import shapes_of
from deeplake_lite.htypes.arrays import as_block, as_buffer, each, from_buffer
from deeplake_lite.htypes.base import Check, Htype
from deeplake_lite.htypes.cells import Cells, DenseCells, RaggedCells
from deeplake_lite.htypes.dtypes import FIXED
from deeplake_lite.htypes.facets import Browser, Sql
from deeplake_lite.htypes.layouts import Dense, Ragged
from deeplake_lite.htypes.names import check_names
from deeplake_lite.htypes.text import not_utf8
from deeplake_lite.htypes.words import pluralize, quote_if_needed

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.htypes.cells import Values


@dataclass(frozen=True, repr=False, eq=False)
class ClassLabel(Htype):
    """One or several classes per row, read as int32.

    Parameters
    ----------
    names : sequence of str, optional
        Names of the classes 0, 1, 2… Without names, any non-negative class number is valid.
    multiple : bool
        Whether a row may have any number of classes.

    Notes
    -----
    If a column has two class names or none, booleans mean the classes 0 and 1. Other columns, and
    those with several classes per row, reject booleans. To convert a boolean vector with an entry
    for each class, use ``np.flatnonzero``. The classes of a row keep their order and may be
    repeated, for example because an image contains several objects of one class.

    Examples
    --------
    >>> flowers = ClassLabel(["rose", "tulip"])
    >>> flowers.encode(["tulip", 0]).values
    array([1, 0], dtype=int32)
    >>> flowers.to_names([1, 0])
    ['tulip', 'rose']
    >>> flowers.encode(["tulpi"])
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.InvalidValueError: row 0: must be one of 2 classes, but it is 'tulpi'. ...
    """

    names: Sequence[str] = ()
    """Names of the classes."""

    _: KW_ONLY

    multiple: bool = False
    """Whether a row may have any number of classes."""

    name: ClassVar[str] = "class_label"
    nan_is_null: ClassVar[bool] = True

    @override
    def __post_init__(self) -> None:
        self._set(names=check_names(self.names, "class"))
        if not isinstance(self.multiple, bool):
            raise SchemaError(f"multiple must be True or False, but it is {brief(self.multiple)}.")
        super().__post_init__()

    @property
    @override
    def layout(self) -> Dense | Ragged:
        return Ragged("int32", 1) if self.multiple else Dense("int32")

    @property
    @override
    def blank(self) -> list[object] | int:
        return [] if self.multiple else 0

    @property
    @override
    def classes(self) -> ClassLabel:
        return self

    @property
    @override
    def is_plain(self) -> bool:
        return True

    @property
    @override
    def sql(self) -> Sql | None:
        return None if self.multiple else "class"

    @property
    @override
    def browser(self) -> Browser:
        return Browser("tags" if self.multiple else "class", editable=True)

    @override
    def details(self) -> Iterator[str]:
        if self.names:
            yield pluralize(len(self.names), "class")
        if self.multiple:
            yield "several per row"

    @override
    def to_words(self, value: object) -> str:
        names = self.to_names(value)
        return names if isinstance(names, str) else ", ".join(map(quote_if_needed, names))

    @override
    def continues(self, other: Htype) -> bool:
        if not isinstance(other, ClassLabel) or self.multiple != other.multiple:
            return False
        names = tuple(other.names)
        if not names:
            return self == other
        return tuple(self.names[: len(names)]) == names

    @override
    def united(self, other: Htype) -> ClassLabel | None:
        if not isinstance(other, ClassLabel) or self.multiple != other.multiple:
            return None
        if bool(self.names) != bool(other.names):
            return None
        return ClassLabel([*dict.fromkeys([*self.names, *other.names])], multiple=self.multiple)

    @override
    def widened(self, coming: Htype) -> ClassLabel | None:
        if not isinstance(coming, ClassLabel) or not self.names:
            return None
        if self.multiple != coming.multiple:
            return None
        new = [name for name in coming.names if name not in self._numbers]
        return replace(self, names=(*self.names, *new)) if new else None

    @override
    def with_classes(self, names: Iterable[str]) -> ClassLabel | None:
        return self.widened(ClassLabel([*names], multiple=self.multiple))

    @override
    def describes(self, other: Htype) -> bool:
        if not isinstance(other, ClassLabel) or self.multiple != other.multiple:
            return False
        return tuple(other.names)[: len(self.names)] == tuple(self.names)

    @property
    @override
    def item(self) -> Htype | None:
        """Type of a single class if a row has a list of classes, otherwise None."""
        return ClassLabel(self.names) if self.multiple else None

    @override
    def named(self, values: Values) -> Values:
        if not self.names:
            return values
        names = np.array(self.names, object)
        if self.multiple:
            return [None if v is None else names[np.asarray(v, np.int64)].tolist() for v in values]
        return [None if v is None else self.names[v] for v in values]

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.names)}

    @property
    def takes_truth(self) -> bool:
        """Whether booleans mean the class numbers 0 and 1."""
        return not self.multiple and len(self.names) in (0, 2)

    def index(self, name: str) -> int:
        """Return the number of a class.

        Raises
        ------
        InvalidValueError
            If no class has that name.
        """
        number = self._numbers.get(name) if isinstance(name, str) else None
        if number is None:
            raise self._unknown(name)
        return number

    def to_names(self, values: Any) -> Any:
        """Return the name of a class number, a list of names for several, or None for null.

        If the classes have no names, their numbers are returned as strings.
        """
        if values is None or values is np.ma.masked:
            return None
        if np.ndim(values) == 0:
            return self.names[int(values)] if self.names else str(int(values))
        return [self.to_names(value) for value in values]

    @override
    def _encode(self, values: Values, check: Check) -> Cells:
        if self.multiple:
            arrays = each(values, self._read_several)
            return RaggedCells([as_buffer(array) for array in arrays], shapes_of(arrays, 1))
        return DenseCells(self._read(values))

    def _read(self, values: Values) -> NDArray[np.int32]:
        """Convert class numbers and names, one per row, to class numbers."""
        if isinstance(values, np.ndarray) and values.dtype.kind in "UO":
            values = values.tolist()
        self._check_no_booleans(values)
        kinds = set() if isinstance(values, np.ndarray) else set(map(type, values))
        if not all(issubclass(kind, int | np.integer) for kind in kinds):
            values = each(values, self._to_number)
        numbers = as_block(values, "int32", (), FIXED)
        wrong = numbers < 0
        if self.names:
            wrong |= numbers >= len(self.names)
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            most = f"to {len(self.names) - 1}" if self.names else "or more"
            raise InvalidValueError(
                f"a class number must be 0 {most}, but it is {numbers[row]}. "
                "For rows without a class, declare nullable=True and pass None.",
                row=row,
            )
        return numbers

    def _check_no_booleans(self, values: Values) -> None:
        """Raise InvalidValueError for booleans, which may come from a one-hot vector."""
        if self.takes_truth:
            return
        row = _find_boolean(values)
        if row is None:
            return
        if self.multiple:
            hint = "Pass the class numbers of each row: np.flatnonzero(row)."
        else:
            hint = "Pass class numbers: x.astype(int)."
        raise InvalidValueError(
            f"must be class numbers or names, but {brief(values[row])} is a boolean. {hint}",
            row=row,
        )

    def _to_number(self, value: object) -> object:
        """Convert a class name to its number. Any other value is returned unchanged."""
        if isinstance(value, str):
            return self.index(value)
        if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
            raise InvalidValueError(
                f"must be one class per row, but it is {brief(value)}. "
                "Declare ClassLabel(…, multiple=True)."
            )
        return value

    def _read_several(self, value: object) -> NDArray[np.int32]:
        """Return the class numbers of one row."""
        if not isinstance(value, list | tuple) and not (
            isinstance(value, np.ndarray) and value.ndim
        ):
            raise InvalidValueError(
                f"must be a list of classes, since multiple=True, but it is {brief(value)}. Put it "
                "in a list."
            )
        try:
            return self._read(value)
        except InvalidValueError as error:
            raise InvalidValueError(f"item {error.row}: {error.args[0]}") from error

    def _unknown(self, name: str) -> InvalidValueError:
        """Build the error for an unknown class name."""
        if isinstance(name, str) and (at := find_lone_surrogate(name)) is not None:
            return not_utf8(name, at)
        if not self.names:
            return InvalidValueError(
                f"must be a class number, but it is {brief(name)}. Declare the names: "
                f"ClassLabel([{brief(name)}, …])."
            )
        matches = [repr(match) for match in get_close_matches(str(name), self.names, n=3)]
        hint = f" Did you mean {' or '.join(matches)}?" if matches else ""
        listing = ", ".join(map(repr, self.names[:10])) + (", …" if len(self.names) > 10 else "")
        count = len(self.names)
        rule = f"one of {count} classes" if count > 1 else "the only class"
        return InvalidValueError(
            f"must be {rule}, but it is {brief(name)}.{hint} Known: "
            f"{listing}. To add a class, call ds.add_classes(column, [{brief(name)}])."
        )

    @override
    def decode(self, data: Any, shape: tuple[int, ...]) -> NDArray[np.int32]:
        numbers = from_buffer(data, "int32", shape) if self.multiple else data
        count = len(self.names)
        if count and numbers.size and not 0 <= numbers.min() <= numbers.max() < count:
            raise DamagedError(
                f"A class number must be 0 to {count - 1}, but a cell contains "
                f"{int(numbers.max() if numbers.min() >= 0 else numbers.min())}. Run ds.verify() "
                "to find all such cells."
            )
        return numbers

    @override
    def preview(self, value: object) -> str:
        names = self.to_names(value)
        return ", ".join(names) if isinstance(names, list) else str(names)


def _find_boolean(values: Values) -> int | None:
    """Return the position of the first boolean, or None if there is none.

    >>> _find_boolean([0, np.True_]), _find_boolean([0, 1]), _find_boolean(np.array([False]))
    (1, None, 0)
    """
    if isinstance(values, np.ndarray) and values.dtype != object:
        return 0 if values.dtype == bool and values.size else None
    kinds = set(map(type, values))
    if all(issubclass(kind, int | str | np.integer) and kind is not bool for kind in kinds):
        return None
    return next((row for row, value in enumerate(values) if _is_boolean(value)), None)


def _is_boolean(value: Any) -> bool:
    """Return whether a value is a single boolean of Python, NumPy or PyTorch."""
    if isinstance(value, bool | np.bool_):
        return True
    return getattr(value, "ndim", 1) == 0 and str(value.dtype) in ("bool", "torch.bool")
