"""Nested expressions take time proportional to their length, or are refused."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from sqlglot import exp

import deeplake_lite as dl
from deeplake_lite.errors import QueryError, QuerySyntaxError
from deeplake_lite.query import api
from deeplake_lite.query.bind import effort
from deeplake_lite.query.bind.expressions import lowering
from deeplake_lite.query.parse.parsing import parse

TOO_LONG = r"may have at most [\d,]+ parts, or more"


def nested(form: str, times: int, of: str = "id") -> str:
    """Nest a form in itself; ``#`` is the inner expression, ``~`` a number of its own."""
    for number in range(times):
        of = form.replace("#", of).replace("~", str(number))
    return of


FORMS = [
    "(# BETWEEN -1 AND 9)", "NULLIF(#, 7)", "COALESCE(#, 1)", "COALESCE(id, #)", "(# & 1)",
    "(# + id)", "CASE WHEN # > 1 THEN 1 ELSE id END", "CASE # WHEN 1 THEN 2 ELSE 3 END",
    "(# IN (id, 2))",
    "ABS(#)", "GREATEST(#, 1)", "SIZE(#)", "(# IS NULL)", "CAST(# AS DOUBLE)",
    "(# IS NOT DISTINCT FROM id)",
    "(SELECT #)", "(SELECT # LIMIT 1)", "(SELECT MAX(#))", "(SELECT # FROM dataset AS d~ LIMIT 1)",
    "(id IN (SELECT #))", "EXISTS (SELECT #)", "(id = ANY(SELECT #))", "{'a': #}.a", "[#][1]",
    "LIST_MAX([#, 1])", "IF(# > 1, 1, 2)", "MAX_WEIGHT(# > 1: 2)",
    "((#, id) < (1, 2))", "((#, id) = (1, 2))", "((#, id) IN ((1, 2), (3, 4)))", "(-#)", "(NOT #)",
]  # fmt: skip


@pytest.fixture
def calls(monkeypatch):
    """Count the expressions that are lowered."""
    result = []
    lower = lowering.Lowering._value
    monkeypatch.setattr(
        lowering.Lowering,
        "_value",
        lambda low, e, scope: (result.append(e), lower(low, e, scope))[1],
    )
    return result


@pytest.mark.parametrize("form", FORMS)
def test_each_expression_is_lowered_once(ds, calls, form):
    counts = []
    for times in (4, 8):
        calls.clear()
        api.make_plan(f"SELECT {nested(form, times)} AS x", view=ds)
        counts.append(len(calls))
    assert counts[1] <= 2 * counts[0]


def test_columns_of_nested_queries_are_looked_up_once(ds, calls):
    for form in (
        "x + x",
        "[x, x][1]",
        "LIST_MAX([x, x])",
        "GREATEST(x, x)",
        "CASE WHEN x > x THEN x END",
    ):
        text = "SELECT id AS x"
        for _ in range(40):
            text = f"SELECT {form} AS x FROM ({text})"
        calls.clear()
        ds.query(text)
        assert len(calls) < 40 * 10


def lower_limit(monkeypatch):
    """Lower the limit of a query, which takes ten seconds to reach."""
    monkeypatch.setattr(effort, "MAX_NODES", 2_000)
    monkeypatch.setattr(effort, "PER_CHARACTER", 1)


@pytest.fixture
def small_limit(monkeypatch):
    lower_limit(monkeypatch)


@pytest.mark.usefixtures("small_limit")
@pytest.mark.parametrize(
    "text",
    [
        nested("NULLIF(#, 'a')", 14, "meta"), nested("#[1:2]", 12, "meta"),
        nested("(SELECT # LIMIT 1)", 14, "vec"),
        nested("(SELECT # FROM dataset AS d~ LIMIT 1)", 14, "vec"),
        nested("LIST_TRANSFORM([1], y~ -> # BETWEEN y~ AND 9)", 20),
        nested("(# BETWEEN 1 AND 2)", 20),
    ],
)  # fmt: skip
def test_exponentially_growing_queries_are_refused(ds, text):
    with pytest.raises(QueryError, match=TOO_LONG) as caught:
        api.make_plan(f"SELECT {text} AS x", view=ds)
    assert not isinstance(caught.value, QuerySyntaxError)


def test_long_queries_may_have_as_many_parts_as_they_need(ds):
    numbers = ", ".join(map(str, range(20_000)))
    assert len(ds.query(f"SELECT id WHERE id IN ({numbers})")) == len(ds)
    terms = " OR ".join(f"id = {n}" for n in range(800))
    assert len(ds.query(f"SELECT id WHERE {terms}")) == len(ds)


def test_error_suggests_how_to_write_the_query(monkeypatch):
    ds = dl.create("memory://effort", {"id": "int64"}, overwrite=True)
    ds.append({"id": [1]})
    with monkeypatch.context() as lowered:
        lower_limit(lowered)
        with pytest.raises(QueryError, match=r"Compute the inner expressions in FROM"):
            ds.query(f"SELECT {nested('(# BETWEEN 0 AND 1)', 20)} AS x")
    text = "SELECT id AS x"
    for _ in range(40):
        text = f"SELECT (x BETWEEN 0 AND 1) AS x FROM ({text})"
    assert ds.query(text)["x"][:].tolist() == [True]


