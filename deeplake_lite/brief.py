"""How a message shows a value that it is about: the beginning of its repr, whatever the value is.

A list may be nested deeper than `repr` goes, hold millions of items, or hold itself, and a user's
class may raise in `__repr__`: the message must come all the same, and at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

_BRACKETS = {list: ("[", "]"), tuple: ("(", ")"), set: ("{", "}"), dict: ("{", "}")}


def brief(value: Any, most: int = 60) -> str:
    """Return the first characters of a value's repr.

    >>> brief([1, "a"]), brief(list(range(10**6)), 12), brief("x" * 100, 5)
    ("[1, 'a']", '[0, 1, 2, 3,', "'xxxx")
    """
    shown = ""
    for piece in _pieces(value, most, ()):
        shown += piece
        if len(shown) >= most:
            break
    return shown[:most]


def _pieces(value: Any, most: int, above: tuple[int, ...]) -> Iterator[str]:
    """Yield a repr piece by piece, so that only as much of it is made as is shown."""
    kind = next((kind for kind in _BRACKETS if type(value).__repr__ is kind.__repr__), None)
    if kind is None or not value:
        yield _shown(value, most)
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


def _shown(value: Any, most: int) -> str:
    """Return the repr of a value that is no list or dict; where it raises, the type's name."""
    if type(value) in (str, bytes):
        value = value[: max(most, 8)] if len(value) > most else value
    try:
        return repr(value)
    except Exception:  # whatever a user's class raises; NumPy's objects may be nested too deep
        return f"<{type(value).__name__}>"
