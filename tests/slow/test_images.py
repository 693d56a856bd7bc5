"""Mutated images, and images with false headers, raise our errors or decode in bounded memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

MUTATED = 10_000
MEMORY = 1_536 * 2**20
"""Address space of the child, beyond which allocations fail: half of it is libraries."""


def test_mutated_images_raise_only_our_errors_in_bounded_memory(trials, tmp_path):
    count = trials(MUTATED)
    child = Path(__file__).with_name("images_child.py")
    done = subprocess.run(
        [sys.executable, str(child), str(count), str(MEMORY), str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2_000:] + done.stderr[-8_000:]
    result = json.loads(done.stdout.splitlines()[-1])
    print(result)  # noqa: T201 - the figures to publish
    assert result["trials"] >= count
    assert result["foreign"] == []
    assert result["refused"] > count // 10
    assert result["decoded"] > count // 100
    assert result["peak_rss"] < MEMORY
