"""Reading columns from features of ``tf.train.Example``, and converting values to their types."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.dataset.export.shards.tf_example import numbers_in
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deeplake_lite.htypes import Htype

_DTYPES = {"int64_list": "<i8", "float_list": "<f4"}


class FeatureColumn(Protocol):
    """A column that is read from the features of records."""

    @property
    def name(self) -> str:
        """Name of the column."""

    @property
    def htype(self) -> Htype:
        """Type of the column."""

    @property
    def features(self) -> Sequence[str]:
        """Names of the features from which the column is read."""

    def read(self, message: Any) -> Any:
        """Return the column's part of a record, as an input for `values`.

        Raises ValueError if it is invalid.
        """

    def values(self, cells: Sequence[Any]) -> tuple[Any, dict[int, str]]:
        """Convert results of `read` to values of the column's type.

        Returns
        -------
        (values, dict from positions of invalid rows to error messages)
        """


@dataclass(frozen=True)
class PlainColumn:
    """A column whose values come from a single feature."""

    name: str
    """Name of the column."""

    htype: Htype
    """Type of the column."""

    feature: str
    """Name of the feature."""

    in_lists: bool = False
    """Whether the feature is a feature list of a SequenceExample."""

    default: Any = None
    """The column's value for records that do not have the feature."""

    arrange: Callable[[Any], Any] | None = None
    """Function that converts the feature's values to the column's value, or None."""

    is_inferred: bool = False
    """Whether the type was inferred from the first records. If so, values must not be rounded."""

    @property
    def features(self) -> tuple[str, ...]:
        """A tuple with the name of the feature."""
        return (self.feature,)

    def read(self, message: Any) -> Any:
        """Return the column's value, or the default if the record does not have the feature."""
        if self.in_lists:
            feature_list = message.feature_lists.feature_list.get(self.feature)
            items = () if feature_list is None or self._floats is None else feature_list.feature
            for item in items:
                self._check_unrounded(item)
            return self.default if feature_list is None else _list_value(feature_list, self.htype)
        feature = message.features.feature.get(self.feature)
        kind = None if feature is None else feature.WhichOneof("kind")
        if kind is None:
            return self.default
        if self._floats is not None:
            self._check_unrounded(feature)
        if self.arrange is not None:
            return self.arrange(raw_values(feature))
        values = getattr(feature, kind).value
        if self._takes_one and len(values) == 1 and (kind == "bytes_list") == self._takes_bytes:
            return values[0]
        return feature_value(feature, self.htype)

    @cached_property
    def _floats(self) -> np.dtype[Any] | None:
        """The inferred dtype of floats, which might round integers, or None for other types."""
        htype = self.htype
        while htype.item is not None:
            htype = htype.item
        dtype = htype.scalar or htype.value_dtype
        if not self.is_inferred or not dtype:
            return None
        return np.dtype(dtype) if np.dtype(dtype).kind == "f" else None

    def _check_unrounded(self, feature: Any) -> None:
        """Raise ValueError if the inferred type would round an integer."""
        if self._floats is None or feature.WhichOneof("kind") != "int64_list":
            return
        for number in feature.int64_list.value:
            if int(self._floats.type(number)) != number:
                raise ValueError(
                    f"values must be exact in {self._floats}, the type of the first records, but "
                    f"the integer {number} would be rounded. Declare a type: "
                    f"schema={{{self.name!r}: …}}"
                )

    @cached_property
    def _takes_one(self) -> bool:
        """Whether the only value of a feature can be used unchanged, which is faster."""
        return self._takes_bytes or self.htype.sql == "number"

    @cached_property
    def _takes_bytes(self) -> bool:
        """Whether the column stores the bytes of a feature unchanged, such as an encoded image."""
        return self.htype.item is None and (self.htype.takes_files or self.htype.sql == "bytes")

    def values(self, cells: Sequence[Any]) -> tuple[Any, dict[int, str]]:
        """Return the values unchanged, and no errors."""
        return cells, {}


def raw_values(feature: Any) -> Any:
    """Return the values of a feature: a list of bytes, or an array of int64 or float32."""
    kind = feature.WhichOneof("kind")
    if kind is None:
        return []
    values = getattr(feature, kind).value
    return list(values) if kind == "bytes_list" else numbers_in(values, _DTYPES[kind])


def feature_value(feature: Any, htype: Htype) -> Any:
    """Convert a feature to a value of a column type. Raises ValueError if it does not fit."""
    return value_of(raw_values(feature), htype)


