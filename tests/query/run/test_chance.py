"""Each RANDOM() of a query draws its own numbers, and new ones when the query is repeated."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    ds = dl.create("memory://chance", {"id": "int64"}, overwrite=True)
    ds.append({"id": range(200)})
    ds.commit("rows")
    return ds


def test_two_calls_give_two_columns(ds: dl.Dataset) -> None:
    result = ds.query("SELECT RANDOM() AS a, RANDOM() AS b, RANDOM() - RANDOM() AS c")
    a, b, c = (result[name][:] for name in "abc")
    assert abs(np.corrcoef(a, b)[0, 1]) < 0.4
    assert np.unique(c).size > 190


def test_alias_of_a_random_expression_is_drawn_once(ds: dl.Dataset) -> None:
    result = ds.query("SELECT RANDOM() AS a, a - a AS zero WHERE a BETWEEN 0.2 AND 0.8 ORDER BY a")
    a = result["a"][:]
    assert ((a >= 0.2) & (a <= 0.8)).all()
    assert (np.diff(a) >= 0).all()
    assert not result["zero"][:].any()


def test_same_seed_gives_the_same_numbers(ds: dl.Dataset) -> None:
    result = ds.query("SELECT RANDOM(7) AS a, RANDOM(7) AS b, RANDOM(8) AS c")
    np.testing.assert_array_equal(result["a"][:], result["b"][:])
    assert (result["a"][:] != result["c"][:]).all()
