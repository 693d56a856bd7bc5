"""Edits of rows and columns. Edits are checked, and then applied to a handle's open transaction.

Positions and names are looked up while the handle is locked, so that no other thread can edit the
rows in between.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.checks import find_lone_surrogate
from deeplake_lite.dataset.read.positions import (
    as_ids,
    is_position,
    resolve_position,
    resolve_positions,
)
from deeplake_lite.dataset.view import View
from deeplake_lite.dataset.write.blocks import (
    copy_blocks,
    encode_column,
    incoming_blocks,
    is_sequence,
    named_columns,
    naming_rows,
)
from deeplake_lite.dataset.write.modes import convert_images
from deeplake_lite.dataset.write.tables import named_values
from deeplake_lite.dataset.write.transfer import wrap_source
from deeplake_lite.dataset.write.updates import cells_for
from deeplake_lite.dataset.write.upserts import column_blocks
from deeplake_lite.errors import InvalidValueError, OptionError, SchemaError
from deeplake_lite.htypes.names import check_names
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.handle import Handle
    from deeplake_lite.dataset.metadata import Change
    from deeplake_lite.dataset.selection import RowSelection
    from deeplake_lite.dataset.write.blocks import Data
    from deeplake_lite.htypes.base import Check, Htype
    from deeplake_lite.storage.stored_array import Slots
    from deeplake_lite.storage.table import Table


def append(handle: Handle, data: Data | View, check: Check, key: object = None) -> bool | None:
    """Append rows; see `Dataset.append`."""
    if key is None:
        handle.edit(_append, data, check)
        return None
    name = _check_key(key)
    with handle.locked():
        handle.check_writable()
        if handle.table.has_key(name):
            return False
        handle.edit(_append_once, data, check, name)
        return True


def has_key(handle: Handle, key: object) -> bool:
    """Return whether rows were appended with a key; see `Dataset.has_key`."""
    return handle.table.has_key(_check_key(key))


def _check_key(key: object) -> str:
    """Return the key of a batch. Raises OptionError."""
    name = checks.text("key", key)
    if not name or find_lone_surrogate(name) is not None:
        raise OptionError(
            "key must be a string of valid Unicode that is not empty, such as 'batch-17', but it "
            f"is {name!a:.200}. Choose another key."
        )
    return name


def _append_once(table: Table, data: Data | View, check: Check, key: str) -> None:
    table.record_key(key, _append(table, data, check))


def _append(table: Table, data: Data | View, check: Check) -> Slots:
    if isinstance(data, View):
        fields = table.schema.fields
        return table.append(copy_blocks(*data.rows.checked().locate(), data.schema.fields, fields))
    return table.append(incoming_blocks(data, table.schema, check))


def _is_dataset_of(view: View, handle: Handle) -> bool:
    """Return whether a view is the Dataset of the handle, and therefore has all rows."""
    return getattr(view, "handle", None) is handle


def update(handle: Handle, rows: object, data: Mapping[str, object] | None, ids: object) -> None:
    """Change cells of the given rows; see `Dataset.update`."""
    if (rows is None) == (ids is None):
        count = "neither is" if rows is None else "both are"
        raise OptionError(
            f"update needs either rows (positions or a view) or ids=, but {count} given. Use "
            "ds.update([0, 1], {'x': [5, 6]}) or ds.update(ids=batch['_row_id'], data={'x': [5]})."
        )
    if data is None:
        raise OptionError(
            "update needs a dict from column names to values, but data= is missing. Pass "
            "data={'x': [5, 6]}."
        )
    if isinstance(rows, View) and not _is_dataset_of(rows, handle):
        ids = ids_for_update(rows, handle.url)
    handle.edit(_update, rows, data, ids)


def _update(table: Table, rows: object, data: Mapping[str, object], ids: object) -> None:
    slots = _slots_of(table, rows, len(table)) if ids is None else _slots_of_ids(table, ids)
    columns, schema = named_columns(data, table.schema), table.schema
    fields = {name: schema[name] for name in columns}
    with naming_rows(lambda row: table.rows.positions(slots[row : row + 1])[0]):
        cells = {f.id: cells_for(f, columns[n], len(slots)) for n, f in fields.items()}
    if len(slots):
        table.update(slots, cells)


def _slots_of(table: Table, rows: object, count: int) -> NDArray[np.int64]:
    """Return the slots of rows, given positions. Raises InvalidValueError if a row is repeated."""
    rows = slice(None) if isinstance(rows, View) else [rows] if is_position(rows) else rows
    positions = resolve_positions(rows, count)
    if len(np.unique(positions)) != len(positions):
        raise InvalidValueError(
            "An update may name each row only once, but some positions are repeated. Remove the "
            "duplicates: np.unique(rows)."
        )
    return table.rows.at(positions)


def _slots_of_ids(table: Table, ids: object) -> NDArray[np.int64]:
    """Return the slots of rows, given ids. Raises InvalidValueError for unknown or repeated ids."""
    row_ids = as_ids(ids)
    slots = table.find(row_ids)
    missing = row_ids[slots < 0]
    if len(missing):
        raise InvalidValueError(
            f"An edit needs existing rows, but this branch has no row with the id {missing[0]} "
            f"(unknown ids: {len(missing):,} of {len(row_ids):,}). Such rows were deleted, or "
            "belong to another branch or lake. Leave them out with the mask "
            "np.isin(ids, ds.row_ids)."
        )
    ordered = np.sort(row_ids)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(repeated):
        raise InvalidValueError(
            f"An update may name each row only once, but id {repeated[0]} is repeated. If the rows "
            "come from a loader that pads batches, leave out the padding: keep = "
            "~batch['_padding']."
        )
    return slots


def ids_for_update(view: View, url: str) -> NDArray[np.int64]:
    """Return the ids of a view's rows. Raises InvalidValueError for a view of another lake."""
    if view.url != url:
        raise InvalidValueError(
            f"An edit needs a view of this lake, {url!r}, but the given view reads {view.url!r}. "
            "If that view has copies of rows with the same ids, pass ids=view.row_ids instead."
        )
    if not view.rows.table.has_ids:
        raise InvalidValueError(
            "An edit needs rows of the lake, but each row of this query is computed from several "
            "rows, or from none. Query the rows themselves: WHERE ROW_ID() IN (SELECT …)."
        )
    return view.row_ids


