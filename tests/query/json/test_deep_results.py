"""JSON that is nested too deeply for Python is one of our errors, wherever a query returns it."""

from __future__ import annotations

import pytest

import deeplake_lite as dl

DEEP = [
    "CAST(s AS JSON)", "JSON_EXTRACT(s, '$[0]')", "JSON_STRUCTURE(s)", "LIST(CAST(s AS JSON))",
    "JSON_ARRAY(CAST(s AS JSON))", "{'a': CAST(s AS JSON)}", "[CAST(s AS JSON), NULL]",
]  # fmt: skip
FINE = [
    "LEN(CAST(CAST(s AS JSON) AS TEXT))",
    "JSON_EXTRACT_STRING(s, '$[0]')",
    "HASH(CAST(s AS JSON))",
]


@pytest.fixture
def deep(make_lake):
    return make_lake({"s": dl.Text()}, s=["[" * 5_000 + "]" * 5_000])


@pytest.mark.parametrize("text", DEEP)
def test_deep_result_is_refused(deep, text):
    with pytest.raises(dl.QueryError, match=r"nested up to about .* levels .* CAST\(x AS TEXT\)"):
        deep.query(f"SELECT {text} AS x")["x"][:]


@pytest.mark.parametrize("text", FINE)
def test_part_of_a_deep_document_is_returned(deep, text):
    assert len(deep.query(f"SELECT {text} AS x")["x"][:]) == 1
