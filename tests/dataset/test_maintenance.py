"""Rewriting a lake, deleting unused data, and verifying everything."""

import gc
import os
import re
import time
from datetime import datetime, timedelta, timezone
from pathlib import Path

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.storage.repo import Session, local_folder
from deeplake_lite.testing.invariants import check_consistent

SIZE = 5 * 2**20

BYTES = [np.random.default_rng(i).bytes(3000) for i in range(4)]  # too random to be inlined


@pytest.fixture
def ds(tmp_path):
    ds = dl.create(str(tmp_path / "lake"), {"x": "int32", "b": "bytes"})
    ds.append({"x": range(4), "b": BYTES})
    ds.commit("rows")
    return ds


def age(ds, hours=48):
    """Make every object of the lake look older."""
    past = time.time() - hours * 3600
    for path in local_folder(ds.url).rglob("*"):
        if path.is_file() and ".writers" not in path.parts:
            os.utime(path, (past, past))


pytestmark = pytest.mark.usefixtures("only_arrays")


def files(ds, kind="chunks"):
    return len(list((Path(ds.url) / kind).iterdir()))


# ---- optimize


def test_optimized_lake_has_the_same_rows_contiguously(ds):
    ds.delete([1])
    ds["b"][0] = b"new"
    ds.commit("fragmented")
    before, ids = [ds[i] for i in range(len(ds))], ds.row_ids.tolist()
    old = ds.version
    ds.optimize()
    assert [ds[i] for i in range(len(ds))] == before
    assert ds.row_ids.tolist() == ids
    assert ds.handle.table.rows.slots == len(ds)
    assert dl.open(ds.url, version=old)["x"][:].tolist() == [0, 2, 3]
    assert not ds.diff(old)
    check_consistent(ds)


def test_shuffle_once_is_reproducible_for_a_seed(make_lake):
    def shuffled(seed):
        ds = make_lake({"x": "int32"}, x=range(50))
        ds.optimize(shuffle=True, seed=seed)
        return ds["x"][:].tolist()

    assert shuffled(1) == shuffled(1) != shuffled(2)
    assert sorted(shuffled(1)) == list(range(50))


def test_empty_lake_can_be_optimized(make_lake):
    ds = make_lake({"x": "int32", "s": dl.Sequence("text")})
    ds.optimize()
    ds.append({"x": [1], "s": [["a"]]})
    ds.commit("row")
    assert dl.open(ds.url)["s"][:] == [["a"]]


def test_lake_can_be_optimized_many_times(ds):
    for n in range(3):
        ds.append({"x": [n], "b": [b"n"]})
        ds.commit("more")
        ds.optimize()
    assert len(dl.open(ds.url)) == 7
    check_consistent(ds)


# ---- vacuum


def test_vacuum_without_garbage_deletes_nothing(ds):
    done = ds.vacuum()
    assert (done.expired, done.chunks, done.snapshots) == (0, 0, 0)
    check_consistent(ds)


def test_young_objects_are_spared(ds):
    ds.optimize()
    before = files(ds)
    assert ds.vacuum(older_than="0s").chunks == 0
    assert files(ds) == before


def test_old_versions_expire_with_their_chunks(ds):
    old = ds.version
    ds.optimize()
    age(ds)
    assert ds.vacuum(older_than="0s", dry_run=True).expired == 2
    before = files(ds)
    done = ds.vacuum(older_than="0s")
    assert files(ds) == before - done.chunks < before
    assert done.expired == 2
    again = dl.open(ds.url)
    check_consistent(again)
    with pytest.raises(dl.VersionNotFoundError):
        dl.open(ds.url, version=old)
    again.append({"x": [9], "b": [b"9"]})
    again.commit("goes on")


def test_dry_run_deletes_nothing(ds):
    ds.optimize()
    counts = [files(ds, kind) for kind in ("chunks", "snapshots", "manifests")]
    ds.vacuum(spare="0s", older_than="0s", dry_run=True)
    assert [files(ds, kind) for kind in ("chunks", "snapshots", "manifests")] == counts
    assert len(dl.open(ds.url).log()) == 3


