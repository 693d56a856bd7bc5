"""Arrays of times have equal hashes if they hold the same times, whatever their units.

Sides are columns of fixed and of varying length, sequences, computed arrays and parameters.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import deeplake_lite as dl

UNITS = ["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns"]
FIXED = UNITS[2:]
SETS: dict[str, list[np.ndarray]] = {
    "M": [
        np.array(times, "M8[ns]")
        for times in (
            [], ["1970-01-01", "1970-01-01"], ["2026-01-01", "1970-01-01"],
            ["1969-01-01", "2026-01-01"], ["2026-01-01", "NaT"], ["NaT", "NaT"],
            ["2026-01-02T03:04:05.000000006", "1969-12-31T23:59:59.999999999"],
            ["2026-01-02T03:04:05.000001", "1969-12-31T23:59:59.999999"],
        )
    ],
    "m": [
        np.array(counts, "m8[ns]")
        for counts in (
            [], [0, 0], [7 * 86_400 * 10**9, 0], [-7 * 86_400 * 10**9, "NaT"], ["NaT", "NaT"],
            [1, -1], [1000, -1000], [10**9, -(10**9)],
        )
    ],
}  # fmt: skip


def arrays_of(kind: str, unit: str) -> list[tuple[int, np.ndarray]]:
    """Return the arrays that a unit can hold, with their numbers."""
    pairs = [(at, array.astype(f"{kind}8[{unit}]")) for at, array in enumerate(SETS[kind])]
    return [(at, a) for at, a in pairs if _is_same(a, SETS[kind][at])]


def _is_same(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(((a == b) | (np.isnat(a) & np.isnat(b))).all())


def lake_of(kind: str, unit: str) -> dl.Dataset:
    dtype = {"M": "datetime64", "m": "timedelta64"}[kind] + f"[{unit}]"
    of_nulls = dl.Array(dtype, (2,), nullable=True)
    ds = dl.create(
        f"memory://hashes-of-times-{kind}-{unit}",
        {"id": "int64", "x": dl.Array(dtype, (None,)), "f": of_nulls,
         "z": dl.Array(dtype, (None,), codec="zstd")},
        overwrite=True,
    )  # fmt: skip
    numbers, arrays = zip(*arrays_of(kind, unit), strict=True)
    fixed = [a if len(a) else None for a in arrays]
    ds.append({"id": numbers, "x": arrays, "f": fixed, "z": arrays})
    ds.commit("rows")
    return ds


@pytest.fixture(scope="module")
def lakes() -> dict[tuple[str, str], dl.Dataset]:
    pairs = [*product("M", UNITS), *product("m", FIXED)]
    return {pair: lake_of(*pair) for pair in pairs}


CONDITIONS = [
    "a.{0} IS NOT DISTINCT FROM b.{1}", "HASH(a.{0}) = HASH(b.{1})", "HASH(a.{0}) IN (HASH(b.{1}))",
    "HASH(a.{0}) IS NOT DISTINCT FROM HASH(b.{1})",
]  # fmt: skip


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_columns_of_two_units(lakes, kind, condition):
    units = UNITS if kind == "M" else FIXED
    for at, (first, second) in enumerate(product(units, units)):
        sources = {"p": lakes[kind, first], "q": lakes[kind, second]}
        for columns in [("x", "x"), ("z", "x"), ("x", "x[:]")][at % 3 : at % 3 + 1]:
            on = condition.format(*columns)
            rows = dl.query(f"SELECT a.id AS i, b.id AS j FROM p AS a, q AS b WHERE {on}",
                            sources=sources)  # fmt: skip
            result = list(zip(rows["i"][:].tolist(), rows["j"][:].tolist(), strict=True))
            common = set(sources["p"]["id"][:].tolist()) & set(sources["q"]["id"][:].tolist())
            assert sorted(result) == [(i, i) for i in sorted(common)], (first, second, on)


@pytest.mark.parametrize("kind", SETS)
def test_columns_of_fixed_length_beside_others(lakes, kind):
    for first, second in product(FIXED, FIXED[::3]):
        sources = {"p": lakes[kind, first], "q": lakes[kind, second]}
        for columns in (("f", "f"), ("f", "x")):
            on = CONDITIONS[1].format(*columns)
            rows = dl.query(f"SELECT a.id AS i, b.id AS j FROM p AS a, q AS b WHERE {on}",
                            sources=sources)  # fmt: skip
            result = list(zip(rows["i"][:].tolist(), rows["j"][:].tolist(), strict=True))
            common = set(sources["p"]["id"][:].tolist()) & set(sources["q"]["id"][:].tolist()) - {0}
            assert sorted(result) == [(i, i) for i in sorted(common)], (first, second, columns)


@pytest.mark.parametrize("kind", SETS)
@pytest.mark.parametrize("first", FIXED[::2])
def test_parameters_of_any_unit(lakes, kind, first):
    ds = lakes[kind, first]
    ids = set(ds["id"][:].tolist())
    for second in FIXED[1::2]:
        for number, array in arrays_of(kind, second):
            expected = [number] if number in ids else []
            for x, test in product(("x", "f", "z", "x[:]"), ("HASH({0}) = HASH($p)",
                                   "{0} IS NOT DISTINCT FROM $p")):  # fmt: skip
                if x == "f" and not array.size:
                    continue
                rows = ds.query(f"SELECT id WHERE {test.format(x)}", {"p": array})
                assert rows["id"][:].tolist() == expected, (first, second, x, test, array)


@pytest.mark.parametrize("unit", FIXED)
def test_tables_and_sequences_of_times(unit):
    dtype = f"datetime64[{unit}]"
    table = np.array([["2026-01-01", "1970-01-01"], ["NaT", "2026-01-08"]], "M8[D]")
    times = table[0]
    if unit == "W":
        table, times = table.astype("M8[W]"), times.astype("M8[W]")
    ds = dl.create(
        f"memory://tables-of-times-{unit}",
        {"x": dl.Array(dtype, (None, None)), "s": dl.Sequence(dtype), "y": dl.Array(dtype, (2,))},
        overwrite=True,
    )
    ds.append({"x": [table], "s": [list(times)], "y": [times]})
    for other in ("M8[ns]", "M8[ms]"):
        params: dict[str, Any] = {"p": table.astype(other), "t": times.astype(other)}
        for x, p in (("x", "p"), ("s", "t"), ("y", "t")):
            for test in ("HASH({0}) = HASH(${1})", "{0} IS NOT DISTINCT FROM ${1}"):
                assert len(ds.query(f"SELECT * WHERE {test.format(x, p)}", {p: params[p]})) == 1
        later = {"p": params["p"] + np.timedelta64(7, "D")}
        assert len(ds.query("SELECT * WHERE HASH(x) = HASH($p)", later)) == 0
    assert len(ds.query("SELECT * WHERE HASH(s) = HASH(y)")) == 1
    assert len(ds.query("SELECT * WHERE s IS NOT DISTINCT FROM y")) == 1


def test_nanoseconds_of_durations_are_parameters():
    ds = dl.create("memory://durations-ns", {"x": dl.Array("timedelta64[ns]", (None,))},
                   overwrite=True)  # fmt: skip
    spans = np.array([1, 2], "m8[ns]")
    ds.append({"x": [spans, spans + np.timedelta64(1, "ns")]})
    result = ds.query("SELECT ROW_NUMBER() AS i WHERE ALL(x = $p)", {"p": spans})
    assert result["i"][:].tolist() == [0]
    saved = ds.query("SELECT ROW_NUMBER() AS i WHERE HASH(x) = HASH($p)", {"p": spans})
    assert saved["i"][:].tolist() == [0]


def test_complex_items_beside_null():
    ds = dl.create(
        "memory://complex-beside-null",
        {"z": dl.Sequence(dl.Scalar("complex64", nullable=True))},
        overwrite=True,
    )
    ds.append({"z": [[None, 2], [None, 2j], [1, 2 + 1j]]})
    for number, value in enumerate([[None, 2 + 0j], [None, 2j], [1, 2 + 1j]]):
        for test in ("HASH(z) = HASH($p)", "z IS NOT DISTINCT FROM $p"):
            result = ds.query(f"SELECT ROW_NUMBER() AS i WHERE {test}", {"p": value})
            assert result["i"][:].tolist() == [number], (value, test)
