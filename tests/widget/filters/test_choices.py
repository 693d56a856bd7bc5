"""Filter choices are added to the query string without changing what the reader wrote."""

from __future__ import annotations

import pytest

from deeplake_lite.errors import LakeError
from deeplake_lite.widget.filters.choices import choice_of, filter_query, order_of, sort_query

COLUMNS = ["label", "x", "y", "s", 'a "b"']


def choose(text, expression="label", kind="classes", op="set", values=("a",), **more):
    return filter_query(text, expression, kind, op, list(values), columns=COLUMNS, **more)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "SELECT * WHERE label = 'a'"),
        ("SELECT x, y", "SELECT x, y WHERE label = 'a'"),
        ("SELECT * WHERE x > 1 OR y", "SELECT * WHERE (x > 1 OR y) AND label = 'a'"),
        ("SELECT * WHERE label = 'b'", "SELECT * WHERE label = 'a'"),
        (
            "SELECT * WHERE x > 1 AND label IN ('b', 'c') AND y < 2 ORDER BY x",
            "SELECT * WHERE x > 1 AND label = 'a' AND y < 2 ORDER BY x",
        ),
        (
            "SELECT * WHERE label = s AND (label = 'b' OR label IS NULL)",
            "SELECT * WHERE label = s AND label = 'a'",
        ),
        ("SELECT * WHERE ds.\"label\" = 'b'", "SELECT * WHERE label = 'a'"),
        ("SELECT * LIMIT 3", "SELECT * FROM (SELECT * LIMIT 3) WHERE label = 'a'"),
        (
            "SELECT * FROM (SELECT * LIMIT 3) WHERE label = 'b' ORDER BY x",
            "SELECT * FROM (SELECT * LIMIT 3) WHERE label = 'a' ORDER BY x",
        ),
        (
            "SELECT label, COUNT(*) AS n GROUP BY label",
            "SELECT * FROM (SELECT label, COUNT(*) AS n GROUP BY label) WHERE label = 'a'",
        ),
        (
            "SELECT x AS label UNION SELECT y",
            "SELECT * FROM (SELECT x AS label UNION SELECT y) WHERE label = 'a'",
        ),
        ("SELECT y AS label", "SELECT * FROM (SELECT y AS label) WHERE label = 'a'"),
        ("SELECT * EXPAND BY 1, 1", "SELECT * FROM (SELECT * EXPAND BY 1, 1) WHERE label = 'a'"),
        ("SELECT * -- all\nWHERE x > 1", "SELECT * -- all\n WHERE x > 1 AND label = 'a'"),
        (
            "SELECT * WHERE x > 1 -- large\nAND y",
            "SELECT * WHERE x > 1 AND y AND label = 'a'",
        ),
        ("SELECT * LIMIT 3 -- few", "SELECT * FROM (SELECT * LIMIT 3 -- few\n) WHERE label = 'a'"),
        (
            "SELECT * WHERE x BETWEEN 1 AND 2 AND CASE WHEN x AND y THEN s END = 'label'",
            (
                "SELECT * WHERE x BETWEEN 1 AND 2 AND CASE WHEN x AND y THEN s END = 'label' "
                "AND label = 'a'"
            ),
        ),
    ],
)
def test_choice_is_combined_with_what_is_written(text, expected):
    assert choose(text) == expected
    assert choice_of(expected, "label", "classes") == ["a"]


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("SELECT * WHERE label = 'a'", ""),
        ("SELECT x WHERE label = 'a'", "SELECT x"),
        ("SELECT * WHERE label = 'a' AND f(x)", "SELECT * WHERE f(x)"),
        ("SELECT * FROM (SELECT * LIMIT 3) WHERE label = 'a'", "SELECT * LIMIT 3"),
        (
            "SELECT * FROM (SELECT * LIMIT 3) WHERE label = 'a' AND ANY(x)",
            "SELECT * FROM (SELECT * LIMIT 3) WHERE ANY(x)",
        ),
        ("SELECT * LIMIT 3", "SELECT * LIMIT 3"),
        ("", ""),
    ],
)
def test_clearing_a_choice_leaves_the_rest(text, left):
    assert choose(text, op="clear", values=()) == left


