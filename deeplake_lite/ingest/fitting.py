"""How the columns of a source meet those of a lake that is there already.

The lake's types count, because its rows are written. Three things give way: classes that are new
are added to the names, a picture column that gets files of another format keeps both, and a lake
without rows takes the columns as they come.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from deeplake_lite.errors import InvalidValueError, SchemaError
from deeplake_lite.htypes import ClassLabel, Htype, resolve
from deeplake_lite.htypes.base import pasted
from deeplake_lite.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.ingest.source import Source
    from deeplake_lite.schema import Field


def wanted(source: Source, given: Mapping[str, Any]) -> dict[str, Htype]:
    """Return the type of each column of a source: the given one before the one that was found.

    Raises
    ------
    SchemaError
        For a column that the source does not have.
    """
    found = dict(source.columns)
    for name in given:
        if name not in found:
            raise SchemaError(
                f"schema= names column {name!r}, which {source.title} does not have. "
                f"It has: {', '.join(map(repr, found))}."
            )
    for name, htype in ((name, resolve(spec)) for name, spec in given.items()):
        if htype != ClassLabel() or found[name].classes is None:
            found[name] = htype  # a ClassLabel without names gets those that the source found
    if source.key is not None and source.key not in found:
        raise SchemaError(
            f"on= names column {source.key!r}, which {source.title} does not have. "
            f"It has: {', '.join(map(repr, found))}."
        )
    if source.key is not None:
        found[source.key] = replace(found[source.key], nullable=False)
    return found


def fit(ds: Dataset, columns: Mapping[str, Htype], given: Mapping[str, Any]) -> None:
    """Stage what a lake's schema needs for the rows of a source.

    Parameters
    ----------
    ds : Dataset
        The lake.
    columns : mapping
        Types that the source has.
    given : mapping
        Those of them that the user asked for.

    Raises
    ------
    SchemaError
        When the lake lacks a column, or has it with another type than the user asked for.
    """
    fresh = len(ds) == 0
    for name, htype in columns.items():
        if name not in ds.schema:
            if not fresh:
                raise _lacks(ds, name, htype)
            ds.add_column(name, htype)
            continue
        there = ds.schema[name]
        wider = there.htype.widened(htype)
        if wider is not None:
            _retype(ds, there, wider)
        elif name in given and there.htype != htype:
            if fresh:
                ds.drop_column(name)
                ds.add_column(name, htype)
            elif not is_said_of(resolve(given[name]), there.htype):
                raise SchemaError(
                    f"Column {name!r} of {ds.url!r} is {there.htype}, not {htype}. Leave it out of "
                    "schema=, or ingest into a new lake."
                )
    _check_rest(ds, columns)


def is_said_of(given: Htype, there: Htype) -> bool:
    """Tell whether what a user says of a column is true of it, as far as it goes.

    Nulls and a default are not part of it, nor are classes that came after those that are named, or
    a mode that pictures were given. ``"class_label"`` names no classes.

    >>> is_said_of(ClassLabel(["cat"]), ClassLabel(["cat", "dog"], nullable=True))
    True
    >>> is_said_of(ClassLabel(["dog"]), ClassLabel(["cat", "dog"]))
    False
    """
    said, known = (replace(h, nullable=False, default=None) for h in (given, there))
    return said.describes(known)


def _retype(ds: Dataset, there: Field, htype: Htype) -> None:
    """Give a column a wider type of the same layout."""
    changed = tuple(replace(f, htype=htype) if f is there else f for f in ds.schema)
    ds.handle.edit(lambda table: table.set_document(schema=Schema(changed)))


def _check_rest(ds: Dataset, columns: Mapping[str, Htype]) -> None:
    """Refuse a source that leaves out a column without default, before anything is read."""
    for f in ds.schema:
        if f.name not in columns:
            try:
                f.htype.encode_default(1)
            except InvalidValueError as error:
                raise SchemaError(
                    f"The rows have no column {f.name!r}, and it has no default. Give it one: "
                    f"ds.set_default({f.name!r}, …), commit, and ingest again."
                ) from error


def _lacks(ds: Dataset, name: str, htype: Htype) -> SchemaError:
    added = htype if htype.default is not None else replace(htype, nullable=True)
    return SchemaError(
        f"The lake {ds.url!r} has no column {name!r}. Add it first, ds.add_column({name!r}, "
        f"{pasted(added)}), and commit; or leave it out of what is ingested. Known: "
        f"{', '.join(map(repr, ds.columns))}."
    )
