"""Constants of every form compare exactly with integers."""

from __future__ import annotations

import operator
import re
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

import deeplake_lite as dl

IDS = [0, 1, 2**53 - 1, 2**53, 2**53 + 1, 2**53 + 2, 2**63 - 512, 2**63 - 1]

OPERATORS = {
    "<": operator.lt, "<=": operator.le, "=": operator.eq, "<>": operator.ne,
    ">=": operator.ge, ">": operator.gt,
}  # fmt: skip
MIRRORED = {"<": ">", "<=": ">=", "=": "=", "<>": "<>", ">=": "<=", ">": "<"}


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    lake = dl.create(
        "memory://exact-numbers",
        {
            "id": "int64", "u": "uint64", "n": dl.Scalar("int64", nullable=True),
            "j": dl.Json(nullable=True),
            "v": dl.Array("int64", (2,)), "w": dl.Array("uint64", (None,)),
            "s": dl.Array("int16", (2,)), "c": dl.ClassLabel(["a", "b"]),
        },
        overwrite=True,
    )  # fmt: skip
    few = {"s": [[1, 2]] * len(IDS), "c": [1] * len(IDS)}
    pairs = [[i, i] for i in IDS]
    lake.append({"id": IDS, "u": IDS, "n": IDS, "j": IDS, "v": pairs, "w": pairs, **few})
    lake.append(
        {"id": [-5], "u": [3], "n": [None], "j": [None], "v": [[-5, -5]], "w": [[3]],
         "s": [[-5, 7]], "c": [0]}
    )  # fmt: skip
    return lake


def rows(ds: dl.Dataset, condition: str, params: Any = ()) -> list[int]:
    """Return the ids for which a condition holds; the last row has only -5."""
    return sorted(ds.query(f"SELECT id WHERE {condition}", params)["id"][:].tolist())


def holding(ds: dl.Dataset, conditions: list[str], given: dict[str, Any]) -> list[list[int]]:
    """Return the ids for which each of some conditions holds, in a single query."""
    columns = ", ".join(f"({text}) AS c{at}" for at, text in enumerate(conditions))
    result = ds.query(f"SELECT id, {columns}", given)
    ids = result["id"][:].tolist()
    return [
        sorted(i for i, holds in zip(ids, result[f"c{at}"][:].tolist(), strict=True) if holds)
        for at in range(len(conditions))
    ]


NUMBERS: list[Fraction] = [
    Fraction(n) + Fraction(part, 2)
    for n in (-5, 2**53 + 1, 2**63 - 1, 2**64, -(2**127))
    for part in (0, 1)
] + [sign * Fraction(10**e) for e in (39, 200, 400) for sign in (1, -1)]


def digits(number: Fraction) -> str:
    """Return the digits of an integer or a half-integer."""
    whole = abs(number.numerator) // number.denominator
    text = f"{whole}.5" if number.denominator == 2 else str(whole)
    return f"-{text}" if number < 0 else text


def sayings(number: Fraction) -> list[tuple[str, dict[str, Any]]]:
    """Return the forms in which a query can contain a number."""
    text = digits(number)
    out: list[tuple[str, dict[str, Any]]] = [
        (text, {}), (f"'{text}'", {}), ("$p", {"p": text}), ("$p", {"p": Decimal(text)}),
    ]  # fmt: skip
    if number.denominator == 1:
        out += [(f"{text}.0", {}), (f"'{text}.0'", {}), ("$p", {"p": int(number)})]
    return out


@pytest.mark.parametrize("number", NUMBERS, ids=digits)
@pytest.mark.parametrize("column", ["u", "n", "v[0]"])
def test_columns_compare_exactly_with_numbers_of_every_form(ds, column, number):
    values = {i: i for i in IDS} | {-5: {"u": 3, "w[0]": 3, "n": None}.get(column, -5)}
    present = {i: v for i, v in values.items() if v is not None}
    expected = {
        sign: sorted(i for i, v in present.items() if of(v, number))
        for sign, of in OPERATORS.items()
    }
    for said, given in sayings(number):
        asked = {f"{column} {sign} {said}": expected[sign] for sign in OPERATORS}
        asked |= {f"{said} {MIRRORED[sign]} {column}": expected[sign] for sign in OPERATORS}
        asked |= {re.sub("x", column, form).replace("?", said): expected["="] for form in EQUAL}
        asked[f"{column} NOT IN ({said}, {said})"] = expected["<>"]
        for sign, of in OPERATORS.items():
            compared = [of(v, number) for v in present.values()]
            for each, holds in (("ANY", any(compared)), ("ALL", all(compared))):
                text = (
                    f"{said} {MIRRORED[sign]} {each} (SELECT {column} WHERE {column} IS NOT NULL)"
                )
                asked[text] = sorted(values) if holds else []
        for text, result in zip(asked, holding(ds, list(asked), given), strict=True):
            assert result == asked[text], text


