"""Deleting the rows of a view, wherever those rows are by now."""

from __future__ import annotations

import pytest

import deeplake_lite as dl
from deeplake_lite.errors import InvalidValueError


@pytest.fixture
def ds(make_lake):
    return make_lake({"x": "int32"}, x=range(10))


VIEWS = {
    "a query": lambda ds: ds.query("SELECT * WHERE x % 3 = 0"),
    "a slice": lambda ds: ds[::3],
    "sorted the other way": lambda ds: ds.query("SELECT x WHERE x % 3 = 0 ORDER BY x DESC"),
    "rows twice": lambda ds: ds[[0, 3, 6, 9, 9, 0]],
}


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("name", VIEWS)
def test_rows_of_a_view_are_deleted(ds, name, committed):
    view = VIEWS[name](ds)
    ds.delete([1])  # the others move
    ds.append({"x": [10]})
    if committed:
        ds.commit()
    ds.delete(view)
    assert ds["x"][:].tolist() == [2, 4, 5, 7, 8, 10]
    ds.commit()
    assert dl.open(ds.url)["x"][:].tolist() == [2, 4, 5, 7, 8, 10]
    ds.delete(ds.query("SELECT * WHERE x > 100"))
    assert len(ds) == 6


def test_dataset_can_delete_all_of_its_rows(ds):
    ds.delete(ds)
    assert len(ds) == 0


def test_views_of_rows_outside_the_lake_are_refused(ds, make_lake):
    with pytest.raises(InvalidValueError, match="view of this lake"):
        ds.delete(make_lake({"x": "int32"}, x=range(3))[:])
    with pytest.raises(InvalidValueError, match="computed from several"):
        ds.delete(ds.query("SELECT x % 2 AS g, COUNT(*) AS n GROUP BY g"))
    view = ds[:2]
    ds.delete([0])
    with pytest.raises(InvalidValueError):
        ds.delete(view)
    assert len(ds) == 9
