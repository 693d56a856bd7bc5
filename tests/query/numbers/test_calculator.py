"""The auxiliary DuckDB connection of a query also works in threads and after forks."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlglot import parse_one

import deeplake_lite as dl
from deeplake_lite.query.bind.expressions.types import Types

ASKED = [f"SELECT id WHERE big + {n} = f AND HASH(big - {n}) <> HASH(f)" for n in range(24)]


def type_of(text):
    return Types(dict).of(parse_one(text, dialect="duckdb"))


@pytest.fixture
def ds():
    ds = dl.create(
        "memory://calculator", {"id": "int64", "big": "int64", "f": "float64"}, overwrite=True
    )
    ds.append({"id": range(3), "big": [2**53 + 1, 5, 6], "f": [2.0**53, 5.0, 7.0]})
    return ds


def test_threads_have_types_of_their_own(ds):
    expected = [ds.query(text)["id"][:].tolist() for text in ASKED]
    with ThreadPoolExecutor(8) as pool:
        for _ in range(3):
            result = pool.map(lambda text: ds.query(text)["id"][:].tolist(), ASKED)
            assert list(result) == expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_forked_child_looks_types_up():
    assert type_of("1 + 2") == "INTEGER"
    if (child := os.fork()) == 0:
        os._exit(0 if type_of("SUM(1.5)") == "DECIMAL(38,1)" else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("text", ["read_text('/etc/passwd')", "getenv('HOME')", "x", "sys"])
def test_calculator_cannot_access_the_process(text):
    assert type_of(f"(SELECT content FROM {text})") is None
