"""Statistics of a loader, such as seconds per stage, rows and bytes, as text, HTML or JSON.

Each worker is in exactly one stage at any moment. Therefore, the seconds of the stages, averaged
over the workers, add up to the wall time.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from deeplake_lite.dataset.repr.html import words
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.loader.report.stats_html import Line, page_of

if TYPE_CHECKING:
    from collections.abc import Iterable

STAGES = ("read", "decode", "transform", "collate", "hand_over", "waiting")
"""The stages of a worker."""

NAMES = {
    "read": "read",
    "decode": "decode",
    "transform": "transform",
    "collate": "collate",
    "hand_over": "hand-over",
    "waiting": "waiting for you",
}
"""Display names of the stages."""

_MAXIMA = ("workers", "peak_bytes", "rss_bytes")
"""Fields whose value for several epochs is the maximum. The values of other fields are added."""

_NOT_COMBINED = ("epoch", "epochs")
"""Fields that have their default value for several epochs."""


@dataclass(frozen=True, repr=False)
class Stats:
    """Seconds, rows and bytes of one epoch, or of all epochs.

    The seconds of the stages are averages over the workers, and add up to `wall`.

    Examples
    --------
    >>> stats = Stats(wall=2.0, read=0.5, decode=1.0, waiting=0.5, samples=100, batches=4, epoch=0)
    >>> stats
    Stats epoch 0 · 100 samples in 4 batches · 2.00 s · 50 samples/s
      read               0.50 s    25%  ▇▇▇▇▇
      decode             1.00 s    50%  ▇▇▇▇▇▇▇▇▇▇
      transform          0.00 s     0%
      collate            0.00 s     0%
      hand-over          0.00 s     0%
      waiting for you    0.50 s    25%  ▇▇▇▇▇
      you waited         0.00 s     0%
      0 B read, 100% of the rows were in memory, 0 B held at most, 0 B by the process
    >>> stats.samples_per_second, sum(stats.seconds.values())
    (50.0, 2.0)
    """

    wall: float = 0.0
    """Seconds from the first `next` of an epoch to its end."""
    read: float = 0.0
    """Seconds spent waiting for rows to be read."""
    decode: float = 0.0
    """Seconds spent decoding cells to arrays."""
    transform: float = 0.0
    """Seconds spent in the user's transforms of samples and batches."""
    collate: float = 0.0
    """Seconds spent collating samples to batches."""
    hand_over: float = 0.0
    """Seconds spent converting batches and passing them on, or idle while the user waits."""
    waiting: float = 0.0
    """Seconds spent idle while the user works on a batch."""
    stall: float = 0.0
    """Seconds that the user waited in `next`. This is not a stage, and overlaps with the stages."""
    samples: int = 0
    """Number of rows that the user received, without padding."""
    batches: int = 0
    """Number of batches that the user received."""
    reads: int = 0
    """Number of reads. Each read is of a block, or of single rows for a batch."""
    reading: float = 0.0
    """Seconds spent in reads, summed over all reader threads. Reads overlap with the stages."""
    bytes_read: int = 0
    """Size of the cells that were read, in bytes."""
    rows_read: int = 0
    """Number of rows that were read. If a block is read again, its rows count again."""
    asked: int = 0
    """Number of rows that were requested."""
    missed: int = 0
    """Number of requested rows that were not in memory."""
    peak_bytes: int = 0
    """Peak memory, in bytes, of rows, and of batches that the user had not received yet."""
    rss_bytes: int = 0
    """Peak memory of the whole process in bytes; 0 if the system does not report it."""
    workers: int = 1
    """Number of threads or processes; 1 if the user's own thread makes the batches."""
    epoch: int | None = None
    """Number of the epoch; None for all epochs together."""
    epochs: tuple[Stats, ...] = ()
    """Statistics of each of the last hundred epochs; empty for the statistics of one epoch."""

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds spent in each stage, in the order of `STAGES`."""
        return {stage: getattr(self, stage) for stage in STAGES}

    @property
    def busy(self) -> float:
        """Seconds in which the average worker was not waiting for the user."""
        return sum(self.seconds.values()) - self.waiting

    @property
    def samples_per_second(self) -> float:
        """Number of rows that the user received per second of wall time."""
        return self.samples / self.wall if self.wall else 0.0

    @property
    def cache_hits(self) -> float:
        """Share of the requested rows that were in memory, 0 to 1."""
        return 1 - self.missed / max(self.asked, self.samples, 1)

    @classmethod
    def total(cls, parts: Iterable[Stats]) -> Stats:
        """Return the statistics of several epochs together, as sums or, for peaks, as maxima.

        >>> Stats.total([Stats(wall=1.0, samples=10, epoch=0), Stats(wall=3.0, epoch=1)]).wall
        4.0
        """
        epochs = list(parts)
        if not epochs:
            return cls()
        values: dict[str, Any] = {}
        for name in (f.name for f in fields(cls) if f.name not in _NOT_COMBINED):
            numbers = [getattr(epoch, name) for epoch in epochs]
            values[name] = max(numbers) if name in _MAXIMA else sum(numbers)
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return all fields, and the properties derived from fields, as a JSON object.

        >>> Stats(wall=2.0, samples=100).to_dict()["samples_per_second"]
        50.0
        """
        document: dict[str, object] = {
            f.name: getattr(self, f.name) for f in fields(self) if f.name != "epochs"
        }
        document |= {"samples_per_second": self.samples_per_second, "cache_hits": self.cache_hits}
        if self.epoch is None:
            document["epochs"] = [epoch.to_dict() for epoch in self.epochs]
        return document

    def __repr__(self) -> str:
        return "\n".join([self._title, *map(_draw_line, self.lines()), f"  {self._memory}"])

    def _repr_html_(self) -> str:
        return page_of("Stats", self._title.removeprefix("Stats "), self.lines(), self._memory)

    def lines(self) -> list[Line]:
        """Return the bars to draw, one for each stage and one for the time that the user waited."""
        parts = [(NAMES[stage], s) for stage, s in self.seconds.items()]
        parts.append(("you waited", self.stall))
        wall = self.wall or 1.0
        return [Line(name, f"{s:.2f} s", s / wall) for name, s in parts]

    @property
    def _title(self) -> str:
        epochs = pluralize(len(self.epochs), "epoch") if self.epochs else "nothing loaded yet"
        scope = epochs if self.epoch is None else f"epoch {self.epoch}"
        batches = "1 batch" if self.batches == 1 else f"{self.batches:,} batches"
        total = f"{pluralize(self.samples, 'sample')} in {batches} · {self.wall:.2f} s"
        return f"Stats {scope} · {total} · {self.samples_per_second:,.0f} samples/s"

    @property
    def _memory(self) -> str:
        read, held, process = map(words.size, (self.bytes_read, self.peak_bytes, self.rss_bytes))
        hits = f"{100 * self.cache_hits:.0f}% of the rows were in memory"
        return f"{read} read, {hits}, {held} held at most, {process} by the process"


def _draw_line(line: Line) -> str:
    share = f"{line.share * 100:.0f}%"
    return f"  {line.name:16}{line.text:>9}{share:>7}  {words.bar(line.share)}".rstrip()
