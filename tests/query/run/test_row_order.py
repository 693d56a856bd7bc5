"""The same query of the same version gives the same rows in the same order, on any machine.

The lake has so many rows that DuckDB splits them among its threads, and few values, so that
sorting has ties and groups are large. The expected results are computed in plain Python.
"""

from collections import Counter
from itertools import groupby

import numpy as np
import pytest

import deeplake_lite as dl

ROWS = 300_000
"""With fewer rows, DuckDB may not use several threads."""


@pytest.fixture(scope="module")
def columns():
    chance = np.random.default_rng(0)
    k = chance.integers(0, 3_000, ROWS)
    return {
        "id": np.arange(ROWS),
        "k": k,
        "g": chance.integers(0, 7, ROWS),
        "v": np.stack([k, k % 5], axis=1).astype("float32"),
    }


@pytest.fixture(scope="module")
def lake(columns):
    schema = {"id": "int64", "k": "int64", "g": "int64", "v": dl.Array("float32", (2,))}
    ds = dl.create("memory://row-order", schema, overwrite=True)
    ds.append(columns)
    ds.commit("many rows of few values")
    return ds


def first_rows(keys):
    """Return the position of each key's first row, in order."""
    return np.sort(np.unique(keys, return_index=True)[1])


def members(columns, key):
    """Return the positions of each group's rows, groups by their first row."""
    order = np.argsort(columns[key], kind="stable")
    groups = [list(rows) for _, rows in groupby(order, key=lambda row: columns[key][row])]
    return sorted(groups, key=lambda rows: rows[0])


