"""Searches with an index of vectors, compared with NumPy."""

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.index import build_vectors, vector_index
from deeplake_lite.query.run.cache import CACHE

DIM = 8


def clustered(rows, seed=0, dtype="float32"):
    random = np.random.default_rng(seed)
    centres = random.normal(size=(max(1, rows // 50), DIM))
    points = centres[random.integers(0, len(centres), rows)]
    return (points + 0.2 * random.normal(size=(rows, DIM))).astype(dtype)


SCORES = {
    "COSINE_SIMILARITY": lambda v, q: (
        (v @ q) / np.maximum(np.linalg.norm(v, axis=-1) * np.linalg.norm(q), 1e-30)
    ),
    "DOT": lambda v, q: v @ q,
    "L2_DISTANCE": lambda v, q: -np.linalg.norm(v - q, axis=-1),
}
METRICS = {"COSINE_SIMILARITY": "cosine", "DOT": "dot", "L2_DISTANCE": "l2"}


def order_by(function):
    return f"ORDER BY {function}(v, ?) {'ASC' if function == 'L2_DISTANCE' else 'DESC'}"


def search(view, query, count=10, where="", function="COSINE_SIMILARITY"):
    text = f"SELECT * {where} {order_by(function)} LIMIT {count} USING INDEX"
    return view.query(text, [query])


def uses_index(view):
    return "lists searched" in view.explain() or "list searched" in view.explain()


def check_true(result, view, query, function="COSINE_SIMILARITY", least=0.8):
    """Check that rows are in the right order, and that most of the best rows are found."""
    values = np.array(view["v"][:], "float64")
    scores = np.sort(SCORES[function](values, np.asarray(query, "float64")))[::-1]
    got = SCORES[function](np.array(result["v"][:], "float64"), np.asarray(query, "float64"))
    assert (np.diff(got) <= 1e-5).all()
    found = np.count_nonzero(got >= scores[len(got) - 1] - 1e-5)
    assert found >= least * len(got), (found, len(got))


@pytest.fixture(params=["memory", "folder"])
def ds(request, tmp_path):
    url = f"memory://index-{tmp_path.name}" if request.param == "memory" else str(tmp_path / "l")
    ds = dl.create(url, {"v": dl.Embedding(DIM), "n": "int32"}, overwrite=True)
    ds.append({"v": clustered(6_000), "n": np.arange(6_000)})
    ds.commit("rows")
    return ds


@pytest.mark.parametrize("function", SCORES)
def test_nearest_vectors_are_found(ds, function):
    index = ds.create_index("v", metric=METRICS[function])
    assert index.recall >= 0.9
    assert index.rows == 6_000
    for row in (0, 17, 4_321):
        query = ds["v"][row] + 0.05
        result = search(ds, query, function=function)
        assert uses_index(result)
        check_true(result, ds, query, function)


def test_answer_is_in_the_order_of_exact_scores_and_says_how_it_was_found(ds):
    version = ds.version
    ds.create_index("v")
    plan = search(ds, ds["v"][3]).explain()
    assert f"index of v (cosine, version {version})" in plan
    assert "recall@10 " in plan
    assert "measured with 16 vectors" in plan


def test_without_request_all_rows_are_compared(ds):
    ds.create_index("v")
    result = ds.query(f"SELECT * {order_by('DOT')} LIMIT 5", [ds["v"][3]])
    assert not uses_index(result)


@pytest.mark.parametrize("function", SCORES)
def test_index_of_another_function_is_not_used(ds, function):
    other = next(name for name in SCORES if name != function)
    ds.create_index("v", metric=METRICS[other])
    query = ds["v"][3]
    result = search(ds, query, function=function)
    assert not uses_index(result)
    assert f"ds.create_index('v', metric='{METRICS[function]}')" in result.explain()
    check_true(result, ds, query, function, least=1)


def edit_all_ways(ds, query):
    """Change vectors, delete rows and add rows, such that the best rows are all changed ones."""
    ds["v"][10:15] = np.tile(query, (5, 1))
    best = search(ds, query, 40)["n"][:]
    ds.delete(np.flatnonzero(np.isin(ds["n"][:], best[:20])))
    ds.append({"v": [query, query + 0.01], "n": [7_000, 7_001]})


def test_later_version_has_changed_rows_and_no_deleted_ones(ds):
    ds.create_index("v")
    query = ds["v"][99] + 0.03
    edit_all_ways(ds, query)
    ds.commit("edits")
    result = search(ds, query)
    assert uses_index(result)
    assert {7_000, 7_001} <= set(result["n"][:].tolist())
    check_true(result, ds, query)


def test_uncommitted_rows_are_found(ds):
    ds.create_index("v")
    query = ds["v"][99]
    edit_all_ways(ds, query)
    result = search(ds, query)
    assert uses_index(result)
    assert {7_000, 7_001} <= set(result["n"][:].tolist())
    check_true(result, ds, query)
    ds["v"][0] = query
    ds.delete([1])
    ds.delete(np.flatnonzero(ds["n"][:] == 7_001))
    again = search(ds, query)
    assert uses_index(again)
    assert set(again["n"][:].tolist()) >= {0, 7_000}
    assert 7_001 not in again["n"][:]
    check_true(again, ds, query)
    ds.discard()
    check_true(search(ds, query), ds, query)


def test_older_version_does_not_use_a_newer_index(ds):
    first = ds.version
    ds["n"][0] = -1
    ds.commit("edit")
    ds.create_index("v")
    old = dl.open(ds.url, version=first) if not ds.url.startswith("memory") else None
    if old is not None:
        assert not uses_index(search(old, old["v"][5]))
        assert [index.used for index in old.indexes] == [False]
    assert uses_index(search(ds, ds["v"][5]))


def test_newest_ancestor_is_used(ds):
    ds.create_index("v")
    ds["n"][0] = -1
    second = ds.commit("edit")
    ds.create_index("v")
    ds["n"][1] = -1
    ds.commit("another edit")
    assert f"version {second}" in search(ds, ds["v"][5]).explain()
    assert [index.used for index in ds.indexes] == [False, True]


def test_branch_and_merge_use_the_index(ds):
    ds.create_index("v")
    ds.branch("fix")
    ds.checkout("fix")
    query = np.full(DIM, 9, np.float32)
    ds.append({"v": [query], "n": [8_000]})
    ds.commit("a row of the branch")
    assert search(ds, query, 1)["n"][0] == 8_000
    ds.checkout("main")
    ds["v"][3] = query * 2
    ds.commit("a cell of main")
    ds.merge("fix")
    result = search(ds, query, 2)
    assert uses_index(result)
    assert sorted(result["n"][:].tolist()) == [3, 8_000]


def test_index_of_a_merged_branch_is_used(ds):
    ds.branch("fix")
    ds.checkout("fix")
    ds["n"][0] = -1
    ds.commit("edit")
    ds.create_index("v")
    ds.checkout("main")
    ds["n"][1] = -1
    ds.commit("another edit")
    assert not uses_index(search(ds, ds["v"][5]))
    ds.merge("fix")
    result = search(ds, ds["v"][5])
    assert uses_index(result)
    check_true(result, ds, ds["v"][5])


def test_optimized_and_shuffled_lake_uses_the_index(ds):
    ds.create_index("v")
    ds.delete(range(500))
    ds.commit("fewer")
    ds.optimize(shuffle=True)
    query = ds["v"][77]
    result = search(ds, query)
    assert uses_index(result)
    check_true(result, ds, query)


def test_rows_in_another_order_are_found(ds):
    ds.create_index("v")
    view = ds[::-1]
    query = ds["v"][123]
    result = search(view, query)
    assert uses_index(result)
    check_true(result, ds, query)
    assert search(view, query, 1)["n"][0] == 123


def test_view_only_returns_its_rows(ds):
    ds.create_index("v")
    view = ds[1_000:]
    query = ds["v"][3]
    result = search(view, query)
    assert uses_index(result)
    assert result["n"][:].min() >= 1_000
    check_true(result, view, query)


def test_view_with_repeated_rows_is_compared_exactly(ds):
    ds.create_index("v")
    view = ds[np.concatenate([np.arange(6_000), [3, 3]])]
    query = ds["v"][3]
    result = search(view, query, 3)
    assert result["n"][:].tolist() == [3, 3, 3]


@pytest.mark.parametrize(
    "where",
    [
        "WHERE n % 2 = 1",
        "WHERE L2_NORM(v) > 2",
        "WHERE n % 3 = 0 AND L2_NORM(v) > 2",
        "WHERE n < 9",
    ],
)
def test_conditions_are_kept(ds, where):
    ds.create_index("v")
    query = ds["v"][50]
    result = search(ds, query, 8, where)
    check_true(result, ds.query(f"SELECT * {where}"), query, least=0.75)


def test_condition_that_few_rows_pass_is_answered_exactly(ds):
    ds.create_index("v")
    least = np.sort(np.linalg.norm(ds["v"][:], axis=1))[-7]
    result = search(ds, -ds["v"][50], 7, f"WHERE L2_NORM(v) >= {least:.9f}")
    assert len(result) >= 6
    check_true(result, ds.query(f"SELECT * WHERE L2_NORM(v) >= {least:.9f}"), -ds["v"][50], least=1)


def test_condition_on_other_rows_is_answered_exactly(ds):
    ds.create_index("v")
    where = "WHERE n >= (SELECT AVG(n) FROM dataset)"
    query = ds["v"][50]
    check_true(search(ds, query, 5, where), ds.query(f"SELECT * {where}"), query, least=0.8)


def test_offset_counts(ds):
    ds.create_index("v")
    query = ds["v"][50]
    text = f"SELECT n {order_by('DOT')} LIMIT 5 OFFSET 3"
    ds.create_index("v", metric="dot")
    exact = ds.query(text, [query])["n"][:].tolist()
    assert set(ds.query(f"{text} USING INDEX", [query])["n"][:].tolist()) & set(exact)


def test_more_rows_than_the_lake_has_are_all_returned(ds):
    ds.create_index("v")
    result = search(ds, ds["v"][50], 10_000)
    assert len(result) == 6_000
    check_true(result, ds, ds["v"][50], least=1)


def test_alias_and_number_name_the_similarity(ds):
    ds.create_index("v")
    query = ds["v"][50]
    for order in ("s", "2"):
        text = f"SELECT n, COSINE_SIMILARITY(v, ?) AS s ORDER BY {order} DESC LIMIT 3 USING INDEX"
        result = ds.query(text, [query])
        assert uses_index(result)
        assert result["n"][0] == 50
        np.testing.assert_allclose(result["s"][0], 1, rtol=1e-6)


def test_vector_of_a_row_is_searched(ds):
    ds.create_index("v")
    vector = "(SELECT v FROM dataset WHERE n = 50 LIMIT 1)"
    text = f"SELECT n ORDER BY COSINE_SIMILARITY(v, {vector}) DESC LIMIT 3 USING INDEX"
    result = ds.query(text)
    assert uses_index(result)
    assert result["n"][0] == 50


def test_saved_view_is_repeated_with_its_request(ds):
    ds.create_index("v")
    search(ds, ds["v"][50], 4).save("near")
    assert ds.views()["near"]["n"][0] == 50


def test_saved_view_with_computed_columns_needs_the_same_index(ds, monkeypatch):
    monkeypatch.setattr(build_vectors, "MIN_PROBES", 1)
    monkeypatch.setattr(vector_index, "COMPARED", 1)
    ds.create_index("v", lists=600, recall=0.01)
    text = "SELECT n, COSINE_SIMILARITY(v, ?) AS s ORDER BY s DESC LIMIT 5 USING INDEX"
    far = np.array([1, -1] * (DIM // 2))
    found = ds.query(text, [far])
    found.save("near")
    assert ds.views()["near"]["n"][:].tolist() == found["n"][:].tolist()
    ds.drop_index("v")
    exact = ds.query(text, [far])["n"][:].tolist()
    assert exact != found["n"][:].tolist()
    with pytest.raises(dl.DamagedError, match="The index that it used was dropped or built again"):
        ds.views()["near"]["n"][:]


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32", "uint8"])
@pytest.mark.parametrize("function", SCORES)
def test_other_dtypes_are_searched(make_lake, dtype, function):
    values = clustered(3_000) * 40 + 100
    if np.dtype(dtype).kind in "iu":
        values = np.clip(np.rint(values), 0, 255)
    values = values.astype(dtype)
    ds = make_lake({"v": dl.Array(dtype, (DIM,)), "n": "int32"}, v=values, n=range(3_000))
    ds.create_index("v", metric=METRICS[function])
    query = values[7]
    result = search(ds, query, function=function)
    assert uses_index(result)
    if dtype != "float16":
        check_true(result, ds, query, function)


def odd_vectors():
    values = clustered(3_000)
    values[5] = np.nan
    values[6, 2] = np.inf
    values[7] = 0
    values[8] = 3e38
    values[9] = 1e-38
    return values


@pytest.mark.parametrize("function", SCORES)
def test_null_zero_nan_and_huge_vectors_are_as_in_an_exact_answer(make_lake, function):
    values = list(odd_vectors())
    values[11] = None
    schema = {"v": dl.Array("float32", (DIM,), nullable=True), "n": "int32"}
    ds = make_lake(schema, v=values, n=range(3_000))
    ds.create_index("v", metric=METRICS[function])
    for query in (values[20], values[8], -values[20]):
        text = f"SELECT n {order_by(function)} LIMIT 5"
        with np.errstate(all="ignore"):
            exact = ds.query(text, [query])["n"][:].tolist()
            result = ds.query(f"{text} USING INDEX", [query])
        assert uses_index(result) == (query is not values[8] or function == "COSINE_SIMILARITY")
        assert len(set(result["n"][:].tolist()) & set(exact)) >= 4
    everything = f"SELECT n {order_by(function)} LIMIT 3000"
    exact = ds.query(everything, [values[20]])["n"][:].tolist()
    assert ds.query(f"{everything} USING INDEX", [values[20]])["n"][:].tolist() == exact


@pytest.mark.parametrize("query", [np.zeros(DIM), np.full(DIM, np.nan), np.full(DIM, np.inf)])
def test_odd_queries_are_answered_exactly(ds, query):
    ds.create_index("v")
    text = f"SELECT n {order_by('COSINE_SIMILARITY')} LIMIT 5"
    result = ds.query(f"{text} USING INDEX", [query])
    assert not uses_index(result)
    assert result["n"][:].tolist() == ds.query(text, [query])["n"][:].tolist()


@pytest.mark.parametrize("rows", [0, 1, 5, 40])
def test_small_lakes_have_indexes(make_lake, rows):
    ds = make_lake({"v": dl.Embedding(DIM)})
    if rows:
        ds.append({"v": clustered(rows)})
    ds.commit("rows") if rows else None
    index = ds.create_index("v")
    assert index.rows == rows
    assert len(search(ds, np.ones(DIM), 3)) == min(rows, 3)


def test_equal_vectors_are_all_found(make_lake):
    ds = make_lake({"v": dl.Embedding(DIM)}, v=np.ones((2_000, DIM)))
    assert ds.create_index("v").recall == 1
    assert len(search(ds, np.ones(DIM), 50)) == 50


def test_many_changed_rows_are_compared_exactly(ds):
    ds.create_index("v")
    ds["v"][:2_000] = clustered(2_000, seed=1)
    ds.commit("many")
    query = ds["v"][5]
    result = search(ds, query)
    assert "build the index again" in result.explain()
    check_true(result, ds, query, least=1)


def test_renamed_column_keeps_its_index_and_a_dropped_one_loses_it(ds):
    ds.create_index("v")
    ds.rename_column("v", "w")
    ds.commit("renamed")
    text = "SELECT n ORDER BY COSINE_SIMILARITY(w, ?) DESC LIMIT 3 USING INDEX"
    assert uses_index(ds.query(text, [ds["w"][5]]))
    assert ds.indexes[0].column == "w"
    ds.drop_column("w")
    ds.add_column("w", dl.Embedding(DIM, nullable=True))
    ds.commit("a new column")
    assert not uses_index(ds.query(text, [np.ones(DIM)]))
    assert "a dropped column" in repr(ds.indexes[0])


def test_cached_lists_and_lists_from_the_store_give_the_same_answer(ds):
    ds.create_index("v")
    query = ds["v"][5]
    first = search(ds, query)["n"][:].tolist()
    CACHE.clear()
    assert search(ds, query)["n"][:].tolist() == first


def test_vectors_are_sorted_in_several_passes(ds, monkeypatch):
    monkeypatch.setattr(build_vectors, "PASS_BYTES", 20_000)
    monkeypatch.setattr(build_vectors, "BLOCK_BYTES", 10_000)
    ds.create_index("v")
    check_true(search(ds, ds["v"][5]), ds, ds["v"][5])


def test_join_of_an_indexed_lake_is_reported(ds):
    for text, reason in {
        "SELECT a.n FROM dataset a JOIN dataset b ON a.n = b.n ORDER BY a.n LIMIT 3 USING INDEX": (
            "one source"
        ),
        "SELECT n, COUNT(*) GROUP BY n LIMIT 3 USING INDEX": "one source",
        "SELECT DISTINCT n LIMIT 3 USING INDEX": "one source",
        "SELECT n ORDER BY n LIMIT 3 USING INDEX": "similarity between a column and a vector",
        "SELECT n LIMIT 3 USING INDEX": "similarity between a column and a vector",
        "SELECT n ORDER BY DOT(v, v) DESC LIMIT 3 USING INDEX": "the same for all rows",
        "SELECT n ORDER BY L2_DISTANCE(v, [1,1,1,1,1,1,1,1]) DESC LIMIT 3 USING INDEX": (
            "sorts in the other order"
        ),
        "SELECT n ORDER BY DOT(v, [1,1,1,1,1,1,1,1]) LIMIT 3 USING INDEX": "in the other order",
        "SELECT n ORDER BY DOT(v, [1,1,1,1,1,1,1,1]) DESC USING INDEX": "needs a LIMIT",
        "SELECT n ORDER BY DOT(v, [1,1,1,1,1,1,1,1]) DESC LIMIT 3 PERCENT USING INDEX": (
            "needs a LIMIT"
        ),
    }.items():
        with pytest.raises(dl.QueryError, match=reason):
            ds.query(text)
    for text in ("SELECT n LIMIT 3 USING", "SELECT n USING INDEX LIMIT 3"):
        with pytest.raises(dl.QuerySyntaxError):
            ds.query(text)


def test_lake_in_from_is_searched_and_so_is_a_subquery(ds):
    ds.create_index("v")
    near = "ORDER BY COSINE_SIMILARITY(v, ?) DESC LIMIT 3 USING INDEX"
    query = ds["v"][5]
    result = dl.query(f"SELECT n FROM lake {near}", [query], sources={"lake": ds})
    assert uses_index(result)
    assert result["n"][0] == 5
    inner = ds.query(f"SELECT n FROM (SELECT n {near}) WHERE n < 6", [query])
    assert 5 in inner["n"][:].tolist()
    assert uses_index(inner)
    again = ds.query(f"WITH near AS (SELECT n {near}) SELECT MAX(n) AS m FROM near", [query])
    assert again["m"][0] >= 5


def test_many_wanted_rows_are_compared_exactly(ds):
    ds.create_index("v")
    result = search(ds, ds["v"][5], 400)
    assert "the query needs at least one in 20 rows" in result.explain()
    check_true(result, ds, ds["v"][5], least=1)


def test_question_of_a_query_is_not_indexed(ds):
    ds.create_index("v")
    derived = ds.query("SELECT n, v * 2 AS v")
    text = f"SELECT n {order_by('COSINE_SIMILARITY')} LIMIT 3 USING INDEX"
    result = derived.query(text, [ds["v"][5]])
    assert "result of a query" in result.explain()
    assert result["n"][0] == 5


CONDITIONS = {
    "COSINE_SIMILARITY": [
        "s < 0.5", "s BETWEEN 0.1 AND 0.2", "NOT s > 0.5", "ROUND(s, 1) = 0.3", "s < 0 OR n = 9",
        "s < 0.99", "s < 0.5 AND n % 2 = 0", "s < 0.5 AND SUM(v) > 0", "s > 2", "s > -2",
    ],
    "DOT": ["s < 0", "ROUND(s) = 1", "s < 1 OR n = 9"],
    "L2_DISTANCE": ["s > 3", "s > 3 AND n < 50", "s BETWEEN 2 AND 2.1", "s > 1 OR n = 9"],
}  # fmt: skip


@pytest.mark.whole
@pytest.mark.parametrize("function", CONDITIONS)
def test_conditions_on_the_similarity_lose_no_rows(ds, function):
    ds.create_index("v", metric=METRICS[function])
    query = ds["v"][7]
    order = "ASC" if function == "L2_DISTANCE" else "DESC"
    for condition in CONDITIONS[function]:
        text = f"SELECT n, {function}(v, ?) AS s WHERE {condition} ORDER BY s {order} LIMIT 10"
        exact = ds.query(text, [query])
        near = ds.query(f"{text} USING INDEX", [query])
        assert len(near) == len(exact), condition
        assert len(np.intersect1d(near["n"][:], exact["n"][:])) >= 0.8 * len(exact), condition
