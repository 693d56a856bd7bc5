"""Pages of an approximate search are slices of one order, in which ties are in the view's order."""

import numpy as np
import pytest

import deeplake_lite as dl

DIM, ROWS = 8, 6_000
ORDERS = {
    "COSINE_SIMILARITY": ("cosine", "DESC"),
    "DOT": ("dot", "DESC"),
    "L2_DISTANCE": ("l2", "ASC"),
}


@pytest.fixture(scope="module")
def ds():
    """Return a lake in which each vector occurs four times, with changed and deleted rows."""
    random = np.random.default_rng(0)
    vectors = np.repeat(random.normal(size=(ROWS // 4, DIM)), 4, axis=0)
    ds = dl.create("memory://index-pages", {"v": dl.Embedding(DIM), "n": "int32"}, overwrite=True)
    ds.append({"v": random.permutation(vectors), "n": np.arange(ROWS)})
    ds.commit("rows")
    for metric, _ in ORDERS.values():
        ds.create_index("v", metric=metric, lists=40)
    ds.delete(np.arange(0, ROWS, 97))
    ds.append({"v": vectors[:40], "n": ROWS + np.arange(40)})
    ds.commit("changed")
    return ds


def page(ds, function, rest, query, where=""):
    order = f"SELECT n {where} ORDER BY {function}(v, $q) {ORDERS[function][1]}"
    return ds.query(f"{order} {rest}", {"q": query})


@pytest.mark.parametrize("where", ["", "WHERE v[0] > -1"])
@pytest.mark.parametrize("function", ORDERS)
def test_pages_are_slices_of_one_order(ds, function, where):
    query = np.random.default_rng(1).normal(size=DIM).astype("float32")
    exact = page(ds, function, "", query, where)["n"][:].tolist()
    whole = page(ds, function, "LIMIT 120 USING INDEX", query, where)
    assert "searched" in whole.explain()
    whole = whole["n"][:].tolist()
    for size in (7, 40):
        pages = []
        for offset in range(0, 80, size):
            rest = f"LIMIT {size} OFFSET {offset} USING INDEX"
            pages += page(ds, function, rest, query, where)["n"][:].tolist()
        assert pages[:80] == whole[:80]
    assert len(set(whole) & set(exact[:120])) >= 90
    assert [n for n in exact if n in set(whole)] == whole  # ties included


def test_rows_that_all_tie_are_in_the_order_of_the_view():
    ds = dl.create("memory://index-ties", {"v": dl.Embedding(2), "n": "int32"}, overwrite=True)
    ds.append({"v": np.ones((5_000, 2)), "n": np.arange(5_000)})
    ds.commit("equal")
    ds.create_index("v")
    for offset in (0, 100):
        rest = f"LIMIT 20 OFFSET {offset} USING INDEX"
        found = page(ds, "COSINE_SIMILARITY", rest, np.array([1, 0.5]))["n"][:].tolist()
        assert found == list(range(offset, offset + 20))


def test_page_beyond_a_twentieth_of_the_rows_is_exact(ds):
    query = np.ones(DIM)
    result = page(ds, "DOT", "LIMIT 10 OFFSET 400 USING INDEX", query)
    assert "no index used, because the query needs at least one in 20 rows" in result.explain()
    exact = page(ds, "DOT", "LIMIT 10 OFFSET 400", query)
    assert result["n"][:].tolist() == exact["n"][:].tolist()
