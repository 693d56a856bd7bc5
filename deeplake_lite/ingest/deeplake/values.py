"""Reading the values of Deep Lake's columns as values that the lake's types accept.

Where Deep Lake provides the stored bytes of values, the bytes are read: image files, text as UTF-8,
and dicts as JSON. Text that Deep Lake itself decodes cannot be used, because it has empty strings
in place of nulls.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite import codecs
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.ingest.deeplake.exported_values import restore_values

if TYPE_CHECKING:
    from collections.abc import Callable

    from deeplake_lite.ingest.deeplake.columns import DeepColumn
    from deeplake_lite.ingest.deeplake.kinds import Kind

type Rows = slice | list[int]


def read_values(column: DeepColumn, view: Any, rows: Rows) -> list[Any]:
    """Return the values of some rows of a column.

    Parameters
    ----------
    column : DeepColumn
        The column.
    view : deeplake.ColumnView
        Deep Lake's object for the column of a version.
    rows : slice or list of int
        Positions of the rows.
    """
    values = _read(column.kind, view, rows)
    if column.is_exported:
        return restore_values(values, column.htype)
    marks = column.htype.coordinates.marks if column.htype.coordinates is not None else ""
    if marks == "keypoints":
        return [None if value is None else _keypoints(value) for value in values]
    return values


def _read(kind: Kind, view: Any, rows: Rows) -> list[Any]:
    read = None if kind.nullable else _READERS.get(_reader_key(kind))
    if read is None and kind.name == "sequence":  # of a nullable column; see `_sequences`
        return [_value(kind, view[row]) for row in _numbers(rows)]
    if read is None:
        return [_value(kind, value) for value in list(view[rows])]
    try:
        return read(kind, view, rows)
    except RuntimeError:  # rows that are older than the column have no bytes
        return [_read_one(kind, read, view, row) for row in _numbers(rows)]


def _read_one(kind: Kind, read: Callable[[Kind, Any, Rows], list[Any]], view: Any, row: int) -> Any:
    """Return the value of a row, or None if the row has no value."""
    value = view[row]
    return None if value is None else read(kind, view, slice(row, row + 1))[0]


def _reader_key(kind: Kind) -> str:
    """Return the key in `_READERS` for a type, which is the type's name except for some arrays."""
    if kind.name == "array" and kind.shape == () and kind.dtype in ("bytes", "str", "text"):
        return {"bytes": "bytes"}.get(kind.dtype, "text")
    if kind.name == "array" and kind.shape is None and kind.dtype not in ("int64", "float64"):
        return "array"
    return kind.name


# ---- bytes


def _bytes(_: Kind, view: Any, rows: Rows) -> list[Any]:
    return list(view.get_bytes(rows))


def _files(_: Kind, view: Any, rows: Rows) -> list[Any]:
    """Return the bytes of files, or None for rows without a file."""
    return [data or None for data in view.get_bytes(rows)]


def _texts(_: Kind, view: Any, rows: Rows) -> list[Any]:
    return [data.decode(errors="surrogateescape") for data in view.get_bytes(rows)]


def _dicts(_: Kind, view: Any, rows: Rows) -> list[Any]:
    return [_json(data) if data else None for data in view.get_bytes(rows)]


def _images(_: Kind, view: Any, rows: Rows) -> list[Any]:
    """Return the image files, or pixels if the images are stored without a file format."""
    files = list(view.get_bytes(rows))
    return [
        data if _is_image(data) else _pixels(view[i])
        for data, i in zip(files, _numbers(rows), strict=True)
    ]


def _links(_: Kind, view: Any, rows: Rows) -> list[Any]:
    """Return the URLs of linked files, without downloading the files as `get_bytes` does."""
    try:
        addresses = view._links_info()["data"]  # noqa: SLF001 (there is no other way)
    except (RuntimeError, TypeError, KeyError):
        return _texts(_, view, rows)
    return [addresses[i] for i in _numbers(rows)]


def _sequences(kind: Kind, view: Any, rows: Rows) -> list[Any]:
    """Return a list of values for each row.

    Rows are read one by one, because Deep Lake returns image files only for single rows.
    """
    assert kind.of is not None
    if kind.of.name == "image":
        return [_image_items(view, i) for i in _numbers(rows)]
    # Deep Lake 4.7.4 crashes if several rows are requested and one of the sequences is empty.
    return [_items(kind.of, view[i]) for i in _numbers(rows)]


