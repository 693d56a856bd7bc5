"""A literal with a point or an exponent is the float that Python reads, so its repr finds a value.

Beside float16 and float32, it is the nearest number that the column can hold.
"""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest

import deeplake_lite as dl

COUNT = 100
DTYPES = ["float16", "float32", "float64"]
FORMS = [
    "f = {}", "{} = f", "f IN ({})", "f IN ({0}, {0})", "f IS NOT DISTINCT FROM {}",
    "f BETWEEN {0} AND {0}", "f >= {0} AND f <= {0}", "NOT f <> {}", "NOT (f < {0} OR f > {0})",
    "CASE f WHEN {} THEN TRUE ELSE FALSE END", "NULLIF(f, {}) IS NULL",
]  # fmt: skip


def finite_values(dtype: str) -> np.ndarray:
    """Return finite floats of all sizes: random bits, the extremes and powers of ten."""
    rng = np.random.default_rng(0)
    size = np.dtype(dtype).itemsize
    bits = rng.integers(0, 256, (COUNT, size), np.uint8).view(dtype)[:, 0]
    limits = np.finfo(dtype)
    special: list[Any] = [limits.max, limits.min, limits.tiny, limits.smallest_subnormal, 0.1, 0.5]
    with np.errstate(over="ignore"):
        powers = np.array([*(float(f"1e{n}") for n in range(-30, 39)), 6.02214076e23], dtype)
        large = rng.integers(2**20, 2**62, COUNT // 4).astype(dtype)
        middle = (rng.random(COUNT // 4) * 10.0 ** rng.integers(-5, 16, COUNT // 4)).astype(dtype)
    values = np.concatenate([bits, np.array(special, dtype), powers, large, middle])
    values = np.concatenate([values, -values])
    return np.unique(values[np.isfinite(values)])


@pytest.fixture(scope="module", params=DTYPES)
def ds(request: pytest.FixtureRequest) -> dl.Dataset:
    dtype = request.param
    ds = dl.create(f"memory://literals-of-{dtype}", {"id": "int64", "f": dtype}, overwrite=True)
    values = finite_values(dtype)
    ds.append({"id": np.arange(len(values)), "f": values})
    ds.commit("rows")
    return ds


def texts_of(value: Any) -> list[str]:
    """Return a float as Python and as NumPy write it."""
    return list(dict.fromkeys([repr(float(value)), str(value)]))


def test_each_value_is_found_by_its_repr(ds):
    values = ds["f"][:]
    for start in range(0, len(values), 100):
        part = range(start, min(start + 100, len(values)))
        pairs = [(at, text) for at in part for text in texts_of(values[at])]
        tests = ", ".join(f"SUM(CASE WHEN f = {text} THEN 1 ELSE 0 END) AS n{i}"
                          for i, (_, text) in enumerate(pairs))  # fmt: skip
        [row] = ds.query(f"SELECT {tests} WHERE id >= {part.start} AND id < {part.stop}")
        lost = [text for i, (_, text) in enumerate(pairs) if row[f"n{i}"] != 1]
        assert not lost


@pytest.mark.parametrize("form", FORMS)
def test_each_comparison_finds_literals_and_parameters(ds, form):
    values = ds["f"][:]
    rng = np.random.default_rng(1)
    chosen = {0, len(values) - 1, *rng.integers(0, len(values), 5).tolist()}
    for at in sorted(chosen):
        value = values[at]
        for text in texts_of(value):
            assert ds.query(f"SELECT id WHERE {form.format(text)}")["id"][:].tolist() == [at], text
        for parameter in (value, float(value)):
            result = ds.query(f"SELECT id WHERE {form.format('$p')}", {"p": parameter})
            assert result["id"][:].tolist() == [at], (parameter, form)


def test_literals_are_the_floats_that_python_reads():
    rng = np.random.default_rng(2)
    ds = dl.create("memory://literals-as-python", {"id": "int64"}, overwrite=True)
    ds.append({"id": [0]})
    bits = rng.integers(0, 2**63, 300, np.int64).tolist()
    values = [struct.unpack("<d", struct.pack("<q", b))[0] for b in bits]
    texts = [repr(v) for v in values if np.isfinite(v)]
    texts += ["1e23", "6.02214076e23", "1.797e+308", "12345678.123456789012"]
    for start in range(0, len(texts), 50):
        part = texts[start : start + 50]
        select = ", ".join(f"{t} AS c{at}" for at, t in enumerate(part))
        [row] = ds.query(f"SELECT {select}")
        assert [float(row[f"c{at}"]) for at in range(len(part))] == [float(t) for t in part]


def test_whole_numbers_are_exact():
    large = 2**53 + 1
    ds = dl.create("memory://literals-whole", {"n": "int64", "g": "float64", "f": "float32"},
                   overwrite=True)  # fmt: skip
    ds.append({"n": [large, large - 1], "g": [2.0**53, 1e23], "f": [2**24, 1e23]})

    def rows(condition: str) -> int:
        return len(ds.query(f"SELECT n WHERE {condition}"))

    assert [rows(f"n = {large}"), rows(f"g = {large}"), rows("f = 16777217")] == [1, 0, 0]
    assert [rows("g = 100000000000000000000000"), rows("g = 99999999999999991611392")] == [0, 1]
    assert [rows("g = 1e23"), rows("g IN (1e23)"), rows("g >= 1e23")] == [1, 1, 1]
    assert [rows("f = 1e23"), rows("f >= 1e23"), rows("f < 1e23"), rows("f = 16777217.0")] == [
        1, 1, 1, 0,
    ]  # fmt: skip
