"""Every part of a syntax tree is handled or refused; none is silently ignored."""

# ruff: noqa: E501 - queries stay on one line

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
from sqlglot import exp

import deeplake_lite as dl
from deeplake_lite.errors import LakeError, QueryError
from deeplake_lite.query.bind import Binder, Params
from deeplake_lite.query.parse import dialect, grammar
from deeplake_lite.query.parse.grammar import PARTS, check_parts
from deeplake_lite.query.parse.parsing import parse
from deeplake_lite.query.run.nested import only_value
from deeplake_lite.query.run.opening import Sources

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema = {
        "id": "int64", "i": "int64", "s": "text", "d": "datetime64[s]", "j": dl.Json(),
        "l": dl.Sequence("int64"), "b": "bool", "v": dl.Embedding(2),
    }  # fmt: skip
    ds = dl.create("memory://parts", schema, overwrite=True)
    ds.append(
        {
            "id": range(3), "i": [1, 1, 2], "s": list("abc"), "d": ["2026-01-31"] * 3, "j": [{}, 1, "a"],
            "l": [[1], [], [2, 3]], "b": [True, False, True], "v": np.eye(3, 2),
        }
    )  # fmt: skip
    ds.commit("rows")
    ds.tag("old")
    ds.delete([0])
    ds.commit("fewer rows")
    return ds


QUERIES = """
SELECT DISTINCT a.id, i AS x FROM dataset AS a WHERE b GROUP BY i, a.id, b HAVING i > 1
SELECT DISTINCT ON (i) x FROM dataset VERSION 'old' AS t(x)
SELECT id, ROW_NUMBER() OVER w AS n QUALIFY n > 1 WINDOW w AS (PARTITION BY i ORDER BY id DESC)
SELECT SUM(id) OVER (ORDER BY id ROWS BETWEEN 1 PRECEDING AND 2 FOLLOWING EXCLUDE TIES) AS n
SELECT id ORDER BY i DESC NULLS FIRST LIMIT 2 OFFSET 1
SELECT id ORDER BY i FETCH FIRST 2 ROWS ONLY
SELECT id LIMIT 50 PERCENT
SELECT l, id UNGROUP BY l
SELECT id ARRANGE BY i SAMPLE BY id REPLACE LIMIT 20 PERCENT SEED 3
SELECT id EXPAND BY 1, 2
SELECT id ORDER BY COSINE_SIMILARITY(v, [1, 0]) DESC LIMIT 1 USING INDEX
SELECT id JOIN dataset b USING (id)
SELECT a.id FROM dataset a JOIN dataset b ON a.id = b.i
SELECT a.id FROM dataset a LEFT JOIN dataset b ON a.id = b.i
SELECT a.id FROM dataset a SEMI JOIN dataset b ON a.id = b.i
SELECT id FROM dataset NATURAL JOIN (SELECT id FROM dataset) b
SELECT a.x FROM (SELECT id FROM dataset) AS a(x) JOIN dataset b ON a.x = b.i
WITH w AS MATERIALIZED (SELECT id FROM dataset) SELECT id FROM w
WITH w AS (SELECT id FROM dataset) SELECT id FROM w UNION SELECT id FROM w ORDER BY id LIMIT 2 OFFSET 1
WITH w AS (SELECT id FROM dataset) SELECT id FROM w INTERSECT ALL SELECT id FROM w ORDER BY id LIMIT 2 OFFSET 1
WITH w AS (SELECT id FROM dataset) SELECT id FROM w EXCEPT ALL SELECT id FROM w ORDER BY id LIMIT 2 OFFSET 1
(SELECT id FROM dataset) UNION ALL (SELECT id FROM dataset) ARRANGE BY id
(SELECT id FROM dataset) INTERSECT (SELECT id FROM dataset) ARRANGE BY id
(SELECT id FROM dataset) EXCEPT (SELECT id FROM dataset) ARRANGE BY id
(SELECT l FROM dataset) UNION ALL (SELECT l FROM dataset) UNGROUP BY l
(SELECT l FROM dataset) INTERSECT ALL (SELECT l FROM dataset) UNGROUP BY l
(SELECT l FROM dataset) EXCEPT ALL (SELECT l FROM dataset) UNGROUP BY l
WITH w AS (SELECT id FROM dataset) (SELECT id FROM w) ORDER BY id LIMIT 2 OFFSET 1
(SELECT l FROM dataset) UNGROUP BY l
(SELECT id FROM dataset) ARRANGE BY id
SELECT * EXCLUDE (i) REPLACE (id + 1 AS id) RENAME (s AS t)
SELECT CASE id WHEN 1 THEN i WHEN 2 THEN 3 ELSE 4 END AS x, IF(b, 1, 2) AS y, IF(b, id, NULL) AS z
SELECT id WHERE i BETWEEN 1 AND 2 AND id IN (1, 2) AND id NOT IN (SELECT i FROM dataset) AND id IN [1, 2]
SELECT id WHERE s LIKE 'a%' AND s NOT LIKE 'b' AND s ILIKE 'A' AND s NOT ILIKE 'C' AND s LIKE 'a!%' ESCAPE '!'
SELECT CAST(id AS DECIMAL(5, 2)) AS x, TRY_CAST(s AS INT) AS y, CAST([id] AS BIGINT[]) AS z
SELECT d AT TIME ZONE 'UTC' AS x, d + INTERVAL 2 DAY AS y, EXTRACT(month FROM d) AS z
SELECT d + INTERVAL '1.5 seconds' AS x
SELECT SUBSTRING(s FROM 1 FOR 2) AS x, POSITION('a' IN s) AS y, TRIM(LEADING 'x' FROM s) AS z
SELECT s || 'a' AS x, {'a': id}.a AS y, j['a'] AS z, dataset.j.a AS u, v[0:1] AS t, v[::1] AS r
SELECT COUNT(*) FILTER (WHERE b) AS n, COUNT(DISTINCT i) AS m, LIST(id ORDER BY i DESC) AS o
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY id) AS n, i GROUP BY ALL
SELECT id WHERE EXISTS (SELECT b.i FROM dataset a JOIN dataset b USING (id) WHERE b.i = dataset.id) AND id = ANY(SELECT i FROM dataset)
SELECT (SELECT MAX(i) FROM dataset) AS m, NOT b AS n, -id AS o, (id) AS p, id IS NOT NULL AS q, id & 1 AS r
SELECT LIST_TRANSFORM([id], x -> x + 1) AS x, id IS DISTINCT FROM i AS y
SELECT [(SELECT MAX(i) FROM dataset)] AS x
""".strip().splitlines()
"""Queries that together contain every part of the language's trees."""


