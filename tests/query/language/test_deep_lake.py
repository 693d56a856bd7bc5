"""Queries of Deep Lake's documentation give an answer, or an error with an alternative."""

from __future__ import annotations

import numpy as np
import pytest

from deeplake_lite.errors import LakeError, QueryError, QuerySyntaxError, QueryTypeError

from .. import data
from ..case_files import values_of

WEIGHTS = "label == 'cat': 10, id > 30: 2.5, SHAPE(image)[0] > 8: 1"


def weights_of(r) -> list[float]:
    held = [(r.label == "cat", 10), (r.id > 30, 2.5), (r.image.shape[0] > 8, 1)]
    return [weight for holds, weight in held if holds]


@pytest.mark.parametrize("name", ["max_weight", "sum_weight"])
def test_weight_is_the_maximum_or_sum_of_the_conditions_that_hold(ds, name):
    result = ds.query(f"SELECT {name}({WEIGHTS}) AS w")["w"][:]
    expected = [(max if name == "max_weight" else sum)([*weights_of(r), 0]) for r in data.rows()]
    np.testing.assert_array_equal(np.asarray(result, float), expected)


@pytest.mark.parametrize("name", ["max_weight", "SUM_WEIGHT"])
@pytest.mark.parametrize("replace", ["", "replace True", "REPLACE FALSE"])
@pytest.mark.parametrize("limit", ["", "limit 200"])
def test_samples_are_drawn_by_weights_of_conditions(ds, name, replace, limit):
    text = f"SELECT id SAMPLE BY {name}(label = 'cat': 1, label = 'bird': 0) {replace} {limit}"
    result = ds.query(text)["id"][:]
    cats = [r.id for r in data.rows() if r.label == "cat"]
    assert set(result) <= set(cats)
    if replace == "replace True":
        assert len(result) == (200 if limit else len(ds))
    else:
        assert sorted(result) == cats


@pytest.mark.parametrize("weights", ["3", "", "flag: 2, 3", "flag:", ": 2"])
def test_weight_needs_a_condition(ds, weights):
    with pytest.raises(QuerySyntaxError, match="Expected condition: weight"):
        ds.query(f"SELECT id SAMPLE BY max_weight({weights})")


def test_all_of_no_elements_is_true_and_all_strict_is_false(ds):
    every = ds.query("SELECT id WHERE ALL(boxes > 0)")["id"][:]
    strict = ds.query("SELECT id WHERE ALL_STRICT(boxes > 0)")["id"][:]
    assert list(every) == [r.id for r in data.rows() if (r.boxes > 0).all()]
    assert list(strict) == [r.id for r in data.rows() if len(r.boxes) and (r.boxes > 0).all()]
    along = ds.query("SELECT ALL_STRICT(boxes > 0, axis=0) AS a")["a"][:]
    for r, result in zip(data.rows(), along, strict=True):
        np.testing.assert_array_equal(result, (r.boxes > 0).all(axis=0) & (len(r.boxes) > 0))


def test_all_columns_can_be_grouped(ds):
    result = ds.query("SELECT * GROUP BY label")
    assert result.columns == ds.columns
    groups = {}
    for r in data.rows():
        groups.setdefault(r.label, []).append(r.id)
    names = [data.CLASSES[number] for number in result["label"][:]]
    for name, ids, images, texts in zip(
        names, result["id"][:], result["image"][:], result["text"][:], strict=True
    ):
        assert sorted(ids) == groups[name]
        for i, image, text in zip(ids, images, texts, strict=True):
            np.testing.assert_array_equal(image, data.row(int(i))["image"])
            assert text == data.row(int(i))["text"]


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("SELECT * EXCLUDE (image) GROUP BY label", len(data.SCHEMA) - 1),
        ("SELECT d.* FROM dataset AS d GROUP BY d.size", len(data.SCHEMA)),
        ("SELECT *, COUNT(*) AS count GROUP BY label, flag", len(data.SCHEMA) + 1),
        ("SELECT * RENAME (id AS i) GROUP BY flag ORDER BY flag", len(data.SCHEMA)),
        ("SELECT * REPLACE (SUM(id) AS id) GROUP BY flag", len(data.SCHEMA)),
        ("SELECT * GROUP BY image", len(data.SCHEMA)),
    ],
)
def test_stars_can_be_grouped(ds, text, columns):
    result = ds.query(text)
    assert len(result.columns) == columns
    assert all(len(v) == len(result) for v in values_of(result).values())


