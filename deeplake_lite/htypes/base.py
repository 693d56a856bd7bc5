"""The base class of column types.

An htype is a small frozen value. It names the storage `layout` of its cells, checks and encodes a
block of values (`encode`), decodes a stored cell (`decode`), and renders a value (`preview`). The
base class handles nulls and masked arrays, so subclasses only encode values that are not null.
"""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from dataclasses import MISSING, Field, dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeGuard
from zlib import crc32

import numpy as np

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.codecs.base import put
from deeplake_lite.codecs.limits import DEFAULT_LIMITS, Limits
from deeplake_lite.errors import InvalidValueError, SchemaError
from deeplake_lite.htypes.cells import Cells, DenseCells, NestedCells, RaggedCells, take
from deeplake_lite.htypes.facets import Facets
from deeplake_lite.htypes.foreign import is_column, without_arrow
from deeplake_lite.htypes.json_values import canonical_json, same_json
from deeplake_lite.htypes.layouts import Dense, Nested, Ragged
from deeplake_lite.htypes.plain import freeze, to_builtins, to_json
from deeplake_lite.htypes.tensors import array_of, without_tensors

if TYPE_CHECKING:
    from collections.abc import Buffer, Callable, Iterable, Iterator

    from numpy.typing import NDArray

    from deeplake_lite.htypes.cells import Values

type Check = Literal["header", "full"]
"""How to check files. "header" reads only their header and end, and "full" also decodes them."""

_MAX_ITEMS = 5  # maximum number of items of a list in `str(htype)`
_MAX_CHARACTERS = 80  # maximum length of any other field in `str(htype)`


@dataclass(frozen=True)
class Picture:
    """A small image that represents a value in HTML."""

    data: bytes
    """Encoded image."""

    mime: str
    """MIME type, such as ``"image/jpeg"``."""

    width: int
    """Width in pixels."""

    height: int
    """Height in pixels."""


