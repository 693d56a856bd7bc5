"""What a user may ask of a loader, checked once."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from deeplake_lite.errors import ColumnNotFoundError
from deeplake_lite.htypes.base import Dense
from deeplake_lite.loader.collate import CHOICES, fits

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deeplake_lite.loader.collate import Collate
    from deeplake_lite.loader.shares import Last
    from deeplake_lite.schema import Field

type Cache = Literal["encoded", "decoded", "disk"] | None

LEAST = {"batch_size": 1, "num_workers": 0, "world_size": 1, "rank": 0, "seed": None}
"""Options that are integers, and the least that each may be."""

LEAST_BUDGET = 64 * 2**20
"""Memory that a loader takes at the least, bytes."""


@dataclass(frozen=True)
class Options:
    """Of one loader; see `batches` for what each means."""

    batch_size: int
    columns: tuple[str, ...] | None = None
    shuffle: bool | str = False
    seed: int = 0
    last: Last | None = None
    transform: Callable[..., Any] | None = None
    batch_transform: Callable[..., Any] | None = None
    collate: Collate | Mapping[str, Collate] | Callable[[list[Any]], Any] | None = None
    size: tuple[int, int] | Mapping[str, tuple[int, int]] | None = None
    rank: int | None = None
    world_size: int | None = None
    memory_budget: int | None = None
    cache: Cache = "encoded"
    workers: Literal["threads", "processes"] = "threads"
    num_workers: int | None = None
    on_error: Literal["raise", "skip"] = "raise"
    row_ids: bool = False
    progress: bool = False

    @classmethod
    def of(cls, *, drop_last: bool = False, **options: Any) -> Options:
        """Return options as users give them.

        >>> Options.of(batch_size=2, drop_last=True, columns=["x"]).last
        'drop'
        """
        known = [f.name for f in fields(cls)]
        for name in options.keys() - set(known):
            near = get_close_matches(name, known, n=1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            raise TypeError(f"A loader has no option {name!r}. {hint}It has {', '.join(known)}.")
        if drop_last and options.get("last") not in (None, "drop"):
            raise ValueError(f"drop_last=True is last='drop', got last={options['last']!r}, too.")
        if drop_last:
            options["last"] = "drop"
        columns = options.get("columns")
        if columns is not None:
            options["columns"] = (columns,) if isinstance(columns, str) else tuple(columns)
        return cls(**options)

    def __post_init__(self) -> None:
        for name, least in LEAST.items():
            value = getattr(self, name)
            if value is not None or name in ("batch_size", "seed"):
                object.__setattr__(self, name, integer(name, value, least))
        if (self.rank is None) != (self.world_size is None):
            raise ValueError("rank and world_size go together: give both, or neither.")
        if self.rank is not None and self.rank >= cast("int", self.world_size):
            raise ValueError(f"rank is below world_size={self.world_size}, got {self.rank}.")
        _check("last", self.last, ("uneven", "drop", "pad", None))
        _check("cache", self.cache, ("encoded", "decoded", "disk", None))
        _check("workers", self.workers, ("threads", "processes"))
        _check("on_error", self.on_error, ("raise", "skip"))
        if self.cache == "decoded" and self.workers == "processes":
            raise ValueError(
                "cache='decoded' keeps pixels where they are decoded, which is in no one process "
                "with workers='processes'. Take workers='threads', or cache='encoded'."
            )
        named = self.collate.values() if isinstance(self.collate, Mapping) else [self.collate]
        for how in () if callable(self.collate) else named:
            _check("collate", how, (*CHOICES, None))

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
            return max(LEAST_BUDGET, int(self.memory_budget))
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
        ColumnNotFoundError, ValueError
            See above.
        """
        names = [f.name for f in fields]
        named: list[str] = []
        if isinstance(self.collate, Mapping) and self.transform is None:
            named += self.collate
        if isinstance(self.size, Mapping):
            named += self.size
        for name in named:
            if name not in names:
                raise ColumnNotFoundError.named("column", name, names)
        for f in fields:
            for key in self._keys(f):
                if key in names:
                    raise ValueError(
                        f"A batch says under {key!r} which rows of {f.name!r} are null or padded, "
                        f"and there is a column of that name. Leave it out with columns=[…], or "
                        f"rename it."
                    )

    def _keys(self, f: Field) -> list[str]:
        """Return the keys of what goes with a column."""
        how = self.collate_of(f)
        keys = [f"{f.name}_mask"] if how == "pad" else []
        stacked = isinstance(f.htype.layout, Dense) or self.size_of(f.name) is not None
        if f.htype.nullable and (how or ("stack" if stacked else "list")) != "list":
            keys.append(f"{f.name}_valid")
        return keys if self.transform is None and not callable(self.collate) else []

    def size_of(self, name: str) -> tuple[int, int] | None:
        """Return the height and width that a column's pictures are brought to."""
        return self.size.get(name) if isinstance(self.size, Mapping) else self.size


def integer(name: str, value: Any, least: int | None = None) -> int:
    """Return an integer of any kind as Python's, which JSON takes.

    Raises
    ------
    ValueError
        For anything else, and for one below `least`.

    Examples
    --------
    >>> integer("epoch", np.int64(3), 0)
    3
    """
    try:
        number = None if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        number = None
    if number is None or (least is not None and number < least):
        rule = "an integer" if least is None else f"an integer of at least {least}"
        raise ValueError(f"{name} is {rule}, got {value!r}.")
    return number


def _check(name: str, value: Any, choices: Sequence[Any]) -> None:
    if value not in choices:
        raise ValueError(f"{name} is one of {', '.join(map(repr, choices))}, got {value!r}.")


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
