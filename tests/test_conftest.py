"""What the settings of all tests promise."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import deeplake_lite as dl


def test_doctests_write_nothing_to_the_home_of_whoever_runs_them(tmp_path):
    unset = ("XDG_STATE_HOME", "XDG_CACHE_HOME", "IPYTHONDIR", "PYTEST_ADDOPTS")
    environ = {name: value for name, value in os.environ.items() if name not in unset}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "restore"]
    done = subprocess.run(
        [*command, "deeplake_lite/widget/browser.py"],
        cwd=Path(dl.__file__).parents[1],
        env={**environ, "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert list(tmp_path.rglob("*")) == []
