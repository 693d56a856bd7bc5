"""The metadata of a dataset or a column, as a mapping that writes each change to the lake."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from copy import deepcopy
from typing import Any

from deeplake_lite import checks
from deeplake_lite.errors import LakeError, NotFoundError
from deeplake_lite.schema import check_metadata

type Change = Callable[[Mapping[str, object]], dict[str, object]]
"""Function that returns the new metadata, given the current metadata."""


class Metadata(MutableMapping[str, Any]):
    """The current metadata of a dataset or a column, as a mapping whose values are copies.

    Parameters
    ----------
    read : callable
        Returns the current metadata.
    write : callable
        Applies a `Change` while no other thread can write, so that no key is lost when two threads
        set different keys.
    """

    def __init__(
        self, read: Callable[[], Mapping[str, object]], write: Callable[[Change], None]
    ) -> None:
        self._read, self._write = read, write

    def __getitem__(self, key: str) -> Any:
        metadata = self._read()
        _check_key(key, metadata)
        return deepcopy(metadata[key])

    def __setitem__(self, key: str, value: object) -> None:
        checks.text("a metadata key", key)
        item = check_metadata("Metadata", {key: value})
        self._write(lambda metadata: {**metadata, **item})

    def __delitem__(self, key: str) -> None:
        def remove_key(metadata: Mapping[str, object]) -> dict[str, object]:
            _check_key(key, metadata)
            remaining = dict(metadata)
            del remaining[key]
            return remaining

        self._write(remove_key)

    def __iter__(self) -> Iterator[str]:
        return iter(self._read())

    def __len__(self) -> int:
        return len(self._read())

    def __repr__(self) -> str:
        try:
            return repr(dict(self._read()))
        except LakeError as error:  # the column was renamed or dropped
            return f"<no metadata: {error}>"

    def __reduce__(self) -> tuple[type, tuple[dict[str, object]]]:
        """Copy or pickle the metadata as a plain dict, whose changes do not affect the lake."""
        return dict, (deepcopy(dict(self._read())),)


def _check_key(key: object, metadata: Mapping[str, object]) -> None:
    """Reject a key that does not exist. Raises NotFoundError."""
    if not isinstance(key, str) or key not in metadata:
        raise NotFoundError.named("metadata key", key, metadata)
