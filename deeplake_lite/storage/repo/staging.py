"""Where a new lake may go: a new or empty folder, or the place of a lake that is to go."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from deeplake_lite.errors import ExistsError

if TYPE_CHECKING:
    from pathlib import Path

LAKE_ENTRIES = frozenset(
    {".writers", "chunks", "config.yaml", "manifests", "refs", "snapshots", "transactions"}
)
"""What the engine and our writers keep in a local lake's folder."""


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


def put_in_place(staged: Path, folder: Path) -> None:
    """Rename a staged lake to its folder; a lake that is there is out of the way until then."""
    old = staged.with_name(f"{staged.name}-old")
    if folder.exists():
        folder.rename(old)
    try:
        staged.rename(folder)
    except OSError:
        if old.exists():
            old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)