def value_of(values: Any, htype: Htype) -> Any:
    """Convert a list of bytes or an array of numbers to a value of a column type.

    Raises
    ------
    ValueError
        If the values do not fit the type.

    Examples
    --------
    >>> from deeplake_lite.htypes import Array, Text
    >>> value_of([b"a"], Text())
    'a'
    >>> value_of(np.arange(4), Array("int64", (None, 2))).tolist()
    [[0, 1], [2, 3]]
    """
    if htype.item is not None:
        return [value_of([item] if isinstance(item, bytes) else np.array([item]), htype.item)
                for item in values]  # fmt: skip
    if _is_single(htype):
        if len(values) != 1:
            raise ValueError(
                "a feature must have one value, as in the first records, but this feature has "
                f"{len(values):,}. For several values, declare an Array or a Sequence"
            )
        return _single(values[0], htype)
    return _array(values, htype)


def _list_value(feature_list: Any, htype: Htype) -> Any:
    """Convert a feature list to a value with one item per feature.

    Raises ValueError if a feature does not fit.
    """
    if htype.item is None:
        parts = [raw_values(feature) for feature in feature_list.feature]
        if any(isinstance(part, list) for part in parts):
            raise ValueError("values must be numbers, but they are bytes")
        if len({len(part) for part in parts}) > 1:
            raise ValueError(
                "the items of a feature list must have the same length, but their lengths differ. "
                "Declare a Sequence"
            )
        return value_of(np.concatenate([np.empty(0, "<i8"), *parts]), htype) if parts else []
    return [feature_value(feature, htype.item) for feature in feature_list.feature]


def _is_single(htype: Htype) -> bool:
    """Return whether a value of a column type is a single number, string or file."""
    return htype.axes == () or htype.takes_files


def _single(value: Any, htype: Htype) -> Any:
    """Convert a value to a number, string or file of a column type.

    Raises ValueError if it does not fit.
    """
    if not isinstance(value, bytes):
        if htype.scalar == "bool" and value in (0, 1):
            return bool(value)
        if htype.scalar is None and htype.classes is None:
            raise ValueError(f"a value must be bytes, but it is the number {value}")
        return value
    if htype.takes_files or htype.sql == "bytes":
        return value
    if htype.sql == "json":
        try:
            return json.loads(value)
        except (ValueError, RecursionError):
            raise ValueError(f"a value must be JSON, but it is {brief(value, 60)}") from None
    if htype.sql in ("text", "class") or htype.target is not None:
        return _text(value)
    if htype.scalar is not None and len(value) == np.dtype(htype.scalar).itemsize:
        return np.frombuffer(value, np.dtype(htype.scalar).newbyteorder("<"))[0]
    raise ValueError(f"a value must be a number, but it is the bytes {brief(value, 60)}")


def _text(value: bytes) -> str:
    try:
        return value.decode("utf-8")
    except UnicodeDecodeError:
        raise ValueError(f"a value must be UTF-8 text, but it is {brief(value, 60)}") from None


def _array(values: Any, htype: Htype) -> Any:
    """Reshape numbers to the shape of a column type.

    Raises ValueError if their number does not fit.
    """
    if isinstance(values, list):
        if htype.classes is not None:
            return [_text(value) for value in values]
        values = _raw_numbers(values, htype) if values else np.empty(0, htype.value_dtype or "u1")
    if htype.value_dtype == "bool" and values.dtype.kind != "b" and np.isin(values, (0, 1)).all():
        values = values.astype(bool)
    axes = htype.axes
    if axes is None or axes.count(None) > 1:
        if axes is None:
            return values
        raise ValueError(
            "a type must have at most one axis of unknown size, because features do not record "
            f"their shape, but the shape of this type is {axes}"
        )
    known = int(np.prod([size for size in axes if size is not None], dtype=np.int64))
    fits = (len(values) % known == 0 if known else not len(values)) if None in axes \
        else len(values) == known  # fmt: skip
    if not fits:
        raise ValueError(
            f"a feature must fill the shape {axes}, but this feature has "
            f"{pluralize(len(values), 'value')}. Declare another type"
        )
    shape = [size if size is not None else (len(values) // known if known else 0) for size in axes]
    return values.reshape(shape)


def _raw_numbers(values: list[bytes], htype: Htype) -> Any:
    """Return the numbers whose little-endian bytes are the only value.

    Raises ValueError if there are no such bytes.
    """
    dtype = np.dtype(htype.value_dtype or "uint8").newbyteorder("<")
    if len(values) != 1 or len(values[0]) % dtype.itemsize:
        raise ValueError(
            f"values must be numbers, or the bytes of {dtype.name} numbers, but they are "
            f"{brief(values, 60)}"
        )
    return np.frombuffer(values[0], dtype)
