"""Functions that fail, results that do not fit, and arguments that contradict each other."""

import re
import threading

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import (
    JobError,
    OptionError,
    ReadOnlyError,
    SchemaError,
    UncommittedError,
)
from deeplake_lite.map import driver

from . import functions, lakes


@pytest.fixture
def ds(tmp_path):
    return lakes.make(tmp_path / "a.lake", 20)


def fail(_batch):
    raise ValueError("out of luck")


@pytest.mark.parametrize("executor", [None, 1], ids=["threads", "processes"])
def test_an_error_names_the_rows_and_the_function(ds, executor):
    with pytest.raises(JobError, match=r"made fail fail: ValueError: out of luck\. Fix") as caught:
        ds.map(fail, into={"y": "int64"}, batch=20, executor=executor)
    ids = ds.row_ids.tolist()
    assert caught.value.row_ids == tuple(ids)
    assert f"A batch of 20 rows (row ids {ids[0]} to {ids[-1]})" in str(caught.value)
    cause = caught.value.__cause__
    assert isinstance(cause, ValueError)
    if executor:
        assert "raise ValueError" in str(cause.__cause__)
    assert "y" not in ds.columns


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ([1], "for 20 rows it returned 1 value"),
        (None, "must return one value per row, but it returned None"),
        (5, "must return one value per row, but it returned 5"),
        (["a"] * 20, "must be int64"),
        (np.zeros((20, 2)), "shape"),
        ({"z": [1] * 20}, "must return a dict with the keys ['y']"),
        ({}, "a dict with the keys []"),
        ([2**70] * 20, "row 0"),
    ],
    ids=["length", "none", "number", "text", "shape", "key", "empty", "range"],
)
def test_results_that_do_not_fit_are_rejected(ds, result, message):
    with pytest.raises(JobError, match=re.escape(message)):
        ds.map(lambda _: result, into={"y": "int64"}, batch=20)


def test_several_columns_need_a_dict(ds):
    into = {"y": "int64", "z": "int64"}
    for result in ([1] * 20, {"y": [1] * 20}, {"y": [1] * 20, "z": [1] * 20, "w": 0}):
        with pytest.raises(JobError, match=r"must return a dict with the keys \['y', 'z'\]"):
            ds.map(lambda _, result=result: result, into=into, batch=20, restart=True)


@pytest.mark.parametrize("executor", [None, 1], ids=["threads", "processes"])
@pytest.mark.parametrize("commit", ["once", "each"])
def test_rows_that_fail_are_skipped_and_listed(ds, executor, commit):
    job = ds.map(
        functions.double_except_odd_tens, columns="x", into={"y": "int64"}, batch=4,
        on_error="skip", executor=executor, commit=commit,
    )  # fmt: skip
    result = job.result()
    ids = ds.row_ids.tolist()
    assert result.skipped == {ids[5]: "ValueError: no 5", ids[15]: "ValueError: no 15"}
    assert result.rows == 18
    assert "18 rows, 2 skipped in" in repr(result)
    assert ds["y"][:].tolist() == [None if n % 10 == 5 else 2 * n for n in range(20)]
    assert dict(ds.lineage("y").skipped_rows) if commit == "once" else True


def test_skipped_rows_of_an_existing_column_keep_their_values(ds):
    ds.map(functions.double_except_odd_tens, into="x", on_error="skip")
    assert ds["x"][:].tolist() == [n if n % 10 == 5 else 2 * n for n in range(20)]


def test_rows_that_cannot_be_decoded_are_skipped_or_named(tmp_path):
    good = dl.Image("png").encode([np.zeros((2, 2, 3), "uint8")]).buffers[0]
    cut = bytes(good)[:-20] + bytes(20)
    ds = dl.create(str(tmp_path / "a.lake"), {"image": dl.Image("png")})
    ds.append({"image": [good, good]})
    f, table = ds.field("image"), ds.handle.table
    cells = f.htype.encode([good])
    cells.buffers[0] = bytes(cut)
    ds.handle.edit(lambda t: t.update(np.array([1]), {f.id: cells}))
    ds.commit("images")
    del table

    def width(batch):
        return [image.shape[1] for image in batch["image"]]

    with pytest.raises(JobError, match=r"cannot be decoded: row 1 of the view"):
        ds.map(width, into={"w": "int32"})
    result = ds.map(width, into={"w": "int32"}, on_error="skip", restart=True).result()
    assert list(result.skipped) == ds.row_ids[1:].tolist()
    assert ds["w"][:].tolist() == [2, None]


