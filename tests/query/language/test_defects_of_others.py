"""Queries that Deep Lake 4.7.4 refuses, crashes on or answers wrongly are answered here."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl

from .. import data
from ..case_files import same, values_of

SCALARS = {
    "COUNT(*)": 60,
    "COUNT(id)": 60,
    "MIN(id)": 0,
    "MAX(id)": 59,
    "MEAN(id)": 29.5,
    "STD(id)": np.std(np.arange(60), ddof=1),
    "MEDIAN(id)": 29.5,
}
PER_ROW = {
    "LOWER(text)": lambda r: r.text.lower(),
    "LENGTH(text)": lambda r: len(r.text),
    "ROUND(score)": lambda r: None if r.score is None else float(np.floor(abs(r.score) + 0.5)),
    "EXP(id / 10)": lambda r: np.exp(r.id / 10),
    "POW(id, 2)": lambda r: float(r.id**2),
    "ISNAN(value)": lambda r: bool(np.isnan(r.value)),
    "IOU(boxes, boxes)": lambda _: 1.0,
    "CROP(image, [1, 1, 4, 3])": lambda r: r.image[1:3, 1:4],
    "NORMALIZE(grid, [0, 2])": lambda r: r.grid / 2,
    "TRANSPOSE(grid)": lambda r: r.grid.T,
    "RESHAPE(grid, [2, 6])": lambda r: r.grid.reshape(2, 6),
    "CLIP(grid, 0, 1)": lambda r: r.grid.clip(0, 1),
    "SORT(emb)": lambda r: np.sort(r.emb),
    "ARGMAX(emb)": lambda r: int(r.emb.argmax()),
    "LOGICAL_NOT(grid > 0)": lambda r: ~(r.grid > 0),
}  # fmt: skip


def column(view: dl.View, name: str = "x") -> list:
    return values_of(view)[name]


@pytest.mark.parametrize("text", SCALARS)
def test_aggregates_exist(ds, text):
    assert same(column(ds.query(f"SELECT {text} AS x")), [SCALARS[text]])


@pytest.mark.parametrize("text", PER_ROW)
def test_functions_exist(ds, text):
    expected = [PER_ROW[text](r) for r in data.rows()]
    assert same(column(ds.query(f"SELECT {text} AS x")), expected)


def test_unknown_names_give_an_error_and_do_not_crash_the_kernel(ds):
    with pytest.raises(dl.NotFoundError, match="SAMPLE_INFO"):
        ds.query("SELECT SAMPLE_INFO(emb)")


def test_distinct_is_not_ignored(ds):
    assert sorted(column(ds.query("SELECT DISTINCT label"), "label")) == ["bird", "cat", "dog"]


def test_in_a_subquery_finds_its_rows(ds):
    assert column(ds.query("SELECT id WHERE id IN (SELECT id WHERE id < 3)"), "id") == [0, 1, 2]


def test_union_all_keeps_duplicates(ds):
    part = "(SELECT id WHERE id < 4)"
    assert len(ds.query(f"{part} UNION ALL {part}")) == 8


def test_comma_in_from_is_a_cross_product(ds):
    assert len(ds.query("SELECT a.id FROM dataset AS a, dataset AS b")) == 3_600


def test_cross_join_needs_no_condition(ds):
    assert len(ds.query("SELECT a.id FROM dataset AS a CROSS JOIN dataset AS b")) == 3_600


def test_join_supports_more_than_equality(ds):
    result = ds.query("SELECT a.id FROM dataset AS a JOIN dataset AS b ON a.id < b.id")
    assert len(result) == 60 * 59 / 2


def test_aliases_are_known_in_order_by_and_where(ds):
    result = ds.query("SELECT id, id * 3 AS t WHERE t > 160 ORDER BY t DESC")
    assert column(result, "t") == [177, 174, 171, 168, 165, 162]


def test_limit_accepts_a_percentage(ds):
    assert len(ds.query("SELECT * LIMIT 10 PERCENT")) == 6
    assert len(ds.query("SELECT * LIMIT 0.1 PERCENT")) == 0


def test_sample_by_accepts_a_share_of_the_rows(ds):
    result = ds.query("SELECT * SAMPLE BY 0.5 LIMIT 10 PERCENT")
    assert len(set(column(result, "id"))) == 6


def test_equality_of_strings_can_be_named(ds):
    expected = [r.id for r in data.rows() if r.text == "fox"]
    assert column(ds.query("SELECT id WHERE EQUALS(text, 'fox')"), "id") == expected


def test_expand_by_expands(ds):
    assert column(ds.query("SELECT id WHERE id = 9 EXPAND BY 2, 2"), "id") == [7, 8, 9, 10, 11]
    assert column(ds.query("SELECT id WHERE id = 9 EXPAND BY 2 2"), "id") == [7, 8, 9, 10, 11]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("WITH q AS (SELECT id WHERE id < 2) SELECT id AS x FROM q", [0, 1]),
        ("SELECT CASE WHEN id = 0 THEN 'a' ELSE 'b' END AS x LIMIT 2", ["a", "b"]),
        ("SELECT CAST(id AS TEXT) AS x LIMIT 2", ["0", "1"]),
        ("SELECT id ^ 2 AS x LIMIT 3", [0.0, 1.0, 4.0]),
        ("SELECT text || '!' AS x LIMIT 1", ["a cat!"]),
        ("SELECT id AS x WHERE EXISTS (SELECT 1 WHERE id = 5) LIMIT 1", [0]),
        ("SELECT EXTRACT(YEAR FROM time) AS x LIMIT 1", [2024]),
        ("SELECT id AS x WHERE time < DATE '2024-01-01' + INTERVAL 8 DAY", [0, 1]),
    ],
)
def test_documented_grammar_works(ds, text, wanted):
    assert same(column(ds.query(text)), wanted)


def test_json_is_accessed_to_any_depth(ds):
    assert column(ds.query("SELECT meta['b']['c'][0] AS x")) == list(range(60))


def test_boxes_accept_negative_indices(ds):
    result = column(ds.query("SELECT boxes[-1] AS x WHERE SHAPE(boxes)[0] > 0"))
    assert same(result, [r.boxes[-1] for r in data.rows() if len(r.boxes)])


def test_row_changed_on_both_sides_is_a_merge_conflict(make_lake):
    ds = make_lake({"a": "int32"}, a=[1, 2])
    ds.branch("other")
    other = dl.open(ds.url, branch="other")
    other["a"][0] = 10
    other.commit("theirs")
    ds["a"][0] = 20
    ds.commit("ours")
    with pytest.raises(dl.ConflictError):
        ds.merge("other")


def test_two_writers_of_one_row_conflict(make_lake):
    ds = make_lake({"a": "int32"}, a=[1, 2])
    other = dl.open(ds.url)
    other["a"][0] = 10
    other.commit("theirs")
    ds["a"][0] = 20
    with pytest.raises(dl.ConflictError):
        ds.commit("ours")


def test_calls_can_be_chained(ds):
    assert dl.open(ds.url)["id"][:].tolist() == list(range(60))
    assert dl.open(ds.url).query("SELECT id")["id"][:].tolist() == list(range(60))


def test_notebook_shows_html(ds):
    assert "60 rows" in ds._repr_html_()
    shown = ds.query("SELECT id, image, MEAN(grid) AS m LIMIT 3")._repr_html_()
    assert "3 rows" in shown
    assert shown.count("<img") == 3


def test_zero_vector_does_not_break_the_order_after_a_delete(make_lake):
    ds = make_lake({"e": dl.Embedding(2)}, e=[[0, 0], [1, 0], [0, 1], [1, 1]])
    ds.delete([1])
    result = ds.query("SELECT e ORDER BY COSINE_SIMILARITY(e, [0, 1]) DESC")
    assert result["e"][:].tolist() == [[0, 1], [1, 1], [0, 0]]


def test_nothing_is_lost_after_a_delete(make_lake):
    ds = make_lake({"a": "int32"}, a=list(range(10)))
    ds.delete([0, 3])
    assert ds.query("SELECT a WHERE a > 2")["a"][:].tolist() == [4, 5, 6, 7, 8, 9]


def test_view_can_be_sampled(ds):
    result = ds[10:20].query("SELECT id SAMPLE BY 1 LIMIT 4 SEED 1")
    assert set(column(result, "id")) <= set(range(10, 20))
    assert len(result) == 4
