"""The root document of a version: a JSON object in the attributes of the root group.

The document contains the format number, the schema, the user's metadata, and the sizes of the parts
of arrays and heaps that are in use. Everything else is in arrays. The document is checked
completely before any part of it is used, because a write that relies on a wrong number would
overwrite data.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field, replace
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
import xxhash

from deeplake_lite.brief import brief
from deeplake_lite.errors import DamagedError, FormatError, LakeError
from deeplake_lite.htypes.layouts import Dense, Nested
from deeplake_lite.schema import Schema, check_metadata
from deeplake_lite.storage.checksums import levels
from deeplake_lite.storage.log import Log

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.codecs.limits import Limits
    from deeplake_lite.htypes.layouts import Layout

FORMAT = 2
"""Number of the on-disk format, described in FORMAT.md."""

KEY = "deeplake_lite"
"""Name of the attribute that contains the document."""

DIGEST = "digest"
"""Key under which a document contains its own digest."""

MAX_SLOTS = 2**47
MAX_CHUNKS = 2**28
MAX_TABLE_ROWS = 2**20
MAX_GENERATIONS = MAX_REVISIONS = 2**53
MAX_ROW_BYTES = 2**31
"""The largest numbers that a document may contain."""

MAX_LEVELS = 16
"""Maximum depth of nested sequences."""

_COLUMN = r"c[0-9a-f]{8}"
_HEAP = re.compile(rf"\d+/{_COLUMN}(/items)*/values")
_ARRAY = "data|valid|bounds|counts|extents|shapes|hashes|tail|spans"
_LOGGED = re.compile(rf"rows/(id|block|deleted)|{_COLUMN}(/items)*/({_ARRAY})")
_LENGTH = re.compile(rf"rows/(block|deleted|slot)|{_COLUMN}(/items)*/(items|tail)")


@dataclass(frozen=True)
class State:
    """The root document of a version."""

    schema: Schema
    """Names and types of the columns."""
    slots: int = 0
    """Number of slots, including the slots of deleted rows."""
    ordered: bool = True
    """Whether rows are in the order of their slots. If not, the array ``rows/slot`` contains the
    slots of the rows, in order."""
    generation: int = 0
    """Number that names the group of all arrays. `optimize` writes the arrays to a new group."""
    revision: int = 0
    """Number of commits that led to this version. Icechunk rejects commits that change nothing;
    since this number changes, even a merge that changes no row can be committed."""
    heaps: Mapping[str, int] = field(default_factory=dict)
    """A dict that maps the path of each array ``values`` to its first unused chunk number."""
    lengths: Mapping[str, int] = field(default_factory=dict)
    """Length of each array that does not have one entry per slot. The keys are paths within the
    generation's group."""
    checksums: Mapping[str, int] = field(default_factory=dict)
    """First row of each column in the table of checksums. The keys are column ids."""
    metadata: Mapping[str, object] = field(default_factory=dict)
    """The user's metadata for the dataset."""
    log: Log = field(default_factory=Log)
    """Recent entries of arrays, which have not been written to the arrays yet."""

    def __post_init__(self) -> None:
        check_metadata("The dataset's metadata", self.metadata)

    def to_json(self) -> dict[str, object]:
        """Return the attributes of the root group that contain the document."""
        document = {
            "format": FORMAT,
            "generation": self.generation,
            "slots": self.slots,
            "ordered": self.ordered,
            "revision": self.revision,
            "schema": self.schema.to_json(),
            "heaps": dict(self.heaps),
            "lengths": dict(self.lengths),
            "checksums": dict(self.checksums),
            "metadata": dict(self.metadata),
            "log": self.log.to_json(),
        }
        return {KEY: add_digest(document)}

    @classmethod
    def from_json(cls, attributes: Mapping[str, object]) -> State:
        """Read the document from the attributes of the root group.

        Raises
        ------
        FormatError
            When the document has another format, or there is none.
        DamagedError
            When the document does not match its digest, or contradicts itself.
        """
        document = attributes.get(KEY)
        if not isinstance(document, dict) or type(document.get("format")) is not int:
            raise FormatError(
                f"The root group has no {KEY!r} document: this is an Icechunk repository, but not "
                "a lake. Create a lake with dl.create in a folder of its own."
            )
        if document["format"] != FORMAT:
            way_out = (
                "Upgrade: pip install -U deeplake-lite."
                if document["format"] > FORMAT
                else "Open it with the release that wrote it."
            )
            raise FormatError(
                f"This lake has format {document['format']}, but this release of deeplake-lite "
                f"reads format {FORMAT}. {way_out}"
            )
        check_digest(document, "The lake's metadata document")
        try:
            return cls._read(document)
        except FormatError:
            raise
        except (LakeError, ValueError, TypeError, LookupError, AttributeError) as error:
            raise _damaged(str(error)) from error
        except (ArithmeticError, RecursionError, MemoryError) as error:
            raise _damaged(f"{type(error).__name__}: {error}") from error

    @classmethod
    def _read(cls, document: Mapping[str, Any]) -> State:
        """Read a document of this format. An invalid document may raise any exception."""
        schema = Schema.from_json(document["schema"])
        for column in schema:
            _check_layout(column.name, column.htype.layout)
        state = cls(
            schema=schema,
            slots=_number(document, "slots", MAX_SLOTS),
            ordered=_boolean(document, "ordered"),
            generation=_number(document, "generation", MAX_GENERATIONS),
            revision=_number(document, "revision", MAX_REVISIONS),
            heaps=_numbers(document, "heaps", _HEAP, MAX_CHUNKS),
            lengths=_numbers(document, "lengths", _LENGTH, MAX_SLOTS),
            checksums=_numbers(document, "checksums", re.compile(_COLUMN), MAX_TABLE_ROWS),
            metadata=document["metadata"],
            log=Log.from_json(document["log"]),
        )
        if state.checksums.keys() != {column.id for column in schema}:
            raise ValueError("'checksums' does not match the columns of the schema.")
        owners = {"rows", *(column.id for column in schema)}
        for path in state.log.index:
            if not _LOGGED.fullmatch(path) or path.partition("/")[0] not in owners:
                raise ValueError(f"the log must not have entries of {brief(path)}.")
        expected = {"rows/block", "rows/deleted", *([] if state.ordered else ["rows/slot"])}
        for column in schema:
            expected |= _paths_with_length(column.id, column.htype.layout)
        if state.lengths.keys() != expected:
            odd = ", ".join(sorted(state.lengths.keys() ^ expected)[:3])
            raise ValueError(f"'lengths' has missing or unexpected entries: {odd}.")
        if max(state.lengths.get(f"rows/{name}", 0) for name in ("slot", "deleted")) > state.slots:
            raise ValueError("there must not be more rows, or ranges of deleted rows, than slots.")
        return state

    def limited(self, limits: Limits) -> State:
        """Return the document with `limits` set on the htypes of its columns."""
        schema = self.schema.limited(limits)
        return self if schema is self.schema else replace(self, schema=schema)


