"""Chunk files are read or mapped directly; missing ones are left to the engine."""

from __future__ import annotations

import gc
from types import SimpleNamespace

import pytest

from deeplake_lite.storage import chunk_files
from deeplake_lite.storage.chunk_files import _read


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "CHUNK"
    path.write_bytes(bytes(range(256)) * 8)
    return path


@pytest.fixture
def mapped(monkeypatch):
    monkeypatch.setattr(chunk_files, "MAPPED_BYTES", 1)


def ends(data):
    return bytes(data[:2]), bytes(data[-2:]), len(data)


def test_a_range_is_the_same_read_or_mapped(file, monkeypatch):
    expected = ends(file.read_bytes()[3:1000])
    assert ends(_read(str(file), 3, 1000)) == expected
    monkeypatch.setattr(chunk_files, "MAPPED_BYTES", 1)
    assert ends(_read(str(file), 3, 1000)) == expected


@pytest.mark.usefixtures("mapped")
def test_ranges_of_a_file_share_a_map_that_goes_with_them(file):
    one, other = _read(str(file), 0, 500), _read(str(file), 500, 900)
    assert one.obj is other.obj
    del one, other
    gc.collect()
    assert str(file) not in chunk_files._mapped


@pytest.mark.usefixtures("mapped")
def test_a_mapped_range_stays_when_its_file_goes(file):
    data = _read(str(file), 0, 2048)
    file.unlink()
    assert ends(data) == (b"\x00\x01", b"\xfe\xff", 2048)


@pytest.mark.usefixtures("mapped")
def test_files_beyond_the_bound_are_read(file, monkeypatch):
    monkeypatch.setattr(chunk_files, "MOST_MAPPED", 0)
    assert isinstance(_read(str(file), 0, 2048).obj, bytes)


@pytest.mark.usefixtures("mapped")
def test_a_file_that_is_cut_short_gives_what_there_is(file):
    assert len(_read(str(file), 2000, 3000)) == 48


@pytest.mark.usefixtures("mapped")
def test_what_is_missing_or_empty_is_left_to_others(tmp_path):
    (tmp_path / "EMPTY").touch()
    assert _read(str(tmp_path / "NONE"), 0, 9) is None
    assert len(_read(str(tmp_path / "EMPTY"), 0, 9)) == 0
    assert _read(None, 0, 9) is None


@pytest.mark.parametrize(("limit", "most"), [(-1, 4096), (10**6, 4096), (1024, 256), (200, 50)])
def test_files_are_mapped_within_what_may_be_open(monkeypatch, limit, most):
    limits = SimpleNamespace(RLIMIT_NOFILE=7, getrlimit={7: (limit, limit)}.get)
    monkeypatch.setattr(chunk_files, "resource", limits)
    assert chunk_files.most_mapped() == most


def test_no_file_is_mapped_where_the_system_has_no_such_limit(monkeypatch):
    monkeypatch.setattr(chunk_files, "resource", None)
    assert chunk_files.most_mapped() == 0
