"""Edits of a handle: which rows and columns they mean, checked and put into its open transaction.

Positions and names are looked up with the handle locked, so that another thread's edit comes before
or after, never in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.dataset.read.positions import as_ids, is_position, many_positions, one_position
from deeplake_lite.dataset.view import View
from deeplake_lite.dataset.write.blocks import (
    copy_blocks,
    encode_column,
    incoming_blocks,
    is_sequence,
    named_columns,
    naming_rows,
)
from deeplake_lite.dataset.write.modes import converted
from deeplake_lite.dataset.write.tables import named_values
from deeplake_lite.dataset.write.transfer import taken_from
from deeplake_lite.dataset.write.updates import cells_for
from deeplake_lite.dataset.write.upserts import column_blocks
from deeplake_lite.errors import InvalidValueError, OptionError, SchemaError
from deeplake_lite.htypes import ClassLabel
from deeplake_lite.htypes.names import check_names
from deeplake_lite.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.handle import Handle
    from deeplake_lite.dataset.metadata import Change
    from deeplake_lite.dataset.selection import RowSelection
    from deeplake_lite.dataset.write.blocks import Data
    from deeplake_lite.htypes.base import Check, Htype
    from deeplake_lite.storage.table import Table


def append(handle: Handle, data: Data | View, check: Check) -> None:
    """Add rows at the end; see `Dataset.append`."""
    handle.edit(_append, data, check)


def _append(table: Table, data: Data | View, check: Check) -> None:
    if isinstance(data, View):
        fields = table.schema.fields
        table.append(copy_blocks(*data.rows.locate(), data.schema.fields, fields))
    else:
        table.append(incoming_blocks(data, table.schema, check))


def _is_own(view: View, handle: Handle) -> bool:
    """Tell whether a view is the dataset of the handle itself, whose rows are all rows."""
    return getattr(view, "handle", None) is handle


def update(handle: Handle, rows: Any, data: Mapping[str, Any] | None, ids: Any) -> None:
    """Change cells of some rows; see `Dataset.update`."""
    if (rows is None) == (ids is None):
        given = "neither" if rows is None else "both"
        raise OptionError(
            f"update needs rows (positions or a view) or ids=, one of the two, but got {given}: "
            "ds.update([0, 1], {'x': [5, 6]}), ds.update(ids=batch['_row_id'], data={'x': found})."
        )
    if data is None:
        raise OptionError("update needs data, values by column name: data={'x': [5, 6]}.")
    if isinstance(rows, View) and not _is_own(rows, handle):
        ids = ids_for_update(rows, handle.url)
    handle.edit(_update, rows, data, ids)


def _update(table: Table, rows: Any, data: Mapping[str, Any], ids: Any) -> None:
    slots = _slots_of(table, rows, len(table)) if ids is None else _slots_of_ids(table, ids)
    columns, schema = named_columns(data, table.schema), table.schema
    fields = {name: schema[name] for name in columns}
    with naming_rows(lambda row: table.rows.position(slots[row])):
        cells = {f.id: cells_for(f, columns[n], len(slots)) for n, f in fields.items()}
    if len(slots):
        table.update(slots, cells)


def _slots_of(table: Table, rows: Any, count: int) -> NDArray[np.int64]:
    """Return the slots of rows given by position. Raises InvalidValueError if one comes twice."""
    rows = slice(None) if isinstance(rows, View) else [rows] if is_position(rows) else rows
    positions = many_positions(rows, count)
    if len(np.unique(positions)) != len(positions):
        raise InvalidValueError("an update names each row once; some rows come twice.")
    return table.rows.at(positions)


def _slots_of_ids(table: Table, ids: Any) -> NDArray[np.int64]:
    """Return the slots of rows given by id. Raises InvalidValueError for one that is not there."""
    wanted = as_ids(ids)
    slots = table.find(wanted)
    missing = wanted[slots < 0]
    if len(missing):
        raise InvalidValueError(
            f"an update changes rows that are there, but {len(missing):,} of {len(wanted):,} ids "
            f"belong to no row of this branch, such as {missing[0]}: deleted, or of another lake. "
            "Leave them out: known = np.isin(ids, ds.row_ids)."
        )
    ordered = np.sort(wanted)
    twice = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(twice):
        raise InvalidValueError(
            f"an update names each row once, but id {twice[0]} comes twice. Rows that fill a batch "
            "up are repeated, and marked: keep = ~batch['_padding']."
        )
    return slots


def ids_for_update(view: View, url: str) -> NDArray[np.int64]:
    """Return the ids of a view's rows. Raises InvalidValueError if they are of another lake."""
    if view.url != url:
        raise InvalidValueError(
            f"an edit takes a view of this lake, {url}, but it is of {view.url}. Where its rows "
            "are copies that kept their ids, update takes those: ids=view.row_ids."
        )
    if not view.rows.table.has_ids:
        raise InvalidValueError(
            "an edit takes rows of the lake, but each row of this query is made of several, or "
            "of none. Query the rows themselves, such as WHERE ROW_ID() IN (SELECT …)."
        )
    return view.row_ids


def set_one(handle: Handle, name: str, index: int, value: Any) -> None:
    """Change one cell; a list is its value."""
    handle.edit(_set_one, name, index, value)


def _set_one(table: Table, name: str, index: int, value: Any) -> None:
    position, f = one_position(int(index), len(table)), table.schema[name]
    with naming_rows(lambda _: position):
        cells = encode_column(f, [value], 0, 1, "header")
    table.update(table.rows.at(np.array([position])), {f.id: cells})


