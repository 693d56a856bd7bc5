"""Functions that return rows: each result is written once, in order, whoever computes it."""

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import ExistsError, JobError, OptionError, SchemaError
from deeplake_lite.map import driver
from deeplake_lite.map.journal import Journal

from ..loader.watching import children, eventually
from . import functions, lakes
from .test_resuming import One

ROOT = Path(__file__).parents[2]
OPTIONS = {"columns": "x", "batch": 2, "progress": False, **functions.REPEATED}


@pytest.fixture
def target(tmp_path):
    return str(tmp_path / "b.lake")


def expected(numbers):
    """Return the rows that `functions.repeat` gives, with the kept column."""
    return [(2 * n, i, n) for n in numbers for i in range(n % 4)]


def rows_of(url):
    ds = dl.open(url)
    columns = (ds[name][:].tolist() for name in ("n", "place", "x"))
    return list(zip(*columns, strict=True))


def check(url, numbers):
    """Check that each row has its results, in order, and that the job has left nothing behind."""
    ds = dl.open(url)
    assert rows_of(url) == expected(numbers)
    assert ds.handle.repository.branch_names() == ["main"]
    assert ds.verify()


@pytest.fixture
def record_often(monkeypatch):
    monkeypatch.setattr(driver, "RECORD_SECONDS", 0.0)
    monkeypatch.setattr(driver, "RECORD_SHARE", 0.0)


# ---- results


@pytest.mark.parametrize("kind", ["threads", "processes", "futures"])
@pytest.mark.parametrize("commit", ["once", "each"])
def test_rows_of_every_type_are_those_of_the_function(tmp_path, target, kind, commit):
    ds = lakes.make(tmp_path / "a.lake", 40)
    ds.delete([3])
    ds.append({"x": [1000], "name": ["late"]})
    ds.commit("changes")
    with ThreadPoolExecutor(2) as pool:
        executor = {"threads": None, "processes": 2, "futures": pool}[kind]
        job = ds.map(
            functions.rows_of_every_type, columns="x", rows_into=target, schema=lakes.TYPES,
            keep=["name"], batch=7, executor=executor, commit=commit,
        )  # fmt: skip
    values = functions.rows_of_every_type({"x": ds["x"][:]})
    wanted = dl.create(str(tmp_path / "c.lake"), {**lakes.TYPES, "name": "text"})
    wanted.append(
        [
            {**row, "name": name}
            for name, rows in zip(ds["name"], values, strict=True)
            for row in rows
        ]
    )
    found = dl.open(target)
    assert (job.result().rows, job.result().added) == (len(ds), len(found))
    assert f"{len(found)} added" in repr(job.result())
    assert found.columns == wanted.columns
    for name in found.columns:
        mine, theirs = (list(lakes.digests(d, [name])[name].values()) for d in (found, wanted))
        assert mine == theirs, name
    assert found.verify()
    assert ds.refresh().columns == ("x", "name")


@pytest.mark.parametrize("order", ["reversed", "repeated", "arranged"])
def test_rows_have_the_order_of_the_input(tmp_path, target, order):
    ds = lakes.make(tmp_path / "a.lake", 50)
    view = {"reversed": ds[::-1], "repeated": ds[[7, 2, 2, 30]], "arranged": ds}[order]
    if order == "arranged":
        ds.optimize(shuffle=True, seed=1)
        ds.delete([0, 9])
        ds.commit("fewer")
    view.map(functions.repeat, rows_into=target, **OPTIONS)
    check(target, view["x"][:].tolist())


def test_rows_of_a_condition_and_of_a_fixed_version(tmp_path, target):
    ds = lakes.make(tmp_path / "a.lake", 30)
    old = dl.open(ds.url, version=ds.version)
    ds.delete(slice(None))
    ds.commit("none")
    old.map(functions.repeat, rows_into=target, where="x >= 20", **OPTIONS)
    check(target, range(20, 30))


@pytest.mark.parametrize("rows", [0, 5])
def test_there_may_be_no_rows(tmp_path, target, rows):
    ds = lakes.make(tmp_path / "a.lake", rows)
    job = ds.map(lambda b: [[]] * len(b["x"]), rows_into=target, schema={"n": "int8"}, name="none")
    assert (job.result().rows, job.result().added, len(dl.open(target))) == (rows, 0, 0)
    assert dl.open(target).lineage("n").rows == rows


