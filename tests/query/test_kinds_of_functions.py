"""What functions of lists, structs and maps return compares as the column that went in does."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryError, QueryTypeError

LARGE = 2**53 + 1


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema = {
        "id": "int64", "i": "int64", "u": "uint64", "f": "float64", "t": "datetime64[s]",
        "td": "timedelta64[s]", "j": "json", "s": "text", "h": "float16", "e": dl.Embedding(2),
        "label": dl.ClassLabel(["z", "a"]),
    }  # fmt: skip
    ds = dl.create("memory://kinds-of-functions", schema)
    ds.append(
        {
            "id": [0, 1, 2], "i": [LARGE, 3, 4], "u": [2**64 - 1, 3, 4], "f": [np.nan, 2.0, -0.0],
            "t": ["2026-01-02T00:00:00", "2026-01-02T00:00:01", "2026-01-02T00:00:00"],
            "td": np.array([1, 2, 3], "m8[s]"), "j": ["1", 1, "ab"], "s": ["a", "b", "c"],
            "h": [1, 2, 3], "e": np.ones((3, 2)), "label": [0, 1, 0],
        }
    )  # fmt: skip
    ds.commit("rows")
    return ds


FORMS = [
    "{}", "[{}][0]", "LIST_FIRST([{}])", "LIST_LAST([{}])", "LIST_MAX([{}])", "LIST_MODE([{}])",
    "LIST_ANY_VALUE([{}])", "LIST_AGGREGATE([{}], 'max')", "LIST_RESIZE([{}], 2)[0]",
    "LIST_VALUE({})[0]", "ARRAY_VALUE({})[0]", "LIST_ZIP([{}], [1])[0][0]", "ROW({}, 1)[0]",
    "LIST_REVERSE([{}])[0]", "{{'a': {}}}.a", "STRUCT_EXTRACT({{'a': {}}}, 'a')",
    "STRUCT_EXTRACT_AT({{'a': {}}}, 1)", "STRUCT_VALUES({{'a': {}}})[0]",
    "STRUCT_CONCAT({{'a': {}}}, {{'b': 1}}).a", "MAP(['a'], [{}])['a']",
    "MAP_EXTRACT_VALUE(MAP(['a'], [{}]), 'a')", "MAP_EXTRACT(MAP(['a'], [{}]), 'a')[0]",
    "MAP_VALUES(MAP(['a'], [{}]))[0]", "MAP_ENTRIES(MAP(['a'], [{}]))[0].value",
    "LIST_TRANSFORM([{}], x -> x)[0]", "CASE WHEN id > 9 THEN NULL ELSE LIST_FIRST([{}]) END",
    "COALESCE(NULL, LIST_FIRST([{}]))",
]  # fmt: skip
ORDERED = [form for form in FORMS if "MAX" not in form and "max" not in form]
OF_NUMBERS = ["FDIV({}, 1)", "ADD({}, 0)", "SUBTRACT({}, 0)", "MULTIPLY({}, 1)", "LIST_SUM([{}])"]
CLAUSES = [
    "SELECT id WHERE {}", "SELECT id FROM (SELECT id, {} AS c) WHERE c",
    "SELECT id GROUP BY id HAVING FIRST({})", "WITH w AS (SELECT * WHERE {}) SELECT id FROM w",
]  # fmt: skip


def rows(ds, condition):
    """Return the rows where a condition holds, which are the same in another clause."""
    clauses = CLAUSES[0], CLAUSES[1 + len(condition) % 3]
    [found] = {tuple(sorted(ds.query(c.format(condition))["id"][:].tolist())) for c in clauses}
    return list(found)


@pytest.mark.parametrize("form", FORMS + OF_NUMBERS)
def test_nan_is_neither_equal_nor_greater(ds, form):
    of = form.format("f")
    for x in (of, f"{of} + 0", f"{of} * 1"):
        assert rows(ds, f"{x} > 1") == [1], x
        assert rows(ds, f"{x} = {x}") == [1, 2], x
        assert rows(ds, f"{x} IN (2, 7)") == [1], x
    assert ds.query(f"SELECT id ORDER BY {of} + 0 DESC")["id"][:].tolist() == [1, 2, 0]


@pytest.mark.parametrize("of", ["QUANTILE_CONT(f, 0.5)", "WEIGHTED_AVG(f, 1)", "LIST_MAX(LIST(f))"])
def test_nan_of_an_aggregate_is_not_greater(ds, of):
    for x in (of, f"{of} + 0", f"CASE WHEN true THEN {of} END"):
        query = f"SELECT id GROUP BY id HAVING {x} > 1"
        assert ds.query(query)["id"][:].tolist() == [1], x


@pytest.mark.parametrize("form", FORMS)
def test_a_moment_beside_a_finer_text_is_not_rounded(ds, form):
    x = form.format("t")
    assert rows(ds, f"{x} = '2026-01-02T00:00:00.5'") == []
    assert rows(ds, f"{x} IN ('2026-01-02T00:00:00.5')") == []
    assert rows(ds, f"{x} < '2026-01-02T00:00:00.4'") == [0, 2]
    assert rows(ds, f"{x} BETWEEN '2026-01-02T00:00:00.4' AND '2026-01-02T00:00:00.6'") == []
    assert rows(ds, f"{x} = '2026-01-02T00:00:01'") == [1]


@pytest.mark.parametrize("form", ORDERED)
def test_json_compares_by_its_value(ds, form):
    x = form.format("j")
    assert ds.query(f"SELECT {x} AS x")["x"][:] == ["1", 1, "ab"]
    assert rows(ds, f"{x} = '1'") == [0]
    assert rows(ds, f"{x} IN ('1')") == [0]
    assert rows(ds, f"{x} = 1") == [1]
    assert rows(ds, f"{x} = 'ab'") == [2]
    assert rows(ds, f"LEN({x}) = 2") == [2]
    assert rows(ds, f"UPPER({x}) = 'AB'") == [2]
    assert rows(ds, f"{x} || 'x' = 'abx'") == [2]
    assert rows(ds, f"CAST({x} AS TEXT) = 'ab'") == [2]


@pytest.mark.parametrize(
    "of",
    [
        "LIST_VALUE(i, {})", "LIST_APPEND([i], {})", "LIST_PREPEND({}, [i])", "[i, {}]",
        "LIST_CONCAT([i], [{}])", "[i] || [{}]", "ARRAY_APPEND([i], {})", "[[i], [{}]]",
        "MAP([1, 2], LIST_VALUE(i, {}))", "COALESCE([i], [{}])",
        "CASE WHEN i > 1 THEN [i] ELSE [{}] END",
        "LIST_VALUE(LIST_FIRST([u]), {})", "LIST_VALUE([i], [{}])",
    ],
)  # fmt: skip
def test_integers_in_one_list_with_fractions_are_not_rounded(ds, of):
    for fraction, params in (("0.5", []), ("f", []), ("?", [0.5])):
        with pytest.raises(QueryTypeError, match="integers"):
            ds.query(f"SELECT {of.format(fraction)} AS x", params)["x"][:]
    for whole in ("7", "id"):
        x = ds.query(f"SELECT {of.format(whole)} AS x WHERE id = 0")["x"][0]
        assert str(LARGE) in str(x) or str(2**64 - 1) in str(x)


@pytest.mark.parametrize(
    "of",
    ["[{}]", "LIST_VALUE({})", "{{'a': {}}}", "ROW({}, 1)", "[[{}]]", "{{'a': [{}]}}", "[{} + 0]"],
)
def test_lists_and_structs_of_integers_do_not_compare_with_those_of_floats(ds, of):
    i, f = of.format("i"), of.format("f")
    for condition in (f"{i} = {f}", f"{i} <> {f}", f"{i} IN ({f})", f"{i} IS DISTINCT FROM {f}",
                      f"CASE {i} WHEN {f} THEN true END"):  # fmt: skip
        with pytest.raises(QueryTypeError, match="Lists and structs go together part by part"):
            ds.query(f"SELECT id WHERE {condition}")
    for both in ("UNION", "UNION ALL", "EXCEPT", "INTERSECT"):
        with pytest.raises(QueryError, match="Lists and structs go together part by part"):
            ds.query(f"SELECT {i} AS x {both} SELECT {f} AS x")
    assert ds.query(f"SELECT id WHERE {i} = {i}")["id"][:].tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("SELECT id GROUP BY id HAVING AVG(t) > '2026-01-02T00:00:00.5'", [1]),
        ("SELECT id GROUP BY id HAVING MEDIAN(t) = '2026-01-02'", [0, 2]),
        ("SELECT id WHERE t > (SELECT AVG(t))", [1]),
        ("SELECT id WHERE t > (SELECT MEDIAN(t))", [1]),
        ("SELECT id GROUP BY id HAVING MEDIAN(td) > INTERVAL 1 SECOND", [1, 2]),
        ("SELECT id GROUP BY id HAVING AVG(td) > INTERVAL 1 SECOND", [1, 2]),
        ("SELECT id GROUP BY id HAVING MEDIAN(s) > 'a'", [1, 2]),
        ("SELECT id FROM (SELECT id, AVG(t) AS v GROUP BY id ORDER BY v DESC, id)", [1, 0, 2]),
        ("SELECT id ORDER BY AVG(t) OVER (PARTITION BY id) DESC, id", [1, 0, 2]),
    ],
)
def test_means_and_medians_of_times_and_texts_compare(ds, query, ids):
    assert ds.query(query)["id"][:].tolist() == ids


@pytest.mark.parametrize("column", ["label", "h", "t", "td", "j", "i", "f", "s"])
def test_a_column_beside_null_stays_what_it_is(ds, column):
    values = list(ds[column][:])
    either = f"SELECT NULL AS x UNION ALL SELECT {column} AS x"
    for query in (
        f"SELECT {column} AS x UNION ALL SELECT NULL AS x",
        f"SELECT x FROM ({either}) ORDER BY x IS NULL",
    ):
        found = ds.query(query)["x"]
        assert type(found.htype) is type(ds[column].htype)
        assert getattr(found.htype, "dtype", "") == getattr(ds[column].htype, "dtype", "")
        assert str(list(found[:][:3])) == str(values)
        assert ds.query(f"SELECT COUNT(*) AS n FROM ({query}) WHERE x IS NULL")["n"][0] == 3


@pytest.mark.parametrize("of", ["AMAX(e)", "e[0]", "ANY(e > 0)", "L2_NORM(e)", "SUM(e)"])
def test_an_ellipsis_keeps_a_number_of_a_tensor(ds, of):
    assert ds.query(f"SELECT id WHERE {of}[...] = {of}")["id"][:].tolist() == [0, 1, 2]
