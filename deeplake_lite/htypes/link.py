"""A file that stays where it is: the row keeps its path or URL."""

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
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray


@runtime_checkable
class ReadsFiles(Protocol):
    """A type whose value may be a file."""

    def from_file(self, data: bytes) -> Any:
        """Return the value that a file holds."""


@dataclass(frozen=True, repr=False, eq=False)
class Link(Htype):
    """A file that stays where it is.

    Parameters
    ----------
    of : Htype | str | type
        What the files hold: an image, mask, text, JSON or bytes; whatever `resolve` reads.

    Notes
    -----
    Paths are kept as given. A relative one is looked for under the roots that a reader allows.

    Examples
    --------
    >>> Link("image")
    Link(Image())
    >>> Link("image").encode(["photos/a.jpg"]).buffers
    [b'photos/a.jpg']
    """

    of: Any = field(metadata={"htype": True})
    """What the files hold, an Htype."""

    name: ClassVar[str] = "link"
    nan_is_null: ClassVar[bool] = True

    @override
    def __post_init__(self) -> None:
        self._set(of=resolve(self.of))
        if not isinstance(self.of, ReadsFiles):
            raise SchemaError(
                "A link leads to a file that holds an image, mask, text, json or bytes, got "
                f"{self.of}."
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
    def _encode(self, values: Sequence[Any] | NDArray[Any], check: Check) -> RaggedCells:
        buffers = each(values, _read)
        return RaggedCells(list(buffers), np.empty((len(buffers), 0), np.int32))

    @override
    def decode(self, data: Any, shape: tuple[int, ...]) -> str:
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
        """No: a cell is the path of a file."""
        return False

    @property
    @override
    def varying(self) -> int:
        """Those of what a link leads to."""
        return int(self.of.varying)

    @override
    def computed(self) -> Htype:
        computed: Htype = self.of.computed()
        return computed

    @override
    def load(self, value: str, allow: tuple[str, ...]) -> Any:
        """Return the value of the file that a link names, as `of` reads it.

        Raises
        ------
        InvalidValueError
            When the link leads outside the roots in `allow`, or the file is not what it should be.
        """
        data = resolve_link(value, allow)
        try:
            return self.of.from_file(data)
        except InvalidValueError as error:
            raise type(error)(f"the link {brief(value, 200)}: {error.args[0]}") from error

    @override
    def preview(self, value: Any) -> str:
        return short_text(value)


def _read(value: Any) -> bytes:
    """Return one link as UTF-8."""
    if not isinstance(value, str | os.PathLike) or not isinstance(text := os.fspath(value), str):
        raise InvalidValueError(
            f"must be a path or URL, got {type(value).__name__} {brief(value)}. "
            f"To keep the file itself in the lake, declare the column without Link."
        )
    if not text or "\0" in text:
        raise InvalidValueError(
            f"must be a path or URL, got {brief(text)}. Leave the row out, or give None."
        )
    return encode_text(text)
