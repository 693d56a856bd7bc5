"""Conversion of column types to Hugging Face features, and of cells to values of the features.

Classes become ClassLabel, encoded images and masks become Image, arrays of fixed shape become
Array2D to Array5D, days become date32, and JSON becomes Json. Other cells become numbers, strings
and lists, as in `to_arrow`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.types as kinds

from deeplake_lite.dataset.arrow.casts import Misfit
from deeplake_lite.dataset.arrow.cells import array_of
from deeplake_lite.dataset.arrow.features import Feature, feature_of_kind, is_special, kind_of
from deeplake_lite.dataset.arrow.htypes import htype_of
from deeplake_lite.dataset.arrow.leaves import special_htype
from deeplake_lite.dataset.arrow.recorded import with_record
from deeplake_lite.dataset.arrow.types import is_list
from deeplake_lite.dataset.export.portable import is_file
from deeplake_lite.errors import LakeError
from deeplake_lite.htypes import Array, Scalar
from deeplake_lite.htypes.layouts import Nested

if TYPE_CHECKING:
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Cells


def feature_of(htype: Htype) -> Feature:
    """Return the feature for a column type.

    >>> from deeplake_lite.htypes import Array, ClassLabel
    >>> feature_of(ClassLabel(["cat", "dog"]))
    {'names': ['cat', 'dog'], '_type': 'ClassLabel'}
    >>> feature_of(Array("float32", (2, 3)))
    {'shape': [2, 3], 'dtype': 'float32', '_type': 'Array2D'}
    """
    if htype.item is not None:
        return {"feature": feature_of(htype.item), "_type": "List"}
    if is_file(htype) and htype.pixels is not None:
        mode = htype.pixels.mode
        return {**({"mode": mode} if mode else {}), "_type": "Image"}
    if htype.sql == "json":
        return {"_type": "Json"}
    raw = array_of(htype, htype.encode([])).type
    if isinstance(raw, pa.FixedShapeTensorType) and 2 <= len(raw.shape) <= 5:
        dtype = str(raw.value_type.to_pandas_dtype().__name__)
        return {"shape": list(raw.shape), "dtype": dtype, "_type": f"Array{len(raw.shape)}D"}
    if htype.scalar == "datetime64[D]":
        return {"dtype": "date32", "_type": "Value"}
    names = list(htype.classes.names) if htype.classes is not None else []
    return feature_of_kind(narrow(array_of(htype, htype.encode([]))).type, names)


def recording_feature(htype: Htype) -> Feature:
    """Return the feature for a column type. It records the type if importers could not infer it.

    >>> from deeplake_lite.htypes import Boxes
    >>> recording_feature(Boxes("xyxy"))["feature"]["feature"]["id"]
    'deeplake_lite:{"htype": "boxes"}'
    """
    feature = feature_of(htype)
    inferred = inferred_htype(feature, kind_of(feature))
    is_inferable = inferred is not None and is_alike(inferred, htype)
    return feature if is_inferable else with_record(feature, htype)


def inferred_htype(feature: Feature, kind: pa.DataType | None) -> Htype | None:
    """Return the column type that an import gives a feature, or None if no import is possible."""
    if kind is None:
        return None
    try:
        return special_htype(feature, kind) if is_special(feature) else htype_of(kind)
    except (LakeError, TypeError, ValueError, LookupError, AttributeError):
        return None


def could_become(array: Htype, target: Htype) -> bool:
    """Return whether `array` would be like `target` if some arrays in it were sequences.

    Lists of numbers are imported as arrays, or as sequences if they contain nulls.

    >>> from deeplake_lite.htypes import Array, Scalar, Sequence
    >>> could_become(Array("int8", (None,)), Sequence(Scalar("int8", nullable=True)))
    True
    """
    if target.item is None:
        return is_alike(array, target)
    if array.item is not None:
        return could_become(array.item, target.item)
    if not array.is_array or not array.axes:
        return False
    axes = array.axes[1:]
    item = Array(array.value_dtype, axes) if axes else Scalar(array.value_dtype)
    return could_become(item, target.item)


def is_alike(a: Htype, b: Htype) -> bool:
    """Return whether two types differ at most in nullability, default, class names or image codec.

    >>> from deeplake_lite.htypes import Image, Scalar, Sequence
    >>> is_alike(Image("auto"), Image("png", nullable=True))
    True
    >>> is_alike(Sequence(Scalar("int8")), Sequence(Scalar("int16")))
    False
    """
    if isinstance(a.layout, Nested) != isinstance(b.layout, Nested):
        return False  # tags, for example, are a single value, although they list classes
    if a.item is not None or b.item is not None:
        return a.item is not None and b.item is not None and is_alike(a.item, b.item)
    if a.is_image and b.is_image:
        return is_file(a) and is_file(b)
    if a.sql == b.sql == "class":
        both = (a.classes, b.classes)
        return all(classes is not None and bool(classes.names) for classes in both)
    return replace(a, nullable=False, default=None) == replace(b, nullable=False, default=None)


def array_for(htype: Htype, cells: Cells) -> pa.Array:
    """Convert cells to the array that a feature expects, with files as structs without paths."""
    return _with_files(narrow(array_of(htype, cells)), htype)


def with_paths(files: pa.Array, paths: pa.Array) -> pa.Array:
    """Add paths to the structs of files, or of lists of files. Raises Misfit if lengths differ.

    >>> with_paths(as_files(pa.array([b"x", None])), pa.array(["a", None])).to_pylist()
    [{'bytes': b'x', 'path': 'a'}, None]
    """
    mask = files.is_null() if files.null_count else None
    if is_list(files.type):
        if not (is_list(paths.type) and files.offsets.equals(paths.offsets)):
            raise Misfit("the lists of files and of their paths have different lengths")
        inner = with_paths(files.values, paths.values)
        return pa.ListArray.from_arrays(files.offsets, inner, mask=mask)
    arrays = [files.field("bytes"), paths.cast(pa.string())]
    return pa.StructArray.from_arrays(arrays, ["bytes", "path"], mask=mask)


def narrow(array: pa.Array) -> pa.Array:
    """Convert an array's offsets to 32 bits, its classes to numbers, and its tensors to lists.

    >>> narrow(pa.array(["b", None, "b"]).dictionary_encode()).to_pylist()
    [0, None, 0]
    """
    kind = array.type
    if isinstance(kind, pa.FixedShapeTensorType):
        return narrow(_tensor_lists(array, kind))
    if kinds.is_dictionary(kind):
        return array.indices.cast(pa.int64())
    if kinds.is_large_string(kind):
        return array.cast(pa.string())
    if kinds.is_large_binary(kind):
        return array.cast(pa.binary())
    mask = array.is_null() if array.null_count else None
    if kinds.is_struct(kind):
        parts = [narrow(array.field(i)) for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(parts, [f.name for f in kind], mask=mask)
    if kinds.is_fixed_size_list(kind):
        first = array.offset * kind.list_size
        values = array.values.slice(first, len(array) * kind.list_size)
        return pa.FixedSizeListArray.from_arrays(narrow(values), kind.list_size, mask=mask)
    if kinds.is_large_list(kind):
        offsets = array.offsets.cast(pa.int32())
        return pa.ListArray.from_arrays(offsets, narrow(array.values), mask=mask)
    return array


def _tensor_lists(array: pa.ExtensionArray, kind: pa.FixedShapeTensorType) -> pa.Array:
    """Convert tensors to nested lists, in which features such as Array2D are stored."""
    storage = array.storage
    mask = storage.is_null() if storage.null_count else None
    lists = storage.values
    for size in kind.shape[:0:-1]:
        offsets = pa.array(range(0, len(lists) + 1, size), pa.int32())
        lists = pa.ListArray.from_arrays(offsets, lists)
    offsets = pa.array(range(0, len(lists) + 1, kind.shape[0]), pa.int32())
    return pa.ListArray.from_arrays(offsets, lists, mask=mask)


def _with_files(array: pa.Array, htype: Htype) -> pa.Array:
    """Convert images, also in lists, to structs of bytes and path, and JSON to Arrow's type."""
    if htype.item is not None:
        mask = array.is_null() if array.null_count else None
        return pa.ListArray.from_arrays(
            array.offsets, _with_files(array.values, htype.item), mask=mask
        )
    if is_file(htype) and htype.pixels is not None:
        return as_files(array)
    return pa.ExtensionArray.from_storage(pa.json_(), array) if htype.sql == "json" else array


def as_files(array: pa.Array) -> pa.Array:
    """Convert bytes, or lists of bytes, to structs of bytes and path.

    >>> as_files(pa.array([b"x", None])).to_pylist()
    [{'bytes': b'x', 'path': None}, None]
    """
    mask = array.is_null() if array.null_count else None
    if kinds.is_struct(array.type):
        return array
    if is_list(array.type):
        return pa.ListArray.from_arrays(array.offsets, as_files(array.values), mask=mask)
    paths = pa.nulls(len(array), pa.string())
    return pa.StructArray.from_arrays([array, paths], ["bytes", "path"], mask=mask)
