"""Which pictures lose detail or channels: encoded anew, or read with fewer bits; never silently.

An htype calls `note` from the thread that asked it to encode; whoever asked collects the notes with
`noting` and says so, once per column.
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


class noting:
    """Collect what is noted meanwhile, in this thread.

    This is no generator: one that an interrupt leaves suspended would end its collecting when it is
    freed, in whatever context that is.

    >>> with noting() as notes:
    ...     note("a PNG file")
    >>> notes
    ['a PNG file']
    """

    def __enter__(self) -> list[str]:
        notes: list[str] = []
        self._token = _collecting.set(notes)
        return notes

    def __exit__(self, *_: object) -> None:
        _collecting.reset(self._token)


def changed(what: str) -> str:
    """Return what a user is told of a picture, described in a few words, that was encoded anew."""
    return (
        f"{what}, so its pixels have changed. To keep files as they are, append their paths or "
        "bytes, or images just as Image.open gives them (of a Hugging Face dataset: "
        "cast_column(…, datasets.Image(decode=False))), into a column of the same codec or of "
        "Image('auto'). To keep pixels as they are, declare a lossless codec: Image('png')."
    )


def shortened(what: str, frames: int, codec: str) -> str:
    """Return what a user is told of a picture, of whose frames or pages one was encoded."""
    return (
        f"{what} has {frames} frames or pages, and the first alone was encoded, as {codec}. "
        f"{_KEEP} To store every frame, append each as an array, into a column of "
        "dl.Sequence(dl.Image(…))."
    )


def recoloured(what: str, space: str, codec: str) -> str:
    """Return what a user is told of a picture in a colour space that was converted to RGB."""
    to = {"RGBa": "RGBA", "La": "LA"}.get(space, "RGB")  # from colours that alpha is multiplied to
    return (
        f"{what} has colours in {space}, which were converted to {to} and encoded as {codec}. "
        f"{_KEEP} To store the numbers of a Pillow image, append np.asarray(image) into a column "
        "of Image('zstd')."
    )


_KEEP = (
    "To keep the file as it is, append its path or bytes, or the image just as Image.open gives "
    "it, into a column of the same codec or of Image('auto')."
)


def reduced(what: str) -> str:
    """Return what a user is told of a file, described in a few words, that has 16-bit colours."""
    return (
        f"{what} has colours of 16 bits, which are read as 8 bits, because Pillow holds no more. "
        "To keep all bits, append arrays of uint16 into a column of Image('zstd', dtype='uint16')."
    )


def note(reason: str) -> None:
    """Note what a user is to be told of a value."""
    notes = _collecting.get()
    if notes is not None:
        notes.append(reason)


def warn_once(column_id: str, name: str, notes: Sequence[str]) -> None:
    """Warn of the first note, unless this process has warned about the column before."""
    if not notes or column_id in _warned:
        return
    _warned.add(column_id)
    warnings.warn(
        f"column {name!r}: {notes[0]} This is said once per column.",
        ReencodedWarning,
        skip_file_prefixes=(_HOME,),
    )
