"""Guarantees of the shared test settings."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import deeplake_lite as dl


def test_doctests_write_nothing_to_the_users_home_folder(tmp_path):
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


def test_files_left_out_of_a_fast_run_exist():
    root = Path(dl.__file__).parents[1]
    names = (root / "tests" / "not_fast.txt").read_text("utf-8").split()
    assert len(names) > 10
    assert [name for name in names if not (root / name).is_file()] == []


def test_lakes_in_memory_have_names_of_their_own():
    # Lakes in memory outlive their test, and any tests may share a process.
    files = defaultdict(set)
    for path in Path(__file__).parent.rglob("*.py"):
        for name in re.findall(r'create\(\s*"memory://([\w-]+)"', path.read_text("utf-8")):
            files[name].add(path.name)
    assert len(files) > 100
    assert {name: paths for name, paths in files.items() if len(paths) > 1} == {}
