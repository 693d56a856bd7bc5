"""What a loader spends its time on, and the setting that would help: one sentence.

What was measured and how the loader is set go in, the sentence comes out; nothing is read here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from deeplake_lite.dataset.repr.html import words
from deeplake_lite.htypes.words import counted
from deeplake_lite.loader.options import cores
from deeplake_lite.loader.report.stats import STAGES, Stats
from deeplake_lite.loader.report.stats_html import page_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.loader.options import Options
    from deeplake_lite.loader.read.samples import Samples

READY = 0.1
"""Share of the time that a user may wait for batches before the loader counts as slow."""

AGAIN = 0.1
"""Rows that are read again, as a share of those handed over, from which memory is too small."""

LEAST_SECONDS = 1.0
"""Of an epoch under way, for it to be explain_stats rather than the one before."""


@dataclass(frozen=True)
class Situation:
    """How a loader is set, and what it loads."""

    options: Options
    """As the user gave them."""
    shuffle: str = "none"
    """Its kind."""
    mode: str = "whole"
    """How blocks are held."""
    rows: int = 0
    """Of the view."""
    stored: float = 0.0
    """Size of all rows, bytes, about."""
    pictures: Mapping[str, str] = field(default_factory=dict)
    """Columns of pictures, and their codecs; "mask" for masks."""
    batches: int | None = None
    """Of an epoch."""
    computed: bool = False
    """Whether something is computed for a row whenever it is read."""

    @classmethod
    def of(
        cls, samples: Samples, options: Options, shuffle: str, mode: str, batches: int
    ) -> Situation:
        """Look at what is loaded."""
        pixels = {f.name: f.htype.pixels for f in samples.fields}
        pictures = {
            name: of.codec if of.is_image else "mask"
            for name, of in pixels.items()
            if of is not None
        }
        stored = samples.row_bytes * len(samples)
        return cls(
            options, shuffle, mode, len(samples), stored, pictures, batches, samples.computed
        )


@dataclass(frozen=True, repr=False)
class Explanation:
    """What most time is spent on, as a sentence; prints with the seconds below it.

    Examples
    --------
    >>> text = Explanation("transform", "Your transform takes 80 % of it.", Stats(transform=1.0))
    >>> print(text)
    Your transform takes 80 % of it.
    """

    bottleneck: str
    """One of the stages, ``"training"``, ``"memory"``, or empty when nothing was loaded."""
    sentence: str
    """For people."""
    stats: Stats
    """What it is about."""

    def __str__(self) -> str:
        return self.sentence

    def __repr__(self) -> str:
        return f"{self.sentence}\n{self.stats!r}" if self.stats.batches else self.sentence

    def _repr_html_(self) -> str:
        lines = self.stats.lines() if self.stats.batches else []
        return page_of("Bottleneck", self.sentence, lines)


def explain_stats(stats: Stats, situation: Situation) -> Explanation:
    """Name the bottleneck.

    >>> from deeplake_lite.loader.options import Options
    >>> epoch = Stats(wall=10.0, read=1.0, transform=8.0, collate=1.0, stall=9.0, batches=5)
    >>> print(explain_stats(Stats(epochs=(epoch,)), Situation(Options(batch_size=8, transform=dict))))
    Your transform takes 80 % of the workers' time: workers='processes' ...
    """
    told = _told(stats.epochs)
    if told is None or not told.batches:
        return Explanation("", _nothing(situation), Stats())
    what = _bottleneck(told, situation)
    seconds = told.read if what == "memory" else told.seconds.get(what, 0.0)
    share = f"{100 * seconds / (told.busy or 1.0):.0f} % of the workers' time"
    return Explanation(what, _SENTENCES[what](share, told, situation), told)


def _nothing(situation: Situation) -> str:
    """Say why nothing was loaded."""
    if not situation.rows:
        return "There is nothing to load: the view has no rows."
    if situation.batches == 0:
        return (
            f"There is nothing to load: {counted(situation.rows, 'row')} fill no batch of "
            f"batch_size={situation.options.batch_size}, and last='drop' leaves them out."
        )
    return "Nothing has been loaded yet: go through some batches, and ask again."


def _told(epochs: tuple[Stats, ...]) -> Stats | None:
    """Return the epoch to speak of."""
    if len(epochs) > 1 and epochs[-1].wall < LEAST_SECONDS:
        few = epochs[-1].batches < epochs[-2].batches / 2
        return epochs[-2] if few else epochs[-1]
    return epochs[-1] if epochs else None


def _bottleneck(stats: Stats, situation: Situation) -> str:
    if stats.stall < READY * stats.wall:
        return "training"
    slowest = max(STAGES[:-1], key=stats.seconds.__getitem__)
    if slowest == "read" and _reads_again(stats, situation):
        return "memory"
    return slowest


def _reads_again(stats: Stats, situation: Situation) -> bool:
    """Tell whether more was read than once, or what an earlier epoch had read, for want of room."""
    if situation.mode in ("whole", "disk") or situation.options.cache is None:
        return False
    later = bool(stats.epoch) and stats.rows_read > AGAIN * stats.samples
    return later or stats.rows_read > (1 + AGAIN) * max(stats.samples, situation.rows)


# ---- the sentences


def _training(_share: str, stats: Stats, _situation: Situation) -> str:
    away = 100 * (1 - stats.stall / stats.wall)
    return (
        "Your training step is slower than the loader: batches were ready for it, and it took "
        f"{away:.0f} % of the time. Nothing to gain here."
    )


def _read(share: str, stats: Stats, situation: Situation) -> str:
    o, advice = situation.options, list[str]()
    if o.cache is None:
        advice.append("cache='encoded' keeps rows in memory for later epochs")
    elif situation.mode == "whole":
        advice.append("later epochs take the rows from memory")
    if o.columns is None:
        advice.append("columns= names those you need")
    if situation.mode == "rows" and situation.shuffle == "exact":
        advice.append("shuffle='block' reads whole blocks")
    if o.cache != "disk":
        what = "what was computed" if situation.computed else "rows that come from far away"
        advice.append(f"cache='disk' keeps {what}")
    speed = f"{words.size(round(stats.bytes_read / stats.wall))}/s"
    told = _list(advice) or "a store that is nearer would help"
    who = "Computing the query's columns" if situation.computed else "The reader"
    return f"{who} is slow: {share} goes into waiting for it, at {speed}; {told}."


def _memory(share: str, _stats: Stats, situation: Situation) -> str:
    return (
        f"The memory budget is too small: blocks are read again, and {share} goes into waiting for "
        f"them; memory_budget={words.size(situation.options.budget)} now, and about "
        f"{words.size(round(1.3 * situation.stored))} would hold all rows."
    )


def _decode(share: str, _stats: Stats, situation: Situation) -> str:
    o, advice = situation.options, list[str]()
    codecs = set(situation.pictures.values())
    if any(o.size_of(name) is None for name, c in situation.pictures.items() if c != "mask"):
        advice.append("size= decodes at the size you need")
    if o.cache != "decoded" and o.workers == "threads" and codecs:
        advice.append("cache='decoded' decodes once, as far as the memory goes")
    return f"Decoding {_what(codecs)} takes {share}: {_list([*advice, _more(o)])}."


def _what(codecs: set[str]) -> str:
    """Say what is decoded.

    >>> _what({"jpeg", "mask"}), _what({"auto"}), _what(set())
    ('JPEG and masks', 'pictures', 'values')
    """
    files = sorted(codec.upper() for codec in codecs - {"auto", "mask"})
    files += ["pictures"] if "auto" in codecs else []
    files += ["masks"] if "mask" in codecs else []
    return " and ".join(files) or "values"


def _transform(share: str, _stats: Stats, situation: Situation) -> str:
    o, advice = situation.options, list[str]()
    name = "batch_transform" if o.transform is None else "transform"
    if o.workers == "threads":
        advice.append("workers='processes' runs Python on all cores")
    if o.transform is not None:
        advice.append("batch_transform= does it for a batch at a time")
    return f"Your {name} takes {share}: {_list([*advice, _more(o)])}."


def _collate(share: str, _stats: Stats, situation: Situation) -> str:
    o = situation.options
    if callable(o.collate):
        advice = ["collate='stack', 'pad', 'list' or 'ragged' do it without Python"]
        who = "Your collate function takes"
    else:
        advice = ["collate='list' or 'ragged' copies least", "size= brings pictures to one shape"]
        who = "Collating takes"
    return f"{who} {share}: {_list([*advice, _more(o)])}."


def _hand_over(share: str, _stats: Stats, situation: Situation) -> str:
    way = (
        "an epoch of one batch is mostly the start of threads"
        if situation.batches == 1
        else f"a larger batch_size than {situation.options.batch_size} has less of it"
    )
    return f"Handing batches over takes {share}, more than making them: {way}."


_SENTENCES = {
    "training": _training,
    "memory": _memory,
    **dict(zip(STAGES, (_read, _decode, _transform, _collate, _hand_over), strict=False)),
}


def _more(options: Options) -> str:
    """Say how more workers would come."""
    if options.threads < cores():
        return f"num_workers={cores()} uses all cores"
    return "more cores, with num_workers= as many"


def _list(parts: list[str]) -> str:
    """Join advice as people write it.

    >>> _list(["a", "b", "c"])
    'a, b, or c'
    """
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])}, or {parts[-1]}"
