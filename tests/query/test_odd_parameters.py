"""Parameters that no column can hold."""

from __future__ import annotations

from uuid import uuid4

import numpy as np
import pytest

import deeplake_lite as dl


@pytest.mark.parametrize(
    "value",
    ["\ud800", "a\udfff", np.str_("\ud800"), {"a": "\ud800"}, {"\ud800": 1}],
)
@pytest.mark.parametrize("column", ["text", "json"])
def test_half_a_surrogate_pair_is_refused_as_a_parameter(value, column):
    ds = dl.create(f"memory://{uuid4().hex}", {"text": dl.Text(), "json": dl.Json()})
    ds.append({"text": ["a"], "json": [{"a": 1}]})
    with pytest.raises(dl.errors.QueryTypeError, match="half a surrogate pair"):
        ds.query(f"SELECT * WHERE {column} = ?", [value])
    with pytest.raises(dl.errors.QueryTypeError, match="half a surrogate pair"):
        ds.query(f"SELECT * WHERE {column} IN ?", [[value]])
