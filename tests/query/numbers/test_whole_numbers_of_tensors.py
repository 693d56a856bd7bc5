"""Integer tensors are exact next to other dtypes, as in Python, or raise an error."""

from __future__ import annotations

import operator
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import deeplake_lite as dl

if TYPE_CHECKING:
    from collections.abc import Callable

VALUES = {
    "bool": [True, False, True], "uint8": [255, 1, 0], "uint32": [2**32 - 1, 0, 2],
    "int8": [-3, 5, 0], "int32": [-(2**31), 7, 0],
    "int64": [2**53 + 1, -(2**53) - 1, 0], "uint64": [2**53 + 1, 2**62 + 3, 1],
}  # fmt: skip
DTYPES = [*VALUES]
PAIRS = [*product(["uint64"], DTYPES), *product([d for d in DTYPES if d != "uint64"], ["uint64"])]


def of_zero(of: Callable[[int, int], int]) -> Callable[[int, int], int]:
    return lambda x, y: of(x, y) if y else 0


OF_TWO: dict[str, Callable[[int, int], Any]] = {
    "{} + {}": operator.add, "{} - {}": operator.sub, "{} * {}": operator.mul,
    "{} // {}": of_zero(operator.floordiv), "{} % {}": of_zero(operator.mod),
    "GREATEST({}, {})": max, "LEAST({}, {})": min,
    "CLIP({}, {}, {})": lambda x, y: min(max(x, y), x), "COALESCE({}, {})": lambda x, _: x,
    "{} = {}": operator.eq, "{} <> {}": operator.ne, "{} < {}": operator.lt,
    "{} <= {}": operator.le, "{} > {}": operator.gt, "{} >= {}": operator.ge,
}  # fmt: skip
REST = [f for f in OF_TWO if "=" not in f and "<" not in f and ">" not in f]


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema: dict[str, Any] = {f"t_{d}": dl.Array(d, (3,)) for d in DTYPES}
    schema |= {f"s_{d}": d for d in DTYPES}
    schema |= {"r_uint64": dl.Array("uint64", (None,)), "top": dl.Array("uint64", (1,))}
    schema |= {"f": dl.Array("float32", (3,), nullable=True), "z": dl.Array("complex64", (3,))}
    ds = dl.create("memory://whole-numbers", schema, overwrite=True)
    rows: dict[str, Any] = {f"t_{d}": [v, v] for d, v in VALUES.items()}
    rows |= {f"s_{d}": v[:2] for d, v in VALUES.items()}
    rows |= {"r_uint64": [VALUES["uint64"], [4]], "top": [[2**63], [1]]}
    ds.append({**rows, "f": [np.ones(3), None], "z": np.ones((2, 3))})
    ds.commit("rows")
    return ds


def wrapped(number: int, dtypes: tuple[str, ...]) -> int:
    """Return a number wrapped to 64 bits: unsigned if neither side is signed."""
    is_signed = any(d.startswith("int") for d in dtypes)
    number %= 2**64
    return number - 2**64 if is_signed and number >= 2**63 else number


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.parametrize("form", OF_TWO)
def test_uint64_is_exact_next_to_other_integers(
    ds: dl.Dataset, form: str, pair: tuple[str, str]
) -> None:
    of = OF_TWO[form]
    for left, right in (("t_", "t_"), ("t_", "s_"), ("s_", "t_")):
        if "COALESCE" in form and "s_" in (left, right):
            continue
        names = left + pair[0], right + pair[1]
        result = ds.query(f"SELECT {form.format(*names, names[0])} AS x")["x"][0]
        assert result.dtype.kind in "biu", (form, names)
        sides = [
            VALUES[name[2:]] if name.startswith("t_") else VALUES[name[2:]][:1] * 3
            for name in names
        ]
        expected = [of(int(a), int(b)) for a, b in zip(*sides, strict=True)]
        kept = [e if isinstance(e, bool) else wrapped(e, pair) for e in expected]
        assert result.tolist() == kept, (form, names)


@pytest.mark.parametrize("form", [f for f in REST if "COALESCE" not in f])
@pytest.mark.parametrize("signed", ["t_int8[:1]", "t_int64[:1]", "s_int32", "[-1]"])
def test_integers_without_a_common_dtype_are_an_error(
    ds: dl.Dataset, form: str, signed: str
) -> None:
    query = f"SELECT {form.format('top', signed, 'top')} AS x"
    with pytest.raises(dl.QueryTypeError, match="but top contains 9223372036854775808"):
        ds.query(f"{query} WHERE top[0] > 1")["x"][:]
    assert len(ds.query(f"{query} WHERE top[0] = 1")["x"][:]) == 1


@pytest.mark.parametrize(
    ("form", "expected"),
    [
        ("top + [1]", [2**63 + 1]), ("[2] * r_uint64[:1]", [2**54 + 2]),
        ("top + TRUE", [2**63 + 1]),
        ("top + (s_bool = TRUE)", [2**63 + 1]), ("DOT(t_uint64[:1], t_bool[:1])", 2**53 + 1),
        ("DOT(t_int64[:1], r_uint64[2:])", 2**53 + 1), ("t_uint64[:1] ** t_bool[:1]", [2**53 + 1]),
        ("SUM(t_uint64 * t_bool)", 2**53 + 2), ("MAX(GREATEST(t_uint64, t_int64))", 2**62 + 3),
        ("top[0] + top * (s_bool = FALSE)", [2**63]),
    ],
)  # fmt: skip
def test_integers_stay_integers(ds: dl.Dataset, form: str, expected: Any) -> None:
    result = ds.query(f"SELECT {form} AS x LIMIT 1")["x"][0]
    assert result.dtype.kind in "iu"
    assert result.tolist() == expected


@pytest.mark.parametrize("floats", ["f", "z", "CAST(f AS FLOAT16)"])
@pytest.mark.parametrize("whole", ["t_int64", "t_uint64"])
@pytest.mark.parametrize(
    "form",
    [
        "SELECT COALESCE(f, IF(s_bool, {0}, {1})) AS x FROM ds",
        "SELECT CASE WHEN s_bool THEN {1} ELSE {0} END AS x FROM ds WHERE s_bool",
        "SELECT {0} AS x FROM ds UNION ALL SELECT {1} FROM ds WHERE s_bool",
        "SELECT {0} AS x FROM ds WHERE s_bool UNION SELECT {1} FROM ds",
    ],
)
def test_column_of_integers_and_floats_is_exact_or_an_error(
    ds: dl.Dataset, form: str, whole: str, floats: str
) -> None:
    with pytest.raises(dl.QueryTypeError, match=r"cannot represent 9007199254740993"):
        ds.query(form.format(floats, whole), sources={"ds": ds})["x"][:]
    small = f"{whole} - {whole} + 5"
    result = ds.query(form.format(floats, small), sources={"ds": ds})["x"][:]
    assert any(x is not None and x.tolist() == [5, 5, 5] for x in result)


@pytest.mark.parametrize("floats", ["f", "z", "CAST(f AS FLOAT16)"])
def test_constant_next_to_floats_is_exact_or_an_error(ds: dl.Dataset, floats: str) -> None:
    form = "SELECT CASE WHEN s_bool THEN [{}, 0, 0] ELSE {} END AS x LIMIT 1"
    with pytest.raises(dl.QueryTypeError, match=r"cannot represent 9007199254740993"):
        ds.query(form.format(2**53 + 1, floats))["x"][:]
    for whole in (2**11 + 1, 2**24 + 1, 2**53):
        assert ds.query(form.format(whole, floats))["x"][0].tolist() == [whole, 0, 0]
