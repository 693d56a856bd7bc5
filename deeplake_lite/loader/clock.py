"""The clock with which loaders measure time, and which tests replace."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

now: Callable[[], float] = time.perf_counter
"""Return the seconds since an arbitrary moment."""
