"""Random conditions over a lake of all types partition its rows into true, false and null.

Each condition is a random tree over all columns. Whatever it means, the rows for which it is true,
false and null make up all rows, each once, in every clause that takes a condition; and the same
aggregate, group or join written in two ways has one result.
"""

from __future__ import annotations

from collections import Counter
from itertools import chain, product
from random import Random
from uuid import uuid4

import numpy as np
import pytest

import deeplake_lite as dl

NAN = float("nan")
COLUMNS = {
    "i": (dl.Scalar("int8", nullable=True), [1, 0, -128, 127, None]),
    "u": (dl.Scalar("uint64", nullable=True), [0, 1, 2**64 - 1, 2**63, None]),
    "f": (dl.Scalar("float32", nullable=True), [0.0, -0.0, NAN, float("inf"), 1.5, None]),
    "b": (dl.Scalar("bool", nullable=True), [True, False, None]),
    "t": (dl.Text(nullable=True), ["", "a", "b", "it's", "1", None]),
    "y": (dl.Bytes(nullable=True), [b"", b"a", b"\xff", None]),
    "j": (
        dl.Json(nullable=True),
        [True, 1, 1.0, "1", "a", {"a": 1, "b": 2}, {"b": 2, "a": 1.0}, [1, None], {}, None],
    ),
    "c": (dl.ClassLabel(["a", "b", "c"], nullable=True), ["a", "b", "c", None]),
    "d": (
        dl.Scalar("datetime64[D]", nullable=True),
        [np.datetime64("2020-01-01"), np.datetime64("1960-02-29"), None],
    ),
    "s": (
        dl.Scalar("timedelta64[s]", nullable=True),
        [np.timedelta64(0, "s"), np.timedelta64(10**10, "s"), np.timedelta64(-1, "s"), None],
    ),
    "v": (dl.Embedding(2, nullable=True), [[0.0, 1], [-0.0, 1], [1, 2], None]),
    "r": (dl.Array("float64", (None,), nullable=True), [[0.0], [-0.0], [], [NAN, 1], None]),
    "m": (dl.ClassLabel(["a", "b"], multiple=True, nullable=True), [["a"], ["a", "b"], [], None]),
    "w": (dl.Sequence("text", nullable=True), [["a"], ["b", ""], [], None]),
    "z": (dl.Scalar("complex64", nullable=True), [1, 0, 1 + 2j, None]),
}

ATOMS = [
    'i = 1', 'i < u', 'i + 1 > 2', 'i IN (0, 1, NULL)', 'u > 9223372036854775807', 'u = i',
    'f = 0', 'f <> f', 'f < 1.5', 'ISNAN(f)', 'f IN (0, 1.5)', 'f BETWEEN -1 AND 1', 'b',
    'b = TRUE', "t = 'a'", "t < 'b'", "t LIKE '%a%'", "t IN ('', 'a')", 't = c', 'LEN(t) = 1',
    'y = $y', 'y < $y', 'j = 1', "j = '1'", 'j = TRUE', 'j = t', 'j = i', "j['a'] = 1",
    "j['a'] IS NULL", 'j = $o', 'j < 2', "j IN (1, 'a', TRUE)", 'j = b', 'j = c', "c = 'a'",
    "c < 'b'", "c IN ('a', 'c')", 'c = t', "c <> 'b'", "d > '2000-01-01'", 'd = $d', 'd + s > d',
    's > $s', 's + s = s', 'ANY(v = 0)', 'ALL(v < 2)', 'AMEAN(v) > 0.5', 'v[0] = 0', 'ANY(r = 0)',
    'LEN(r) > 0', 'r[0] = 0', 'r[0] IS NULL', "CONTAINS(m, 'a')", "m[0] = 'a'", 'm[0] = c',
    'LEN(w) = 0', "CONTAINS(w, 'a')", 'w[0] = t', 'z = 1', 'z = k', 'HASH(v) = HASH($v)',
    'HASH(j) = HASH(i)', 'HASH(t) = HASH(c)', 'v IS NULL', 'r IS NOT NULL', 'z IS NULL',
    'm IS NULL', 'j IS NULL', 'w IS NULL', 'i = (SELECT MAX(i) FROM dataset)',
    't IN (SELECT t FROM dataset WHERE k < 5)', 'j IN (SELECT j FROM dataset WHERE k < 5)',
    'f = ANY (SELECT f FROM dataset)', 'c IN (SELECT t FROM dataset)',
    'EXISTS (SELECT 1 FROM dataset AS o WHERE o.i > 0)', 'j IS NOT DISTINCT FROM i',
    'f IS DISTINCT FROM 0', 'NULLIF(j, 1) IS NULL', "COALESCE(t, c) = 'a'",
    'CASE WHEN b THEN i ELSE u END > 0', "CASE c WHEN 'a' THEN t ELSE 'b' END = 'b'",
]  # fmt: skip
PARAMS = {
    "y": b"a",
    "o": {"a": 1.0, "b": 2},
    "d": np.datetime64("2020-01-01"),
    "s": np.timedelta64(5, "s"),
    "v": np.array([0, 1]),
}
ROWS = 40


