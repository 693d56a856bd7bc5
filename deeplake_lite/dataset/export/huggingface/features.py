"""Conversion of a view's rows to Arrow batches with Hugging Face features.

The metadata of the Arrow schema also records the lake's types, so that importers of this package
restore them.
"""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from deeplake_lite.dataset.arrow.casts import Misfit
from deeplake_lite.dataset.arrow.features import ARRAYS, Feature, fields_of, item_of, type_of
from deeplake_lite.dataset.arrow.types import is_list
from deeplake_lite.dataset.export.huggingface.plan import ExportColumn, plan
from deeplake_lite.dataset.export.portable import is_file, read_blocks
from deeplake_lite.errors import ExportWarning, InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field

FILE_ROWS = 256
"""Rows per batch if any column holds files, because Arrow has 32-bit offsets for their bytes."""

ROWS = 4_096
"""Rows per batch if no column holds files."""

MAX_SECONDS = 2**63 // 1000
"""Largest number of seconds that can be written as a time, because Parquet stores milliseconds."""

_EXTENSION = "datasets.features.features.{}ExtensionType"
"""Name of the Arrow extension type of a feature such as Array2D."""


@dataclass(frozen=True)
class FeatureExport:
    """The rows of a view as Arrow batches with features."""

    view: View

    plain: frozenset[str] = frozenset()
    """Names of the columns that no longer fit the types of their import; see `find_misfits`."""

    @cached_property
    def source_info(self) -> Mapping[str, Any]:
        """Description and features of the dataset that the lake was imported from, if known."""
        source_info = self.view.rows.table.metadata.get("huggingface")
        return source_info if isinstance(source_info, dict) else {}

    @cached_property
    def columns(self) -> tuple[ExportColumn, ...]:
        """The columns of the export."""
        return plan(self.view, self.plain)

    @cached_property
    def features(self) -> dict[str, Feature]:
        """Maps the name of each exported column to its feature."""
        return {column.name: column.feature for column in self.columns}

    @cached_property
    def schema(self) -> pa.Schema:
        """The Arrow schema, with the features and the lake's types in its metadata."""
        empty = {f.name: f.htype.encode([]) for f in self.read_fields}
        fields = [_field(c.name, c.array(empty).type, c.feature) for c in self.columns]
        return pa.schema(fields, {"huggingface": json.dumps(self.metadata)})

    @property
    def metadata(self) -> dict[str, Any]:
        """The schema's metadata, to be written as JSON."""
        columns = dict[str, Any]()
        for part in (part for column in self.columns for part in column.parts):
            f, paths = part.field, part.paths
            columns[f.name] = {"htype": f.htype.get_config(), "feature": part.feature}
            if paths is not None:
                columns[paths.name] = {"htype": paths.htype.get_config(), "path_of": f.name}
        record = {"columns": columns, "metadata": dict(self.view.rows.table.metadata)}
        return {"info": {"features": self.features}, "deeplake_lite": record}

    @property
    def read_fields(self) -> list[Field]:
        """The lake's columns that the export reads."""
        return [f for column in self.columns for f in column.fields]

    @property
    def batch_rows(self) -> int:
        """Rows per batch."""
        return FILE_ROWS if any(map(_has_files, self.read_fields)) else ROWS

    def batches(self, label: str, rows: int | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows in batches. `label` is shown next to the progress bar."""
        for block in read_blocks(self.view, self.read_fields, label, rows or self.batch_rows):
            yield self.batch(block)

    def batch(self, cells: Mapping[str, Cells]) -> pa.RecordBatch:
        """Convert cells, given as a dict by column of the lake, to an Arrow batch."""
        arrays = [column.array(cells) for column in self.columns]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def find_misfits(view: View, method: str) -> frozenset[str]:
    """Return the names of columns that no longer fit the types of their import, and warn.

    Only the columns that may not fit are read, such as decimals, times of day and structs.

    Raises
    ------
    InvalidValueError
        If times in seconds are outside Parquet's range.
    """
    reasons = dict[str, str]()
    while new := _misfits(FeatureExport(view, frozenset(reasons)), method):
        reasons |= new
    for name, reason in reasons.items():
        warnings.warn(
            f"{method} writes {name!r} with the lake's type instead of the type that it was "
            f"imported from, because {reason}.",
            ExportWarning,
            stacklevel=5,
        )
    return frozenset(reasons)


def _misfits(export: FeatureExport, method: str) -> dict[str, str]:
    """Return a dict from names of columns to reasons why they do not fit their original types."""
    columns = [c for c in export.columns if c.is_risky or _has_seconds(c, export)]
    fields = [f for column in columns for f in column.fields]
    reasons = dict[str, str]()
    for block in read_blocks(export.view, fields, method, ROWS) if columns else ():
        for column in columns:
            if column.name in reasons:
                continue
            try:
                array = column.array(block)
            except Misfit as misfit:
                reasons[column.name] = str(misfit)
            else:
                _check_seconds(column.name, array)
    return reasons


def _has_seconds(column: ExportColumn, export: FeatureExport) -> bool:
    kind = export.schema.field(column.name).type
    while is_list(kind):
        kind = kind.value_type
    return bool(kinds.is_timestamp(kind) and kind.unit == "s")


def _check_seconds(name: str, array: pa.Array) -> None:
    """Raise InvalidValueError if a time in seconds is too large for Parquet's milliseconds."""
    while is_list(array.type):
        array = array.flatten()
    if not (kinds.is_timestamp(array.type) and array.type.unit == "s"):
        return
    limits = pc.min_max(array.view(pa.int64())).as_py()
    for value in limits.values():
        if value is not None and abs(value) > MAX_SECONDS:
            raise InvalidValueError(
                "Times in seconds must be between the years -292,275,055 and 292,278,994, but one "
                f"is {value:,} seconds from 1970. Leave the column out: view.select(…).",
                column=name,
            )


def _field(name: str, kind: pa.DataType, feature: Feature) -> pa.Field:
    """Return the Arrow field of a feature, with an extension type for features such as Array2D."""
    if type_of(feature) in ARRAYS:
        extension = {  # from which `datasets` recognizes its own type
            "ARROW:extension:name": _EXTENSION.format(feature["_type"]),
            "ARROW:extension:metadata": json.dumps([feature["shape"], feature["dtype"]]),
        }
        return pa.field(name, kind, metadata=extension)
    return pa.field(name, _kind(kind, feature))


def _kind(kind: pa.DataType, feature: Feature) -> pa.DataType:
    """Return the Arrow type `kind`, with the feature's extension types in its nested fields."""
    if kinds.is_struct(kind) and (fields := fields_of(feature)):
        return pa.struct([_field(f.name, f.type, fields.get(f.name)) for f in kind])
    if is_list(kind) and (item := item_of(feature)) is not None:
        inner = _field(kind.value_field.name, kind.value_type, item)
        if kinds.is_fixed_size_list(kind):
            return pa.list_(inner, kind.list_size)
        return pa.large_list(inner) if kinds.is_large_list(kind) else pa.list_(inner)
    return kind


def card_feature(name: str, feature: Feature) -> dict[str, Any]:
    """Return a feature in the format of dataset cards.

    >>> card_feature("tag", {"names": ["cat"], "_type": "ClassLabel"})
    {'name': 'tag', 'dtype': {'class_label': {'names': {'0': 'cat'}}}}
    """
    return {"name": name, **_card(feature)}


def _card(feature: Feature) -> dict[str, Any]:
    match type_of(feature):
        case "List" | "LargeList" as kind:
            inner = _card(feature["feature"])
            plain = inner[next(iter(inner))] if inner.keys() in ({"dtype"}, {"struct"}) else inner
            length = {"length": feature["length"]} if "length" in feature else {}
            return {"list" if kind == "List" else "large_list": plain, **length}
        case "Value":
            return {key: feature[key] for key in ("dtype", "id") if feature.get(key) is not None}
        case "ClassLabel":
            names = {str(i): name for i, name in enumerate(feature["names"])}
            record = {"id": feature["id"]} if feature.get("id") is not None else {}
            return {"dtype": {"class_label": {"names": names, **record}}}
        case "":
            fields = fields_of(feature)
            return {"struct": [card_feature(name, part) for name, part in fields.items()]}
        case kind:
            options = {k: v for k, v in feature.items() if k not in ("_type", "decode")}
            snake = re.sub("(?<=[a-z0-9])([A-Z])", r"_\1", kind).lower()  # array2_d
            return {"dtype": {snake: options} if options else snake}


def _has_files(f: Field) -> bool:
    htype = f.htype
    while htype.item is not None:
        htype = htype.item
    return is_file(htype)
