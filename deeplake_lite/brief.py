"""Short representations of values for error messages.

A list may be nested too deeply for `repr`, have millions of items or contain itself, and the
`__repr__` of a user's class may raise an error. Even then, the message must be produced quickly.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_BRACKETS = {list: ("[", "]"), tuple: ("(", ")"), set: ("{", "}"), dict: ("{", "}")}


def brief(value: Any, most: int = 60) -> str:
    """Return the first characters of a value's repr.

    >>> brief([1, "a"]), brief(list(range(10**6)), 12), brief("x" * 100, 5)
    ("[1, 'a']", '[0, 1, 2, 3,', "'xxxx")
    """
    text = ""
    for piece in _pieces(value, most, ()):
        text += piece
        if len(text) >= most:
            break
    return text[:most]


def alternatives(values: Iterable[object]) -> str:
    """Format a list of allowed values for a message.

    >>> alternatives(["RGB", "L", "RGBA"]), alternatives([1])
    ("'RGB', 'L' or 'RGBA'", '1')
    """
    *others, last = map(repr, values)
    return f"{', '.join(others)} or {last}" if others else last


def _pieces(value: Any, most: int, above: tuple[int, ...]) -> Iterator[str]:
    """Yield a repr in pieces, so that the caller can stop when the text is long enough.

    `above` has the ids of the containers around the value. A container that contains itself is
    shown as ``[...]``.
    """
    kind = next((kind for kind in _BRACKETS if type(value).__repr__ is kind.__repr__), None)
    if kind is None or not value:
        yield _safe_repr(value, most)
        return
    opened, closed = _BRACKETS[kind]
    if id(value) in above:
        yield f"{opened}...{closed}"
        return
    yield opened
    for i, item in enumerate(value.items() if kind is dict else value):
        if i:
            yield ", "
        if kind is dict:
            yield from _pieces(item[0], most, (*above, id(value)))
            yield ": "
            item = item[1]
        yield from _pieces(item, most, (*above, id(value)))
    yield f",{closed}" if kind is tuple and len(value) == 1 else closed


def _safe_repr(value: Any, most: int) -> str:
    """Return the repr of a value that is not a container, or the name of its type if repr fails."""
    if type(value) in (str, bytes):
        value = value[: max(most, 8)] if len(value) > most else value
    try:
        return repr(value)
    except Exception:  # a user's `__repr__` may raise any error; object arrays may nest too deeply
        return f"<{type(value).__name__}>"