IN_ORDER = {
    "filter": ("SELECT id WHERE g < 3", lambda c: np.flatnonzero(c["g"] < 3)),
    "in a query": (
        "SELECT id WHERE k IN (SELECT k FROM dataset WHERE id % 1000 = 0)",
        lambda c: np.flatnonzero(np.isin(c["k"], c["k"][::1000])),
    ),
    "exists": (
        "SELECT id FROM dataset AS a WHERE EXISTS (SELECT 1 FROM dataset AS b WHERE b.k = a.g)",
        lambda c: np.flatnonzero(np.isin(c["g"], c["k"])),
    ),
    "ties of ORDER BY": ("SELECT id ORDER BY g", lambda c: np.argsort(c["g"], kind="stable")),
    "ties of a query's ORDER BY": (
        "SELECT id FROM (SELECT id, g FROM dataset WHERE id % 2 = 0) ORDER BY g",
        lambda c: 2 * np.argsort(c["g"][::2], kind="stable"),
    ),
    "descending": ("SELECT id ORDER BY g DESC", lambda c: np.argsort(-c["g"], kind="stable")),
    "join": (
        "SELECT a.id FROM dataset AS a JOIN (SELECT DISTINCT k FROM dataset) AS b ON a.k = b.k",
        lambda c: c["id"],
    ),
    "join of the larger side first": (
        "SELECT b.id FROM (SELECT DISTINCT g FROM dataset) AS a JOIN dataset AS b ON a.g = b.g",
        lambda c: np.concatenate(members(c, "g")),
    ),
    "left join": (
        "SELECT a.id FROM dataset AS a LEFT JOIN dataset AS b ON a.id = b.id AND b.g = 1",
        lambda c: c["id"],
    ),
    "distinct": ("SELECT DISTINCT k", lambda c: c["k"][first_rows(c["k"])]),
    "distinct on": ("SELECT DISTINCT ON (k) id", lambda c: first_rows(c["k"])),
    "distinct tensors": ("SELECT DISTINCT v", lambda c: c["v"][first_rows(c["k"])]),
    "groups": ("SELECT k, COUNT(*) AS n GROUP BY k", lambda c: c["k"][first_rows(c["k"])]),
    "groups by a tensor": ("SELECT FIRST(id) AS i GROUP BY v", lambda c: first_rows(c["k"])),
    "groups in ties": (
        "SELECT FIRST(id) AS i GROUP BY k ORDER BY k % 5",
        lambda c: np.array(sorted(first_rows(c["k"]), key=lambda row: c["k"][row] % 5)),
    ),
    "groups of a join": (
        "SELECT a.k FROM dataset AS a JOIN dataset AS b ON a.id = b.id GROUP BY a.k",
        lambda c: c["k"][first_rows(c["k"])],
    ),
    "first": ("SELECT FIRST(id) AS i GROUP BY k", lambda c: first_rows(c["k"])),
    "last": (
        "SELECT LAST(id) AS i GROUP BY k",
        lambda c: np.array([rows[-1] for rows in members(c, "k")]),
    ),
    "first in another order": (
        "SELECT FIRST(id ORDER BY g) AS i GROUP BY k",
        lambda c: np.array([by_g(rows, c)[0] for rows in members(c, "k")]),
    ),
    "last in another order": (
        "SELECT LAST(id ORDER BY g) AS i GROUP BY k",
        lambda c: np.array([by_g(rows, c)[-1] for rows in members(c, "k")]),
    ),
    "tensor of the last in another order": (
        "SELECT LAST(v ORDER BY g) AS i GROUP BY k % 5",
        lambda c: c["v"][[by_g(rows, c)[-1] for rows in members(c | {"m": c["k"] % 5}, "m")]],
    ),
    "any in another order": (
        "SELECT ANY_VALUE(id ORDER BY g DESC) AS i GROUP BY k",
        lambda c: np.array([min(rows, key=lambda row: -c["g"][row]) for rows in members(c, "k")]),
    ),
    "first of equals": (
        "SELECT ARG_MAX(id, g) AS i GROUP BY k",
        lambda c: np.array([max(rows, key=lambda row: c["g"][row]) for rows in members(c, "k")]),
    ),
    "first of equals by least": (
        "SELECT MIN_BY(id, g) AS i GROUP BY k",
        lambda c: np.array([min(rows, key=lambda row: c["g"][row]) for rows in members(c, "k")]),
    ),
    "tensor of the first of equals": (
        "SELECT ARG_MAX(v, g) AS i GROUP BY k",
        lambda c: c["v"][first_rows(c["k"])],
    ),
    "the most frequent of equals": (
        "SELECT MODE(g) AS i GROUP BY k",
        lambda c: np.array([most_frequent(c["g"][rows]) for rows in members(c, "k")]),
    ),
    "row numbers in ties": (
        "SELECT ROW_NUMBER() OVER (PARTITION BY k ORDER BY g) AS n WHERE k < 50",
        lambda c: numbers_in_ties(c),
    ),
    "lag in ties": (
        "SELECT LAG(id, 1, -1) OVER (ORDER BY g) AS n",
        lambda c: lagged(np.argsort(c["g"], kind="stable")),
    ),
    "union": (
        "SELECT k UNION SELECT id AS k FROM dataset WHERE id < 10000",
        lambda c: unique([*c["k"], *range(10_000)]),
    ),
    "union of tensors": ("SELECT v UNION SELECT v", lambda c: c["v"][first_rows(c["k"])]),
    "union all": ("SELECT id UNION ALL SELECT k", lambda c: np.concatenate([c["id"], c["k"]])),
    "intersect": (
        "SELECT k INTERSECT SELECT id AS k FROM dataset WHERE id < 1500",
        lambda c: np.array([k for k in unique(c["k"]) if k < 1500]),
    ),
    "except": (
        "SELECT k EXCEPT SELECT id AS k FROM dataset WHERE id < 1500",
        lambda c: np.array([k for k in unique(c["k"]) if k >= 1500]),
    ),
    "named query, twice": (
        """WITH q AS (SELECT k, COUNT(*) AS n FROM dataset GROUP BY k)
        SELECT a.k FROM q AS a JOIN q AS b ON a.k = b.k""",
        lambda c: c["k"][first_rows(c["k"])],
    ),
    "limit of a join": (
        "SELECT a.id FROM dataset AS a JOIN dataset AS b ON a.id = b.id LIMIT 5",
        lambda c: c["id"][:5],
    ),
    "items in ties": (
        "SELECT UNNEST([id, id + 1, id + 2]) AS i ORDER BY g",
        lambda c: (np.argsort(c["g"], kind="stable")[:, None] + np.arange(3)).ravel(),
    ),
    "items of several lists": (
        "SELECT UNNEST([id, id + 1]) AS i, UNNEST([k]) AS k WHERE k IN (SELECT k FROM dataset)",
        lambda c: (c["id"][:, None] + np.arange(2)).ravel(),
    ),
    "items of tensors": (
        "SELECT UNNEST(v) AS x ORDER BY g",
        lambda c: c["v"][np.argsort(c["g"], kind="stable")].ravel(),
    ),
    "items of groups": (
        "SELECT UNNEST(LIST(id)) AS i GROUP BY k",
        lambda c: np.concatenate(members(c, "k")),
    ),
    "items of a join": (
        "SELECT UNNEST(a.v) AS x FROM dataset AS a JOIN dataset AS b ON a.id = b.id",
        lambda c: c["v"].ravel(),
    ),
    "arranged": (
        "SELECT id ARRANGE BY k",
        lambda c: np.concatenate(members(c, "k")),
    ),
}


def by_g(rows, columns):
    """Return rows sorted by g, and equal ones by position."""
    return sorted(rows, key=lambda row: columns["g"][row])


def unique(values):
    return np.array(list(dict.fromkeys(values)))


def most_frequent(values):
    return Counter(values.tolist()).most_common(1)[0][0]


def lagged(order):
    out = np.full(len(order), -1)
    out[order[1:]] = order[:-1]
    return out


