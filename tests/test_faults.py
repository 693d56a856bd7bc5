"""Lakes after the worst: killed writers, full disks, flipped bits and concurrent writers."""

import contextlib
import errno
import multiprocessing
import random
import re
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.storage.repo import Repository, Session

KILLS = 15
ROWS = 3  # for each commit
SECONDS = 8

processes = multiprocessing.get_context("forkserver")


def make(url):
    return dl.create(
        str(url),
        {"writer": "text", "x": "int64", "data": "bytes", "parts": dl.Sequence("int32")},
    )


def some_rows(writer, start):
    """Return rows whose values follow from their numbers; now and then one fills a chunk."""
    size = 4_300_000 if start % 15 == 0 else 2_000
    return {
        "writer": [writer] * ROWS,
        "x": list(range(start, start + ROWS)),
        "data": [bytes([(start + i) % 256]) * (size + i) for i in range(ROWS)],
        "parts": [list(range(i)) for i in range(ROWS)],
    }


def write_for_ever(url, started):
    ds = dl.open(url)
    start = len(ds)
    started.set()
    while True:
        ds.append(some_rows("killed", start))
        ds.commit(f"from {start}")
        start += ROWS


def check_rows(ds, positions):
    """Compare rows with the values that follow from their numbers."""
    for row in ds[positions]:
        assert row["data"] == bytes([row["x"] % 256]) * len(row["data"])
        assert row["parts"] == list(range(row["x"] % ROWS))


@pytest.mark.slow
def test_killed_writer_leaves_the_last_commit_complete(tmp_path):
    url, chance = str(tmp_path / "killed.lake"), random.Random(7)
    make(url).commit()
    for kill in range(KILLS):
        started = processes.Event()
        writer = processes.Process(target=write_for_ever, args=(url, started), daemon=True)
        writer.start()
        assert started.wait(1_800)
        time.sleep(chance.uniform(0, 0.3))
        writer.kill()
        writer.join()
        ds = dl.open(url)
        assert len(ds) % ROWS == 0
        assert ds["x"][:].tolist() == list(range(len(ds)))
        check_rows(ds, slice(-2 * ROWS, None))
        if kill % 10 == 9:
            report = ds.verify()
            assert report, report
        ds.append(some_rows("next", len(ds)))
        ds.commit("the next writer works")
        assert len(dl.open(url)) == len(ds)


def append_until(url, name, stop, counts):
    ds = dl.open(url)
    done = 0
    while time.monotonic() < stop:
        ds.append(some_rows(name, done))
        ds.commit(name)
        done += ROWS
    counts.put((name, done))


@pytest.mark.slow
def test_two_processes_that_append_and_commit_lose_no_row(tmp_path):
    url, counts = str(tmp_path / "two.lake"), processes.Queue()
    make(url).commit()
    stop = time.monotonic() + SECONDS
    writers = [
        processes.Process(target=append_until, args=(url, name, stop, counts), daemon=True)
        for name in ("a", "b")
    ]
    for writer in writers:
        writer.start()
    written = dict(counts.get(timeout=1_800) for _ in writers)
    for writer in writers:
        writer.join()
    ds = dl.open(url)
    assert min(written.values()) > 0
    names, numbers = np.array(ds["writer"][:]), ds["x"][:]
    for name, count in written.items():
        assert numbers[names == name].tolist() == list(range(count))
    assert len(np.unique(ds.row_ids)) == len(ds) == sum(written.values())
    report = ds.verify()
    assert report, report


@pytest.mark.parametrize("when", ["append", "commit"])
def test_full_disk_leaves_everything_unchanged(tmp_path, monkeypatch, when):
    ds = make(tmp_path / "full.lake")
    ds.append(some_rows("before", 0))
    ds.commit("before")
    ds.append(some_rows("pending", ROWS))

    async def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Session, "put", full)
        if when == "append":
            with pytest.raises(OSError, match="No space left on device"):
                ds.append(some_rows("lost", 15))
        else:
            patch.setattr(Session, "create_array", full)
            with pytest.raises(OSError, match="No space left on device"):
                ds.commit("fails")
    assert len(dl.open(ds.url)) == ROWS
    assert len(ds) == 2 * ROWS
    check_rows(ds, slice(None))
    ds.append(some_rows("after", 2 * ROWS))
    ds.commit("after")
    again = dl.open(ds.url)
    assert again["writer"][:] == ["before"] * 3 + ["pending"] * 3 + ["after"] * 3
    check_rows(again, slice(None))
    assert again.verify()


