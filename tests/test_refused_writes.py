"""File systems that refuse writes: read-only, full, or with something in a file's place.

The first two are real file systems, mounted in a namespace of a child process.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

import deeplake_lite as dl
from deeplake_lite.errors import DamagedError, StorageError

UNSHARE = ["unshare", "--map-root-user", "--mount"]


def can_mount():
    """Tell whether this machine lets a child process mount a disk of its own, which CI must."""
    if "CI" in os.environ:
        return True
    unshare = shutil.which("unshare")
    return unshare is not None and not subprocess.run([*UNSHARE, "true"], check=False).returncode


CHILD = """
import json, subprocess, sys
root, kind, results = sys.argv[1:]
subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", root], check=True)
import refused_operations
with open(results, "w") as file:  # the engine logs to stdout
    for line in refused_operations.run(root, kind):
        print(json.dumps(line), file=file, flush=True)
"""

OPERATIONS = '''
import os, shutil, subprocess
import numpy as np
import deeplake_lite as dl

ROW = {"a": [1], "t": ["x"], "r": [np.ones((1, 3), "float32")]}
WRITES = {
    "append": lambda ds: (ds.append(ROW), ds.commit("x")),
    "update": lambda ds: (ds.update([1], {"a": [1]}), ds.commit("x")),
    "update strings": lambda ds: (ds.update([1], {"t": ["q" * 999]}), ds.commit("x")),
    "delete": lambda ds: (ds.delete([0]), ds.commit("x")),
    "upsert": lambda ds: (ds.upsert(ROW, on="a"), ds.commit("x")),
    "add_column": lambda ds: (ds.add_column("s", "float32", values=np.ones(50)), ds.commit("x")),
    "drop_column": lambda ds: (ds.drop_column("a"), ds.commit("x")),
    "rename_column": lambda ds: (ds.rename_column("a", "z"), ds.commit("x")),
    "metadata": lambda ds: (ds.metadata.__setitem__("k", "v"), ds.commit("x")),
    "branch": lambda ds: ds.branch("new"),
    "delete_branch": lambda ds: ds.delete_branch("fix"),
    "tag": lambda ds: ds.tag("new"),
    "merge": lambda ds: ds.merge("fix"),
    "restore": lambda ds: (ds.restore("v1"), ds.commit("x")),
    "vacuum": lambda ds: ds.vacuum(older_than="0d"),
    "optimize": lambda ds: ds.optimize(),
    "save": lambda ds: ds.query("SELECT * WHERE a > 5").save("new"),
    "views.delete": lambda ds: ds.views().delete("big"),
    "create": lambda ds: dl.create(ds.url + "-new", {"a": "int32"}),
    "overwrite": lambda ds: dl.create(ds.url, {"a": "int32"}, overwrite=True),
    "materialize": lambda ds: ds.materialize(ds.url + "-copy"),
    "from_arrays": lambda ds: dl.from_arrays({"a": np.arange(5)}, ds.url + "-new"),
}
READS = {
    "open": lambda ds: ds["t"][:],
    "verify": lambda ds: ds.verify(),
    "views": lambda ds: len(ds.views()["big"]),
    "log": lambda ds: list(ds.log()),
    "diff": lambda ds: ds.diff("v1", "fix"),
    "query": lambda ds: ds.query("SELECT a, t WHERE a > 5 ORDER BY t")["t"][:],
    "repr": lambda ds: ds._repr_html_(),
    "batches": lambda ds: list(ds.batches(8)),
    "checkout": lambda ds: ds.checkout("fix"),
    "status": lambda ds: ds.status(),
}

def make(url):
    ds = dl.create(url, {"a": "int32", "t": dl.Text(), "r": dl.Array("float32", None)})
    arrays = [np.ones((i % 5, 3), "float32") for i in range(50)]
    ds.append({"a": np.arange(50), "t": [f"x{i}" for i in range(50)], "r": arrays})
    ds.commit("one")
    ds.branch("fix")
    ds.tag("v1")
    fix = dl.open(url, branch="fix")
    fix["a"][3] = 7
    fix.commit("fix")
    ds.query("SELECT * WHERE a > 3").save("big")
    ds["a"][4] = 8
    ds.commit("two")

def fill(root, spare):
    """Leave `spare` bytes free."""
    file = os.open(root + "/filler", os.O_CREAT | os.O_WRONLY)
    free = os.statvfs(root).f_bavail * os.statvfs(root).f_frsize - spare
    if free > 0:
        os.posix_fallocate(file, 0, free)
    os.close(file)

def attempt(operation, url):
    try:
        operation(dl.open(url))
    except BaseException as error:
        return {"error": [c.__name__ for c in type(error).__mro__], "message": str(error)}
    return {"error": None, "message": ""}

def run(root, kind):
    url, copy = root + "/a.lake", root + "/sound.lake"
    make(copy)
    shutil.copytree(copy, url)
    if kind == "read-only":
        subprocess.run(["mount", "-o", "remount,ro", root], check=True)
    for name, operation in (READS | WRITES).items():
        for spare in [0] if kind == "read-only" else [0, 12288]:
            if kind == "full":
                fill(root, spare)
            result = attempt(operation, url)
            if kind == "full":
                os.unlink(root + "/filler")
            after = dl.open(url)
            yield {
                "name": name, "write": name in WRITES, "spare": spare, **result,
                "sound": bool(after.verify()), "rows": len(after), "left": sorted(os.listdir(root)),
            }
            if name in WRITES and kind == "full":
                for folder in os.listdir(root):
                    if folder != "sound.lake":
                        shutil.rmtree(f"{root}/{folder}")
                shutil.copytree(copy, url)
'''


@pytest.fixture(scope="module", params=["read-only", "full"])
def outcomes(request, tmp_path_factory):
    """Outcomes of every operation on a file system that is read-only or too full."""
    root, code = tmp_path_factory.mktemp("mount"), tmp_path_factory.mktemp("code")
    (code / "refused_operations.py").write_text(OPERATIONS)
    path = os.pathsep.join([str(code), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [*UNSHARE, sys.executable, "-c", CHILD, str(root), request.param, str(code / "results")],
        capture_output=True,
        text=True,
        env={**os.environ, "RUST_BACKTRACE": "0", "PYTHONPATH": path},
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return request.param, [json.loads(line) for line in (code / "results").read_text().splitlines()]


@pytest.mark.skipif(not can_mount(), reason="needs user namespaces of Linux, to mount a disk")
def test_refused_write_raises_our_error_and_leaves_the_lake_intact(outcomes):
    kind, lines = outcomes
    for line in lines:
        shown_as = f"{line['name']} with {line['spare']} bytes: {line['error']} {line['message']}"
        assert line["sound"], shown_as
        if not line["write"]:
            assert line["error"] is None, shown_as
        if line["error"] is not None:
            assert "StorageError" in line["error"], shown_as
            assert line["rows"] == 50, shown_as
            assert line["left"] == ["a.lake", "sound.lake"], shown_as
    refused = {line["name"] for line in lines if line["error"]}
    writes = {line["name"] for line in lines if line["write"]}
    # These need no more space than the copy of the history that they remove.
    spared = {"branch", "delete_branch", "tag", "vacuum"} if kind == "full" else set()
    assert writes - spared <= refused <= writes


def some_lake(folder):
    ds = dl.create(folder / "a.lake", {"a": "int32", "t": dl.Text()})
    ds.append({"a": [1, 2], "t": ["x", "y"]})
    ds.commit("one")
    return ds


@pytest.mark.parametrize("kind", ["file", "link to a folder", "link to nothing"])
def test_only_a_folder_is_accepted_as_the_folder_of_writers(tmp_path, kind):
    ds = some_lake(tmp_path)
    writers, elsewhere = Path(ds.url) / ".writers", tmp_path / "elsewhere"
    subprocess.run(["rm", "-r", str(writers)], check=True)
    if kind == "file":
        writers.write_text("")
    else:
        writers.symlink_to(elsewhere)
    if kind == "link to a folder":
        elsewhere.mkdir()
        (elsewhere / "mine.json").write_text("{}")
    again = dl.open(ds.url)
    for write in (
        lambda: again.append({"a": [3], "t": ["z"]}),
        lambda: again.vacuum(),
        lambda: again.optimize(),
        lambda: again[:1].save("first"),
    ):
        with pytest.raises(StorageError, match=r"keep their locks in a folder, but .* Remove the"):
            write()
    assert again["a"][:].tolist() == [1, 2]
    assert not elsewhere.exists() or [p.name for p in elsewhere.iterdir()] == ["mine.json"]
    writers.unlink()
    again.append({"a": [3], "t": ["z"]})
    again.commit("two")
    assert len(dl.open(ds.url)) == 3


@pytest.mark.parametrize(
    "note",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"null",
        b'{"claims": {}}',
        b'{"started": "soon", "version": "X", "claims": {}}',
        b'{"started": "2026-01-31T00:00:00", "version": "X", "claims": {}}',
        b'{"started": "2026-01-31T00:00:00+00:00", "version": "X", "claims": {"v": -1}}',
        b'{"started": "2026-01-31T00:00:00+00:00", "version": "X", "claims": [1]}',
        b"[" * 100_000,
    ],
)
def test_unreadable_record_of_a_live_writer_is_damage(tmp_path, note):
    numbers = np.random.default_rng(0)
    ds = some_lake(tmp_path)
    writers = Path(ds.url) / ".writers"
    (writers / "other.json").write_bytes(note)
    with FileLock(writers / "other.lock"):
        with pytest.raises(DamagedError, match="which another writer"):
            ds.append({"a": [3], "t": [numbers.bytes(2**19).hex()]})
        with pytest.raises(DamagedError, match="which another writer"):
            ds.vacuum()
    assert ds["a"][:].tolist() == [1, 2]
    ds.append({"a": [3], "t": ["z"]})  # the other writer has gone, and its record with it
    ds.commit("two")
    assert dl.open(ds.url)["t"][:] == ["x", "y", "z"]


def test_os_errors_keep_their_number_and_file(tmp_path, monkeypatch):
    ds = some_lake(tmp_path)

    def refuse(self, *_):
        raise OSError(errno.EDQUOT, "Disk quota exceeded", str(self))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_text", refuse)
        with pytest.raises(
            StorageError, match=r"Disk quota exceeded: .* Free some space"
        ) as caught:
            ds.append({"a": [3], "t": ["z"]})
    assert caught.value.errno == errno.EDQUOT
    assert str(caught.value.filename).endswith(".draft")
    assert len(ds) == 2
    ds.append({"a": [3], "t": ["z"]})
    ds.commit("two")
    assert len(dl.open(ds.url)) == 3


def test_engine_reads_files_that_the_fast_reader_cannot(tmp_path, monkeypatch):
    ds = dl.create(tmp_path / "a.lake", {"r": dl.Array("uint8", None)})
    ds.append({"r": np.arange(2**21, dtype="uint8")[None]})
    ds.commit("one")

    def fail(*_, **__):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        for function in ("pread", "open"):
            patch.setattr(os, function, fail)
        patch.setattr("mmap.mmap", fail)
        again = dl.open(ds.url)
        assert (again["r"][0] == np.arange(2**21, dtype="uint8")).all()  # the engine reads it
