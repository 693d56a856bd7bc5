"""What a user may ask of a loader, checked once."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from deeplake_lite.checks import (
    choice,
    flag,
    function,
    height_and_width,
    integer,
    memory,
    names,
)
from deeplake_lite.dataset.keywords import Keywords
from deeplake_lite.errors import ColumnNotFoundError, OptionError
from deeplake_lite.htypes.image import CHANNELS
from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.loader.make.collate import CHOICES, fits
from deeplake_lite.loader.make.sizes import is_of_pictures, picture_followed

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deeplake_lite.dataset.keywords import Collate
    from deeplake_lite.schema import Field

LEAST = {"batch_size": 1, "num_workers": 0, "world_size": 1, "rank": 0, "seed": None}
"""Options that are integers, and the least that each may be."""

OF_DATALOADER = {
    "collate_fn": "collate= takes a function of a list of samples, or 'stack', 'pad', 'list' or "
    "'ragged'",
    "pin_memory": "view.pytorch(…, device='cuda') pins memory, and copies ahead, by itself",
    "pin_memory_device": "view.pytorch(…, device='cuda') pins memory by itself",
    "sampler": "shuffle= and seed= say the order, and a view of chosen rows, view[positions], "
    "those that come; DataLoader(view.pytorch_dataset(), sampler=…) takes one of your own",
    "batch_sampler": "batch_size=, shuffle= and last= say which batches there are; "
    "DataLoader(view.pytorch_dataset(), batch_sampler=…) takes one of your own",
    "prefetch_factor": "how much is read ahead follows from memory_budget=, leave it out",
    "persistent_workers": "workers stay until loader.close(), leave it out",
    "worker_init_fn": "a transform with a parameter rng has a generator of its own, leave it out",
    "multiprocessing_context": "workers='processes' spawns them, leave it out",
    "generator": "seed= is what the order and transforms depend on",
    "timeout": "a worker that dies raises by itself, leave it out",
    "in_order": "batches come in order, leave it out",
    "dataset": "the view is the dataset, leave it out",
    "device": "view.pytorch(…, device=…) has it; JAX has sharding=",
    "sharding": "view.jax(…, sharding=…) has it",
}
"""What to write here for words of PyTorch's DataLoader, and of one exporter alone."""

LEAST_BUDGET = 64 * 2**20
"""Memory that a loader takes at the least, bytes."""