@dataclass(frozen=True, repr=False, eq=False)
class Htype(Facets):
    """Base class of column types.

    Htypes are values: two htypes with the same configuration are equal, and ``repr`` is the
    constructor call.

    Parameters
    ----------
    nullable : bool
        Whether a cell may be None.
    default : object, optional
        Value of the column in rows that are appended without a value for it. If there is no
        default, such cells are null if the column is nullable; otherwise, the append is rejected.

    Raises
    ------
    SchemaError
        When the configuration contradicts itself, or `default` is not a value of the type.
    """

    nullable: bool = field(default=False, kw_only=True)
    """Whether a cell may be None."""

    default: Any = field(default=None, kw_only=True)
    """Value of the column in rows that are appended without a value for this column. It consists of
    built-in types."""

    _limits: Limits = field(default=DEFAULT_LIMITS, kw_only=True, metadata={"stored": False})
    """Memory limits of the Dataset that uses the type. Comparisons of types ignore the limits."""

    name: ClassVar[str]
    """Registry key, such as ``"image"``."""

    nan_is_null: ClassVar[bool] = False
    """Whether NaN stands for null, as for missing strings in pandas."""

    def __post_init__(self) -> None:
        if not isinstance(self.nullable, bool):
            raise SchemaError(f"nullable must be True or False, but it is {self.nullable!r}.")
        if self.default is None:
            return
        try:
            self._set_default(self._plain_default(_as_numpy(self.default)))
        except InvalidValueError as error:
            raise SchemaError(
                f"The default of {type(self).__name__} is invalid: {error}"
            ) from error
        except RecursionError as error:
            raise SchemaError(
                f"The default of {type(self).__name__} is nested too deeply: "
                f"{brief(self.default)}. Flatten it."
            ) from error

    def _set_default(self, default: object) -> None:
        """Set the default as a value that `to_json` can write and `from_json` can restore."""
        self._set(default=freeze(default))
        cells = self.encode([self.default])
        if not _fits_json(default):
            # An object of another library, such as a Pillow image. Its decoded cell has built-in
            # types, and must itself be a valid value of the type.
            default = to_builtins(self.decode_cells(cells)[0])
            self._set(default=freeze(default))
            self.encode([self.default])
        if not _fits_json(default):
            raise SchemaError(
                f"The default of {type(self).__name__} must consist of numbers, strings, bytes, "
                f"lists and dicts, but it is {type(default).__name__} {brief(default)}. Convert it."
            )

    @property
    def bare(self) -> Self:
        """The type without nulls or a default, for comparing the meaning of values."""
        return replace(self, nullable=False, default=None)

    @property
    def limits(self) -> Limits:
        """Memory limits for decoding, set by the Dataset that uses the type."""
        return self._limits

    def limited(self, limits: Limits) -> Self:
        """Return a copy of the type with a Dataset's memory limits. The copy equals this type."""
        if limits == self._limits:
            return self
        changes: dict[str, Any] = {
            f.name: getattr(self, f.name).limited(limits)
            for f in fields(self)
            if f.metadata.get("htype")
        }
        return replace(self, _limits=limits, **changes)

    @property
    def varying(self) -> int:
        """Number of axes up to and including the last axis whose size may differ between rows."""
        match self.layout:
            case Ragged(ndim=ndim):
                return ndim
            case Nested():
                return 1
            case Dense():
                return 0

    @property
    def stores_shapes(self) -> bool:
        """Whether the stored shape of a cell is the shape of its value."""
        return True

    @property
    def takes_files(self) -> bool:
        """Whether users may pass a file as a value, as a path, URL or bytes."""
        return False

    def hands_files_to(self, other: Htype) -> bool:  # noqa: ARG002 (types that store files use it)
        """Return whether cells are files from which the type `other` would read the same values."""
        return False

    def values_from(self, of: Htype, values: Values) -> Values:
        """Convert values of another type to a form that this type accepts.

        The same number may mean different things in two types, such as a class and a coordinate.
        Types whose numbers have such a meaning convert numbers here, or raise an error.

        Parameters
        ----------
        of : Htype
            Type of the values.
        values : sequence or ndarray
            Decoded values, None where null. For types that store files, values may also be the
            bytes of the files.

        Raises
        ------
        InvalidValueError
            For values without an equivalent in this type.
        """
        return of.named(values)

    def named(self, values: Values) -> Values:
        """Return decoded values with class numbers replaced by class names."""
        return values

    @abstractmethod
    def _encode(self, values: Values, check: Check) -> Cells:
        """Check and encode values without nulls.

        Raises InvalidValueError for the first bad value, with the position of its row as `row`.
        """

    @abstractmethod
    def decode(self, data: Any, shape: tuple[int, ...]) -> Any:
        """Return the value of a stored cell.

        Parameters
        ----------
        data : Buffer | ndarray | list
            The bytes of a ragged cell, a dense cell or block of dense cells as stored, or the
            decoded items of a nested cell.
        shape : tuple of int
            Stored shape of a ragged cell, otherwise ``()``.
        """

    def check_shape(self, shape: tuple[int, ...]) -> None:
        """Check a stored shape. Raises DamagedError if no value of the type can have it."""

    def decode_into(self, data: Buffer, shape: tuple[int, ...], out: NDArray[Any]) -> None:
        """Decode a ragged cell into `out`, a C-contiguous array of the value's shape and dtype."""
        put(self.decode(data, shape), out)

    def decode_small(
        self,
        data: Buffer,
        shape: tuple[int, ...],
        side: int,  # noqa: ARG002 (used by types whose files can be decoded at a smaller scale)
        *,
        fast: bool = False,  # noqa: ARG002 (likewise)
    ) -> Any:
        """Decode a ragged cell of pixels, to a smaller image if that is faster.

        Parameters
        ----------
        data : Buffer
            The cell's bytes.
        shape : tuple of int
            Stored shape.
        side : int
            Minimum length of the longer side of the result, in pixels.
        fast : bool
            Whether to decode faster with less detail.
        """
        return self.decode(data, shape)

    @property
    @abstractmethod
    def blank(self) -> object:
        """Placeholder stored in null cells, such as zeros or an empty string."""

    @abstractmethod
    def preview(self, value: Any) -> Picture | str:
        """Return a preview of a decoded value: an image of up to 96 pixels or a short string.

        The value is never None. The string is not escaped for HTML.
        """

    def preview_stored(self, data: Buffer, shape: tuple[int, ...]) -> Picture | str:
        """Return a preview of a stored ragged cell. Only a part of it is decoded, if possible."""
        return self.preview(self.decode(data, shape))

    def encode(self, values: Values, *, check: Check = "header") -> Cells:
        """Check and encode a block of values.

        Parameters
        ----------
        values : sequence or ndarray
            One value per row. None and masked elements mean null.
        check : {"header", "full"}
            Whether to check only the header and end of files, or also to decode them.

        Raises
        ------
        InvalidValueError
            For a bad value. The error's `row` is the position of the first bad value.
        """
        checks.choice("check", check, ("header", "full"))
        block = self._without_masks(_as_block(values))
        valid = self._validity(block)
        if valid is None:
            return self._encode(block, check)
        if not self.nullable:
            row = int(np.flatnonzero(~valid)[0])
            null = None if np.ma.is_masked(block[row]) else block[row]
            raise InvalidValueError(
                f"must not be null, but it is {null}. Declare a nullable type with schema={{…: "
                f"{to_code(replace(self, nullable=True))}}}, or, if the column already exists, "
                "call ds.set_nullable(…).",
                row=row,
            )
        return _with_nulls(self._encode(_fill(block, valid, self.blank), check), valid)

    def computed(self) -> Htype:
        """Return the type of these values in query results: nullable, and with a lossless codec."""
        return replace(self, nullable=True, default=None)

    def encode_default(self, n: int) -> Cells:
        """Return `n` cells for rows that are appended without this column: the default, or null.

        Raises
        ------
        InvalidValueError
            If the type has no default and is not nullable.
        """
        if self.default is None and not self.nullable:
            raise InvalidValueError(
                "has no default, so every append must include this column. Declare it with "
                "default= or nullable=True to make it optional."
            )
        return take(self.encode([self.default]), np.zeros(n, np.int64))

    def decode_cells(self, cells: Cells) -> list[Any]:
        """Return a list of the cells' values, with None for null cells."""
        valid = np.ones(len(cells), bool) if cells.valid is None else cells.valid
        values: Iterator[Any]
        match cells:
            case DenseCells(block):
                return [
                    value if v else None
                    for value, v in zip(self.decode(block, ()), valid, strict=True)
                ]
            case RaggedCells(buffers, shapes):
                trimmed = (tuple(n for n in shape if n >= 0) for shape in shapes.tolist())
                values = zip(buffers, trimmed, strict=True)
            case NestedCells(counts, items):
                layout = self.layout
                if not isinstance(layout, Nested):
                    raise TypeError(f"{self} has no items.")
                decoded, ends = layout.item.decode_cells(items), np.cumsum(counts).tolist()
                spans = zip([0, *ends], ends, strict=False)
                values = ((decoded[start:end], ()) for start, end in spans)
        return [self.decode(*value) if v else None for value, v in zip(values, valid, strict=True)]

    def get_config(self) -> dict[str, Any]:
        """Return the htype's name and non-default fields, as a dict that can be written as JSON."""
        config: dict[str, object] = {"htype": self.name}
        for f in self._changed():
            value = getattr(self, f.name)
            config[f.name] = value.get_config() if isinstance(value, Htype) else to_json(value)
        return config

    def _without_masks(self, block: Values) -> Values:
        """Prepare masked values for encoding.

        In types whose values may contain None (lists and JSON), masked items become None. In other
        types, a row may only be masked as a whole, which makes it null.

        Raises
        ------
        InvalidValueError
            For an array with only some masked elements, since arrays cannot contain nulls.
        """
        takes_none = isinstance(self.layout, Nested) or self.layout.dtype == "json"
        if isinstance(block, np.ma.MaskedArray):
            if takes_none:
                return list(block.tolist())
            rows = np.flatnonzero(_partly_masked(np.ma.getmaskarray(block)))
            if len(rows):
                raise _partly_masked_error(block[rows[0]], int(rows[0]))
            return block
        is_list = not isinstance(block, np.ndarray) or block.dtype == object
        try:
            if not is_list or not _holds_mask(block, deep=not takes_none):
                return block
        except RecursionError:  # a list that contains itself; encoding it raises an error
            return block
        return [_unmask(value, row, takes_none=takes_none) for row, value in enumerate(block)]

    def _validity(self, values: Values) -> NDArray[np.bool_] | None:
        """Return a bool array (n,) that is False where a row is null, or None if no row is null."""
        if isinstance(values, np.ma.MaskedArray):
            mask = np.ma.getmaskarray(values)
            valid = ~mask.any(axis=tuple(range(1, mask.ndim)))
        elif isinstance(values, np.ndarray) and values.dtype != object:
            return None
        else:
            kinds = set(map(type, values))
            nulls = {kind for kind in kinds if is_null(kind)}
            valid = np.array([type(value) not in nulls for value in values] if nulls else True)
            if self.nan_is_null and any(issubclass(kind, float | np.floating) for kind in kinds):
                valid = valid & np.array([not is_nan(value) for value in values])
        return None if valid.all() else valid

    def _plain_default(self, value: object) -> object:
        """Convert a default to built-in types."""
        return to_builtins(value)

    def _set(self, **values: object) -> None:
        """Set fields of this frozen dataclass to normalised values, in `__post_init__`."""
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def _changed(self) -> list[Field[object]]:
        """Return the dataclass fields with non-default values, positional fields first."""
        needed = [
            f
            for f in fields(self)
            if f.metadata.get("stored", True)
            and (f.default is MISSING or getattr(self, f.name) != f.default)
        ]
        return sorted(needed, key=lambda f: (bool(f.kw_only), f.name in ("nullable", "default")))

    def _call(self, show: Callable[[object], str]) -> str:
        """Format the constructor call, with positional arguments up to the first omitted field."""
        positional = iter([f.name for f in fields(self) if not f.kw_only])
        arguments = []
        for f in self._changed():
            text = show(getattr(self, f.name))
            arguments.append(text if f.name == next(positional, None) else f"{f.name}={text}")
        return f"{type(self).__name__}({', '.join(arguments)})"

    def __repr__(self) -> str:
        return self._call(_show)

    def __str__(self) -> str:
        return self._call(_show_short)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return isinstance(other, Htype) and same_json(self.get_config(), other.get_config())

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        """A hash that is the same in all processes, since pickles of the type contain it."""
        return crc32(canonical_json(self.get_config()).encode("utf-8", "surrogatepass"))