def test_a_worker_that_ends_every_time_ends_the_job(ds, monkeypatch):
    monkeypatch.setattr(driver, "MAX_LOSSES", 2)
    with pytest.raises(JobError, match="Workers died in 2 attempts at a part of 20 rows") as error:
        ds.map(functions.end_the_process, into={"y": "int64"}, executor=1)
    assert "a worker process exited with code 7" in str(error.value)


def test_a_batch_that_takes_too_long_ends_the_job(ds):
    with pytest.raises(JobError, match=r"took longer than timeout=0.5 s per batch"):
        ds.map(functions.sleep_long, into={"y": "int64"}, executor=1, timeout=0.5)


def test_setup_that_fails_is_named(ds):
    with pytest.raises(JobError, match=r"setup=.*failed: ValueError: out of luck"):
        ds.map(functions.multiply, into={"y": "int64"}, setup=lambda: fail(0))


def test_functions_that_cannot_be_pickled_are_rejected(ds):
    lock = threading.Lock()
    with pytest.raises(JobError, match=r"must be picklable, but pickling function=.* failed"):
        ds.map(lambda batch: (lock, batch["x"])[1], into={"y": "int64"}, executor=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"into": {}}, "into must name at least one column"),
        ({"columns": []}, "columns must have at least one name"),
        ({"batch": 0}, "batch must be an integer of at least 1"),
        ({"executor": 0}, "executor must be an integer of at least 1"),
        ({"executor": "dask"}, "executor must be None for threads"),
        ({"executor": True}, "executor must be None for threads"),
        ({"name": "a/b"}, "The name of a job must have"),
        ({"timeout": 1}, "timeout= needs worker processes"),
        ({"restart_after": 9}, "restart_after= needs worker processes"),
        ({"commit": "never"}, "commit must be 'once' or 'each'"),
        ({"on_error": "ignore"}, "on_error must be 'raise' or 'skip'"),
    ],
)
def test_invalid_options_are_rejected(ds, options, message):
    with pytest.raises(OptionError, match=re.escape(message)):
        ds.map(functions.double, **{"into": {"y": "int64"}, **options})


def test_columns_must_fit(ds):
    with pytest.raises(SchemaError, match="exists and is Scalar"):
        ds.map(functions.double, into={"x": "float32"})
    with pytest.raises(SchemaError, match="There is no column 'y'"):
        ds.map(functions.double, into="y")
    with pytest.raises(dl.ColumnNotFoundError, match="'z'"):
        ds.map(functions.double, columns="z", into={"y": "int64"})
    assert ds.handle.repository.branch_names() == ["main"]


def test_the_dataset_must_be_committed_and_writable(ds):
    ds.append({"x": [5], "name": ["new"]})
    with pytest.raises(UncommittedError, match="A job needs committed rows"):
        ds.map(functions.double, into={"y": "int64"})
    ds.discard()
    with pytest.raises(ReadOnlyError, match="A job writes to a branch"):
        dl.open(ds.url, version=ds.version).map(functions.double, into={"y": "int64"})
    with pytest.raises(dl.InvalidValueError, match="A job needs rows of the lake"):
        ds.query("SELECT COUNT(*) AS x").map(functions.double, into={"y": "int64"})


def test_an_executor_without_futures_is_rejected(ds):
    class Wrong:
        def submit(self, *_arguments):
            return 5

    with pytest.raises(OptionError, match="must return a future"):
        ds.map(functions.double, into={"y": "int64"}, executor=Wrong())
