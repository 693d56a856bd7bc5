"""What a column of Arrow data is in a lake.

- integers, floats, truth values: `Scalar` of the same dtype; whole decimals become int64, others
  float64, unless it rounds one of them
- timestamps, dates, times, durations: `Scalar` datetime64, timedelta64; time zones become UTC
- strings: `Text`; a dictionary of strings: `ClassLabel`; binary: `Bytes`
- fixed-size lists of numbers: `Array` of that shape; lists of numbers: `Array` of any length
- tensors of a fixed shape: `Array` of that shape, its axes in the order in which they are read
- lists of anything else: `Sequence`; structs, maps, unions: `Json`; null: `Text`, nullable
- extensions and run-end encodings: what they hold; bool8: `Scalar` bool
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa
import pyarrow.types as kinds

from deeplake_lite.checks import find_lone_surrogate
from deeplake_lite.dataset.arrow.decimals import first_rounded
from deeplake_lite.dataset.arrow.objects import objects_in
from deeplake_lite.dataset.arrow.types import (
    dtype_of,
    is_bytes,
    is_list,
    is_text,
    shape_of,
    unwrapped,
)
from deeplake_lite.dataset.arrow.values import arrow_values, one_array
from deeplake_lite.dataset.write.tables import as_exported, exported_htype
from deeplake_lite.errors import SchemaError
from deeplake_lite.htypes import (
    Array,
    Bytes,
    ClassLabel,
    Htype,
    Json,
    Scalar,
    Sequence,
    Text,
)
from deeplake_lite.htypes.base import pasted

if TYPE_CHECKING:
    from collections.abc import Iterable


def htype_of(kind: pa.DataType, *, nullable: bool = False, names: Iterable[str] = ()) -> Htype:
    """Return the htype for an Arrow type.

    Parameters
    ----------
    kind : pyarrow.DataType
        The type.
    nullable : bool
        Whether there are nulls.
    names : iterable of str
        Names of the classes, for a dictionary of strings.

    Examples
    --------
    >>> htype_of(pa.list_(pa.float32(), 3)), htype_of(pa.timestamp("ms", tz="UTC"), nullable=True)
    (Array('float32', (3,)), Scalar('datetime64[ms]', nullable=True))
    """
    found = _plain_htype(kind, tuple(names))
    if kinds.is_null(kind):
        nullable = True
    return replace(found, nullable=nullable) if nullable else found


def _plain_htype(kind: pa.DataType, names: tuple[str, ...]) -> Htype:
    kind = unwrapped(kind)
    if isinstance(kind, pa.FixedShapeTensorType):
        return Array(str(dtype_of(kind.value_type)), shape_of(kind))
    if kinds.is_struct(kind) and len({f.name for f in kind}) < kind.num_fields:
        raise SchemaError(f"A struct has fields of different names, but it is {kind}. Rename one.")
    if kinds.is_dictionary(kind):
        return ClassLabel(names) if is_text(kind.value_type) else _plain_htype(kind.value_type, ())
    if (dtype := dtype_of(kind)) is not None:
        return Scalar(dtype)
    if is_text(kind) or kinds.is_null(kind):
        return Text()
    if is_bytes(kind):
        return Bytes()
    if is_list(kind):
        return _list_htype(kind)
    if kinds.is_nested(kind):  # struct, map, union
        return Json()
    raise SchemaError(f"There is no column type for Arrow's {kind}.")


def _list_htype(kind: pa.DataType) -> Htype:
    """Return the htype for lists: arrays of numbers, sequences of anything else."""
    shape, item = [], kind
    while kinds.is_fixed_size_list(item):
        shape.append(item.list_size)
        item = unwrapped(item.value_type)
    if shape and dtype_of(item) is not None and all(shape):
        return Array(str(dtype_of(item)), tuple(shape))
    item = unwrapped(kind.value_type)
    if dtype_of(item) is not None:
        return Array(str(dtype_of(item)), (None,))
    if kinds.is_dictionary(item):
        item = item.value_type
    return Sequence(replace(_plain_htype(item, ()), nullable=True))


@dataclass(frozen=True)
class ArrowColumn:
    """A column of Arrow data in memory, among arrays and lists."""

    array: pa.Array
    """All its values, in one piece."""

    field: pa.Field | None = None
    """What is known of it, if it comes from a table."""

    @classmethod
    def of(cls, array: pa.Array | pa.ChunkedArray, field: pa.Field | None = None) -> Self:
        """Join the chunks of a column."""
        return cls(one_array(array), field)

    def __len__(self) -> int:
        return len(self.array)

    @property
    def nbytes(self) -> int:
        """Size in memory, bytes."""
        return int(self.array.nbytes)

    def htype(self, *, classes: bool = False) -> Htype:
        """Return the column's type; `classes` makes a ClassLabel of texts."""
        kind, nullable = self.array.type, bool(self.array.null_count)
        if not classes and (noted := exported_htype(self.field)) is not None:
            return noted
        if kinds.is_dictionary(kind) and is_text(kind.value_type):
            texts = texts_in(self.array.dictionary)
            names = [text for text in texts if text is not None]
            return htype_of(kind, nullable=nullable or len(names) < len(texts), names=names)
        if classes and is_text(kind):
            return class_label(set(texts_in(self.array.unique())))
        return htype_of(kind, nullable=nullable)

    def check_unrounded(self, name: str) -> None:
        """Refuse decimals that float64 rounds, where that type was found. Raises SchemaError."""
        if exported_htype(self.field) is None:
            check_unrounded(self.array, name, self.htype())

    def values(self, start: int, stop: int, htype: Htype) -> Any:
        """Return some of the values as `htype` takes them."""
        values = values_of(
            self.array.slice(start, stop - start), exported_htype(self.field) or htype
        )
        return values if self.field is None else as_exported(values, self.field)


