"""Boxes keep their format wherever four numbers are a box; complex numbers have aggregates."""

from __future__ import annotations

from uuid import uuid4

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryError, QueryTypeError


@pytest.fixture(params=["xywh", "cxcywh", "xyxy"])
def boxes(request: pytest.FixtureRequest) -> dl.Dataset:
    ds = dl.create(f"memory://{uuid4()}", {"w": dl.Boxes(request.param), "k": "int64"})
    corner = {"xywh": [10, 10, 10, 10], "cxcywh": [15, 15, 10, 10], "xyxy": [10, 10, 20, 20]}
    ds.append({"w": [[corner[request.param]] * 2], "k": [0]})
    return ds


BOXES = [
    "SELECT w[0] AS x", "SELECT w AS x", "SELECT UNNEST(w) AS x",
    "SELECT y AS x FROM (SELECT UNNEST(w) AS y FROM dataset)", "SELECT w[..., ::1] AS x",
    "SELECT w[:, 0:4] AS x", "SELECT w[:1] AS x", "SELECT RESHAPE(w, [2, 4]) AS x",
    "SELECT RESHAPE(w, [-1, 4]) AS x", "SELECT w AS x UNGROUP BY w",
    "SELECT CASE WHEN TRUE THEN w END AS x", "SELECT FIRST(w) AS x GROUP BY k",
]  # fmt: skip


@pytest.mark.parametrize("query", BOXES)
def test_boxes_keep_their_format(boxes: dl.Dataset, query: str) -> None:
    inner = query if "FROM" in query else query.replace(" GROUP", " FROM dataset GROUP")
    if "FROM" not in inner:
        head, by, tail = inner.partition(" UNGROUP")
        inner = f"{head} FROM dataset{by}{tail}"
    sources = {"dataset": boxes}
    area = dl.query(f"SELECT AREA(x) AS a FROM ({inner}) AS q", sources=sources)["a"][:]
    assert {float(n) for value in area for n in np.ravel(value)} == {100.0}
    result = dl.query(f"SELECT BOX_CONVERT(x, 'xyxy') AS b FROM ({inner}) AS q", sources=sources)
    for value in result["b"][:]:
        np.testing.assert_array_equal(np.reshape(value, (-1, 4))[0], [10, 10, 20, 20])


@pytest.mark.parametrize("sign", ["=", "<>", "<", "+"])
def test_boxes_of_two_formats_cannot_be_combined(sign: str) -> None:
    ds = dl.create(f"memory://{uuid4()}", {"a": dl.Boxes("xywh"), "b": dl.Boxes("xyxy")})
    ds.append({"a": [[[1, 2, 3, 4]]], "b": [[[1, 2, 3, 4]]]})
    with pytest.raises(QueryTypeError, match="BOX_CONVERT"):
        ds.query(f"SELECT a {sign} b AS x")


COMPLEX = np.array([1 + 2j, 3, 1j], "complex64")


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("SUM", COMPLEX.sum()), ("MEAN", COMPLEX.mean()), ("AVG", COMPLEX.mean()),
        ("PROD", COMPLEX.prod()), ("COUNT", 3), ("STD", COMPLEX.std()),
    ],
)  # fmt: skip
def test_aggregates_of_complex_numbers_give_one_row(call: str, expected: complex) -> None:
    ds = dl.create(f"memory://{uuid4()}", {"c": "complex64", "k": "int8"})
    ds.append({"c": COMPLEX, "k": [0, 0, 0]})
    for query in (f"SELECT {call}(c) AS x", f"SELECT {call}(c) AS x GROUP BY k"):
        [result] = ds.query(query)["x"][:]
        np.testing.assert_allclose(result, expected, rtol=1e-6)


@pytest.mark.parametrize("call", ["MIN", "MAX", "MEDIAN"])
@pytest.mark.parametrize("group", ["", " GROUP BY k"])
def test_complex_numbers_have_no_order(call: str, group: str) -> None:
    ds = dl.create(f"memory://{uuid4()}", {"c": "complex64", "k": "int8"})
    ds.append({"c": COMPLEX, "k": [0, 0, 0]})
    with pytest.raises(QueryTypeError, match="have no order"):
        ds.query(f"SELECT {call}(c) AS x{group}")


