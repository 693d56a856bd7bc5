"""`x = 1` in a call is a comparison if x is a column, and an option if it can be nothing else."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.query.functions import REGISTRY

pytestmark = pytest.mark.usefixtures("registry")

X = np.array([[1, 2], [3, 4]], "int32")


@pytest.fixture
def lake(make_lake):
    """A lake whose columns are named like parameters."""
    names = ("x", "axis", "y")
    return make_lake({n: dl.Array("int32", (2,)) for n in names} | {"k": "int32"},
                     **dict.fromkeys(names, X), k=[1, 2])  # fmt: skip


@pytest.mark.parametrize("name", ["x", "axis", "y"])
@pytest.mark.parametrize("form", ["{} = 1", '"{}" = 1', "ds.{} = 1", "{} == 1", "({} = 1)"])
def test_equality_in_the_first_argument_is_a_comparison(lake, name, form):
    equal, text = X == 1, form.format(name)
    for call, expected in {
        "ANY": equal.any(axis=1), "ALL": equal.all(axis=1), "ALL_STRICT": equal.all(axis=1),
        "ASUM": equal.sum(axis=1), "FLATTEN": equal, "SHAPE": np.full((2, 1), 2),
        "SIZE": [2, 2], "NDIM": [1, 1], "LEN": [2, 2],
    }.items():  # fmt: skip
        result = lake.query(f"SELECT {call}({text}) AS c FROM ds")["c"][:]
        np.testing.assert_array_equal(np.stack(list(result)), expected, call)
    assert lake.query(f"SELECT k FROM ds WHERE NOT ANY({text})")["k"][:].tolist() == [2]


@pytest.mark.parametrize("entry", sorted({e.name for e in REGISTRY.values()}))
def test_no_function_mistakes_a_comparison_of_columns_for_an_option(lake, entry):
    """A call gives the same result with parentheses around the comparison, or is refused."""

    def outcome(argument):
        try:
            values = lake.query(f"SELECT {entry}({argument}) AS c")["c"][:]
        except dl.QueryError as error:
            return type(error)
        return [np.asarray(v).tolist() for v in values]

    assert outcome("x = 1") == outcome("(x = 1)")


def test_options_keep_their_names(lake):
    dl.function(returns="int64", name="MORE")(lambda a, least=2: int((a > least).sum()))
    dl.function(returns="int64", name="SAME")(lambda x, k: int((x == k).sum()))
    for call, expected in {
        "ANY(x, axis = 0)": [True, True], "ASUM(x, axis = 0)": [3, 7], "MORE(x, least = 1)": [1, 2],
        "MORE(x, least := 3)": [0, 1], "MORE(x, least => 3)": [0, 1], "SAME(x, k := 1)": [1, 0],
        "SAME(x, k)": [1, 0],
    }.items():  # fmt: skip
        assert lake.query(f"SELECT {call} AS c")["c"][:].tolist() == expected, call
    with pytest.raises(dl.NotFoundError, match="There is no column 'a'"):
        lake.query("SELECT MORE(a = 1) AS c")
    with pytest.raises(dl.QueryError, match="ANY has no option z"):
        lake.query("SELECT ANY(z = 1) AS c")
