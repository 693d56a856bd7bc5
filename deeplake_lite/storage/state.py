"""What the lake says about itself: one JSON document in the root group's attributes.

It holds the format number, the schema, the metadata, how many slots there are, whether rows lie in
the slots' order, and how far each heap's chunks are taken. Everything else is in arrays.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from deeplake_lite.errors import FormatError
from deeplake_lite.schema import Schema, check_metadata

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = 1
"""Number of the on-disk format, described in FORMAT.md."""

KEY = "deeplake_lite"
"""Attribute that holds the document."""


@dataclass(frozen=True)
class State:
    """The document."""

    schema: Schema
    """Columns, in order."""
    slots: int = 0
    """How many slots there are, those of deleted rows included."""
    ordered: bool = True
    """Whether row *i* lies in slot *i*; otherwise ``rows/slot`` says where."""
    generation: int = 0
    """Group that holds the arrays; `optimize` writes the next."""
    revision: int = 0
    """How many commits led here; makes every commit a change, also a merge that brings nothing."""
    heaps: Mapping[str, int] = field(default_factory=dict)
    """Per array ``values``, the chunk behind the last one taken."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """The user's notes on the dataset."""

    def __post_init__(self) -> None:
        check_metadata("The dataset", self.metadata)

    def to_json(self) -> dict[str, Any]:
        """Return the attributes of the root group."""
        return {
            KEY: {
                "format": FORMAT,
                "generation": self.generation,
                "slots": self.slots,
                "ordered": self.ordered,
                "revision": self.revision,
                "schema": self.schema.to_json(),
                "heaps": dict(self.heaps),
                "metadata": dict(self.metadata),
            }
        }

    @classmethod
    def from_json(cls, attributes: Mapping[str, Any]) -> State:
        """Read the attributes of the root group.

        Raises
        ------
        FormatError
            When they are a newer format's, or no lake's at all.
        """
        found = attributes.get(KEY)
        if not isinstance(found, dict) or not isinstance(found.get("format"), int):
            raise FormatError(
                f"The root group carries no {KEY!r} document: a repository, but not a lake. "
                "Make one with dl.create in a folder of its own."
            )
        if found["format"] > FORMAT:
            raise FormatError(
                f"This lake has format {found['format']}, this release reads up to {FORMAT}. "
                "Upgrade: pip install -U deeplake-lite."
            )
        return cls(
            schema=Schema.from_json(found["schema"]),
            slots=int(found["slots"]),
            ordered=bool(found["ordered"]),
            generation=int(found["generation"]),
            revision=int(found["revision"]),
            heaps=dict(found["heaps"]),
            metadata=dict(found["metadata"]),
        )

    def with_(self, **changes: Any) -> State:
        """Return the document with some fields changed."""
        return replace(self, **changes)