def test_ungroup_by_gives_a_row_per_item(ds):
    result = ds.query("SELECT id, numbers UNGROUP BY numbers")
    expected = [(r.id, n) for r in data.rows() for n in r.numbers]
    assert list(zip(result["id"][:], result["numbers"][:], strict=True)) == expected


def test_ungroup_by_split_undoes_group_by(ds):
    text = (
        "SELECT * FROM (SELECT id, label, image, text GROUP BY label) UNGROUP BY SPLIT ORDER BY id"
    )
    result = ds.query(text)
    assert result.columns == ("id", "label", "image", "text")
    for name in ("id", "label", "text"):
        assert list(result[name][:]) == list(ds[name][:])
    for image, expected in zip(result["image"][:], ds["image"][:], strict=True):
        np.testing.assert_array_equal(image, expected)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("SELECT id UNGROUP BY numbers", QueryError, "columns of the select list, or by SPLIT"),
        ("SELECT id UNGROUP BY id", QueryTypeError, "UNNEST takes a list or a tensor, but id"),
        ("SELECT id UNGROUP BY", QuerySyntaxError, "Expected columns, or SPLIT"),
        (
            "SELECT id ORDER BY id UNGROUP BY id",
            QuerySyntaxError,
            "UNGROUP BY must come before ORDER",
        ),
    ],
)
def test_ungroup_by_accepts_selected_lists(ds, text, error, message):
    with pytest.raises(error, match=message):
        ds.query(text)


@pytest.mark.parametrize("numbers", ["2, 1", "2 1"])
def test_expand_by_takes_two_numbers(ds, numbers):
    assert list(ds.query(f"SELECT id WHERE id = 7 EXPAND BY {numbers}")["id"][:]) == [5, 6, 7, 8]


EXPANDED = {
    "SELECT id WHERE id = (SELECT MAX(id) FROM dataset) EXPAND BY 2, 2": [57, 58, 59],
    "SELECT id WHERE id IN (SELECT age FROM owners WHERE age = 7) EXPAND BY 1 1": [6, 7, 8],
    """WITH q AS (SELECT 3 AS n FROM owners)
       SELECT id WHERE id = (SELECT MAX(n) FROM q) EXPAND BY 0 1""": [3, 4],
    "SELECT id, (SELECT COUNT(*) FROM owners) AS c WHERE id = 5 EXPAND BY 1 0": [4, 5],
    "SELECT id, grid - (SELECT grid FROM dataset LIMIT 1) AS g WHERE id = 5 EXPAND BY 1 0": [4, 5],
    """SELECT id, (SELECT MAX(a.id) FROM dataset AS a WHERE a.flag = dataset.flag) AS m
       WHERE id = 5 EXPAND BY 1 0""": [4, 5],
    """SELECT id, CASE WHEN flag THEN MEAN(grid) ELSE MEAN(bytes) END > 0 AS m
       WHERE id = 5 EXPAND BY 1 0""": [4, 5],
    """SELECT id
       WHERE COSINE_SIMILARITY(emb, (SELECT emb FROM dataset LIMIT 1 OFFSET 9)) > 0.999
       EXPAND BY 1 1""": [8, 9, 10],
}


@pytest.mark.parametrize("text", EXPANDED)
def test_neighbouring_rows_are_found_next_to_subqueries(ds, owners, text):
    result = ds.query(text, sources={"owners": owners})
    assert list(result["id"][:]) == EXPANDED[text]
    assert all(len(v) == len(result) for v in values_of(result).values())


