"""Integers of every library select single rows wherever an index is accepted."""

from __future__ import annotations

import re
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch

import deeplake_lite as dl

INTEGERS: list[Any] = [
    3, np.int8(3), np.uint64(3), np.array(3), np.array(-2), torch.tensor(3),
    torch.tensor(3, dtype=torch.uint8), jnp.array(3),
]  # fmt: skip
OTHERS: list[Any] = [
    True, np.True_, np.array(True), torch.tensor(True), 3.0, np.float32(3), np.array(3.0),
    torch.tensor(3.0), "3", None, np.ma.array(3, mask=True), np.timedelta64(3, "s"),
]  # fmt: skip


@pytest.fixture
def ds() -> dl.Dataset:
    made = dl.create("memory://positions", {"k": "int64", "t": "text"}, overwrite=True)
    made.append({"k": range(5), "t": list("vwxyz")})
    return made


@pytest.mark.parametrize("index", INTEGERS, ids=repr)
def test_integers_of_every_library_select_a_row(ds: dl.Dataset, index: Any) -> None:
    assert ds[index] == {"k": 3, "t": "y"}
    assert ds.query("SELECT *")[index]["k"] == 3
    assert (ds["k"][index], ds["t"][index]) == (3, "y")
    ds["t"][index] = "new"
    ds.update(index, {"k": [30]})
    assert ds[3] == {"k": 30, "t": "new"}
    ds.delete(index)
    assert ds["k"][:].tolist() == [0, 1, 2, 4]


@pytest.mark.parametrize("index", OTHERS, ids=repr)
def test_non_integers_are_refused_as_a_row(ds: dl.Dataset, index: Any) -> None:
    calls = [lambda: ds["k"][index], lambda: ds["k"].__setitem__(index, 1)]
    calls += [] if isinstance(index, str) else [lambda: ds[index]]
    calls += [] if index is None else [lambda: ds.delete(index)]
    for call in calls:
        with pytest.raises((dl.errors.RowIndexError, dl.errors.OptionError)) as error:
            call()
        assert not re.search("Traceback|object has no", str(error.value))
    assert len(ds) == 5
