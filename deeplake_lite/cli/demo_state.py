"""The class of a step of the demo, and the state that all steps share."""

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
    """The lake of the demo, and the data that the steps pass on to later steps."""

    url: str
    digits: NDArray[np.uint8] = field(default_factory=lambda: np.empty(0, np.uint8))
    """Images of the digits, (n, 8, 8) uint8, with grey values from 0 to 16."""
    truth: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    """The correct label of each image in `digits`, (n,) int64."""
    photographs: list[Path] = field(default_factory=list)
    page: Path | None = None
    """Path of the HTML page with the remaining mistakes, or None until the page is written."""
    lake: Dataset | None = None

    @property
    def ds(self) -> Dataset:
        """The lake, which the step `write_digits` creates."""
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
