"""A block whose edits are committed at its end, or discarded where an error leaves it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deeplake_lite.dataset.dataset import Dataset


class Transaction:
    """What `Dataset.transaction` returns.

    This is no generator: one that an interrupt leaves suspended would discard the edits when it is
    collected, at whatever moment that is.
    """

    def __init__(self, ds: Dataset, message: str) -> None:
        self._ds, self._message = ds, message

    def __enter__(self) -> Dataset:
        with self._ds.handle.locked():
            self._ds.handle.check_clean("starting a transaction")
        return self._ds

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._ds.commit(self._message)
        else:
            self._ds.discard()
