"""Explanations of a loader's speed, which name the bottleneck and the settings that would help.

An explanation is a function of the loader's statistics and options. No I/O.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deeplake_lite.dataset.repr.html import words
from deeplake_lite.htypes.words import pluralize
from deeplake_lite.loader.options import cores
from deeplake_lite.loader.report.stats import STAGES, Stats
from deeplake_lite.loader.report.stats_html import page_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.loader.options import Options
    from deeplake_lite.loader.read.samples import Samples

MAX_STALL = 0.1
"""A loader is fast enough if its user waits for batches for less than this share of the time."""

MAX_REREADS = 0.1
"""The memory budget is too small if more than this share of the rows is read again."""

MIN_SECONDS = 1.0
"""If the current epoch is shorter than this, the previous epoch may be explained instead."""


@dataclass(frozen=True)
class Situation:
    """The options of a loader, and the data that it loads."""

    options: Options
    """The user's options."""
    shuffle: str = "none"
    """Kind of the shuffle."""
    mode: str = "whole"
    """Mode in which blocks are kept in memory. See `block_policy`."""
    rows: int = 0
    """Number of rows in the view."""
    stored: float = 0.0
    """Approximate stored size of all rows in bytes."""
    images: Mapping[str, str] = field(default_factory=dict)
    """Codec of each image column by name; ``"mask"`` for each column of masks."""
    batches: int | None = None
    """Number of batches in an epoch."""
    computed: bool = False
    """Whether a query computes some column at every read."""

    @classmethod
    def of(
        cls, samples: Samples, options: Options, shuffle: str, mode: str, batches: int
    ) -> Situation:
        """Return the situation of a loader of `samples`, given its options and other settings."""
        pixels = {f.name: f.htype.pixels for f in samples.fields}
        images = {
            name: of.codec if of.is_image else "mask"
            for name, of in pixels.items()
            if of is not None
        }
        stored = samples.row_bytes * len(samples)
        return cls(options, shuffle, mode, len(samples), stored, images, batches, samples.computed)


@dataclass(frozen=True, repr=False)
class Explanation:
    """A sentence on the bottleneck of a loader. The repr adds the seconds of all stages.

    Examples
    --------
    >>> text = Explanation("transform", "Your transform takes 80% of it.", Stats(transform=1.0))
    >>> print(text)
    Your transform takes 80% of it.
    """

    bottleneck: str
    """Name of a stage, ``"training"`` or ``"memory"``; empty if nothing was loaded."""
    sentence: str
    """The explanation for users."""
    stats: Stats
    """Statistics of the explained epoch."""

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"{self.sentence}\n{self.stats!r}" if self.stats.batches else self.sentence

    def _repr_html_(self) -> str:
        lines = self.stats.lines() if self.stats.batches else []
        return page_of("Bottleneck", self.sentence, lines)


def explain_stats(stats: Stats, situation: Situation) -> Explanation:
    """Explain the bottleneck of the current epoch, or of the epoch before it.

    >>> from deeplake_lite.loader.options import Options
    >>> epoch = Stats(wall=10.0, read=1.0, transform=8.0, collate=1.0, stall=9.0, batches=5)
    >>> situation = Situation(Options(batch_size=8, transform=dict))
    >>> print(explain_stats(Stats(epochs=(epoch,)), situation))
    Your transform takes 80% of the workers' time. Options: workers='processes' ...
    """
    epoch = _epoch_to_explain(stats.epochs)
    if epoch is None or not epoch.batches:
        return Explanation("", _explain_no_rows(situation), Stats())
    bottleneck = _bottleneck(epoch, situation)
    seconds = epoch.read if bottleneck == "memory" else epoch.seconds.get(bottleneck, 0.0)
    share = f"{100 * seconds / (epoch.busy or 1.0):.0f}% of the workers' time"
    return Explanation(bottleneck, _SENTENCES[bottleneck](share, epoch, situation), epoch)


def _explain_no_rows(situation: Situation) -> str:
    """Explain why nothing was loaded."""
    if not situation.rows:
        return "There is nothing to load: the view has no rows."
    if situation.batches == 0:
        return (
            f"There is nothing to load: {pluralize(situation.rows, 'row')} cannot fill a batch of "
            f"batch_size={situation.options.batch_size}, and last='drop' leaves them out."
        )
    return "Nothing has been loaded yet. Iterate over some batches, and call explain() again."


def _epoch_to_explain(epochs: tuple[Stats, ...]) -> Stats | None:
    """Return the statistics of the last epoch, or of the one before if the last has just begun."""
    if len(epochs) > 1 and epochs[-1].wall < MIN_SECONDS:
        has_just_begun = epochs[-1].batches < epochs[-2].batches / 2
        return epochs[-2] if has_just_begun else epochs[-1]
    return epochs[-1] if epochs else None


def _bottleneck(stats: Stats, situation: Situation) -> str:
    """Return the name of the bottleneck.

    This is the slowest stage, ``"training"`` if the loader is fast enough, or ``"memory"`` if rows
    are read again because they did not fit in memory.
    """
    if stats.stall < MAX_STALL * stats.wall:
        return "training"
    slowest = max(STAGES[:-1], key=stats.seconds.__getitem__)
    if slowest == "read" and _rereads(stats, situation):
        return "memory"
    return slowest


