"""A lake is only created on a store that honours conditional writes."""

import pytest

import deeplake_lite as dl
from deeplake_lite.storage.repo import conditional_writes
from tests import servers

IGNORED = {
    "localbucket": "the header If-Match",
    "rclone": "the header If-Match and the header If-None-Match",
}
"""The headers that each server ignores."""


@pytest.fixture(scope="module", params=IGNORED)
def careless(request, tmp_path_factory):
    """Return the name and the address of a store that ignores conditions."""
    with getattr(servers, request.param)(tmp_path_factory.mktemp(request.param)) as url:
        yield request.param, url


@pytest.fixture
def unsafe_bucket(careless):
    with servers.new_bucket(careless[1]) as bucket:
        yield bucket


def test_store_that_ignores_conditions_is_refused(careless, unsafe_bucket):
    name, bucket = careless[0], unsafe_bucket
    bucket.write("photos/a.jpg", b"mine")
    with pytest.raises(
        dl.UnsafeStoreError,
        match=rf"must honour conditional writes.*{bucket.endpoint} ignores {IGNORED[name]}\. "
        "Create the lake in a folder, or on a store that",
    ):
        dl.create(bucket.url("lake"), {"x": "int32"}, storage_options=bucket.options)
    assert bucket.objects() == {"photos/a.jpg"}
    assert not dl.exists(bucket.url("lake"), storage_options=bucket.options)


def test_import_into_a_store_that_ignores_conditions_is_refused(unsafe_bucket):
    bucket = unsafe_bucket
    with pytest.raises(dl.UnsafeStoreError):
        dl.from_arrays({"x": [1]}, bucket.url("a"), storage_options=bucket.options)
    ds = dl.from_arrays({"x": [1]}, "memory://copied-to-unsafe")
    with pytest.raises(dl.UnsafeStoreError):
        ds.materialize(bucket.url("b"), storage_options=bucket.options)
    assert not bucket.objects()


def test_objects_left_without_keys_to_delete_them_are_named(unsafe_bucket, monkeypatch):
    monkeypatch.setattr(conditional_writes, "delete_objects", lambda _, names, __: list(names))
    bucket = unsafe_bucket
    with pytest.raises(
        dl.UnsafeStoreError, match=rf"Delete repo, snapshots/.* below '{bucket.url('lake')}', and"
    ):
        dl.create(bucket.url("lake"), {"x": "int32"}, storage_options=bucket.options)
    assert len(bucket.objects("lake/")) == 3


def test_check_leaves_nothing_on_a_store_that_honours_conditions(bucket):
    headers = {"x-amz-meta-mine": "yes"}
    options = {**bucket.options, "write_headers": headers}
    ds = dl.create(bucket.url("lake"), {"x": "int32"}, storage_options=options)
    before = {key: bucket.read(key) for key in bucket.objects()}
    conditional_writes.check_conditional_writes(ds.url, options)
    assert {key: bucket.read(key) for key in bucket.objects()} == before
    assert options["write_headers"] == {"x-amz-meta-mine": "yes"}
    ds.append({"x": [1]})
    ds.commit("row")
    assert ds.verify()
