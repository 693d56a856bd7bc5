"""Sampled, expanded or reordered rows are filtered and sorted as they appear there."""

import pytest

import deeplake_lite as dl

CLAUSES = [
    "SAMPLE BY MAX_WEIGHT(label = 'b': 2, True: 1) LIMIT 6",
    "SAMPLE BY 1 REPLACE LIMIT 12",
    "EXPAND BY 1, 1",
    "ARRANGE BY label",
]


@pytest.fixture
def shown(make_lake, page):
    schema = {"label": dl.ClassLabel(["a", "b"]), "n": "int32"}
    return page(make_lake(schema, label=[i % 2 for i in range(10)], n=range(10)))


def rows(shown):
    view = shown.w.view
    return list(zip(view["n"][:].tolist(), view["label"][:].tolist(), strict=True))


@pytest.mark.parametrize("clause", CLAUSES)
def test_rows_from_a_final_clause_are_filtered_without_running_it_again(shown, clause):
    shown.w.query = f"SELECT * WHERE n < 8 {clause}"
    before = rows(shown)
    choice = {"expression": "label", "kind": "classes", "values": ["b"]}
    shown.asks("filter", op="toggle", **choice)
    assert rows(shown) == [row for row in before if row[1] == 1]
    [label] = shown.asks("facets", columns=["label"])["facets"]
    assert label["chosen"] == ["b"]
    expected = {"positions": [0], "column": "label", "op": "set", "value": 0}
    shown.asks("stage", edits=[expected])
    shown.w.discard()
    shown.asks("filter", op="clear", **choice)
    assert rows(shown) == before


@pytest.mark.parametrize("clause", CLAUSES)
def test_rows_from_a_final_clause_are_sorted_without_running_it_again(shown, clause):
    shown.w.query = f"SELECT * WHERE n < 8 {clause}"
    before = rows(shown)
    shown.asks("sort", expression="n", descending=True)
    assert rows(shown) == sorted(before, reverse=True)
    shown.asks("sort", expression=None)
    assert rows(shown) == before
