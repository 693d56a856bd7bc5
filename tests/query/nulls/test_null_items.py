"""Comparisons of null items are null; logic, masks, reductions and columns follow SQL."""

from __future__ import annotations

from itertools import product
from typing import Any

import duckdb
import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryTypeError
from deeplake_lite.query.tensors import spans

ITEMS: dict[str, tuple[Any, list[Any], str]] = {
    "whole": (dl.Scalar("int32", nullable=True), [1, None, 3], "1"),
    "real": (dl.Scalar("float32", nullable=True), [0.5, None, 3], "0.5"),
    "truth": (dl.Scalar("bool", nullable=True), [True, None, False], "TRUE"),
    "label": (dl.ClassLabel(["a", "b"], nullable=True), ["a", None, "b"], "'a'"),
    "text": (dl.Text(nullable=True), ["a", None, "b"], "'a'"),
    "time": (dl.Scalar("datetime64[s]", nullable=True), ["2020-01-01", None, "2021-01-01"],
             "'2020-01-01'"),
    "json": (dl.Json(nullable=True), [1, None, "x"], "1"),
}  # fmt: skip
T, F, N = True, False, None
ROWS = [[T, N, F], [N], [], [T, F], [T, N], [F, N], [N, N], None]


@pytest.fixture(scope="module", params=[spans.SMALL_BYTES, -1], ids=["many", "one by one"])
def ds(request) -> Any:
    patch = pytest.MonkeyPatch()
    patch.setattr(spans, "SMALL_BYTES", request.param)
    schema = {name: dl.Sequence(item, nullable=True) for name, (item, *_) in ITEMS.items()}
    ds = dl.create("memory://null-items", {"id": "int64", **schema}, overwrite=True)
    rows = {
        name: [None if row is None else [values[{T: 0, N: 1, F: 2}[v]] for v in row]
               for row in ROWS]
        for name, (_, values, _) in ITEMS.items()
    }  # fmt: skip
    ds.append({"id": range(len(ROWS)), **rows})
    ds.commit("rows")
    yield ds
    patch.undo()


def mapped(of_item: Any) -> list[Any]:
    return [None if row is None else [of_item(v) for v in row] for row in ROWS]


def plain(values: Any) -> list[Any]:
    return [None if v is None or v is np.ma.masked else np.asarray(v, object).tolist()
            for v in values]  # fmt: skip


def negated(v: Any) -> Any:
    return None if v is None else not v


@pytest.mark.parametrize("name", ITEMS)
def test_comparison_with_a_null_item_is_null(ds, name):
    first = f"{name} = {ITEMS[name][2]}"
    for text, expected in (
        (first, ROWS), (f"NOT ({first})", mapped(negated)), (f"NOT NOT ({first})", ROWS),
        (f"({first}) = FALSE", mapped(negated)), (f"({first}) <> FALSE", ROWS), (f"~({first})",
        mapped(negated)), (first.replace("=", "<>"), mapped(negated)), (f"({first})[0:]", ROWS),
        (f"CASE WHEN id < 99 THEN {first} ELSE {first} END", ROWS),
        (f"(SELECT {first} WHERE id = 0)", [ROWS[0]] * len(ROWS)),
    ):  # fmt: skip
        view = ds.query(f"SELECT {text} AS r")
        assert plain(view["r"][:]) == expected, text
        assert view.to_arrow()["r"].to_pylist() == expected


@pytest.mark.parametrize("name", ITEMS)
def test_mask_excludes_null_items(ds, name):
    first = f"{name} = {ITEMS[name][2]}"
    for text, expected in ((first, True), (f"NOT ({first})", False)):
        view = ds.query(f"SELECT LEN({name}[{text}]) AS n")
        counts = [None if row is None else row.count(expected) for row in ROWS]
        assert view["n"][:].tolist() == counts