def set_one(handle: Handle, name: str, index: int, value: object) -> None:
    """Set the value of one cell, which may be a list."""
    handle.edit(_set_one, name, index, value)


def _set_one(table: Table, name: str, index: int, value: object) -> None:
    position, f = resolve_position(int(index), len(table)), table.schema[name]
    with naming_rows(lambda _: position):
        cells = encode_column(f, [value], 0, 1, "header")
    table.update(table.rows.at(np.array([position])), {f.id: cells})


def delete(handle: Handle, rows: object) -> None:
    """Delete rows; see `Dataset.delete`."""
    if isinstance(rows, View) and not _is_dataset_of(rows, handle):
        handle.edit(_delete_ids, np.unique(ids_for_update(rows, handle.url)))
    elif isinstance(rows, View):
        handle.edit(_delete, slice(None))
    else:
        handle.edit(_delete, [rows] if is_position(rows) else rows)


def _delete_ids(table: Table, ids: NDArray[np.int64]) -> None:
    slots = _slots_of_ids(table, ids)
    _delete(table, table.rows.positions(slots))


def _delete(table: Table, rows: object) -> None:
    positions = np.unique(resolve_positions(rows, len(table)))
    if len(positions):
        table.delete(positions)


def add_column(
    handle: Handle,
    name: str,
    htype: object,
    values: object,
    compute: Callable[[dict[str, object]], object] | None,
    metadata: Mapping[str, object] | None,
) -> None:
    """Add a column; see `Dataset.add_column`."""
    handle.edit(_add_column, handle.rows(), name, htype, values, compute, metadata)


