"""Three-valued comparisons of NaN and null, alone and with each value of a list or query."""

from __future__ import annotations

import itertools
import math
import operator
from typing import TYPE_CHECKING, Any

import pytest

import deeplake_lite as dl

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

NAN, NULL = math.nan, None
FLOATS = [1.0, 2.0, NAN, NULL]
OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
SETS = [list(some) for n in range(3) for some in itertools.combinations([1.0, NAN, NULL, 3.0], n)]
IDS = ["-".join(map(str, some)) or "empty" for some in SETS]

Truth = bool | None


def compared(sign: str, a: float | None, b: float | None) -> Truth:
    return None if a is None or b is None else OPERATORS[sign](a, b)


def any_of(found: Sequence[Truth]) -> Truth:
    return True if True in found else None if None in found else False


def all_of(found: Sequence[Truth]) -> Truth:
    return False if False in found else None if None in found else True


def lake(rows: dict[str, list[Any]], types: dict[str, Any]) -> dl.Dataset:
    made = dl.create("memory://nan", types, overwrite=True)
    made.append(rows)
    return made


FLOAT, INT = dl.Scalar("float64", nullable=True), dl.Scalar("int64", nullable=True)


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    pairs = list(itertools.product(FLOATS, FLOATS))
    ints = [None if b is None or math.isnan(b) else int(b) for _, b in pairs]
    rows = {"f": [a for a, _ in pairs], "g": [b for _, b in pairs], "i": ints, "j": ints}
    made = dl.create(
        "memory://pairs",
        {"f": FLOAT, "g": FLOAT, "i": INT, "j": dl.Json(nullable=True)},
        overwrite=True,
    )
    made.append(rows)
    return made


def values_of(ds: dl.Dataset, name: str) -> list[Any]:
    result = ds.to_arrow()[name].to_pylist()
    return [float(v) if isinstance(v, str) else v for v in result]


def ask(ds: dl.Dataset, query: str, **sources: dl.Dataset) -> list[Truth]:
    result: list[Truth] = ds.query(query, sources=sources).to_arrow()["x"].to_pylist()
    return result


@pytest.mark.parametrize("other", ["g", "i", "j", "1", "NULL"])
@pytest.mark.parametrize("sign", OPERATORS)
def test_two_values_compare(ds: dl.Dataset, sign: str, other: str) -> None:
    fixed: dict[str, float | None] = {"1": 1.0, "NULL": None}
    a = values_of(ds, "f")
    b = [fixed[other]] * len(a) if other in fixed else values_of(ds, other)
    expected = [compared(sign, x, y) for x, y in zip(a, b, strict=True)]
    assert ask(ds, f"SELECT f {sign} {other} AS x") == expected
    assert ask(ds, f"SELECT NOT (f {sign} {other}) AS x") == [
        None if w is None else not w for w in expected
    ]
    expected = [compared(sign, y, x) for x, y in zip(a, b, strict=True)]
    assert ask(ds, f"SELECT {other} {sign} f AS x") == expected


def _word(value: float | None) -> str:
    if value is None:
        return "NULL"
    return "CAST('nan' AS DOUBLE)" if math.isnan(value) else str(value)


@pytest.mark.parametrize("some", SETS[1:], ids=IDS[1:])
def test_value_compares_with_a_list(ds: dl.Dataset, some: list[float | None]) -> None:
    listed = ", ".join(map(_word, some))
    for name in ("f", "i"):
        values = values_of(ds, name)
        expected = [any_of([compared("=", v, s) for s in some]) for v in values]
        assert ask(ds, f"SELECT {name} IN ({listed}) AS x") == expected
        against = [None if w is None else not w for w in expected]
        assert ask(ds, f"SELECT {name} NOT IN ({listed}) AS x") == against


def test_value_compares_with_a_list_of_columns(ds: dl.Dataset) -> None:
    f, g, i = (values_of(ds, name) for name in "fgi")
    expected = [
        any_of([compared("=", a, b) for b in rest]) for a, *rest in zip(f, g, i, strict=True)
    ]
    assert ask(ds, "SELECT f IN (g, i) AS x") == expected
    expected = [
        any_of([compared("=", b, a), compared("=", b, 2)]) for a, b in zip(f, i, strict=True)
    ]
    assert ask(ds, "SELECT i IN (f, 2) AS x") == expected


