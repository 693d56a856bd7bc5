"""Atomic writes: a file is written under another name, then renamed to replace the old one."""

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
def atomic_write(path: Path) -> Iterator[Path]:
    """Yield a path to write to, and move that file to `path` when the block ends without error.

    Parameters
    ----------
    path : Path
        Path of the finished file. If it is a symbolic link, the link stays and its target is
        replaced. Devices and pipes are written to directly.

    Raises
    ------
    StorageError
        If the file cannot be written, or the disk is full. An existing file stays unchanged.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> path = Path(tempfile.mkdtemp(), "page.html")
    >>> with atomic_write(path) as draft:
    ...     _ = draft.write_text("all of it")
    ...     path.exists()
    False
    >>> path.read_text()
    'all of it'
    """
    with as_storage_errors(path):
        _check_target(path)
        target = path.resolve()
        if target.exists() and not target.is_file():  # a device or pipe cannot be replaced
            yield target
            return
        # Renaming is atomic only within a file system, so the draft is in the same folder.
        draft = target.with_name(f".{token_hex(8)}.part")
        try:
            yield draft
            if target.exists():
                shutil.copymode(target, draft)
            draft.replace(target)
        finally:
            draft.unlink(missing_ok=True)


@contextlib.contextmanager
def as_storage_errors(path: Path) -> Iterator[None]:
    """Turn errors of the operating system in the ``with`` block into StorageError, keeping `errno`.

    >>> from pathlib import Path
    >>> with as_storage_errors(Path("page.html")):
    ...     raise OSError(28, "No space left on device")
    Traceback (most recent call last):
    deeplake_lite.errors.StorageError: 'page.html' cannot be written: No space left on device. \
Free some space, or choose another path.
    """
    try:
        yield
    except LakeError:
        raise
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        hint = "Free some space, or choose another path."
        storage_error = StorageError(f"{str(path)!r} cannot be written: {reason}. {hint}")
        storage_error.errno, storage_error.filename = error.errno, str(path)
        raise storage_error from error


def _check_target(path: Path) -> None:
    """Raise StorageError if a path is a folder, or if the folder above it does not exist."""
    if path.is_dir():
        raise StorageError(f"{str(path)!r} is a folder. Add the name of the file to write.")
    if not path.parent.is_dir():
        raise StorageError(
            f"There is no folder {str(path.parent)!r} to write {path.name!r} to. Create the folder "
            "first, or choose another folder."
        )
