"""Warnings about images that lose detail or channels when they are re-encoded or read.

Htypes call `add_notice` in the thread that called `encode`. The caller of `encode` collects the
notices with `collect_notices`, and warns once per column.
"""

from __future__ import annotations

import os
import warnings
from contextvars import ContextVar
from typing import TYPE_CHECKING

from deeplake_lite.errors import ReencodedWarning

if TYPE_CHECKING:
    from collections.abc import Sequence

_HOME = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_collecting: ContextVar[list[str] | None] = ContextVar("collecting", default=None)
_warned: set[str] = set()


class collect_notices:
    """Collect the notices that are added in this thread.

    This is a class rather than a generator with `contextmanager`, because an interrupt may leave a
    generator suspended. When such a generator is freed, it resets the context variable, possibly in
    another context, where this raises an error.

    >>> with collect_notices() as notices:
    ...     add_notice("a PNG file")
    >>> notices
    ['a PNG file']
    """

    def __enter__(self) -> list[str]:
        notices: list[str] = []
        self._token = _collecting.set(notices)
        return notices

    def __exit__(self, *_: object) -> None:
        _collecting.reset(self._token)


def pixels_changed(description: str) -> str:
    """Return the notice about an image that lost detail when it was encoded again."""
    return (
        f"{description}, so its pixels have changed. To store files unchanged, append their paths "
        "or bytes, or images just as Image.open returns them (from a Hugging Face dataset: "
        "cast_column(…, datasets.Image(decode=False))), to a column of the same codec or of "
        "Image('auto'). To store pixels unchanged, declare a lossless codec: Image('png')."
    )


def frames_dropped(source: str, frames: int, codec: str) -> str:
    """Return the notice about an image of which only the first frame or page was encoded."""
    return (
        f"{source} has {frames} frames or pages, but only the first was encoded, as {codec}. "
        f"{_KEEP} To store every frame, append each as an array to a column of "
        "dl.Sequence(dl.Image(…))."
    )


def colours_converted(source: str, space: str, codec: str) -> str:
    """Return the notice about an image whose colours were converted to RGB."""
    to = {"RGBa": "RGBA", "La": "LA"}.get(space, "RGB")  # RGBa and La have premultiplied alpha
    return (
        f"{source} has colours in {space}, which were converted to {to} and encoded as {codec}. "
        f"{_KEEP} To store the numbers of a Pillow image, append np.asarray(image) to a column "
        "of Image('zstd')."
    )


_KEEP = (
    "To store the file unchanged, append its path or bytes, or the image just as Image.open "
    "returns it, to a column of the same codec or of Image('auto')."
)


def reads_8_bits(source: str) -> str:
    """Return the notice about a file with 16 bits per colour channel."""
    return (
        f"{source} has 16 bits per colour channel, of which only 8 are read, because Pillow does "
        "not support more. To store all bits, append uint16 arrays to a column of "
        "Image('zstd', dtype='uint16')."
    )


def add_notice(notice: str) -> None:
    """Add a notice about a value, unless the caller of `encode` does not collect notices."""
    notices = _collecting.get()
    if notices is not None:
        notices.append(notice)


def warn_once(column_id: str, name: str, notices: Sequence[str]) -> None:
    """Show the first notice, unless this process has already warned about the column."""
    if not notices or column_id in _warned:
        return
    _warned.add(column_id)
    warnings.warn(
        f"column {name!r}: {notices[0]} This warning is shown once per column.",
        ReencodedWarning,
        skip_file_prefixes=(_HOME,),
    )