EQUAL = (
    "x IN (?)", "x IN (?, 77)", "x IN (0.25, ?)", "? IN (x)", "x BETWEEN ? AND ?",
    "CASE x WHEN ? THEN TRUE ELSE FALSE END", "x IS NOT DISTINCT FROM ?",
    "(x IS NOT NULL AND NULLIF(x, ?) IS NULL)", "(x, 1) = (?, 1)", "(x, 1) IN ((?, 1), (5.5, 2))",
)  # fmt: skip


@pytest.mark.parametrize("number", NUMBERS, ids=digits)
@pytest.mark.parametrize("column", ["v", "w", "s"])
def test_tensors_of_integers_compare_exactly(ds, column, number):
    values = {
        i: {"s": [1, 2]}.get(column, [i, i]) for i in IDS
    } | {-5: {"v": [-5, -5], "w": [3], "s": [-5, 7]}[column]}  # fmt: skip
    for said, given in sayings(number):
        if "'" in said or isinstance(given.get("p"), str):
            continue  # a string is not a number next to a tensor
        asked = {
            f"{name}({column} {sign} {said})": sorted(
                i for i, v in values.items() if each(of(n, number) for n in v)
            )
            for sign, of in OPERATORS.items()
            for each, name in ((any, "ANY"), (all, "ALL"))
        }
        asked[f"CONTAINS({column}, {said})"] = sorted(i for i, v in values.items() if number in v)
        for text, result in zip(asked, holding(ds, list(asked), given), strict=True):
            assert result == asked[text], text


@pytest.mark.parametrize("number", [10**200, -(10**39), 10**400])
def test_classes_and_floats_compare_with_numbers_of_any_size(ds, number):
    every = sorted([*IDS, -5])
    assert rows(ds, f"c < {number}") == (every if number > 0 else [])
    assert rows(ds, f"CAST(c AS DOUBLE) < {number}") == (every if number > 0 else [])
    assert rows(ds, f"c + 1 >= {number}") == ([] if number > 0 else every)
    assert rows(ds, f"v[0] + 0.5 = {number}") == []


@pytest.mark.parametrize(
    "given",
    [[[Decimal(2**53 + 1)]], [["9007199254740993.0", "7.5"]], [[2**53 + 1, 10**300]],
     [[Decimal(2**53 + 1), Decimal("1E+200")]], [(Decimal("9007199254740993.00"), 0.5)]],
    ids=repr,
)  # fmt: skip
@pytest.mark.parametrize("column", ["id", "u", "n", "v[0]"])
def test_lists_of_parameters_keep_their_digits(ds, column, given):
    assert rows(ds, f"{column} IN ?", given) == [2**53 + 1]
    assert 2**53 in rows(ds, f"{column} NOT IN ?", given)


@pytest.mark.parametrize("value", [10**39, 10**300, -(10**40), Decimal("1" * 45), Decimal("1E307")])
@pytest.mark.parametrize(
    "expression", ["?", "id + ?", "[?]", "{'k': ?}", "CASE WHEN id > 1 THEN id ELSE ? END",
                   "COALESCE(n, ?)", "-?", "GREATEST(id, ?)"],
)  # fmt: skip
def test_integers_beyond_128_bits_cannot_be_computed_with(ds, expression, value):
    with pytest.raises(dl.QueryTypeError, match="integers of up to 128 bits, but a constant is"):
        ds.query(f"SELECT {expression} AS k", [value])
    literal = re.sub(r"\?", f"({int(value)})", expression)
    with pytest.raises(dl.QueryTypeError, match="integers of up to 128 bits"):
        ds.query(f"SELECT {literal} AS k")


def test_tensors_do_not_accept_integers_beyond_64_bits(ds):
    with pytest.raises(dl.QueryTypeError, match="Tensors can contain integers of up to 64 bits"):
        ds.query("SELECT v + 100000000000000000000 AS k")


