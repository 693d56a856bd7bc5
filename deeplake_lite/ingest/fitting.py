"""Reconciling the columns of a source with those of an existing lake.

The lake's types take precedence, because its rows are stored with these types. There are three
exceptions. New classes are added to the class names. An image column that receives files in another
format accepts all formats from then on. And a lake without rows adopts the columns of the source.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from deeplake_lite.errors import InvalidValueError, SchemaError
from deeplake_lite.htypes import Htype, resolve
from deeplake_lite.htypes.base import to_code
from deeplake_lite.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.ingest.source import Source
    from deeplake_lite.schema import Field


def types_of_source(source: Source, declared: Mapping[str, object]) -> dict[str, Htype]:
    """Return the declared or inferred type of each column of a source.

    Raises
    ------
    SchemaError
        If the source has no columns, or lacks a declared column or the key column.
    """
    types = dict(source.columns)
    if not types:
        raise SchemaError(
            f"A source must have at least one column to ingest, but {source.title} has none. If "
            "you pass columns=, name at least one column."
        )
    for name in declared:
        if name not in types:
            raise SchemaError(
                f"schema= must only have columns of {source.title}, but it has {name!r}. Choose "
                f"from {', '.join(map(repr, types))}."
            )
    for name, htype in ((name, resolve(spec)) for name, spec in declared.items()):
        types[name] = _with_names(htype, types[name])
    if source.key is not None and source.key not in types:
        raise SchemaError(
            f"on= must be a column of {source.title}, but it is {source.key!r}. "
            f"Choose from {', '.join(map(repr, types))}."
        )
    if source.key is not None:
        types[source.key] = replace(types[source.key], nullable=False)
    return types


def _with_names(declared: Htype, inferred: Htype) -> Htype:
    """Return the declared type or, if it lacks the class names, the inferred type, which has them.

    >>> from deeplake_lite.htypes import ClassLabel
    >>> _with_names(ClassLabel(nullable=True), ClassLabel(["cat"]))
    ClassLabel(['cat'], nullable=True)
    """
    classes = declared.labels
    if classes is None or classes.names or not declared.bare.describes(inferred.bare):
        return declared
    nullable = declared.nullable or inferred.nullable
    return replace(inferred, nullable=nullable, default=declared.default)


def fit(ds: Dataset, columns: Mapping[str, Htype], declared: Mapping[str, object]) -> None:
    """Stage the changes to a lake's schema that are needed to append the rows of a source.

    Parameters
    ----------
    ds : Dataset
        The lake.
    columns : mapping
        Maps the names of the source's columns to their types.
    declared : mapping
        Maps the names of columns to the types that the user has declared.

    Raises
    ------
    SchemaError
        If the lake has no column with the name of a source's column, or if a column's type in the
        lake differs from the declared type.
    """
    fresh = len(ds) == 0
    for name, htype in columns.items():
        if name not in ds.schema:
            if not fresh:
                raise _missing_column(ds, name, htype)
            ds.add_column(name, htype)
            continue
        existing = ds.schema[name]
        wider = existing.htype.widened(htype)
        if wider is not None:
            _widen(ds, existing, wider)
        elif name in declared and existing.htype != htype:
            if fresh:
                ds.drop_column(name)
                ds.add_column(name, htype)
            elif not is_compatible(resolve(declared[name]), existing.htype):
                raise SchemaError(
                    f"Column {name!r} of {ds.url!r} has the type {existing.htype}, not {htype}. "
                    f"Leave {name!r} out of schema=, or ingest into a new lake."
                )
    _check_defaults(ds, columns)


def is_compatible(declared: Htype, existing: Htype) -> bool:
    """Return whether the declared type of a column agrees with its type in a lake.

    Nullability and defaults do not matter. The lake's type may have more classes, or a mode for
    images. ``"class_label"`` agrees with any classes.

    >>> from deeplake_lite.htypes import ClassLabel
    >>> is_compatible(ClassLabel(["cat"]), ClassLabel(["cat", "dog"], nullable=True))
    True
    >>> is_compatible(ClassLabel(["dog"]), ClassLabel(["cat", "dog"]))
    False
    """
    a, b = declared.bare, existing.bare
    return a.describes(b)


def _widen(ds: Dataset, existing: Field, htype: Htype) -> None:
    """Change a column to a wider type with the same layout."""
    changed = tuple(replace(f, htype=htype) if f is existing else f for f in ds.schema)
    ds.handle.edit(lambda table: table.set_document(schema=Schema(changed)))


def _check_defaults(ds: Dataset, columns: Mapping[str, Htype]) -> None:
    """Raise SchemaError if the source lacks a column of the lake that has no default value."""
    for f in ds.schema:
        if f.name not in columns:
            try:
                f.htype.encode_default(1)
            except InvalidValueError as error:
                raise SchemaError(
                    f"The source has no column {f.name!r}, and this column of the lake has no "
                    f"default. Set one with ds.set_default({f.name!r}, …), commit, and ingest "
                    "again."
                ) from error


def _missing_column(ds: Dataset, name: str, htype: Htype) -> SchemaError:
    """Return the error for a column of the source that the lake does not have."""
    added = htype if htype.default is not None else replace(htype, nullable=True)
    return SchemaError(
        f"The lake {ds.url!r} has no column {name!r}. First add it with ds.add_column({name!r}, "
        f"{to_code(added)}) and commit, or leave it out of the source. The lake's columns are "
        f"{', '.join(map(repr, ds.columns))}."
    )
