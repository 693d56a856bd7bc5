"""Files that are written whole or not at all: beside their place, then renamed."""

from __future__ import annotations

import contextlib
import shutil
from secrets import token_hex
from typing import TYPE_CHECKING

from deeplake_lite.errors import LakeError, StorageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Give the path to write to; what was there stays until all is written.

    Parameters
    ----------
    path : Path
        Where the file is to be. A link stays, and what it leads to is replaced. Devices and pipes
        are written as they are.

    Raises
    ------
    StorageError
        Where the place takes no file, or the disk is full; the file that was there is as before.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp(), "page.html")
    >>> with written_whole(path) as draft:
    ...     _ = draft.write_text("all of it")
    ...     path.exists()
    False
    >>> path.read_text()
    'all of it'
    """
    with refusals_of(path):
        _check_place(path)
        place = path.resolve()
        if place.exists() and not place.is_file():
            yield place
            return
        draft = place.with_name(f".{token_hex(8)}.part")
        try:
            yield draft
            if place.exists():
                shutil.copymode(place, draft)
            draft.replace(place)
        finally:
            draft.unlink(missing_ok=True)


@contextlib.contextmanager
def refusals_of(path: Path) -> Iterator[None]:
    """Raise what the operating system refuses as StorageError, with the same `errno`.

    >>> from pathlib import Path
    >>> with refusals_of(Path("page.html")):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    deeplake_lite.errors.StorageError: 'page.html' cannot be written: No space left on device. \
Free some space, or choose another place.
    """
    try:
        yield
    except LakeError:
        raise
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        way_out = "Free some space, or choose another place."
        refused = StorageError(f"{str(path)!r} cannot be written: {reason}. {way_out}")
        refused.errno, refused.filename = error.errno, str(path)
        raise refused from error


def _check_place(path: Path) -> None:
    """Refuse a folder, and a file in no folder. Raises StorageError."""
    if path.is_dir():
        raise StorageError(f"{str(path)!r} is a folder. Add the name of the file to write.")
    if not path.parent.is_dir():
        raise StorageError(
            f"There is no folder {str(path.parent)!r} to write {path.name!r} to. Create it first, "
            "or choose another one."
        )
