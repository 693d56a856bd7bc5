"""A batch with a key is appended once, by whoever and however often it is tried."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import deeplake_lite as dl
from deeplake_lite.errors import InvalidValueError, OptionError, ReadOnlyError
from deeplake_lite.storage import append_keys, rows
from deeplake_lite.testing.invariants import check_consistent

ROOT = Path(__file__).parents[3]


@pytest.fixture
def ds(make_lake):
    return make_lake({"x": "int32", "t": dl.Text(default="-")}, x=[1, 2], t=["a", "b"])


@pytest.fixture
def local(tmp_path):
    """Return a lake in a folder, which other processes can open."""
    ds = dl.create(str(tmp_path / "a.lake"), {"x": "int32"})
    ds.append({"x": [1, 2]})
    ds.commit("two rows")
    return ds


def numbers(ds):
    return ds["x"][:].tolist()


def test_a_repeated_append_adds_nothing_and_does_not_read_the_data(ds):
    assert ds.append({"x": [3, 4]}, key="k") is True

    def rows():
        raise AssertionError("not read")
        yield {}

    assert ds.append(rows(), key="k") is False
    ds.commit("batch")
    assert ds.extend({"x": [5]}, key="k") is False
    assert ds.append({"x": [5]}) is None
    ds.discard()
    assert not ds.status()
    other = dl.open(ds.url)
    assert other.append({"x": [5]}, key="k") is False
    assert not other.status()
    assert other.append({"x": [5]}, key="l") is True
    assert numbers(other) == [1, 2, 3, 4, 5]
    assert other.log()[0].metadata["keys"] == ["k"]
    assert (other.has_key("l"), dl.open(ds.url).has_key("l")) == (True, False)
    other.commit("l")
    check_consistent(other)


@pytest.mark.parametrize("empty", [{"x": []}, []])
def test_a_batch_without_rows_has_a_key_too(ds, empty):
    before = ds.version
    assert ds.append(empty, key="k") is True
    assert str(ds.status()) == "keys changed"
    assert ds.commit("nothing") != before
    assert dl.open(ds.url).append({"x": [3]}, key="k") is False


def test_a_discarded_or_failed_batch_may_be_appended_again(ds):
    assert ds.append({"x": [3]}, key="k")
    ds.discard()
    assert not ds.has_key("k")
    with pytest.raises(InvalidValueError):
        ds.append({"x": ["three"]}, key="k")
    assert not ds.has_key("k")
    assert ds.append({"x": [3]}, key="k")


def test_deleted_rows_do_not_come_back(ds):
    ds.append({"x": [3]}, key="k")
    ds.commit("batch")
    ds.delete([2])
    ds.commit("deleted")
    assert ds.append({"x": [3]}, key="k") is False


def test_views_tables_and_many_keys_in_a_transaction(ds):
    view = ds.query("SELECT * WHERE x = 2")
    with ds.transaction("all"):
        for i in range(150):
            assert ds.append(view if i % 2 else {"x": [i], "t": ["c"]}, key=f"k{i}")
            assert not ds.append(view, key=f"k{i}")
    assert len(ds) == 152
    assert len(ds.log()[0].metadata["keys"]) == 100
    assert all(ds.has_key(f"k{i}") for i in range(150))


@pytest.mark.parametrize("key", ["", "\ud800", 5, b"k", ["k"]])
def test_keys_must_be_strings(ds, key):
    with pytest.raises(OptionError, match=r"key must be a string"):
        ds.append({"x": [3]}, key=key)
    with pytest.raises(OptionError, match=r"key must be a string"):
        ds.has_key(key)


def test_fixed_versions_are_read_only(ds):
    ds.append({"x": [3]}, key="k")
    ds.commit("batch")
    old = dl.open(ds.url, version=ds.version)
    assert old.has_key("k")
    with pytest.raises(ReadOnlyError):
        old.append({"x": [3]}, key="k")


# ---- other writers


@pytest.mark.parametrize("edit", ["none", "append", "update", "add_column"])
def test_the_second_writer_leaves_out_its_rows(ds, edit):
    other = dl.open(ds.url)
    ds.append({"x": [3, 4], "t": ["first", "first"]}, key="k")
    other.append({"x": [3, 4], "t": ["second", "second"]}, key="k")
    other.append({"x": [9], "t": ["own"]}, key="l")
    if edit == "append":
        other.append({"x": [5]})
    elif edit == "update":
        other.update([0, 2], {"x": [10, 30]})
    elif edit == "add_column":
        other.add_column("y", dl.Scalar("int8", default=0))
    ds.commit("first")
    other.commit("second")
    expected = [10 if edit == "update" else 1, 2, 3, 4, 9] + [5] * (edit == "append")
    assert numbers(other) == numbers(dl.open(ds.url)) == expected
    assert other["t"][2:4] == ["first", "first"]
    assert other.has_key("l")
    assert other.log()[0].metadata["keys"] == ["l"]
    check_consistent(other)
    assert other.verify()


def test_a_writer_who_has_only_repeated_batches_commits_nothing(ds):
    other = dl.open(ds.url)
    for writer in (ds, other):
        writer.append({"x": [3]}, key="k")
    first = ds.commit("first")
    assert other.commit("second") == first
    assert not other.status()
    assert numbers(other) == [1, 2, 3]


def test_rebase_leaves_out_repeated_batches(ds):
    other = dl.open(ds.url)
    ds.append({"x": [3]}, key="k")
    other.append({"x": [3]}, key="k")
    other.append({"x": [4]}, key="l")
    ds.commit("first")
    other.rebase()
    assert numbers(other) == [1, 2, 3, 4]
    other.commit("second")
    assert numbers(other) == [1, 2, 3, 4]


def test_rows_that_get_other_ids_belong_to_their_key(ds, monkeypatch):
    other, draws = dl.open(ds.url), [7, 7, 8, 9]
    monkeypatch.setattr(rows.secrets, "randbits", lambda _: draws.pop(0))
    ds.append({"x": [3]}, key="k")
    other.append({"x": [4]}, key="l")
    ds.commit("first")
    other.commit("second")
    entries = append_keys.keys_of(other.handle.table.key_entries())
    ids = other.row_ids.tolist()
    assert entries[append_keys.digest_of("k")] == ((ids[2], 1),)
    assert entries[append_keys.digest_of("l")] == ((ids[3], 1),)
    assert ids[2] != ids[3]


# ---- versions


@pytest.mark.parametrize("direction", ["into main", "into branch", "both"])
def test_a_merge_keeps_one_of_two_batches_with_the_same_key(ds, direction):
    ds.append({"x": [3]}, key="base")
    ds.commit("base")
    ds.branch("work")
    work = dl.open(ds.url, branch="work")
    for writer, word in ((ds, "main"), (work, "work")):
        writer.append({"x": [4, 5], "t": [word, word]}, key="k")
        writer.append({"x": [6], "t": [word]}, key=word)
        writer.commit(word)
    if direction != "into branch":
        ds.merge("work")
        assert ds["t"][:] == ["a", "b", "-", "main", "main", "main", "work"]
        assert all(ds.has_key(k) for k in ("base", "k", "main", "work"))
        assert not ds.append({"x": [6]}, key="work")
    if direction != "into main":
        work.merge("main")
        text = work["t"][:]
        kept = "main" if direction == "both" else "work"
        assert sorted(text) == sorted(["a", "b", "-", kept, kept, "main", "work"])
        assert not work.append({"x": [6]}, key="main")
    for writer in (ds, work):
        check_consistent(writer.refresh())
        assert writer.verify()


def test_a_batch_that_was_merged_is_not_appended_by_an_open_transaction(ds):
    ds.branch("work")
    work = dl.open(ds.url, branch="work")
    work.append({"x": [4]}, key="k")
    work.commit("work")
    ds.append({"x": [4]}, key="k")
    dl.open(ds.url).merge("work")
    ds.commit("again")
    assert numbers(ds) == [1, 2, 4]


def test_a_restore_forgets_later_keys_and_remembers_older_ones(ds):
    first = ds.version
    ds.append({"x": [3]}, key="k")
    second = ds.commit("batch")
    ds.restore(first)
    assert not ds.has_key("k")
    assert ds.append({"x": [30]}, key="k")
    ds.commit("restored, and again")
    assert numbers(ds) == [1, 2, 30]
    assert not ds.append({"x": [3]}, key="k")
    ds.restore(second)
    assert ds.has_key("k")
    ds.commit("back")
    assert numbers(ds) == [1, 2, 3]
    assert not ds.append({"x": [3]}, key="k")
    check_consistent(ds)
    assert ds.verify()


def test_a_restore_of_keys_alone_is_an_edit(ds):
    first = ds.version
    ds.append([], key="k")
    ds.commit("no rows")
    ds.restore(first)
    assert str(ds.status()) == "keys changed"
    ds.commit("restored")
    assert not dl.open(ds.url).has_key("k")
    assert ds.verify()


def test_a_restore_keeps_the_keys_of_others_who_commit_meanwhile(ds):
    first = ds.version
    ds.append({"x": [3]}, key="k")
    ds.commit("batch")
    other = dl.open(ds.url)
    ds.restore(first)
    ds.append({"x": [9]}, key="m")
    other.append({"x": [4]}, key="l")
    other.commit("meanwhile")
    ds.commit("restored")
    assert numbers(ds) == [1, 2, 4, 9] or sorted(numbers(ds)) == [1, 2, 4, 9]
    assert [ds.has_key(k) for k in "klm"] == [False, True, True]
    assert dl.open(ds.url).append({"x": [3]}, key="k")


def test_a_merge_after_a_restore_keeps_what_was_appended_again(ds):
    first = ds.version
    ds.append({"x": [3]}, key="k")
    ds.commit("batch")
    ds.branch("work")
    work = dl.open(ds.url, branch="work")
    work.restore(first)
    work.append({"x": [30]}, key="k")
    work.commit("again")
    ds.append({"x": [5]})
    ds.commit("main")
    ds.merge("work")
    assert sorted(numbers(ds)) == [1, 2, 5, 30]
    assert not ds.append({"x": [3]}, key="k")
    check_consistent(ds)


def test_optimize_and_vacuum_keep_keys(ds):
    for i in range(3):
        ds.append({"x": [i]}, key=f"k{i}")
        ds.commit(f"batch {i}")
    ds.optimize()
    ds.vacuum(older_than="0s", spare="0s")
    again = dl.open(ds.url)
    assert [again.append({"x": [0]}, key=f"k{i}") for i in range(4)] == [False] * 3 + [True]
    again.commit("one more")
    assert again.verify()


def test_branches_have_their_own_keys(ds):
    ds.branch("work")
    work = dl.open(ds.url, branch="work")
    work.append({"x": [3]}, key="k")
    work.commit("work")
    assert ds.append({"x": [3]}, key="k") is True


# ---- processes

CHILD = """
import sys, deeplake_lite as dl
url, tasks, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
import random
order = list(range(tasks))
random.Random(seed).shuffle(order)
print("begun", flush=True)
for task in order:
    ds = dl.open(url)
    if ds.append({"x": [100 + task] * (task % 3 + 1)}, key=f"task-{task}"):
        ds.commit(f"task {task}")
