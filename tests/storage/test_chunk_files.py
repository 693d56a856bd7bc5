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


def test_range_is_the_same_read_or_mapped(file, monkeypatch):
    expected = ends(file.read_bytes()[3:1000])
    assert ends(_read(str(file), 3, 1000)) == expected
    monkeypatch.setattr(chunk_files, "MAPPED_BYTES", 1)
    assert ends(_read(str(file), 3, 1000)) == expected


@pytest.mark.usefixtures("mapped")
def test_ranges_of_a_file_share_a_map_that_is_released_with_them(file):
    one, other = _read(str(file), 0, 500), _read(str(file), 500, 900)
    assert one.obj is other.obj
    del one, other
    gc.collect()
    assert str(file) not in chunk_files._mapped


@pytest.mark.usefixtures("mapped")
def test_mapped_range_survives_deletion_of_its_file(file):
    data = _read(str(file), 0, 2048)
    file.unlink()
    assert ends(data) == (b"\x00\x01", b"\xfe\xff", 2048)


@pytest.mark.usefixtures("mapped")
def test_large_files_are_read_instead_of_mapped(file, monkeypatch):
    monkeypatch.setattr(chunk_files, "MAX_MAPPED_BLOCKS", 0)
    assert isinstance(_read(str(file), 0, 2048).obj, bytes)


@pytest.mark.usefixtures("mapped")
def test_truncated_file_returns_the_available_bytes(file):
    assert len(_read(str(file), 2000, 3000)) == 48


@pytest.mark.usefixtures("mapped")
def test_missing_and_empty_files_are_left_to_the_engine(tmp_path):
    (tmp_path / "EMPTY").touch()
    assert _read(str(tmp_path / "NONE"), 0, 9) is None
    assert len(_read(str(tmp_path / "EMPTY"), 0, 9)) == 0
    assert _read(None, 0, 9) is None


@pytest.mark.parametrize(("limit", "most"), [(-1, 4096), (10**6, 4096), (1024, 256), (200, 50)])
def test_number_of_mapped_files_respects_the_open_file_limit(monkeypatch, limit, most):
    limits = SimpleNamespace(RLIMIT_NOFILE=7, getrlimit={7: (limit, limit)}.get)
    monkeypatch.setattr(chunk_files, "resource", limits)
    assert chunk_files.most_mapped() == most


def test_no_file_is_mapped_on_systems_without_such_a_limit(monkeypatch):
    monkeypatch.setattr(chunk_files, "resource", None)
    assert chunk_files.most_mapped() == 0