def test_left_out_columns_have_defaults(tmp_path, target):
    ds = lakes.make(tmp_path / "a.lake", 4)
    schema = {"a": dl.Scalar("int8", default=7), "b": dl.Text(nullable=True), "c": "int64"}

    def rows(batch):
        return ([{"c": n}, {"c": n, "a": 1}] for n in batch["x"].tolist())

    ds.map(rows, rows_into=target, schema=schema, batch=4)
    new = dl.open(target)
    assert (new["a"][:].tolist(), new["b"][:]) == ([7, 1] * 4, [None] * 8)


def test_kept_cells_are_copied_byte_for_byte(tmp_path, target):
    ds = dl.create(str(tmp_path / "a.lake"), {"image": dl.Image("jpeg"), "n": "int8"})
    ds.append({"image": [np.full((40, 30, 3), 9 * n, np.uint8) for n in range(5)], "n": range(5)})
    ds.commit("images")
    ds.map(
        lambda b: [[{"i": i} for i in range(n)] for n in b["n"].tolist()], columns="n",
        rows_into=target, schema={"i": "int8"}, keep="image", name="copies",
    )  # fmt: skip
    new = dl.open(target)
    digests = list(lakes.digests(ds, ["image"])["image"].values())
    copies = list(lakes.digests(new, ["image"])["image"].values())
    assert copies == [d for n, d in enumerate(digests) for _ in range(n)]


def test_large_results_are_written_in_several_chunks_and_blocks(tmp_path, target, monkeypatch):
    monkeypatch.setattr("deeplake_lite.map.places.CHUNK_BYTES", 100)
    monkeypatch.setattr("deeplake_lite.map.results.BLOCK_BYTES", 200)
    ds = lakes.make(tmp_path / "a.lake", 50)
    ds.map(functions.repeat, rows_into=target, **OPTIONS)
    check(target, range(50))


def test_a_lake_without_rows_may_exist(tmp_path, target):
    ds = lakes.make(tmp_path / "a.lake", 10)
    dl.create(target, {"n": "int64", "place": "int8", "x": "int64"})
    ds.map(functions.repeat, rows_into=target, **OPTIONS)
    check(target, range(10))


def test_lakes_in_memory_work_with_processes(tmp_path):
    ds = lakes.make(tmp_path / "a.lake", 10)
    ds.map(functions.repeat, rows_into="memory://rows-of-processes", executor=1, **OPTIONS)
    check("memory://rows-of-processes", range(10))


def test_rows_on_an_object_store(bucket):
    ds = lakes.make("memory://rows-to-a-store", 20)
    job = ds.map(
        functions.repeat, rows_into=bucket.url(), storage_options=bucket.options, executor=1,
        **OPTIONS,
    )  # fmt: skip
    assert job.result().added == len(expected(range(20)))
    assert bucket.open()["x"][:].tolist() == [row[2] for row in expected(range(20))]


# ---- resuming


