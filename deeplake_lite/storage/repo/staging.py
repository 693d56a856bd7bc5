"""Where a new lake may go: a new or empty folder, or the place of a lake that is to go."""

from __future__ import annotations

import contextlib
import re
import time
from typing import TYPE_CHECKING
from uuid import uuid4

from deeplake_lite.errors import ExistsError
from deeplake_lite.lazy import LazyModule
from deeplake_lite.storage.repo.failures import translated_files
from deeplake_lite.storage.repo.locks import take_lock

if TYPE_CHECKING:
    import shutil
    from collections.abc import Iterator
    from pathlib import Path
else:
    shutil = LazyModule("shutil")

LAKE_ENTRIES = frozenset(
    {".writers", "chunks", "config.yaml", "manifests", "refs", "snapshots", "transactions"}
)
"""What the engine and our writers keep in a local lake's folder."""

PAUSES = (0, 0.005, 0.02, 0.1)
"""Seconds for which the engine's threads are given time to end a write of which another failed."""


def check_replaceable(folder: Path, *, overwrite: bool) -> None:
    """Refuse to make a lake where something is, unless that is a lake and is to go."""
    found = {p.name for p in folder.iterdir()} if folder.is_dir() else set()
    if not {"refs", "snapshots"} <= found:
        raise ExistsError(
            f"A lake is created in a new or empty folder; {str(folder)!r} holds files. "
            "Choose another."
        )
    if not overwrite:
        raise ExistsError(
            f"A lake is created in a new or empty folder; {str(folder)!r} holds a lake. "
            "Choose another name, dl.open it, or replace it with overwrite=True."
        )
    if others := sorted(found - LAKE_ENTRIES):
        raise ExistsError(
            f"A lake is overwritten where nothing else is; {str(folder)!r} also holds "
            f"{', '.join(map(repr, others[:3]))}. Move that away, or choose another name."
        )


@contextlib.contextmanager
def staging(folder: Path) -> Iterator[Path]:
    """Give a folder beside a lake's to make it in, and put that in its place at the end.

    Its maker holds a lock beside it, so that others can tell it from one whose maker was killed.
    """
    staged = folder.with_name(f".{folder.name}-{uuid4().hex[:8]}")
    with translated_files():
        folder.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as held:
        with translated_files():
            held.enter_context(_held(staged))
        try:
            with translated_files():
                staged.mkdir()  # the engine panics where it cannot
            yield staged
            with translated_files():
                _put_in_place(staged, folder)
        except BaseException:
            remove_unmade(staged)
            raise


def finish_replacement(folder: Path) -> None:
    """Finish replacing a lake where the process that did it was killed between two renames.

    One that is still at work is waited for. Nothing is done where a lake is in its place.
    """
    with translated_files():
        if (folder / "refs").is_dir() or not folder.parent.is_dir():
            return
        folder = folder.resolve()
        for staged in _staged(folder):
            old = _old(staged)
            if old.exists():
                with _held(staged):
                    _finish(staged, old, folder)


def clear_staged(folder: Path) -> None:
    """Remove what killed processes left of lakes that were to be made in a folder."""
    with translated_files():
        folder = folder.resolve()
        for staged in _staged(folder):
            with contextlib.suppress(TimeoutError), _held(staged, timeout=0):
                for left in (staged, _old(staged)):
                    if left.is_dir() and {p.name for p in left.iterdir()} <= LAKE_ENTRIES:
                        shutil.rmtree(left, ignore_errors=True)


def remove_unmade(folder: Path) -> None:
    """Remove the folder of a lake that could not be made, and what late writes still add to it."""
    for pause in PAUSES:
        time.sleep(pause)
        shutil.rmtree(folder, ignore_errors=True)


def _put_in_place(staged: Path, folder: Path) -> None:
    """Rename a staged lake to its folder; a lake that is there is out of the way until then."""
    old = _old(staged)
    if folder.exists():
        folder.rename(old)
    try:
        staged.rename(folder)
    except OSError:
        if old.exists():
            old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _finish(staged: Path, old: Path, folder: Path) -> None:
    """Do what is left of a replacement: the new lake goes to its place, or the old one back."""
    if not folder.exists() and old.exists():
        (staged if staged.exists() else old).rename(folder)
    shutil.rmtree(old, ignore_errors=True)


def _old(staged: Path) -> Path:
    """Return where the lake that a staged one replaces is in the meantime."""
    return staged.with_name(f"{staged.name}-old")


def _staged(folder: Path) -> set[Path]:
    """Return the staged lakes for a folder, of which the lock, the lake or the old one is left."""
    name = re.compile(rf"(\.{re.escape(folder.name)}-[0-9a-f]{{8}})(-old|\.lock)?")
    found = (name.fullmatch(path.name) for path in folder.parent.iterdir())
    return {folder.with_name(match[1]) for match in found if match}


@contextlib.contextmanager
def _held(staged: Path, timeout: float = -1) -> Iterator[None]:
    """Hold the lock of a staged lake. Raises TimeoutError where somebody else has it."""
    lock = staged.with_name(f"{staged.name}.lock")
    with take_lock(lock, timeout=timeout):
        try:
            yield
        finally:
            with contextlib.suppress(OSError):
                lock.unlink()
