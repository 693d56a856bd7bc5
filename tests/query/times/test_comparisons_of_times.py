"""Comparisons of arrays of times with arrays, single times and constants, against NumPy."""

import datetime as dt
import operator
from itertools import product
from uuid import uuid4

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryTypeError

UNITS = ["D", "s", "ms", "us", "ns"]
DTYPES = [f"{kind}64[{unit}]" for kind in ("datetime", "timedelta") for unit in UNITS]
SIGNS = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
DAYS = [[3, 9], [4, None], [9, 3], [5, 5]]
"""Days since 1970, or days of a duration; None is NaT."""
SINGLE = [3, 4, None, 5]


def times(days, dtype):
    """Return days as times of a dtype."""
    kind = "M8[D]" if dtype.startswith("datetime") else "m8[D]"
    coarse = np.array(["NaT" if d is None else int(d) for d in np.ravel(days)], kind)
    return coarse.astype(dtype).reshape(np.shape(days))


def arrays_of(dtype):
    kinds = {"dense": (2,), "ragged": (None,), "any": None}
    result = {name: dl.Array(dtype, shape) for name, shape in kinds.items()}
    return {**result, "packed": dl.Array(dtype, (2,), "zstd")}


def lake(dtype):
    values = times(DAYS, dtype)
    single = dl.Scalar(dtype, nullable=True)
    schema = {"k": "int32", **arrays_of(dtype), "one": single, "seq": dl.Sequence(single)}
    ds = dl.create(f"memory://{uuid4().hex}", schema)
    rows = {**dict.fromkeys(arrays_of(dtype), values), "seq": [list(v) for v in values]}
    ds.append({"k": range(4), **rows, "one": times(SINGLE, dtype)})
    return ds, values


def read(ds, text, params=()):
    rows = ds.query(text, params)["y"][:]
    return [None if v is None or np.ma.is_masked(v) else np.asarray(v).tolist() for v in rows]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", arrays_of(DTYPES[0]))
def test_arrays_compare_with_arrays_and_single_times(dtype, name):
    ds, x = lake(dtype)
    one = times(SINGLE, dtype)[:, None]
    constant = x[0, 0].item() if "ns" not in dtype else x[0, 0]
    others = {"one": one, "x[0]": x[:, :1], "$a": x[:1], "$c": x[0, 0]}
    for sign, compare in SIGNS.items():
        cases = dict.fromkeys(arrays_of(dtype), x)
        cases |= {text.replace("x", name): value for text, value in others.items()}
        for other, value in cases.items():
            params = {"$a": {"a": x[0]}, "$c": {"c": constant}}.get(other, ())
            nulls = np.isnat(one[:, 0]) if other == "one" else np.zeros(4, bool)
            sides = [(f"{name} {sign} {other}", compare(x, value))]
            sides += [(f"{other} {sign} {name}", compare(value, x))]
            for text, expected in sides:
                rows = [None if n else row for n, row in zip(nulls, expected.tolist(), strict=True)]
                assert read(ds, f"SELECT {text} AS y", params) == rows, text


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", arrays_of(DTYPES[0]))
def test_comparisons_agree_in_every_clause(dtype, name):
    ds, x = lake(dtype)
    for sign, compare in SIGNS.items():
        result = compare(x, x[:, :1])
        text = f"{name} {sign} {name}[0]"
        assert (
            read(ds, f"SELECT k AS y WHERE ALL({text})") == np.flatnonzero(result.all(1)).tolist()
        )
        few = np.unique(result.any(1))
        assert read(ds, f"SELECT ANY({text}) AS y GROUP BY ANY({text}) ORDER BY y") == few.tolist()
        order = np.argsort(result.sum(1), kind="stable").tolist()
        assert read(ds, f"SELECT k AS y ORDER BY SUM({text}), k") == order
        assert read(ds, f"SELECT DISTINCT ALL({text}) AS y ORDER BY y") == sorted(
            set(result.all(1).tolist())
        )


MOMENTS = {
    "'1970-01-04'": 3, "'1970-01-05T01:00+01:00'": 4, "DATE '1970-01-10'": 9,
    "TIMESTAMP '1970-01-06 00:00:00'": 5, "['1970-01-04', '1970-01-10']": [3, 9],
}  # fmt: skip
SPANS = {"INTERVAL 3 DAY": 3, "INTERVAL 96 HOUR": 4, "(one + INTERVAL 0 DAY)": None}


@pytest.mark.parametrize("dtype", DTYPES)
def test_constants_in_the_query_string(dtype):
    ds, x = lake(dtype)
    cases = MOMENTS if dtype.startswith("d") else SPANS
    for (text, days), (sign, compare) in product(cases.items(), SIGNS.items()):
        wanted = times(SINGLE, dtype)[:, None] if days is None else times(np.array(days), dtype)
        for name in arrays_of(dtype):
            result = read(ds, f"SELECT {name} {sign} {text} AS y")
            pairs = zip(compare(x, wanted).tolist(), result, strict=True)
            assert all(row in (None, expected) for expected, row in pairs), (name, sign, text)
            assert result.count(None) == (days is None), (name, sign, text)


