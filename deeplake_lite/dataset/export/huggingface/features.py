"""The features of Hugging Face for column types, and cells in the form that they expect.

Classes become ClassLabel, images and masks in files Image, arrays of one shape Array2D to Array5D,
and JSON Json. Other cells become numbers, strings and lists, as in `to_arrow`. The metadata also
holds the types of the lake, so that this package restores them.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.types as kinds

from deeplake_lite.dataset.arrow.cells import array_of
from deeplake_lite.dataset.arrow.types import is_list
from deeplake_lite.dataset.export.portable import is_file, read_blocks
from deeplake_lite.errors import ExportWarning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field

type Feature = dict[str, Any]

FILE_ROWS = 256
"""Rows of a batch if some of the columns hold files, whose bytes Arrow counts in 32 bits."""

ROWS = 4_096
"""Rows of a batch otherwise."""

FILES = ("Image", "Audio", "Video")
"""Features whose values are structs of a file's bytes and path."""

_NAMES = {
    "halffloat": "float16", "float": "float32", "double": "float64",
    "date32[day]": "date32", "date64[ms]": "date64",
    "large_string": "string", "large_binary": "binary",
}  # fmt: skip
"""Names that datasets has for Arrow types, where they differ."""


_EXTENSION = "datasets.features.features.{}ExtensionType"
"""Name of the Arrow type of a feature such as Array2D."""


@dataclass(frozen=True)
class FeatureExport:
    """The rows of a view as Arrow batches with features."""

    view: View

    @cached_property
    def notes(self) -> Mapping[str, Any]:
        """Description and features of the dataset that the lake was imported from."""
        notes = self.view.rows.table.metadata.get("huggingface")
        return notes if isinstance(notes, dict) else {}

    @cached_property
    def paths(self) -> dict[str, Field]:
        """Columns with the paths of files, by the column of the files."""
        fields = {f.name: f for f in self.view.schema}
        noted = self.notes.get("features")
        return {
            name: fields[f"{name}_path"]
            for name, feature in (noted if isinstance(noted, dict) else {}).items()
            if isinstance(feature, dict) and feature.get("_type") in FILES
            and name in fields and is_file(fields[name].htype)
            and f"{name}_path" in fields and fields[f"{name}_path"].htype.sql == "text"
        }  # fmt: skip

    @cached_property
    def fields(self) -> list[Field]:
        """The columns, without those that become a part of another one."""
        merged = [f.name for f in self.paths.values()]
        return [f for f in self.view.schema if f.name not in merged]

    @cached_property
    def features(self) -> dict[str, Feature]:
        """Feature of each column."""
        return {f.name: self._feature(f) for f in self.fields}

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema, with the features and the types of the lake in its metadata."""
        fields = [self._field(f) for f in self.fields]
        return pa.schema(fields, {"huggingface": json.dumps(self.metadata)})

    def _field(self, f: Field) -> pa.Field:
        feature = self.features[f.name]
        kind = self._array(f, f.htype.encode([]), None).type
        if "shape" not in feature or "dtype" not in feature:
            return pa.field(f.name, kind)
        extension = {  # by which a program that imports datasets recognizes its own type
            "ARROW:extension:name": _EXTENSION.format(feature["_type"]),
            "ARROW:extension:metadata": json.dumps([feature["shape"], feature["dtype"]]),
        }
        return pa.field(f.name, kind, metadata=extension)

    @property
    def metadata(self) -> dict[str, Any]:
        """The JSON for the metadata of the schema."""
        columns: dict[str, Any] = {
            f.name: {"htype": f.htype.get_config(), "feature": self.features[f.name]}
            for f in self.fields
        }
        for name, f in self.paths.items():
            columns[f.name] = {"htype": f.htype.get_config(), "path_of": name}
        own = {"columns": columns, "metadata": dict(self.view.rows.table.metadata)}
        return {"info": {"features": self.features}, "deeplake_lite": own}

    def batches(self, label: str, rows: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows; `label` is that of the progress bar."""
        for block in read_blocks(self.view, self.read_fields, label, rows or self.batch_rows):
            yield self.batch(block)

    @property
    def read_fields(self) -> list[Field]:
        """The columns that are read."""
        return [*self.fields, *self.paths.values()]

    @property
    def batch_rows(self) -> int:
        """Rows of a batch."""
        return FILE_ROWS if any(map(_has_files, self.read_fields)) else ROWS

    def batch(self, cells: Mapping[str, Cells]) -> pa.RecordBatch:
        """Return rows, given as cells by column."""
        paths = {n: array_of(f.htype, cells[f.name]) for n, f in self.paths.items()}
        arrays = [self._array(f, cells[f.name], paths.get(f.name)) for f in self.fields]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def _feature(self, f: Field) -> Feature:
        noted = self.notes.get("features", {})
        noted = noted.get(f.name) if isinstance(noted, dict) else None
        kind = noted.get("_type") if isinstance(noted, dict) else None
        if is_file(f.htype) and not f.htype.pixels and kind in FILES:
            return dict(noted) if isinstance(noted, dict) else {}
        return feature_of(f.htype)

    def _array(self, f: Field, cells: Any, paths: pa.Array | None) -> pa.Array:
        """Return cells in the form that the feature of their column expects."""
        array = _narrowed(array_of(f.htype, cells))
        is_struct = self.features[f.name].get("_type") in FILES
        return _files(array, paths) if is_struct else _with_files(array, f.htype)


