"""The clock that loaders measure with, in one place, so that another can be set."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

now: Callable[[], float] = time.perf_counter
"""Return seconds since some moment."""