@pytest.mark.parametrize("value", [0, 1, None, "x", "", [], np.array([True, True])])
def test_dry_run_must_be_a_boolean(ds, value):
    before = [commit.id for commit in ds.log()]
    with pytest.raises(ValueError, match="dry_run must be True or False, but it is"):
        ds.vacuum(older_than="0s", spare="0s", dry_run=value)
    assert [commit.id for commit in dl.open(ds.url).log()] == before
    assert ds.vacuum(older_than="0s", spare="0s", dry_run=np.True_).expired == len(before) - 1


@pytest.mark.parametrize("keep", ["nothing", "a tag", "a view", "a branch", "an orphan"])
def test_dry_run_reports_what_the_vacuum_would_free(ds, keep):
    for n in range(3):
        ds.append({"x": [n], "b": [np.random.default_rng(n).bytes(SIZE)]})
        ds.commit("more")
        ds["b"][0] = BYTES[n]
        ds.commit("changed")
        if n == 1 and keep == "a tag":
            ds.tag("v1")
        if n == 1 and keep == "a view":
            ds[:].save("v1")
        if n == 1 and keep == "a branch":
            ds.branch("v1")
    if keep == "an orphan":
        ds.append({"x": [1], "b": [bytes(SIZE)]})
        ds.discard()
    ds.delete([5])
    ds.commit("one less")
    ds.optimize()
    age(ds)
    told = ds.vacuum(older_than="0s", dry_run=True)
    assert told.bytes > 30_000
    before = sum(p.stat().st_size for p in Path(ds.url).rglob("*") if p.is_file())
    done = ds.vacuum(older_than="0s")
    after = sum(p.stat().st_size for p in Path(ds.url).rglob("*") if p.is_file())
    assert told == done
    assert before - after == pytest.approx(done.bytes, abs=2_000)  # histories are cut in place
    check_consistent(dl.open(ds.url))


def test_dry_run_spares_young_objects(ds):
    ds.optimize()
    told = ds.vacuum(older_than="0s", dry_run=True)
    assert (told.expired, told.bytes, told.chunks) == (2, 0, 0)


def test_without_an_age_no_version_expires(ds):
    old = ds.version
    ds.optimize()
    ds.vacuum(spare="0s")
    check_consistent(dl.open(ds.url, version=old))


def test_discarded_appends_are_deleted(ds):
    before = files(ds)
    ds.append({"x": [1], "b": [bytes(SIZE)]})
    assert files(ds) > before
    ds.discard()
    assert ds.vacuum(spare="0s").chunks >= 1
    assert files(ds) == before


@pytest.mark.parametrize("keep", ["tag", "view", "branch"])
def test_refs_preserve_their_versions(ds, keep):
    expected = ds["b"][:]
    old = ds.version
    if keep == "tag":
        ds.tag("v1")
    elif keep == "view":
        ds[:].save("v1")
    else:
        ds.branch("v1")
    ds["b"][:] = [b"changed"] * 4
    ds.commit("changed")
    ds.optimize()
    ds.vacuum(spare="0s", older_than="0s")
    again = dl.open(ds.url)
    kept = again.views()["v1"] if keep == "view" else dl.open(ds.url, version="v1")
    assert kept["b"][:] == expected
    assert kept.version == old
    check_consistent(again)


def test_deleted_view_preserves_nothing(ds):
    ds[:].save("v1")
    old = ds.version
    ds.optimize()
    ds.vacuum(spare="0s", older_than="0s")
    ds.views().delete("v1")
    assert ds.vacuum(spare="0s", older_than="0s").chunks > 0
    with pytest.raises(dl.VersionNotFoundError):
        dl.open(ds.url, version=old)


def test_branches_still_merge_after_a_vacuum(ds):
    ds.branch("fix")
    fix = dl.open(ds.url, branch="fix")
    for n in range(3):
        ds["x"][0] = 10 + n
        ds.commit("main")
        fix["x"][1] = 20 + n
        fix.commit("fix")
    ds.vacuum(spare="0s", older_than="0s")
    again = dl.open(ds.url)
    again.merge("fix")
    assert again["x"][:].tolist() == [12, 22, 2, 3]
    fix = dl.open(ds.url, branch="fix")
    fix["x"][2] = 30
    fix.commit("fix goes on")
    again.vacuum(spare="0s", older_than="0s")
    again = dl.open(ds.url)
    again["x"][1] = 21
    again.commit("main goes on")
    again.merge("fix")
    assert again["x"][:].tolist() == [12, 21, 30, 3]