@pytest.fixture
def lost_reply(monkeypatch):
    """Make the next commit succeed but lose its reply."""

    @contextlib.contextmanager
    def lose(error):
        commit, left = Session.commit, [error]

        def commit_and_raise(self, *arguments):
            done = commit(self, *arguments)
            if left:
                raise left.pop()
            return done

        with monkeypatch.context() as patch:
            patch.setattr(Session, "commit", commit_and_raise)
            yield

    return lose


def messages(ds):
    return [commit.message for commit in dl.open(ds.url).log()]


def test_commit_with_a_lost_reply_is_not_written_twice(tmp_path, lost_reply):
    ds = make(tmp_path / "lost.lake")
    ds.append(some_rows("once", 0))
    with lost_reply(dl.StorageError("no reply")), pytest.raises(dl.StorageError, match="no reply"):
        ds.commit("once")
    assert ds.status()
    done = ds.commit("once")
    assert done == ds.version == dl.open(ds.url).version
    assert not ds.status()
    assert messages(ds) == ["once", "created"]
    assert len(ds) == ROWS
    check_rows(ds, slice(None))


def test_commit_reported_as_a_lost_race_but_won_is_found(tmp_path, lost_reply):
    ds = make(tmp_path / "won.lake")
    ds.append(some_rows("once", 0))
    with lost_reply(dl.ConflictError("412")):
        ds.commit("once")
    assert messages(ds) == ["once", "created"]
    assert len(dl.open(ds.url)) == ROWS


def test_commit_whose_version_does_not_open_is_not_written_twice(tmp_path, monkeypatch):
    ds = make(tmp_path / "reopen.lake")
    ds.append(some_rows("once", 0))

    def refuse(*_):
        raise dl.StorageError("no network")

    with monkeypatch.context() as patch:
        patch.setattr(Repository, "reader", refuse)
        with pytest.raises(dl.StorageError, match="no network"):
            ds.commit("once")
    assert len(ds) == ROWS
    ds.commit("once")
    assert messages(ds) == ["once", "created"]
    assert len(dl.open(ds.url)) == ROWS


@pytest.mark.parametrize("rival", [False, True])
@pytest.mark.parametrize("again", ["commit", "rebase"])
def test_edits_made_after_a_lost_reply_are_kept(tmp_path, lost_reply, again, rival):
    ds = make(tmp_path / "later.lake")
    ds.append(some_rows("base", 0))
    ds.commit("base")
    ds.append(some_rows("lost", ROWS))
    ds["x"][0] = 100
    with lost_reply(dl.StorageError("no reply")), pytest.raises(dl.StorageError):
        ds.commit("lost")
    if rival:
        other = dl.open(ds.url)
        other.append(some_rows("rival", 2 * ROWS))
        other.commit("rival")
    ds.append(some_rows("later", 3 * ROWS))
    ds["x"][[0, 1]] = [300, 200]  # the first is one that the lost commit also changed
    ds.delete([2])
    if again == "rebase":
        ds.rebase()
    ds.commit("later")
    between = ["rival"] * rival
    assert messages(ds) == ["later", *between, "lost", "base", "created"]
    again = dl.open(ds.url)
    assert again["x"][:].tolist() == [300, 200, 3, 4, 5, *[6, 7, 8][: 3 * rival], 9, 10, 11]
    names = ["base"] * 2 + ["lost"] * 3 + ["rival"] * 3 * rival + ["later"] * 3
    assert again["writer"][:] == names
    assert again.verify()


