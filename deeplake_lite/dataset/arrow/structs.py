"""Assembly of structs from columns, which reverses the division in `leaves`.

A struct whose fields are all null becomes null. In lists, it remains a struct of nulls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from deeplake_lite.dataset.arrow.casts import Misfit
from deeplake_lite.dataset.arrow.features import Feature, fields_of, item_of, type_of
from deeplake_lite.dataset.arrow.types import is_list

if TYPE_CHECKING:
    from collections.abc import Iterable

type Path = tuple[str, ...]
"""Names of nested fields, from the outermost inwards."""


def join_features(feature: Feature, parts: Iterable[tuple[Path, Feature]]) -> Feature:
    """Return the feature of a struct, or of lists of structs, with only the given fields.

    >>> x = {"_type": "Json"}
    >>> of = {"_type": "List", "feature": {"a": x, "b": x}}
    >>> join_features(of, [(("b",), {"_type": "List", "feature": x})])
    {'_type': 'List', 'feature': {'b': {'_type': 'Json'}}}
    """
    parts = [*parts]
    if parts[0][0] == ():
        return parts[0][1]
    if not fields_of(feature) and item_of(feature) is not None:
        inner = join_features(item_of(feature), [(path, item_of(part)) for path, part in parts])
        new = {"_type": type_of(feature) or "List"}
        return {**(feature if isinstance(feature, dict) else new), "feature": inner}
    fields = fields_of(feature)
    groups = _group_by_field(parts)
    return {name: join_features(fields.get(name), group) for name, group in groups.items()}


def join_parts(kind: pa.DataType, parts: Iterable[tuple[Path, pa.Array]]) -> pa.Array:
    """Assemble structs, or lists of structs, from their fields. Raises Misfit if they do not fit.

    Parameters
    ----------
    kind : pyarrow.DataType
        Type of the structs, which may be in lists.
    parts : iterable of (path, array)
        The fields. If the structs are in lists, each field is an array of lists, and the lists of
        all fields must match in length.

    Examples
    --------
    >>> kind = pa.list_(pa.struct({"a": pa.int64(), "b": pa.string()}))
    >>> parts = [(("a",), pa.array([[1, 2], []])), (("b",), pa.array([["x", None], []]))]
    >>> join_parts(kind, parts).to_pylist()
    [[{'a': 1, 'b': 'x'}, {'a': 2, 'b': None}], []]
    """
    return _join(kind, [*parts], in_list=False)


def _join(kind: pa.DataType, parts: list[tuple[Path, pa.Array]], *, in_list: bool) -> pa.Array:
    if parts[0][0] == ():
        return parts[0][1]
    if is_list(kind):
        return _join_lists(kind, parts)
    groups = _group_by_field(parts)
    arrays = [_join(kind.field(name).type, group, in_list=False) for name, group in groups.items()]
    mask = arrays[0].is_null()
    for array in arrays[1:]:
        mask = pc.and_(mask, array.is_null())
    return pa.StructArray.from_arrays(arrays, [*groups], mask=None if in_list else mask)


def _join_lists(kind: pa.DataType, parts: list[tuple[Path, pa.Array]]) -> pa.Array:
    first = parts[0][1]
    lengths, mask = pc.list_value_length(first), first.is_null() if first.null_count else None
    for _, array in parts[1:]:
        if not pc.list_value_length(array).equals(lengths):
            raise Misfit("its columns have lists of different lengths")
    inner = [(path, array.flatten()) for path, array in parts]
    items = _join(kind.value_type, inner, in_list=True)
    if kinds.is_fixed_size_list(kind):
        if not pc.all(pc.equal(lengths, kind.list_size), min_count=0).as_py():
            raise Misfit(f"its lists do not have {kind.list_size:,} items")
        if mask is not None:
            raise Misfit("a list of fixed length is null")
        return pa.FixedSizeListArray.from_arrays(items, kind.list_size)
    counts = pc.fill_null(lengths, 0).cast(pa.int64())
    offsets = pa.concat_arrays([pa.array([0], pa.int64()), pc.cumulative_sum(counts)])
    if kinds.is_large_list(kind):
        return pa.LargeListArray.from_arrays(offsets, items, mask=mask)
    return pa.ListArray.from_arrays(offsets.cast(pa.int32()), items, mask=mask)


def _group_by_field[T](parts: list[tuple[Path, T]]) -> dict[str, list[tuple[Path, T]]]:
    """Group parts by the first name of their paths, and remove this name from the paths."""
    groups = dict[str, list[tuple[Path, T]]]()
    for path, part in parts:
        groups.setdefault(path[0], []).append((path[1:], part))
    return groups
