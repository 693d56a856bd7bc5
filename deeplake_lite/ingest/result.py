"""The result of an ingest: the dataset and a summary of the import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from deeplake_lite.dataset.dataset import Dataset

if TYPE_CHECKING:
    from deeplake_lite.dataset.view import View
    from deeplake_lite.ingest.source import Skipped


@dataclass(frozen=True)
class Kept:
    """A row that differs from the source because people have changed it in the lake.

    >>> print(Kept("lily/1.png", ("label",)))
    lily/1.png: 'label' was changed in the lake
    >>> print(Kept("dogs.png", ("labels",), ("boxes",)))
    dogs.png: 'labels' was changed in the lake, and 'boxes' describes the same objects
    """

    path: str
    """Path of the file, or name of the source and row number."""

    columns: tuple[str, ...] = ()
    """Names of the changed columns, or () for a deleted row."""

    linked: tuple[str, ...] = ()
    """Names of unchanged columns that were kept as well, because their items describe the same
    objects as the items of the changed columns. For example, boxes are kept if their labels were
    changed."""

    def __str__(self) -> str:
        names = " and ".join(map(repr, self.columns))
        change = f"{names} {'were' if len(self.columns) > 1 else 'was'} changed"
        text = f"{self.path}: {change if names else 'deleted'} in the lake"
        if not self.linked:
            return text
        verb = "describe" if len(self.linked) > 1 else "describes"
        return f"{text}, and {' and '.join(map(repr, self.linked))} {verb} the same objects"


@dataclass(frozen=True, repr=False)
class Ingested:
    """The summary of an ingest.

    >>> Ingested(added=1797, changed=0, unchanged=0, skipped=(), kept=(), repeated="", seconds=0.8)
    1,797 rows added in 0.8 s
    """

    added: int
    """Number of new rows."""

    changed: int
    """Number of rows in which at least one cell was updated."""

    unchanged: int
    """Number of rows that were already in the lake."""

    skipped: tuple[Skipped, ...]
    """Skipped rows and files, with the reasons."""

    kept: tuple[Kept, ...]
    """Rows that differ from the source because people have changed or deleted them in the lake.
    ``update="force"`` overwrites these rows."""

    repeated: str
    """The version that already has all rows of a source without a key, so that no rows were added,
    or an empty string."""

    seconds: float
    """Duration in seconds."""

    absent: View | None = None
    """Rows of the lake whose key is not in the source, such as rows of files that were removed or
    renamed. None if the source has no key. To delete the rows, call
    ``ds.delete(ds.ingested.absent)``."""

    @property
    def is_whole(self) -> bool:
        """Whether the source contains most rows of the lake, as when a folder is ingested again.

        A source of new rows contains hardly any rows that were in the lake before.
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
    """The dataset after an ingest: a `Dataset` whose attribute `ingested` is a summary."""

    def __init__(self, dataset: Dataset, ingested: Ingested) -> None:
        super().__init__(dataset.handle)
        self._ingested = ingested

    @property
    def ingested(self) -> Ingested:
        """Summary of the ingest: numbers of rows, skipped rows and files, and the duration."""
        return self._ingested