@settings(max_examples=60, deadline=None)
@drawn(
    st.decimals(allow_nan=False, allow_infinity=False)
    | st.integers(-(2**70), 2**70).map(Decimal)
    | st.sampled_from(IDS).map(lambda i: Decimal(f"{i}.0000000000000000000000000000000001")),
    st.sampled_from(sorted(OPERATORS)),
)
def test_decimals_of_any_form_compare_exactly(ds, number, sign):
    expected = sorted(i for i in [*IDS, -5] if OPERATORS[sign](Decimal(i), number))
    assert rows(ds, f"id {sign} ?", [number]) == expected
    assert rows(ds, f"v[0] {sign} ?", [number]) == expected


# ---- JSON

DOCUMENTS: list[Any] = [
    *IDS,
    -5,
    2**64 + 1,
    -(2**100),
    0.5,
    2.0**53,
    1e16,
    1e300,
    2**130,
    "7",
    True,
    None,
    [1],
    {"a": 1},
]


@pytest.fixture(scope="module")
def json_lake() -> dl.Dataset:
    lake = dl.create(
        "memory://exact-json", {"id": "int64", "j": dl.Json(nullable=True)}, overwrite=True
    )
    lake.append({"id": range(len(DOCUMENTS)), "j": DOCUMENTS})
    return lake


@pytest.mark.parametrize("number", [*NUMBERS[2::3], Fraction(2**53)], ids=digits)
def test_json_integers_compare_exactly(json_lake, number):
    numbers = {
        i: v for i, v in enumerate(DOCUMENTS) if isinstance(v, int | float) and v is not True
    }
    for said, given in sayings(number):
        if "'" in said or isinstance(given.get("p"), str):
            continue  # a string is not a number next to JSON
        asked = {}
        for sign, of in OPERATORS.items():
            expected = [i for i, v in numbers.items() if of(v, number)]
            if sign == "<>":
                expected = [i for i, v in enumerate(DOCUMENTS) if v is not None and v != number]
            asked[f"j {sign} {said}"] = asked[f"{said} {MIRRORED[sign]} j"] = expected
        equal = asked[f"j = {said}"]
        asked[f"j IN (0.25, {said})"] = asked[f"j BETWEEN {said} AND {said}"] = equal
        asked[f"j IS NOT DISTINCT FROM {said}"] = equal
        for text, result in zip(asked, holding(json_lake, list(asked), given), strict=True):
            assert result == asked[text], text


@pytest.mark.parametrize("sign", OPERATORS)
@pytest.mark.parametrize(
    "other", ["id - 1", "u - 1", "(SELECT MAX(id) FROM ds)", "-id", "v[0] - 1"]
)
def test_json_compares_exactly_with_computed_integers(ds, sign, other):
    of = {
        "(SELECT MAX(id) FROM ds)": lambda _: 2**63 - 1, "-id": operator.neg,
    }.get(other, lambda i: i - 1)  # fmt: skip
    text = f"id > 0 AND j {sign} {other}"
    assert rows(ds, text) == [i for i in IDS if i > 0 and OPERATORS[sign](i, of(i))]


@pytest.mark.parametrize("sign", OPERATORS)
def test_json_is_unequal_to_nan_and_not_comparable_with_it(ds, sign):
    result = rows(ds, f"j IS NOT NULL AND j {sign} CAST('nan' AS DOUBLE)")
    assert result == (IDS if sign == "<>" else [])


@pytest.mark.parametrize(
    "htype",
    [
        dl.Array("uint64", (2,)),
        dl.Array("uint64", (None,)),
        dl.Array("int8", (2,)),
        dl.Array("float32", (2,)),
    ],
    ids=str,
)
@pytest.mark.parametrize("sign", ["=", "<>", "<", "<=", ">", ">="])
@pytest.mark.parametrize("text", ["5", "18446744073709551615", "9223372036854775808.5", "1e400"])
def test_tensors_do_not_compare_with_numeric_strings(htype, sign, text):
    ds = dl.create("memory://tensor-texts", {"v": htype}, overwrite=True)
    ds.append({"v": np.array([[1, 2]], htype.dtype)})
    for query, given in (
        (f"SELECT v {sign} '{text}' AS x", {}),
        (f"SELECT '{text}' {sign} v AS x", {}),
        (f"SELECT v {sign} $p AS x", {"p": text}),
        (f"SELECT ANY(v {sign} '{text}') AS x", {}),
    ):
        with pytest.raises(dl.QueryTypeError, match="numbers with numbers"):
            ds.query(query, given).to_arrow()
