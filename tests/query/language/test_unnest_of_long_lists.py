"""UNNEST decodes each value once per block of items, and agrees with Python."""

from __future__ import annotations

from collections import Counter
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.query.run.sources import Source

LENGTHS = [3000, 0, 1, 2500]
COLUMNS = {
    "texts": dl.Sequence(dl.Text()),
    "numbers": dl.Sequence(dl.Scalar("float32")),
    "ragged": dl.Array("float32", (None,)),
    "dense": dl.Array("int64", (3000,)),
    "pixels": dl.Array("uint8", (None, None)),
    "maybe": dl.Array("int16", (None,), nullable=True),
}


def _value(name: str, row: int, length: int) -> Any:
    match name:
        case "texts":
            return [f"{row}-{at}" for at in range(length)]
        case "dense":
            return np.arange(3000) + row
        case "pixels":
            return (np.arange(length * 20).reshape(length, 20) + row) % 251
        case "maybe" if row == 0:
            return None
        case "maybe":
            return np.arange(length) - row
    return (np.arange(length) + row / 4).astype("float32")


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    ds = dl.create("memory://long-lists", {"id": "int64", **COLUMNS}, overwrite=True)
    for row, length in enumerate(LENGTHS):
        ds.append([{"id": row, **{name: _value(name, row, length) for name in COLUMNS}}])
    ds.commit("rows")
    return ds


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Return the number of decoded values, by column."""
    counts: Counter[str] = Counter()
    each, dense, decoder = Source.each, Source.dense, Source.decoder

    def count_each(self: Source, f: Any, positions: Any) -> Any:
        counts[f.name] += len(positions)
        return each(self, f, positions)

    def count_dense(self: Source, f: Any, rows: Any) -> Any:
        counts[f.name] += len(rows)
        return dense(self, f, rows)

    def count_decoder(self: Source, f: Any, positions: Any) -> Any:
        decode = decoder(self, f, positions)

        def count(row: int) -> Any:
            counts[f.name] += 1
            return decode(row)

        return count

    monkeypatch.setattr(Source, "each", count_each)
    monkeypatch.setattr(Source, "dense", count_dense)
    monkeypatch.setattr(Source, "decoder", count_decoder)
    return counts


def _items(ds: dl.Dataset, name: str) -> list[Any]:
    return [item for value in ds[name][:] if value is not None for item in value]


def _same(values: Any, expected: list[Any]) -> bool:
    pairs = zip(list(values), expected, strict=True)
    return all(a is None if b is None else np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("name", COLUMNS)
def test_value_is_decoded_once_for_all_its_items(ds, decoded, name):
    expected = _items(ds, name)
    result = ds.query(f"SELECT UNNEST({name}) AS u")["u"][:]
    assert _same(result, expected)
    assert decoded[name] <= 2 * len(LENGTHS)


@pytest.mark.parametrize(
    ("name", "part", "stop"),
    [
        ("numbers", "", None),
        *((name, *part) for name in ("ragged", "dense")
          for part in (("", None), ("[:2000]", 2000), (" + 1", None))),
    ],
)  # fmt: skip
def test_items_in_sql_are_decoded_once_per_vector(ds, decoded, name, part, stop):
    values = [np.asarray(v, float)[:stop] + (part == " + 1") for v in ds[name][:]]
    query = f"SELECT SUM(CAST(u AS DOUBLE)) AS s FROM (SELECT UNNEST({name}{part}) AS u)"
    assert ds.query(query)["s"][0] == sum(v.sum() for v in values)
    vectors = sum(map(len, values)) // 2048 + 1
    assert decoded[name] <= 3 * (vectors + len(LENGTHS))


def test_nested_items_and_values_computed_from_them(ds, decoded):
    text = "SELECT UNNEST(u) AS x, u FROM (SELECT UNNEST(pixels) AS u WHERE id = 3)"
    result = ds.query(text)["x"][:]
    assert result.tolist() == _value("pixels", 3, 2500).ravel().tolist()
    assert decoded["pixels"] <= 8
    doubled = ds.query("SELECT 2 * u AS x FROM (SELECT UNNEST(ragged) AS u)")["x"][:]
    assert doubled.tolist() == [2 * item for item in _items(ds, "ragged")]
    assert decoded["ragged"] <= 2 * len(LENGTHS)


def test_null_and_out_of_range_positions_give_null(ds):
    query = """
        SELECT texts[n] AS t, ragged[n] AS r FROM ds
        JOIN (SELECT range - 2 AS n FROM range(5)) AS p ON p.n < 3 OR p.n IS NULL
        WHERE id <> 1 ORDER BY id, n
    """
    result = ds.query(query)
    expected = [
        (_value("texts", row, n), _value("ragged", row, n))
        for row, n in enumerate(LENGTHS)
        if row != 1
    ]

    def item(values: Any, at: int) -> Any:
        return values[at] if -len(values) <= at < len(values) else None

    for column, part in (("t", 0), ("r", 1)):
        want = [item(pair[part], at) for pair in expected for at in range(-2, 3)]
        values = result[column][:]
        got = values.tolist() if isinstance(values, np.ndarray) else list(values)
        assert got == want
    outer = ds.query(
        "SELECT p.n AS n, u FROM (SELECT range AS n FROM range(4)) AS p "
        "LEFT JOIN (SELECT id, UNNEST(maybe) AS u) AS q ON p.n = q.id WHERE n < 3"
    )["u"][:]
    assert outer.tolist() == [None, None, -2]


def test_large_value_is_shared_by_the_threads(ds, decoded, monkeypatch):
    monkeypatch.setattr(import_module("deeplake_lite.query.tensors.spans"), "SMALL_BYTES", 0)
    assert _same(ds.query("SELECT UNNEST(pixels) AS u")["u"][:], _items(ds, "pixels"))
    assert decoded["pixels"] <= 2 * 6000 // 32
    result = ds.query("SELECT UNNEST(texts) AS u")["u"][:]
    assert _same(result, _items(ds, "texts"))
