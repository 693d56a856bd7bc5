"""Jobs on an object store, where branches are moved by compare-and-swap instead of locks."""

import pytest

import deeplake_lite as dl
from deeplake_lite.errors import JobError
from deeplake_lite.map import driver
from deeplake_lite.storage.repo import run

from . import functions


@pytest.fixture
def ds(bucket):
    ds = dl.create(bucket.url(), {"x": "int64"}, storage_options=bucket.options)
    ds.append({"x": range(20)})
    ds.commit("rows")
    return ds


@pytest.mark.parametrize("executor", [None, 1], ids=["threads", "processes"])
def test_workers_write_to_the_store(ds, bucket, executor, monkeypatch):
    monkeypatch.setattr(driver, "RECORD_SECONDS", 0.0)
    ds.map(functions.double, into={"y": "int64"}, batch=8, executor=executor)
    again = bucket.open()
    assert again["y"][:].tolist() == list(range(0, 40, 2))
    assert again.verify()
    assert again.handle.repository.branch_names() == ["main"]
    [job] = dl.jobs(ds.url, storage_options=bucket.options)
    assert (job.phase, job.rows) == ("finished", 20)


def test_a_driver_stops_when_another_one_has_written_to_its_journal(ds, bucket):
    def double(batch):
        session = bucket.open().handle.repository.writer("_job-job")
        run(session.set_attributes({"another": "driver"}))
        session.commit("job job")
        return batch["x"] * 2

    with pytest.raises(JobError, match="is running in another process or thread"):
        ds.map(double, into={"y": "int64"}, batch=20, name="job")
    assert bucket.open().columns == ("x",)