def test_open_transaction_preserves_the_chunks_it_has_written(ds):
    writer = dl.open(ds.url)
    writer.append({"x": [9], "b": [bytes([9]) * SIZE]})
    ds.vacuum(spare="0s", older_than="0s")
    writer.commit("after the vacuum")
    assert dl.open(ds.url)["b"][4] == bytes([9]) * SIZE
    check_consistent(writer)


@pytest.mark.parametrize("large", [False, True])
def test_open_transaction_preserves_its_base_version(ds, large):
    writer = dl.open(ds.url)
    writer["x"][0] = 100
    if large:
        writer.append({"x": [9], "b": [bytes([9]) * SIZE]})
    for n in range(3):
        ds["b"][:] = [bytes([n])] * 4
        ds.commit("others go on")
    ds.optimize()
    ds.vacuum(spare="0s", older_than="0s")
    assert writer["b"][:4] == BYTES
    writer.commit("after the vacuum")
    again = dl.open(ds.url)
    assert again["x"][:].tolist()[:4] == [100, 1, 2, 3]
    assert again["b"][0] == bytes([2])


def test_pins_of_a_dead_vacuum_are_removed(ds):
    repository = ds.handle.repository
    repository.create_branch("_pin-dead", ds.version)
    ds.vacuum(spare="0s")
    with pytest.raises(dl.LakeError, match="_pin-dead"):
        repository.tip("_pin-dead")


def test_nothing_is_deleted_without_the_branches(ds):
    repo, before = Path(ds.url) / "repo", files(ds)
    repo.rename(repo.with_name("elsewhere"))
    with pytest.raises(dl.DamagedError, match="repository doesn't exist"):
        ds.vacuum(spare="0s")
    repo.with_name("elsewhere").rename(repo)
    assert files(ds) == before
    assert ds.verify()


def test_age_beyond_the_calendar_expires_no_version(ds):
    assert ds.vacuum(older_than="99999999999d", dry_run=True).expired == 0


@pytest.mark.parametrize("older_than", ["3 days", "d", 5, "-3d"])
def test_invalid_age_is_refused(ds, older_than):
    with pytest.raises(ValueError, match="older_than='30d'"):
        ds.vacuum(older_than=older_than)


@pytest.mark.parametrize("spare", ["1h", "0s"])
def test_spare_sets_the_age_of_spared_objects(ds, spare):
    ds.append({"x": [1], "b": [bytes(SIZE)]})
    ds.discard()
    before = files(ds)
    age(ds, hours=0.5)
    done = ds.vacuum(spare=spare)
    assert (files(ds) < before) == bool(done.bytes) == (spare == "0s")
    if spare == "1h":
        assert re.fullmatch(
            r"No version expires without older_than=\. [\d,]+ bytes that no version needs are "
            r"spared, because they are younger than 1h\. Wait, or pass a shorter spare=\.",
            done.why,
        )
    else:
        assert done.why == ""


def test_vacuum_explains_why_it_freed_nothing(ds):
    assert "Every object is needed by a version" in ds.vacuum(spare="0s").why
    assert "No version is older than 30d" in ds.vacuum(older_than="30d", spare="0s").why
    writer = dl.open(ds.url)
    writer["x"][0] = 5
    ds.append({"x": [1], "b": [bytes(SIZE)]})
    ds.discard()
    why = ds.vacuum(spare="0s").why
    assert re.search(r"a transaction that has been open since 20.* UTC may need them\. Commit", why)
    writer.discard()
    assert ds.vacuum(spare="0s").why == ""


@pytest.mark.parametrize("spare", ["-1h", "1 day", 5, timedelta(seconds=-1)])
def test_invalid_grace_period_is_refused(ds, spare):
    with pytest.raises(ValueError, match="spare='24h'"):
        ds.vacuum(spare=spare)


def test_vacuum_deletes_leftovers_of_killed_writers(ds):
    writers = Path(ds.url) / ".writers"
    for name in ("0" * 32 + ".lock", "1" * 32 + ".draft", "2" * 32 + ".json", "3" * 32 + ".lock"):
        (writers / name).write_text("{}")
    (writers / "3".ljust(32, "3")).with_suffix(".json").write_text("{}")
    (writers / "commit-00000000000000000001-abcdef00.ticket").touch()
    writer = dl.open(ds.url)
    writer["x"][0] = 5
    alive = {p.name for p in writers.iterdir() if p.name[0] not in "0123" or p.stat().st_size != 2}
    ds.vacuum()
    left = {p.name for p in writers.iterdir()}
    assert left - {"pins.lock", "pins-line.lock"} <= alive
    assert len([name for name in left if len(name) > 32]) == 2
    writer.commit("still open")