@pytest.mark.parametrize("error", [KeyboardInterrupt(), dl.StorageError("no reply")], ids=repr)
@pytest.mark.parametrize("later", [False, True], ids=["at once", "after more edits"])
@pytest.mark.parametrize("rival", [False, True], ids=["alone", "beside another writer"])
def test_discard_keeps_a_commit_that_succeeded(tmp_path, lost_reply, error, later, rival):
    ds = make(tmp_path / "kept.lake")
    ds.append(some_rows("base", 0))
    ds.commit("base")
    ds.append(some_rows("lost", ROWS))
    with lost_reply(error), pytest.raises(type(error)):
        ds.commit("lost")
    if rival:
        other = dl.open(ds.url)
        other.append(some_rows("rival", 2 * ROWS))
        other.commit("rival")
    if later:
        ds["x"][0] = 100
        ds.append(some_rows("later", 3 * ROWS))
    ds.discard()
    assert not ds.status()
    assert ds["x"][:].tolist() == list(range(2 * ROWS))
    assert ds.log()[0].message == "lost"
    ds["x"][0] = 7
    ds.commit("seven")
    assert ds["x"][:].tolist() == [7, *range(1, (2 + rival) * ROWS)]
    assert messages(ds) == ["seven", *["rival"] * rival, "lost", "base", "created"]


def test_discard_after_a_lost_commit_to_a_deleted_branch(tmp_path, lost_reply):
    ds = make(tmp_path / "gone.lake")
    ds.append(some_rows("base", 0))
    ds.commit("base")
    ds.branch("side")
    ds.checkout("side")
    ds.append(some_rows("lost", ROWS))
    with lost_reply(KeyboardInterrupt()), pytest.raises(KeyboardInterrupt):
        ds.commit("lost")
    dl.open(ds.url).delete_branch("side")
    ds.discard()
    assert ds["x"][:].tolist() == list(range(ROWS))


def test_merge_with_a_lost_reply_is_found_when_it_is_repeated(tmp_path, lost_reply):
    ds = make(tmp_path / "merge.lake")
    ds.branch("fix")
    fix = dl.open(ds.url, branch="fix")
    fix.append(some_rows("fix", 0))
    fix.commit("fix")
    ds.append(some_rows("main", ROWS))
    ds.commit("main")
    with lost_reply(dl.StorageError("no reply")), pytest.raises(dl.StorageError):
        ds.merge("fix")
    ds.merge("fix")
    assert messages(ds) == ["merge fix", "main", "created"]
    assert len(dl.open(ds.url)) == 2 * ROWS


def test_transaction_name_does_not_appear_in_user_metadata(tmp_path):
    ds = make(tmp_path / "named.lake")
    for n in range(2):
        ds.append(some_rows("a", n * ROWS))
        ds.commit("a")
    second, first, created = ds.log()
    assert len({first.transaction, second.transaction}) == 2
    assert created.transaction is None
    assert dict(first.metadata) == {}


@pytest.fixture(scope="module")
def sound_lake(tmp_path_factory):
    """A lake of every layout, with all chunks in separate files."""
    folder = tmp_path_factory.mktemp("sound") / "sound.lake"
    rng = np.random.default_rng(0)
    n = 40
    ds = dl.create(
        str(folder),
        {
            "number": dl.Scalar("float64", nullable=True),
            "vector": dl.Embedding(64),
            "wide": dl.Array("uint8", (70, 70)),
            "text": "text",
            "ragged": dl.Array("float32", (None, 2)),
            "items": dl.Sequence("text"),
            "data": "bytes",
        },
    )
    ds.append(
        {
            "number": [None if i == 5 else float(v) for i, v in enumerate(rng.random(n))],
            "vector": rng.random((n, 64), np.float32),
            "wide": rng.integers(0, 255, (n, 70, 70), np.uint8),
            "text": [rng.bytes(40).hex() for _ in range(n)],
            "ragged": [rng.random((i % 5, 2), np.float32) for i in range(n)],
            "items": [[rng.bytes(9).hex() for _ in range(i % 3)] for i in range(n)],
            "data": [rng.bytes(2**17) for _ in range(n)],  # chunks are full of whole cells
        }
    )
    ds.delete([3])
    ds.commit("sound")
    return folder