def run_until_killed(url, target, seconds, workers, commit):
    """Run a job in another process, kill it after some seconds, and return whether it had ended."""
    child = subprocess.Popen(
        [sys.executable, "-m", "tests.map.driver_child", url, str(workers), commit, target],
        stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    with child:
        assert child.stdout.readline() == "begun\n"
        time.sleep(seconds)
        with contextlib.suppress(ProcessLookupError):
            child.send_signal(signal.SIGKILL)
        return "ended" in child.stdout.read()


@pytest.mark.usefixtures("record_often")
@pytest.mark.parametrize("seed", range(12))
def test_a_killed_driver_is_followed_by_another_one(tmp_path, target, seed):
    chance = random.Random(seed)
    ds = lakes.make(tmp_path / "a.lake", 60)
    workers, commit = chance.choice([0, 0, 1]), chance.choice(["once", "each"])
    ended = run_until_killed(ds.url, target, chance.uniform(0, 2.0), workers, commit)
    before = 0
    if dl.exists(target):
        found = Journal.find(dl.open(target).handle.repository, "slow_repeat-n-place")
        before = 0 if found is None else found.rows_done
        rows = rows_of(target)
        assert rows == expected(range(60))[: len(rows)]
    if not ended:
        options = {**OPTIONS, "executor": chance.choice([None, None, 1]), "commit": commit}
        job = ds.map(functions.slow_repeat, rows_into=target, **options)
        assert job.result().resumed == before
    check(target, range(60))


@pytest.mark.usefixtures("record_often")
@pytest.mark.parametrize("seed", range(4))
def test_killed_workers_are_replaced(tmp_path, target, seed):
    chance = random.Random(seed)
    ds = lakes.make(tmp_path / "a.lake", 60)
    job = ds.map(functions.slow_repeat, rows_into=target, executor=2, wait=False, **OPTIONS)
    for _ in range(2):
        eventually(lambda: job.done or children())
        time.sleep(chance.uniform(0, 1))
        for pid in children()[:1]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
    job.result()
    check(target, range(60))
    assert eventually(lambda: not children())


@pytest.mark.parametrize("step", ["_finish", "_publish"])
@pytest.mark.parametrize("commit", ["once", "each"])
def test_rows_that_were_committed_are_not_committed_again(tmp_path, target, step, commit):
    ds = lakes.make(tmp_path / "a.lake", 20)
    original, calls = getattr(driver.Driver, step), []

    def killed_after_two(self, *arguments):
        calls.append(1)
        if step == "_publish" and len(calls) < 3:
            original(self, *arguments)
            if commit == "each":
                return
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(driver.Driver, step, killed_after_two)
        with pytest.raises(KeyboardInterrupt):
            ds.map(functions.repeat, rows_into=target, commit=commit, **OPTIONS)
    other = dl.open(target)
    other.append({"n": [-1], "place": [0], "x": [0]})  # other writers may add rows
    other.commit("another row")
    ds.map(functions.repeat, rows_into=target, commit=commit, **OPTIONS)
    rows = rows_of(target)
    assert [row for row in rows if row[0] >= 0] == expected(range(20))
    assert len(rows) == len(expected(range(20))) + 1
    assert dl.open(target).handle.repository.branch_names() == ["main"]


def test_two_drivers_on_a_store_do_not_write_rows_twice(bucket, monkeypatch):
    ds = lakes.make("memory://two-drivers", 20)
    options = {**OPTIONS, "rows_into": bucket.url(), "storage_options": bucket.options}
    original, overtaken = driver.Driver._publish, []

    def publish(self, parts):
        if not overtaken:  # another driver opens the finished journal, and commits first
            overtaken.append(1)
            ds.map(functions.repeat, **options)
        original(self, parts)

    monkeypatch.setattr(driver.Driver, "_publish", publish)
    with pytest.raises(JobError, match="runs in another process, too"):
        ds.map(functions.repeat, **options)
    assert bucket.open()["x"][:].tolist() == [row[2] for row in expected(range(20))]


def test_only_parts_that_are_left_are_computed_and_options_must_be_the_same(tmp_path, target):
    ds = lakes.make(tmp_path / "a.lake", 40)
    stopped = tmp_path / "stopped"

    def stop_once(batch):
        if batch["x"][0] == 10 and not stopped.exists():
            stopped.touch()
            raise KeyboardInterrupt
        return functions.repeat(batch)

    def run(**changes):
        return ds.map(stop_once, **{"rows_into": target, "name": "job", **OPTIONS, **changes})

    with pytest.raises(KeyboardInterrupt):
        run(executor=One())
    assert len(dl.open(target)) == 0
    [job] = dl.jobs(target)
    assert (job.name, job.phase, job.done) == ("job", "stopped", 10)
    ds.append({"x": [500], "name": ["new"]})
    ds.commit("another row")
    for changes, message in (
        ({"keep": None}, "began with another keep="),
        ({"batch": 3}, "began with another batch="),
        ({"schema": {"n": "int64", "place": "int16"}}, "began with another into= or schema="),
    ):
        with pytest.raises(JobError, match=message):
            run(**changes)
    result = run().result()
    assert (result.rows, result.resumed) == (40, 10)
    check(target, range(40))


def test_a_finished_job_replaces_its_rows_only_if_asked(tmp_path, target):
    ds = lakes.make(tmp_path / "a.lake", 12)
    ds.map(functions.repeat, rows_into=target, **OPTIONS)
    with pytest.raises(JobError, match=r"has finished: the lake .* has its 18 rows"):
        ds.map(functions.repeat, rows_into=target, **OPTIONS)
    old = dl.open(target).version
    ds.append({"x": [15], "name": ["new"]})
    ds.commit("another row")
    for commit in ("once", "each"):
        ds.map(functions.repeat, rows_into=target, restart=True, commit=commit, **OPTIONS)
        check(target, [*range(12), 15])
    assert len(dl.open(target, version=old)) == 18


EDITS = {
    "append": lambda lake: lake.append({"n": [99], "place": [0], "x": [9]}),
    "update": lambda lake: lake.update([0], {"n": [99]}),
    "delete": lambda lake: lake.delete([0]),
}


@pytest.mark.whole
@pytest.mark.parametrize("edit", EDITS)
def test_a_restart_never_replaces_edits_of_others(tmp_path, target, edit):
    ds = lakes.make(tmp_path / "a.lake", 12)
    ds.map(functions.repeat, rows_into=target, **OPTIONS)
    lake = dl.open(target)
    EDITS[edit](lake)
    lake.commit("mine")
    with pytest.raises(ExistsError, match="commits that do not belong to job 'repeat-n-place'"):
        ds.map(functions.repeat, rows_into=target, restart=True, **OPTIONS)
    assert dl.open(target)["n"][:].tolist() == lake["n"][:].tolist()


# ---- failures


def test_rows_that_fail_are_skipped_and_listed(tmp_path, target):
    ds = lakes.make(tmp_path / "a.lake", 20)
    result = ds.map(
        functions.repeat_except_odd_tens,
        rows_into=target,
        on_error="skip",
        **{**OPTIONS, "batch": 4},
    ).result()
    ids = ds.row_ids.tolist()
    assert result.skipped == {ids[5]: "ValueError: no 5", ids[15]: "ValueError: no 15"}
    check(target, [n for n in range(20) if n % 10 != 5])
    assert dl.open(target).lineage("n").skipped_rows == result.skipped


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ([[]], "for 4 rows it returned 1 item"),
        (None, "a list with one item per row, each a list of dicts, but it returned NoneType None"),
        ({"n": [1] * 4}, "but it returned dict"),
        ([None] * 4, "for row 0 of the batch it returned None. For no new rows, return an empty"),
        ([[], {"n": 1}, [], []], "for row 1 of the batch it returned {'n': 1}. Put a single dict"),
        ([[], [], [3], []], "for row 2 of the batch it returned [3]"),
        ([[], [], "abc", []], "for row 2 of the batch it returned 'abc'"),
        ([[], [], np.array(3), []], "for row 2 of the batch it returned"),
        ([[{"m": 1}], [], [], []], "columns of schema=. There is no column 'm'"),
        ([[{"n": 1}, {"n": 2}], [], [{"n": 3}, {"n": 2**70}], []], "dict 1 of row 2 of the batch"),
        ([[{"n": 1}, {}], [], [], []], "dict 1 of row 0 of the batch"),
    ],
)
def test_results_that_do_not_fit_are_rejected(tmp_path, target, result, message):
    ds = lakes.make(tmp_path / "a.lake", 4)
    with pytest.raises(JobError, match=re.escape(message)):
        ds.map(lambda _: result, rows_into=target, schema={"n": "int64"}, batch=4)
    assert len(dl.open(target)) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "either into= (columns to fill) or rows_into= (a new lake), but neither is given"),
        ({"into": {"y": "int8"}, "rows_into": "b"}, "but both are given"),
        ({"into": {"y": "int8"}, "schema": {"n": "int8"}}, "schema= describes the lake that"),
        ({"into": {"y": "int8"}, "keep": "x"}, "keep= describes the lake that"),
        ({"into": {"y": "int8"}, "storage_options": {}}, "storage_options= describes the lake"),
        ({"rows_into": "b"}, "rows_into= needs schema="),
        ({"rows_into": "b", "schema": {}}, "schema must have at least one column"),
        ({"rows_into": "b", "schema": {"x": "int8"}, "keep": "x"}, "schema= has the column 'x'"),
        ({"rows_into": "b", "schema": {"n": "int8"}, "keep": ["x", "x"]}, "name each column once"),
        ({"rows_into": "b", "schema": {"n": "int8"}, "update": True}, "Leave out update="),
        ({"rows_into": 5, "schema": {"n": "int8"}}, "rows_into must be a path or a URL"),
    ],
)
def test_options_that_do_not_fit_are_rejected(tmp_path, monkeypatch, options, message):
    monkeypatch.chdir(tmp_path)
    ds = lakes.make("a.lake", 4)
    with pytest.raises(OptionError, match=re.escape(message)):
        ds.map(functions.repeat, **options)
    assert os.listdir() == ["a.lake"]