@pytest.mark.parametrize("name", ITEMS)
@pytest.mark.parametrize("form", ["{}", "NOT ({})", "({}) = FALSE"])
def test_reductions_and_conditions_follow_sql(ds, name, form):
    text = form.format(f"{name} = {ITEMS[name][2]}")
    rows = ROWS if form == "{}" else mapped(negated)

    def of(row: list[Any] | None, decisive: bool) -> Any:
        if row is None:
            return None
        return decisive if decisive in row else None if None in row else not decisive

    view = ds.query(f"SELECT ANY({text}) AS any, ALL({text}) AS all, SUM({text}) AS sum, "
                    f"ALL_STRICT({text}) AS strict, LEN({text}) AS len")  # fmt: skip
    any_, all_ = ([of(row, decisive) for row in rows] for decisive in (True, False))
    assert view["any"][:].tolist() == any_
    assert view["all"][:].tolist() == all_
    assert view["strict"][:].tolist() == [
        False if r == [] else a for r, a in zip(rows, all_, strict=True)
    ]
    assert view["sum"][:].tolist() == [None if row is None else row.count(True) for row in rows]
    assert view["len"][:].tolist() == [None if row is None else len(row) for row in rows]
    for condition, truths in (("ANY", any_), ("ALL", all_)):
        for sign, expected in (("", True), ("NOT ", False)):
            result = ds.query(f"SELECT id WHERE {sign}{condition}({text})")["id"][:].tolist()
            assert result == [at for at, truth in enumerate(truths) if truth is expected]


def _of_duckdb(query: str) -> Any:
    return duckdb.connect().execute(query).fetchone()[0]


@pytest.mark.parametrize("word", ["AND", "OR"])
def test_and_and_or_follow_sql(word):
    pairs = list(product([T, F, N], repeat=2))
    item = dl.Scalar("int32", nullable=True)
    ds = dl.create("memory://null-pairs", {"a": dl.Sequence(item), "b": dl.Sequence(item)},
                   overwrite=True)  # fmt: skip
    ds.append({"a": [[p[0] for p in pairs]], "b": [[p[1] for p in pairs]]})
    sql = {True: "TRUE", False: "FALSE", None: "NULL::BOOLEAN"}
    expected = [_of_duckdb(f"SELECT {sql[a]} {word} {sql[b]}") for a, b in pairs]
    for form in (f"a = 1 {word} b = 1", f"b = 1 {word} a = 1", f"a > 0 {word} NOT b = 0"):
        assert plain(ds.query(f"SELECT {form} AS r")["r"][:]) == [expected]
    for constant in (True, False):
        part = [_of_duckdb(f"SELECT {sql[a]} {word} {constant}") for a, _ in pairs]
        assert plain(ds.query(f"SELECT a = 1 {word} {constant} AS r")["r"][:]) == [part]


def test_booleans_of_a_view_keep_their_nulls(ds):
    view = ds.query("SELECT id, whole = 1 AS r")
    again = view.query("SELECT NOT r AS n, ANY(r) AS a, r AND TRUE AS t")
    assert plain(again["n"][:]) == mapped(negated)
    assert plain(again["t"][:]) == ROWS
    inner = ds.query("SELECT NOT r AS n FROM (SELECT whole = 1 AS r FROM ds)")
    assert plain(inner["n"][:]) == mapped(negated)
    stored = ds.query("SELECT NOT truth AS n, ALL(truth) AS a, SUM(truth) AS s")
    assert plain(stored["n"][:]) == mapped(negated)


def test_booleans_with_nulls_equal_lists(ds):
    view = ds.query("SELECT (whole = 1) IS NOT DISTINCT FROM [TRUE, NULL, FALSE] AS r, "
                    "HASH(NOT (whole = 1)) = HASH([FALSE, NULL, TRUE]) AS h")  # fmt: skip
    assert view["r"][:].tolist() == [True, *[False] * 7]
    assert view["h"][:].tolist() == [True, *[False] * 6, None]
    parts = ds.query("SELECT UNNEST(whole = 1) AS u WHERE id = 0")
    assert parts["u"][:].tolist() == [True, None, False]


@pytest.mark.parametrize(
    "text", ["({}) + 0", "CAST({} AS INT8)", "NONZERO({})", "SORT({})", "ARGMAX({})", "-({})"]
)
def test_other_functions_refuse_null_items(ds, text):
    with pytest.raises(QueryTypeError, match=r"whole = 1 contains nulls(.|\n)*c\[c OR NOT c\]"):
        ds.query(f"SELECT {text.format('whole = 1')} AS r")["r"][:]
    known = ds.query(f"SELECT {text.format('(whole = 1)[(whole = 1) OR NOT (whole = 1)]')} AS r "
                     "WHERE id = 0")  # fmt: skip
    assert len(known["r"][:]) == 1