HINTS = {
    "SELECT data(emb, 10)": r"\(SELECT emb FROM dataset LIMIT 1 OFFSET 10\)",
    "SELECT id ORDER BY L2_NORM(emb - data(emb, 10))": r"\(SELECT emb FROM dataset LIMIT 1",
    "SELECT id WHERE RANDOM() % 10 = 0": r"FLOOR\(RANDOM\(\) \* 10\)",
    "SELECT id ORDER BY (RANDOM()) % 10": r"FLOOR\(RANDOM\(\) \* 10\)",
    "SELECT id WHERE label = 'cat' || label = 'dog'": r"Write label = 'cat' OR label = 'dog'",
    "SELECT id WHERE flag || id > 3": r"Write flag OR id > 3",
    "SELECT id WHERE (id > 3) || flag": r"Write \(id > 3\) OR flag",
    "SELECT id WHERE id > 3 || flag": r"Write id > 3 OR flag",
    "SELECT id WHERE text LIKE 'a%' || text LIKE 'b%'": r"Write text LIKE 'a%' OR text LIKE 'b%'",
    "SELECT id WHERE n IS NULL || flag": r"Expected AND or OR: \|\| joins strings",
    "SELECT id WHERE id IN (1, 2) || flag": r"Expected AND or OR: \|\| joins strings",
    "SELECT id WHERE 1 < id < 3": r"Write 1 < id AND id < 3",
    "SELECT id WHERE text IS 'fox'": r"IS must be followed by NULL, TRUE, FALSE, NAN",
    "SELECT * LIKE 'a%'": r"\* must stand alone",
}


@pytest.mark.parametrize("text", HINTS)
def test_error_says_what_to_write_instead(ds, text):
    with pytest.raises(LakeError, match=HINTS[text]):
        ds.query(text)


def test_suggestions_of_hints_work(ds):
    near = ds.query("SELECT id ORDER BY L2_NORM(emb - (SELECT emb FROM dataset LIMIT 1 OFFSET 10))")
    assert near["id"][0] == 10
    drawn = ds.query("SELECT FLOOR(RANDOM() * 10) AS r")["r"][:]
    assert set(drawn) <= set(range(10))
    assert len(set(drawn)) > 1


@pytest.mark.parametrize("text", ["text LIKE '*fox*'", "text ILIKE $p", "label NOT LIKE '*'"])
def test_like_with_a_star_hints_at_glob(ds, text):
    params = {"p": "*fox*"} if "$p" in text else {}
    with pytest.warns(UserWarning, match="GLOB"):
        ds.query(f"SELECT id WHERE {text}", params)


@pytest.mark.parametrize("text", ["text LIKE '%*%'", "text GLOB '*fox*'", "text LIKE 'fox'"])
def test_unambiguous_patterns_give_no_hint(ds, text):
    expected = [r.id for r in data.rows() if "fox" in r.text] if "GLOB" in text else None
    result = list(ds.query(f"SELECT id WHERE {text}")["id"][:])
    assert expected is None or result == expected


def test_is_nan(ds):
    result = list(ds.query("SELECT id WHERE value IS NAN")["id"][:])
    assert result == [r.id for r in data.rows() if np.isnan(r.value)]
    others = ds.query("SELECT id WHERE value IS NOT NAN")
    assert len(others) == len(ds) - len(result)


JOINED = {
    "SELECT COUNT(*) AS c, STRING_AGG(text, ',' ORDER BY id) AS s": ",".join(
        r.text for r in data.rows()
    ),
    "SELECT STRING_AGG(DISTINCT label, '/' ORDER BY label) AS s": "bird/cat/dog",
    "SELECT LISTAGG(text, ',') WITHIN GROUP (ORDER BY id DESC) AS s": ",".join(
        r.text for r in reversed(data.rows())
    ),
    "SELECT GROUP_CONCAT(DISTINCT size, '' ORDER BY size DESC) AS s, MAX(id) AS m": "smalllarge",
}


@pytest.mark.parametrize("text", JOINED)
def test_strings_of_many_rows_are_joined(ds, text):
    assert list(ds.query(text)["s"][:]) == [JOINED[text]]


def test_distinct_inside_calls(ds):
    rows = data.rows()
    result = values_of(
        ds.query(
            "SELECT COUNT(DISTINCT label, size) AS c, SUM(DISTINCT n) AS s, "
            "LIST(DISTINCT label ORDER BY label) AS l"
        )
    )
    assert result["c"] == [len({(r.label, r.size) for r in rows if r.size is not None})]
    assert result["s"] == [sum({r.n for r in rows if r.n is not None})]
    with pytest.raises(QueryTypeError, match=r"DISTINCT in a call.*image is a tensor"):
        ds.query("SELECT LIST(DISTINCT image)")
