"""Writing of a single file of an export, which has a temporary name until it is complete."""

from __future__ import annotations

from secrets import token_hex
from typing import TYPE_CHECKING

from deeplake_lite.dataset.export.shards.journal import DRAFT, Written

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from deeplake_lite.dataset.export.shards.plan import Shard


def write_file(root: Path, shard: Shard, progress: Callable[[int], None]) -> Written:
    """Write a file of an export, and return its size and contents as a `Written`.

    Parameters
    ----------
    root : Path
        The folder of the export.
    shard : Shard
        The file and its rows.
    progress : callable
        Called with the number of rows after each block. If the call raises, the file is abandoned.
    """
    path = root / shard.path
    path.parent.mkdir(parents=True, exist_ok=True)
    # The name is unique: if the parent of this process was killed, another process may already be
    # writing the same file.
    draft = path.with_name(f".{path.name}.{token_hex(4)}{DRAFT}")
    try:
        with shard.part.open(draft, shard) as sink:
            for first, cells in shard.blocks():
                sink.write(cells, first)
                progress(len(next(iter(cells.values()))))
            info = sink.finish()
        size = draft.stat().st_size
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
    return Written(shard.path, len(shard.rows), size, info)
