"""Thumbnails are made once, cached by content, and shared by rows and versions."""

from __future__ import annotations

import os
from dataclasses import replace
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import deeplake_lite as dl
from deeplake_lite.widget.images import cache, thumbnails
from deeplake_lite.widget.images import drawing as pictures
from deeplake_lite.widget.images.cache import Disk, Memory, folder_beside
from deeplake_lite.widget.images.drawing import WebImage
from deeplake_lite.widget.images.thumbnails import Thumbnails

FIRST = np.array([0])


@pytest.fixture
def drawn(monkeypatch):
    """Count drawn images."""
    seen, draw = [], pictures.draw_image

    def counted(htype, data, shape, side):
        seen.append(side)
        return draw(htype, data, shape, side)

    monkeypatch.setattr(pictures, "draw_image", counted)
    return seen


@pytest.fixture
def large(monkeypatch):
    """Treat images of a few pixels as large."""
    monkeypatch.setattr(thumbnails, "LARGE", 300 * 200)


@pytest.fixture
def photos(tmp_path):
    """Return a lake in a folder, with large images."""
    ds = dl.create(str(tmp_path / "photos.lake"), {"image": "image"})
    ramp = np.arange(600 * 900, dtype="uint32").reshape(600, 900)
    ds.append({"image": [(ramp >> i).astype("uint8") for i in range(3)]})
    ds.commit("photos")
    return ds


def test_image_is_drawn_once_for_equal_cells_and_later_versions(make_lake, drawn):
    picture = np.zeros((300, 200, 3), "uint8")
    ds = make_lake({"image": "image", "x": "int32"}, image=[picture, picture], x=[1, 2])
    small = Thumbnails(ds.url)
    small.of(ds, "image", FIRST, 64)
    assert small.of(ds, "image", FIRST, 64) == small.of(ds, "image", np.array([1]), 64)
    ds["x"][0] = 5
    small.of(ds, "image", FIRST, 64)
    ds.commit("another version")
    small.of(ds, "image", FIRST, 64)
    assert drawn == [64]
    ds["image"][0] = picture + 1
    small.of(ds, "image", FIRST, 64)
    small.of(ds, "image", FIRST, 128)
    assert drawn == [64, 64, 128]


def test_columns_that_interpret_the_same_bytes_differently_are_drawn_separately(make_lake, drawn):
    picture = np.zeros((300, 200, 3), "uint8")
    ds = make_lake({"a": dl.Image("png"), "b": dl.Image("png", mode="L")}, a=[picture], b=[picture])
    small = Thumbnails(ds.url)
    for name in "ab":
        small.of(ds, name, FIRST, 64)
    assert drawn == [64, 64]


@pytest.mark.usefixtures("large")
def test_large_originals_are_cached_next_to_the_lake_at_one_size(photos, drawn):
    [first] = Thumbnails(photos.url).of(photos, "image", FIRST, 128)
    files = [p for p in Path(photos.url).parent.rglob("*") if ".thumbnails" in str(p)]
    assert [p.is_file() for p in files].count(True) == 1
    assert not list(Path(photos.url).rglob("*thumbnails*"))
    again = Thumbnails(photos.url)
    assert again.of(photos, "image", FIRST, 128) == [first]
    [larger] = again.of(photos, "image", FIRST, 256)
    assert drawn == [512]
    assert (larger.width, larger.height) == (900, 600)
    assert max(Image.open(BytesIO(larger.data)).size) == 256


@pytest.mark.usefixtures("large")
def test_truncated_or_changed_file_is_drawn_again(photos, drawn):
    Thumbnails(photos.url).of(photos, "image", FIRST, 64)
    [file] = [p for p in folder_beside(photos.url).rglob("*") if p.is_file()]
    whole = file.read_bytes()
    for data in (b"", whole[:10], whole[:-1], whole[:-1] + b"x", b"other" + whole):
        file.write_bytes(data)
        [result] = Thumbnails(photos.url).of(photos, "image", FIRST, 64)
        assert isinstance(result, WebImage)
    assert len(drawn) == 6


@pytest.mark.usefixtures("large")
def test_images_are_shown_even_if_nothing_can_be_written(photos, monkeypatch):
    def refuse(*_args, **_options):
        raise PermissionError("read-only")

    monkeypatch.setattr(cache.tempfile, "mkstemp", refuse)
    monkeypatch.setattr(os, "utime", refuse)
    result = Thumbnails(photos.url).of(photos, "image", np.arange(3), 64)
    assert all(isinstance(one, WebImage) for one in result)


