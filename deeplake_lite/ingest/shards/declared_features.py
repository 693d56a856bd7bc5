"""Building columns for the features that the user selects.

The user selects features by their names, or by a mapping from names to types or to descriptions
such as ``tf.io.FixedLenFeature``.

Descriptions are recognised by the names of their classes, so that TensorFlow is not imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.errors import NotFoundError, OptionError
from deeplake_lite.htypes import Array, Bytes, Htype, Scalar, resolve
from deeplake_lite.htypes import Sequence as Items
from deeplake_lite.ingest.shards.feature_columns import PlainColumn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deeplake_lite.ingest.shards.feature_columns import FeatureColumn

_KINDS = ("FixedLenFeature", "FixedLenSequenceFeature", "VarLenFeature", "RaggedFeature",
          "SparseFeature")  # fmt: skip


def declared_columns(
    features: object, inferred: Mapping[str, FeatureColumn]
) -> dict[str, FeatureColumn]:
    """Return a dict from names to the columns that the option `features` selects.

    Parameters
    ----------
    features : mapping or sequence
        Names of features, or a mapping of names to types or descriptions.
    inferred : mapping
        Maps names to columns whose types were inferred, or that a file next to the records
        describes.

    Raises
    ------
    OptionError
        If `features` has another type or is empty.
    NotFoundError
        If a name without a type is not a feature of the first records.
    """
    if isinstance(features, Mapping | list | tuple) and not features:
        raise OptionError("features must name at least one feature, but it is empty. Leave it out.")
    by_feature = {name: column for column in inferred.values() for name in column.features}
    inferred = {**by_feature, **inferred}
    if not isinstance(features, Mapping):
        selected = [_inferred_column(name, inferred) for name in checks.names("features", features)]
        return {column.name: column for column in selected}
    columns: dict[str, FeatureColumn] = {}
    for name, spec in features.items():
        if not isinstance(name, str):
            raise OptionError(
                f"The keys of features must be strings, but one of them is {brief(name)}."
            )
        known = inferred.get(name)
        if type(spec).__name__ in _KINDS and hasattr(spec, "dtype"):
            columns[name] = _column_of_spec(name, spec, known)
        else:
            column = _with_type(name, resolve(spec), known)
            columns[column.name] = column
    return columns


def _with_type(name: str, htype: Htype, known: FeatureColumn | None) -> FeatureColumn:
    """Return the column for a feature with the type that the user declares.

    `known` is the column that was inferred or described for the feature, or None.
    """
    if known is None:
        return PlainColumn(name, htype, name)
    if isinstance(known, PlainColumn):
        return replace(known, htype=htype)
    return _ConvertedColumn(known, htype)


@dataclass(frozen=True)
class _ConvertedColumn:
    """A column that a file describes, but whose values are converted to another type."""

    column: FeatureColumn
    htype: Htype

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def features(self) -> Sequence[str]:
        return self.column.features

    def read(self, message: Any) -> Any:
        return self.column.read(message)

    def values(self, cells: Sequence[Any]) -> tuple[Any, dict[int, str]]:
        return self.column.values(cells)


def _inferred_column(name: str, inferred: Mapping[str, FeatureColumn]) -> FeatureColumn:
    if name not in inferred:
        raise NotFoundError.named("feature", name, inferred)
    return inferred[name]


def _column_of_spec(name: str, spec: Any, known: FeatureColumn | None) -> FeatureColumn:
    """Return the column for a description such as ``tf.io.FixedLenFeature``.

    `known` is the column that was inferred or described for the feature, or None.
    """
    kind, has_parts = type(spec).__name__, bool(getattr(spec, "partitions", None))
    if kind == "SparseFeature" or has_parts:
        raise OptionError(
            f"features must not be sparse or partitioned, but {name!r} is a {kind}"
            f"{' with partitions' if has_parts else ''}. Pass the features that it combines."
        )
    in_lists = isinstance(known, PlainColumn) and known.in_lists
    shape = () if kind in ("VarLenFeature", "RaggedFeature") else tuple(spec.shape)
    is_fixed = kind == "FixedLenFeature"
    axes = shape if is_fixed else (None, *shape)
    htype = _type_of(spec.dtype.name, axes, known)
    default = getattr(spec, "default_value", None)
    if default is None and not is_fixed:  # a record without the feature has no values
        default = (
            [] if htype.item is not None else np.zeros([n or 0 for n in axes], htype.value_dtype)
        )
    elif default is not None:
        default = default.decode() if isinstance(default, bytes) and htype.sql == "text" \
            else default if htype.axes == () else np.broadcast_to(default, shape)  # fmt: skip
    return PlainColumn(name, htype, getattr(spec, "value_key", None) or name, in_lists, default)


def _type_of(dtype: str, axes: tuple[int | None, ...], known: FeatureColumn | None) -> Htype:
    """Return the type for a dtype and a shape. Strings keep the type of the column `known`."""
    if dtype != "string":
        return Array(dtype, axes) if axes else Scalar(dtype)
    inferred: Htype = Bytes() if known is None else known.htype
    inferred = replace(inferred, nullable=False)
    if not axes:
        return inferred if inferred.item is None else inferred.item
    return inferred if inferred.item is not None else Items(inferred)