def flip(path, chance):
    data = bytearray(path.read_bytes())
    data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    path.write_bytes(data)


def test_undamaged_lake_verifies(sound_lake):
    assert dl.open(str(sound_lake)).verify()


def test_every_flipped_bit_of_every_chunk_file_is_detected(sound_lake, tmp_path):
    chance = random.Random(3)
    chunks = sorted((sound_lake / "chunks").iterdir())
    assert len(chunks) > 15
    for chunk in chunks:
        copy = tmp_path / chunk.name
        shutil.copytree(sound_lake, copy)
        flip(copy / "chunks" / chunk.name, chance)
        assert is_found(copy), f"a flipped bit of {chunk.name} ({chunk.stat().st_size} bytes)"
        shutil.rmtree(copy)


def is_found(folder: Path) -> bool:
    """Tell whether opening or verifying a lake reports the damage and its place."""
    try:
        report = dl.open(str(folder)).verify()
    except dl.DamagedError:
        return True
    return not report and all(d.column for d in report.damaged)


def test_damage_of_a_deleted_row_is_detected(tmp_path):
    ds = dl.create(str(tmp_path / "lake"), {"data": "bytes"})
    ds.append({"data": [bytes([i]) * 3_000_000 for i in range(3)]})
    ds.delete([1])
    ds.commit("one less")
    for chunk in (tmp_path / "lake" / "chunks").iterdir():
        data = chunk.read_bytes()
        if (at := data.find(b"\1" * 1000)) >= 0:
            chunk.write_bytes(data[:at] + b"\2" + data[at + 1 :])
            break
    report = dl.open(str(tmp_path / "lake")).verify()
    assert [(d.column, d.row) for d in report.damaged] == [("data", None)]
    assert "in a deleted row" in str(report)


def test_damage_is_reported_by_column_and_row(sound_lake, tmp_path):
    copy = tmp_path / "copy.lake"
    shutil.copytree(sound_lake, copy)
    largest = max((copy / "chunks").iterdir(), key=lambda path: path.stat().st_size)
    data = bytearray(largest.read_bytes())
    data[1_000_000] ^= 1
    largest.write_bytes(data)
    [damaged] = dl.open(str(copy)).verify().damaged
    assert damaged.column == "data"
    row = dl.open(str(sound_lake))[damaged.row]
    assert damaged.row_id == dl.open(str(sound_lake)).row_ids[damaged.row]
    assert row["data"] != dl.open(str(copy))[damaged.row]["data"]


def test_missing_chunk_file_is_damage(sound_lake, tmp_path):
    copy = tmp_path / "copy.lake"
    shutil.copytree(sound_lake, copy)
    max((copy / "chunks").iterdir(), key=lambda path: path.stat().st_size).unlink()
    report = dl.open(str(copy)).verify()
    cells = [d for d in report.damaged if d.version is None]
    past = [d.version for d in report.damaged if d.version is not None]
    assert {d.column for d in cells} == {"data"}
    assert set(past) < {commit.id for commit in dl.open(str(copy)).log()}
    lines = repr(report).splitlines()
    assert lines[0].startswith(f"version {report.version}: ")
    versions = f"{len(past)} damaged version{'s' if len(past) > 1 else ''}"
    assert lines[0].endswith(f"{len(cells)} damaged cells, {versions}:")
    assert len(lines) == 3 + len(past)
    assert re.match(r"  column 'data', rows \d+–\d+: bytes: A stored object is missing", lines[1])
    assert lines[2].startswith(
        "  column 'data': in a deleted row, bytes: A stored object is missing"
    )
    assert all(re.match(r"  version [0-9A-Z]{20}: .* is missing$", line) for line in lines[3:])
    assert "verify" not in repr(report)
    with pytest.raises(dl.DamagedError, match=r"Run ds\.verify\(\)"):
        dl.open(str(copy))["data"][:]
