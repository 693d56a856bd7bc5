"""The result of an ingest: the dataset, and a summary of what was done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deeplake_lite.dataset.dataset import Dataset

if TYPE_CHECKING:
    from deeplake_lite.dataset.view import View
    from deeplake_lite.ingest.source import Skipped


@dataclass(frozen=True)
class Kept:
    """A row that differs from the source, because people have changed it in the lake.

    >>> print(Kept("lily/1.png", ("label",)))
    lily/1.png: 'label' was changed in the lake
    >>> print(Kept("dogs.png", ("labels",), ("boxes",)))
    dogs.png: 'labels' was changed in the lake, and 'boxes' describes the same objects
    """

    path: str
    """Path of the file, or the source and the number of the row."""

    columns: tuple[str, ...] = ()
    """The changed columns; empty for a deleted row."""

    linked: tuple[str, ...] = ()
    """Columns that were kept although they were not changed, because their items belong to those of
    the changed columns: boxes, if their labels were changed."""

    def __str__(self) -> str:
        names = ", ".join(map(repr, self.columns))
        text = f"{self.path}: {f'{names} was changed' if names else 'deleted'} in the lake"
        if not self.linked:
            return text
        verb = "describe" if len(self.linked) > 1 else "describes"
        return f"{text}, and {', '.join(map(repr, self.linked))} {verb} the same objects"


@dataclass(frozen=True, repr=False)
class Ingested:
    """A summary of what an ingest has done.

    >>> Ingested(added=1797, changed=0, unchanged=0, skipped=(), kept=(), repeated="", seconds=0.8)
    1,797 rows added in 0.8 s
    """

    added: int
    """Number of rows whose key was new."""

    changed: int
    """Number of rows in which at least one cell was updated."""

    unchanged: int
    """Number of rows that the lake already had."""

    skipped: tuple[Skipped, ...]
    """Rows and files that were skipped, with the reasons."""

    kept: tuple[Kept, ...]
    """Rows that people have changed or deleted in the lake, and that therefore differ from the
    source; ``update="force"`` overwrites them."""

    repeated: str
    """The version that already has these rows, if they have no key; then no rows were added."""

    seconds: float
    """Duration in seconds."""

    absent: View | None = None
    """Rows of the lake whose key the source does not have; None without a key. Rows of files that
    were removed or renamed are among them: ``ds.delete(ds.ingested.absent)`` deletes them."""

    @property
    def is_whole(self) -> bool:
        """Whether most rows of the lake are in the source, as when a folder is imported again.

        A source of new rows alone has hardly any of the others.
        """
        known = self.changed + self.unchanged + len(self.kept)
        return self.absent is not None and len(self.absent) < known

    def __repr__(self) -> str:
        counts = {"changed": self.changed, "unchanged": self.unchanged}
        parts = [f"{self.added:,} row{'' if self.added == 1 else 's'} added"]
        parts += [f"{n:,} {word}" for word, n in counts.items() if n]
        parts += [f"{len(self.kept):,} kept as in the lake"] if self.kept else []
        parts += [f"{len(self.skipped):,} skipped"] if self.skipped else []
        parts += (
            [f"{len(self.absent):,} not in the source"] if self.absent and self.is_whole else []
        )
        return f"{', '.join(parts)} in {self.seconds:.1f} s"


class IngestedDataset(Dataset):
    """The dataset after an ingest, with a summary in `ingested`; otherwise like `Dataset`."""

    def __init__(self, dataset: Dataset, ingested: Ingested) -> None:
        super().__init__(dataset.handle)
        self._ingested = ingested

    @property
    def ingested(self) -> Ingested:
        """Summary of the ingest: numbers of rows, skipped rows and files, duration."""
        return self._ingested