def test_places_that_do_not_fit_are_rejected(tmp_path, target):
    ds = lakes.make(tmp_path / "a.lake", 4)
    (tmp_path / "link.lake").symlink_to(tmp_path / "a.lake")
    for place in ("a.lake", "a.lake/b.lake", "link.lake", "link.lake/b.lake", "."):
        with pytest.raises(OptionError, match="must be outside the lake that the job reads"):
            ds.map(functions.repeat, rows_into=tmp_path / place, **OPTIONS)
    with pytest.raises(OptionError, match="rows_into must be a path or a URL"):
        ds.map(functions.repeat, rows_into=" ", **OPTIONS)
    with pytest.raises(dl.ColumnNotFoundError, match="'z'"):
        ds.map(functions.repeat, rows_into=target, **{**OPTIONS, "keep": "z"})
    assert not dl.exists(target)
    other = dl.create(target, {"n": "int64", "place": "int8", "x": "int64"})
    with pytest.raises(
        SchemaError, match=r"has the columns n \(.*, but schema= and keep= describe"
    ):
        ds.map(functions.repeat, rows_into=target, **{**OPTIONS, "keep": ["name"]})
    other.append({"n": [0], "place": [0], "x": [0]})
    other.commit("a row")
    for restart in (False, True):
        with pytest.raises(ExistsError, match="has 1 row that job 'repeat-n-place' did not write"):
            ds.map(functions.repeat, rows_into=target, restart=restart, **OPTIONS)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").touch()
    with pytest.raises(ExistsError):
        ds.map(functions.repeat, rows_into=tmp_path / "full", **OPTIONS)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda ds: ds.drop_column("n"), "another writer has dropped it"),
        (lambda ds: ds.add_column("z", "int8"), "lack a value for column 'z'"),
        (lambda ds: ds.rename_column("n", "m"), None),
        (lambda ds: ds.add_column("z", dl.Scalar("int8", default=3)), None),
        (lambda ds: ds.set_nullable("n"), None),
    ],
    ids=["dropped", "added", "renamed", "default", "nullable"],
)
def test_other_writers_may_change_the_columns(tmp_path, target, change, message):
    ds = lakes.make(tmp_path / "a.lake", 8)
    done = []

    def repeat(batch):
        if not done:
            done.append(1)
            other = dl.open(target)
            change(other)
            other.commit("meanwhile")
        return functions.repeat(batch)

    if message is None:
        assert ds.map(repeat, rows_into=target, **OPTIONS).result().added == 12
        assert dl.open(target)["place"][:].tolist() == [row[1] for row in expected(range(8))]
    else:
        with pytest.raises(JobError, match=message):
            ds.map(repeat, rows_into=target, **OPTIONS)
        assert [job.done for job in dl.jobs(target)] == [8]


