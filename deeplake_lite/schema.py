"""Which columns there are, in which order, and what they mean.

A schema is a value: `add`, `drop` and `rename` return another one. Every column has an internal id
that never changes and is never used again, so that renaming costs nothing and versions compare by
id.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.errors import ColumnNotFoundError, FormatError, SchemaError
from deeplake_lite.htypes import Htype, from_config, resolve
from deeplake_lite.htypes.json_values import same_json
from deeplake_lite.htypes.plain import fixed
from deeplake_lite.lazy import LazyModule

if TYPE_CHECKING:
    import secrets
    from collections.abc import Container, Iterator

    from deeplake_lite.codecs.limits import Limits
else:
    secrets = LazyModule("secrets")

_ID = re.compile(r"c[0-9a-f]{8}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_LONGEST = 255  # characters of a name


@dataclass(frozen=True)
class Field:
    """One column of a schema."""

    name: str
    """What users call it; ``a/b`` is the column b of the group a."""

    id: str
    """What storage calls it: ``c`` and eight hexadecimal digits."""

    htype: Htype
    """What its values mean."""

    metadata: dict[str, Any] = field(default_factory=dict, hash=False)
    """Whatever users note about it, JSON. Nobody changes it in place."""

    def __post_init__(self) -> None:
        _check_name(self.name)
        if not isinstance(self.id, str) or not _ID.fullmatch(self.id):
            raise SchemaError(
                f"A column's id must be 'c' and eight hexadecimal digits, got {brief(self.id)}."
            )
        if not isinstance(self.htype, Htype):
            raise SchemaError(
                f"The type of {self.name!r} must be an htype, got {brief(self.htype)}."
            )
        check_metadata("A column's metadata", self.metadata)
        object.__setattr__(self, "metadata", fixed(self.metadata))

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
    """The columns, in order."""

    def __post_init__(self) -> None:
        if not isinstance(self.fields, list | tuple) or not all(
            isinstance(column, Field) for column in self.fields
        ):
            raise SchemaError(
                f"A schema is made of Fields, got {brief(self.fields)}. Build it from names and "
                "types: Schema.build({'label': 'int32'})."
            )
        object.__setattr__(self, "fields", tuple(self.fields))
        names: dict[str, Field] = {}
        for column in self.fields:
            if column.name in names:
                raise SchemaError(
                    f"Column names must be unique, got {column.name!r} twice. Rename one."
                )
            names[column.name] = column
        for name in names:
            for group in _groups(name):
                if group in names:
                    raise SchemaError(
                        f"{group!r} cannot be a column and the group of {name!r}. Rename one of "
                        "them."
                    )
        if len({column.id for column in self.fields}) != len(names):
            raise SchemaError("Column ids must be unique, and are not. Restore the schema.")

    @classmethod
    def build(cls, columns: Mapping[str, Any]) -> Self:
        """Make a schema of names and types, whatever `htypes.resolve` reads; ids are random.

        Raises
        ------
        SchemaError
            For a name that is not allowed, or a type that there is not.
        """
        if not isinstance(columns, Mapping):
            raise SchemaError(
                "A schema must be a dict of types by column name, such as {'label': 'int32'}, got "
                f"{type(columns).__name__} {brief(columns)}."
            )
        schema = cls()
        for name, spec in columns.items():
            schema = schema.add(name, spec)
        return schema

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(column.name for column in self.fields)

    def __getitem__(self, name: str) -> Field:
        for column in self.fields:
            if isinstance(name, str) and column.name == name:
                return column
        raise ColumnNotFoundError.named("column", name, self.names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and any(column.name == name for column in self.fields)

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __len__(self) -> int:
        return len(self.fields)

    def add(self, name: str, spec: Any, metadata: Mapping[str, Any] | None = None) -> Self:
        """Return the schema with one more column at the end."""
        if name in self:
            raise SchemaError(
                f"There is a column {name!r} already. Drop it first, or choose another name."
            )
        taken = {column.id for column in self.fields}
        new = next(made for made in iter(_new_id, "") if made not in taken)
        try:
            htype = resolve(spec)
        except SchemaError as error:
            raise SchemaError(f"Column {name!r}: {error}") from error
        notes = checks.mapping("metadata", metadata)
        return replace(self, fields=(*self.fields, Field(name, new, htype, notes)))

    def drop(self, name: str) -> Self:
        """Return the schema without a column."""
        gone = self[name]
        return replace(self, fields=tuple(column for column in self.fields if column is not gone))

    def rename(self, old: str, new: str) -> Self:
        """Return the schema with a column under another name, in its old place."""
        if new in self and new != old:
            raise SchemaError(
                f"There is a column {new!r} already. Drop it first, or choose another name."
            )
        return self._replace(old, name=new)

    def replace_metadata(self, name: str, metadata: Mapping[str, Any]) -> Self:
        """Return the schema with other metadata for a column."""
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
        """Return the schema with types that know the limits of a handle; it equals this one."""
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
    def from_json(cls, document: Any) -> Self:
        """Return the schema that `to_json` wrote down.

        Raises
        ------
        FormatError, SchemaError
            When this release does not understand the document.
        """
        match document:
            case {"columns": [*columns]}:
                return cls(tuple(_read_field(column) for column in columns))
        raise FormatError(
            f"A schema must be an object with a list of 'columns', got {brief(document, 120)}. "
            "Restore it."
        )

    def compare(self, other: Schema) -> SchemaChanges:
        """Return what changes from this schema to `other`; ids tell which column is which."""
        before = {column.id: column for column in self.fields}
        after = {column.id: column for column in other.fields}
        both = [(before[key], after[key]) for key in before if key in after]
        return SchemaChanges(
            added=tuple(column for key, column in after.items() if key not in before),
            dropped=tuple(column for key, column in before.items() if key not in after),
            renamed=tuple((old, new) for old, new in both if old.name != new.name),
            retyped=tuple((old, new) for old, new in both if old.htype != new.htype),
            noted=tuple(
                (old, new) for old, new in both if not same_json(old.metadata, new.metadata)
            ),
        )


@dataclass(frozen=True, repr=False)
class SchemaChanges:
    """What changes from one schema to another; true if anything does."""

    added: tuple[Field, ...] = ()
    """Columns that only the second has."""

    dropped: tuple[Field, ...] = ()
    """Columns that only the first has."""

    renamed: tuple[tuple[Field, Field], ...] = ()
    """Columns under another name: before, after."""

    retyped: tuple[tuple[Field, Field], ...] = ()
    """Columns of another type: before, after."""

    noted: tuple[tuple[Field, Field], ...] = ()
    """Columns with other metadata: before, after."""

    def __bool__(self) -> bool:
        return any((self.added, self.dropped, self.renamed, self.retyped, self.noted))

    def __repr__(self) -> str:
        parts = [f"+{column.name!r} {column.htype}" for column in self.added]
        parts += [f"-{column.name!r}" for column in self.dropped]
        parts += [f"{old.name!r} -> {new.name!r}" for old, new in self.renamed]
        parts += [f"{new.name!r} {old.htype} -> {new.htype}" for old, new in self.retyped]
        parts += [f"{new.name!r} metadata" for _, new in self.noted]
        return f"SchemaChanges({', '.join(parts)})"


def _new_id() -> str:
    """Return a random column id."""
    return f"c{secrets.token_hex(4)}"


def _groups(name: str) -> list[str]:
    """Return the groups that a column lies in.

    >>> _groups("a/b/c")
    ['a', 'a/b']
    """
    parts = name.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def _check_name(name: Any) -> None:
    """Refuse what is no name of a column."""
    rule = None
    if not isinstance(name, str) or not name:
        rule = "a text that is not empty"
    elif len(name) > _LONGEST:
        rule = f"at most {_LONGEST} characters long"
    elif _CONTROL.search(name):
        rule = "free of control characters"
    elif any(part in ("", ".", "..") for part in name.split("/")):
        rule = "parts joined by single slashes, such as 'a/b', none of them '.' or '..'"
    elif name.startswith("__"):
        rule = "free of two leading underscores, which are kept for the lake itself"
    if rule:
        raise SchemaError(
            f"A column's name must be {rule}, got {brief(name, 80)}. Choose another name."
        )


def check_metadata(what: str, metadata: Any) -> dict[str, Any]:
    """Return a copy of metadata. Raises SchemaError for what strict JSON cannot hold.

    >>> check_metadata("A note", {"licence": "CC0"})
    {'licence': 'CC0'}
    """
    if not isinstance(metadata, dict):
        raise SchemaError(f"{what} must be a dict, but it is {brief(metadata)}.")
    try:
        copy: dict[str, Any] = json.loads(json.dumps(metadata, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise SchemaError(
            f"{what} must be JSON, but it is {brief(metadata)} ({error}). Convert it to texts, "
            "numbers, lists and dicts."
        ) from error
    if not same_json(copy, metadata):
        raise SchemaError(
            f"{what} must come back from JSON unchanged, but it is {brief(metadata)}. Use texts as "
            "keys, and lists in place of tuples."
        )
    return copy


def _read_field(column: Any) -> Field:
    """Return the field that `Schema.to_json` wrote down."""
    match column:
        case {"name": name, "id": id_, "htype": config}:
            return Field(name, id_, from_config(config), column.get("metadata", {}))
    raise FormatError(
        f"A column must be an object with 'name', 'id' and 'htype', got {brief(column, 120)}. "
        "Restore the schema."
    )


def free_name(name: str, taken: Container[str]) -> str:
    """Return a name that is not taken, with underscores behind it where it has to be another.

    >>> free_name("path", ["path", "path_"]), free_name("path", [])
    ('path__', 'path')
    """
    while name in taken:
        name += "_"
    return name
