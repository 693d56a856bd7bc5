"""Completions for the word at the cursor, while a query is being written."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from deeplake_lite.query.bind.calls.function_names import AGGREGATES
from deeplake_lite.query.bind.calls.special import SPECIAL
from deeplake_lite.query.functions import REGISTRY
from deeplake_lite.query.functions.user import OWN
from deeplake_lite.query.parse.names import KEYWORDS, literal, quote_column

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deeplake_lite.dataset.view import View

type CompletionKind = Literal["column", "class", "source", "function", "keyword"]

_WORDS = {word for keyword in KEYWORDS for word in keyword.split()}

_AFTER_CLASS = re.compile(
    r"""(?P<column>\w+|"[^"]+")\s*
        (?:=|==|<>|!=|(?:NOT\s+)?IN\s*\((?:\s*'[^']*'\s*,)*)\s*
        (?P<word>'[^']*)?$""",
    re.VERBOSE | re.IGNORECASE,
)
_AFTER_FROM = re.compile(r"\b(?:FROM|JOIN)\s+(?P<word>\w*)$", re.IGNORECASE)
_WORD = re.compile(r'(?:\b\w+\.)?(?P<word>\w*|"[^"]*)$')


def complete(text: str, cursor: int, view: View) -> list[tuple[str, CompletionKind]]:
    """Return the completions at the cursor, most likely first.

    Parameters
    ----------
    text : str
        The query so far.
    cursor : int
        Offset of the cursor in the query.
    view : View
        The view that is queried.

    Returns
    -------
    list of (str, str)
        Replacements for the word before the cursor and a quote in front of it, each with its kind:
        a column, a class name after a comparison, a source after FROM, a function or a keyword.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://complete-doc", {"label": dl.ClassLabel(["rose", "tulip"])})
    >>> complete("SELECT la", 9, ds)
    [('label', 'column'), ('LAST(', 'function')]
    >>> complete("SELECT * WHERE label = 't", 25, ds)
    [("'tulip'", 'class')]
    """
    before = text[:cursor]
    comparison = _AFTER_CLASS.search(before)
    names = _classes(view, comparison["column"]) if comparison else ()
    if comparison and names:
        return _matching(comparison["word"] or "", ((literal(n), "class") for n in names))
    if before.count("'") % 2:
        return []
    if source := _AFTER_FROM.search(before):
        return _matching(source["word"], [("dataset", "source")])
    word = _WORD.search(before)
    assert word is not None
    columns: list[tuple[str, CompletionKind]] = [(quote_column(n), "column") for n in view.columns]
    if word[0] != word["word"]:  # the word follows the name of a source and a dot
        return _matching(word["word"], columns)
    functions = sorted({n for n in (*REGISTRY, *OWN, *AGGREGATES, *SPECIAL) if n.isidentifier()})
    return _matching(
        word["word"],
        [
            *columns,
            *((f"{n}(", "function") for n in functions),
            *((k, "keyword") for k in KEYWORDS),
        ],
    )


def _matching(
    word: str, options: Iterable[tuple[str, CompletionKind]]
) -> list[tuple[str, CompletionKind]]:
    """Return the options that start with a word. Case and quotes do not matter."""
    start = word.casefold().lstrip("'\"")
    return [(t, kind) for t, kind in options if t.casefold().lstrip("'\"").startswith(start)]


def _classes(view: View, column: str) -> tuple[str, ...]:
    """Return the names of a column's classes, or () if the column has no classes."""
    name = column[1:-1].replace('""', '"') if column.startswith('"') else column
    htype = view.schema[name].htype if name in view.columns else None
    classes = None if htype is None else htype.classes
    return () if classes is None else tuple(classes.names)
