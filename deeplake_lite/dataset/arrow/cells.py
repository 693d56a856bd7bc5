"""Conversion of cells to Arrow arrays, and of columns to Arrow fields.

Numbers become primitives and files become binary. Arrays of fixed shape become fixed-size lists, or
tensors if they have several axes. Arrays of varying length become lists, and arrays in which
several axes vary become structs of data and shape. Complex numbers become pairs of floats. A
field's metadata holds the configuration of its htype, so that a reader can recreate the column.
This module imports pyarrow, so it is imported on demand.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from deeplake_lite.dataset.arrow.times import common_times
from deeplake_lite.dataset.read.values import decode_block
from deeplake_lite.errors import DamagedError
from deeplake_lite.htypes.cells import Cells, DenseCells, FlatCells, NestedCells, RaggedCells
from deeplake_lite.htypes.layouts import Nested, Ragged

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field

type Null = NDArray[np.bool_] | None
"""Mask of the nulls, (n,) bool, or None if no value is null."""

HTYPE = "deeplake_lite.htype"
"""Key in a field's metadata. Its value is the configuration of the field's htype, as JSON."""

METADATA = "deeplake_lite.metadata"
"""Key in the metadata of a field or schema. Its value is the user's metadata, as JSON."""

_MISFIT = (
    "The cells do not have the lengths that their shapes require. Run ds.verify() to list all "
    "damage."
)


def field_of(f: Field) -> pa.Field:
    """Return the Arrow field that describes a column: its name, Arrow type and metadata.

    >>> from deeplake_lite.htypes import ClassLabel
    >>> from deeplake_lite.schema import Schema
    >>> field = field_of(Schema.build({"label": ClassLabel(["rose", "tulip"])}).fields[0])
    >>> str(field.type)
    'dictionary<values=string, indices=int32, ordered=0>'
    >>> json.loads(field.metadata[HTYPE.encode()])
    {'htype': 'class_label', 'names': ['rose', 'tulip']}
    """
    metadata = {HTYPE: json.dumps(f.htype.get_config()), **user_metadata(f.metadata)}
    kind = array_of(f.htype, f.htype.encode([])).type
    return pa.field(f.name, kind, nullable=f.htype.nullable, metadata=metadata)


def user_metadata(metadata: Mapping[str, object]) -> dict[str, str]:
    """Convert the metadata of a column or dataset to Arrow metadata."""
    return {METADATA: json.dumps(dict(metadata))} if metadata else {}


def array_of(htype: Htype, cells: Cells) -> pa.Array:
    """Convert cells to an Arrow array.

    >>> from deeplake_lite.htypes import Boxes
    >>> boxes = Boxes("xyxy")
    >>> array_of(boxes, boxes.encode([[[0, 0, 2, 1]], []])).to_pylist()
    [[[0.0, 0.0, 2.0, 1.0]], []]
    """
    match cells:
        case DenseCells():
            return _dense(htype, cells)
        case RaggedCells():
            return _ragged(htype, cells)
        case NestedCells(counts, items, valid):
            layout = htype.layout
            assert isinstance(layout, Nested)
            return _lists(counts, array_of(layout.item, items), _null(valid))


def _dense(htype: Htype, cells: DenseCells) -> pa.Array:
    values = np.ascontiguousarray(htype.decode(cells.values, ()))
    shape, null = values.shape[1:], _null(cells.valid)
    if not shape:
        return _leaf(htype, values, null)
    leaf = _leaf(htype, values.reshape(-1))
    if len(shape) > 1 and values.dtype.kind in "iuf":
        flat = pa.FixedSizeListArray.from_arrays(leaf, int(np.prod(shape)), mask=_mask(null))
        return pa.ExtensionArray.from_storage(pa.fixed_shape_tensor(leaf.type, shape), flat)
    for size in shape[:0:-1]:
        leaf = pa.FixedSizeListArray.from_arrays(leaf, size)
    return pa.FixedSizeListArray.from_arrays(leaf, shape[0], mask=_mask(null))


def _leaf(htype: Htype, values: NDArray[Any], null: Null = None) -> pa.Array:
    """Convert numbers, (n,), to an Arrow array. Class labels become a dictionary of their names."""
    if (classes := htype.classes) is not None and classes.names:
        values = (classes.item or classes).decode(values, ())
        return pa.DictionaryArray.from_arrays(
            numbers_of(values, null), pa.array(classes.names, pa.string())
        )
    if values.dtype.kind == "c":
        pairs = pa.array(values.view(values.real.dtype))
        return pa.FixedSizeListArray.from_arrays(pairs, 2, mask=_mask(null))
    times = common_times(values)
    if times.dtype.kind in "mM":  # NaT is a value in NumPy, but a null in Arrow
        null = np.isnat(times) if null is None else null | np.isnat(times)
    return numbers_of(times, null)


def numbers_of(values: NDArray[Any], null: Null = None) -> pa.Array:
    """Return numbers, booleans or times, (n,), as an Arrow array that shares their memory.

    ``pyarrow.array`` would share memory too, but it first imports pandas, which takes 0.4 s.

    >>> numbers_of(np.array([1.5, 2.0]), np.array([False, True])).to_pylist()
    [1.5, None]
    """
    kind = pa.from_numpy_dtype(values.dtype)
    if values.dtype == "datetime64[D]":  # NumPy's dates have 64 bits, Arrow's have 32
        return pa.array(values, kind, mask=null)
    data = np.packbits(values, bitorder="little") if values.dtype == bool else values
    valid = None if null is None or not null.any() else _bits(~null)
    buffer = pa.py_buffer(np.ascontiguousarray(data).view(np.uint8))
    return pa.Array.from_buffers(kind, len(values), [valid, buffer])


