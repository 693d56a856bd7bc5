"""Commits of other writers during a job are kept and reported."""

import pytest

import deeplake_lite as dl
from deeplake_lite.errors import JobError

from . import functions, lakes


@pytest.fixture
def ds(tmp_path):
    return lakes.make(tmp_path / "a.lake", 20)


def meanwhile(ds, change):
    """Return a function that doubles numbers, and lets another writer commit a change first."""
    done = []

    def double(batch):
        if not done:
            done.append(1)
            other = dl.open(ds.url)
            change(other)
            other.commit("meanwhile")
        return batch["x"] * 2

    return double


def test_edited_cells_stay_and_are_reported(ds):
    def change(other):
        other.update([3, 4], {"x": [-3, -4]})

    result = ds.map(meanwhile(ds, change), into="x", batch=20).result()
    assert ds["x"][:].tolist() == [0, 2, 4, -3, -4, *range(10, 40, 2)]
    assert result.edited.tolist() == sorted(ds.row_ids[3:5].tolist())
    assert "2 edited meanwhile" in repr(result)


def test_rows_with_new_inputs_are_reported_and_updated_later(ds):
    def change(other):
        other.update([3], {"x": [100]})

    double = meanwhile(ds, change)
    result = ds.map(double, into={"y": "int64"}, batch=20).result()
    assert ds["y"][3] == 6
    assert result.outdated.tolist() == ds.row_ids[3:4].tolist()
    assert ds.map(double, into="y", update=True).result().rows == 1
    assert ds["y"][3] == 200


def test_deleted_rows_stay_deleted_and_are_reported(ds):
    gone = ds.row_ids[[0, 7]].tolist()
    result = ds.map(meanwhile(ds, lambda o: o.delete([0, 7])), into={"y": "int64"}, batch=20)
    assert result.result().deleted.tolist() == sorted(gone)
    assert ds["y"][:].tolist() == [2 * x for x in ds["x"][:].tolist()]
    assert len(ds) == 18


def test_new_rows_are_null(ds):
    def change(other):
        other.append({"x": [50], "name": ["new"]})

    ds.map(meanwhile(ds, change), into={"y": "int64"}, batch=20)
    assert ds["y"][:].tolist() == [*range(0, 40, 2), None]


@pytest.mark.parametrize("commit", ["once", "each"])
def test_rows_in_other_places_get_their_own_results(ds, commit):
    def change(other):
        other.delete([1])
        other.commit("fewer")
        other.optimize(shuffle=True, seed=3)

    ds.map(meanwhile(ds, change), into={"y": "int64"}, batch=5, commit=commit)
    assert ds["y"][:].tolist() == [2 * x for x in ds["x"][:].tolist()]
    assert ds["x"][:].tolist() != sorted(ds["x"][:].tolist())


def test_edits_of_a_column_that_the_job_has_added_stay(ds):
    done = []

    def double(batch):
        if batch["x"][0] >= 10 and not done:
            done.append(1)
            other = dl.open(ds.url)
            if "y" in other.columns:  # the first part has been committed
                other.update([19], {"y": [-1]})
                other.commit("meanwhile")
        return batch["x"] * 2

    class InOrder:
        def submit(self, function, *arguments):
            return Later(lambda: function(*arguments))

    class Later:
        def __init__(self, call):
            self.result = call

        def add_done_callback(self, function):
            function(self)

    result = ds.map(
        double, into={"y": "int64"}, batch=5, commit="each", executor=InOrder()
    ).result()
    assert ds["y"][:].tolist() == [*range(0, 38, 2), -1]
    assert result.edited.tolist() == ds.row_ids[19:].tolist()


def test_a_column_that_was_dropped_meanwhile_is_an_error(ds):
    double = meanwhile(ds, lambda other: other.drop_column("name"))

    def words(batch):
        return [str(n) for n in double(batch)]

    with pytest.raises(JobError, match="another writer has dropped it"):
        ds.map(words, into={"name": None}, columns="x")


def test_a_name_that_was_taken_meanwhile_is_an_error_and_results_are_kept(ds):
    double = meanwhile(ds, lambda other: other.add_column("y", "int8", values=[1] * 20))
    with pytest.raises(JobError, match="another writer has added a column of that name"):
        ds.map(double, into={"y": "int64"}, batch=20, name="job")
    other = dl.open(ds.url)
    other.rename_column("y", "z")
    other.commit("renamed")
    assert ds.map(double, into={"y": "int64"}, batch=20, name="job").result().resumed == 20
    assert ds["y"][:].tolist() == list(range(0, 40, 2))


def test_columns_may_be_renamed_meanwhile(ds):
    ds.map(meanwhile(ds, lambda other: other.rename_column("x", "n")), into={"y": "int64"})
    assert ds["y"][:].tolist() == [2 * n for n in ds["n"][:].tolist()]


def test_another_branch_is_not_changed(ds):
    ds.branch("fix")
    fix = dl.open(ds.url, branch="fix")
    fix.map(functions.double, into={"y": "int64"})
    assert "y" in fix.columns
    assert "y" not in ds.refresh().columns
    ds.merge("fix")
    assert ds["y"][:].tolist() == list(range(0, 40, 2))
    assert ds.lineage("y").function == "double"