def _add_column(
    table: Table,
    before: RowSelection,
    name: str,
    htype: object,
    values: Any,
    compute: Callable[[dict[str, object]], object] | None,
    metadata: Mapping[str, object] | None,
) -> None:
    added = table.schema.add(name, htype, metadata)[name]
    if values is not None and compute is not None:
        raise InvalidValueError(
            "a new column needs either values= or compute=, but both are given. Leave out one of "
            "the two.",
            column=name,
        )
    missing = values is None and compute is None
    if missing and len(table) and added.htype.default is None and not added.htype.nullable:
        raise InvalidValueError(
            f"a new column needs values for {pluralize(len(table), 'existing row')}, but none are "
            "given. Pass values= or compute=, or a type with default= or nullable=True.",
            column=name,
        )
    checks.function("compute", compute)
    if values is None and compute is not None:
        values = [compute(row) for row in View(before, before.table.schema.names, "")]
    if callable(values):
        raise InvalidValueError(
            "values= must have one value per row, or one value for all rows, but it is a function. "
            "Pass the function as compute=.",
            column=name,
        )
    # A single value is repeated for every row. Of an iterator, all values are read first.
    values = wrap_source(named_values(name, values, added.htype), added.htype)
    if values is not None and not is_sequence(values):
        values = list(values) if isinstance(values, Iterator) else [values] * len(table)
    if values is not None and len(values) != len(table):
        raise InvalidValueError(
            "a new column needs one value per row, but for "
            f"{pluralize(len(table), 'row')} it got {pluralize(len(values), 'value')}.",
            column=name,
        )
    table.add_column(added, column_blocks(table, added, values))


def change_schema(handle: Handle, change: Callable[[Schema], Schema]) -> None:
    """Replace the schema with the result of `change`, which receives the current schema."""
    handle.edit(lambda table: table.set_document(schema=change(table.schema)))


def change_metadata(handle: Handle, name: str, change: Change) -> None:
    """Change a column's metadata; see `Column.metadata`."""
    change_schema(
        handle, lambda schema: schema.replace_metadata(name, change(schema[name].metadata))
    )


def set_nullable(handle: Handle, name: str) -> None:
    """Allow nulls in a column; see `Dataset.set_nullable`."""
    handle.edit(_set_nullable, name)


def _set_nullable(table: Table, name: str) -> None:
    if not table.schema[name].htype.nullable:
        table.set_document(schema=retype(table.schema, name, nullable=True))


def set_mode(handle: Handle, name: str, mode: str | None) -> None:
    """Set the mode of an image column; see `Dataset.set_mode`."""
    handle.edit(_set_mode, name, mode)


def _set_mode(table: Table, name: str, mode: str | None) -> None:
    f = table.schema[name]
    htype = f.htype.with_mode(mode)
    if htype is None:
        raise SchemaError(
            f"Only image columns have a mode, but column {name!r} is {f.htype}. Choose an image "
            "column."
        )
    schema = _with_type(table.schema, name, htype)
    if schema != table.schema:
        table.write([], convert_images(table, f, htype))
        table.set_document(schema=schema)


def add_classes(handle: Handle, name: str, names: Iterable[str]) -> None:
    """Add classes to a column of labels; see `Dataset.add_classes`."""
    handle.edit(_add_classes, name, names)


def _add_classes(table: Table, name: str, names: Iterable[str]) -> None:
    htype = table.schema[name].htype
    classes = htype.labels
    if classes is None:
        raise SchemaError(
            "Only a column of type ClassLabel, or of sequences of ClassLabel, has classes, but "
            f"column {name!r} is {htype}. Choose another column."
        )
    if not classes.names:
        raise SchemaError(
            f"The names {brief(names)} can only be added to a column that has class names, but the "
            f"classes of column {name!r} are numbers without names. Add a column with names: "
            "ds.add_column(…, dl.ClassLabel([…]), values=…)."
        )
    new = check_names(names, "class")
    if existing := [n for n in new if n in classes.names]:
        raise SchemaError(
            f"Column {name!r} already has the class {existing[0]!r}. Leave that name out."
        )
    if new:
        wider = htype.with_classes(new)
        if wider is None:
            raise SchemaError(
                f"No class can be added to column {name!r}, which is {htype}. Add a column with "
                "all names: ds.add_column(…, dl.ClassLabel([…]), values=…)."
            )
        table.set_document(schema=_with_type(table.schema, name, wider))


def retype(schema: Schema, name: str, **changes: Any) -> Schema:
    """Return a schema in which some properties of one column's type have other values."""
    return _with_type(schema, name, replace(schema[name].htype, **changes))


def _with_type(schema: Schema, name: str, htype: Htype) -> Schema:
    """Return a schema with another type for one column."""
    f = schema[name]
    changed = replace(f, htype=htype)
    return Schema(tuple(changed if g is f else g for g in schema))