def _as_numpy(default: object) -> object:
    """Convert other libraries' objects in a default to NumPy arrays and Python objects."""
    [value] = _as_block([default])
    return array_of(value) if is_column(type(value)) else value


def _fits_json(default: object) -> bool:
    """Return whether a default can be stored in the JSON of a schema."""
    try:
        json.dumps(to_json(default), allow_nan=False)
    except TypeError:
        return False
    return True


def is_null(kind: type) -> bool:
    """Return whether a Python type is the type of None or pandas' NA.

    >>> is_null(type(None)), is_null(int)
    (True, False)
    """
    return kind is type(None) or kind.__name__ == "NAType"


def to_code(htype: Htype) -> str:
    """Return a type as code that users can paste after ``import deeplake_lite as dl``.

    >>> from deeplake_lite.htypes import Sequence, ClassLabel
    >>> to_code(Sequence(ClassLabel(["Text("])))
    "dl.Sequence(dl.ClassLabel(['Text(']))"
    """
    # String literals are matched first, so that "Text(" within a literal is not changed.
    strings_and_names = r"""('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")|\b([A-Z]\w*)(?=\()"""
    return re.sub(strings_and_names, lambda m: m[1] or f"dl.{m[2]}", repr(htype))


def is_nan(value: object) -> bool:
    """Return whether a value is a float NaN."""
    return isinstance(value, float | np.floating) and value != value


