"""Lambdas respect the limit of a single value, however many items they process."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryError

LONG = [
    "LIST_REDUCE(LIST_TRANSFORM(RANGE(40), x -> 'a'), (a, b) -> a || a)",
    "LIST_REDUCE(LIST_TRANSFORM(RANGE(40), x -> s), (a, b) -> CONCAT(a, a))",
    "LIST_REDUCE(LIST_TRANSFORM(RANGE(40), x -> 'a'), (a, b) -> REPLACE(a, 'a', 'aa'))",
    "LIST_REDUCE(LIST_TRANSFORM(RANGE(40), x -> 'a'), (a, b) -> REPEAT(a, 2))",
    "LIST_REDUCE(LIST_TRANSFORM(RANGE(40), x -> RANGE(2)), (a, b) -> LIST_CONCAT(a, a))",
    "LIST_REDUCE(LIST_TRANSFORM(RANGE(40), x -> RANGE(2)), (a, b) -> a || a)",
    "LIST_TRANSFORM(RANGE(100000), x -> REPEAT('abc', 1000000))",
    "LIST_TRANSFORM(RANGE(100000), x -> REPEAT(s, x * 100))",
    "LIST_TRANSFORM(RANGE(100000), x -> RANGE(100000))",
    "LIST_TRANSFORM(RANGE(100000), x -> GENERATE_SERIES(1, 100000))",
    "LIST_TRANSFORM(RANGE(100000), x -> LPAD(s, 100000, 'b'))",
    "LIST_TRANSFORM(RANGE(100000), x -> RPAD('a', 100000, 'b'))",
    "LIST_TRANSFORM(RANGE(100000), x -> LIST_RESIZE([1], 100000))",
    "LIST_TRANSFORM(RANGE(1000), x -> LIST_TRANSFORM(RANGE(1000), y -> REPEAT('a', 1000)))",
    "LIST_FILTER(RANGE(100000), x -> LEN(REPEAT('abc', 1000000)) > x)",
]
MAX_MB = 1_500
"""Megabytes of the process, 200 of which the package takes."""

ASKED = r"""
import re, resource, sys
from pathlib import Path
import deeplake_lite as dl
ds = dl.create("memory://long", {"s": "text"})
ds.append([{"s": "ab"}])
for text in sys.argv[1:]:
    try:
        ds.query(f"SELECT LEN({text}) AS a")
    except dl.errors.QueryError as error:
        print("must not exceed" in str(error))
status = Path("/proc/self/status")
if status.exists():  # getrusage also counts what the parent held when it made this process
    print(int(re.search(r"VmHWM:\s*(\d+) kB", status.read_text())[1]) >> 10)
else:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 20)
"""


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    ds = dl.create("memory://long", {"id": "int64", "s": "text"}, overwrite=True)
    ds.append([{"id": 2, "s": "ab"}])
    return ds


@pytest.mark.parametrize("text", LONG)
def test_total_output_of_a_lambda_is_bounded(ds, text):
    with pytest.raises(QueryError, match=r"must not exceed [\d,]+ characters or items") as caught:
        ds.query(f"SELECT {text} AS a")
    assert caught.value.place is not None


@pytest.mark.skipif(sys.platform == "win32", reason="resource is of Unix")
def test_refused_lambdas_take_no_memory():
    asked = [sys.executable, "-c", ASKED, *LONG]
    result = subprocess.run(asked, capture_output=True, text=True, check=True)
    *refused, peak = result.stdout.split()
    assert refused == ["True"] * len(LONG)
    assert int(peak) < MAX_MB


def as_python(value):
    """Return a value with lists in place of arrays."""
    if isinstance(value, np.ndarray | list):
        return [as_python(item) for item in value]
    return value


@pytest.mark.parametrize(
    ("text", "expected"),
    {
        "LIST_TRANSFORM([id, 1], x -> REPEAT('ab', x))": ["abab", "ab"],
        "LIST_TRANSFORM([id], x -> LIST_TRANSFORM(RANGE(x), y -> y || s))": [["0ab", "1ab"]],
        "LIST_REDUCE([s, 'x', 'y'], (a, b) -> a || '-' || b)": "ab-x-y",
        "LIST_REDUCE([s, NULL], (a, b) -> CONCAT(a, b))": "ab",
        "LIST_REDUCE([[id], [id]], (a, b) -> LIST_CONCAT(a, b))": [2, 2],
        "LIST_TRANSFORM([[id]], v -> v || [5])": [[2, 5]],
        "LIST_TRANSFORM(RANGE(3), x -> RANGE(x))": [[], [0], [0, 1]],
        "LIST_TRANSFORM(NULL, x -> REPEAT('a', 2))": None,
        "LIST_FILTER([s, 'x'], v -> v || 'y' = 'xy')": ["x"],
    }.items(),
)
def test_short_values_are_created(ds, text, expected):
    [row] = ds.query(f"SELECT {text} AS a")
    assert as_python(row["a"]) == expected
