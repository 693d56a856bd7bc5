"""Keys of appended batches are found on the pages of a tree, of which each change writes few."""

import json
import random

import icechunk
import numpy as np
import pytest
import zarr

import deeplake_lite as dl
from deeplake_lite.errors import DamagedError, StorageError
from deeplake_lite.storage import append_keys
from deeplake_lite.storage.append_keys import (
    AppendKeys,
    digest_of,
    entries_of,
    has_digest,
    has_entry,
    keys_of,
)
from deeplake_lite.storage.repo import run


@pytest.fixture
def repository(tmp_path):
    return dl.create(str(tmp_path / "a.lake"), {"x": "int8"}).handle.repository


@pytest.fixture
def small_pages(monkeypatch):
    monkeypatch.setattr(append_keys, "PAGE", 4)


def commit(session):
    return session.commit("keys")


def write(repository, keys):
    session = repository.writer("main")
    run(AppendKeys(session).write(entries_of(keys)))
    return commit(session)


def opened(repository):
    return AppendKeys(repository.reader(repository.tip("main")))


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("seed", range(4))
def test_keys_are_found_after_any_number_of_commits(repository, seed):
    chance, expected = random.Random(seed), {}
    for part in range(8):
        new = {
            digest_of(f"{part}/{i}"): tuple(
                (chance.randrange(2**62), chance.randrange(9)) for _ in range(chance.choice([1, 2]))
            )
            for i in range(chance.randrange(60))
        }
        write(repository, new) if new else None
        expected |= new
        keys = opened(repository)
        sample = chance.sample(sorted(expected), min(9, len(expected)))
        assert {d: set(run(keys.find(d))) for d in sample} == {d: set(expected[d]) for d in sample}
        assert run(keys.find(digest_of("absent"))) is None
    found = {d: set(runs) for d, runs in keys_of(run(opened(repository).all())).items()}
    assert found == {d: set(runs) for d, runs in expected.items()}
    assert run(opened(repository).verify()) is None


def test_without_keys_there_is_no_array(repository):
    keys = opened(repository)
    assert run(keys.find(digest_of("a"))) is None
    assert len(run(keys.all())) == 0
    assert not run(repository.reader(repository.tip("main")).has("keys/zarr.json"))


@pytest.mark.usefixtures("small_pages")
def test_a_new_key_writes_one_page_of_many(repository):
    write(repository, {digest_of(str(i)): ((i, 1),) for i in range(2000)})
    session = repository.writer("main")
    written, original = [], type(session).put

    async def put(self, key, data):
        written.append(key)
        await original(self, key, data)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(session), "put", put)
        run(AppendKeys(session).write(entries_of({digest_of("new"): ((0, 1),)})))
    assert len(written) == 2
    assert written[0] == "keys/zarr.json"


@pytest.mark.usefixtures("small_pages")
def test_all_keys_may_be_replaced(repository):
    write(repository, {digest_of(str(i)): ((i, 1),) for i in range(100)})
    session = repository.writer("main")
    run(AppendKeys(session).replace(entries_of({digest_of("a"): ((7, 3),)})))
    commit(session)
    assert keys_of(run(opened(repository).all())) == {digest_of("a"): ((7, 3),)}


def test_zarr_reads_the_array(repository, tmp_path):
    write(repository, {digest_of(str(i)): ((i, 1),) for i in range(1500)})
    store = icechunk.Repository.open(icechunk.local_filesystem_storage(str(tmp_path / "a.lake")))
    array = zarr.open_array(store.readonly_session("main").store, path="keys", mode="r")
    entries = array[:]
    used = entries[(entries[:, :2] != 0).any(axis=1)]
    assert len(used) == array.attrs["count"] == 1500
    assert sorted(used[:, 2].tolist()) == list(range(1500))


@pytest.mark.usefixtures("small_pages")
def test_a_full_tree_is_an_error(repository, monkeypatch):
    monkeypatch.setattr(append_keys, "MOST_LEVELS", 1)
    with pytest.raises(StorageError, match="room for about"):
        write(repository, {digest_of(str(i)): ((i, 1),) for i in range(5)})


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data[:-1] + bytes([data[-1] ^ 1]), "page 1: the checksum"),
        (None, "entries of another page"),
        ("missing", "do not match their sum"),
        ("attributes", "keys with which batches were appended is damaged"),
    ],
    ids=["bytes", "swapped", "missing", "attributes"],
)
def test_damage_is_found(repository, change, message):
    write(repository, {digest_of(str(i)): ((i, 1),) for i in range(200)})
    session = repository.writer("main")
    key = "keys/c/1/0"
    if change is None:
        run(session.put(key, run(session.get("keys/c/2/0"))))
    elif change == "missing":
        run(session.delete(key))
    elif change == "attributes":
        metadata = json.loads(bytes(run(session.get("keys/zarr.json"))))
        metadata["attributes"] = {"count": -1, "sum": "x"}
        run(session.put("keys/zarr.json", json.dumps(metadata).encode()))
    else:
        run(session.put(key, change(bytes(run(session.get(key))))))
    commit(session)
    with pytest.raises(DamagedError, match=message):
        run(opened(repository).all())
    assert message in run(opened(repository).verify()).replace("The list of ", "")
    report = dl.open(repository.url).verify()
    assert not report
    assert any(message in damage.reason for damage in report.damaged)


def test_entries_are_compared_by_key_and_as_a_whole():
    a = entries_of({digest_of("a"): ((1, 1),), digest_of("b"): ((2, 1),), bytes(16): ((0, 256),)})
    b = entries_of({digest_of("a"): ((1, 1),), digest_of("b"): ((3, 1),), bytes(16): ((0, 1),)})
    assert has_digest(a, b).tolist() == [True, True, True]
    assert has_entry(a, b).tolist() == [True, False, False]
    assert has_digest(a, append_keys.NONE).tolist() == [False] * 3
    assert np.array_equal(entries_of(keys_of(a)), a)
