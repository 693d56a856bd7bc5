"""Where a loader's time goes: what was measured, as a value that adds up, prints and is JSON.

Each worker is at every moment in one of the stages, so that their seconds, averaged over the
workers, add up to the time on the clock.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from deeplake_lite.dataset.repr.html import words
from deeplake_lite.htypes.words import counted
from deeplake_lite.loader.report.stats_html import Line, page_of

if TYPE_CHECKING:
    from collections.abc import Iterable

STAGES = ("read", "decode", "transform", "collate", "hand_over", "waiting")
"""What a worker may be at."""

NAMES = {
    "read": "read",
    "decode": "decode",
    "transform": "transform",
    "collate": "collate",
    "hand_over": "hand-over",
    "waiting": "waiting for you",
}
"""How people read them."""

_PEAKS = ("workers", "peak_bytes", "rss_bytes")
_OF_ONE = ("epoch", "epochs")


@dataclass(frozen=True, repr=False)
class Stats:
    """Seconds, rows and bytes of an epoch, or of all of them.

    Seconds in the stages are averages over the workers, and add up to `wall`.

    Examples
    --------
    >>> stats = Stats(wall=2.0, read=0.5, decode=1.0, waiting=0.5, samples=100, batches=4, epoch=0)
    >>> stats
    Stats epoch 0 · 100 samples in 4 batches · 2.00 s · 50 samples/s
      read               0.50 s   25 %  ▇▇▇▇▇
      decode             1.00 s   50 %  ▇▇▇▇▇▇▇▇▇▇
      transform          0.00 s    0 %
      collate            0.00 s    0 %
      hand-over          0.00 s    0 %
      waiting for you    0.50 s   25 %  ▇▇▇▇▇
      you waited         0.00 s    0 %
      0 B read, 100 % of the rows were in memory, 0 B held at most, 0 B by the process
    >>> stats.samples_per_second, sum(stats.seconds.values())
    (50.0, 2.0)
    """

    wall: float = 0.0
    """Seconds from the first `next` of an epoch to its end."""
    read: float = 0.0
    """Waiting for rows that were not there yet."""
    decode: float = 0.0
    """From encoded cells to arrays."""
    transform: float = 0.0
    """In the user's functions, of samples or of batches."""
    collate: float = 0.0
    """From samples to a batch."""
    hand_over: float = 0.0
    """Converting for a framework, passing on, and without a task while the user waits."""
    waiting: float = 0.0
    """Without a task while the user works on a batch."""
    stall: float = 0.0
    """That the user has waited in `next`; beside the stages, not one of them."""
    samples: int = 0
    """Rows handed to the user, without padding."""
    batches: int = 0
    """Handed to the user."""
    reads: int = 0
    """Blocks, and batches of single rows, that were read."""
    reading: float = 0.0
    """Seconds in those reads, of all reading threads together, beside the stages."""
    bytes_read: int = 0
    """Of the cells that were read."""
    rows_read: int = 0
    """Rows that were read: more than there are where blocks are read again."""
    asked: int = 0
    """Rows that were asked for."""
    missed: int = 0
    """Those of them that were not in memory."""
    peak_bytes: int = 0
    """Memory of rows and of batches not yet handed over, at the most."""
    rss_bytes: int = 0
    """Memory of the whole process at its most; 0 where the system does not say."""
    workers: int = 1
    """Threads, or processes; 1 where the user's own thread makes batches."""
    epoch: int | None = None
    """Its number; None for all epochs together."""
    epochs: tuple[Stats, ...] = ()
    """One by one, where it is of all together: the last hundred."""

    @property
    def seconds(self) -> dict[str, float]:
        """Seconds by stage, in order."""
        return {stage: getattr(self, stage) for stage in STAGES}

    @property
    def busy(self) -> float:
        """Seconds in which a worker had something to do."""
        return sum(self.seconds.values()) - self.waiting

    @property
    def samples_per_second(self) -> float:
        """Rows handed over, by the time on the clock."""
        return self.samples / self.wall if self.wall else 0.0

    @property
    def cache_hits(self) -> float:
        """Share of the rows that were in memory when they were asked for, 0 to 1."""
        return 1 - self.missed / max(self.asked, self.samples, 1)

    @classmethod
    def total(cls, parts: Iterable[Stats]) -> Stats:
        """Add epochs up.

        >>> Stats.total([Stats(wall=1.0, samples=10, epoch=0), Stats(wall=3.0, epoch=1)]).wall
        4.0
        """
        given = list(parts)
        if not given:
            return cls()
        values: dict[str, Any] = {}
        for name in (f.name for f in fields(cls) if f.name not in _OF_ONE):
            every = [getattr(part, name) for part in given]
            values[name] = max(every) if name in _PEAKS else sum(every)
        return cls(**values)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as JSON has it, what is derived as well.

        >>> Stats(wall=2.0, samples=100).to_dict()["samples_per_second"]
        50.0
        """
        own: dict[str, Any] = {
            f.name: getattr(self, f.name) for f in fields(self) if f.name != "epochs"
        }
        own |= {"samples_per_second": self.samples_per_second, "cache_hits": self.cache_hits}
        if self.epoch is None:
            own["epochs"] = [epoch.to_dict() for epoch in self.epochs]
        return own

    def __repr__(self) -> str:
        return "\n".join([self._title, *map(_drawn, self.lines()), f"  {self._memory}"])

    def _repr_html_(self) -> str:
        return page_of("Stats", self._title.removeprefix("Stats "), self.lines(), self._memory)

    def lines(self) -> list[Line]:
        """Return what there is to draw: the stages, and the user's own waiting."""
        parts = [(NAMES[stage], s) for stage, s in self.seconds.items()]
        parts.append(("you waited", self.stall))
        wall = self.wall or 1.0
        return [Line(name, f"{s:.2f} s", s / wall) for name, s in parts]

    @property
    def _title(self) -> str:
        many = counted(len(self.epochs), "epoch") if self.epochs else "nothing loaded yet"
        which = many if self.epoch is None else f"epoch {self.epoch}"
        batches = "1 batch" if self.batches == 1 else f"{self.batches:,} batches"
        made = f"{counted(self.samples, 'sample')} in {batches} · {self.wall:.2f} s"
        return f"Stats {which} · {made} · {self.samples_per_second:,.0f} samples/s"

    @property
    def _memory(self) -> str:
        read, held, process = map(words.size, (self.bytes_read, self.peak_bytes, self.rss_bytes))
        hits = f"{100 * self.cache_hits:.0f} % of the rows were in memory"
        return f"{read} read, {hits}, {held} held at most, {process} by the process"


def _drawn(line: Line) -> str:
    share = f"{line.share * 100:.0f} %"
    return f"  {line.name:16}{line.text:>9}{share:>7}  {words.bar(line.share)}".rstrip()
