"""Creation of a local lake in a staging folder, which is then renamed to the target.

Nobody sees a partial lake, because the lake is written to a folder next to the target, and this
folder is renamed at the end.
With ``overwrite=True``, the old lake is first renamed out of the way. For the target
``flowers.lake``::

    .flowers.lake-1a2b3c4d.lock   held by the creator while it works
    .flowers.lake-1a2b3c4d/       the new lake
    .flowers.lake-1a2b3c4d-old/   the old lake, between the two renames

A process may be killed at any step. The next process that opens or creates the lake calls
`finish_replacement`, which determines from the folders how far the killed process got:

==========================  ===================================================================
killed while it             left behind
==========================  ===================================================================
writes the new lake         the old lake in place; `clear_staged` removes the staging folder
renames                     no lake in place: the next process renames the new lake to the target
removes the old lake        the new lake in place; `clear_staged` removes the old lake's files
==========================  ===================================================================
"""

from __future__ import annotations

import contextlib
import re
import time
from typing import TYPE_CHECKING
from uuid import uuid4

from deeplake_lite.errors import ExistsError
from deeplake_lite.lazy import LazyModule
from deeplake_lite.storage.repo.failures import translate_file_errors
from deeplake_lite.storage.repo.locks import take_lock
from deeplake_lite.storage.repo.places import holds_lake

if TYPE_CHECKING:
    import shutil
    from collections.abc import Iterator
    from pathlib import Path
else:
    shutil = LazyModule("shutil")

LAKE_ENTRIES = frozenset(
    {".writers", "chunks", "manifests", "overwritten", "repo", "snapshots", "transactions"}
)
"""Names of the files and folders that Icechunk and our writers create in a local lake."""

PAUSES = (0, 0.005, 0.02, 0.1)
"""Seconds to wait before each attempt to remove a folder. When one of several parallel writes has
failed, threads of Icechunk may still be adding files for the remaining writes."""


def check_replaceable(folder: Path, *, overwrite: bool) -> None:
    """Reject a folder for a new lake, unless it contains a lake that may be overwritten.

    Raises
    ------
    ExistsError
    """
    entries = {p.name for p in folder.iterdir()} if folder.is_dir() else set()
    if not holds_lake(folder):
        raise ExistsError(
            f"A lake must be created in a new or empty folder; {str(folder)!r} contains files. "
            "Choose another folder."
        )
    if not overwrite:
        raise ExistsError(
            f"A lake must be created in a new or empty folder; {str(folder)!r} contains a lake. "
            "Choose another name, open the lake with dl.open, or replace it with overwrite=True."
        )
    if others := sorted(entries - LAKE_ENTRIES):
        raise ExistsError(
            f"Only a folder that contains nothing but a lake can be overwritten; {str(folder)!r} "
            f"also contains {', '.join(map(repr, others[:3]))}. Move those files elsewhere, or "
            "choose another name."
        )


@contextlib.contextmanager
def staging(folder: Path, *, overwrite: bool = False) -> Iterator[Path]:
    """Provide a staging folder for a new lake, and rename it to `folder` at the end.

    Meanwhile, the lock next to the staging folder is held, so that other processes know that this
    process is alive.

    Parameters
    ----------
    folder : Path
        The place of the lake.
    overwrite : bool
        Whether to replace a lake that is there.

    Raises
    ------
    ExistsError
        When another process has meanwhile put something in `folder` that may not be replaced.
    """
    staged = folder.with_name(f".{folder.name}-{uuid4().hex[:8]}")
    with translate_file_errors(creates=True):
        folder.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as held:
        with translate_file_errors(creates=True):
            held.enter_context(_hold_lock(staged))
        try:
            with translate_file_errors(creates=True):
                staged.mkdir()  # if Icechunk had to create the folder and failed, it would panic
            yield staged
            with translate_file_errors(creates=True):
                _put_in_place(staged, folder, overwrite=overwrite)
        except BaseException:
            remove_unmade(staged)
            raise


