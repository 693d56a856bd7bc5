"""Pipes, folders, devices and links in the place of a lake's files: no operation hangs on them.

`tests/slow/test_strange_files.py` tries every file, kind and operation.
"""

from __future__ import annotations

import os

import pytest

from tests.storage import strange_files


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes")
def test_what_is_no_file_stops_no_operation(tmp_path):
    lake = strange_files.make(tmp_path / "a.lake")
    operations = list(strange_files.OPERATIONS)
    cases = []
    for number, place in enumerate(strange_files.places(lake).values()):
        kind = list(strange_files.KINDS)[number % len(strange_files.KINDS)]
        several = {"read", "verify", operations[number % len(operations)]}
        cases.append((place, kind, sorted(several)))
        cases.append((place, "pipe", [operations[(number + 3) % len(operations)]]))
    assert not strange_files.wrong(lake, tmp_path, cases)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="the system has no pipes")
def test_pipes_for_logs_stop_neither_merge_nor_verify_nor_diff(tmp_path):
    lake = strange_files.make(tmp_path / "a.lake")
    found = strange_files.places(lake)
    logs = [found[f"log of {name}"] for name in ("tip", "fix")]
    cases = [(log, "pipe", ["merge", "verify", "diff", "vacuum"]) for log in logs]
    assert not strange_files.wrong(lake, tmp_path, cases)
