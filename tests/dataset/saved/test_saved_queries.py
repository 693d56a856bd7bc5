"""Query results that are saved, opened in another process, or copied to lakes of their own."""

import datetime as dt
import pickle
from importlib import import_module

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.read.virtual import question_of
from deeplake_lite.dataset.saved.repeat import repeat_query


@pytest.fixture
def ds(make_lake):
    return make_lake(
        {"x": "int32", "t": "text", "v": dl.Embedding(3), "label": dl.ClassLabel(["a", "b"])},
        x=range(6),
        t=list("abcdef"),
        v=np.arange(18).reshape(6, 3),
        label=[0, 1] * 3,
    )


QUERIES = {
    "computed": ("SELECT x, v * 2 AS w, UPPER(t) AS t WHERE x > ?", [1]),
    "groups": ("SELECT label, COUNT(*) AS n, MEAN(v) AS v GROUP BY label ORDER BY label", []),
    "lists": ("SELECT label, LIST(t) AS t, LIST(v) AS v GROUP BY label ORDER BY label", []),
    "drawn": ("SELECT x, RANDOM() AS r SAMPLE BY 1 LIMIT 3", []),
    "array": ("SELECT x, DOT(v, $q) AS s ORDER BY s DESC", {"q": np.array([1, 0, 2], "float32")}),
    "self join": ("SELECT a.x AS x, b.v + 0 AS v FROM ds AS a JOIN ds AS b ON a.x = b.x + 1", []),
    "json": ("SELECT {'x': x} AS j", []),
    "time": ("SELECT CAST(? AS TIMESTAMP) + INTERVAL 1 DAY AS t", [dt.datetime(2026, 1, 31)]),
    "masks": ("SELECT v > 3 AS m, SHAPE(v) AS s, v[:2] AS h", []),
    "twice": ("SELECT a.x AS x, a.v + b.v AS v FROM ds AS a CROSS JOIN ds AS b", []),
}


def values(view):
    return {name: list(map(str, view[name])) for name in view.columns}


def same(a, b):
    return values(a) == values(b)


@pytest.mark.parametrize("name", QUERIES)
def test_result_is_saved_opened_pickled_and_copied(ds, new_url, name):
    view = ds.query(*QUERIES[name])
    expected = values(view)
    view.save(name)
    ds["x"][0] = 100
    ds.delete([3])
    ds.commit("later")
    again = dl.open(ds.url).views()[name]
    assert values(again) == expected
    assert again.schema.names == view.schema.names
    assert again.origin == view.origin == QUERIES[name][0]
    assert values(pickle.loads(pickle.dumps(view))) == expected
    copy = again.materialize(new_url())
    assert values(dl.open(copy.url)) == expected
    assert len(set(copy.row_ids.tolist())) == len(copy)
    assert copy.verify()


def test_plain_result_is_saved_as_row_ids_with_the_query_as_origin(ds):
    ds.query("SELECT x, t WHERE x % 2 = 0 ORDER BY x DESC").save("even")
    info = ds.views().info("even")
    assert info.query is None
    assert info.origin == "SELECT x, t WHERE x % 2 = 0 ORDER BY x DESC"
    assert ds.views()["even"]["x"][:].tolist() == [4, 2, 0]


def test_result_does_not_change_when_the_dataset_does(ds):
    view = ds.query("SELECT x + 0 AS y, v * 1 AS v, t")
    before = values(view)
    ds.delete([0, 1])
    ds["t"][0] = "changed"
    ds.commit("later")
    assert values(view) == before
    view.save("before")
    assert values(ds.views()["before"]) == before


def test_query_of_a_slice_is_reopened_on_the_same_rows(ds):
    view = ds[[5, 1, 1]].query("SELECT x * 10 AS y")
    view.save("slice")
    assert dl.open(ds.url).views()["slice"]["y"][:].tolist() == [50, 10, 10]


def test_part_of_a_result_is_reopened_as_that_part(ds):
    view = ds.query("SELECT x, x * 10 AS y")[[4, 0]][["y"]]
    view.save("part")
    assert values(ds.views()["part"]) == {"y": ["40", "0"]}
    assert same(pickle.loads(pickle.dumps(view)), view)


def test_query_of_a_query_result_is_reopened(ds, new_url):
    first = ds.query("SELECT x * 10 AS y, v")
    view = first.query("SELECT y + 1 AS z, SUM(v) AS s WHERE y > $y", {"y": 20})
    view.save("nested")
    assert same(ds.views()["nested"], view)
    assert same(pickle.loads(pickle.dumps(view)), view)
    assert same(ds.views()["nested"].materialize(new_url()), view)


