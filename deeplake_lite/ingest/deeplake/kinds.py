"""Parsing the types of Deep Lake's columns from the strings that its API prints.

The attributes of a Deep Lake type object do not tell the type within ``nullable[…]`` or
``sequence[…]``, but the object's string does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    from collections.abc import Mapping

_PLAIN = ("text", "dict", "polygon", "point", "mesh", "medical")
_ARRAY = re.compile(r"array\(dtype=([\w\[\]]+), shape=\((.*?)\)\)")
_KIND = re.compile(r"kind=(\w+)(?:, dtype=(.*?))?(?:, compression=\w+)?", re.DOTALL)
_DEEPEST = 8
"""Maximum number of nested types, such as ``sequence[nullable[text]]``. Deep Lake allows a few."""


@dataclass(frozen=True, repr=False)
class Kind:
    """A Deep Lake type.

    >>> Kind.parse("nullable[array(dtype=int8, shape=(None, 3))]")
    Kind(name='array', dtype='int8', shape=(None, 3), nullable=True)
    >>> Kind.parse("sequence[kind=class_label, dtype=uint32]").of
    Kind(name='class_label', dtype='uint32')
    """

    name: str
    """Name such as ``"image"``, ``"bbox"`` or ``"text"``. For plain numbers, it is ``"array"``."""

    dtype: str = ""
    """Dtype of the numbers, or an empty string if the values are not numbers."""

    shape: tuple[int | None, ...] | None = ()
    """Shape of a value, with None for axes of any size, or None if the number of axes varies."""

    nullable: bool = False

    codec: str | None = None
    """Name of the file format in which Deep Lake stores the values."""

    of: Kind | None = None
    """Type of the items of a sequence, or of the files to which links point."""

    coordinates: Mapping[str, str] = field(default_factory=dict)
    """Format of bounding boxes, such as ``{"mode": "ltwh", "type": "pixel"}``."""

    @classmethod
    def of_type(cls, dtype: Any) -> Self:
        """Return the `Kind` for a type object of Deep Lake."""
        kind = cls.parse(str(dtype).strip())
        kind = replace(kind, codec=dtype.sample_compression)
        return replace(kind, dtype=dtype.id) if kind.name == "embedding" else kind

    @classmethod
    def parse(cls, text: str, depth: int = 0) -> Self:
        """Parse the string of a type. If the type is unknown, its name is ``""``."""
        if depth > _DEEPEST:
            return cls("")
        if text.startswith("nullable[") and text.endswith("]"):
            return replace(cls.parse(text[9:-1], depth + 1), nullable=True)
        if text.startswith("sequence[") and text.endswith("]"):
            return cls("sequence", of=cls.parse(text[9:-1], depth + 1))
        if text.startswith("kind=link subtype=[") and text.endswith("]"):
            return cls("link", of=cls.parse(text[19:-1], depth + 1))
        if match := _ARRAY.fullmatch(text):
            return cls("array", match[1], _shape(match[2]))
        if match := _KIND.fullmatch(text):
            inner = cls.parse(match[2] or "", depth + 1)
            return cls(match[1], inner.dtype, inner.shape)
        if match := re.fullmatch(r"embedding\((\d+).*\)", text):
            return cls("embedding", "float32", (int(match[1]),))
        if match := re.fullmatch(r"serial\[(\w+)\]", text):
            return cls("array", match[1])
        word = re.match(r"\w*", text)
        name = word[0] if word is not None else ""
        if name in _PLAIN and not text.startswith(f"{name}:"):
            return cls(name)
        return cls("struct") if ":" in text else cls("array", name)

    def __repr__(self) -> str:
        parts = [f"name={self.name!r}"]
        parts += [f"dtype={self.dtype!r}"] if self.dtype else []
        parts += [f"shape={self.shape!r}"] if self.shape != () else []
        parts += ["nullable=True"] if self.nullable else []
        return f"Kind({', '.join(parts)})"


def _shape(text: str) -> tuple[int | None, ...] | None:
    """Parse a shape such as ``"3, None"``. Return None if the number of axes is unknown.

    >>> _shape("None, 3"), _shape("unknown")
    ((None, 3), None)
    """
    sizes = [size.strip() for size in text.split(",") if size.strip()]
    if not all(size == "None" or size.isdecimal() for size in sizes):
        return None
    return tuple(None if size == "None" else int(size) for size in sizes)
