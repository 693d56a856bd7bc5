"""Blocks kept as files: what other processes remove, and what a crash leaves behind."""

from __future__ import annotations

import os
import time

import numpy as np
import pytest

from deeplake_lite.errors import LoaderError
from deeplake_lite.htypes.cells import DenseCells, RaggedCells
from deeplake_lite.loader.read.disk import Disk


def test_a_file_that_another_process_removes_meanwhile_is_no_error(tmp_path):
    block = tmp_path / "other" / "0"
    block.mkdir(parents=True)
    (block / "gone.npy").symlink_to(tmp_path / "nowhere")
    Disk("own", tmp_path, ["x"])
    assert (tmp_path / "own").is_dir()


def test_a_block_that_a_crash_has_cut_short_is_read_anew(tmp_path):
    disk = Disk("own", tmp_path, ["x"])
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
    Disk("own", tmp_path, ["x"])
    assert begun.is_dir()
    assert not old.exists()


@pytest.mark.parametrize("gone", ["78.*", "79.starts.npy", "*"])
def test_a_block_of_which_files_are_gone_is_read_and_kept_anew(tmp_path, gone):
    disk = Disk("own", tmp_path, ["x", "y"])
    texts = RaggedCells([b"a", b"bc"], np.empty((2, 0), np.int32))
    cells = {"x": DenseCells(np.arange(2)), "y": texts}
    disk.save(0, cells)
    for file in (tmp_path / "own" / "0").glob(gone):
        file.unlink()
    assert disk.load(0) is None
    disk.save(0, cells)
    assert disk.load(0).keys() == {"x", "y"}


def test_a_folder_that_another_process_removes_keeps_no_more_blocks(tmp_path):
    disk = Disk("own", tmp_path, ["x"])
    (tmp_path / "own").rmdir()
    disk.save(0, {"x": DenseCells(np.arange(4))})
    assert disk.load(0) is None


def test_a_cache_that_cannot_be_written_says_where_it_is(make_lake, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    loader = make_lake({"x": "int32"}, x=[1, 2]).batches(2, cache="disk")
    with pytest.raises(LoaderError, match=r"cache='disk' keeps files below .*Set XDG_CACHE_HOME"):
        next(iter(loader))