@pytest.mark.parametrize("dtype", DTYPES)
def test_in_operator_with_times(dtype):
    ds, x = lake(dtype)
    one = times(SINGLE, dtype)
    for name in arrays_of(dtype):
        expected = (x == one[:, None]).any(1).tolist()
        expected[2] = None
        assert read(ds, f"SELECT CONTAINS({name}, one) AS y") == expected
        text = "'1970-01-10'" if dtype.startswith("d") else "INTERVAL 9 DAY"
        assert read(ds, f"SELECT CONTAINS({name}, {text}) AS y") == [True, False, True, False]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("nullable", [False, True])
def test_in_operator_with_items_of_a_list(dtype, nullable):
    item = dl.Scalar(dtype, nullable=True)
    ds = dl.create(
        f"memory://listed-{dtype}-{nullable}",
        {"seq": dl.Sequence(item, nullable=nullable), "one": item, "text": "text"},
        overwrite=True,
    )
    days = np.array([9, 4], "timedelta64[D]")
    first, second = days if dtype.startswith("t") else np.datetime64(0, "D") + days
    ds.append(
        {
            "seq": [[first, None], [second], []],
            "one": [first, None, second],
            "text": ["1970-01-10"] * 3,
        }
    )
    text = "'1970-01-10'" if dtype.startswith("d") else "INTERVAL 9 DAY"
    assert read(ds, f"SELECT CONTAINS(seq, {text}) AS y") == [True, False, False]
    assert read(ds, "SELECT CONTAINS(seq, one) AS y") == [True, None, False]
    for other in ("text", "9"):
        with pytest.raises(dl.QueryTypeError, match="CONTAINS compares times with times"):
            read(ds, f"SELECT CONTAINS(seq, {other}) AS y")


def test_items_of_a_list_compare_with_a_string():
    ds, x = lake("datetime64[s]")
    for sign, compare in SIGNS.items():
        result = read(ds, f"SELECT seq {sign} '1970-01-05' AS y")
        truths = compare(x, np.datetime64("1970-01-05")).astype(object)
        truths[np.isnat(x)] = None  # a null item compares as null
        assert result == truths.tolist()


@pytest.mark.parametrize("units", [("D", "ns"), ("s", "ns"), ("s", "ms"), ("ms", "us"), ("D", "s")])
@pytest.mark.parametrize("kind", ["datetime64", "timedelta64"])
def test_different_units_compare_exactly(kind, units):
    coarse, fine = (f"{kind}[{unit}]" for unit in units)
    ratio = int(np.array(1, f"m8[{units[0]}]") // np.array(1, f"m8[{units[1]}]"))
    far = 10**15 // (86_400 if units[0] == "D" else 1)
    pairs = [(a, b) for a in (-2, 0, 2, far, -far) for b in (-2 * ratio, -1, 0, 1, 2 * ratio + 1)]
    ds = dl.create(
        f"memory://{uuid4().hex}", {"a": dl.Array(coarse, (1,)), "b": dl.Array(fine, None)}
    )
    a, b = (np.array(side, "int64")[:, None] for side in zip(*pairs, strict=True))
    ds.append({"a": a.view(coarse), "b": b.view(fine)})
    for sign, compare in SIGNS.items():
        expected = [[compare(a * ratio, b)] for a, b in pairs]
        assert read(ds, f"SELECT a {sign} b AS y") == expected
        assert read(ds, f"SELECT NOT (b {sign} a) AS y") == [
            [not compare(b, a * ratio)] for a, b in pairs
        ]


@pytest.mark.parametrize(
    ("dtype", "text", "message"),
    [
        ("datetime64[s]", "= 1", "times with times"),
        ("datetime64[s]", "< INTERVAL 1 DAY", "times with times"),
        ("datetime64[s]", "= 'yesterday'", "'yesterday' is not a time"),
        ("datetime64[s]", "= true", "times with times"),
        ("datetime64[s]", "= t", "times with times"),
        ("timedelta64[s]", "= '1 day'", "pass a timedelta"),
        ("timedelta64[s]", ">= DATE '2020-01-01'", "times with times"),
        ("datetime64[s]", "= $late", "no unit fits all"),
    ],
)
def test_times_do_not_compare_with_other_types(dtype, text, message):
    ds = dl.create(f"memory://{uuid4().hex}", {"x": dl.Array(dtype, (2,)), "t": dl.Text()})
    ds.append({"x": np.zeros((1, 2), dtype), "t": ["1970-01-01"]})
    late = [dt.datetime(3000, 1, 1), np.datetime64("2020-01-01T00:00:00.000000001")]
    params = {"late": late} if "$" in text else {}
    with pytest.raises(QueryTypeError, match=message):
        ds.query(f"SELECT x {text} AS y", params)
