"""Column types for Arrow data.

- Integers, floats and booleans become `Scalar` with the same dtype. Decimals without fractions
  become int64, and other decimals float64, unless one of them would be rounded.
- Timestamps, dates, times and durations become `Scalar` datetime64 or timedelta64, in UTC.
- Strings become `Text`, dictionaries of strings `ClassLabel`, and binary data `Bytes`.
- Fixed-size lists of numbers become `Array` with that shape, and other lists of numbers `Array` of
  any length.
- Tensors of a fixed shape become `Array` with that shape. A permutation of their axes is applied.
- Other lists become `Sequence`, structs, maps and unions `Json`, and null columns nullable `Text`.
  In files, a struct with other fields than numbers and strings becomes a column for each field.
  Decimals in JSON become numbers, unless float64 would round them.
- Extension types and run-end encodings become the type of their values; bool8 is `Scalar` bool.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import pyarrow as pa
import pyarrow.types as kinds

from deeplake_lite.checks import find_lone_surrogate
from deeplake_lite.dataset.arrow.decimals import first_rounded
from deeplake_lite.dataset.arrow.htypes import htype_of
from deeplake_lite.dataset.arrow.objects import objects_in
from deeplake_lite.dataset.arrow.types import (
    is_text,
    unwrap,
)
from deeplake_lite.dataset.arrow.values import arrow_values, one_array
from deeplake_lite.dataset.write.tables import as_exported, exported_htype
from deeplake_lite.errors import SchemaError
from deeplake_lite.htypes import (
    ClassLabel,
    Htype,
    Sequence,
    Text,
)
from deeplake_lite.htypes.base import to_code


@dataclass(frozen=True)
class ArrowColumn:
    """A column of Arrow data in memory, used like an array or a list."""

    array: pa.Array
    """All values of the column, in one array."""

    field: pa.Field | None = None
    """Field of the table from which the column comes, or None if it comes from no table. Its
    metadata may have the column type."""

    @classmethod
    def of(cls, array: pa.Array | pa.ChunkedArray, field: pa.Field | None = None) -> Self:
        """Return the column for an array, whose chunks are joined."""
        return cls(one_array(array), field)

    def __len__(self) -> int:
        return len(self.array)

    @property
    def nbytes(self) -> int:
        """Size in memory in bytes."""
        return int(self.array.nbytes)

    def htype(self, *, classes: bool = False) -> Htype:
        """Return the column's type. If `classes` is true, it is `ClassLabel` for strings."""
        kind, nullable = self.array.type, bool(self.array.null_count)
        if not classes and (recorded := exported_htype(self.field)) is not None:
            return recorded
        if kinds.is_dictionary(kind) and is_text(kind.value_type):
            texts = texts_in(self.array.dictionary)
            names = [text for text in texts if text is not None]
            return htype_of(kind, nullable=nullable or len(names) < len(texts), names=names)
        if classes and is_text(kind):
            return class_label(set(texts_in(self.array.unique())))
        return htype_of(kind, nullable=nullable)

    def check_unrounded(self, name: str) -> None:
        """Raise SchemaError if the inferred type of the column would round a decimal."""
        if exported_htype(self.field) is None:
            check_unrounded(self.array, name, self.htype())

    def values(self, start: int, stop: int, htype: Htype) -> Any:
        """Return the rows from `start` up to `stop` in a form that `htype` can encode."""
        values = values_of(
            self.array.slice(start, stop - start), exported_htype(self.field) or htype
        )
        return values if self.field is None else as_exported(values, self.field)


def check_unrounded(array: pa.Array, name: str, inferred: Htype, start: int = 0) -> None:
    """Raise an error if the inferred type of a column would round a decimal.

    `start` is the number of the first row of the array.

    Raises
    ------
    SchemaError
        If a decimal would be rounded. The message suggests types that can store it.

    Examples
    --------
    >>> from decimal import Decimal
    >>> from deeplake_lite.htypes import Scalar
    >>> check_unrounded(pa.array([Decimal("12345678901234567.5")]), "x", Scalar("float64"))
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.SchemaError: Column 'x': row 0 has the decimal 12345678901234567.5, ...
    """
    rounded = first_rounded(array)
    if rounded is None:
        return
    row, number = rounded
    raise SchemaError(
        f"Column {name!r}: row {start + row} has the decimal {number}, which float64 rounds. "
        f"To accept rounding, declare the type: schema={{{name!r}: {to_code(inferred)}}}. To keep "
        "the digits, store strings: declare "
        f"schema={{{name!r}: {to_code(_with_strings(inferred))}}}, or pass str(value) for each "
        "value."
    )


def _with_strings(htype: Htype) -> Htype:
    """Return a type with strings instead of numbers.

    >>> from deeplake_lite.htypes import Array
    >>> _with_strings(Array("float64", (None,)))
    Sequence(Text(nullable=True))
    """
    if htype.is_array:
        item: Htype = Text(nullable=True)
        for _ in htype.axes or ():
            item = Sequence(item)
        return replace(item, nullable=htype.nullable)
    if htype.item is not None:
        return Sequence(_with_strings(htype.item), nullable=htype.nullable)
    return Text(nullable=htype.nullable)


def texts_in(array: pa.Array) -> list[str | None]:
    """Return the strings of an array as a list, without those that are invalid UTF-8.

    Invalid strings cause errors later, when they are encoded.

    >>> texts_in(pa.array(["a", None]))
    ['a', None]
    """
    texts = objects_in(array)
    return [text for text in texts if text is None or find_lone_surrogate(text) is None]


def class_label(texts: set[str | None]) -> ClassLabel:
    """Return a type whose classes are the sorted strings. Empty strings count as null, as in CSV.

    >>> class_label({"rose", "lily", ""})
    ClassLabel(['lily', 'rose'], nullable=True)
    """
    names = sorted(text for text in texts if text)
    return ClassLabel(names, nullable=len(names) < len(texts))


def values_of(array: pa.Array, htype: Htype) -> object:
    """Return a column's values in a form that `htype` can encode.

    In columns of classes or files, "" becomes null.

    >>> values_of(pa.array(["rose", ""]), ClassLabel(["rose"], nullable=True))
    ['rose', None]
    """
    values = arrow_values(array, htype)
    names = htype.classes is not None or htype.target is not None or htype.takes_files
    return [value or None for value in values] if names and holds_strings(array.type) else values


def holds_strings(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is a type of strings, which may be encoded as a dictionary."""
    kind = unwrap(kind)
    return is_text(kind.value_type if kinds.is_dictionary(kind) else kind)