def test_values_including_null_can_be_toggled():
    text = choose("", op="toggle", values=["it's <b>"])
    assert text == "SELECT * WHERE label = 'it''s <b>'"
    text = choose(text, op="toggle", values=[None])
    assert text == "SELECT * WHERE (label = 'it''s <b>' OR label IS NULL)"
    assert choice_of(text, "label", "classes") == ["it's <b>", None]
    assert choose(text, op="toggle", values=["it's <b>", None]) == ""


def test_ranges_are_set_read_and_cleared():
    e = 'LEN("a ""b""")'
    text = choose("SELECT * WHERE x", e, "numbers", values=[10, 20.5])
    assert text == f"SELECT * WHERE x AND {e} >= 10 AND {e} < 20.5"
    assert choice_of(text, e, "numbers") == [10, 20.5]
    text = choose(text, e, "numbers", values=[-3, None])
    assert text == f"SELECT * WHERE x AND {e} >= -3"
    assert choice_of(text, e, "numbers") == [-3, None]
    assert choose(text, e, "numbers", op="clear") == "SELECT * WHERE x"
    assert choice_of("SELECT * WHERE x BETWEEN 2 AND 3", "x", "numbers") is None


def test_computed_rows_become_a_source():
    text = choose("SELECT MAX(x) AS label", as_rows=False)
    assert text == "SELECT * FROM (SELECT MAX(x) AS label) WHERE label = 'a'"


def test_invalid_choice_is_refused():
    with pytest.raises(LakeError, match="two ends"):
        choose("", kind="numbers", values=[1])
    with pytest.raises(LakeError, match="'set', 'toggle' or 'clear'"):
        choose("", op="add")
    with pytest.raises(LakeError, match="must be a string"):
        choose("", values=[["a"]])


@pytest.mark.parametrize("expression", ["label) OR (1 = 1", "x = 1 OR y = 2", "1; SELECT 2"])
def test_more_than_an_expression_is_refused(expression):
    with pytest.raises(LakeError):
        choose("", expression)


def test_orders_are_set_read_and_cleared():
    text = sort_query("SELECT * WHERE x ORDER BY y LIMIT 3", "s", descending=True)
    assert text == "SELECT * FROM (SELECT * WHERE x ORDER BY y LIMIT 3) ORDER BY s DESC"
    assert order_of(text) == {"expression": "s", "descending": True}
    assert sort_query(text, None) == "SELECT * WHERE x ORDER BY y LIMIT 3"
    assert sort_query("SELECT * ORDER BY y", "x") == "SELECT * ORDER BY x"
    assert order_of("SELECT * ORDER BY x, y") is None
    assert order_of("") is None


THEIRS = [
    ("note", "classes", ["sharp"], "CONTAINS(note, 'blur')"),
    ("note", "classes", ["sharp"], "note LIKE 'blur%'"),
    ("note", "classes", ["sharp"], "note >= 'b'"),
    ("label", "classes", ["a"], "label < 'b'"),
    ("label", "classes", ["a"], "label BETWEEN 'a' AND 'b'"),
    ("label", "classes", ["a", None], "label <> 'b'"),
    ("label", "classes", ["a"], "NOT label = 'b'"),
    ("label", "classes", ["a"], "label NOT IN ('b', 'c')"),
    ("label", "classes", ["a"], "label IS NOT NULL"),
    ("label", "classes", ["a"], "label IN ('a', 'b') AND label IN ('b', 'c')"),
    ("label", "classes", ["a"], "label IN ('a', 'b') AND label = 'a'"),
    ("label", "classes", ["a"], "(label = 'b' AND label = 'c')"),
    ("label", "classes", ["a"], "(label = 'b' OR label > 'c')"),
    ("label", "classes", ["a"], "label = 'b' OR x = 1"),
    ("ok", "booleans", [True], "ok"),
    ("t", "tags", ["c"], "CONTAINS(t, 'a') AND CONTAINS(t, 'b')"),
    ("t", "tags", ["c", None], "CONTAINS(t, 'a') AND CONTAINS(t, 'b')"),
    ("t", "tags", ["c"], "(CONTAINS(t, 'a') AND CONTAINS(t, 'b'))"),
    ("t", "tags", ["c"], "NOT CONTAINS(t, 'a')"),
    ("t", "tags", ["c"], "LEN(t) > 1"),
    ("x", "numbers", [1, 5], "x = 3"),
    ("x", "numbers", [1, 5], "x IN (1, 2)"),
    ("x", "numbers", [1, 5], "x IS NULL"),
    ("x", "numbers", [1, 5], "x < 2 OR x > 8"),
    ("x", "numbers", [1, None], "x > 2 AND x > 3"),
    ("x", "numbers", [2, 4], "x > 4"),
    ("x", "numbers", [2, 4], "x <= 4"),
    ("x", "numbers", [2, 4], "(x > -2 AND x <= 3.5)"),
    ("x", "numbers", [2, 4], "x BETWEEN 2 AND 3"),
    ("s", "times", ["2026-01-01", None], "s > '2026-01-02'"),
    ("x", "numbers", [1, 5], "x BETWEEN 0 AND 3 AND x > 1"),
    ("x", "numbers", [1, 5], "x <> 3"),
    ("x", "numbers", [1, 5], "x < '3'"),
    ("s", "times", ["2026-01-01", None], "s < 3"),
    ("s", "times", ["2026-01-01", None], "s = '2026-01-02'"),
]
"""Filters on a facet's expression that a reader may write and no facet does."""