def test_join_with_another_lake_is_reopened_at_its_version(ds, make_lake):
    other = make_lake({"x": "int32", "name": "text"}, x=[1, 2], name=["one", "two"])
    text = f"SELECT x, name || '!' AS name FROM ds JOIN '{other.url}' AS o USING (x)"
    view = ds.query(text)
    view.save("by url")
    text = "SELECT x, name || '!' AS name FROM ds JOIN o USING (x)"
    by_name = ds.query(text, sources={"o": other[[1]]})
    by_name.save("by name")
    other["name"][0] = "changed"
    other.commit("later")
    views = dl.open(ds.url).views()
    assert sorted(views["by url"]["name"][:]) == ["one!", "two!"]
    assert views["by name"]["name"][:] == ["two!"]
    assert same(pickle.loads(pickle.dumps(by_name)), by_name)


def test_join_between_versions_protects_both_from_a_vacuum(ds):
    first = ds.version
    ds["x"][0] = 100
    ds.commit("changed")
    view = ds.query(
        f"SELECT new.x - old.x AS d FROM ds AS new JOIN ds VERSION '{first}' AS old USING (t) "
        "WHERE new.x <> old.x"
    )
    view.save("changes")
    assert view["d"][:].tolist() == [100]
    assert ds.views()["changes"]["d"][:].tolist() == [100]
    from deeplake_lite.dataset.saved.named_views import versions_needed

    assert versions_needed(ds.handle.repository) == {first, ds.version}


def test_query_that_reads_no_lake_is_not_saved(ds):
    with pytest.raises(dl.InvalidValueError, match="this view does not read a lake"):
        dl.query("SELECT 1 AS one").save("one")
    one = dl.query("SELECT 1 AS x")
    joined = ds.query("SELECT t || '!' AS t FROM ds JOIN one USING (x)", sources={"one": one})
    with pytest.raises(dl.InvalidValueError, match="the source 'one' is not"):
        joined.save("joined")
    assert same(pickle.loads(pickle.dumps(joined)), joined)


def test_uncommitted_rows_are_not_saved(ds):
    ds["x"][0] = 9
    view = ds.query("SELECT x + 1 AS y")
    with pytest.raises(dl.UncommittedError, match="Commit first"):
        view.save("dirty")
    with pytest.raises(dl.UncommittedError, match="Commit first"):
        pickle.dumps(view)


def test_function_that_selects_different_rows_is_reported(ds):
    from deeplake_lite.query.registering import unregister

    dl.function(returns="bool", name="wanted")(lambda x: x > 2)
    ds.query("SELECT x * 2 AS y WHERE WANTED(v[0])").save("wanted")
    dl.function(returns="bool", name="wanted")(lambda x: x > 8)
    with pytest.raises(dl.DamagedError, match=r"returned 5 rows .* now returns 3"):
        ds.views()["wanted"]
    unregister("wanted")


ROWS_OF_FUNCTIONS = {
    "rows and a tensor": "SELECT *, v * 2 AS d WHERE WANTED(x)",
    "a tensor": "SELECT v * 2 AS d WHERE WANTED(x)",
    "an integer": "SELECT x * 2 AS d WHERE WANTED(x)",
    "a float": "SELECT x * 0.5 AS d WHERE WANTED(x)",
    "a text": "SELECT UPPER(t) AS d WHERE WANTED(x)",
    "a struct": "SELECT {'a': x} AS d WHERE WANTED(x)",
    "order": "SELECT x, v + 0 AS v ORDER BY WANTED(x), x",
    "a function of the row": "SELECT SHAPE(v) AS s, v + 1 AS w WHERE WANTED(x)",
    "a join": "SELECT a.x AS x, b.v AS v FROM ds a JOIN ds b ON a.x = b.x WHERE WANTED(a.x)",
    "a join of tensors": "SELECT a.v + b.v AS v FROM ds a JOIN ds b ON a.x = b.x WHERE WANTED(a.x)",
    "groups": "SELECT label, MEAN(v) AS m WHERE WANTED(x) GROUP BY label",
    "groups of texts": "SELECT label, LIST(t) AS t WHERE WANTED(x) GROUP BY label",
    "counts": "SELECT WANTED(x) AS w, SUM(x) AS n GROUP BY w",
    "union": "SELECT x, v FROM ds WHERE WANTED(x) UNION ALL SELECT x, v FROM ds WHERE WANTED(x)",
    "distinct": "SELECT DISTINCT x + 1 AS y WHERE WANTED(x)",
    "items": "SELECT x, UNNEST(v) AS u WHERE WANTED(x)",
    "a query of a query": "SELECT y + 1 AS z FROM (SELECT x + 1 AS y WHERE WANTED(x)) AS q",
}
"""Queries whose rows a function chooses; the count is the same whatever it returns."""


@pytest.fixture
def wanted(registry):  # noqa: ARG001
    """Register the function; return the function that changes its results."""
    answers = {0: False, 1: False, 2: False, 3: True, 4: True, 5: True}
    dl.function(returns="bool", name="wanted")(lambda x: answers[int(x)])
    return lambda: answers.update({k: not v for k, v in answers.items()})