@pytest.mark.parametrize("some", SETS, ids=IDS)
@pytest.mark.parametrize("sign", OPERATORS)
@pytest.mark.parametrize("name", ["f", "i", "j"])
def test_value_compares_with_each_value_of_a_query(
    ds: dl.Dataset, name: str, sign: str, some: list[float | None]
) -> None:
    o = lake({"h": some}, {"h": FLOAT})
    values = values_of(ds, name)
    for word, quantifier in (("ANY", any_of), ("ALL", all_of)):
        expected = [quantifier([compared(sign, v, s) for s in some]) for v in values]
        assert ask(ds, f"SELECT {name} {sign} {word} (SELECT h FROM o) AS x", o=o) == expected
    if sign == "=":
        expected = [any_of([compared("=", v, s) for s in some]) for v in values]
        assert ask(ds, f"SELECT {name} IN (SELECT h FROM o) AS x", o=o) == expected


@pytest.mark.parametrize("sign", OPERATORS)
def test_nan_compares_with_json_of_a_query(ds: dl.Dataset, sign: str) -> None:
    for some in ([1], [1, None], [None], []):
        o = lake({"h": some}, {"h": dl.Json(nullable=True)})
        values = values_of(ds, "f")
        for word, quantifier in (("ANY", any_of), ("ALL", all_of)):
            expected = [quantifier([compared(sign, v, s) for s in some]) for v in values]
            assert ask(ds, f"SELECT f {sign} {word} (SELECT h FROM o) AS x", o=o) == expected


@pytest.mark.parametrize("value", ["f", "SQRT(f)", "COALESCE(f, g)", "i"])
@pytest.mark.parametrize("some", [[1], [1, None], [None], [], ["1", 2.0]], ids=str)
def test_value_is_searched_in_a_query_of_json(ds: dl.Dataset, value: str, some: list[Any]) -> None:
    o = lake({"h": some}, {"h": dl.Json(nullable=True)})
    values = ds.query(f"SELECT {value} AS x").to_arrow()["x"].to_pylist()
    expected = [any_of([None if s is None or v is None else v == s for s in some]) for v in values]
    assert ask(ds, f"SELECT {value} IN (SELECT h FROM o) AS x", o=o) == expected
    against = [None if w is None else not w for w in expected]
    assert ask(ds, f"SELECT {value} NOT IN (SELECT h FROM o) AS x", o=o) == against


MIXED = [1, 2.5, "high", True, [1], {"a": 1}, None]


@pytest.mark.parametrize("sign", ["<", "<=", ">", ">="])
@pytest.mark.parametrize("some", [[0.5], [1.0, 3.0], [2.0, None], []], ids=str)
def test_json_of_another_kind_is_neither_less_nor_greater(
    sign: str, some: list[float | None]
) -> None:
    js = lake(
        {"k": list(range(len(MIXED))), "h": MIXED}, {"k": "int64", "h": dl.Json(nullable=True)}
    )
    o = dl.create("memory://numbers", {"g": FLOAT}, overwrite=True)
    o.append({"g": some})
    numbers = [v if type(v) in (int, float) else None for v in MIXED]
    for word, quantifier in (("ANY", any_of), ("ALL", all_of)):
        expected = [quantifier([compared(sign, v, s) for s in some]) for v in numbers]
        result = ask(js, f"SELECT h {sign} {word} (SELECT g FROM o) AS x", o=o)
        assert result == expected
        expected = [quantifier([compared(sign, s, v) for v in numbers]) for s in some]
        assert ask(o, f"SELECT g {sign} {word} (SELECT h FROM j) AS x", j=js) == expected
    texts = [v if isinstance(v, str) else None for v in MIXED]
    expected = [any_of([None if v is None else OPERATORS[sign](v, "low")]) for v in texts]
    assert ask(js, f"SELECT h {sign} ANY (SELECT 'low') AS x") == expected
