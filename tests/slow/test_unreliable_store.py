"""An object store whose replies fail, stall or are cut 10 % of the time loses nothing.

Two writers take turns to append and commit. Now and then a branch is made, committed to, merged
and deleted, and a vacuum deletes old versions and the remains of failed attempts.
"""

import contextlib
import sys
from datetime import timedelta

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.testing.proxy import NO_FAULTS, Faults, Proxy

COMMITS = 200
MERGE_EVERY, VACUUM_EVERY = 10, 25
KINDS = ("lost", "truncated", "stalled", "failed", "busy")
FAULTS = Faults.spread(0.1, *KINDS)


@pytest.fixture
def proxy(bucket):
    with Proxy(bucket.endpoint, seed=3) as proxy:
        yield proxy


def rows_of(start):
    sizes = [4_300_000 if start % 30 == 0 else 2_000, 100]
    return {
        "x": [start, start + 1],
        "data": [bytes([(start + i) % 256]) * size for i, size in enumerate(sizes)],
    }


class Writer:
    """Repeats operations on a lake until they are acknowledged, however often the store fails."""

    refused = 0

    def __init__(self, url, options):
        self.url, self.options = url, options
        self.ds = dl.open(url, storage_options=options)

    def insist(self, action):
        """Repeat an idempotent operation until it is acknowledged."""
        while True:
            try:
                return action()
            except dl.StorageError:
                Writer.refused += 1

    def add(self, ds, start):
        self.insist(lambda: ds.append(rows_of(start)))  # all of them or none
        self.insist(lambda: ds.commit(f"{start}"))

    def merge(self, name, start):
        """Merge rows through a branch, whose creation and deletion may have gone unacknowledged."""
        self.insist(lambda: name in self.ds.branches or self.make_branch(name))
        own = self.insist(lambda: dl.open(self.url, branch=name, storage_options=self.options))
        self.add(own, start)
        self.insist(lambda: self.ds.merge(name))
        self.insist(lambda: name not in self.ds.branches or self.ds.delete_branch(name))

    def make_branch(self, name):
        with contextlib.suppress(dl.ExistsError):  # the engine's retry meets its first attempt
            self.ds.branch(name)

    def vacuum(self):
        self.insist(lambda: self.ds.vacuum(older_than="0s", spare="0s"))


def test_nothing_acknowledged_is_lost_on_an_unreliable_store(bucket, proxy, trials, monkeypatch):
    monkeypatch.setattr("deeplake_lite.dataset.maintenance.MIN_AGE", timedelta(0))
    options = bucket.at(proxy.endpoint).options
    ds = dl.create(bucket.url(), {"x": "int64", "data": "bytes"}, storage_options=options)
    writers = [Writer(ds.url, options) for _ in range(2)]
    proxy.faults = FAULTS
    acknowledged, merges, vacuums = [], 0, 0
    for n in range(trials(COMMITS)):
        writer, start = writers[n % 2], 2 * n
        if n % MERGE_EVERY == MERGE_EVERY - 1:
            writer.merge(f"branch-{n}", start)
            merges += 1
        else:
            writer.add(writer.ds, start)
        acknowledged += [start, start + 1]
        if n % VACUUM_EVERY == VACUUM_EVERY - 1:
            writer.vacuum()
            vacuums += 1
            for other in writers:  # what it was working on may be gone
                other.insist(other.ds.refresh)
    proxy.faults = NO_FAULTS
    ds = dl.open(ds.url, storage_options=options)
    result = ds["x"][:].tolist()
    sys.stdout.write(
        f"{merges} merges, {vacuums} vacuums, {Writer.refused} refused, {proxy.faulty}\n"
    )
    assert sorted(result) == acknowledged
    assert len(np.unique(ds.row_ids)) == len(ds)
    for row in ds:
        assert row["data"] == rows_of(row["x"] // 2 * 2)["data"][row["x"] % 2]
    assert list(ds.branches) == ["main"]
    assert ds.verify()
    assert proxy.faulty.keys() == set(KINDS)
