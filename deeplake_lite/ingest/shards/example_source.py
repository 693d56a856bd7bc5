"""The source for files whose records are ``tf.train.Example`` or bytes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal, Protocol

from deeplake_lite.dataset.export.shards.tf_example import parse_example
from deeplake_lite.dataset.read.values import with_none
from deeplake_lite.errors import InvalidValueError, SchemaError
from deeplake_lite.htypes import ClassLabel, Htype, resolve
from deeplake_lite.htypes.files import scheme_of
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.ingest.files import fingerprint
from deeplake_lite.ingest.parts import Part, part_of
from deeplake_lite.ingest.shards.declared_features import declared_columns
from deeplake_lite.ingest.shards.described_features import Description, described_features
from deeplake_lite.ingest.shards.feature_columns import FeatureColumn, PlainColumn, value_of
from deeplake_lite.ingest.shards.feature_types import bytes_type, inferred_columns
from deeplake_lite.ingest.shards.record_files import Record, name_of
from deeplake_lite.ingest.source import Block

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

BLOCK_ROWS = 1_024
BLOCK_BYTES = 32 * 2**20
"""Maximum size of all records in a block, in bytes."""

SAMPLED = 1_000
"""Number of records from which columns and their types are inferred."""

RECORD = "record"
"""Name of the column for records that are not ``tf.train.Example``."""

SPLIT = "split"
"""Name of the column of splits."""

type Contents = Literal["auto", "example", "bytes"]


class Records(Protocol):
    """A function that reads the records of one file."""

    def __call__(self, path: str, options: Mapping[str, Any], /) -> Iterator[Record]:
        """Yield the records of a file, given its path or URL and options of the object store."""


@dataclass(frozen=True)
class ExampleSource:
    """The source for record files."""

    files: tuple[str, ...]
    """Paths and URLs of the files."""

    read: Records
    """Function that reads the records of a file."""

    access: Mapping[str, Any]
    """Options of the object store, for URLs."""

    schema: Mapping[str, object]
    """Maps the names of columns to the types that the user declares."""

    features: object = None
    """The features that the user selects, or None for all features."""

    key: str | None = None
    """Name of the column that identifies rows, or None if there is no such column."""

    contents: Contents = "example"
    """Whether records are Examples or other bytes. With "auto", the first records decide."""

    rows: None = None
    """None, because the number of records is unknown before all files are read."""

    left_out: tuple[()] = ()
    """Empty, because each record becomes a row or is reported as a bad row."""

    @property
    def title(self) -> str:
        """Name of the first file, and the number of other files."""
        first = name_of(self.files[0])
        return first if len(self.files) == 1 else f"{first} and {len(self.files) - 1} more"

    @cached_property
    def fingerprint(self) -> str | None:
        """A string that changes when the files change, or None if there are URLs."""
        if any(scheme_of(file) is not None for file in self.files):
            return None
        return fingerprint(self.files[0], [*self.files, *self.described.files])

    @property
    def metadata(self) -> Mapping[str, object]:
        """The dataset's metadata, from a file next to the records."""
        return self.described.metadata.of_dataset

    @cached_property
    def described(self) -> Description:
        """The description of the records in a file next to them."""
        return described_features(self.files, self.access)

    @cached_property
    def _first(self) -> list[Record]:
        """The undamaged records among the first `SAMPLED`, up to a total of `BLOCK_BYTES` bytes."""
        records = (r for file in self.files for r in self.read(file, self.access))
        first, size = list[Record](), 0
        for record in islice(records, SAMPLED):
            size += len(record.data)
            if record.error is None:
                first.append(record)
            if size >= BLOCK_BYTES:
                break
        return first

    @cached_property
    def _holds_examples(self) -> bool:
        """Whether the records are ``tf.train.Example``."""
        if self.contents != "auto":
            return self.contents == "example"
        if self.described.columns:
            return True
        messages = [*_messages(self._first)]
        has_features = any(m.features.feature or m.feature_lists.feature_list for m in messages)
        return has_features and len(messages) == len(self._first)

    @cached_property
    def feature_columns(self) -> dict[str, FeatureColumn]:
        """Maps the names of columns that are read from features to the columns."""
        if not self._holds_examples:
            return {}
        described = self.described.columns
        used = {name for column in described.values() for name in column.features}
        rest = inferred_columns(_messages(self._first))
        columns: dict[str, FeatureColumn] = {
            **described,
            **{n: c for n, c in rest.items() if used.isdisjoint(c.features) and n not in described},
        }
        if self.features is not None:
            columns = declared_columns(self.features, columns)
        for name, spec in self.schema.items():
            column = columns.get(name)
            if isinstance(column, PlainColumn) and resolve(spec) != ClassLabel():
                columns[name] = replace(column, htype=resolve(spec), is_inferred=False)
        if not columns:
            raise self._no_columns()
        return columns

    @cached_property
    def columns(self) -> dict[str, Htype]:
        """Type of each column."""
        if not self._holds_examples:
            return {RECORD: bytes_type(r.data for r in self._first)}
        types = {name: column.htype for name, column in self.feature_columns.items()}
        if self.described.splits:
            if SPLIT in types:
                raise SchemaError(
                    f"The names of the splits are stored in the column {SPLIT!r}, but the records "
                    "have a feature with that name. Ingest the files of each split separately."
                )
            types[SPLIT] = ClassLabel(list(dict.fromkeys(self.described.splits.values())))
        return types

    def check_unrounded(self, names: Iterable[str]) -> None:
        """Accept all columns, because features have no decimals."""

    def divided(self) -> list[Part]:
        """Return the files as sources of their own."""
        known = ("described", "_holds_examples", "feature_columns", "columns")
        return [Part(part_of(self, *known, files=(file,))) for file in self.files]

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the records from number `start` on."""
        row = 0
        for file in self.files:
            rows, size, first = list[Record](), 0, row
            for record in self.read(file, self.access):
                row += 1
                if row <= start:
                    continue
                rows.append(record)
                size += len(record.data)
                if len(rows) == BLOCK_ROWS or size >= BLOCK_BYTES:
                    yield self._block(file, rows)
                    rows, size = [], 0
            if rows:
                yield self._block(file, rows)
            expected = self.described.lengths.get(file, row - first)
            if row - first != expected:
                raise InvalidValueError(
                    f"{name_of(file)} must have {pluralize(expected, 'record')} according to "
                    f"dataset_info.json, but it has {row - first:,}. Fetch the file again."
                )

    def _block(self, file: str, rows: Sequence[Record]) -> Block:
        errors = {i: record.error for i, record in enumerate(rows) if record.error is not None}
        if self._holds_examples:
            columns = self._values(rows, errors)
        else:
            columns = {RECORD: self._bytes(rows, errors)}
        if split := self.described.splits.get(file):
            columns[SPLIT] = [split] * len(rows)
        for name in columns if errors else ():
            values = [*with_none(columns[name])]
            for i in errors:
                values[i] = self._types[name].blank
            columns[name] = values
        return Block(columns, [record.place for record in rows], errors=errors)

    @cached_property
    def _types(self) -> dict[str, Htype]:
        return {**self.columns, **{n: resolve(s) for n, s in self.schema.items()}}

    def _values(self, rows: Sequence[Record], errors: dict[int, str]) -> dict[str, Any]:
        """Return a dict from columns to values, and add reasons for invalid rows to `errors`."""
        cells: dict[str, list[Any]] = {name: [None] * len(rows) for name in self.feature_columns}
        columns = list(self.feature_columns.values())
        for i, record in enumerate(rows):
            if i in errors:
                continue
            try:
                message = parse_example(record.data)
            except ValueError as error:
                errors[i] = f"a record must be a tf.train.Example, but {error}."
                continue
            if (unknown := self._unknown_feature(message)) is not None:
                errors[i] = (
                    "a record may only have features that the first records have, but this record "
                    f"also has {unknown!r}. List all features: features=…."
                )
                continue
            for column in columns:
                try:
                    cells[column.name][i] = column.read(message)
                except ValueError as error:
                    errors.setdefault(i, f"column {column.name!r}: {error}.")
        values = dict[str, Any]()
        for column in columns:
            values[column.name], bad = column.values(cells[column.name])
            for i, reason in bad.items():
                errors.setdefault(i, f"column {column.name!r}: {reason}.")
        return values

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset(
            name for column in self.feature_columns.values() for name in column.features
        )

    def _unknown_feature(self, message: Any) -> str | None:
        """Return the name of a feature in a message that has no column, or None.

        If the user selects the features, other features are ignored.
        """
        if self.features is not None:
            return None
        for names in (message.features.feature, message.feature_lists.feature_list):
            for name in names:
                if name not in self._names and _has_value(names[name]):
                    return str(name)
        return None

    def _bytes(self, rows: Sequence[Record], errors: dict[int, str]) -> list[Any]:
        values: list[Any] = [None] * len(rows)
        for i, record in enumerate(rows):
            try:
                values[i] = value_of([record.data], self._types[RECORD])
            except ValueError as error:
                errors.setdefault(i, f"column {RECORD!r}: {error}.")
        return values

    def _no_columns(self) -> InvalidValueError:
        """Return the error for files in which no features were found."""
        if not self._first:
            return InvalidValueError(
                f"{self.title} must have records from which columns can be inferred, but it has "
                "none. List the features and their types: features=…."
            )
        first = self._first[0]
        try:
            parse_example(first.data)
        except ValueError as error:
            return InvalidValueError(
                f"A record must be a tf.train.Example, but {first.place}, is not: {error}. Check "
                "the file."
            )
        return InvalidValueError(
            f"The first records must have features, but the records of {self.title} have none. "
            "List the features and their types: features=…."
        )


def _messages(records: Iterable[Record]) -> Iterator[Any]:
    """Yield the parsed message of each record that is a ``tf.train.Example``."""
    for record in records:
        try:
            yield parse_example(record.data)
        except ValueError:
            continue


def _has_value(value: Any) -> bool:
    """Return whether a feature or a feature list is not empty."""
    return not hasattr(value, "WhichOneof") or value.WhichOneof("kind") is not None
