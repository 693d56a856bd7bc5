"""Compression of whole files that an export has written."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pyarrow as pa

from deeplake_lite import checks
from deeplake_lite.dataset.export.shards.journal import DRAFT
from deeplake_lite.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LEVELS = {"zstd": (1, 22, 3), "gz": (0, 9, 9)}
"""Maps each compression to its minimum, maximum and default level."""


def split_codec(compression: str | None, names: Sequence[str]) -> tuple[str, int] | None:
    """Parse a compression, such as ``"zstd:7"``, into its name and level.

    Raises OptionError if it is invalid.

    >>> split_codec("zstd", ["zstd"]), split_codec("gz:1", ["zstd", "gz"])
    (('zstd', 3), ('gz', 1))
    """
    if compression is None:
        return None
    name, _, level = checks.text("compression", compression).partition(":")
    if name in names:
        low, high, default = LEVELS[name]
        if not level or (level.isascii() and level.isdigit() and low <= int(level) <= high):
            return name, int(level or default)
    ranges = {n: LEVELS[n] for n in names}
    choices = ", ".join(
        f"'{n}' or '{n}:{low}' to '{n}:{top}'" for n, (low, top, _) in ranges.items()
    )
    raise OptionError(f"compression must be None, {choices}, but it is {compression!r}.")


def compress(path: Path, name: str, level: int) -> None:
    """Compress a file in place.

    The whole file is compressed in one call, so that the Zstandard frame declares its length, which
    readers need to decompress in one call.
    """
    data = path.read_bytes()
    if name == "gz":
        packed = gzip.compress(data, level, mtime=0)
    else:
        packed = pa.Codec("zstd", compression_level=level).compress(data, asbytes=True)
    draft = path.with_name(f"{path.name}{DRAFT}")
    draft.write_bytes(packed)
    draft.replace(path)