def test_unwritable_folder_moves_the_cache_to_the_users_cache_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    monkeypatch.setattr(os, "access", lambda *_: False)
    assert folder_beside(str(tmp_path / "a.lake")).is_relative_to(tmp_path / "caches")
    assert folder_beside("s3://bucket/a").is_relative_to(tmp_path / "caches")
    assert folder_beside("memory://a") is None


def test_disk_cache_is_bounded_and_evicts_the_least_recently_used(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "_EACH", 1 + 1)
    disk = Disk(tmp_path / "kept", 5000)
    for i in range(20):
        disk.put(f"{i:016x}", WebImage(bytes(1000), "image/png", 3, 2))
        os.utime(disk._file(f"{i:016x}"), (i, i))
    sizes = [p.stat().st_size for p in (tmp_path / "kept").rglob("*") if p.is_file()]
    assert sum(sizes) <= 5000 + 2 * 1100
    assert disk.get(f"{0:016x}") is None
    assert disk.get(f"{19:016x}") == WebImage(bytes(1000), "image/png", 3, 2)


def test_memory_cache_is_bounded_and_evicts_the_least_recently_used():
    memory = Memory(3 * 1200)
    for key in "abc":
        memory.put(key, WebImage(bytes(1000), "image/png", 1, 1))
    memory.get("a")
    memory.put("d", WebImage(bytes(1000), "image/png", 1, 1))
    memory.put("huge", WebImage(bytes(9000), "image/png", 1, 1))
    assert [memory.get(key) is not None for key in ("a", "b", "c", "d", "huge")] == [
        True, False, True, True, False,
    ]  # fmt: skip
    assert memory.nbytes == 3600


def test_corrupted_cache_files_are_detected_by_their_hash(make_lake, monkeypatch):
    ds = make_lake({"image": dl.Image("bmp")}, image=[np.zeros((80, 90, 3), "uint8")] * 2)
    from deeplake_lite.storage.ragged import RaggedColumn

    read = RaggedColumn.read

    async def rotted(self, slots):
        cells = await read(self, slots)
        changed = [bytes(b)[:-1] + b"\7" for b in cells.buffers]
        return type(cells)(changed, cells.shapes, cells.valid)

    monkeypatch.setattr(RaggedColumn, "read", rotted)
    [result] = Thumbnails(ds.url).of(ds, "image", np.array([1]), 64)
    assert "column 'image', row 1: the bytes differ from the bytes that were written" in str(result)


def test_images_passed_through_a_query_are_drawn_once(make_lake, drawn):
    ds = make_lake({"image": "image", "x": "int32"}, image=[np.zeros((300, 200), "uint8")], x=[1])
    small = Thumbnails(ds.url)
    first = small.of(ds, "image", FIRST, 64)
    view = ds.query("SELECT image AS picture, x * 2 AS y")
    assert small.of(view, "picture", FIRST, 64) == first
    joined = ds.query("SELECT a.image, b.image AS other FROM ds AS a JOIN ds AS b ON a.x = b.x")
    assert small.of(joined, "other", FIRST, 64) == first
    assert drawn == [64]


@pytest.mark.usefixtures("large")
def test_cache_file_of_another_type_or_without_an_image_is_drawn_again(photos, drawn):
    made = Thumbnails(photos.url)
    [good] = made.of(photos, "image", FIRST, 64)
    for mime, data in (('image/png" onerror="x', good.data), ("image/png", b"no picture")):
        disk, memory = made._disk, made._memory
        [file] = [path for path in disk._folder.rglob("*") if path.is_file()]
        disk.put(file.name, replace(good, mime=mime, data=data))
        memory.resize(0)
        memory.resize(2**20)
        drawn.clear()
        [again] = made.of(photos, "image", FIRST, 64)
        assert (again.mime, again.data, len(drawn)) == (good.mime, good.data, 1)


def test_browsers_of_a_lake_share_the_images_in_memory(make_lake, drawn):
    lake = make_lake({"image": "image"}, image=[np.zeros((90, 90, 3), "uint8")])
    first, second = Thumbnails(lake.url, 2**20), Thumbnails(lake.url, 2**20)
    first.of(lake, "image", np.array([0]), 64)
    second.of(lake, "image", np.array([0]), 64)
    assert len(drawn) == 1
    assert first._memory is second._memory
