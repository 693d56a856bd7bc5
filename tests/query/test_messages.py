"""Errors of queries name what is at fault, and show where it is."""

from __future__ import annotations

import pytest

import deeplake_lite as dl
from deeplake_lite.errors import LakeError


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema = {
        "id": "int64", "t": "text", "d": "datetime64[s]", "k": dl.ClassLabel(["1", "0"]),
        "b": "int64",
    }  # fmt: skip
    ds = dl.create("memory://messages", schema)
    ds.append({"id": [0], "t": ["a"], "d": ["2020-01-01"], "k": [0], "b": [1]})
    ds.commit("rows")
    return ds


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT REGEXP_MATCHES(t, '(') AS x", "no regular expression: missing"),
        ("SELECT REGEXP_REPLACE(t, '*', 'a') AS x", "no regular expression: no argument"),
        ("SELECT STRPTIME(t, '%q') AS x", "A format of times has codes .* but it is '%q'"),
        ("SELECT STRFTIME(d, '%q') AS x", "A format of times has codes .* but it is '%q'"),
        ("SELECT PRINTF('%d', k) AS x", "A format does not go with a value"),
        ("SELECT DATE_TRUNC('nope', d) AS x", "There is no unit of time 'nope'"),
        ("SELECT DATE_PART('nope', d) AS x", "There is no unit of time 'nope'"),
        ("SELECT id USING SAMPLE 2", "Write SAMPLE BY 1 LIMIT 10"),
        ("SELECT id FROM dataset TABLESAMPLE 50%", "Write SAMPLE BY 1 LIMIT 10"),
        ("SELECT id SAMPLE BY 1 SEED 'a'", "SEED is a whole number, 0 or more"),
        ("SELECT a.id FROM ds a JOIN ds b ON a.id = b.nope", "There is no column 'b.nope'"),
    ],
)  # fmt: skip
def test_messages_name_what_is_at_fault(ds: dl.Dataset, query: str, message: str) -> None:
    with pytest.raises(LakeError, match=rf"{message}(.|\n)*\^"):
        ds.query(query)
