"""Tests and doctests write to temporary folders, not to those of whoever runs them."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

FOLDERS = ("XDG_STATE_HOME", "XDG_CACHE_HOME", "IPYTHONDIR")
"""Where drafts of edits, kept thumbnails and blocks, and the history of notebooks go."""


def pytest_configure(config: pytest.Config) -> None:
    """Set the folders before a test imports anything that looks at them."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    if (browsers := cache / "ms-playwright").is_dir():  # Playwright's downloads stay where they are
        os.environ.setdefault("PLAYWRIGHT_BROWSERS_PATH", str(browsers))
    folder = TemporaryDirectory(prefix="deeplake-lite-tests-", ignore_cleanup_errors=True)
    config.add_cleanup(folder.cleanup)
    for name in FOLDERS:
        os.environ[name] = str(Path(folder.name) / name.lower())
        Path(os.environ[name]).mkdir()
