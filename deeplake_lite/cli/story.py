"""A step of the demo, and the state that the steps share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from numpy.typing import NDArray

    from deeplake_lite.dataset.dataset import Dataset

PRACTICE = "practice"
"""Branch on which the mistakes stay, to be found by hand."""


@dataclass
class Story:
    """State that the steps share."""

    url: str
    digits: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))
    """Greys from 0 to 16, (n, 8, 8)."""
    truth: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """What was written, (n,)."""
    photographs: list[Path] = field(default_factory=list)
    page: Path | None = None
    """The page of the browser, once it is written."""
    lake: Dataset | None = None

    @property
    def ds(self) -> Dataset:
        """The lake, once it is made."""
        assert self.lake is not None
        return self.lake


@dataclass(frozen=True)
class Step:
    """One step of the demo."""

    title: str
    """Description that is printed with the step."""
    code: str
    """Code that does it, or nothing."""
    run: Callable[[Story], str]
    """Does it; returns what was done."""
