"""Score the strings of a source by search words, with a stored index if the lake has one.

The scores are the same with and without a stored index.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from deeplake_lite.errors import DamagedError, IndexWarning, VersionNotFoundError
from deeplake_lite.index.stored import find_index
from deeplake_lite.index.text_index import MergedTextIndex
from deeplake_lite.index.words import TextIndex, score
from deeplake_lite.query.run.cache import CACHE
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from deeplake_lite.index.words import Scores, Searchable
    from deeplake_lite.query.run.sources import Source
    from deeplake_lite.schema import Field


def open_text_index(source: Source, f: Field) -> Searchable:
    """Return an index of the strings in all slots of a source's version.

    If the version or an ancestor of it has a stored index, that index is used.
    """
    table = source.table
    if isinstance(table, Table):
        try:
            stored = find_index(table.repository, table.snapshot_id, ("text", "bm25", f.id), CACHE)
            if stored is not None:
                return MergedTextIndex.open(stored, table, f, CACHE)
        except DamagedError as error:
            _warn(error)
        except VersionNotFoundError:  # a vacuum has deleted the version that it was built for
            pass
    return TextIndex.build(source.read_all(f))


def scores(source: Source, f: Field, query: str) -> Scores:
    """Return the scores of all rows of a source.

    A query computes the scores only once, and uses them for each block of rows.
    """
    key = ("scores", f.id, query)
    if key not in source.memo:
        index, slots = source.text_index(f)
        try:
            source.memo[key] = score(index, query, slots)
        except DamagedError as error:
            _warn(error)
            source.memo[key] = score(TextIndex.build(source.read_all(f)), query, slots)
        source.memo["text index", f.id] = getattr(index, "version", "")
    result: Scores = source.memo[key]
    return result


def _warn(error: DamagedError) -> None:
    text = f"{error.args[0]} The query read all strings instead."
    warnings.warn(text, IndexWarning, stacklevel=2)
