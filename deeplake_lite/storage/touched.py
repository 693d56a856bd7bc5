"""Where two versions may differ, according to transaction logs and the versions' own logs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.storage.slot_set import SlotSet

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deeplake_lite.storage.arrays import SlotArray


@dataclass(frozen=True)
class Touched:
    """The entries of arrays in which two versions may differ. The keys are paths of arrays."""

    chunks: dict[str, set[int]] = field(default_factory=dict)
    """Numbers of the chunks that were written between the versions."""
    logged: dict[str, SlotSet] = field(default_factory=dict)
    """Slots with an entry in the log of either version, for arrays whose logs differ. It is empty
    for arrays that do not have one entry per slot."""

    def paths(self) -> set[str]:
        """Return the paths of all arrays that may differ."""
        return self.chunks.keys() | self.logged.keys()

    def add_chunks(self, path: str, numbers: Iterable[int]) -> None:
        """Add written chunks."""
        self.chunks.setdefault(path, set()).update(numbers)

    def slots(self, array: SlotArray) -> SlotSet:
        """Return the slots whose entries in an array may differ."""
        numbers = np.array([*self.chunks.get(array.path, ())], np.int64)
        ranges = np.stack([numbers, numbers + 1], axis=1) * array.spec.chunk_rows
        return SlotSet.of_ranges(ranges).union(self.logged.get(array.path, SlotSet.empty()))