def delete(handle: Handle, rows: Any) -> None:
    """Remove some rows; see `Dataset.delete`."""
    if isinstance(rows, View) and not _is_own(rows, handle):
        handle.edit(_delete_ids, np.unique(ids_for_update(rows, handle.url)))
    elif isinstance(rows, View):
        handle.edit(_delete, slice(None))
    else:
        handle.edit(_delete, [rows] if is_position(rows) else rows)


def _delete_ids(table: Table, ids: NDArray[np.int64]) -> None:
    slots = _slots_of_ids(table, ids)
    order = table.rows.order
    _delete(table, slots if order is None else np.flatnonzero(np.isin(order, slots)))


def _delete(table: Table, rows: Any) -> None:
    positions = np.unique(many_positions(rows, len(table)))
    if len(positions):
        table.delete(positions)


def add_column(
    handle: Handle,
    name: str,
    htype: Any,
    values: Any,
    compute: Callable[[dict[str, Any]], Any] | None,
    metadata: Mapping[str, Any] | None,
) -> None:
    """Add a column; see `Dataset.add_column`."""
    handle.edit(_add_column, handle.rows(), name, htype, values, compute, metadata)


def _add_column(
    table: Table,
    before: RowSelection,
    name: str,
    htype: Any,
    values: Any,
    compute: Callable[[dict[str, Any]], Any] | None,
    metadata: Mapping[str, Any] | None,
) -> None:
    added = table.schema.add(name, htype, metadata)[name]
    if values is not None and compute is not None:
        raise InvalidValueError(
            "a new column takes values= or compute=, got both. Leave one out.", column=name
        )
    missing = values is None and compute is None
    if missing and len(table) and added.htype.default is None and not added.htype.nullable:
        raise InvalidValueError(
            f"a new column needs a value for each of the {len(table):,} rows that are there, "
            "got none. Give values= or compute=, or a type with default= or nullable=True.",
            column=name,
        )
    checks.function("compute", compute)
    if values is None and compute is not None:
        values = [compute(row) for row in View(before, before.table.schema.names, "")]
    if callable(values):
        raise InvalidValueError(
            "values are one per row, or one for all, got a function. Give it as compute=.",
            column=name,
        )
    values = taken_from(named_values(name, values, added.htype), added.htype)
    if values is not None and not is_sequence(values):
        values = list(values) if isinstance(values, Iterator) else [values] * len(table)
    if values is not None and len(values) != len(table):
        raise InvalidValueError(
            f"a new column takes one value per row: {len(table)} rows, got {len(values)}.",
            column=name,
        )
    table.add_column(added, column_blocks(table, added, values))


def change_schema(handle: Handle, change: Callable[[Schema], Schema]) -> None:
    """Put another schema into the place of the one there is."""
    handle.edit(lambda table: table.set_document(schema=change(table.schema)))


def change_notes(handle: Handle, name: str, change: Change) -> None:
    """Change a column's metadata; see `Column.metadata`."""
    change_schema(
        handle, lambda schema: schema.replace_metadata(name, change(schema[name].metadata))
    )


def set_nullable(handle: Handle, name: str) -> None:
    """Let a column take nulls from now on; see `Dataset.set_nullable`."""
    handle.edit(_set_nullable, name)


def _set_nullable(table: Table, name: str) -> None:
    if not table.schema[name].htype.nullable:
        table.set_document(schema=retype(table.schema, name, nullable=True))


def set_mode(handle: Handle, name: str, mode: str | None) -> None:
    """Convert the pictures of a column; see `Dataset.set_mode`."""
    handle.edit(_set_mode, name, mode)


def _set_mode(table: Table, name: str, mode: str | None) -> None:
    f = table.schema[name]
    htype = f.htype.with_mode(mode)
    if htype is None:
        raise SchemaError(f"a mode is one of pictures, but column {name!r} is {f.htype}.")
    schema = _with_type(table.schema, name, htype)
    if schema != table.schema:
        table.write([], converted(table, f, htype))
        table.set_document(schema=schema)


def add_classes(handle: Handle, name: str, names: Iterable[str]) -> None:
    """Give a column of labels more classes; see `Dataset.add_classes`."""
    handle.edit(_add_classes, name, names)


def _add_classes(table: Table, name: str, names: Iterable[str]) -> None:
    htype = table.schema[name].htype
    classes = htype.classes
    if classes is None:
        raise SchemaError(f"classes are those of a ClassLabel, column {name!r} is {htype}.")
    if not classes.names:
        raise SchemaError(
            f"column {name!r} takes class numbers of any size, without names, got {brief(names)}"
            ". Give it names in a new column: ds.add_column(…, dl.ClassLabel([…]), values=…)."
        )
    new = check_names(names, "class")
    if known := [n for n in new if n in classes.names]:
        raise SchemaError(
            f"a class is added once, column {name!r} has {known[0]!r} already. Leave it out."
        )
    if new:
        wider = htype.widened(ClassLabel(new, multiple=classes.multiple))
        if wider is None:
            raise SchemaError(f"column {name!r} is {htype}, which takes no other classes.")
        table.set_document(schema=_with_type(table.schema, name, wider))


def retype(schema: Schema, name: str, **changes: Any) -> Schema:
    """Return a schema with fields of one column's htype changed."""
    return _with_type(schema, name, replace(schema[name].htype, **changes))


def _with_type(schema: Schema, name: str, htype: Htype) -> Schema:
    """Return a schema with another htype for one column."""
    f = schema[name]
    changed = replace(f, htype=htype)
    return Schema(tuple(changed if g is f else g for g in schema))
