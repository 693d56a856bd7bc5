"""Two processes that start the same job at the same moment: one runs it, the other gets JobError.

The other process is played by a second call at a chosen step of the first one.
"""

import pytest

import deeplake_lite as dl
from deeplake_lite.errors import ExistsError, FormatError, JobError
from deeplake_lite.map import api, driver, new_lake
from deeplake_lite.map.journal import Journal
from deeplake_lite.storage.repo import creating, run
from deeplake_lite.storage.table import Table

from . import functions, lakes
from .test_rows import OPTIONS, expected, rows_of

RUNNING = "the job 'repeat-n-place' is running in another process or thread"
ENDED = "another process has run the job 'repeat-n-place' at the same time"
FINISHED = "The job 'repeat-n-place' has finished: the lake .* has its 30 rows"
COMMITTED = "The job 'repeat-n-place' runs in another process, too, which has committed"


@pytest.fixture(params=["folder", "store"])
def place(request, tmp_path):
    """Return the options for a new lake in a folder or on an object store."""
    if request.param == "folder":
        return {"rows_into": str(tmp_path / "b.lake")}
    bucket = request.getfixturevalue("bucket")
    return {"rows_into": bucket.url(), "storage_options": bucket.options}


@pytest.fixture
def source(tmp_path):
    return lakes.make(tmp_path / "a.lake", 20)


def before(monkeypatch, owner, name, action):
    """Call an action once, just before the first call of a function."""
    original, called = getattr(owner, name), []

    def patched(*arguments, **options):
        if not called:
            called.append(1)
            action()
        return original(*arguments, **options)

    monkeypatch.setattr(owner, name, patched)


def check(place):
    """Check that each row is there once, and that no journal is left."""
    url, options = place["rows_into"], place.get("storage_options")
    ds = dl.open(url, storage_options=options)
    columns = (ds[name][:].tolist() for name in ("n", "place", "x"))
    assert list(zip(*columns, strict=True)) == expected(range(20))
    assert ds.handle.repository.branch_names() == ["main"]
    assert [job.phase for job in dl.jobs(url, storage_options=options)] == ["finished"]
    assert ds.verify()


STEPS = {
    "while it creates the lake": (Table, "create", FINISHED),
    "before it creates the lake": (new_lake, "creating", FINISHED),
    "before it has the lock": (api, "Running", FINISHED),
}


@pytest.mark.parametrize("step", STEPS)
def test_a_job_that_another_process_has_finished_meanwhile_is_not_run_again(
    source, place, monkeypatch, step
):
    owner, name, message = STEPS[step]
    before(monkeypatch, owner, name, lambda: source.map(functions.repeat, **OPTIONS, **place))
    with pytest.raises(JobError, match=message):
        source.map(functions.repeat, **OPTIONS, **place)
    check(place)


def test_a_job_that_runs_in_another_process_is_refused_in_a_folder(tmp_path, source):
    place, refused = {"rows_into": str(tmp_path / "b.lake")}, []

    def repeat(batch):
        if not refused:
            refused.append(1)
            with pytest.raises(JobError, match="the job 'job' is running in another"):
                source.map(functions.repeat, name="job", **OPTIONS, **place)
        return functions.repeat(batch)

    source.map(repeat, name="job", executor=None, **OPTIONS, **place)
    check(place)


STORE_STEPS = {
    "before it writes the journal": (Journal, "create", COMMITTED),
    "before it computes": (driver.Driver, "_compute", ENDED),
    "before it records parts": (driver.Driver, "_record", ENDED),
    "before it commits": (driver.Driver, "_publish", COMMITTED),
}


@pytest.mark.parametrize("step", STORE_STEPS)
def test_the_first_driver_on_a_store_wins(source, bucket, monkeypatch, step):
    place = {"rows_into": bucket.url(), "storage_options": bucket.options}
    owner, name, message = STORE_STEPS[step]
    before(monkeypatch, owner, name, lambda: source.map(functions.repeat, **OPTIONS, **place))
    with pytest.raises(JobError, match=message):
        source.map(functions.repeat, **OPTIONS, **place)
    check(place)


def test_a_journal_that_was_started_over_is_left_alone(source, bucket, monkeypatch):
    place = {"rows_into": bucket.url(), "storage_options": bucket.options}

    def restart():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(driver.Driver, "_compute", interrupt)
            with pytest.raises(KeyboardInterrupt):
                source.map(functions.repeat, restart=True, **OPTIONS, **place)

    def interrupt(_self):
        raise KeyboardInterrupt

    before(monkeypatch, driver.Driver, "_record", restart)
    with pytest.raises(JobError, match=RUNNING):
        source.map(functions.repeat, **OPTIONS, **place)
    source.map(functions.repeat, **OPTIONS, **place)
    check(place)


@pytest.mark.parametrize("step", STORE_STEPS)
def test_a_new_column_on_a_store_is_filled_by_the_first_driver(bucket, monkeypatch, step):
    ds = dl.create(bucket.url(), {"x": "int64"}, storage_options=bucket.options)
    ds.append({"x": range(20)})
    ds.commit("rows")
    options = {"columns": "x", "into": {"y": "int64"}, "progress": False}
    owner, name, message = STORE_STEPS[step]
    before(monkeypatch, owner, name, lambda: bucket.open().map(functions.double, **options))
    if step == "before it commits":  # it finds the results of the same job, and adds nothing
        ds.map(functions.double, **options)
    else:
        with pytest.raises(JobError, match=message.replace("repeat-n-place", "double-y")):
            ds.map(functions.double, **options)
    new = bucket.open()
    assert new["y"][:].tolist() == list(range(0, 40, 2))
    assert new.handle.repository.branch_names() == ["main"]


def test_a_lake_whose_creator_was_killed_is_used(source, bucket):
    place = {"rows_into": bucket.url(), "storage_options": bucket.options}
    with creating(bucket.url(), bucket.options):
        pass
    source.map(functions.repeat, **OPTIONS, **place)
    check(place)


def test_another_repository_is_not_a_new_lake(source, bucket):
    place = {"rows_into": bucket.url(), "storage_options": bucket.options}
    with creating(bucket.url(), bucket.options) as repository:
        session = repository.writer("main")
        run(session.set_attributes({"another": "repository"}))
        session.commit("not a lake")
    with pytest.raises(FormatError, match="this is an Icechunk repository, but not a lake"):
        source.map(functions.repeat, **OPTIONS, **place)


def test_other_objects_are_not_a_new_lake(source, bucket, monkeypatch):
    monkeypatch.setattr(new_lake, "PAUSES", (0.0, None))
    bucket.client.put_object(Bucket=bucket.name, Key="lake/note.txt", Body=b"mine")
    with pytest.raises(ExistsError, match="there are objects below this URL"):
        source.map(
            functions.repeat, rows_into=bucket.url(), storage_options=bucket.options, **OPTIONS
        )


def test_rows_in_a_folder_are_in_the_order_of_the_input_after_a_race(tmp_path, source, monkeypatch):
    target = str(tmp_path / "b.lake")
    before(
        monkeypatch, new_lake, "creating",
        lambda: dl.create(target, {"n": "int64", "place": "int8", "x": "int64"}),
    )  # fmt: skip
    source.map(functions.repeat, rows_into=target, **OPTIONS)
    assert rows_of(target) == expected(range(20))
