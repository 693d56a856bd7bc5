"""Exports to a file or a folder are written completely, or leave the old content in place."""

from __future__ import annotations

import contextlib
import os
import signal
import threading

import numpy as np
import pytest
from typer.testing import CliRunner

import deeplake_lite as dl
from deeplake_lite.cli.app import app
from deeplake_lite.dataset.export.atomic_files import atomic_write
from deeplake_lite.errors import StorageError
from deeplake_lite.widget.static import html

resource = pytest.importorskip("resource", reason="Windows has no limits of a process")


@contextlib.contextmanager
def full_disk(limit=10_000):
    """Limit the size of files: the closest thing to a full disk without one."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


@pytest.fixture
def lake(make_lake):
    pixels = np.random.default_rng(0).integers(0, 255, (9, 64, 64, 3), np.uint8)
    lake = make_lake(
        {"image": "image", "t": "text", "label": dl.ClassLabel(["a"])},
        image=list(pixels),
        t=["long " * 2000] * 9,
        label=[0] * 9,
    )
    lake["t"][0] = "x"
    lake.commit("x")
    return lake


PAGES = {
    "browser": lambda lake, path: lake.browse().to_html(path),
    "difference": lambda lake, path: dl.browse_diff(lake, lake.log()[1], "main").to_html(path),
}


@pytest.mark.parametrize("old", ["a good page", None])
@pytest.mark.parametrize("page", PAGES)
def test_export_to_a_full_disk_keeps_the_old_page(page, old, lake, tmp_path):
    path = tmp_path / "page.html"
    if old:
        path.write_text(old)
    with full_disk(), pytest.raises(StorageError, match=r"page\.html") as caught:
        PAGES[page](lake, path)
    assert caught.value.filename == str(path)
    assert [p.read_text() for p in tmp_path.iterdir()] == ([old] if old else [])
    assert PAGES[page](lake, path) == path
    assert path.read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("page", PAGES)
def test_unwritable_location_is_reported(page, lake, tmp_path):
    (tmp_path / "file").write_text("a file")
    places = {
        tmp_path: "is a folder. Add the name",
        tmp_path / "none" / "page.html": "no folder '.*none'.* Create the folder first",
        tmp_path / "file" / "page.html": "no folder '.*file'.* Create the folder first",
        tmp_path / ("x" * 300): "too long",
    }
    for path, message in places.items():
        with pytest.raises(StorageError, match=message):
            PAGES[page](lake, path)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_page_is_written_to_the_home_folder_through_links_and_keeps_its_mode(
    lake, tmp_path, monkeypatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    path = lake[:1].browse().to_html("~/page.html", size=16, large=16)
    assert path == tmp_path / "page.html"
    path.chmod(0o640)
    (tmp_path / "link.html").symlink_to("page.html")
    before = path.read_text("utf-8")
    lake[:2].browse().to_html(tmp_path / "link.html", size=16, large=16)
    assert (tmp_path / "link.html").is_symlink()
    assert path.read_text("utf-8") != before
    assert path.stat().st_mode & 0o777 == 0o640


def test_pipe_is_written_directly(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    result = []
    reader = threading.Thread(target=lambda: result.append(pipe.read_text()))
    reader.start()
    with atomic_write(pipe) as draft:
        draft.write_text("through")
    reader.join(10)
    assert result == ["through"]
    assert [p.name for p in tmp_path.iterdir()] == ["pipe"]


def fail_halfway(path, error):
    with atomic_write(path) as draft:
        draft.write_text("half")
        raise error


def test_failed_or_interrupted_export_keeps_the_old_page(lake, tmp_path, monkeypatch):
    path = tmp_path / "page.html"
    path.write_text("a good page")
    for error in (KeyboardInterrupt, MemoryError, RuntimeError):
        with pytest.raises(error):
            fail_halfway(path, error)
    monkeypatch.setattr(html, "PAGE", "\ud800{policy}{title}{style}{rows}{data}{bytes}{script}")
    with pytest.raises(UnicodeEncodeError):
        lake.browse().to_html(path)
    assert [p.read_text() for p in tmp_path.iterdir()] == ["a good page"]


@pytest.mark.parametrize("is_there", [False, True])
def test_folder_export_to_a_full_disk_can_be_repeated(is_there, lake, tmp_path):
    folder = tmp_path / "out"
    if is_there:
        folder.mkdir()
    with full_disk(), pytest.raises(StorageError):
        lake.to_folder(folder)
    assert folder.exists() == is_there
    assert not is_there or list(folder.iterdir()) == []
    lake.to_folder(folder)
    assert len(list((folder / "a").iterdir())) == 9
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError):
        lake.to_folder(tmp_path / "file" / "out")


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_export_to_a_full_disk_leaves_no_partial_file(kind, tmp_path):
    url, out = str(tmp_path / "x.lake"), tmp_path / "out"
    ds = dl.create(url, {"t": "text"})
    letters = np.random.default_rng(0).integers(97, 122, (64, 1000), np.uint8)
    ds.append({"t": [bytes(row).decode() for row in letters]})
    ds.commit("rows")
    command = ["export", url, str(out), "--format", kind]
    with full_disk():
        done = CliRunner().invoke(app, command)
    assert done.exit_code == 2
    assert "error: " in done.output
    assert list(out.iterdir()) == []
    assert CliRunner().invoke(app, command).exit_code == 0
    assert [p.name for p in out.iterdir()] == [f"x.{kind}"]
