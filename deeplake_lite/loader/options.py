"""The options of a loader, checked at construction."""

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
from deeplake_lite.loader.make.sizes import followed_image, is_of_images

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from deeplake_lite.dataset.keywords import Collate
    from deeplake_lite.schema import Field

MAX_THREADS = 8
"""Maximum default number of threads.

Threads that decode images contend for Python's global interpreter lock. On 16 cores, 8 threads
decoded as many images per second as 12, and a third more than 16.
"""

MINIMA = {"batch_size": 1, "num_workers": 0, "world_size": 1, "rank": 0, "seed": None}
"""Minimum value of each integer option; None if any integer is valid."""

DATALOADER_HINTS = {
    "collate_fn": "Use collate=, which accepts a function of a list of samples, or 'stack', 'pad', "
    "'list' or 'ragged'.",
    "pin_memory": "Use view.pytorch(…, device='cuda'), which pins memory and copies ahead.",
    "pin_memory_device": "Use view.pytorch(…, device='cuda'), which pins memory.",
    "sampler": "Set the order with shuffle= and seed=, and choose rows with view[positions]. For "
    "your own sampler, use DataLoader(view.pytorch_dataset(), sampler=…).",
    "batch_sampler": "Use batch_size=, shuffle= and last=. For your own batch sampler, use "
    "DataLoader(view.pytorch_dataset(), batch_sampler=…).",
    "prefetch_factor": "Leave it out: memory_budget= determines how much is read ahead.",
    "persistent_workers": "Leave it out: workers run until loader.close().",
    "worker_init_fn": "Leave it out: a transform with a parameter rng gets its own generator.",
    "multiprocessing_context": "Leave it out: workers='processes' always spawns workers.",
    "generator": "Use seed=, which determines the order and the random numbers of transforms.",
    "timeout": "Leave it out: if a worker dies, the loader raises an error.",
    "in_order": "Leave it out: batches are always in order.",
    "dataset": "Leave it out: the view is the dataset.",
    "device": "Use view.pytorch(…, device=…), or view.jax(…, sharding=…).",
    "sharding": "Use view.jax(…, sharding=…).",
}
"""Hints for options of PyTorch's DataLoader, and for options that only one framework has."""

MIN_BUDGET = 64 * 2**20
"""Minimum memory budget of a loader, in bytes."""