def warn_of_losses(view: View, method: str) -> None:
    """Warn of metadata of columns, for which features have no place."""
    names = [f.name for f in view.schema if f.metadata]
    if names:
        warnings.warn(
            f"{method} leaves out the metadata of {', '.join(map(repr, names))}, because features "
            "cannot hold it.",
            ExportWarning,
            stacklevel=5,
        )


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
    classes = htype.classes
    names = list(classes.names) if classes is not None else []
    return _arrow_feature(_narrowed(array_of(htype, htype.encode([]))).type, names)


def _arrow_feature(kind: pa.DataType, names: list[str]) -> Feature:
    """Return the feature for an Arrow type; integers are classes if there are names."""
    if kinds.is_struct(kind):
        return {f.name: _arrow_feature(f.type, names if f.name == "data" else []) for f in kind}
    if kinds.is_fixed_size_list(kind):
        item = _arrow_feature(kind.value_type, names)
        return {"feature": item, "length": kind.list_size, "_type": "List"}
    if is_list(kind):
        return {"feature": _arrow_feature(kind.value_type, names), "_type": "List"}
    if names and kinds.is_int64(kind):
        return {"names": names, "_type": "ClassLabel"}
    return {"dtype": _NAMES.get(str(kind), str(kind)), "_type": "Value"}


def card_feature(name: str, feature: Feature) -> dict[str, Any]:
    """Return a feature in the form that dataset cards have.

    >>> card_feature("tag", {"names": ["cat"], "_type": "ClassLabel"})
    {'name': 'tag', 'dtype': {'class_label': {'names': {'0': 'cat'}}}}
    """
    return {"name": name, **_card(feature)}


def _card(feature: Feature) -> dict[str, Any]:
    match feature.get("_type"):
        case "List":
            inner = _card(feature["feature"])
            plain = inner[next(iter(inner))] if inner.keys() in ({"dtype"}, {"struct"}) else inner
            length = {"length": feature["length"]} if "length" in feature else {}
            return {"list": plain, **length}
        case "Value":
            return {"dtype": feature["dtype"]}
        case "ClassLabel":
            names = {str(i): name for i, name in enumerate(feature["names"])}
            return {"dtype": {"class_label": {"names": names}}}
        case str(kind):
            rest = {k: v for k, v in feature.items() if k not in ("_type", "decode")}
            snake = kind.replace("D", "_d") if kind.startswith("Array") else kind
            return {"dtype": {snake.lower(): rest} if rest else snake.lower()}
    return {"struct": [card_feature(name, part) for name, part in feature.items()]}


def _has_files(f: Field) -> bool:
    htype = f.htype
    while htype.item is not None:
        htype = htype.item
    return is_file(htype)


def _narrowed(array: pa.Array) -> pa.Array:
    """Return an array with 32-bit offsets, numbers for classes, and lists for tensors.

    >>> _narrowed(pa.array(["b", None, "b"]).dictionary_encode()).to_pylist()
    [0, None, 0]
    """
    kind = array.type
    if isinstance(kind, pa.FixedShapeTensorType):
        return _narrowed(_tensor_lists(array, kind))
    if kinds.is_dictionary(kind):
        return array.indices.cast(pa.int64())
    if kind == pa.timestamp("s"):  # Parquet has no seconds
        return array.cast(pa.timestamp("ms"))
    if kinds.is_large_string(kind):
        return array.cast(pa.string())
    if kinds.is_large_binary(kind):
        return array.cast(pa.binary())
    mask = array.is_null() if array.null_count else None
    if kinds.is_struct(kind):
        parts = [_narrowed(array.field(i)) for i in range(kind.num_fields)]
        return pa.StructArray.from_arrays(parts, [f.name for f in kind], mask=mask)
    if kinds.is_fixed_size_list(kind):
        first = array.offset * kind.list_size
        values = array.values.slice(first, len(array) * kind.list_size)
        return pa.FixedSizeListArray.from_arrays(_narrowed(values), kind.list_size, mask=mask)
    if kinds.is_large_list(kind):
        offsets = array.offsets.cast(pa.int32())
        return pa.ListArray.from_arrays(offsets, _narrowed(array.values), mask=mask)
    return array


def _tensor_lists(array: pa.ExtensionArray, kind: pa.FixedShapeTensorType) -> pa.Array:
    """Return tensors as lists of lists, in which form Array2D and the like are stored."""
    storage = array.storage
    mask = storage.is_null() if storage.null_count else None
    lists = storage.values
    for size in kind.shape[:0:-1]:
        offsets = pa.array(range(0, len(lists) + 1, size), pa.int32())
        lists = pa.ListArray.from_arrays(offsets, lists)
    offsets = pa.array(range(0, len(lists) + 1, kind.shape[0]), pa.int32())
    return pa.ListArray.from_arrays(offsets, lists, mask=mask)


def _with_files(array: pa.Array, htype: Htype) -> pa.Array:
    """Return an array with structs of bytes and path for images, also in lists; JSON as JSON."""
    if htype.item is not None:
        mask = array.is_null() if array.null_count else None
        return pa.ListArray.from_arrays(
            array.offsets, _with_files(array.values, htype.item), mask=mask
        )
    if is_file(htype) and htype.pixels is not None:
        return _files(array, None)
    return pa.ExtensionArray.from_storage(pa.json_(), array) if htype.sql == "json" else array


def _files(array: pa.Array, paths: pa.Array | None) -> pa.Array:
    """Return structs of bytes and path.

    >>> _files(pa.array([b"x", None]), None).to_pylist()
    [{'bytes': b'x', 'path': None}, None]
    """
    paths = pa.nulls(len(array), pa.string()) if paths is None else paths.cast(pa.string())
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays([array, paths], ["bytes", "path"], mask=mask)