@pytest.mark.parametrize("name", ROWS_OF_FUNCTIONS)
def test_different_rows_of_the_same_count_are_reported(ds, wanted, name):
    view = ds.query(ROWS_OF_FUNCTIONS[name])
    expected = values(view)
    view.save("kept")
    kept = pickle.dumps(view)
    assert values(ds.views()["kept"]) == values(pickle.loads(kept)) == expected
    wanted()
    for again in (lambda: ds.views()["kept"], lambda: pickle.loads(kept)):
        with pytest.raises(dl.DamagedError, match=r"now returns .*One of your functions may have"):
            again()


def test_query_that_samples_by_a_function_is_reported(ds, registry):  # noqa: ARG001
    draw = np.random.default_rng(0)
    dl.function(returns="float64", name="drawn")(lambda x: draw.random())  # noqa: ARG005
    view = ds.query("SELECT x, v * 1 AS v ORDER BY DRAWN(x) LIMIT 3")
    kept = pickle.dumps(view)
    with pytest.raises(dl.DamagedError, match="now returns different rows than before"):
        pickle.loads(kept)


def test_only_the_rows_of_the_view_matter(ds, wanted):
    view = ds.query("SELECT x, v * 2 AS d, WANTED(x) AS w ORDER BY x")[[0, 1]]
    kept, expected = pickle.dumps(view[["d"]]), values(view[["d"]])
    wanted()
    assert values(pickle.loads(kept)) == expected


@pytest.fixture
def document(ds, monkeypatch):
    """Return the document of a saved query, and a function that checks it."""
    from deeplake_lite.dataset.saved import named_views, rows

    checked = []
    monkeypatch.setattr(
        named_views, "check_document", lambda *args, **kind: checked.append((args, kind))
    )
    ds.query("SELECT x * 2 AS y").save("doubled")
    (name, content), kind = checked[0]
    rows.check_document(name, content, **kind)
    return content, lambda: rows.check_document(name, content, **kind)


@pytest.mark.parametrize(
    "lost", ["text", "params", "seed", "moment", "rows", "fingerprint", "sources"]
)
def test_saved_query_with_a_missing_part_is_damage(document, lost):
    content, check = document
    del content["query"][lost]
    with pytest.raises(dl.DamagedError, match="view 'doubled' is damaged"):
        check()


@pytest.mark.parametrize(
    "moment", [5, True, "", "now", "2026-13-01", "2026-01-01T00:00:00+02:00", []]
)
def test_saved_query_with_an_invalid_time_is_damage(document, moment):
    content, check = document
    content["query"]["moment"] = moment
    with pytest.raises(dl.DamagedError, match="view 'doubled' is damaged"):
        check()


def test_sums_with_a_different_thread_order_are_the_same_view(make_lake):
    ds = make_lake({"k": "int8", "x": "float64"}, k=np.arange(300_000) % 3,
                   x=np.random.default_rng(0).normal(size=300_000))  # fmt: skip
    view = ds.query("SELECT k, SUM(x) AS s, AVG(x) AS m, STDDEV(x) AS d GROUP BY k")
    kept = pickle.dumps(view)
    for _ in range(3):
        assert len(pickle.loads(kept)) == 3


@pytest.mark.parametrize("of", ["rows", "query", "computed"])
@pytest.mark.parametrize("way", ["save", "pickle"])
def test_view_of_edits_says_to_query_again_after_the_commit(ds, of, way):
    made = {
        "rows": lambda: ds[[0]],
        "query": lambda: ds.query("SELECT * WHERE x > 2"),
        "computed": lambda: ds.query("SELECT x + 1 AS y"),
    }[of]
    keep = (lambda view: view.save("kept")) if way == "save" else pickle.dumps
    ds["x"][0] = 5
    view = made()
    for _ in range(2):  # before the commit, and after it
        with pytest.raises(dl.UncommittedError, match=r"Commit first.*create it again after the"):
            keep(view)
        ds.commit("five") if ds.status() else None
    keep(made())


def test_result_that_outgrows_the_view_is_stopped_early(ds, monkeypatch):
    monkeypatch.setattr(import_module("deeplake_lite.query.run.execute"), "BATCH_ROWS", 2048)
    others = " ".join(f"CROSS JOIN ds AS {name}" for name in "bcdefg")
    question = question_of(ds.query(f"SELECT a.x + 0 AS x FROM ds AS a {others}"))
    assert question.repeat(6**7).rows.table.slots == 6**7
    assert 5 < question.repeat(5).rows.table.slots < 6**5
    with pytest.raises(dl.DamagedError, match="returned 5 rows before, but now returns more"):
        repeat_query(question, 5, np.arange(5), "")