def numbers_in(array: pa.Array | pa.ChunkedArray) -> NDArray[Any]:
    """Return the numbers of an Arrow array without nulls, the reverse of `numbers_of`.

    The result is read-only. It shares the memory of the array if the array has a single chunk.

    >>> numbers_in(pa.chunked_array([[1, 2], [3]]))
    array([1, 2, 3])
    """
    if isinstance(array, pa.ChunkedArray):
        parts = [numbers_in(chunk) for chunk in array.chunks]
        return parts[0] if len(parts) == 1 else np.concatenate([_empty(array.type), *parts])
    values = np.frombuffer(array.buffers()[1] or b"", _empty(array.type).dtype)
    values.flags.writeable = False
    return values[array.offset : array.offset + len(array)]


def _empty(kind: pa.DataType) -> NDArray[Any]:
    return np.empty(0, kind.to_pandas_dtype())


def _bits(booleans: NDArray[np.bool_]) -> pa.Buffer:
    return pa.py_buffer(np.packbits(booleans, bitorder="little"))


def _ragged(htype: Htype, cells: RaggedCells) -> pa.Array:
    layout, null = htype.layout, _null(cells.valid)
    assert isinstance(layout, Ragged)
    if layout.dtype == "bytes":
        return _variable_size(FlatCells.of(cells), pa.large_binary())
    if layout.dtype in ("utf8", "json"):
        return strings_of(FlatCells.of(cells))
    shapes = np.maximum(cells.shapes, 0).astype(np.int64)
    values = _flat(htype, cells, layout.dtype)
    axes = htype.axes or ()
    if axes.count(None) != 1:
        return _tensors(htype, values, cells, null)
    if len(values) != shapes.prod(axis=1).sum():
        raise DamagedError(_MISFIT)
    # Wrap the numbers in lists from the innermost axis to the outermost.
    lists = _leaf(htype, values)
    for axis in range(len(axes) - 1, 0, -1):
        if isinstance(size := axes[axis], int):
            lists = pa.FixedSizeListArray.from_arrays(lists, size)
        else:
            lengths = np.repeat(shapes[:, axis], shapes[:, :axis].prod(axis=1))
            lists = _lists(lengths, lists)
    return _lists(shapes[:, 0], lists, null)


def _tensors(htype: Htype, values: NDArray[Any], cells: RaggedCells, null: Null) -> pa.Array:
    """Convert arrays in which several axes vary to structs of data and shape.

    Nested lists would lose the shape of an empty array, such as (0, h, w) for masks without
    objects.
    """
    has_axis = cells.shapes >= 0
    # A value without axes has size 1.
    sizes = np.where(has_axis, cells.shapes, 1).prod(axis=1, dtype=np.int64)
    if null is not None:
        sizes[null] = 0
    if len(values) != sizes.sum():
        raise DamagedError(_MISFIT)
    data = _lists(sizes, _leaf(htype, values))
    shapes = _lists(has_axis.sum(axis=1), pa.array(cells.shapes[has_axis]))
    return pa.StructArray.from_arrays([data, shapes], ["data", "shape"], mask=_mask(null))


def _flat(htype: Htype, cells: RaggedCells, dtype: str) -> NDArray[Any]:
    """Return the concatenated numbers of all cells."""
    if htype.is_plain:
        _check_shapes(htype, cells)
        data = b"".join(cells.buffers)
        if len(data) % np.dtype(dtype).itemsize:
            raise DamagedError(_MISFIT)
        return np.frombuffer(data, dtype).view(htype.value_dtype)
    values = [v.reshape(-1) for v in decode_block(htype, cells) if v is not None]
    return np.concatenate([np.empty(0, htype.value_dtype), *values])


def _check_shapes(htype: Htype, cells: RaggedCells) -> None:
    """Reject shapes that no value of the type can have. Raises DamagedError."""
    present = cells.shapes[(cells.shapes >= 0).any(axis=1)]
    if (htype.axes or ())[:1] == (None,):  # the first axis may have any size
        present[:, 0] = 0
    for shape in np.unique(present, axis=0).tolist():
        htype.check_shape(tuple(size for size in shape if size >= 0))


def _variable_size(cells: FlatCells, kind: pa.DataType) -> pa.Array:
    """Convert bytes to an array of `kind`, a type with 64-bit offsets, without copying them."""
    valid = None if cells.valid is None else _bits(cells.valid)
    offsets, data = pa.py_buffer(_offsets(cells.lengths)), pa.py_buffer(cells.data)
    return pa.Array.from_buffers(kind, len(cells), [valid, offsets, data])


def strings_of(cells: FlatCells) -> pa.Array:
    """Convert the bytes of strings to an Arrow array, without copying them.

    Raises
    ------
    DamagedError
        When a string is not valid UTF-8.

    Examples
    --------
    >>> strings_of(FlatCells(np.frombuffer(b"abc", np.uint8), np.array([2, 0, 1]))).to_pylist()
    ['ab', '', 'c']
    """
    strings = _variable_size(cells, pa.large_string())
    try:
        strings.validate(full=True)
    except pa.ArrowInvalid as error:
        raise DamagedError(
            f"Strings are not valid UTF-8: {error}. Run ds.verify() to list all damage."
        ) from error
    return strings


def _lists(lengths: NDArray[Any], items: pa.Array, null: Null = None) -> pa.Array:
    return pa.LargeListArray.from_arrays(pa.array(_offsets(lengths)), items, mask=_mask(null))


def _offsets(lengths: NDArray[Any]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


def _null(valid: NDArray[np.bool_] | None) -> Null:
    return None if valid is None else ~valid


def _mask(null: Null) -> pa.Array | None:
    return None if null is None else pa.array(null)