def numbers_in_ties(columns):
    rows = np.flatnonzero(columns["k"] < 50)
    order = rows[np.lexsort([columns["g"][rows], columns["k"][rows]])]
    numbers, seen = {}, {}
    for row in order:
        key = columns["k"][row]
        seen[key] = numbers[row] = seen.get(key, 0) + 1
    return np.array([numbers[row] for row in rows])


@pytest.mark.parametrize("name", IN_ORDER)
def test_rows_are_in_the_order_of_their_sources(lake, columns, name):
    query, expected = IN_ORDER[name]
    view = lake.query(query)
    np.testing.assert_array_equal(view[view.columns[0]][:], expected(columns))


LISTS = {
    "LIST(id)": lambda rows, _: rows,
    "ARRAY_AGG(g)": lambda rows, c: c["g"][rows].tolist(),
    "LIST(DISTINCT g)": lambda rows, c: sorted(set(c["g"][rows].tolist())),
    "STRING_AGG(CAST(id AS TEXT), ',')": lambda rows, _: ",".join(map(str, rows)),
    "LIST(v)": lambda rows, c: c["v"][rows].tolist(),
    "LIST(id ORDER BY g)": lambda rows, c: by_g(rows, c),
    "LIST(id ORDER BY g DESC)": lambda rows, c: sorted(rows, key=lambda row: -c["g"][row]),
    "ARRAY_AGG(v ORDER BY g)": lambda rows, c: c["v"][by_g(rows, c)].tolist(),
    "STRING_AGG(CAST(id AS TEXT), ',' ORDER BY g)": lambda rows, c: ",".join(
        map(str, by_g(rows, c))
    ),
    "LISTAGG(id, ',') WITHIN GROUP (ORDER BY g)": lambda rows, c: ",".join(map(str, by_g(rows, c))),
    "LIST(DISTINCT g ORDER BY g DESC)": lambda rows, c: sorted({*c["g"][rows].tolist()})[::-1],
    "LIST(id ORDER BY g) FILTER (WHERE g > 4)": (
        lambda rows, c: [r for r in by_g(rows, c) if c["g"][r] > 4] or None
    ),
    "ARG_MIN(id, g, 3)": lambda rows, c: by_g(rows, c)[:3],
    "MIN_BY(id, g, 40)": lambda rows, c: by_g(rows, c)[:40],
    "ARG_MAX(id, g, 3)": lambda rows, c: sorted(rows, key=lambda row: -c["g"][row])[:3],
    "ARG_MIN_NULLS_LAST(id, g, 3)": lambda rows, c: by_g(rows, c)[:3],
    "ARG_MAX_NULLS_LAST(id, g, 3)": lambda rows, c: sorted(rows, key=lambda r: -c["g"][r])[:3],
    "LIST(id) FILTER (WHERE g = 2)": lambda rows, c: [r for r in rows if c["g"][r] == 2] or None,
}


@pytest.mark.parametrize("call", LISTS)
def test_values_of_a_group_are_in_the_order_of_its_rows(lake, columns, call):
    result = lake.query(f"SELECT {call} AS x GROUP BY k LIMIT 200")["x"][:]
    for value, rows in zip(result, members(columns, "k")[:200], strict=True):
        expected = LISTS[call]([int(row) for row in rows], columns)
        plain = value if value is None or isinstance(value, str) else np.array(value).tolist()
        assert plain == expected


def test_values_of_a_window_are_in_the_order_of_its_rows(lake, columns):
    result = lake.query("SELECT LIST(id) OVER (PARTITION BY k) AS x WHERE k < 20")["x"][:]
    groups = {rows[0]: rows for rows in members(columns, "k")}
    for value in result:
        assert list(value) == groups[value[0]]


FRAMES = {
    "": lambda of_row, of_other: of_other <= of_row,
    "RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING": lambda row, other: other >= row,
    "RANGE BETWEEN 1 PRECEDING AND CURRENT ROW": lambda row, other: row - 1 <= other <= row,
    "GROUPS BETWEEN CURRENT ROW AND CURRENT ROW": lambda row, other: row == other,
}
"""Frames whose rows depend on g, and whether one with another g belongs to a row's frame."""

