"""Packages that cannot share a process with others are tested in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import APART
from deeplake_lite.dataset.export.lakes.package import load_deeplake
from deeplake_lite.errors import MissingPackageError

ROOT = Path(__file__).parent.parent

FILES = sorted(path.name for path in (ROOT / "tests" / "apart").glob("test_*.py"))


def run(*names):
    """Run tests in another process; show what they print if they fail."""
    options = ["-q", "-n", "0", "-p", "no:cacheprovider"]
    command = [sys.executable, "-m", "pytest", *options, *names]
    env = {**os.environ, "PYTEST_APART": "1", "PYTEST_ADDOPTS": ""}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stdout[-20_000:]}\n{done.stderr[-5_000:]}"
    assert " passed" in done.stdout


@pytest.mark.parametrize("name", FILES)
def test_file_of_tests_passes(name):
    run(f"tests/apart/{name}")


def test_doctests_pass():
    run("--doctest-modules", *(path for path in APART if path.startswith("deeplake_lite")))


def test_import_that_would_end_the_process_is_refused(monkeypatch):
    monkeypatch.delitem(sys.modules, "deeplake", raising=False)
    monkeypatch.setitem(sys.modules, "tensorflow", sys)
    with pytest.raises(MissingPackageError, match=r"crashes if it is imported after \w+. Restart"):
        load_deeplake("from_deeplake")