def _rereads(stats: Stats, situation: Situation) -> bool:
    """Return whether rows are read again because they did not fit in memory."""
    if situation.mode in ("whole", "disk") or situation.options.cache is None:
        return False
    later = bool(stats.epoch) and stats.rows_read > MAX_REREADS * stats.samples
    return later or stats.rows_read > (1 + MAX_REREADS) * max(stats.samples, situation.rows)


# ---- the sentences


def _training(_share: str, stats: Stats, _situation: Situation) -> str:
    away = 100 * (1 - stats.stall / stats.wall)
    return (
        "Your training step is slower than the loader: batches were ready for it, and it took "
        f"{away:.0f}% of the time. A faster loader would not help."
    )


def _read(share: str, stats: Stats, situation: Situation) -> str:
    o, advice = situation.options, list[str]()
    if o.cache is None:
        advice.append("cache='encoded' keeps rows in memory for later epochs")
    elif situation.mode == "whole":
        advice.append("later epochs, which get the rows from memory")
    if o.columns is None:
        advice.append("columns= loads only the columns you need")
    if situation.mode == "rows" and situation.shuffle == "exact":
        advice.append("shuffle='block' reads whole blocks")
    if o.cache != "disk":
        rows = "computed values" if situation.computed else "rows from remote stores"
        advice.append(f"cache='disk' stores {rows} on this machine")
    elif stats.epoch and stats.rows_read > MAX_REREADS * stats.samples:
        stored = words.size(round(situation.stored))
        advice.append(f"a disk_budget= of more than {stored} would hold all rows")
    speed = f"{words.size(round(stats.bytes_read / stats.wall))}/s"
    way_out = f"Options: {_list(advice)}" if advice else "A store with lower latency would help"
    stage = "Computing the query's columns" if situation.computed else "Reading"
    return f"{stage} is slow: it takes {share}, at {speed}. {way_out}."


def _memory(share: str, _stats: Stats, situation: Situation) -> str:
    return (
        f"The memory budget is too small: blocks are read again, which takes {share}. "
        f"memory_budget is {words.size(situation.options.budget)}; about "
        f"{words.size(round(1.3 * situation.stored))} would hold all rows."
    )


def _decode(share: str, _stats: Stats, situation: Situation) -> str:
    o, advice = situation.options, list[str]()
    codecs = set(situation.images.values())
    if any(o.size_of(name) is None for name, c in situation.images.items() if c != "mask"):
        advice.append("size= decodes at the size you need")
    if o.cache != "decoded" and o.workers == "threads" and codecs:
        advice.append("cache='decoded' keeps decoded pixels, as far as memory allows")
    return f"Decoding {_name(codecs)} takes {share}. Options: {_list([*advice, _more(o)])}."


def _name(codecs: set[str]) -> str:
    """Return a name for the values that are decoded.

    >>> _name({"jpeg", "mask"}), _name({"auto"}), _name(set())
    ('JPEG and masks', 'images', 'values')
    """
    files = sorted(codec.upper() for codec in codecs - {"auto", "mask"})
    files += ["images"] if "auto" in codecs else []
    files += ["masks"] if "mask" in codecs else []
    return " and ".join(files) or "values"


def _transform(share: str, _stats: Stats, situation: Situation) -> str:
    o, advice = situation.options, list[str]()
    name = "batch_transform" if o.transform is None else "transform"
    if o.workers == "threads":
        advice.append("workers='processes' runs Python on all cores")
    if o.transform is not None:
        advice.append("batch_transform= runs once per batch")
    return f"Your {name} takes {share}. Options: {_list([*advice, _more(o)])}."


def _collate(share: str, _stats: Stats, situation: Situation) -> str:
    o = situation.options
    if callable(o.collate):
        advice = ["collate='stack', 'pad', 'list' or 'ragged' needs no Python code"]
        stage = "Your collate function"
    else:
        advice = ["collate='list' or 'ragged' copies less", "size= gives all images one shape"]
        stage = "Collating"
    return f"{stage} takes {share}. Options: {_list([*advice, _more(o)])}."


def _hand_over(share: str, _stats: Stats, situation: Situation) -> str:
    reason = (
        "In an epoch of one batch, most of the time is spent starting threads"
        if situation.batches == 1
        else f"A batch_size larger than {situation.options.batch_size} reduces this share"
    )
    return f"Handing batches over takes {share}, more than making them. {reason}."


_SENTENCES = {
    "training": _training,
    "memory": _memory,
    **dict(zip(STAGES, (_read, _decode, _transform, _collate, _hand_over), strict=False)),
}


def _more(options: Options) -> str:
    """Return the advice to use more workers."""
    most = options.most_workers
    if options.threads < most:
        return f"num_workers={most} uses {'all' if most == cores() else most} cores"
    if options.workers == "threads" and most < cores():
        return f"workers='processes' uses all {cores()} cores"
    return "a machine with more cores, and num_workers= to match"


def _list(parts: list[str]) -> str:
    """Join phrases with commas and "or".

    >>> _list(["a", "b", "c"])
    'a, b, or c'
    """
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])}, or {parts[-1]}"
