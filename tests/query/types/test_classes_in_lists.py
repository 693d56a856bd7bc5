"""Classes in lists, structs, maps and the results of aggregates are compared by name.

Two sources list the same classes in a different order, so that a comparison by number would fail.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

VALUES = {"x": ["a", "b", "c", "a"], "y": ["c", "b", "a", "a"]}
NAMES = {"x": ["a", "b", "c"], "y": ["c", "b", "a"]}


def _source(url: str, side: str) -> dl.Dataset:
    schema = {"l": dl.ClassLabel(NAMES[side]), "t": dl.Text(), "i": dl.Scalar("int64")}
    ds = dl.create(url, schema)
    ds.append({"l": VALUES[side], "t": VALUES[side], "i": [0, 1, 2, 3]})
    return ds


@pytest.fixture(scope="module")
def sources() -> dict[str, dl.Dataset]:
    return {side: _source(f"memory://classes-in-lists-{side}", side) for side in "xy"}


EQUAL = [
    "[x.l] = [y.l]", "[x.l, 'b'] = [y.l, 'b']", "[[x.l]] = [[y.l]]", "{'a': x.l} = {'a': y.l}",
    "STRUCT_PACK(a := x.l) = STRUCT_PACK(a := y.l)", "ROW(x.l) = ROW(y.l)", "(x.l, 1) = (y.l, 1)",
    "LIST_VALUE(x.l) = LIST_VALUE(y.l)", "MAP([x.l], [1]) = MAP([y.l], [1])",
    "[x.l] = [y.t]", "{'a': x.l} = {'a': y.t}", "[x.t] = [y.l]",
    "[x.l] IS NOT DISTINCT FROM [y.l]", "[x.l] IN ([y.l])", "x.l IN (y.l)", "x.l IN (y.t)",
    "x.l IN (y.l, NULL)", "x.t IN (y.l)",
    "LIST_CONTAINS([x.l], y.l)", "LIST_CONTAINS([x.l], y.t)", "LIST_HAS_ANY([x.l], [y.l])",
    "LIST_HAS_ALL([x.l], [y.l])", "LIST_POSITION([x.l], y.l) = 1", "ARRAY_CONTAINS([x.l], y.l)",
    "CONTAINS([x.l], y.l)", "LEN(LIST_DISTINCT([x.l, y.l])) = 1",
    "LIST_CONCAT([x.l], [x.t]) = LIST_CONCAT([y.l], [y.t])", "HASH([x.l]) = HASH([y.l])",
    "HASH([x.l]) = HASH([y.t])", "HASH({'a': x.l}) = HASH({'a': y.l})", "[x.l][0] = [y.l][0]",
    "LIST_TRANSFORM([0], i -> x.l) = LIST_TRANSFORM([0], i -> y.l)",
]  # fmt: skip


@pytest.mark.parametrize("condition", EQUAL)
def test_equal_names_satisfy_these_conditions(
    sources: dict[str, dl.Dataset], condition: str
) -> None:
    query = f"SELECT x.t AS a, y.t AS b FROM x JOIN y ON {condition}"
    rows = dl.query(query, sources=sources)
    expected = sorted((a, b) for a in VALUES["x"] for b in VALUES["y"] if a == b)
    assert sorted(zip(rows["a"][:], rows["b"][:], strict=True)) == expected


IN = {
    "x.l IN (y.l, 'b')": lambda a, b: a in (b, "b"),
    "x.l IN ('b', y.l)": lambda a, b: a in (b, "b"),
    "x.l IN (y.t, 'b')": lambda a, b: a in (b, "b"),
    "x.t IN (y.l, 'b')": lambda a, b: a in (b, "b"),
    "x.l NOT IN (y.l, 'b')": lambda a, b: a not in (b, "b"),
    "LIST_CONTAINS([x.l, y.l], 'a')": lambda a, b: "a" in (a, b),
    "CONTAINS([x.l, y.l], 'a')": lambda a, b: "a" in (a, b),
    "LIST_HAS_ALL([x.l, 'a'], [y.l])": lambda a, b: b in (a, "a"),
    "[x.l] < [y.l]": lambda a, b: a < b,
}


@pytest.mark.parametrize("condition", IN)
def test_conditions_on_two_lists_of_names(sources: dict[str, dl.Dataset], condition: str) -> None:
    holds: Callable[[str, str], bool] = IN[condition]
    query = f"SELECT x.t AS a, y.t AS b FROM x JOIN y ON {condition}"
    rows = dl.query(query, sources=sources)
    expected = sorted((a, b) for a in VALUES["x"] for b in VALUES["y"] if holds(a, b))
    assert sorted(zip(rows["a"][:], rows["b"][:], strict=True)) == expected


def test_misspelt_class_next_to_other_classes_is_an_error(sources: dict[str, dl.Dataset]) -> None:
    with pytest.raises(QueryTypeError, match="one of 3 classes, but it is 'zz'"):
        dl.query("SELECT x.i FROM x JOIN y ON x.l IN (y.l, 'zz')", sources=sources)


@pytest.mark.parametrize("part", ["[l]", "{'k': l}", "[l, NULL]", "MAP(['k'], [l])"])
def test_union_holds_names(sources: dict[str, dl.Dataset], part: str) -> None:
    result = dl.query(f"SELECT {part} AS v FROM x UNION SELECT {part} AS v FROM y", sources=sources)
    texts = dl.query(
        f"SELECT {part} AS v FROM x UNION SELECT {part} AS v FROM y".replace("l]", "t]").replace(
            ": l", ": t"
        ),
        sources=sources,
    )
    assert sorted(map(repr, result["v"][:])) == sorted(map(repr, texts["v"][:]))
    assert len(result) == 3


VALUE: dict[str, Any] = {
    "LIST([l] ORDER BY i)": [["a"], ["b"], ["c"], ["a"]],
    "LIST({'k': l} ORDER BY i)": [{"k": "a"}, {"k": "b"}, {"k": "c"}, {"k": "a"}],
    "HISTOGRAM(l)": [["a", 2], ["b", 1], ["c", 1]],
    "HISTOGRAM_EXACT(l, ['a', 'b', 'c'])": [["a", 2], ["b", 1], ["c", 1]],
    "APPROX_TOP_K(l, 1)": ["a"],
    "[MAX(l)]": ["c"],
    "ARG_MIN([l], i)": ["a"],
    "LIST_SORT(LIST(l))": ["a", "a", "b", "c"],
}


@pytest.mark.parametrize("expression", VALUE)
def test_lists_and_maps_hold_names(sources: dict[str, dl.Dataset], expression: str) -> None:
    assert sources["x"].query(f"SELECT {expression} AS v")["v"][0] == VALUE[expression]


@pytest.mark.parametrize(
    "expression",
    [
        "ARBITRARY(l)", "ARGMIN(l, i)", "ARGMAX(l, i)", "ARG_MAX_NULL(l, i)",
        "ARG_MAX_NULLS_LAST(l, i)", "ARG_MIN_NULL(l, i)", "ARG_MIN_NULLS_LAST(l, i)",
        "ANY_VALUE(l)", "MODE(l)", "MAX(l)", "MIN_BY(l, i)",
    ],
)  # fmt: skip
def test_value_selected_among_several_stays_a_class(
    sources: dict[str, dl.Dataset], expression: str
) -> None:
    result = sources["x"].query(f"SELECT {expression} AS v")["v"]
    assert tuple(result.names) == ("a", "b", "c")
    assert result.htype.to_names(result[0]) in "abc"


def test_hashes_of_lists_over_a_group_depend_on_names(sources: dict[str, dl.Dataset]) -> None:
    query = "SELECT HASH(LIST(l ORDER BY t)) = HASH(LIST(t ORDER BY t)) AS v"
    assert all(source.query(query)["v"][0] for source in sources.values())


def test_list_of_integers_beyond_float64_is_not_rounded(sources: dict[str, dl.Dataset]) -> None:
    query = f"SELECT HASH([i + {2**53 + 1}]) = HASH([i + {2**53}]) AS v"
    assert not sources["x"].query(query)["v"][:].any()


# ---- several classes per row, masks, lists of strings


def _many(url: str, names: list[str]) -> dl.Dataset:
    several = {
        "m": dl.ClassLabel(names, multiple=True), "s": dl.Sequence(dl.ClassLabel(names)),
        "ts": dl.Sequence("text"), "k": dl.Mask(names=names), "l": dl.ClassLabel(names),
        "t": dl.Text(),
    }  # fmt: skip
    ds = dl.create(url, several)
    for row in MANY:
        pixel = np.array([[names.index(row[0]), 255]], "uint8")
        ds.append([{"m": row, "s": row, "ts": row, "k": pixel, "l": row[0], "t": row[0]}])
    return ds


MANY = [["a"], ["b", "c"], ["c", "a"]]


@pytest.fixture(scope="module")
def many() -> dict[str, dl.Dataset]:
    return {side: _many(f"memory://many-classes-{side}", NAMES[side]) for side in "xy"}


FIRST_OF = {
    "CONTAINS(x.m, y.l)": lambda a, b: b[0] in a,
    "CONTAINS(x.s, y.l)": lambda a, b: b[0] in a,
    "CONTAINS(x.m, y.t)": lambda a, b: b[0] in a,
    "CONTAINS(x.ts, y.l)": lambda a, b: b[0] in a,
    "CONTAINS(y.ts, x.m[0])": lambda a, b: a[0] in b,
    "ANY(x.m = y.l)": lambda a, b: b[0] in a,
    "ANY(x.m = y.t)": lambda a, b: b[0] in a,
    "ANY(x.ts = y.l)": lambda a, b: b[0] in a,
    "ANY(x.m = COALESCE(y.l, 'a'))": lambda a, b: b[0] in a,
    "HASH(x.m) = HASH(y.m)": lambda a, b: a == b,
    "HASH(x.s) = HASH(y.m)": lambda a, b: a == b,
    "HASH(x.m) = HASH(y.ts)": lambda a, b: a == b,
    "x.m[0] = y.m[0]": lambda a, b: a[0] == b[0],
    "[x.m[0]] = [y.s[0]]": lambda a, b: a[0] == b[0],
    "x.l LIKE y.l": lambda a, b: a[0] == b[0],
    "ALL(x.k = y.k)": lambda a, b: a[0] == b[0],
    "ANY(x.k = y.l)": lambda a, b: a[0] == b[0],
    "x.k[0, 0] = y.k[0, 0]": lambda a, b: a[0] == b[0],
    "[x.k[0, 0]] = [y.k[0, 0]]": lambda a, b: a[0] == b[0],
    "HASH(x.k) = HASH(y.k)": lambda a, b: a[0] == b[0],
}


@pytest.mark.parametrize("condition", FIRST_OF)
def test_conditions_on_multiple_classes(many: dict[str, dl.Dataset], condition: str) -> None:
    holds: Callable[[list[str], list[str]], bool] = FIRST_OF[condition]
    result = dl.query(f"SELECT x.ts AS a, y.ts AS b FROM x JOIN y ON {condition}", sources=many)
    expected = sorted((a, b) for a in MANY for b in MANY if holds(a, b))
    assert sorted(zip(result["a"][:], result["b"][:], strict=True)) == expected


def test_union_of_masks_has_one_list_of_names(many: dict[str, dl.Dataset]) -> None:
    result = dl.query("SELECT k FROM x UNION ALL SELECT k FROM y", sources=many)["k"]
    names = ["a", "b", "c"]
    assert [(names[mask[0, 0]], mask[0, 1]) for mask in result[:]] == [
        (row[0], 255) for row in MANY
    ] * 2


def test_masks_with_more_classes_than_numbers_are_refused() -> None:
    sides = {}
    for side in "xy":
        names = [f"{side}{n}" for n in range(200)]
        sides[side] = dl.create(f"memory://wide-masks-{side}", {"k": dl.Mask(names=names)})
        sides[side].append({"k": [np.zeros((1, 1), "uint8")]})
    with pytest.raises(QueryTypeError, match="up to 255 classes"):
        dl.query("SELECT 1 AS one FROM x JOIN y ON ANY(x.k = y.k)", sources=sides)
