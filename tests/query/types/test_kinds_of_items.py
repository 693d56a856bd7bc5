"""Items of sequences with nulls are compared, named and combined like other items."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryTypeError

NULLABLE: dict[str, Any] = {"nullable": True}
COLUMNS = {
    "whole": (dl.Scalar("int32", **NULLABLE), [1, None]),
    "real": (dl.Scalar("float32", **NULLABLE), [0.5, None]),
    "truth": (dl.Scalar("bool", **NULLABLE), [True, None]),
    "text": (dl.Text(**NULLABLE), ["a", None]),
    "label": (dl.ClassLabel(["a", "b"], **NULLABLE), ["a", None]),
}


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    schema = {name: dl.Sequence(item) for name, (item, _) in COLUMNS.items()}
    plain = {"id": "int64", "x": dl.Text(), "n": "int64", "flags": dl.Sequence(dl.Scalar("bool")),
             "known": dl.Sequence(dl.ClassLabel(["a", "b"]))}  # fmt: skip
    nested = {"groups": dl.Sequence(dl.Sequence(COLUMNS["label"][0], **NULLABLE))}
    ds = dl.create("memory://kinds-of-items", {**plain, **schema, **nested}, overwrite=True)
    cells = {name: [values, []] for name, (_, values) in COLUMNS.items()}
    ds.append({"id": [0, 1], "x": ["a", "b"], "n": [1, 2], "flags": [[True, False], []],
               "known": [["b", "a"], []], "groups": [[["a", None], None], []],
               **cells})  # fmt: skip
    ds.commit("rows")
    return ds


def rows(values: Any) -> list[Any]:
    return [np.asarray(value, object).tolist() for value in values]


@pytest.mark.parametrize("name", ["whole", "real", "truth"])
@pytest.mark.parametrize("other", ["'1'", "'x'", "'true'", "x", "$p", "LOWER(x)"])
@pytest.mark.parametrize(
    "form", ["{0} = {1}", "{1} <> {0}", "{0} BETWEEN {1} AND {1}", "CONTAINS({0}, {1})"]
)
def test_numbers_do_not_compare_with_strings(ds, name, other, form):
    with pytest.raises(QueryTypeError, match=r"(?s)number.*string"):
        ds.query(f"SELECT {form.format(name, other)} AS r", {"p": "1"} if other == "$p" else {})


@pytest.mark.parametrize("form", ["text = {}", "{} <> text", "CONTAINS(text, {})"])
@pytest.mark.parametrize("other", ["1", "n", "TRUE", "$p"])
def test_strings_do_not_compare_with_numbers(ds, form, other):
    with pytest.raises(QueryTypeError, match=r"(?s)number.*string"):
        ds.query(f"SELECT {form.format(other)} AS r", {"p": 1} if other == "$p" else {})


@pytest.mark.parametrize("other", ["x", "LOWER(x)", "'a'", "$p", "(SELECT x WHERE id = 0)"])
def test_classes_next_to_strings_keep_their_nulls(ds, other):
    params = {"p": "a"} if other == "$p" else {}
    for text, expected in (("label = {}", [True, None]), ("{} = label", [True, None]),
                         ("label <> {}", [False, None]), ("NOT (label = {})", [False, None]),
                         ("label[0:] = {}", [True, None])):  # fmt: skip
        view = ds.query(f"SELECT {text.format(other)} AS r", params)
        assert rows(view["r"][:]) == [expected, []], text


def test_names_of_null_classes_are_null(ds):
    view = ds.query("SELECT NAME(label) AS r, NAME(label[0:]) AS part, NAME(groups) AS groups, "
                    "NAME(known) AS known, LEN(NAME(label)) AS n, CONTAINS(NAME(label), x) AS has, "
                    "NAME(label) = 'a' AS same")  # fmt: skip
    assert rows(view["r"][:]) == rows(view["part"][:]) == [["a", None], []]
    assert list(view["groups"][:]) == [[["a", None], None], []]
    assert rows(view["known"][:]) == [["b", "a"], []]
    assert view["n"][:].tolist() == [2, 0]
    assert view["has"][:].tolist() == [True, False]
    assert rows(view["same"][:]) == [[True, None], []]
    items = ds.query("SELECT UNNEST(NAME(label)) AS r")
    assert list(items["r"][:]) == ["a", None]


TRUTHS = {"real < 0.7": [True, None], "truth": [True, None], "flags": [True, False],
          "whole = 2": [False, None]}  # fmt: skip


@pytest.mark.parametrize("first", TRUTHS)
@pytest.mark.parametrize("second", TRUTHS)
def test_booleans_of_all_forms_make_one_column(ds, first, second):
    both = ds.query(f"SELECT CASE WHEN id = 0 THEN {first} ELSE {second} END AS r")
    assert rows(both["r"][:]) == [TRUTHS[first], []]
    union = ds.query(f"SELECT {first} AS r WHERE id = 0 UNION ALL SELECT {second} WHERE id = 0")
    assert rows(union["r"][:]) == [TRUTHS[first], TRUTHS[second]]
    again = union.query("SELECT NOT r AS r")
    assert rows(again["r"][:])[0] == [None if t is None else not t for t in TRUTHS[first]]
