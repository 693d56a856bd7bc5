"""Long-running checks: `uv run --all-extras pytest tests/slow`, five hours on two cores.

`--trials` scales each check: `--trials 0.1` does a tenth of its documented count.
"""

from __future__ import annotations

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_addoption(parser):
    parser.addoption("--trials", type=float, default=1.0, help="fraction of the documented count")


def pytest_collection_modifyitems(items):
    for item in items:
        if HERE in item.path.parents:
            item.add_marker("slow")


@pytest.fixture
def trials(request):
    """Scale a documented count: `trials(1_000)` is 100 with `--trials 0.1`."""
    return lambda count: max(1, round(count * request.config.getoption("--trials")))