@dataclass(frozen=True)
class Options(Keywords):
    """The options of one loader, which `View.batches` describes."""

    @classmethod
    def of(cls, *, drop_last: bool = False, **options: Any) -> Options:
        """Create options from a user's keywords. Raises OptionError for an invalid option.

        >>> Options.of(batch_size=2, drop_last=True, columns=["x"]).last
        'drop'
        """
        option_names = [*(f.name for f in fields(cls)), "drop_last"]
        for name in options:
            if name not in option_names:
                raise OptionError(_explain_unknown(name, option_names))
        drop_last = flag("drop_last", drop_last)
        if drop_last and options.get("last") not in (None, "drop"):
            raise OptionError(
                f"drop_last=True means last='drop', but last is {options['last']!r}. Leave one of "
                "them out."
            )
        if drop_last:
            options["last"] = "drop"
        columns = options.get("columns")
        if columns is not None:
            options["columns"] = names("columns", columns)
        if "batch_size" not in options:
            raise OptionError(
                "A loader needs batch_size, the number of rows in a batch, but it was not passed. "
                "Pass a number, such as batch_size=64."
            )
        return cls(**options)

    def __post_init__(self) -> None:
        for name, least in MINIMA.items():
            value = getattr(self, name)
            if value is not None or name in ("batch_size", "seed"):
                object.__setattr__(self, name, integer(name, value, least))
        if (self.rank is None) != (self.world_size is None):
            raise OptionError(
                f"rank and world_size must be set together, but rank is {self.rank} and world_size "
                f"is {self.world_size}. Pass both options, or neither."
            )
        if self.rank is not None and self.rank >= cast("int", self.world_size):
            raise OptionError(
                f"rank must be less than world_size={self.world_size}, but it is {self.rank}. "
                "Ranks are numbered from 0."
            )
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
        if self.disk_budget is not None:
            if self.cache != "disk":
                raise OptionError(
                    "disk_budget limits the files of cache='disk', but cache is "
                    f"{self.cache!r}. Pass cache='disk', or leave disk_budget out."
                )
            object.__setattr__(self, "disk_budget", memory("disk_budget", self.disk_budget))
        if self.size is not None:
            object.__setattr__(self, "size", _check_size(self.size))
        modes = self.mode.values() if isinstance(self.mode, Mapping) else [self.mode]
        for mode in modes:
            choice("mode", mode, (*CHANNELS, None))
        if self.cache == "decoded" and self.workers == "processes":
            raise OptionError(
                "cache='decoded' caches pixels in the process that decodes them, but "
                "workers='processes' decodes in several processes. Use workers='threads', or "
                "cache='encoded'."
            )
        ways = self.collate.values() if isinstance(self.collate, Mapping) else [self.collate]
        for how in () if callable(self.collate) else ways:
            choice("collate", how, (*CHOICES, None))

    @property
    def needs_ids(self) -> bool:
        """Whether any option depends on the ids of the rows."""
        transforms = self.transform is not None or self.batch_transform is not None
        return self.row_ids or transforms or self.on_error == "skip"

    @property
    def threads(self) -> int:
        """Number of threads or processes that make batches; 0 if the calling thread makes them."""
        return self.most_workers if self.num_workers is None else self.num_workers

    @property
    def most_workers(self) -> int:
        """Maximum useful number of workers. More workers do not make batches faster."""
        return cores() if self.workers == "processes" else min(cores(), MAX_THREADS)

    @cached_property
    def budget(self) -> int:
        """Memory budget in bytes, which is a quarter of the free memory unless the user sets it."""
        if self.memory_budget is not None:
            return max(MIN_BUDGET, cast("int", self.memory_budget))
        return max(MIN_BUDGET, free_memory() // 4)

    @property
    def disk_bytes(self) -> int | None:
        """Maximum size of all blocks on disk in bytes; None for a share of the free disk space."""
        return cast("int | None", self.disk_budget)

    @property
    def exact_bytes(self) -> int | None:
        """Maximum size of data that ``shuffle=True`` shuffles exactly; None for the default.

        An exact shuffle of more data than the user's budget would read rows one by one. With
        ``cache="disk"``, the budget is the one for the disk.
        """
        if self.cache == "disk":
            return self.disk_bytes
        return None if self.memory_budget is None else self.budget

    def collate_of(self, f: Field) -> Collate | None:
        """Return how to collate a column's values, or None for the default of the column's type."""
        if isinstance(self.collate, Mapping):
            return self.collate.get(f.name)
        if callable(self.collate) or self.collate is None:
            return None
        return self.collate if fits(f.htype, self.collate) else None

    def check_columns(self, fields: Sequence[Field]) -> None:
        """Check that the columns named in options exist, and that batches have no ambiguous key.

        Some options add keys to batches, such as ``"boxes_mask"``, which must not be column names.

        Raises
        ------
        ColumnNotFoundError
            When an option names a column that does not exist.
        OptionError
            When an option does not fit a column, or a column has the name of a key that an option
            adds.
        """
        columns = [f.name for f in fields]
        names_used: list[str] = []
        # A transform may create any key, so its keys need not be columns.
        if isinstance(self.collate, Mapping) and self.transform is None:
            names_used += self.collate
        for by_name in (self.size, self.mode):
            if isinstance(by_name, Mapping):
                names_used += by_name
        for name in names_used:
            if name not in columns:
                raise ColumnNotFoundError.named("column", name, columns)
        if self.size is not None:
            self._check_images(fields, "size", self.size, "resizes columns of type Image")
            self.followed_image(fields)
        if self.mode is not None:
            self._check_images(fields, "mode", self.mode, "converts columns of type Image")
        for f in fields:
            check_keys(f.name, self._added_keys(f), columns)

    def _check_images(self, fields: Sequence[Field], option: str, value: object, does: str) -> None:
        """Raise OptionError if an option for images is set for a column of another type."""
        images = [f.name for f in fields if is_of_images(f.htype)]
        columns = list(value) if isinstance(value, Mapping) else images
        for f in fields:
            if f.name not in images and (f.name in columns or not columns):
                suitable = f"The image columns are {', '.join(map(repr, images))}"
                raise OptionError(
                    f"{option} {does}, but column {f.name!r} is {f.htype}. "
                    f"{suitable if images else 'There is no image column'}. To change other "
                    "values, pass transform=."
                )

    def followed_image(self, fields: Sequence[Field]) -> str | None:
        """Return the name of the image column with which boxes, points and masks are resized.

        Returns None if no image column is resized, or no column has boxes, points or masks.

        Raises
        ------
        OptionError
            When it is ambiguous to which image boxes, points or masks belong, because there are
            several image columns, or because the boxes, points or masks are links.
        """
        images = [f.name for f in fields if is_of_images(f.htype)]
        return followed_image(fields, [n for n in images if self.size_of(n) is not None])

    def _added_keys(self, f: Field) -> list[str]:
        """Return the keys that a column adds to batches, besides its name."""
        how = self.collate_of(f)
        keys = [f"{f.name}_mask"] if how == "pad" else []
        resized = f.htype.pixels is not None and self.size_of(f.name) is not None
        is_stacked = isinstance(f.htype.layout, Dense) or resized
        if f.htype.nullable and (how or ("stack" if is_stacked else "list")) != "list":
            keys.append(f"{f.name}_valid")
        return [] if callable(self.collate) else keys

    def mode_of(self, name: str) -> str | None:
        """Return the mode to which a column's images are converted, or None to keep their mode."""
        return self.mode.get(name) if isinstance(self.mode, Mapping) else self.mode

    def size_of(self, name: str) -> tuple[int, int] | None:
        """Return the height and width to which a column's images are resized, or None."""
        return self.size.get(name) if isinstance(self.size, Mapping) else self.size


def check_keys(name: str, keys: Iterable[str], columns: Sequence[str]) -> None:
    """Raise OptionError if a key that a column adds is the name of another column.

    >>> check_keys("boxes", ["boxes_mask"], ["boxes", "boxes_mask"])
    Traceback (most recent call last):
        ...
    deeplake_lite.errors.OptionError: Batches use the key 'boxes_mask' to mark ...
    """
    for key in keys:
        if key in columns:
            raise OptionError(
                f"Batches use the key {key!r} to mark the null or padded values of {name!r}, but "
                "a column with that name exists. Leave that column out with columns=[…], or rename "
                "it."
            )


def _explain_unknown(name: str, option_names: Sequence[str]) -> str:
    """Return the error message for an option that does not exist."""
    if name in DATALOADER_HINTS:
        return f"A loader has no option {name!r}. {DATALOADER_HINTS[name]}"
    matches = get_close_matches(name, option_names, n=1)
    hint = f"Did you mean {matches[0]!r}? " if matches else ""
    return f"A loader has no option {name!r}. {hint}The options are {', '.join(option_names)}."


def _check_size(value: object) -> tuple[int, int] | dict[str, tuple[int, int]]:
    """Return a size, or a dict from column name to size. Raises OptionError for an invalid size."""
    if isinstance(value, Mapping):
        return {name: height_and_width(f"size of {name!r}", size) for name, size in value.items()}
    return height_and_width("size", value)


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def free_memory() -> int:
    """Return the available memory in bytes, or 4 GiB if the system does not report it."""
    limits = [4 * 2**30]
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        limits = [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")]
    except (OSError, ValueError, IndexError):
        pass
    # In a container, /proc/meminfo describes the host. The cgroup (v2 or v1) has the limit.
    for path in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        try:
            limits.append(int(Path(path).read_text()))
        except (OSError, ValueError):
            continue
    return min(limits or [4 * 2**30])
