"""Results of list, struct and map functions compare like the columns they come from."""

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
        "a": dl.Array("float64", (1,)),
        "label": dl.ClassLabel(["z", "a"]),
    }  # fmt: skip
    ds = dl.create("memory://kinds-of-functions", schema, overwrite=True)
    ds.append(
        {
            "id": [0, 1, 2], "i": [LARGE, 3, 4], "u": [2**64 - 1, 3, 4], "f": [np.nan, 2.0, -0.0],
            "t": ["2026-01-02T00:00:00", "2026-01-02T00:00:01", "2026-01-02T00:00:00"],
            "td": np.array([1, 2, 3], "m8[s]"), "j": ["1", 1, "ab"], "s": ["a", "b", "c"],
            "h": [1, 2, 3], "e": np.ones((3, 2)), "a": [[np.nan], [2.0], [-0.0]],
            "label": [0, 1, 0],
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
    """Return the rows where a condition holds, and check that another clause agrees."""
    clauses = CLAUSES[0], CLAUSES[1 + len(condition) % 3]
    [result] = {tuple(sorted(ds.query(c.format(condition))["id"][:].tolist())) for c in clauses}
    return list(result)


@pytest.mark.parametrize("form", FORMS + OF_NUMBERS)
def test_nan_is_neither_equal_nor_greater(ds, form):
    of = form.format("f")
    for x in (of, f"{of} + 0", f"{of} * 1"):
        assert rows(ds, f"{x} > 1") == [1], x
        assert rows(ds, f"{x} = {x}") == [1, 2], x
        assert rows(ds, f"{x} IN (2, 7)") == [1], x
    assert ds.query(f"SELECT id ORDER BY {of} + 0 DESC")["id"][:].tolist() == [1, 2, 0]


SOURCES = [
    "(SELECT id, f, t, j UNION ALL SELECT id, f, t, j WHERE false)",
    "(SELECT id, f, t, j UNION SELECT id, f, t, j)",
    "(SELECT id, f, t, j INTERSECT SELECT id, f, t, j)",
    "(SELECT id, f, t, j EXCEPT SELECT id + 10 AS id, f, t, j)",
    "(SELECT id, FIRST(f) AS f, FIRST(t) AS t, FIRST(j) AS j GROUP BY id)",
    "(SELECT id, MODE(f) AS f, MODE(t) AS t, ANY_VALUE(j) AS j GROUP BY id)",
    "(SELECT id, ARG_MAX(f, id) AS f, ARG_MAX(t, id) AS t, ARG_MIN(j, id) AS j GROUP BY id)",
    "(SELECT id, LIST(f)[0] AS f, LIST(t)[0] AS t, LIST(j)[0] AS j GROUP BY id)",
    """(SELECT id, LAG(f, 0) OVER w AS f, LAG(t, 0) OVER w AS t, LAG(j, 0) OVER w AS j
        WINDOW w AS (ORDER BY id))""",
    """(SELECT id, (SELECT b.f FROM ds AS b WHERE b.id = ds.id) AS f,
        (SELECT b.t FROM ds AS b WHERE b.id = ds.id) AS t,
        (SELECT b.j FROM ds AS b WHERE b.id = ds.id) AS j FROM ds)""",
    "(SELECT id, a[0] AS f, t, j)", "(SELECT id, MEAN(a) AS f, t, j)",
    "(SELECT * FROM (SELECT id, f, t, j UNION ALL SELECT id, f, t, j WHERE false) ORDER BY id)",
    "(SELECT x.id, x.f, y.t, y.j FROM ds AS x JOIN ds AS y ON x.id = y.id)",
    "(SELECT DISTINCT id, f, t, j)",
]  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
def test_columns_of_every_source_keep_their_kinds(ds, source):
    def ids(clause):
        return ds.query(f"SELECT id FROM {source} {clause}", sources={"ds": ds})["id"][:].tolist()

    for form in ("FDIV({}, 1)", "LIST_FIRST([{}])", "STRUCT_EXTRACT({{'a': {}}}, 'a')"):
        x = form.format("f")
        assert sorted(ids(f"WHERE {x} > 1")) == [1], x
        assert ids(f"ORDER BY {x} DESC") == [1, 2, 0], x
    for form in ("LIST_FIRST([{}])", "STRUCT_EXTRACT({{'a': {}}}, 'a')"):
        assert ids(f"WHERE {form.format('t')} = '2026-01-02T00:00:00.5'") == []
        assert sorted(ids(f"WHERE {form.format('t')} < '2026-01-02T00:00:00.4'")) == [0, 2]
        assert ids(f"WHERE {form.format('j')} = '1'") == [0]
        assert ids(f"WHERE LEN({form.format('j')}) = 2") == [2]


@pytest.mark.parametrize(
    "either",
    [
        "CASE WHEN id < 0 THEN {} ELSE {} END", "IF(id < 0, {}, {})",
        "COALESCE(CASE WHEN id < 0 THEN {} END, {})",
        "IFNULL(CASE WHEN id < 0 THEN {} END, {})", "LAG({}, 5, {}) OVER (ORDER BY id)", "union",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    ("of", "part"),
    [
        ("{{'k': {}}}", ".k"),
        ("[{}]", "[0]"),
        ("{{'k': [{}]}}", ".k[0]"),
        ("[[{}]]", "[0][0]"),
    ],
)
@pytest.mark.parametrize("first", ["CAST(id AS INTEGER)", "1", "NULL"])
def test_nan_in_a_part_of_either_value_is_not_greater(ds, either, of, part, first):
    sides = of.format(first), of.format("f")
    source = (
        f"(SELECT id, {sides[0]} AS c WHERE false UNION ALL SELECT id, {sides[1]} AS c)"
        if either == "union"
        else f"(SELECT id, {either.format(*sides)} AS c)"
    )
    assert ds.query(f"SELECT id FROM {source} WHERE c{part} > 1")["id"][:].tolist() == [1]
    assert ds.query(f"SELECT id FROM {source} ORDER BY c{part} DESC")["id"][:].tolist() == [1, 2, 0]


def test_parameters_of_lambdas_keep_their_kinds(ds):
    for test, expected in {
        "LIST_TRANSFORM([[f]], v -> LIST_FIRST(v) > 1)": [False, True, False],
        "LIST_TRANSFORM([{'k': f}], v -> LIST_FIRST([v.k]) > 1)": [False, True, False],
        "LIST_TRANSFORM([t], v -> LIST_FIRST([v]) = '2026-01-02T00:00:00.5')": [False] * 3,
        "LIST_TRANSFORM([j], v -> LIST_FIRST([v]) = '1')": [True, False, False],
        "LIST_TRANSFORM([s], v -> LIST_FIRST([v]) = 'b')": [False, True, False],
    }.items():
        result = ds.query(f"SELECT {test} AS x")["x"][:]
        assert [bool(x[0]) for x in result] == expected, test


@pytest.mark.parametrize(
    "look",
    [
        "MAP([{i}], ['v'])[{f}]", "MAP_CONTAINS(MAP([{i}], ['v']), {f})",
        "MAP_CONTAINS_VALUE(MAP(['v'], [{i}]), {f})",
        "MAP_CONTAINS_ENTRY(MAP(['v'], [{i}]), 'v', {f})",
        "MAP_EXTRACT(MAP([{i}], ['v']), {f})", "MAP_EXTRACT_VALUE(MAP([{i}], ['v']), {f})",
        "STRUCT_CONTAINS(ROW({i}), {f})", "STRUCT_POSITION(ROW({i}), {f})",
    ],
)  # fmt: skip
def test_searched_value_is_not_rounded(ds, look):
    for i, f in (("i", "f"), ("f", "i"), ("i + 0", "f * 2"), ("u", "f")):
        with pytest.raises(QueryTypeError, match="A float cannot be looked up among integers"):
            ds.query(f"SELECT {look.format(i=i, f=f)} AS x")
    assert len(ds.query(f"SELECT {look.format(i='i', f='id')} AS x")["x"][:]) == 3


@pytest.mark.parametrize("of", ["QUANTILE_CONT(f, 0.5)", "WEIGHTED_AVG(f, 1)", "LIST_MAX(LIST(f))"])
def test_nan_from_an_aggregate_is_not_greater(ds, of):
    for x in (of, f"{of} + 0", f"CASE WHEN true THEN {of} END"):
        query = f"SELECT id GROUP BY id HAVING {x} > 1"
        assert ds.query(query)["id"][:].tolist() == [1], x


@pytest.mark.parametrize("form", FORMS)
def test_time_next_to_a_finer_string_is_not_rounded(ds, form):
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
def test_integers_in_a_list_with_fractions_are_not_rounded(ds, of):
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
        with pytest.raises(QueryTypeError, match="Lists and structs are compared part by part"):
            ds.query(f"SELECT id WHERE {condition}")
    for both in ("UNION", "UNION ALL", "EXCEPT", "INTERSECT"):
        with pytest.raises(QueryError, match="Lists and structs are compared part by part"):
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
def test_means_and_medians_of_times_and_strings_compare(ds, query, ids):
    assert ds.query(query)["id"][:].tolist() == ids


@pytest.mark.parametrize("column", ["label", "h", "t", "td", "j", "i", "f", "s"])
def test_column_next_to_null_keeps_its_kind(ds, column):
    values = list(ds[column][:])
    either = f"SELECT NULL AS x UNION ALL SELECT {column} AS x"
    for query in (
        f"SELECT {column} AS x UNION ALL SELECT NULL AS x",
        f"SELECT x FROM ({either}) ORDER BY x IS NULL",
    ):
        result = ds.query(query)["x"]
        assert type(result.htype) is type(ds[column].htype)
        assert getattr(result.htype, "dtype", "") == getattr(ds[column].htype, "dtype", "")
        assert str(list(result[:][:3])) == str(values)
        assert ds.query(f"SELECT COUNT(*) AS n FROM ({query}) WHERE x IS NULL")["n"][0] == 1


@pytest.mark.parametrize("of", ["AMAX(e)", "e[0]", "ANY(e > 0)", "L2_NORM(e)", "SUM(e)"])
def test_ellipsis_on_a_zero_dimensional_tensor_keeps_its_kind(ds, of):
    assert ds.query(f"SELECT id WHERE {of}[...] = {of}")["id"][:].tolist() == [0, 1, 2]
