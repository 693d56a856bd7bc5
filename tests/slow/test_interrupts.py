"""Ctrl-C at random moments, by real signals: nothing hangs, and no other error is raised."""

import subprocess
import sys
from pathlib import Path

import pytest

CHILD = str(Path(__file__).with_name("interrupts_child.py"))


@pytest.mark.parametrize("seed", range(4))
def test_random_interrupts_leave_the_expected_contents(tmp_path, trials, seed):
    expected = trials(500)
    done = subprocess.run(
        [sys.executable, CHILD, str(tmp_path / "a.lake"), str(seed), str(expected)],
        capture_output=True,
        text=True,
        timeout=600,  # for a process that hangs, not for a slow one
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert int(done.stdout) >= expected