def finish_replacement(folder: Path) -> None:
    """Finish the replacement of a lake whose process was killed between the two renames.

    If a process is still replacing the lake, wait for that process. If there is a lake in `folder`,
    do nothing.
    """
    with translate_file_errors():
        if holds_lake(folder) or not folder.parent.is_dir():
            return
        folder = folder.resolve()
        for staged in _staging_folders(folder):
            old = _old_folder(staged)
            if old.exists():
                with _hold_lock(staged):
                    _finish(staged, old, folder)


def clear_staged(folder: Path) -> None:
    """Remove the staging folders that killed processes left next to `folder`."""
    with translate_file_errors():
        folder = folder.resolve()
        for staged in _staging_folders(folder):
            with contextlib.suppress(TimeoutError), _hold_lock(staged, timeout=0):
                for leftover in (staged, _old_folder(staged)):
                    if leftover.is_dir() and {p.name for p in leftover.iterdir()} <= LAKE_ENTRIES:
                        shutil.rmtree(leftover, ignore_errors=True)


def remove_unmade(folder: Path) -> None:
    """Remove the folder of a lake that could not be created, even if late writes add files."""
    for pause in PAUSES:
        time.sleep(pause)
        shutil.rmtree(folder, ignore_errors=True)


def remove_notes(folder: Path) -> None:
    """Remove the files of a lake that no reader needs, before others may write to it.

    These are the locks and notes of writers, and Icechunk's copies of the object ``repo``.
    """
    for name in (".writers", "overwritten"):
        shutil.rmtree(folder / name, ignore_errors=True)


def _put_in_place(staged: Path, folder: Path, *, overwrite: bool) -> None:
    """Rename a staged lake to `folder`, and remove the lake that was there.

    Not all systems can swap two folders in one step, so for a moment there is no lake at `folder`.
    If this process is killed at that moment, `finish_replacement` completes the swap. Another
    process may have created a lake in `folder` at any time. Renaming a folder never replaces one
    that has files, so that lake stays.
    """
    old = _old_folder(staged)
    if holds_anything(folder):
        check_replaceable(folder, overwrite=overwrite)
        folder.rename(old)
    try:
        if folder.exists():
            folder.rmdir()  # on Windows, an empty folder is not replaced, either
        staged.rename(folder)
    except OSError as error:
        if holds_anything(folder):
            shutil.rmtree(old, ignore_errors=True)
            raise ExistsError(
                "A lake must be created in a new or empty folder, but another process has created "
                f"{str(folder)!r} at the same time. Open that lake with dl.open, or choose another "
                "folder."
            ) from error
        if old.exists():
            old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def holds_anything(folder: Path) -> bool:
    """Return whether there is a file, or a folder that is not empty."""
    return folder.exists() and (not folder.is_dir() or any(folder.iterdir()))


def _finish(staged: Path, old: Path, folder: Path) -> None:
    """If nothing is at `folder`, rename the new lake, or else the old lake, to it."""
    if not folder.exists() and old.exists():
        (staged if staged.exists() else old).rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _old_folder(staged: Path) -> Path:
    """Return the folder to which the old lake is renamed while it is being replaced."""
    return staged.with_name(f"{staged.name}-old")


def _staging_folders(folder: Path) -> set[Path]:
    """Return the staging folders of a target whose folder, lock or old lake still exists."""
    pattern = re.compile(rf"(\.{re.escape(folder.name)}-[0-9a-f]{{8}})(-old|\.lock)?")
    matches = (pattern.fullmatch(path.name) for path in folder.parent.iterdir())
    return {folder.with_name(match[1]) for match in matches if match}


@contextlib.contextmanager
def _hold_lock(staged: Path, timeout: float = -1) -> Iterator[None]:
    """Hold the lock of a staging folder. Raises TimeoutError if another process holds the lock."""
    lock = staged.with_name(f"{staged.name}.lock")
    with take_lock(lock, timeout=timeout):
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                lock.unlink()
