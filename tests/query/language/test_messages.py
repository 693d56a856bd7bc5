"""Errors of queries name the cause and show its position."""

from __future__ import annotations

import datetime as dt
import re

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import LakeError


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema = {
        "id": "int64", "t": "text", "d": "datetime64[s]", "k": dl.ClassLabel(["1", "0"]),
        "b": "int64",
    }  # fmt: skip
    ds = dl.create("memory://messages", schema, overwrite=True)
    ds.append({"id": [0], "t": ["a"], "d": ["2020-01-01"], "k": [0], "b": [1]})
    ds.commit("rows")
    return ds


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT REGEXP_MATCHES(t, '(') AS x", "not a valid regular expression: missing"),
        ("SELECT REGEXP_REPLACE(t, '*', 'a') AS x", "not a valid regular expression: no argument"),
        ("SELECT STRPTIME(t, '%q') AS x", "A time format must consist of codes .* but it is '%q'"),
        ("SELECT STRFTIME(d, '%q') AS x", "A time format must consist of codes .* but it is '%q'"),
        ("SELECT PRINTF('%d', k) AS x", "A format string does not match the type of a value"),
        ("SELECT DATE_TRUNC('nope', d) AS x", "There is no unit of time 'nope'"),
        ("SELECT DATE_PART('nope', d) AS x", "There is no unit of time 'nope'"),
        ("SELECT id USING SAMPLE 2", "Write SAMPLE BY 1 LIMIT 10"),
        ("SELECT id FROM dataset TABLESAMPLE 50%", "Write SAMPLE BY 1 LIMIT 10"),
        ("SELECT id SAMPLE BY 1 SEED 'a'", "SEED must be a whole number from 0"),
        ("SELECT a.id FROM ds a JOIN ds b ON a.id = b.nope", "There is no column 'b.nope'"),
    ],
)  # fmt: skip
def test_messages_name_the_cause(ds: dl.Dataset, query: str, message: str) -> None:
    with pytest.raises(LakeError, match=rf"{message}(.|\n)*\^"):
        ds.query(query)


@pytest.mark.parametrize("value", [-1, 1.5, None, "2", True, [1]], ids=repr)
@pytest.mark.parametrize(
    "clause",
    ["LIMIT {}", "LIMIT 1 OFFSET {}", "SAMPLE BY 1 LIMIT {}", "SAMPLE BY 1 SEED {}",
     "EXPAND BY {}, 1", "EXPAND BY 1, {}"],
)  # fmt: skip
def test_row_count_errors_show_the_value_of_a_parameter(
    ds: dl.Dataset, clause: str, value: object
) -> None:
    shown = re.escape(repr(value))
    for mark, params in (("$p", {"p": value}), ("?", [value])):
        message = rf"from 0 .* but it is {re.escape(mark)}, which is {shown}\.(.|\n)*\^"
        with pytest.raises(dl.QueryTypeError, match=message):
            ds.query(f"SELECT id {clause.format(mark)}", params)


@pytest.mark.parametrize(
    ("query", "part"),
    [
        ("SELECT k AS id, COUNT(*) AS n GROUP BY k SAMPLE BY id", "id"),
        ("SELECT k, COUNT(*) AS n GROUP BY k SAMPLE BY n + b", "n + b"),
        ("SELECT k AS id, COUNT(*) AS n GROUP BY k ARRANGE BY id", "id"),
        ("SELECT k, COUNT(*) AS n GROUP BY k ARRANGE BY k, b", "b"),
        ("SELECT COUNT(*) AS n SAMPLE BY id", "id"),
        ("SELECT COUNT(*) OVER (PARTITION BY SUM(b)) AS n", "COUNT(*) OVER"),
        ("SELECT COUNT(*) OVER (ORDER BY MAX(b) DESC) AS n", "COUNT(*) OVER"),
    ],
)
def test_ungrouped_columns_are_shown(ds: dl.Dataset, query: str, part: str) -> None:
    with pytest.raises(dl.QueryTypeError, match="of a grouped query must be in GROUP BY") as caught:
        ds.query(query)
    column = query.rindex(part) + 1
    assert f"Line 1, column {column}:" in str(caught.value)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int8", "int64", "float32"])
def test_complement_of_numbers_says_what_to_write(dtype: str) -> None:
    x = np.array([[0, 1, 7]], dtype)
    ds = dl.create(f"memory://complement-{dtype}", {"x": dl.Array(dtype, (3,))})
    ds.append({"x": x})
    with pytest.raises(dl.QueryTypeError, match=r"~ negates a condition.* NOT x to") as caught:
        ds.query("SELECT ~x AS y")
    if dtype.startswith("float"):
        assert "bits" not in str(caught.value)
        return
    [way] = re.findall(r"zeros, or (.*) to invert the bits", str(caught.value))
    assert ds.query(f"SELECT {way} AS y")["y"][0].tolist() == (~x[0]).tolist()


def test_unnested_values_are_named_in_a_subquery(ds: dl.Dataset) -> None:
    with pytest.raises(dl.QueryTypeError, match=r"FROM \(SELECT UNNEST\(x\) AS item FROM …\)"):
        ds.query("SELECT UNNEST([id, b]) AS r WHERE r > 0")
    result = ds.query("SELECT r FROM (SELECT UNNEST([id, b]) AS r FROM ds) WHERE r > 0")
    assert result["r"][:].tolist() == [1]


def test_list_parameter_is_shown_if_its_items_cannot_be_combined(
    ds: dl.Dataset,
) -> None:
    for query in ("SELECT $p AS x", "SELECT id, [$p] AS x"):
        with pytest.raises(dl.QueryTypeError, match=r"INTEGER and DATE cannot be in(.|\n)*\^"):
            ds.query(query, {"p": [1, dt.date(2020, 1, 1)]})
