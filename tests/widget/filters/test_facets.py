"""Facet counts, over all rows and over the answer."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.widget.filters import facets as facets_module

INJECTED = "<img src=x onerror=alert(1)>"


@pytest.fixture
def ds(make_lake):
    schema = {
        "label": dl.ClassLabel(["rose", "it's", INJECTED], nullable=True),
        "tags": dl.ClassLabel(["a", "b"], multiple=True),
        "flag": "bool",
        "x": dl.Scalar("float64", nullable=True),
        "n": "int32",
        "t": "datetime64[s]",
        "note": "text",
        "words": dl.Sequence("text"),
        "image": "image",
        'odd "name"': "int32",
    }
    return make_lake(
        schema,
        label=["rose", "it's", None, INJECTED, "rose", "rose"],
        tags=[["a"], ["a", "b"], [], ["b"], [], []],
        flag=[True, False] * 3,
        x=[1.0, 2.0, None, np.nan, np.inf, 6.0],
        n=range(6),
        t=[f"2026-01-0{i}T12:00:00" for i in range(1, 7)],
        note=["a", "bb", "bb", "", "a", "a"],
        words=[["u", "v"], ["u"], [], [], [], []],
        image=[np.zeros((9 + i, 8, 3), "uint8") for i in range(6)],
        **{'odd "name"': [1, 1, 2, 2, 2, 2]},
    )


def by_expression(reply):
    return {facet["expression"]: facet for facet in reply["facets"]}


def test_rows_are_counted_by_class_in_all_and_in_the_answer(ds, page):
    p = page(ds)
    p.w.query = "SELECT * WHERE n < 3"
    label = by_expression(p.asks("facets", columns=None))["label"]
    assert label["values"] == [
        ["rose", "rose", 3, 1],
        ["it's", "it's", 1, 1],
        [INJECTED, INJECTED, 1, 0],
    ]
    assert label["nulls"] == [1, 1]
    assert label["chosen"] is None


def test_everything_countable_is_counted(ds, page):
    facets = by_expression(page(ds).asks("facets", columns=None))
    assert not [f for f in facets.values() if "problem" in f]
    assert facets["tags"]["values"] == [["a", "a", 2, 2], ["b", "b", 2, 2]]
    assert facets["words"]["values"] == [["u", "u", 2, 2], ["v", "v", 1, 1]]
    assert facets["flag"]["values"] == [[False, "False", 3, 3], [True, "True", 3, 3]]
    assert facets["note"]["values"][0] == ["a", "a", 3, 3]
    assert facets["LEN(note)"]["edges"] == [0, 1, 2, 3]
    assert facets["LEN(note)"]["all"] == [1, 3, 2]
    assert facets["SHAPE(image)[0]"]["all"] == [1] * 6
    assert (facets["x"]["nulls"], facets["x"]["rows"]) == ([3, 3], 6)
    assert sum(facets["x"]["all"]) == 3
    assert facets["t"]["edges"][0] == "2026-01-01T12:00:00"
    assert sum(facets["t"]["all"]) == 6
    assert facets['"odd ""name"""']["all"] == [2, 4]


@pytest.mark.parametrize(
    ("expression", "values", "rows"),
    [
        ("label", [INJECTED, None], 2),
        ("label", ["it's"], 1),
        ("tags", ["a"], 2),
        ("words", ["u"], 2),
        ("flag", [True], 3),
        ("note", [""], 1),
        ("x", [1, 3], 2),
        ("LEN(note)", [1, 2], 3),
        ("SHAPE(image)[0]", [10, 12], 2),
        ("t", ["2026-01-02T12:00:00", "2026-01-04T12:00:00"], 2),
        ('"odd ""name"""', [2, 3], 4),
    ],
)
def test_facet_choice_filters_and_is_returned_as_chosen(ds, page, expression, values, rows):
    p = page(ds)
    kind = by_expression(p.asks("facets", columns=None))[expression]["kind"]
    reply = p.asks("filter", expression=expression, kind=kind, op="set", values=values)
    assert reply["rows"] == rows
    assert reply["query"] == p.w.query
    assert by_expression(p.asks("facets", columns=None))[expression]["chosen"] == values
    assert p.asks("filter", expression=expression, kind=kind, op="clear", values=[])["query"] == ""


def test_selection_stays_with_its_rows_under_a_filter(ds, page):
    p = page(ds)
    p.w.selected = [1, 3, 5]
    p.asks("filter", expression="flag", kind="booleans", op="set", values=[False])
    assert p.w.view["n"][p.w.selected].tolist() == [1, 3, 5]