def add_digest(document: Mapping[str, object]) -> dict[str, object]:
    """Return a JSON object with its digest added.

    >>> document = add_digest({"a": 1})
    >>> document
    {'a': 1, 'digest': 'c5e3762ffc8453c6'}
    >>> check_digest(document, "This")
    >>> check_digest({**document, "a": 2}, "This")
    Traceback (most recent call last):
    deeplake_lite.errors.DamagedError: This does not match its digest. Restore the lake from ...
    """
    bare = {key: value for key, value in document.items() if key != DIGEST}
    text = json.dumps(bare, sort_keys=True, separators=(",", ":"))
    return {**bare, DIGEST: xxhash.xxh3_64_hexdigest(text.encode())}


def check_digest(document: Mapping[str, object], name: str) -> None:
    """Reject a JSON object that does not match its digest. Raises DamagedError."""
    try:
        sound = add_digest(document)[DIGEST] == document.get(DIGEST)
    except (TypeError, ValueError, RecursionError):
        sound = False
    if not sound:
        raise DamagedError(f"{name} does not match its digest. Restore the lake from a backup.")


def _damaged(reason: str) -> DamagedError:
    return DamagedError(
        f"The lake's metadata document is damaged: {reason.rstrip('.'):.200}. Restore the lake "
        "from a backup."
    )


def _number(document: Mapping[str, object], key: str, most: int) -> int:
    value = document[key]
    if type(value) is not int or not 0 <= value <= most:
        raise ValueError(f"{key!r} must be an integer from 0 to {most}, but it is {brief(value)}.")
    return value


def _boolean(document: Mapping[str, object], key: str) -> bool:
    value = document[key]
    if not isinstance(value, bool):
        raise TypeError(f"{key!r} must be true or false, but it is {brief(value)}.")
    return value


def _numbers(
    document: Mapping[str, object], key: str, names: re.Pattern[str], most: int
) -> dict[str, int]:
    numbers = document[key]
    if not isinstance(numbers, dict):
        raise TypeError(f"{key!r} must be an object, but it is {brief(numbers)}.")
    for name in numbers:
        if not names.fullmatch(name):
            raise ValueError(f"{key!r} must not have the key {brief(name)}.")
        _number(numbers, name, most)
    return dict(numbers)


def _paths_with_length(path: str, layout: Layout) -> set[str]:
    """Return the paths of the arrays of a column whose lengths the root document must record."""
    if isinstance(layout, Nested):
        items = f"{path}/items"
        return {items} | _paths_with_length(items, layout.item.layout)
    return set() if isinstance(layout, Dense) else {f"{path}/tail"}


def _check_layout(name: str, layout: Layout) -> None:
    """Reject a layout with too large cells or too many levels of sequences. Raises ValueError."""
    if levels(layout) > MAX_LEVELS:
        raise ValueError(f"column {name!r} has more than {MAX_LEVELS} levels of sequences.")
    while isinstance(layout, Nested):
        layout = layout.item.layout
    if isinstance(layout, Dense):
        size = prod(layout.shape) * np.dtype(layout.dtype).itemsize
        if size > MAX_ROW_BYTES:
            raise ValueError(
                f"a cell of column {name!r} would take {size} bytes, but the limit is "
                f"{MAX_ROW_BYTES}."
            )
