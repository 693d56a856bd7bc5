"""Nulls in the row details differ from empty strings, false and no tags, and can be set by hand."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl

from .page import stored
from .test_row_edits import box, row, settle

pytestmark = pytest.mark.browser

FIELDS = {
    "text": (dl.Text(nullable=True), ["said", "", None]),
    "tags": (dl.Sequence("text", nullable=True), [["a"], [], None]),
    "several": (dl.ClassLabel(["ant", "bee"], multiple=True, nullable=True), [["ant"], [], None]),
    "class": (dl.ClassLabel(["ant", "bee"], nullable=True), ["ant", "bee", None]),
    "number": (dl.Scalar("float64", nullable=True), [0.0, 1.5, None]),
    "time": (dl.Scalar("datetime64[s]", nullable=True), ["2026-01-01", "1970-01-01", None]),
}


def lake_of(make_lake, kind):
    htype, values = FIELDS[kind]
    return make_lake({"x": htype}, x=values)


def null(page):
    return page.get_by_role("button", name="x: null", exact=True)


def is_null(page):
    return null(page).get_attribute("aria-pressed") == "true"


def value(ds, position):
    result = dl.open(ds.url)["x"][position]
    return None if result is None or result is np.ma.masked else np.asarray(result).tolist()


@pytest.mark.parametrize("kind", FIELDS)
def test_null_differs_from_every_other_value(chrome, make_lake, kind):
    ds = lake_of(make_lake, kind)
    for position, expected in enumerate([False, False, True]):
        with row(chrome, ds.browse(), position) as page:
            assert is_null(page) == expected
            if kind in ("text", "number", "time"):
                assert box(page, "x").get_attribute("placeholder") == ("null" if expected else None)


@pytest.mark.parametrize("kind", FIELDS)
def test_value_is_set_to_null_by_the_keyboard_and_undone(chrome, make_lake, kind):
    ds = lake_of(make_lake, kind)
    w = ds.browse()
    with row(chrome, w) as page:
        null(page).focus()
        page.keyboard.press("Enter")
        settle(page)
        page.locator(".dl-staged").wait_for()
        assert is_null(page)
        assert null(page).evaluate("(button) => button === document.activeElement") or kind in (
            "class",
            "number",
            "time",
        )
        assert [edit["what"] for edit in w.staged] == ["→ null"]
    w.commit("null")
    assert value(ds, 0) is None


@pytest.mark.parametrize(("kind", "empty"), [("text", ""), ("tags", []), ("several", [])])
def test_null_is_made_empty(chrome, make_lake, kind, empty):
    ds = lake_of(make_lake, kind)
    w = ds.browse()
    with row(chrome, w, 2) as page:
        null(page).click()
        settle(page)
        page.locator(".dl-staged").wait_for()
        assert not is_null(page)
    w.commit("empty")
    assert value(ds, 2) == empty


@pytest.mark.parametrize("before", [None, False, True])
@pytest.mark.parametrize("after", [None, False, True])
def test_nullable_bool_has_three_states_and_a_way_to_each(
    chrome, make_lake, tmp_path, before, after
):
    ds = make_lake({"x": dl.Scalar("bool", nullable=True)}, x=[before])
    w = ds.browse()
    words = {None: "", False: "false", True: "true"}
    with row(chrome, w) as page:
        field = page.get_by_role("combobox", name="x", exact=True)
        assert field.input_value() == words[before]
        field.select_option(words[after])
        settle(page)
        assert field.input_value() == words[after]
    w.commit("chosen")
    assert value(ds, 0) is after
    with stored(chrome, w.to_html(tmp_path / "page.html")) as page:
        page.locator("[data-position='0']").first.dblclick()
        shown = page.locator(".dl-detail:not(.dl-loading) .dl-value-text").first
        assert shown.text_content() == {None: "–", False: "False", True: "True"}[after]


def test_non_nullable_column_cannot_be_set_to_null(chrome, make_lake):
    ds = make_lake({"x": "text", "ok": "bool"}, x=["a"], ok=[True])
    with row(chrome, ds.browse()) as page:
        assert null(page).count() == 0
        assert page.get_by_role("checkbox", name="ok", exact=True).is_checked()


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("old", [-0.0, 0.0, 0.1, -1.5e-5, 3.0, np.inf])
def test_number_is_shown_with_all_of_its_digits_and_its_sign(chrome, make_lake, dtype, old):
    ds = make_lake({"x": dtype, "y": dtype}, x=[old], y=[1])
    w = ds.browse()
    with row(chrome, w) as page:
        text = box(page, "x").input_value()
        box(page, "y").fill(text)
        box(page, "y").blur()
        settle(page)
    w.commit("copied")
    assert len(text) <= len("-0.000015")
    assert ds["y"][0].tobytes() == ds["x"][0].tobytes()
    assert np.signbit(float(text)) == np.signbit(old)