def _as_block(values: Any) -> Values:
    """Return values as a list, tuple or array with one entry per row."""
    if isinstance(values, list | tuple):
        rows: Values = without_tensors(without_arrow(values))
        return rows
    # Such objects come from torch, xarray, pandas or polars.
    if hasattr(values, "__array__") or is_column(type(values)):
        array = array_of(values)
        if array.ndim:
            return array
        values = array
    elif not isinstance(values, str | bytes | dict):
        try:
            return list(values)
        except TypeError:
            pass
    raise InvalidValueError(
        f"must be one value per row, but it is a single {type(values).__name__}. Put it in a list."
    )


def _partly_masked(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return a bool array (n,) that is True for rows with masked and unmasked elements."""
    axes = tuple(range(1, mask.ndim))
    return np.asarray(mask.any(axis=axes) & ~mask.all(axis=axes))


def _holds_mask(values: Values, *, deep: bool) -> bool:
    """Return whether a list contains a masked array. With `deep`, also search nested lists."""
    kinds = set(map(type, values))
    if any(issubclass(kind, np.ma.MaskedArray) for kind in kinds):
        return True
    if not deep or not any(issubclass(kind, list | tuple) for kind in kinds):
        return False
    lists = (value for value in values if isinstance(value, list | tuple))
    return any(_holds_mask(value, deep=True) for value in lists)


def _unmask(value: object, row: int, *, takes_none: bool) -> object:
    """Return the value of one row without its mask, or None if all of its elements are masked."""
    if isinstance(value, list | tuple):
        if takes_none or not _holds_mask(value, deep=True):
            return value
        masks, data = _collect_masks(value), _strip_masks(value)
    elif isinstance(value, np.ma.MaskedArray):
        if takes_none and value.ndim:
            return value.tolist()
        masks, data = [np.ma.getmaskarray(value)], np.ma.getdata(value)
    else:
        return value
    is_masked = any(mask.any() for mask in masks)
    if is_masked and not all(mask.all() for mask in masks):
        raise _partly_masked_error(value, row)
    return None if is_masked else data


def _collect_masks(values: Iterable[object]) -> list[NDArray[np.bool_]]:
    """Return the masks of all items of a nested list, with False for items without a mask."""
    masks = []
    for value in values:
        if isinstance(value, list | tuple):
            masks += _collect_masks(value)
        else:
            masks.append(
                np.ma.getmaskarray(value)
                if isinstance(value, np.ma.MaskedArray)
                else np.zeros((), bool)
            )
    return masks


def _strip_masks(value: object) -> object:
    """Replace masked arrays in a list by plain arrays."""
    if isinstance(value, list | tuple):
        return [_strip_masks(item) for item in value]
    return np.ma.getdata(value) if isinstance(value, np.ma.MaskedArray) else value


def _masks_to_none(value: object) -> object:
    """Replace masked arrays in a list by lists in which masked elements are None."""
    if isinstance(value, list | tuple):
        return [_masks_to_none(item) for item in value]
    return value.tolist() if isinstance(value, np.ma.MaskedArray) else value


def _partly_masked_error(value: object, row: int) -> InvalidValueError:
    visible = _masks_to_none(value) if isinstance(value, list | tuple) else value
    return InvalidValueError(
        "a row must be entirely masked (null) or not masked at all, but some of its elements are "
        f"masked: {visible!s:.60}. Fill the masked elements with x.filled(0), or declare a "
        "Sequence of a nullable type.",
        row=row,
    )


def _fill(values: Values, valid: NDArray[np.bool_], blank: object) -> Values:
    """Replace nulls by `blank`, or by zeros in an array of numbers."""
    if isinstance(values, np.ndarray) and values.dtype.kind not in "OUSV":
        filled = np.array(values)
        filled[~valid] = np.zeros((), values.dtype)
        return filled
    values = np.asarray(values) if isinstance(values, np.ma.MaskedArray) else values
    return [value if v else blank for value, v in zip(values, valid, strict=True)]


def _with_nulls(cells: Cells, valid: NDArray[np.bool_]) -> Cells:
    """Return the cells with some marked as null. Null ragged cells are stored without bytes."""
    match cells:
        case DenseCells(values):
            return DenseCells(values, valid)
        case RaggedCells(buffers, shapes):
            stored = [buffer if v else b"" for buffer, v in zip(buffers, valid, strict=True)]
            return RaggedCells(stored, np.where(valid[:, None], shapes, np.int32(-1)), valid)
        case NestedCells(counts, items):
            return NestedCells(counts, items, valid)


def _show(value: object) -> str:
    """Format the value of a field as Python code."""
    if isinstance(value, float) and not np.isfinite(value):
        return f"float({str(value)!r})"
    if isinstance(value, complex) and not np.isfinite(value):
        return f"complex({str(value)!r})"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_show(key)}: {_show(item)}' for key, item in value.items())}}}"
    if isinstance(value, list) or _is_strings(value):
        return f"[{', '.join(map(_show, value))}]"
    return repr(value)


def _show_short(value: object) -> str:
    """Format the value of a field, shortened if it is long."""
    if isinstance(value, Htype):
        return str(value)
    if (isinstance(value, list) or _is_strings(value)) and len(value) > _MAX_ITEMS:
        return f"[{', '.join(map(_show_short, value[:3]))}, … {len(value) - 3} more]"
    text = _show(value)
    return text if len(text) <= _MAX_CHARACTERS else text[: _MAX_CHARACTERS - 1] + "…"


def _is_strings(value: object) -> TypeGuard[tuple[str, ...]]:
    """Return whether a value is a non-empty tuple of strings. `_show` formats it as a list."""
    return isinstance(value, tuple) and bool(value) and all(isinstance(item, str) for item in value)
