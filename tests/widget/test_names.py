"""Columns may have any name that the schema allows, without any effect on the page.

Two lakes with the same rows are compared, one with plain names and one whose names are words of
SQL, aliases of our own queries, markup and punctuation.
"""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.query.parse.completion import complete
from deeplake_lite.query.parse.names import quote_column, unused

NAMES = [
    "b", "n", "v", "low", "high", "value", "a", "k", "x", "count", "B_", "N", "row", "list", "map",
    "range", "if", "current_date", "localtime", "session_user", "array", "struct", "interval",
    "ds", "dataset", "given", "suspects", "suggested", "suspicion", "select", "order", "group by",
    "it's", 'say "x"', "a.b", "deep/a", "dataset.b", "😀", "<b>x</b>", "_row_id", "rowid", "id",
    "-- x", "x;", "constructor", "toString", "1", "%", "a\\b", "$1", "?", ":p", "{x}", "*", "tags",
    "\u202eevil", "position", "slot", "text", "COUNT(*)", "true", "null", "epoch", "floor",
    "proto__", "hasOwnProperty", "valueOf", "prototype", "it", "IT", "é", "e\u0301", "\u00a0",
]  # fmt: skip
KINDS = [
    (dl.Scalar("int32"), [1, 5, 5, 7]),
    (dl.ClassLabel(["p", "q"]), ["p", "q", "p", "p"]),
    (dl.Text(), ["u", "w", "u", ""]),
    (dl.Scalar("float64", nullable=True), [0.5, 0.25, None, 2.0]),
    (dl.Sequence(dl.Text()), [["u"], [], ["u", "w"], ["w"]]),
    (dl.Scalar("bool"), [True, False, True, True]),
    (dl.Scalar("datetime64[s]"), np.array(["2020-01-01", "2021-01-01"] * 2, "datetime64[s]")),
    (dl.Embedding(2), np.array([[0, 1], [1, 0], [1, 1], [0, 0.5]], "float32")),
]


def lake(make_lake, names):
    """Make a lake whose columns cycle through the kinds."""
    kinds = [KINDS[i % len(KINDS)] for i in range(len(names))]
    schema = {name: htype for name, (htype, _) in zip(names, kinds, strict=True)}
    values = {name: column for name, (_, column) in zip(names, kinds, strict=True)}
    return make_lake(schema, **values)


@pytest.fixture(params=[0, 3])
def turn(request):
    """Rotate the names, so that each belongs to a different kind."""
    return NAMES[request.param :] + NAMES[: request.param]


def plain(names):
    return [f"plain{i:03}" for i in range(len(names))]


def without_names(facets, names):
    """Return facets with columns by number."""
    return [
        {**f, "column": names.index(f["column"]), "expression": None, "label": None} for f in facets
    ]


def test_charts_do_not_depend_on_names(turn, make_lake, page):
    result = [
        without_names(page(lake(make_lake, names)).asks("facets", columns=names)["facets"], names)
        for names in (turn, plain(turn))
    ]
    assert [(turn[f["column"]], f) for f in result[0] if "problem" in f] == []
    assert result[0] == result[1]


def test_our_queries_treat_every_name_as_a_column(make_lake):
    schema = dict.fromkeys(NAMES, "float64")
    ds = make_lake(schema, **{name: [1.0, 2.0, 3.0] for name in NAMES})
    known = complete("SELECT ", 7, ds)
    for name in NAMES:
        e = quote_column(name)
        text = f"SELECT * WHERE {e} >= 2 AND {e} IN (2, 3) AND NOT {e} IS NULL ORDER BY {e} DESC"
        assert ds.query(text)[name][:].tolist() == [3, 2], e
        assert ds.query(f"SELECT ABS({e}) AS _ WHERE LEAST({e}, 2) < 2")["_"][:].tolist() == [1], e
        assert (e, "column") in known


@pytest.mark.parametrize("name", ["b", "row", 'say "x"', "given"])
@pytest.mark.parametrize("kind", range(len(KINDS) - 1))
def test_filters_orders_and_exports_do_not_depend_on_names(name, kind, make_lake, page, tmp_path):
    htype, values = KINDS[kind]
    ds = make_lake({name: htype, "y": "int32"}, **{name: values, "y": [3, 1, 2, 0]})
    p = page(ds)
    for facet in p.asks("facets", columns=[name])["facets"]:
        expression = facet["expression"]
        counts = facet["all"] if "all" in facet else [value[2] for value in facet["values"]]
        chosen = facet["edges"][:2] if "all" in facet else [facet["values"][0][0]]
        fields = {"expression": expression, "kind": facet["kind"]}
        reply = p.asks("filter", **fields, op="set", values=chosen)
        assert reply["rows"] == counts[0]
        [again] = [
            f for f in p.asks("facets", columns=[name])["facets"] if f["expression"] == expression
        ]
        assert again["chosen"] == chosen
        p.asks("filter", **fields, op="clear", values=[])
        assert p.w.query == ""
        if facet["kind"] != "tags":
            p.asks("sort", expression=expression, descending=True)
            assert p.w.state["order"]["expression"] == expression
            p.asks("sort", expression=None)
    p.w.view = ds[:2]
    assert len(p.w.view) == 2
    assert p.w.to_html(tmp_path / "page.html").stat().st_size > 100_000


def test_unused_names_differ_from_all_columns():
    assert unused(["b", "N", "n_"], "b", "n", "b") == ["b_", "n__", "b__"]


def test_ranking_keeps_columns_named_like_its_own(make_lake, page):
    vectors = np.eye(2, dtype="float32")[[0, 0, 0, 0, 1, 1, 1, 1]]
    kinds = ["p", "p", "p", "q", "q", "q", "q", "q"]
    ds = make_lake(
        {"first": dl.ClassLabel(["x"]), "suggested": dl.ClassLabel(["p", "q"]),
         "suspicion": "text", "e": dl.Embedding(2)},
        first=["x"] * 8, suggested=kinds, suspicion=["mine"] * 8, e=vectors,
    )  # fmt: skip
    p = page(ds)
    assert p.w.about["suggested"] is None  # a column of that name is not one of our suggestions
    p.asks("suspects", label="suggested", by="embedding", column="e")
    view = p.w.view
    assert set(ds.columns) < set(view.columns)
    assert view["suspicion"][:] == ["mine"] * 8
    assert p.w.about["suggested"] == {"column": "suggested_", "label": "suggested"}
    assert view["suggested_"].htype == ds["suggested"].htype
    p.w.selected = [0]
    assert view["suggested"][0] == 1
    p.asks("stage", edits=[{"positions": "selected", "column": "suggested", "op": "take",
                            "value": "suggested_"}])  # fmt: skip
    p.w.commit("mended")
    assert ds["suggested"][:].tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


def test_ranking_is_queried_by_its_own_columns(make_lake):
    ds = make_lake(
        {"k": "text", "e": dl.Embedding(2)}, k=["a", "b", "a"], e=[[0, 1], [1, 0], [1, 0]]
    )
    suspects = ds.suspects("k", neighbours=1)
    ranked = suspects.query("SELECT * WHERE suspicion > 0.5")
    assert 0 < len(ranked) == (suspects["suspicion"][:] > 0.5).sum()
    assert len(ranked.query("SELECT * WHERE suspicion > 0.5")) == len(ranked)
