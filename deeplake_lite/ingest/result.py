"""What an ingest gives back: the dataset, and what was done to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deeplake_lite.dataset.dataset import Dataset

if TYPE_CHECKING:
    from deeplake_lite.ingest.source import Skipped


@dataclass(frozen=True)
class Kept:
    """A row of the lake that is not as the source has it, because people have changed it since.

    >>> print(Kept("lily/1.png", ("label",)))
    lily/1.png: 'label' was changed in the lake
    """

    path: str
    """Which file, or which row of which source."""

    columns: tuple[str, ...] = ()
    """The columns that were changed; none for a row that was deleted."""

    def __str__(self) -> str:
        names = ", ".join(map(repr, self.columns))
        return f"{self.path}: {f'{names} was changed' if names else 'deleted'} in the lake"


@dataclass(frozen=True, repr=False)
class Ingested:
    """What an ingest did.

    >>> Ingested(added=1797, changed=0, unchanged=0, skipped=(), kept=(), repeated="", seconds=0.8)
    1,797 rows added in 0.8 s
    """

    added: int
    """Rows whose key was new."""

    changed: int
    """Rows of which at least one cell differed."""

    unchanged: int
    """Rows that were there already."""

    skipped: tuple[Skipped, ...]
    """Rows and files that were left out, and why."""

    kept: tuple[Kept, ...]
    """Rows that the source has otherwise, and that stay as people changed or deleted them in the
    lake; ``update="force"`` makes them as in the source."""

    repeated: str
    """The version that has just these rows already, where they have no key; none were added."""

    seconds: float
    """How long it took."""

    def __repr__(self) -> str:
        counts = {"changed": self.changed, "unchanged": self.unchanged}
        parts = [f"{self.added:,} row{'' if self.added == 1 else 's'} added"]
        parts += [f"{n:,} {word}" for word, n in counts.items() if n]
        parts += [f"{len(self.kept):,} kept as in the lake"] if self.kept else []
        parts += [f"{len(self.skipped):,} skipped"] if self.skipped else []
        return f"{', '.join(parts)} in {self.seconds:.1f} s"


class IngestedDataset(Dataset):
    """The dataset that rows were taken into; `ingested` tells what was done.

    Everything else is as in `Dataset`.
    """

    def __init__(self, dataset: Dataset, ingested: Ingested) -> None:
        super().__init__(dataset.handle)
        self._ingested = ingested

    @property
    def ingested(self) -> Ingested:
        """Rows added, changed, left and kept, files skipped and why, seconds."""
        return self._ingested