# ---- lineage


def test_lineage_leads_to_the_source_without_opening_it(tmp_path, target):
    ds = lakes.make(tmp_path / "a.lake", 10)
    ds.map(functions.double, columns="x", into={"y": "int64"})
    read = ds.version
    ds.map(
        lambda b: [[{"n": n}] for n in b["y"].tolist()], columns="y", rows_into=target,
        schema={"n": "int64"}, keep=["y", "name"], name="rows", where="x < 8",
    )  # fmt: skip
    y = ds.lineage("y")
    (tmp_path / "a.lake").rename(tmp_path / "elsewhere")
    new = dl.open(target)
    origin = new.lineage("n")
    assert (origin.lake, origin.input_version, origin.version) == (ds.url, read, new.version)
    assert (origin.job, origin.parameters["where"], origin.rows) == ("rows", "x < 8", 8)
    assert origin.inputs == {"y": y}
    kept = new.lineage("y")
    assert (kept.function, kept.module, kept.inputs) == ("keep", "deeplake_lite", {"y": y})
    assert new.lineage("name").inputs == {"name": None}
    assert str(origin).splitlines()[1] == f"  {y}".splitlines()[0]
    new.map(functions.double_n, columns="n", into={"m": "int64"}, update=True)
    assert new.lineage("m").inputs["n"].inputs["y"].function == "double"
    new.map(functions.double_n, columns="n", into={"n": None}, update=True)
    assert new.lineage("n").function == "double_n"


def test_damaged_records_are_ignored(tmp_path, target):
    ds = lakes.make(tmp_path / "a.lake", 4)
    for key, value in (("kept", 5), ("origins", None), ("source", 5)):
        patched = f"{target}-{key}"
        original = driver.record_of

        def record(*arguments, key=key, value=value, original=original):
            return {**original(*arguments), key: value}

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(driver, "record_of", record)
            if key == "origins":
                patch.setattr(driver.Driver, "_origins", None)
            ds.map(functions.repeat, rows_into=patched, **OPTIONS)
        assert dl.open(patched).lineage("n") is None