def test_columns_omitted_by_a_query_are_still_counted(ds, page):
    p = page(ds)
    p.w.query = "SELECT n, n * 2 AS double WHERE n > 3"
    label = by_expression(p.asks("facets", columns=["label"]))["label"]
    assert label["values"][0] == ["rose", "rose", 3, 2]
    reply = p.asks("filter", expression="label", kind="classes", op="set", values=["rose"])
    assert reply["query"] == "SELECT n, n * 2 AS double WHERE n > 3 AND label = 'rose'"
    assert reply["rows"] == 2


def test_groups_are_counted_by_their_own_columns(ds, page):
    p = page(ds)
    p.w.query = "SELECT label, COUNT(*) AS many GROUP BY label"
    facets = by_expression(p.asks("facets", columns=None))
    assert list(facets) == ["label", "many"]
    reply = p.asks("filter", expression="many", kind="numbers", op="set", values=[2, None])
    assert reply["rows"] == 1
    facets = by_expression(p.asks("facets", columns=None))
    assert sum(row[2] for row in facets["label"]["values"]) == 3
    assert sum(row[3] for row in facets["label"]["values"]) == 1
    reply = p.asks("filter", expression="many", kind="numbers", op="clear", values=[])
    assert reply["query"] == "SELECT label, COUNT(*) AS many GROUP BY label"


def test_grid_is_sorted_through_the_query(ds, page):
    p = page(ds)
    reply = p.asks("sort", expression="n", descending=True)
    assert reply["query"] == "SELECT * ORDER BY n DESC"
    assert p.w.view["n"][:].tolist() == [5, 4, 3, 2, 1, 0]
    assert p.w.state["order"] == {"expression": "n", "descending": True}
    assert p.asks("sort", expression=None)["query"] == ""


def test_total_counts_follow_a_refresh(ds, page):
    p = page(ds)
    assert by_expression(p.asks("facets", columns=["n"]))["n"]["all"] == [1] * 6
    ds.delete([5])
    ds.commit("one less")
    p.w.refresh()
    assert by_expression(p.asks("facets", columns=["n"]))["n"]["all"] == [1] * 5


def test_no_rows_have_no_counts(make_lake, page):
    p = page(make_lake({"label": dl.ClassLabel(["a"]), "x": "int32", "t": "text"}))
    facets = by_expression(p.asks("facets", columns=None))
    assert facets["label"]["values"] == []
    assert facets["x"]["edges"] == []


def test_rows_of_a_saved_view_are_counted_against_all(ds, page):
    ds[[0, 4]].save("two")
    p = page(ds)
    p.asks("show_view", name="two")
    label = by_expression(p.asks("facets", columns=["label"]))["label"]
    assert label["values"][0] == ["rose", "rose", 3, 2]


def test_mostly_distinct_strings_are_counted_only_by_the_query_engine(make_lake, page, monkeypatch):
    note = [None, *(f"note {i}" for i in range(300))]
    shown = page(make_lake({"note": dl.Text(nullable=True)}, note=note))
    monkeypatch.setattr(facets_module, "value_counts", lambda *_: 1 / 0)
    shown.asks("query", text="SELECT * WHERE LEN(note) > 3")
    values, _ = shown.asks("facets", columns=["note"])["facets"]
    assert (values["values"], values["more"], values["nulls"]) == ([], 300, [1, 0])


def test_constant_columns_come_last(make_lake, page):
    pictures = [np.zeros((8, 6, 3), "uint8")] * 3
    ds = make_lake(
        {"image": "image", "x": "int32", "label": dl.ClassLabel(["a"])},
        image=pictures,
        x=[1, 2, 3],
        label=["a"] * 3,
    )
    reply, _ = page(ds).ask("facets")
    labels = [facet["label"] for facet in reply["facets"]]
    assert labels == ["x", "label", "width of image", "height of image"]


RENAMED = [
    "SELECT n AS x, label",
    "SELECT x AS n, n AS x",
    "SELECT n * 2 AS n",
    "SELECT n * 2 AS x, label AS n",
    "SELECT * EXCLUDE (n), x AS n",
    "SELECT *, n AS m",
    "SELECT n AS m",
    "SELECT label",
    "SELECT CASE WHEN n > 2 THEN 'a' ELSE 'b' END AS label, n",
    "SELECT LEN(note) AS t, x",
    "SELECT DISTINCT label, n",
    "SELECT label, COUNT(*) AS n GROUP BY label",
    "SELECT label ORDER BY n LIMIT 4",
    "SELECT * LIMIT 4",
    "SELECT a.n AS x, b.n AS n FROM dataset a JOIN dataset b ON a.flag = b.flag",
    "SELECT n AS x, label WHERE n > 1",
    "SELECT n + 1 AS n UNION ALL SELECT n",
]