# ---- verify


def test_undamaged_lake_verifies(ds):
    report = ds.verify()
    assert report
    assert repr(report) == f"version {ds.version}: 4 rows, 2 columns: all bytes are intact"


def test_verification_needs_a_commit(ds):
    ds["x"][0] = 5
    with pytest.raises(dl.UncommittedError, match="Commit first"):
        ds.verify()


def test_verify_reads_again_what_the_handle_has_cached(tmp_path):
    ds = dl.create(str(tmp_path / "numbers.lake"), {"x": "int64"})
    ds.append({"x": np.random.default_rng(0).integers(2**60, size=5000)})
    ds.commit("numbers")
    before = ds["x"][:]
    largest = max((tmp_path / "numbers.lake" / "chunks").iterdir(), key=lambda f: f.stat().st_size)
    data = bytearray(largest.read_bytes())
    data[len(data) // 2] ^= 1
    largest.write_bytes(data)
    np.testing.assert_array_equal(ds["x"][:], before)
    assert {d.column for d in ds.verify().damaged} == {"x"}


def test_damaged_row_ids_are_reported(tmp_path):
    ds = dl.create(str(tmp_path / "ids"), {"x": "uint8"})
    for n in range(30):  # blocks of ids that do not compress away
        ds.append({"x": np.full(40, n, np.uint8)})
        ds.commit(f"{n}")
    from deeplake_lite.storage.repo import run

    session = ds.handle.repository.writer("main")
    path = ds.handle.table.rows.ids.path
    stored = bytearray(run(session.get(f"{path}/c/0")))
    stored[len(stored) // 2] ^= 1
    run(session.put(f"{path}/c/0", stored))
    session.commit("damaged")
    report = dl.open(ds.url).verify()
    assert not report
    assert {d.column for d in report.damaged} == {None}
    assert "index" in repr(report)


AWAY = timezone(timedelta(hours=5))
AGES = {
    "99999999999w": "keeps",
    "9" * 400 + "d": "keeps",
    timedelta.max: "keeps",
    timedelta.min: "refused",
    datetime.min: "keeps",
    datetime.min.replace(tzinfo=AWAY): "keeps",
    datetime.max: "expires",
    datetime.max.replace(tzinfo=timezone(-AWAY.utcoffset(None))): "expires",
}


@pytest.mark.parametrize("age", AGES, ids=lambda age: str(age)[:30])
def test_extreme_ages_expire_everything_or_nothing(make_lake, age):
    ds = make_lake({"x": "int32"}, x=[1])
    ds.append({"x": [2]})
    ds.commit("two")
    if AGES[age] == "refused":
        with pytest.raises(dl.OptionError, match="must not be a negative age"):
            ds.vacuum(older_than=age)
    else:
        done = ds.vacuum(older_than=age, spare=timedelta(0))
        assert bool(done.expired) == (AGES[age] == "expires")
    assert ds["x"][:].tolist() == [1, 2]
    assert ds.verify()


@pytest.mark.parametrize("spare", ["99999999999w", "9" * 400 + "d", timedelta.max])
def test_longest_grace_period_spares_everything(make_lake, spare):
    ds = make_lake({"x": "int32"}, x=[1])
    assert ds.vacuum(spare=spare).bytes == 0
    assert ds.verify()


def test_all_failed_writes_of_an_optimize_are_reported_as_one_error(new_url, monkeypatch, caplog):
    ds = dl.create(new_url(), {"b": dl.Bytes()})
    ds.append({"b": [bytes(4 * 2**20)] * 12})
    ds.commit("rows")
    put = Session.put

    async def fail(session, key, value):
        if "/values/c/" in key:
            raise dl.StorageError("The store is full.")
        await put(session, key, value)

    monkeypatch.setattr(Session, "put", fail)
    with pytest.raises(dl.StorageError, match="full"):
        ds.optimize()
    gc.collect()
    assert "never retrieved" not in caplog.text
