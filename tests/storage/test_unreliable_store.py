"""A store with faults in a tenth of its requests loses nothing, and all errors are ours."""

import pytest

import deeplake_lite as dl
from deeplake_lite.testing.proxy import NO_FAULTS, Faults, Proxy

COMMITS = 24
TRIES = 40
"""Maximum number of times that an operation is repeated by the test."""


@pytest.fixture
def behind(bucket):
    """Return a proxy, and the bucket behind it."""
    with Proxy(bucket.endpoint, seed=7, stall=0.1) as proxy:
        yield proxy, bucket.at(proxy.endpoint)


def insist(action):
    """Repeat an operation until it is acknowledged. Only our own errors are expected."""
    for _ in range(TRIES):
        try:
            return action()
        except dl.StorageError:
            pass
    raise AssertionError(f"it failed {TRIES} times")


def test_nothing_acknowledged_is_lost(behind):
    proxy, bucket = behind
    ds = dl.create(bucket.url(), {"x": "int64", "data": "bytes"}, storage_options=bucket.options)
    proxy.faults = Faults.spread(0.1)
    writers = [insist(bucket.open) for _ in range(2)]
    for n in range(COMMITS):
        writer = writers[n % 2]
        insist(lambda writer=writer, n=n: writer.append({"x": [n], "data": [bytes([n]) * 5_000]}))
        insist(lambda writer=writer, n=n: writer.commit(f"row {n}"))
        insist(writer.refresh)
        assert n in insist(lambda writer=writer: writer["x"][:]).tolist()
    insist(lambda: writers[0].tag("done"))
    faults = proxy.faulty
    proxy.faults = NO_FAULTS
    ds = bucket.open()
    assert ds["x"][:].tolist() == list(range(COMMITS))
    assert ds["data"][:] == [bytes([n]) * 5_000 for n in range(COMMITS)]
    assert [commit.message for commit in ds.log()][::-1][1:] == [f"row {n}" for n in range(COMMITS)]
    assert list(ds.branches) == ["main"]
    assert ds.tags.keys() == {"done"}
    assert ds.verify()
    assert sum(faults.values()) > 10


@pytest.mark.parametrize("fault", ["lost", "truncated", "forbidden", "failed", "busy"])
def test_every_operation_on_a_broken_store_ends_with_our_error(behind, fault):
    proxy, bucket = behind
    options = {**bucket.options, "retries": 1}
    ds = dl.create(bucket.url(), {"x": "int64"}, storage_options=options)
    ds.append({"x": [1]})
    ds.commit("row")
    ds.append({"x": [2]})
    proxy.faults = Faults(**{fault: 1.0})
    fresh = dl.create("memory://broken", {"x": "int64"}, overwrite=True)
    operations = {
        "open": lambda: dl.open(ds.url, storage_options=options),
        "exists": lambda: dl.exists(ds.url, storage_options=options),
        "create": lambda: dl.create(bucket.url("b"), {"x": "int64"}, storage_options=options),
        "commit": lambda: ds.commit("another"),
        "refresh": ds.refresh,
        "tag": lambda: ds.tag("v1"),
        "branch": lambda: ds.branch("b"),
        "log": ds.log,
        "copy": lambda: fresh.materialize(bucket.url("c"), storage_options=options),
    }
    for name, operation in operations.items():
        before = proxy.requests
        with pytest.raises(dl.LakeError):
            operation()
        assert proxy.requests - before <= 30, name
    proxy.faults = NO_FAULTS
    ds.commit("at last")
    assert sorted(dl.open(ds.url, storage_options=options)["x"][:].tolist()) == [1, 2]