def test_wide_sources_lists_and_chains_do_not_count_as_exponential():
    wide = {f"c{k}": "float64" if k % 2 else "int64" for k in range(300)}
    ds = dl.create("memory://effort-wide", wide, overwrite=True)
    ds.append({name: [1, 2] for name in wide})
    ds.commit("rows")
    inner = "SELECT *, c0 + 1 AS z FROM (SELECT * FROM dataset) WHERE c1 > 0"
    assert len(ds.query(f"SELECT * FROM ({inner}) WHERE z > 0")) == 2
    assert len(ds.query("SELECT * FROM dataset UNION SELECT * FROM dataset")) == 2
    assert len(ds.query("SELECT c0 WHERE c0 IN $p", {"p": list(range(20_000))})) == 2


def test_rows_and_json_are_searched_in_long_lists():
    count = 350
    ds = dl.create("memory://effort-lists", {"i": "int64", "j": dl.Json()}, overwrite=True)
    ds.append({"i": [0, -1], "j": [1, {"k": 2}]})
    ds.commit("rows")
    numbers = ", ".join(map(str, range(count)))
    assert len(ds.query(f"SELECT i WHERE j IN ({numbers})")) == 1
    pairs = ", ".join(f"({k}, 1)" for k in range(count // 4))
    assert len(ds.query(f"SELECT i WHERE (i, j) IN ({pairs})")) == 1
    terms = " OR ".join(f"j['k'] = {k}" for k in range(count // 4))
    assert len(ds.query(f"SELECT i WHERE {terms}")) == 1


@pytest.mark.parametrize("value", [np.array(1), np.float32(1), np.array("a"), b"a", "a", None])
def test_parameters_without_a_length_are_one_value(value):
    ds = dl.create("memory://effort-parameters", {"i": "int64"}, overwrite=True)
    ds.append({"i": [1]})
    assert len(ds.query("SELECT i, $p AS p", {"p": value})) == 1


@pytest.mark.usefixtures("small_limit")
def test_nested_answers_do_not_raise_the_limit():
    wide = {f"c{k}": "int64" for k in range(60)} | {"v": dl.Embedding(2)}
    ds = dl.create("memory://effort-answers", wide, overwrite=True)
    ds.append({name: [[1, 2]] if name == "v" else [1] for name in wide})
    ds.commit("rows")
    with pytest.raises(QueryError, match=TOO_LONG):
        api.make_plan(f"SELECT {nested('(SELECT # FROM dataset AS d~ LIMIT 1)', 14, 'v')}", view=ds)


def chained(form: str, times: int) -> str:
    """Return a SELECT whose items use the previous one's name; ``#`` stands for it."""
    names = ["id", *(f"x{number}" for number in range(times))]
    items = [f"{form.replace('#', a)} AS {b}" for a, b in pairwise(names)]
    return f"SELECT {', '.join(items)}"


@pytest.mark.parametrize(
    "text",
    [
        chained("# + #", 20), chained("GREATEST(#, #)", 20),
        chained("CASE WHEN # > 1 THEN # END", 20), chained("NULLIF(#, 7)", 40),
        f"SELECT {nested('NULLIF(#, ~)', 20)} AS x",
        f"SELECT {nested('NULLIF(#, ~)', 20, 'score')} AS x",
    ],
)  # fmt: skip
def test_chains_that_double_are_refused_early(ds, monkeypatch, text):
    copies = []
    copy = exp.Expression.__deepcopy__
    monkeypatch.setattr(
        exp.Expression, "__deepcopy__", lambda e, memo: (copies.append(e), copy(e, memo))[1]
    )
    with pytest.raises(QueryError, match=TOO_LONG):
        api.make_plan(text, view=ds)
    assert len(copies) < 10_000


def test_names_of_long_expressions_may_be_used_often(ds):
    case = "CASE " + " ".join(f"WHEN id = {n} THEN {n + 1}" for n in range(40)) + " END"
    terms = " OR ".join(f"x = {n}" for n in range(20))
    assert len(ds.query(f"SELECT {case} AS x, x + 1 AS y, y * x AS z WHERE {terms} ORDER BY z, y"))
    short = ", ".join(f"x + {n} AS y{n}" for n in range(100))
    assert len(ds.query(f"SELECT id + 1 AS x, {short} LIMIT 1")) == 1
    assert len(ds.query(chained("# + #", 6))) == len(ds)
    assert len(ds.query(f"SELECT {nested('NULLIF(#, ~)', 5)} AS x")) == len(ds)


@pytest.mark.parametrize("word", ["OR", "AND"])
def test_long_chain_is_traversed_a_fixed_number_of_times(monkeypatch, word):
    steps = []
    walk = exp.Expression.dfs

    def counted(self, *args, **named):
        for node in walk(self, *args, **named):
            steps.append(node)
            yield node

    monkeypatch.setattr(exp.Expression, "dfs", counted)
    counts = []
    for terms in (500, 1000, 2000):
        steps.clear()
        parse("SELECT * WHERE " + f" {word} ".join(f"id <> {i}" for i in range(terms)))
        counts.append(len(steps))
    assert counts[2] < 2.2 * counts[1] < 2.2 * 2.2 * counts[0]
