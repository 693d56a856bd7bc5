"""The type of links to files outside the lake, stored as paths or URLs."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast, override, runtime_checkable

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError, SchemaError
from deeplake_lite.htypes.arrays import each
from deeplake_lite.htypes.base import Check, Htype
from deeplake_lite.htypes.cells import RaggedCells
from deeplake_lite.htypes.facets import Browser
from deeplake_lite.htypes.layouts import Ragged
from deeplake_lite.htypes.registry import resolve
from deeplake_lite.htypes.roots import resolve_link
from deeplake_lite.htypes.show import short_text
from deeplake_lite.htypes.text import decode_text, encode_text

if TYPE_CHECKING:
    from collections.abc import Buffer, Iterator

    from deeplake_lite.htypes.cells import Values


@runtime_checkable
class ReadsFiles(Protocol):
    """A type whose values can be read from files."""

    def from_file(self, data: bytes) -> Any:
        """Return the value that a file contains, given the file's bytes."""


@dataclass(frozen=True, repr=False, eq=False)
class Link(Htype):
    """The path or URL of a file that stays outside the lake.

    Parameters
    ----------
    of : Htype | str | type
        Type of the files' contents: an image, mask, text, JSON or bytes, in any form that `resolve`
        accepts.

    Notes
    -----
    Paths are stored as they are passed. Relative paths are looked up under the roots that a reader
    of the lake allows.

    Examples
    --------
    >>> Link("image")
    Link(Image())
    >>> Link("image").encode(["photos/a.jpg"]).buffers
    [b'photos/a.jpg']
    """

    of: Any = field(metadata={"htype": True})
    """Type of the files' contents, an Htype."""

    name: ClassVar[str] = "link"
    nan_is_null: ClassVar[bool] = True

    @override
    def __post_init__(self) -> None:
        self._set(of=resolve(self.of))
        if not isinstance(self.of, ReadsFiles):
            raise SchemaError(
                "A link must point to an image, mask, text, JSON or bytes, but the type is "
                f"{self.of}. Use one of these types."
            )
        super().__post_init__()

    @property
    @override
    def layout(self) -> Ragged:
        return Ragged("utf8", compressed=True)

    @property
    @override
    def blank(self) -> str:
        return "."

    @override
    def _encode(self, values: Values, check: Check) -> RaggedCells:
        buffers = each(values, _read)
        return RaggedCells(list(buffers), np.empty((len(buffers), 0), np.int32))

    @override
    def decode(self, data: Buffer, shape: tuple[int, ...]) -> str:
        return decode_text(data)

    @property
    @override
    def target(self) -> Htype:
        return cast("Htype", self.of)

    @property
    @override
    def browser(self) -> Browser:
        return Browser("link")

    @override
    def details(self) -> Iterator[str]:
        yield from self.of.details()

    @property
    @override
    def stores_shapes(self) -> bool:
        """False, since the shape of the linked file's value is not known."""
        return False

    @property
    @override
    def varying(self) -> int:
        """Number of axes, up to the last varying one, of the values in linked files."""
        return int(self.of.varying)

    @override
    def computed(self) -> Htype:
        computed: Htype = self.of.computed()
        return computed

    @override
    def load(self, value: str, allow: tuple[str, ...]) -> Any:
        """Read the linked file as a value of type `of`.

        Raises
        ------
        InvalidValueError
            If the link points outside the roots in `allow`, or if `of` cannot read the file.
        """
        data = resolve_link(value, allow)
        try:
            return self.of.from_file(data)
        except InvalidValueError as error:
            raise type(error)(f"the link {brief(value, 200)}: {error.args[0]}") from error

    @override
    def preview(self, value: str) -> str:
        return short_text(value)


def _read(value: object) -> bytes:
    """Check one link and encode it as UTF-8."""
    if not isinstance(value, str | os.PathLike) or not isinstance(text := os.fspath(value), str):
        raise InvalidValueError(
            f"must be a path or URL, but it is {type(value).__name__} {brief(value)}. "
            f"To store the file itself in the lake, declare the column without Link."
        )
    if not text or "\0" in text:
        raise InvalidValueError(
            f"must be a path or URL, but it is {brief(text)}. Leave the row out, or pass None."
        )
    return encode_text(text)
