"""Conversion of columns to Deep Lake's types and values."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite import codecs
from deeplake_lite.dataset.export.portable import has_nulls, is_file, read_blocks, values_of
from deeplake_lite.dataset.export.strings import to_json_value
from deeplake_lite.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field

FORMATS = {"xyxy": "ltrb", "xywh": "ltwh", "cxcywh": "ccwh"}
"""Maps box formats to Deep Lake's names."""

UNITS = {"pixels": "pixel", "fraction": "fractional"}
"""Maps units of boxes to Deep Lake's names."""

_CODECS = {"jpeg": "jpg", "png": "png"}
"""Maps image formats to Deep Lake's names."""

_SCAN_ROWS = 256


@dataclass(frozen=True)
class Column:
    """A column of a Deep Lake dataset."""

    field: Field
    kind: Any
    """Deep Lake type of the column."""

    convert: Callable[[Any], Any]
    """Function that converts a value to the form that Deep Lake expects."""

    def values(self, cells: Cells) -> list[Any]:
        """Convert cells to values in the form that Deep Lake expects."""
        htype = self.field.htype
        values = _stored_values(htype, cells)
        try:
            return [None if value is None else self.convert(value) for value in values]
        except InvalidValueError as error:
            raise error.at(column=self.field.name) from None


def _stored_values(htype: Htype, cells: Cells) -> list[Any]:
    """Return a list of values as the lake stores them: files as bytes, and classes as numbers."""
    if htype.classes is not None:
        return htype.decode_cells(cells)
    return values_of(htype, cells)


def column_of(view: View, f: Field) -> tuple[Column | None, str]:
    """Return the Deep Lake column for a field, and a phrase about losses.

    The column is None if Deep Lake cannot store the field, and the phrase is "" without losses.
    """
    import deeplake

    types = deeplake.types
    htype = f.htype
    if htype.item is not None:
        return _sequence(view, f, types)
    if is_file(htype):
        return _files(view, f, types)
    kind, convert, loss = _plain(htype, types)
    return Column(f, types.Nullable(kind) if htype.nullable else kind, convert), loss


def _plain(htype: Htype, types: Any) -> tuple[Any, Callable[[Any], Any], str]:
    """Return the Deep Lake type, a conversion and a phrase about losses, for other values."""
    pixels, coordinates = htype.pixels, htype.coordinates
    if pixels is not None and pixels.is_mask:
        if pixels.role == "object_masks":
            return types.BinaryMask(sample_compression="lz4"), _channels_last, ""
        dtype = pixels.dtype or "uint8"
        return types.SegmentMask(dtype, sample_compression="lz4"), _array, ""
    if pixels is not None:
        return types.Array(pixels.dtype or "uint8"), _array, "is written as arrays"
    if coordinates is not None and coordinates.marks == "boxes":
        kind = types.BoundingBox(
            htype.value_dtype, FORMATS[coordinates.format], UNITS[coordinates.units]
        )
        return kind, _array, ""
    if coordinates is not None and coordinates.marks == "polygons":
        return types.Polygon(), _outlines, ""
    if htype.classes is not None:
        is_one = htype.sql == "class"
        if is_one:
            return types.ClassLabel("int32"), int, ""
        return types.Array("int32", 1), _number, ""
    if htype.target is not None:
        return types.Text(), str, "is written as URLs, not as links"
    if htype.sql == "json":
        return types.Text(), _json, "is written as strings, because Deep Lake drops nulls in dicts"
    if htype.sql == "text":
        return types.Text(), str, ""
    return _numbers(htype, types)


def _numbers(htype: Htype, types: Any) -> tuple[Any, Callable[[Any], Any], str]:
    """Return the Deep Lake type, a conversion and a phrase about losses, for numbers and arrays."""
    dtype = np.dtype(htype.value_dtype)
    axes = htype.axes if htype.scalar is None else ()
    if htype.is_embedding and dtype.kind == "f":
        return types.Embedding(axes[0] if axes else 0, dtype.name), _array, ""
    convert: Callable[[Any], Any] = _array
    name, loss = dtype.name, ""
    if dtype.kind in "mM":
        name, convert, loss = "int64", _integers, f"is written as integers, in {dtype.name}"
    elif dtype.kind == "c":
        name, convert, loss = f"float{dtype.itemsize * 4}", _pairs, "is written as pairs of floats"
        axes = None if axes is None else (*axes, 2)
    if axes is None:
        return types.Array(name), convert, loss
    if not axes:
        # The items of scalars are converted much faster than arrays without axes.
        return name, convert if loss else _item if htype.nullable else _finite, loss
    if None in axes or 0 in axes:
        return types.Array(name, len(axes)), convert, loss
    return types.Array(name, list(axes)), convert, loss


# ---- files