def make_lake(random):
    ds = dl.create(
        f"memory://{uuid4().hex}", {"k": "int32", **{n: t for n, (t, _) in COLUMNS.items()}}
    )
    ds.append({"k": range(ROWS), **{n: random.choices(v, k=ROWS) for n, (_, v) in COLUMNS.items()}})
    ds.commit()
    return ds


def condition(random, depth=0):
    """Return a random condition."""
    kind = random.randrange(6 if depth < 3 else 1)
    match kind:
        case 0 | 1:
            return random.choice(ATOMS)
        case 2:
            return f"NOT ({condition(random, depth + 1)})"
        case 3:
            return f"({condition(random, depth + 1)}) IS NOT TRUE"
    sign = random.choice(["AND", "OR"])
    return f"({condition(random, depth + 1)}) {sign} ({condition(random, depth + 1)})"


def ask(ds, text):
    params = {name: value for name, value in PARAMS.items() if f"${name}" in text}
    return ds.query(text, params)


def plain(value):
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float) and value == 0:
        return 0.0
    return tuple(map(plain, value)) if isinstance(value, list) else value


def bag(view):
    """Return the rows of a result, counted."""
    names = view.columns
    return Counter(repr([plain(row[name]) for name in names]) for row in view)


def parts(p):
    return p, f"NOT ({p})", f"({p}) IS NULL"


def check_rows(ds, p):
    result = [ask(ds, f"SELECT k WHERE {part}")["k"][:].tolist() for part in parts(p)]
    assert sorted([*chain.from_iterable(result)]) == list(range(ROWS))
    return result


def check_clauses(ds, p, found):
    """Compare the same condition in other clauses with WHERE."""
    holds = found[0]
    assert ask(ds, f"SELECT k, {p} AS p")["k"][:].tolist() == list(range(ROWS))
    case = ask(ds, f"SELECT CASE WHEN {p} THEN 1 WHEN NOT ({p}) THEN 2 ELSE 3 END AS n")["n"][:]
    assert [np.flatnonzero(case == n).tolist() for n in (1, 2, 3)] == found
    count = ask(ds, f"SELECT COUNT(*) FILTER (WHERE {p}) AS n")["n"][:]
    assert count.tolist() == [len(holds)]
    joined = ask(ds, f"SELECT k FROM dataset JOIN RANGE(1) AS o ON ({p}) ORDER BY k")
    assert joined["k"][:].tolist() == holds
    inner = ask(ds, f"SELECT k FROM (SELECT * FROM dataset WHERE {p}) ORDER BY k")
    assert inner["k"][:].tolist() == holds
    having = ask(
        ds, f"SELECT k FROM (SELECT *, {p} AS p FROM dataset) GROUP BY k HAVING FIRST(p) ORDER BY k"
    )
    assert having["k"][:].tolist() == holds
    qualify = ask(
        ds, f"SELECT k FROM dataset QUALIFY ROW_NUMBER() OVER (PARTITION BY k) = 1 AND ({p})"
    )
    assert sorted(qualify["k"][:].tolist()) == holds