@pytest.mark.parametrize(("expression", "kind", "values", "typed"), THEIRS)
def test_handwritten_condition_stays_and_the_choice_is_added(expression, kind, values, typed):
    text = f"SELECT * WHERE {typed}"
    assert choice_of(text, expression, kind) is None
    kept = f"({typed})" if " OR " in typed and typed[0] != "(" else typed
    for op in ("set", "toggle"):
        result = choose(text, expression, kind, op, values)
        assert result.startswith(f"SELECT * WHERE {kept} AND ")
        assert choice_of(result, expression, kind) == values
        assert choose(result, expression, kind, op, values) in (result, f"SELECT * WHERE {kept}")
        back = choose(result, expression, kind, "clear", [])
        assert back == f"SELECT * WHERE {kept}"
    assert choose(text, expression, kind, "clear", []) == text


OWN = [
    ("label", "classes", ["b"], "label = 'b'"),
    ("label", "classes", ["b"], "(label = 'b')"),
    ("label", "classes", ["b", "c", None], "(label IN ('b', 'c') OR label IS NULL)"),
    ("label", "classes", [None], "label IS NULL"),
    ("t", "tags", ["b"], "CONTAINS(t, 'b')"),
    ("t", "tags", ["b", "c", None], "(CONTAINS(t, 'b') OR (CONTAINS(t, 'c') OR t IS NULL))"),
    ("ok", "booleans", [False], "ok = FALSE"),
    ("x", "numbers", [-2, 3.5], "x >= -2 AND x < 3.5"),
    ("x", "numbers", [-2, 3.5], "(x >= -2 AND x < 3.5)"),
    ("x", "numbers", [None, 3], "x < 3"),
    ("s", "times", ["2026-01-01", None], "s >= '2026-01-01'"),
]


@pytest.mark.parametrize(("expression", "kind", "values", "typed"), OWN)
def test_condition_in_facet_form_is_its_choice(expression, kind, values, typed):
    text = f"SELECT * WHERE y > 1 AND {typed} AND y < 9"
    assert choice_of(text, expression, kind) == values
    assert choose(text, expression, kind, "clear", []) == "SELECT * WHERE y > 1 AND y < 9"
    others = {"classes": ["tags", "numbers"], "numbers": ["classes", "tags"]}
    for other in others.get(kind, ["numbers"]):
        if None not in values or kind in ("numbers", "times"):
            assert choice_of(text, expression, other) is None


def test_values_are_added_to_the_choice_next_to_similar_conditions():
    text = "SELECT * WHERE CONTAINS(t, 'a') AND CONTAINS(t, 'b')"
    text = choose(text, "t", "tags", "toggle", ["c"])
    text = choose(text, "t", "tags", "toggle", ["d"])
    assert choice_of(text, "t", "tags") == ["c", "d"]
    text = choose(text, "t", "tags", "toggle", ["c"])
    assert choice_of(text, "t", "tags") == ["d"]
    text = choose(text, "t", "tags", "toggle", ["d"])
    assert text == "SELECT * WHERE CONTAINS(t, 'a') AND CONTAINS(t, 'b')"
