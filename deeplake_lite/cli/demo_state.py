"""The state that the steps of the demo share, and the class of a step."""

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
"""Branch that keeps the wrong labels, so that users can look for them."""


@dataclass
class DemoState:
    """The state that the steps share."""

    url: str
    digits: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))
    """Grey values from 0 to 16, (n, 8, 8)."""
    truth: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """The correct labels, (n,)."""
    photographs: list[Path] = field(default_factory=list)
    page: Path | None = None
    """The HTML page of the browser, or None until it is written."""
    lake: Dataset | None = None

    @property
    def ds(self) -> Dataset:
        """The lake, which the first steps create."""
        assert self.lake is not None
        return self.lake


@dataclass(frozen=True)
class Step:
    """One step of the demo."""

    title: str
    """Title to print with the step."""
    code: str
    """Code to print with the step, as an example."""
    run: Callable[[DemoState], str]
    """Runs the step, and returns a line that describes the result."""
