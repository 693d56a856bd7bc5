"""Commits of jobs record where columns come from, and `update` computes only what has changed."""

import subprocess
import sys
from functools import partial

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import JobError
from deeplake_lite.map.functions import Identity

from . import functions, lakes


@pytest.fixture
def ds(tmp_path):
    return lakes.make(tmp_path / "a.lake", 10)


def add_one(batch):
    return batch["y"] + 1


def test_lineage_names_the_function_the_inputs_and_the_versions(ds):
    before = ds.version
    ds.map(functions.double, columns="x", into={"y": "int64"}, where="x < 8", batch=3)
    middle = ds.version
    ds.map(add_one, columns="y", into={"z": "int64"}, where="y IS NOT NULL", executor=1)
    origin = ds.lineage("z")
    assert (origin.function, origin.module) == ("add_one", __name__)
    assert (origin.version, origin.input_version) == (ds.version, middle)
    assert origin.packages["numpy"] == np.__version__
    assert (origin.executor, origin.rows, origin.skipped) == ("processes", 8, 0)
    assert origin.parameters["where"] == "y IS NOT NULL"
    y = origin.inputs["y"]
    assert (y.function, y.input_version, y.executor) == ("double", before, "threads")
    assert y.parameters == {"where": "x < 8", "batch": 3, "on_error": "raise", "update": False}
    assert y.inputs == {"x": None}
    assert y == ds.lineage("y")
    assert len(str(origin).splitlines()) == 2
    assert ds.lineage("x") is None


def test_lineage_follows_renamed_columns_and_undone_commits(ds):
    before = ds.version
    ds.map(functions.double, into={"y": "int64"})
    ds.rename_column("y", "twice")
    ds.commit("renamed")
    assert ds.lineage("twice").column == "twice"
    first = ds.version
    ds.map(lambda batch: batch["x"] * 3, into={"twice": None}, name="again")
    assert ds.lineage("twice").job == "again"
    ds.restore(first)
    ds.commit("back")
    assert ds.lineage("twice").job == "double-y"
    assert dl.open(ds.url, version=first).lineage("twice").input_version == before


def test_update_computes_new_and_changed_rows(ds):
    ds.map(functions.double, columns="x", into={"y": "int64"})
    ds.append({"x": [100], "name": ["new"]})
    ds.update([2], {"x": [-2]})
    ds.update([3], {"name": ["other"]})  # not an input
    ds.update([4], {"y": [44]})  # a result
    ds.commit("changes")
    result = ds.map(functions.double, columns="x", into={"y": "int64"}, update=True).result()
    assert result.rows == 2
    assert ds["y"][:].tolist() == [0, 2, -4, 6, 44, 10, 12, 14, 16, 18, 200]
    version = ds.version
    assert ds.map(functions.double, columns="x", into="y", update=True).result().rows == 0
    assert ds.version == version


def test_update_computes_all_rows_the_first_time(ds):
    assert ds.map(functions.double, into={"y": "int64"}, update=True).result().rows == 10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"function": add_one}, "that job used another function"),
        ({"columns": ["x", "name"]}, "columns= was different"),
        ({"where": "x > 5"}, "where= was different"),
        ({"setup": functions.load}, "setup= was another function"),
        ({"into": {"y": "int64", "z": "int64"}}, "not all filled by the same job"),
    ],
    ids=["function", "columns", "where", "setup", "into"],
)
def test_update_needs_the_same_job(ds, change, message):
    options = {"function": functions.double, "columns": "x", "into": {"y": "int64"}}
    ds.map(**options)
    with pytest.raises(JobError, match=message):
        ds.map(**{**options, **change}, update=True)


@pytest.mark.parametrize("update", [True, False])
def test_update_needs_a_last_job_of_all_rows(ds, update):
    ds.map(functions.double, columns="x", into={"y": "int64"})
    ds.update([3, 7], {"x": [33, 77]})
    ds.commit("edits")
    ds[:5].map(functions.double, columns="x", into="y", name="few", update=update)
    ds.refresh()
    with pytest.raises(JobError, match="that job had only the rows of a view"):
        ds.map(functions.double, columns="x", into="y", update=True)
    ds.map(functions.double, columns="x", into="y")
    assert (ds["y"][:] == ds["x"][:] * 2).all()


def test_update_after_a_job_of_a_view_that_has_all_rows(ds):
    ds[::-1].map(functions.double, columns="x", into={"y": "int64"})
    ds.refresh()
    ds["x"][4] = 44
    ds.commit("edit")
    assert ds.map(functions.double, columns="x", into="y", update=True).result().rows == 1


def test_update_needs_a_last_job_that_has_finished(ds):
    def fail(batch):
        if (batch["x"] == 9).any():
            raise ValueError("nine")
        return batch["x"] * 2

    with pytest.raises(JobError, match="nine"):
        ds.map(fail, columns="x", into={"y": "int64"}, batch=1, commit="each", name="first")
    ds.refresh()
    with pytest.raises(JobError, match="that job has not finished"):
        ds.map(fail, columns="x", into="y", update=True, name="second")


def test_update_needs_the_version_that_the_last_job_has_read(ds):
    ds.map(functions.double, into={"y": "int64"})
    ds.vacuum(older_than="0s", spare="0s")
    with pytest.raises(JobError, match="a vacuum has deleted the version"):
        ds.map(functions.double, into={"y": "int64"}, update=True)
    assert ds.lineage("y").inputs == {"x": None, "name": None}


def scaled(factor):
    def scale(batch):
        return batch["x"] * factor

    return scale


class Scale:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, batch):
        return batch["x"] * self.factor

    def method(self, batch):
        return batch["x"] * self.factor


def test_functions_are_the_same_if_their_source_and_plain_values_are():
    same = Identity.of(functions.double)
    assert same == Identity.of(functions.double)
    assert Identity.of(scaled(2)) == Identity.of(scaled(2))
    assert Identity.of(Scale(2)) == Identity.of(Scale(2))
    distinct = [
        functions.double, functions.multiply, add_one, scaled(2), scaled(3), Scale(2), Scale(3),
        Scale(2).method, Scale(3).method, lambda batch: batch, np.abs, partial(add_one, 1),
        partial(add_one, 2),
    ]  # fmt: skip
    assert len({Identity.of(f).digest for f in distinct}) == len(distinct)


def test_functions_without_a_source_file_have_an_identity():
    script = (
        "from deeplake_lite.map.functions import Identity\n"
        "f, g, h = (lambda b: b + 1), (lambda b: b + 1), (lambda b: b + 2)\n"
        "print(*[Identity.of(x).digest for x in (f, g, h)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    f, g, h = done.stdout.split()
    assert f == g != h