OVER = {
    "FIRST_VALUE(id)": lambda rows: rows[0],
    "LAST_VALUE(id)": lambda rows: rows[-1],
    "NTH_VALUE(id, 2)": lambda rows: rows[1] if len(rows) > 1 else None,
    "FIRST(id)": lambda rows: rows[0],
    "LAST(id)": lambda rows: rows[-1],
    "ANY_VALUE(id)": min,
    "ARG_MAX(id, k)": min,
    "LIST(id)": lambda rows: rows,
    "STRING_AGG(id, ',')": lambda rows: ",".join(map(str, rows)),
    "MODE(id % 2)": lambda rows: most_frequent(np.array(rows) % 2),
}


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("call", OVER)
def test_values_of_a_frame_are_in_the_order_of_the_window(lake, columns, call, frame, named):
    window = f"PARTITION BY k ORDER BY g {frame}"
    text = f"SELECT {call} OVER ({window}) AS x"
    if named:
        window = f"w AS (PARTITION BY k), w2 AS (w ORDER BY g {frame})"
        text = f"SELECT {call} OVER w2 AS x FROM dataset WINDOW {window}"
    result = lake.query(text)["x"][:]
    for rows in members(columns, "k")[:20]:
        for row in rows:
            of_row = columns["g"][row]
            framed = [r for r in by_g(rows, columns) if FRAMES[frame](of_row, columns["g"][r])]
            value = result[row]
            plain = list(map(int, value)) if isinstance(value, list) else value
            expected = OVER[call]([int(r) for r in framed])
            assert (None if plain is np.ma.masked else plain) == expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [("LIST(g) OVER (ORDER BY COUNT(*))", [[1], [1, 3, 2], [1, 3, 2]]),
     ("LAST_VALUE(g) OVER (ORDER BY COUNT(*))", [1, 2, 2]),
     ("ARG_MAX(g, COUNT(*)) OVER ()", [3, 3, 3]),
     ("ROW_NUMBER() OVER (ORDER BY COUNT(*))", [1, 3, 2])],
)  # fmt: skip
def test_windows_over_groups_have_the_order_of_the_groups(make_lake, call, expected):
    ds = make_lake({"g": "int64"}, g=[3, 1, 2, 3, 2])
    result = ds.query(f"SELECT g, {call} AS x GROUP BY g ORDER BY COUNT(*), g")["x"][:]
    plain = [value if isinstance(value, list) else int(value) for value in result]
    assert plain == expected


PAIRS = {
    "two sources": "SELECT a.id, b.range FROM dataset AS a, range(3) AS b",
    "three sources": "SELECT a.range, c.range, b.id FROM range(2) AS a, dataset b, range(5) AS c",
    "a query": "SELECT a.id, b.range FROM (SELECT id ORDER BY id DESC LIMIT 5) AS a, range(9) AS b",
    "no row": "SELECT a.id, b.id FROM dataset AS a, (SELECT id WHERE id < 0) AS b",
    "a row": "SELECT a.id, b.id FROM (SELECT id WHERE id = 7) AS a, dataset AS b",
    "a condition": "SELECT a.id, b.range FROM dataset AS a, range(9) AS b WHERE a.id % 5 = b.range",
    "a window": "SELECT a.id, COUNT(*) OVER () AS n FROM dataset AS a, range(3) AS b",
    "an aggregate": "SELECT COUNT(*) AS n FROM dataset AS a, range(3) AS b",
    "lists": "SELECT a.id, UNNEST(range(b.range)) AS n FROM dataset AS a, range(3) AS b",
    "other pairs": "SELECT DISTINCT b.range, a.id // 9 AS n FROM dataset AS a, range(3) AS b",
}


@pytest.mark.parametrize("end", ["LIMIT 4", "LIMIT 4 OFFSET 3", "LIMIT 0", "OFFSET 5"])
@pytest.mark.parametrize("text", PAIRS)
def test_limit_and_offset_select_from_all_pairs(lake, text, end):
    ds = lake[:60]
    words = end.split()
    start = int(words[-1]) if "OFFSET" in words else 0
    stop = start + int(words[1]) if "LIMIT" in words else None
    result = ds.query(f"{PAIRS[text]} {end}").to_arrow()
    assert result.to_pylist() == ds.query(PAIRS[text]).to_arrow().to_pylist()[start:stop]


def test_first_pairs_are_found_among_more_than_can_be_enumerated():
    ds = dl.create("memory://first-pairs", {"x": "int32"})
    result = ds.query(
        "SELECT a.range AS a, b.range AS b FROM range(1000000) AS a, range(1000000) AS b "
        "LIMIT 3 OFFSET 2"
    )
    assert result.to_arrow().to_pylist() == [{"a": 0, "b": b} for b in (2, 3, 4)]


@pytest.mark.parametrize("operation", ["UNION", "EXCEPT", "INTERSECT", "EXCEPT ALL"])
def test_numbers_next_to_strings_are_combined_as_strings(operation):
    ds = dl.create(f"memory://text-{operation}", {"x": "int32", "t": "text"})
    ds.append({"x": [1, 2, 3], "t": ["2", "a", "1"]})
    result = ds.query(f"SELECT x {operation} SELECT t AS x")["x"][:]
    expected = {"UNION": ["1", "2", "3", "a"], "INTERSECT": ["1", "2"]}
    assert result == expected.get(operation, ["3"])