def _image_items(view: Any, row: int) -> list[Any]:
    """Return the images of a row as files or, if any image is not stored as a file, as pixels."""
    if not len(view[row]):
        return []
    files = view.get_bytes(row)
    files = [files] if isinstance(files, bytes) else list(files)
    if all(map(_is_image, files)):
        return files
    return [_pixels(pixels) for pixels in view[row]]


def _numbers(rows: Rows) -> list[int]:
    return list(range(rows.start, rows.stop)) if isinstance(rows, slice) else rows


def _is_image(data: Any) -> bool:
    """Return whether bytes are an image file of a known format."""
    if not isinstance(data, bytes) or not data:
        return False
    try:
        codecs.sniff(data)
    except InvalidValueError:
        return False
    return True


_READERS: dict[str, Callable[[Kind, Any, Rows], list[Any]]] = {
    "bytes": _bytes,
    "audio": _files,
    "medical": _files,
    "mesh": _files,
    "text": _texts,
    "dict": _dicts,
    "image": _images,
    "link": _links,
    "sequence": _sequences,
}
"""Maps the name of a Deep Lake type to the function that reads rows of the type as bytes or in
another special form. Rows of other types are read as arrays."""


# ---- arrays


def _value(kind: Kind, value: Any) -> Any:
    """Convert a value that Deep Lake has decoded to a value that the lake's type accepts."""
    if value is None:
        return None
    convert = _CONVERTERS.get(kind.name)
    if convert is not None:
        return convert(kind, value)
    if kind.dtype == "int128" and kind.shape == ():
        return str(int(value))
    if kind.dtype in ("str", "text", "object") and kind.shape != ():
        return to_builtins(value)
    return value


def _items(kind: Kind, values: Any) -> list[Any] | None:
    return None if values is None else [_value(kind, value) for value in values]


def _pixels(value: Any) -> Any:
    """Return the pixels of an image, (h, w) for grey images, or None for an empty image."""
    pixels = np.asarray(value)
    if not pixels.size:
        return None
    return pixels[:, :, 0] if pixels.ndim == 3 and pixels.shape[2] == 1 else pixels


def _objects(_: Kind, value: Any) -> Any:
    """Convert masks of objects from Deep Lake's shape (h, w, n) to (n, h, w)."""
    masks = np.asarray(value)
    masks = masks[:, :, None] if masks.ndim == 2 else masks
    return np.ascontiguousarray(np.moveaxis(masks, 2, 0)) if masks.ndim == 3 else None


def _classes(_: Kind, value: Any) -> Any:
    """Return the class number of each pixel as an array with shape (h, w)."""
    mask = np.asarray(value)
    if not mask.size:
        return None
    return mask[:, :, 0] if mask.ndim == 3 and mask.shape[2] == 1 else mask


def _labels(kind: Kind, value: Any) -> Any:
    return np.asarray(value).reshape(-1)[0] if kind.shape == (1,) else value


def _boxes(kind: Kind, value: Any) -> Any:
    boxes = np.asarray(value, dtype=kind.dtype)
    return boxes.reshape(-1, 4) if boxes.ndim == 1 and boxes.size % 4 == 0 else boxes


def _keypoints(value: Any) -> Any:
    """Convert keypoints of Deep Lake 3 from shape (3 k, n) to (n, k, 3)."""
    points = np.asarray(value)
    return points.T.reshape(points.shape[-1], -1, 3) if points.ndim == 2 else points


def _polygons(_: Kind, value: Any) -> Any:
    return [np.asarray(outline) for outline in value if np.asarray(outline).size]


_CONVERTERS: dict[str, Callable[[Kind, Any], Any]] = {
    "image": lambda _, value: _pixels(value),
    "bmask": _objects,
    "smask": _classes,
    "class_label": _labels,
    "bbox": _boxes,
    "polygon": _polygons,
    "dict": lambda _, value: to_builtins(value),
    "struct": lambda _, value: to_builtins(value),
    "sequence": lambda kind, value: _items(kind.of, value) if kind.of is not None else value,
}
"""Maps the name of a Deep Lake type to the function that converts a decoded value to a value that
the lake's type accepts."""


def to_builtins(value: Any) -> Any:
    """Convert an object of Deep Lake to dicts, lists, strings and numbers."""
    if hasattr(value, "to_dict"):
        return {key: to_builtins(item) for key, item in value.to_dict().items()}
    if isinstance(value, dict):
        return {key: to_builtins(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_builtins(item) for item in value]
    if isinstance(value, np.ndarray):
        return to_builtins(value.tolist())
    return value.item() if isinstance(value, np.generic) else value


def _json(data: bytes) -> Any:
    """Parse JSON. Invalid JSON is returned as bytes, which the column's type then rejects."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return data
