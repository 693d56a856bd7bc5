"""Notes on a dataset or a column, as a mapping that writes itself through when it is changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from copy import deepcopy
from typing import Any

from deeplake_lite import checks
from deeplake_lite.errors import NotFoundError
from deeplake_lite.schema import check_metadata

type Change = Callable[[Mapping[str, Any]], dict[str, Any]]
"""Gets the notes there are, gives those there are to be."""


class Notes(MutableMapping[str, Any]):
    """Metadata as it is now; a value that was taken out is a copy.

    Parameters
    ----------
    read : callable
        Gives the notes there are.
    write : callable
        Puts a `Change` through, nobody else's in between: two threads that note different things
        keep both.
    """

    def __init__(
        self, read: Callable[[], Mapping[str, Any]], write: Callable[[Change], None]
    ) -> None:
        self._read, self._write = read, write

    def __getitem__(self, key: str) -> Any:
        notes = self._read()
        _check_known(key, notes)
        return deepcopy(notes[key])

    def __setitem__(self, key: str, value: Any) -> None:
        checks.text("key of a note", key)
        kept = check_metadata("A note", {key: value})
        self._write(lambda notes: {**notes, **kept})

    def __delitem__(self, key: str) -> None:
        def without(notes: Mapping[str, Any]) -> dict[str, Any]:
            _check_known(key, notes)
            left = dict(notes)
            del left[key]
            return left

        self._write(without)

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __repr__(self) -> str:
        return repr(dict(self._read()))

    def __reduce__(self) -> tuple[type, tuple[dict[str, Any]]]:
        """Make copies and pickles plain dicts, which note nothing in the lake."""
        return dict, (deepcopy(dict(self._read())),)


def _check_known(key: Any, notes: Mapping[str, Any]) -> None:
    """Refuse a key that there is not. Raises NotFoundError."""
    if not isinstance(key, str) or key not in notes:
        raise NotFoundError.named("note", key, notes)