IMPLIED = {
    ("column", "catalog"), ("column", "db"), ("table", "catalog"), ("table", "db"),
    ("concat", "expressions"), ("concat", "coalesce"), ("concat", "safe"), ("dpipe", "safe"),
    ("trycast", "safe"), ("with", "recursive"), ("unnest", "expressions"), ("unnest", "alias"),
    ("strposition", "position"), ("datatype", "values"), ("datatype", "kind"), ("fetch", "direction"),
    ("join", "pivots"), ("windowspec", "end_side"), ("windowspec", "start_side"),
    ("table", "joins"), ("subquery", "joins"), ("in", "field"), ("identifier", "quoted"),
    ("window", "alias"), ("window", "over"), ("limitoptions", "rows"),
}  # fmt: skip
"""Parts without a query here: refused wherever they occur, or implied by the other parts."""

WITHOUT_EFFECT = {
    ("cte", "materialized"),  # how, not what
    ("array", "value_constructor"),  # a query in brackets is one item in any case
    ("identifier", "quoted"), ("datatype", "nested"), ("fetch", "limit_options"),
    ("select", "windows"), ("dpipe", "safe"), ("trycast", "safe"), ("limitoptions", "rows"),
    ("fetch", "direction"), ("window", "over"), ("windowspec", "kind"),
    ("ordered", "nulls_first"), ("literal", "is_string"),
    ("column", "table"), ("subquery", "alias"), ("tablealias", "this"),  # tells several apart
    ("identifier", "this"),  # the name of a name
    ("select", "from_"),  # without it, the same source
    ("union", "distinct"), ("intersect", "distinct"), ("except", "distinct"),  # the default
    ("anonymous", "expressions"),  # COUNT() is COUNT(*)
}  # fmt: skip


def parts(tree: exp.Expr) -> Iterator[tuple[exp.Expr, str]]:
    """Yield the nodes of a tree, with the names of their parts."""
    for node in tree.walk():
        for name, part in node.args.items():
            if part:
                yield node, name


def planned(tree: exp.Query, ds: dl.Dataset) -> str:
    """Return the plan for a tree, or the error."""
    try:
        sources = Sources(ds, None)
        binder = Binder("", sources, Params((), tree), sources.default, 1, run_subquery=only_value)
        plan = binder.plan(tree)
    except Exception as error:
        return repr(error)
    sql = re.sub(r"lake_f\d+", "lake_f", plan.sql.sql("duckdb"))
    outputs = [(o.name, str(o.kind), o.plain and o.plain.field.name) for o in plan.outputs]
    trees = [(o.tensor.tree, o.tensor.text) for o in plan.outputs if o.tensor is not None]
    precomputed = [[*i.texts.items()] for i in plan.instances]
    sources_ = [
        str(i.source.view.version) if hasattr(i.source, "view") else "" for i in plan.instances
    ]
    searches = [i.nearest and i.nearest.function for i in plan.instances]
    return repr((sql, outputs, trees, precomputed, sources_, searches, plan.clauses))


