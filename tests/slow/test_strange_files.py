"""No operation hangs when any file of a lake is replaced by a pipe, folder, device or link."""

from __future__ import annotations

from tests.storage import strange_files

CASES = 500
"""More than there are."""


def test_special_files_block_no_operation(tmp_path, trials):
    lake = strange_files.make(tmp_path / "a.lake")
    cases = [
        (place, kind, list(strange_files.OPERATIONS))
        for place in strange_files.places(lake).values()
        for kind in strange_files.KINDS
    ]
    step = max(1, CASES // trials(CASES))
    assert not strange_files.wrong(lake, tmp_path, cases[::step])