def check_column(ds, p, name):
    """Compare groups, distinct rows, unions and counts of a part with each other."""
    where = f"WHERE {p}"
    groups = ask(ds, f"SELECT {name}, COUNT(*) AS n {where} GROUP BY {name}")
    assert sum(groups["n"][:].tolist()) == len(ask(ds, f"SELECT k {where}"))
    values = bag(ask(ds, f"SELECT {name} FROM dataset {where} GROUP BY {name}"))
    assert bag(ask(ds, f"SELECT DISTINCT {name} {where}")).total() == values.total()
    union = ask(ds, f"SELECT {name} FROM dataset {where} UNION SELECT {name} FROM dataset {where}")
    assert len(union) == values.total()
    same = ask(
        ds, f"SELECT {name} FROM dataset {where} INTERSECT SELECT {name} FROM dataset {where}"
    )
    assert len(same) == values.total()
    assert not len(ask(ds, f"SELECT {name} FROM dataset {where} EXCEPT SELECT {name} FROM dataset"))
    distinct, present = (
        ask(ds, f"SELECT COUNT({what}) AS n {where}")["n"][:].tolist()[0]
        for what in (f"DISTINCT {name}", name)
    )
    nulls = len(ask(ds, f"SELECT k WHERE ({p}) AND {name} IS NULL"))
    assert distinct + bool(nulls) == values.total()
    assert present + nulls == len(ask(ds, f"SELECT k {where}"))
    whole = [bag(ask(ds, f"SELECT {name} WHERE {part}")) for part in parts(p)]
    assert sum(whole, Counter()) == bag(ask(ds, f"SELECT {name}"))


def check_trial(seed):
    random = Random(seed)
    ds = make_lake(random)
    for _ in range(3):
        p, name = condition(random), random.choice([*COLUMNS])
        try:
            result = check_rows(ds, p)
            check_clauses(ds, p, result)
            check_column(ds, p, name)
        except (AssertionError, dl.LakeError) as error:
            raise AssertionError(f"seed {seed}, column {name}, condition {p}") from error


@pytest.mark.parametrize("seed", range(4))
def test_partitions_of_a_lake_make_up_the_lake(seed):
    check_trial(seed)


@pytest.mark.parametrize("name", COLUMNS)
def test_each_column_is_grouped_and_compared_the_same_in_every_clause(name):
    check_column(make_lake(Random(name)), "i = 1", name)


STEPS = [
    "AMEAN(v) > 0.6",  # computed beforehand
    "k IN (SELECT k FROM dataset WHERE k > 30)",  # left to the query
    "i < 100",  # checked before anything is computed
    "AMEAN(v) + k > 3",  # a function that the query calls
]


@pytest.mark.parametrize("size", [1, 5])
def test_conditions_of_all_steps_are_combined(size):
    ds = make_lake(Random(1))
    alone = [set(ask(ds, f"SELECT k WHERE {step}")["k"][:].tolist()) for step in STEPS]
    for chosen in product([False, True], repeat=len(STEPS)):
        if not any(chosen):
            continue
        p = " AND ".join(step for step, expected in zip(STEPS, chosen, strict=True) if expected)
        rows = sorted(set.intersection(*(a for a, w in zip(alone, chosen, strict=True) if w)))
        assert ask(ds, f"SELECT k WHERE {p}")["k"][:].tolist() == rows, p
        assert ask(ds, f"SELECT k WHERE {p} LIMIT {size}")["k"][:].tolist() == rows[:size], p
