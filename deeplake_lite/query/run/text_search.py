"""Score the strings of a source by search words, with a stored index if the lake has one.

The scores are the same with and without a stored index.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from deeplake_lite.errors import DamagedError, IndexWarning, VersionNotFoundError
from deeplake_lite.index.damage import DamagedIndexError, explain_damage
from deeplake_lite.index.stored import find_index
from deeplake_lite.index.text_index import MergedTextIndex
from deeplake_lite.index.words import TextIndex, score
from deeplake_lite.query.run.cache import CACHE
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from deeplake_lite.index.stored import StoredIndex
    from deeplake_lite.index.words import Scores, Searchable
    from deeplake_lite.query.run.sources import Source
    from deeplake_lite.schema import Field


def find_text_index(source: Source, f: Field) -> StoredIndex | None:
    """Return the stored index that the version of a source uses for a column, or None."""
    table = source.table
    if not isinstance(table, Table):
        return None
    try:
        return find_index(table.repository, table.snapshot_id, ("text", "bm25", f.id), CACHE)
    except DamagedIndexError as error:
        _warn(explain_damage(error.name, f.name, error))
        return None


def open_text_index(source: Source, f: Field, stored: StoredIndex | None) -> Searchable:
    """Return an index of the strings in all slots of a source's version, from a stored one if any.

    Parameters
    ----------
    source : Source
        The source.
    f : Field
        The column.
    stored : StoredIndex or None
        The result of `find_text_index`.
    """
    table = source.table
    if stored is not None and isinstance(table, Table):
        try:
            return MergedTextIndex.open(stored, table, f, CACHE)
        except DamagedIndexError as error:
            _warn(explain_damage(stored.name, f.name, error))
        except DamagedError as error:  # of the version that was indexed, or of this one
            _warn(str(error))
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
        except DamagedIndexError as error:
            _warn(explain_damage(error.name or index.name, f.name, error))
            index = TextIndex.build(source.read_all(f))
            source.memo[key] = score(index, query, slots)
        source.memo["text index", f.id] = "" if index.name is None else index.name.version
    result: Scores = source.memo[key]
    return result


def _warn(text: str) -> None:
    warnings.warn(f"{text} The query read all strings instead.", IndexWarning, stacklevel=2)
