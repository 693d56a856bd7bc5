"""Simultaneous changes of branches and tags, which Icechunk keeps in one file."""

from __future__ import annotations

import threading

import deeplake_lite as dl
from deeplake_lite.storage.repo import Repository, vacuums

WRITERS, NAMES = 4, 15


def test_no_name_is_lost_when_several_threads_create_names(make_lake):
    ds = make_lake({"x": "int32"}, x=[1])
    errors = []

    def create(writer):
        repository = Repository.open(ds.url)
        try:
            for n in range(NAMES):
                repository.create_branch(f"b{writer}-{n}", ds.version)
                repository.create_tag(f"t{writer}-{n}", ds.version)
        except dl.LakeError as error:
            errors.append(error)

    threads = [threading.Thread(target=create, args=(writer,)) for writer in range(WRITERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(ds.tags) == WRITERS * NAMES
    assert len(ds.branches) == 1 + WRITERS * NAMES


def test_commits_and_pins_do_not_undo_each_other(make_lake):
    ds = make_lake({"x": "int32"}, x=[1])
    repository, done = Repository.open(ds.url), threading.Event()

    def pin():
        while not done.is_set():
            with vacuums.pin_versions(repository, [ds.version]):
                pass

    thread = threading.Thread(target=pin)
    thread.start()
    versions = []
    for n in range(10):
        ds["x"][0] = n
        versions.append(ds.commit(f"{n}"))
    done.set()
    thread.join()
    assert [commit.id for commit in dl.open(ds.url).log()][:10] == versions[::-1]
    assert repository.branch_names() == ["main"]


def test_copies_of_the_history_do_not_accumulate(tmp_path):
    ds = dl.create(str(tmp_path / "a.lake"), {"x": "int32"})
    ds.append({"x": [1]})
    for n in range(5):
        ds["x"][0] = n
        ds.commit(f"{n}")
    assert len(list((tmp_path / "a.lake" / "overwritten").iterdir())) == 1
