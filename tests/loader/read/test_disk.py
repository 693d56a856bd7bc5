"""Blocks kept as files: what other processes remove, and what a crash leaves behind."""

from __future__ import annotations

import os
import time

import numpy as np

from deeplake_lite.htypes.cells import DenseCells
from deeplake_lite.loader.read.disk import Disk


def test_a_file_that_another_process_removes_meanwhile_is_no_error(tmp_path):
    block = tmp_path / "other" / "0"
    block.mkdir(parents=True)
    (block / "gone.npy").symlink_to(tmp_path / "nowhere")
    Disk("own", tmp_path)
    assert (tmp_path / "own").is_dir()


def test_a_block_that_a_crash_has_cut_short_is_read_anew(tmp_path):
    disk = Disk("own", tmp_path)
    disk.save(0, {"x": DenseCells(np.arange(4))})
    [file] = (tmp_path / "own" / "0").iterdir()
    for size in (file.stat().st_size - 1, 0):
        with file.open("r+b") as opened:
            opened.truncate(size)
        assert disk.load(0) is None


def test_what_a_killed_process_began_to_write_is_removed_and_what_others_write_is_not(tmp_path):
    begun, old = tmp_path / "own" / ".now", tmp_path / "own" / ".long ago"
    for folder in (begun, old):
        folder.mkdir(parents=True)
    os.utime(old, (time.time() - 7200,) * 2)
    Disk("own", tmp_path)
    assert begun.is_dir()
    assert not old.exists()