NULLS = np.ma.masked_array([0, 1, 5], [True, False, False])


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("id IN $p", [1]), ("id NOT IN $p", []), ("0 IN $p", []), ("n IN $p", [0]),
        ("5 IN $p", [0, 1, 2]),
    ],
)  # fmt: skip
def test_masked_items_of_a_parameter_are_null(condition: str, rows: list[int]) -> None:
    ds = dl.create(f"memory://{uuid4()}", {"id": "int64", "n": dl.Scalar("int64", nullable=True)})
    ds.append({"id": [0, 1, 2], "n": [5, None, 7]})
    assert ds.query(f"SELECT id WHERE {condition}", {"p": NULLS})["id"][:].tolist() == rows


def test_masked_array_as_a_tensor_is_refused() -> None:
    ds = dl.create(f"memory://{uuid4()}", {"a": dl.Array("int64", (3,))})
    ds.append({"a": [[1, 2, 3]]})
    with pytest.raises(QueryError):
        ds.query("SELECT a + $p AS x", {"p": NULLS})["x"][:]


TEXTS = ["10", "9", "", "Z", "1e3", " 7", "-1"]


def test_strings_in_json_are_sorted_as_strings() -> None:
    ds = dl.create(f"memory://{uuid4()}", {"j": "json"})
    ds.append({"j": [*TEXTS, 30, 4.5]})
    assert ds.query("SELECT j ORDER BY j")["j"][:] == [4.5, 30, *sorted(TEXTS)]
    for call, expected in (("MIN(j)", 4.5), ("MAX(j)", "Z"), ("FIRST(j ORDER BY j DESC)", "Z")):
        assert ds.query(f"SELECT {call} AS x")["x"][0] == expected
    texts = ds.query("SELECT j WHERE j < '5'")["j"][:]
    assert sorted(texts) == sorted(text for text in TEXTS if text < "5")


def test_length_of_json_counts_items_keys_or_characters() -> None:
    values = [[1, 2, 3], {"a": 1, "b": 2}, {}, "rose", "", True, 5, None, []]
    ds = dl.create(f"memory://{uuid4()}", {"j": dl.Json(nullable=True)})
    ds.append({"j": values})
    for call in ("LEN", "LENGTH"):
        result = ds.query(f"SELECT {call}(j) AS x")["x"][:].tolist()
        assert result == [3, 2, 0, 4, 0, None, None, None, 0]


# ---- skipped chunks give the same results as chunks that are read


@pytest.mark.parametrize("cached", [False, True])
@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        ("t < '9999-12-31'", [0, 1]), ("t > '9999-12-31'", []), ("'1600-01-01' < t", [0, 1]),
        ("t <> '9999-12-31'", [0, 1]), ("t BETWEEN '1000-01-01' AND '2020-01-01'", [0]),
        ("t >= '2020-01-02'", [1]), ("t = '2020-01-01 00:00:00'", [0]),
        ("b = 9223372036854775808", []), ("b IN (9223372036854775808)", []), ("b = 1", [0]),
    ],
)  # fmt: skip
def test_conditions_out_of_range_of_a_type_agree_with_and_without_statistics(
    tmp_path, condition: str, rows: list[int], cached: bool
) -> None:
    ds = dl.create(tmp_path / "x.lake", {"id": "int64", "t": "datetime64[ns]", "b": "bool"})
    moments = np.array(["2020-01-01", "2020-01-02"], "datetime64[ns]")
    ds.append({"id": [0, 1], "t": moments, "b": [True, False]})
    ds.commit("rows")
    ds = dl.open(tmp_path / "x.lake")
    if cached:
        ds.query("SELECT id WHERE t IS NOT NULL AND b IS NOT NULL")["id"][:]
    assert ds.query(f"SELECT id WHERE {condition}")["id"][:].tolist() == rows


@pytest.mark.parametrize("text", ["  1950-01-01 ", "1950-1-1", "yesterday"])
def test_invalid_time_string_is_an_error_whether_or_not_chunks_are_read(
    tmp_path, text: str
) -> None:
    ds = dl.create(tmp_path / "x.lake", {"t": "datetime64[ns]", "k": "int64"})
    n = 40_977
    ds.append({"t": np.arange(n).astype("datetime64[s]").astype("datetime64[ns]"), "k": range(n)})
    ds.commit("rows")
    outcomes = set()
    for cached in (False, True):
        ds = dl.open(tmp_path / "x.lake")
        if cached:
            ds.query("SELECT k WHERE t IS NOT NULL AND k >= 0")
        try:
            outcomes.add(len(ds.query("SELECT k WHERE t = ?", [text])))
        except QueryError:
            outcomes.add("error")
    assert len(outcomes) == 1
