"""The schema of a lake: an ordered list of columns, with names, types and metadata.

Schemas are immutable: `add`, `drop` and `rename` return a new schema. Every column has an internal
id that never changes and is never reused. Therefore, renaming a column does not rewrite data, and
`Schema.compare` can match the columns of two versions by id.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.errors import ColumnNotFoundError, FormatError, SchemaError
from deeplake_lite.htypes import Htype, from_config, resolve
from deeplake_lite.htypes.json_values import same_json
from deeplake_lite.htypes.plain import freeze
from deeplake_lite.lazy import LazyModule

if TYPE_CHECKING:
    import secrets
    from collections.abc import Container, Iterator

    from deeplake_lite.codecs.limits import Limits
else:
    secrets = LazyModule("secrets")

_ID = re.compile(r"c[0-9a-f]{8}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_LONGEST_NAME = 255  # maximum length of a name, in characters


@dataclass(frozen=True)
class Field:
    """One column of a schema."""

    name: str
    """Name that users see. ``a/b`` is the column b in the group a."""

    id: str
    """Name of the column in storage: ``c`` and eight hexadecimal digits."""

    htype: Htype
    """Type of the values."""

    metadata: dict[str, Any] = field(default_factory=dict, hash=False)
    """JSON that users attach to the column. This dict is never changed in place."""

    def __post_init__(self) -> None:
        _check_name(self.name)
        if not isinstance(self.id, str) or not _ID.fullmatch(self.id):
            raise SchemaError(
                f"A column's id must be 'c' and eight hexadecimal digits, but it is "
                f"{brief(self.id)}. Build a schema from names and types: "
                "Schema.build({'label': 'int32'})."
            )
        if not isinstance(self.htype, Htype):
            raise SchemaError(
                f"The type of column {self.name!r} must be an htype, but it is {brief(self.htype)}."
            )
        check_metadata("A column's metadata", self.metadata)
        object.__setattr__(self, "metadata", freeze(self.metadata))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Field):
            return NotImplemented
        own, others = ((f.name, f.id, f.htype) for f in (self, other))
        return own == others and same_json(self.metadata, other.metadata)


@dataclass(frozen=True)
class Schema:
    """An ordered set of columns.

    Examples
    --------
    >>> schema = Schema.build({"label": "int32", "text/title": str})
    >>> schema.names
    ('label', 'text/title')
    >>> schema.rename("label", "class").compare(schema)
    SchemaChanges('class' -> 'label')
    """

    fields: tuple[Field, ...] = ()
    """The columns, in the order in which users see them."""

    def __post_init__(self) -> None:
        if not isinstance(self.fields, list | tuple) or not all(
            isinstance(column, Field) for column in self.fields
        ):
            raise SchemaError(
                f"The fields of a schema must be a list of Field objects, but they are "
                f"{brief(self.fields)}. Build a schema from names and types: "
                "Schema.build({'label': 'int32'})."
            )
        object.__setattr__(self, "fields", tuple(self.fields))
        names: dict[str, Field] = {}
        for column in self.fields:
            if column.name in names:
                raise SchemaError(
                    f"Column names must be unique, but there are two columns {column.name!r}. "
                    "Rename one of them."
                )
            names[column.name] = column
        for name in names:
            for group in _groups(name):
                if group in names:
                    raise SchemaError(
                        f"{group!r} cannot be both a column and the group of {name!r}. Rename one "
                        "of them."
                    )
        if len({column.id for column in self.fields}) != len(names):
            raise SchemaError(
                "Column ids must be unique, but two columns have the same id. Restore the schema "
                "from a backup."
            )

    @classmethod
    def build(cls, columns: Mapping[str, object]) -> Self:
        """Build a schema from names and types, in any form that `htypes.resolve` accepts.

        The columns get random ids.

        Raises
        ------
        SchemaError
            For an invalid name or an unknown type.
        """
        if not isinstance(columns, Mapping):
            raise SchemaError(
                "A schema must be a dict from column names to types, such as {'label': 'int32'}, "
                f"but it is {type(columns).__name__} {brief(columns)}."
            )
        schema = cls()
        for name, spec in columns.items():
            schema = schema.add(name, spec)
        return schema

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in the order of `fields`."""
        return tuple(column.name for column in self.fields)

    def __getitem__(self, name: str) -> Field:
        if name in self:
            return self._by_name[name]
        raise ColumnNotFoundError.named("column", name, self.names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in self._by_name

    @cached_property
    def _by_name(self) -> dict[str, Field]:
        return {column.name: column for column in self.fields}

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def add(self, name: str, spec: object, metadata: Mapping[str, object] | None = None) -> Self:
        """Return the schema with a new column at the end."""
        if name in self:
            raise SchemaError(
                f"A column {name!r} already exists. Drop it first, or choose another name."
            )
        taken = {column.id for column in self.fields}
        new_id = next(candidate for candidate in iter(_make_id, "") if candidate not in taken)
        try:
            htype = resolve(spec)
        except SchemaError as error:
            raise SchemaError(f"Column {name!r}: {error}") from error
        copy = checks.mapping("metadata", metadata)
        return replace(self, fields=(*self.fields, Field(name, new_id, htype, copy)))

    def drop(self, name: str) -> Self:
        """Return the schema without the column `name`."""
        dropped = self[name]
        return replace(self, fields=tuple(f for f in self.fields if f is not dropped))

    def rename(self, old: str, new: str) -> Self:
        """Return the schema with the column `old` renamed to `new`, in the same position."""
        if new in self and new != old:
            raise SchemaError(
                f"A column {new!r} already exists. Drop it first, or choose another name."
            )
        return self._replace(old, name=new)

    def replace_metadata(self, name: str, metadata: Mapping[str, object]) -> Self:
        """Return the schema with new metadata for the column `name`."""
        return self._replace(name, metadata=dict(metadata))

    def _replace(self, name: str, /, **changes: Any) -> Self:
        """Return the schema with one column changed."""
        old = self[name]
        return replace(
            self,
            fields=tuple(
                replace(column, **changes) if column is old else column for column in self.fields
            ),
        )

    def limited(self, limits: Limits) -> Self:
        """Return an equal schema whose htypes check values against `limits`."""
        if all(column.htype.limits == limits for column in self.fields):
            return self
        limited = [replace(column, htype=column.htype.limited(limits)) for column in self.fields]
        return replace(self, fields=tuple(limited))

    def to_json(self) -> dict[str, Any]:
        """Return the schema as JSON.

        >>> sorted(Schema.build({"x": "int8"}).to_json()["columns"][0])
        ['htype', 'id', 'name']
        """
        return {
            "columns": [
                {"name": column.name, "id": column.id, "htype": column.htype.get_config()}
                | ({"metadata": deepcopy(column.metadata)} if column.metadata else {})
                for column in self.fields
            ]
        }

    @classmethod
    def from_json(cls, document: object) -> Self:
        """Return the schema that `to_json` converted to JSON.

        Raises
        ------
        FormatError, SchemaError
            If this release cannot read the document.
        """
        match document:
            case {"columns": [*columns]}:
                return cls(tuple(_read_field(column) for column in columns))
        raise FormatError(
            f"A schema must be an object with a list of 'columns', but it is "
            f"{brief(document, 120)}. Restore the schema from a backup."
        )

    def compare(self, other: Schema) -> SchemaChanges:
        """Return the changes from this schema to `other`. Columns are matched by id."""
        before = {column.id: column for column in self.fields}
        after = {column.id: column for column in other.fields}
        both = [(before[key], after[key]) for key in before if key in after]
        return SchemaChanges(
            added=tuple(column for key, column in after.items() if key not in before),
            dropped=tuple(column for key, column in before.items() if key not in after),
            renamed=tuple((old, new) for old, new in both if old.name != new.name),
            retyped=tuple((old, new) for old, new in both if old.htype != new.htype),
            metadata=tuple(
                (old, new) for old, new in both if not same_json(old.metadata, new.metadata)
            ),
        )


@dataclass(frozen=True, repr=False)
class SchemaChanges:
    """The changes from one schema to another. In a condition, no changes count as false."""

    added: tuple[Field, ...] = ()
    """Columns that only the second schema has."""

    dropped: tuple[Field, ...] = ()
    """Columns that only the first schema has."""

    renamed: tuple[tuple[Field, Field], ...] = ()
    """Columns whose name changed, as pairs (before, after)."""

    retyped: tuple[tuple[Field, Field], ...] = ()
    """Columns whose type changed, as pairs (before, after)."""

    metadata: tuple[tuple[Field, Field], ...] = ()
    """Columns whose metadata changed, as pairs (before, after)."""

    def __bool__(self) -> bool:
        return any((self.added, self.dropped, self.renamed, self.retyped, self.metadata))

    def __repr__(self) -> str:
        parts = [f"+{column.name!r} {column.htype}" for column in self.added]
        parts += [f"-{column.name!r}" for column in self.dropped]
        parts += [f"{old.name!r} -> {new.name!r}" for old, new in self.renamed]
        parts += [f"{new.name!r} {old.htype} -> {new.htype}" for old, new in self.retyped]
        parts += [f"{new.name!r} metadata" for _, new in self.metadata]
        return f"SchemaChanges({', '.join(parts)})"


def _make_id() -> str:
    """Return a random column id."""
    return f"c{secrets.token_hex(4)}"


def _groups(name: str) -> list[str]:
    """Return the groups that contain a column, outermost first.

    >>> _groups("a/b/c")
    ['a', 'a/b']
    """
    parts = name.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def _check_name(name: object) -> None:
    """Check the name of a column. Raises SchemaError."""
    rule = None
    if not isinstance(name, str) or not name:
        rule = "a non-empty string"
    elif len(name) > _LONGEST_NAME:
        rule = f"at most {_LONGEST_NAME} characters long"
    elif _CONTROL.search(name):
        rule = "free of control characters"
    elif any(part in ("", ".", "..") for part in name.split("/")):
        rule = "made of parts joined by single slashes, such as 'a/b', where no part is '.' or '..'"
    elif name.startswith("__"):
        rule = "without two leading underscores, since these names are reserved"
    if rule:
        raise SchemaError(
            f"A column's name must be {rule}, but it is {brief(name, 80)}. Choose another name."
        )


def check_metadata(owner: str, metadata: object) -> dict[str, Any]:
    """Return a copy of metadata. Raises SchemaError for values that are not strict JSON.

    >>> check_metadata("The metadata", {"licence": "CC0"})
    {'licence': 'CC0'}
    """
    if not isinstance(metadata, dict):
        raise SchemaError(f"{owner} must be a dict, but it is {brief(metadata)}.")
    try:
        copy: dict[str, object] = json.loads(json.dumps(metadata, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaError(
            f"{owner} must be JSON, but it is {brief(metadata)} ({error}). Convert it to strings, "
            "numbers, lists and dicts."
        ) from error
    if not same_json(copy, metadata):
        raise SchemaError(
            f"{owner} must be unchanged by a conversion to JSON and back, but it is "
            f"{brief(metadata)}. Use strings as keys, and lists instead of tuples."
        )
    return copy


def _read_field(column: Any) -> Field:
    """Return the field that `Schema.to_json` converted to JSON. Raises FormatError."""
    match column:
        case {"name": name, "id": id_, "htype": config}:
            return Field(name, id_, from_config(config), column.get("metadata", {}))
    raise FormatError(
        f"A column must be an object with 'name', 'id' and 'htype', but it is "
        f"{brief(column, 120)}. Restore the schema from a backup."
    )


def free_name(name: str, taken: Container[str]) -> str:
    """Append underscores to a name until it is not taken.

    >>> free_name("path", ["path", "path_"]), free_name("path", [])
    ('path__', 'path')
    """
    while name in taken:
        name += "_"
    return name
