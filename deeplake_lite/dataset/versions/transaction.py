"""The context manager that commits the edits of a block, or discards them on error."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deeplake_lite.dataset.dataset import Dataset


class Transaction:
    """The context manager that `Dataset.transaction` returns.

    This is a class, not a generator, because a generator suspended by an interrupt would discard
    the edits only when it is garbage-collected.
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