@pytest.mark.parametrize("query", RENAMED)
def test_bar_counts_what_its_filter_finds_whatever_a_name_means(query, ds, page):
    p = page(ds)
    p.w.query = query
    facets = p.asks("facets", columns=None)["facets"]
    assert facets
    for facet in facets:
        if "edges" in facet:
            bars = zip(pairwise(facet["edges"]), facet["shown"], strict=True)
        else:
            bars = (([value], rows) for value, _, _, rows in facet["values"])
        for values, rows in bars:
            p.w.query = query
            head = {"expression": facet["expression"], "kind": facet["kind"]}
            result = p.asks("filter", **head, op="set", values=list(values))
            assert result["rows"] == rows, (facet["label"], values, p.w.query)


@pytest.mark.parametrize(
    ("typed", "expression", "kind", "value", "rows"),
    [
        ("CONTAINS(note, 'blur')", "note", "classes", "sharp", 0),
        ("CONTAINS(t, 'a') AND CONTAINS(t, 'b')", "t", "tags", "c", 1),
        ("label < 'b'", "label", "classes", "b", 0),
    ],
)
def test_bar_filters_the_rows_of_the_typed_query(
    make_lake, page, typed, expression, kind, value, rows
):
    lake = make_lake(
        {"note": "text", "t": dl.Sequence("text"), "label": dl.ClassLabel(["a", "b"])},
        note=["blur", "blurry", "sharp"],
        t=[["a", "b"], ["a", "b", "c"], ["c"]],
        label=["a", "b", "a"],
    )
    shown = page(lake)
    shown.w.query = f"SELECT * WHERE {typed}"
    shown.asks("filter", expression=expression, kind=kind, op="toggle", values=[value])
    assert len(shown.w.view) == rows
    [facet] = [
        f
        for f in shown.asks("facets", columns=[expression])["facets"]
        if f["expression"] == expression
    ]
    assert facet["chosen"] == [value]
    shown.asks("filter", expression=expression, kind=kind, op="toggle", values=[value])
    assert shown.w.query == f"SELECT * WHERE {typed}"


def test_remainder_next_to_a_chart_is_labelled(make_lake, page):
    far = [np.datetime64(n, "s") for n in (2**62, -(2**62))]
    ds = make_lake(
        {
            "x": dl.Scalar("float64", nullable=True),
            "single": dl.Scalar("float32", nullable=True),
            "whole": dl.Scalar("int64", nullable=True),
            "when": dl.Scalar("datetime64[s]", nullable=True),
            "none": dl.Scalar("float32", nullable=True),
        },
        x=[1.5, None, np.nan, np.inf, 1e305, -1.7e308],
        single=[1.5, None, np.nan, -np.inf, 3.4e38, 0],
        whole=[2**63 - 1, -(2**63), None, None, 0, 1],
        when=[None, "2020-01-01", "2021-01-01", *far, "0001-01-01"],
        none=[None, None, None, None, np.nan, None],
    )
    facets = {f["column"]: f for f in page(ds).asks("facets", columns=None)["facets"]}
    assert {name: f["beside"] for name, f in facets.items()} == {
        "x": [(1, "null"), (2, "NaN or infinite"), (2, "beyond ±1e300")],
        "single": [(1, "null"), (2, "NaN or infinite")],
        "whole": [(2, "null")],
        "when": [(1, "null"), (2, "beyond the years ±200,000")],
        "none": [(5, "null"), (1, "NaN or infinite")],
    }
    for facet in facets.values():
        assert sum(count for count, _ in facet["beside"]) == facet["nulls"][0]
        assert sum(facet["all"]) + facet["nulls"][0] == 6


def test_charts_never_show_our_internal_queries(make_lake, page):
    ds = make_lake(
        {"c": "complex64", "t": "datetime64[ns]", "d": "timedelta64[s]", "b": "bytes", "j": "json"},
        c=[1j, 2], t=[np.datetime64(2**63 - 1, "ns"), np.datetime64(5, "ns")], d=["1 s", "2 s"],
        b=[b"", b"a"], j=[{}, []],
    )  # fmt: skip
    [facet] = page(ds).asks("facets", columns=None)["facets"]
    assert facet["column"] == "t"
    assert facet["problem"] == (
        "These times cannot be counted, because one of them is at the limit of its unit."
    )


def test_brush_keeps_a_typed_condition(make_lake, page):
    p = page(make_lake({"i": "int32"}, i=range(10)))
    p.w.query = "SELECT * WHERE i > 4"
    reply = p.asks("filter", expression="i", kind="numbers", op="set", values=[2, 7])
    assert (reply["query"], reply["rows"]) == ("SELECT * WHERE i > 4 AND i >= 2 AND i < 7", 2)
    reply = p.asks("filter", expression="i", kind="numbers", op="set", values=[5, 6])
    assert reply["query"] == "SELECT * WHERE i > 4 AND i >= 5 AND i < 6"
    reply = p.asks("filter", expression="i", kind="numbers", op="clear", values=[])
    assert reply["query"] == "SELECT * WHERE i > 4"