@dataclass(frozen=True)
class Options(Keywords):
    """Of one loader; see `View.batches` for what each means."""

    @classmethod
    def of(cls, *, drop_last: bool = False, **options: Any) -> Options:
        """Return options as users give them.

        >>> Options.of(batch_size=2, drop_last=True, columns=["x"]).last
        'drop'
        """
        known = [*(f.name for f in fields(cls)), "drop_last"]
        for name in options:
            if name not in known:
                raise OptionError(_unknown(name, known))
        drop_last = flag("drop_last", drop_last)
        if drop_last and options.get("last") not in (None, "drop"):
            raise OptionError(f"drop_last=True is last='drop', got last={options['last']!r}, too.")
        if drop_last:
            options["last"] = "drop"
        columns = options.get("columns")
        if columns is not None:
            options["columns"] = names("columns", columns)
        if "batch_size" not in options:
            raise OptionError("A loader needs a batch_size, how many rows a batch has.")
        return cls(**options)

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            value = getattr(self, name)
            if value is not None or name in ("batch_size", "seed"):
                object.__setattr__(self, name, integer(name, value, least))
        if (self.rank is None) != (self.world_size is None):
            raise OptionError("rank and world_size go together: give both, or neither.")
        if self.rank is not None and self.rank >= cast("int", self.world_size):
            raise OptionError(f"rank is below world_size={self.world_size}, got {self.rank}.")
        for name in ("row_ids", "progress"):
            object.__setattr__(self, name, flag(name, getattr(self, name)))
        for name in ("transform", "batch_transform"):
            function(name, getattr(self, name))
        choice("last", self.last, ("uneven", "drop", "pad", None))
        choice("cache", self.cache, ("encoded", "decoded", "disk", None))
        choice("workers", self.workers, ("threads", "processes"))
        choice("on_error", self.on_error, ("raise", "skip"))
        if self.memory_budget is not None:
            budget = memory("memory_budget", self.memory_budget)
            object.__setattr__(self, "memory_budget", budget)
        if self.size is not None:
            object.__setattr__(self, "size", _size(self.size))
        modes = self.mode.values() if isinstance(self.mode, Mapping) else [self.mode]
        for mode in modes:
            choice("mode", mode, (*CHANNELS, None))
        if self.cache == "decoded" and self.workers == "processes":
            raise OptionError(
                "cache='decoded' keeps pixels where they are decoded, which is in no one process "
                "with workers='processes'. Take workers='threads', or cache='encoded'."
            )
        named = self.collate.values() if isinstance(self.collate, Mapping) else [self.collate]
        for how in () if callable(self.collate) else named:
            choice("collate", how, (*CHOICES, None))

    @property
    def needs_ids(self) -> bool:
        """Whether something depends on the rows' ids."""
        transforms = self.transform is not None or self.batch_transform is not None
        return self.row_ids or transforms or self.on_error == "skip"

    @property
    def threads(self) -> int:
        """How many threads, or processes, make batches; 0 for the caller's own thread."""
        return cores() if self.num_workers is None else self.num_workers

    @cached_property
    def budget(self) -> int:
        """Bytes that the loader may hold: as the user says, or a quarter of what was free."""
        if self.memory_budget is not None:
            return max(LEAST_BUDGET, cast("int", self.memory_budget))
        return max(LEAST_BUDGET, free_memory() // 4)

    def collate_of(self, f: Field) -> Collate | None:
        """Return how a column's values go together; None for what suits them."""
        if isinstance(self.collate, Mapping):
            return self.collate.get(f.name)
        if callable(self.collate) or self.collate is None:
            return None
        return self.collate if fits(f.htype, self.collate) else None

    def check_columns(self, fields: Sequence[Field]) -> None:
        """Refuse options of columns that there are not, and keys that a column has already.

        Raises
        ------
        ColumnNotFoundError, OptionError
            See above.
        """
        known = [f.name for f in fields]
        named: list[str] = []
        if isinstance(self.collate, Mapping) and self.transform is None:
            named += self.collate
        for by_name in (self.size, self.mode):
            if isinstance(by_name, Mapping):
                named += by_name
        for name in named:
            if name not in known:
                raise ColumnNotFoundError.named("column", name, known)
        if self.size is not None:
            self._check_pictures(
                fields, "size", self.size, "brings columns of type Image to one size"
            )
            self.picture_followed(fields)
        if self.mode is not None:
            self._check_pictures(fields, "mode", self.mode, "converts columns of type Image")
        for f in fields:
            check_keys(f.name, self._keys(f), known)

    def _check_pictures(self, fields: Sequence[Field], option: str, value: Any, does: str) -> None:
        """Refuse an option of pictures for what is no picture. Raises OptionError."""
        pictures = [f.name for f in fields if is_of_pictures(f.htype)]
        named = list(value) if isinstance(value, Mapping) else pictures
        for f in fields:
            if f.name not in pictures and (f.name in named or not named):
                there = ", ".join(map(repr, pictures)) or "none of these columns"
                raise OptionError(
                    f"{option} {does}, got {f.name!r}, {f.htype}. Pictures are {there}; a "
                    "transform can change anything."
                )

    def picture_followed(self, fields: Sequence[Field]) -> str | None:
        """Return the picture that boxes and their like follow to another size; None where none is.

        Raises
        ------
        OptionError
            Where it is not clear which.
        """
        pictures = [f.name for f in fields if is_of_pictures(f.htype)]
        return picture_followed(fields, [n for n in pictures if self.size_of(n) is not None])

    def _keys(self, f: Field) -> list[str]:
        """Return the keys of what goes with a column."""
        how = self.collate_of(f)
        keys = [f"{f.name}_mask"] if how == "pad" else []
        pictures = f.htype.pixels is not None and self.size_of(f.name) is not None
        stacked = isinstance(f.htype.layout, Dense) or pictures
        if f.htype.nullable and (how or ("stack" if stacked else "list")) != "list":
            keys.append(f"{f.name}_valid")
        return [] if callable(self.collate) else keys

    def mode_of(self, name: str) -> str | None:
        """Return what a column's pictures are converted to."""
        return self.mode.get(name) if isinstance(self.mode, Mapping) else self.mode

    def size_of(self, name: str) -> tuple[int, int] | None:
        """Return the height and width that a column's pictures are brought to."""
        return self.size.get(name) if isinstance(self.size, Mapping) else self.size


def check_keys(name: str, keys: Iterable[str], columns: Sequence[str]) -> None:
    """Refuse keys that go with a column where other columns have them. Raises OptionError.

    >>> check_keys("boxes", ["boxes_mask"], ["boxes", "boxes_mask"])
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.OptionError: A batch says under 'boxes_mask' which rows ...
    """
    for key in keys:
        if key in columns:
            raise OptionError(
                f"A batch says under {key!r} which rows of {name!r} are null or padded, and there "
                "is a column of that name. Leave it out with columns=[…], or rename it."
            )


def _unknown(name: str, known: Sequence[str]) -> str:
    """Say what to write in place of an option that there is not."""
    if name in OF_DATALOADER:
        return f"A loader has no option {name!r}: {OF_DATALOADER[name]}."
    near = get_close_matches(name, known, n=1)
    hint = f"Did you mean {near[0]!r}? " if near else ""
    return f"A loader has no option {name!r}. {hint}It has {', '.join(known)}."


def _size(value: Any) -> tuple[int, int] | dict[str, tuple[int, int]]:
    """Return a size, or sizes by column, as they were meant. Raises OptionError."""
    if isinstance(value, Mapping):
        return {name: height_and_width(f"size of {name!r}", one) for name, one in value.items()}
    return height_and_width("size", value)


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def free_memory() -> int:
    """Return the bytes that may be taken without swapping; 4 GiB where the system does not say."""
    found = [4 * 2**30]
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        found = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")]
    except (OSError, ValueError, IndexError):
        pass
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            found.append(int(Path(limit).read_text()))
        except (OSError, ValueError):
            continue
    return min(found or [4 * 2**30])
