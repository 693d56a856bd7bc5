"""Binary operators and functions give an answer, or our error, for every column and constant."""

from __future__ import annotations

import re

import pytest

from deeplake_lite.errors import LakeError

from .. import data
from ..case_files import values_of

FORMS = [
    "COALESCE(c, k)", "COALESCE(k, c)", "CASE WHEN id > 3 THEN c ELSE k END", "IF(id > 3, c, k)",
    "NULLIF(c, k)", "NULLIF(k, c)", "GREATEST(c, k)", "LEAST(c, k)", "c = k", "c < k",
    "c IN (k, k)", "c BETWEEN k AND k", "c IS DISTINCT FROM k", "c + k", "c || k",
    "CONTAINS(c, k)", "HASH(c) = HASH(k)", "c[k]", "[c, k]", "LIST(c) = k", "MAX(c, k)",
    "ARG_MAX(c, k)", "LAG(c, 1, k) OVER ()", "IOU(c, k)",
]  # fmt: skip

CONSTANTS = [
    "[0, 0, 0]", "[]", "[[0, 0, 4, 4]]", "'x'", "'cat'", "1", "1.5", "NULL", "TRUE",
    "{'a': 1}", "[[1], [2]]", "['a']", "[[0, 'cat']]", "DATE '2020-01-01'", "INTERVAL 1 DAY",
    "$bytes", "$document", "$nulls", "$complex",
]  # fmt: skip

PARAMETERS = {"bytes": b"x", "document": {"a": [1]}, "nulls": [None], "complex": 1 + 2j}

COLUMNS = [name for name in data.SCHEMA if name.isidentifier()]

STEP = 5
"""Every nth constant is tried with each column, and each constant with some column."""


@pytest.mark.parametrize("form", FORMS)
def test_column_and_constant_give_an_answer_or_our_error(ds, form):
    rows, answered = ds[:8], 0
    for number, column in enumerate(COLUMNS):
        for constant in CONSTANTS[(number + FORMS.index(form)) % STEP :: STEP]:
            # one word at a time: the names of columns contain the letters of the form
            text = "".join({"c": column, "k": constant}.get(w, w) for w in _words(form))
            given = {k: v for k, v in PARAMETERS.items() if f"${k}" in text}
            try:
                values_of(rows.query(f"SELECT {text} AS v", given))
            except LakeError:
                continue
            answered += 1
    assert answered


def _words(form: str) -> list[str]:
    """Return a form in parts, with the two placeholders as separate parts."""
    return re.split(r"\b([ck])\b", form)