print("ended", flush=True)
"""


def start(url, tasks, seed):
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, url, str(tasks), str(seed)],
        stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip


def check_tasks(url, tasks):
    ds = dl.open(url)
    expected = [1, 2, *(100 + t for t in range(tasks) for _ in range(t % 3 + 1))]
    assert sorted(numbers(ds)) == expected
    check_consistent(ds)
    assert ds.verify()


def test_processes_that_do_the_same_tasks_append_each_batch_once(local):
    children = [start(local.url, 12, seed) for seed in range(3)]
    for child in children:
        assert "ended" in child.communicate(timeout=200)[0]
    check_tasks(local.url, 12)


@pytest.mark.parametrize("seed", range(4))
def test_a_killed_process_is_repeated(local, seed):
    chance = random.Random(seed)
    for attempt in range(2):
        with start(local.url, 10, attempt) as child:
            assert child.stdout.readline() == "begun\n"
            time.sleep(chance.uniform(0, 1.5))
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGKILL)
    with start(local.url, 10, 5) as child:
        assert "ended" in child.communicate(timeout=200)[0]
    check_tasks(local.url, 10)


def test_writers_on_an_object_store(bucket):
    first = dl.create(bucket.url(), {"x": "int32"}, storage_options=bucket.options)
    second = bucket.open()
    for writer, own in ((first, "a"), (second, "b")):
        writer.append({"x": [1, 2]}, key="k")
        writer.append({"x": [3]}, key=own)
    first.commit("first")
    second.commit("second")
    assert numbers(bucket.open()) == [1, 2, 3, 3]
    assert [bucket.open().has_key(k) for k in "kabc"] == [True, True, True, False]


def test_a_key_costs_a_page_and_not_all_keys(local, monkeypatch):
    monkeypatch.setattr(append_keys, "PAGE", 64)
    with local.transaction("many"):
        for i in range(500):
            local.append({"x": [i]}, key=f"k{i}")
    folder = Path(local.url)

    def size():
        return sum(p.stat().st_size for p in (folder / "chunks").rglob("*") if p.is_file())

    local.append({"x": [0]}, key="new")
    before = size()
    local.commit("one more")
    assert size() - before < 64 * 32 + 1000