def _files(view: View, f: Field, types: Any) -> tuple[Column, str]:
    """Return the column for files, as images if possible, and a phrase about losses."""
    kind, loss = types.Bytes(), ""
    formats = _formats(view, f) if f.htype.pixels is not None else set()
    if f.htype.is_image and len(formats - {""}) == 1 and formats <= _CODECS.keys():
        return Column(f, types.Image("uint8", _CODECS[next(iter(formats))]), bytes), ""
    if f.htype.is_image and formats == set():
        return Column(f, types.Nullable(kind), bytes), ""
    if f.htype.is_image:
        loss = "is written as bytes, because " + (
            "Deep Lake does not return the files of nullable images"
            if "" in formats
            else "Deep Lake supports one image format per column, JPEG or PNG"
        )
    if f.htype.is_mask:
        return _mask_files(f, types), ""
    return Column(f, types.Nullable(kind) if f.htype.nullable else kind, bytes), loss


def _mask_files(f: Field, types: Any) -> Column:
    """Return the column for masks that the lake stores as image files."""
    pixels = f.htype.pixels
    assert pixels is not None
    kind = types.SegmentMask(pixels.dtype or "uint8", sample_compression="lz4")
    return MaskColumn(f, types.Nullable(kind) if f.htype.nullable else kind, _array)


class MaskColumn(Column):
    """A column of masks that the lake stores as files, but that are written as pixels."""

    def values(self, cells: Cells) -> list[Any]:
        """Return the decoded masks."""
        masks = self.field.htype.decode_cells(cells)
        return [None if mask is None else self.convert(mask) for mask in masks]


def _formats(view: View, f: Field) -> set[str]:
    """Return the formats of a column's image files, with ``""`` for nulls."""
    codec = f.htype.pixels.codec if f.htype.pixels is not None else None
    if codec in codecs.image_codecs():  # all files have this format
        return {codec, ""} if has_nulls(view, f) else {codec}
    return {_format(data) for data in _scan(view, f)}


def _format(data: Any) -> str:
    try:
        return "" if data is None else codecs.sniff(data).name
    except InvalidValueError:
        return "unknown"


def _scan(view: View, f: Field) -> Iterator[Any]:
    """Yield the values of a column."""
    for block in read_blocks(view, [f], "to_deeplake", _SCAN_ROWS):
        yield from values_of(f.htype, block[f.name])


# ---- sequences


def _sequence(view: View, f: Field, types: Any) -> tuple[Column | None, str]:
    """Return the column for sequences, written as images or JSON, and a phrase about losses.

    Deep Lake crashes if it reads empty sequences together with other sequences, so a column with
    empty sequences is left out.
    """
    item = f.htype.item
    while item is not None and item.item is not None:
        item = item.item
    assert item is not None
    assert f.htype.item is not None
    if not is_file(item) and item.pixels is None:
        kind = types.Nullable(types.Text()) if f.htype.nullable else types.Text()
        return Column(f, kind, _json), "is written as JSON strings"
    formats = set[str]()
    for files in _scan(view, f) if f.htype.item.is_image and is_file(f.htype.item) else ():
        formats |= {_format(data) for data in files} if files else {""}
    if len(formats) == 1 and formats <= _CODECS.keys():
        kind = types.Sequence(types.Image("uint8", _CODECS[next(iter(formats))]))
        return Column(f, kind, list), ""
    return None, (
        "is left out, because Deep Lake supports only non-empty sequences of images that all "
        "have the same format"
    )


# ---- conversions of values


def _array(value: Any) -> Any:
    """Return a C-contiguous array whose dtype does not name a byte order, such as ``"int32"``.

    Deep Lake misreads arrays with dtypes such as ``"<i4"``.
    """
    values = np.asarray(value)
    values = values.astype(values.dtype.newbyteorder("="), order="C", copy=False)
    return values.view(np.dtype(values.dtype.name))


def _item(value: Any) -> Any:
    return value.item()


def _finite(value: Any) -> Any:
    """Return a number. Raises InvalidValueError for infinities, with which a commit would fail."""
    number = value.item()
    if number in (math.inf, -math.inf):
        raise InvalidValueError(
            "must be finite, because Deep Lake stores infinity only in nullable columns, but one "
            f"number is {number}. Leave the row out, or declare the column nullable."
        )
    return number


def _channels_last(masks: Any) -> Any:
    return np.ascontiguousarray(np.moveaxis(np.asarray(masks, bool), 0, 2))


def _outlines(outlines: Any) -> Any:
    if not len(outlines):
        return np.zeros((0, 3, 2), np.float32)
    return [_array(np.asarray(outline, np.float32)) for outline in outlines]


def _number(value: Any) -> Any:
    return _array(np.asarray(value, np.int32))


def _integers(value: Any) -> Any:
    return np.asarray(value).astype(np.int64)


def _pairs(value: Any) -> Any:
    numbers = np.asarray(value)
    return _array(np.stack([numbers.real, numbers.imag], axis=-1))


def _json(value: Any) -> str:
    return json.dumps(to_json_value(value), ensure_ascii=False)