def check_unrounded(array: pa.Array, name: str, found: Htype, start: int = 0) -> None:
    """Refuse decimals that the type found for their column rounds; `start` is the first row.

    Raises
    ------
    SchemaError
        For the column, with the types that take its values.

    Examples
    --------
    >>> from decimal import Decimal
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
        f"To accept that, give the type: schema={{{name!r}: {pasted(found)}}}. Texts keep the "
        f"digits: schema={{{name!r}: {pasted(_with_texts(found))}}}, or str(value) in a list."
    )


def _with_texts(htype: Htype) -> Htype:
    """Return the type for texts in place of the numbers of another type.

    >>> _with_texts(Array("float64", (None,)))
    Sequence(Text(nullable=True))
    """
    if htype.is_array:
        item: Htype = Text(nullable=True)
        for _ in htype.axes or ():
            item = Sequence(item)
        return replace(item, nullable=htype.nullable)
    if htype.item is not None:
        return Sequence(_with_texts(htype.item), nullable=htype.nullable)
    return Text(nullable=htype.nullable)


def texts_in(array: pa.Array) -> list[str | None]:
    """Return the texts of an array that are UTF-8: what is not is refused with its row, later.

    >>> texts_in(pa.array(["a", None]))
    ['a', None]
    """
    texts = objects_in(array)
    return [text for text in texts if text is None or find_lone_surrogate(text) is None]


def class_label(texts: set[str | None]) -> ClassLabel:
    """Return the classes that texts name, sorted; an empty text, as a CSV has it, names none.

    >>> class_label({"rose", "lily", ""})
    ClassLabel(['lily', 'rose'], nullable=True)
    """
    names = sorted(text for text in texts if text)
    return ClassLabel(names, nullable=len(names) < len(texts))


def values_of(array: pa.Array, htype: Htype) -> Any:
    """Return a column's values as `htype` takes them; an empty text names no class and no file.

    >>> values_of(pa.array(["rose", ""]), ClassLabel(["rose"], nullable=True))
    ['rose', None]
    """
    values = arrow_values(array, htype)
    names = htype.classes is not None or htype.target is not None or htype.takes_files
    return [value or None for value in values] if names and _holds_texts(array.type) else values


def _holds_texts(kind: pa.DataType) -> bool:
    kind = unwrapped(kind)
    return is_text(kind.value_type if kinds.is_dictionary(kind) else kind)