@pytest.mark.parametrize("query", QUERIES)
def test_no_part_of_a_query_is_ignored(ds: dl.Dataset, query: str) -> None:
    whole = planned(parse(query), ds)
    assert "Error(" not in whole
    tree = parse(query)
    check_parts(tree, query)
    for at, (node, name) in enumerate(parts(tree)):
        if (node.key, name) in WITHOUT_EFFECT:
            continue
        copy = parse(query)
        same = list(parts(copy))[at][0]
        same.set(name, None)
        assert planned(copy, ds) != whole, (node.key, name, copy.sql(dialect.Lakes))


def test_queries_contain_all_parts() -> None:
    seen = {(node.key, name) for query in QUERIES for node, name in parts(parse(query))}
    known = {(key, name) for key, names in PARTS.items() for name in names}
    assert known - seen - IMPLIED == set()


@pytest.mark.parametrize("query", QUERIES)
def test_every_other_part_of_a_node_is_refused(monkeypatch: pytest.MonkeyPatch, query: str) -> None:
    monkeypatch.setattr(grammar, "text_of", repr)  # no grammar has a syntax for such nodes
    for at, node in enumerate(parse(query).walk()):
        known = PARTS.get(node.key, {"this", "expression", "expressions"})
        for name in node.arg_types.keys() - known:
            copy = parse(query)
            list(copy.walk())[at].set(name, exp.column("nope"))
            with pytest.raises(QueryError):
                check_parts(copy, query)


JOINS = {
    "SELECT dataset.i, b.s JOIN dataset b ON b.id = dataset.id":
        "SELECT a.i, b.s FROM dataset a JOIN dataset b ON b.id = a.id",
    "SELECT id, b.s LEFT JOIN (SELECT * WHERE id > 1) b USING (id)":
        "SELECT id, b.s FROM dataset LEFT JOIN (SELECT * WHERE id > 1) b USING (id)",
    "SELECT id + 1 AS x FULL OUTER JOIN (SELECT id WHERE id > 1) b USING (id) ORDER BY x":
        "SELECT id + 1 AS x FROM dataset FULL JOIN (SELECT id WHERE id > 1) b USING (id) ORDER BY x",
    "SELECT id ANTI JOIN (SELECT i AS id) b USING (id)":
        "SELECT id FROM dataset ANTI JOIN (SELECT i AS id FROM dataset) b USING (id)",
    "SELECT COUNT(*) AS n CROSS JOIN dataset b": "SELECT COUNT(*) AS n FROM dataset, dataset b",
    "SELECT (SELECT COUNT(*) JOIN dataset b USING (id)) AS n":
        "SELECT (SELECT COUNT(*) FROM dataset a JOIN dataset b USING (id)) AS n",
}  # fmt: skip


@pytest.mark.parametrize("query", JOINS)
def test_queried_dataset_is_joined_if_from_is_omitted(ds: dl.Dataset, query: str) -> None:
    result, expected = ds.query(query), ds.query(JOINS[query])
    assert [*map(dict, result)] == [*map(dict, expected)]


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT id JOIN nope b ON b.x = id", "There is no lake at 'nope'"),
        ("SELECT id LEFT JOIN nope USING (id)", "There is no lake at 'nope'"),
        ("SELECT id LEFT JOIN dataset b", "A join must have a condition"),
        ("SELECT id NATURAL JOIN nope", "There is no lake at 'nope'"),
        ("SELECT id ASOF JOIN dataset b ON 1 = 1", "ASOF JOIN is not part of the language"),
        ("(SELECT id FROM dataset) JOIN nope b ON 1 = 1", "A join must be in FROM"),
        ("SELECT id WHERE id IN ((SELECT id FROM dataset) JOIN nope)", "A join must be in FROM"),
        ("SELECT a.id FROM dataset a JOIN dataset b JOIN dataset c ON c.id = b.id ON a.id = b.id",
         "Joins must be written one after the other"),
        ("SELECT * FROM ((SELECT id FROM dataset) SAMPLE BY id) t", "SAMPLE BY must end the outermost query"),
    ],
)  # fmt: skip
def test_meaningless_joins_are_refused(ds: dl.Dataset, query: str, message: str) -> None:
    with pytest.raises(LakeError, match=rf"{message}(.|\n)*\^"):
        ds.query(query)


def test_name_may_be_a_keyword_of_joins(ds: dl.Dataset) -> None:
    assert ds.query("SELECT id left").columns == ("left",)
    assert ds.query("SELECT id AS left JOIN dataset b USING (id)").columns == ("left",)
