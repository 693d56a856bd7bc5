"""Cells edited in the row details: the values that the page sends are committed."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

import deeplake_lite as dl

from .bridge import shown

pytestmark = pytest.mark.browser


@contextmanager
def row(chrome, w, position=0):
    """Show the details of a row; there must be no errors on its page at the end."""
    with shown(chrome, w) as (page, wrong):
        page.locator(f"[data-position='{position}']").first.dblclick()
        page.locator(".dl-detail:not(.dl-loading) .dl-field").first.wait_for()
        yield page
    assert wrong == []


def box(page, name):
    """Return the field of a column."""
    return page.get_by_role("textbox", name=name, exact=True)


def settle(page):
    """Wait until Python has answered everything."""
    page.wait_for_function("() => document.querySelector('.dl-browser').dataset.pending === '0'")


def test_boxes_outside_the_image_stay_when_one_is_drawn(chrome, make_lake):
    old = [[-12.5, 30.25, 200.125, 390.5], [500, 300, 640, 420], [700, 10, 710, 20]]
    picture = np.zeros((400, 600, 3), np.uint8)
    lake = make_lake({"image": "image", "boxes": dl.Boxes()}, image=[picture], boxes=[old])
    w = lake.browse()
    with row(chrome, w) as page:
        page.keyboard.press("b")
        at = page.locator(".dl-viewer").first.bounding_box()
        x, y = at["x"] + at["width"] / 2, at["y"] + at["height"] / 2
        page.mouse.move(x, y)
        page.mouse.down()
        page.mouse.move(x + 50, y + 40, steps=3)
        page.mouse.up()
        page.locator(".dl-field.dl-staged").first.wait_for()
    w.commit("one more")
    assert lake["boxes"][0][:3].tolist() == old
    assert len(lake["boxes"][0]) == 4


def typed(chrome, lake, *changes):
    """Return the staged edits after some fields were typed into, and the page's status."""
    w = lake.browse()
    with row(chrome, w) as page:
        for name, text in changes:
            field = box(page, name)
            field.click()
            if text is not None:
                field.fill(text)
            field.blur()
            settle(page)
        values = {name: box(page, name).input_value() for name, _ in changes}
        said = page.locator(".dl-banner-text").text_content()
    return w, values, said


WHOLE = {
    "int64": [2**53 + 1, 2**53 + 3, -(2**63), 2**63 - 1, 7],
    "uint64": [2**64 - 1, 2**64 - 3, 2**53 + 1, 0],
}


@pytest.mark.parametrize("dtype", WHOLE)
def test_64_bit_integers_are_shown_and_written_exactly(chrome, make_lake, dtype):
    for old, new in zip(WHOLE[dtype], WHOLE[dtype][1:], strict=False):
        lake = make_lake({"n": dtype, "items": dl.Sequence(dtype)}, n=[old], items=[[old]])
        with row(chrome, lake.browse()) as page:
            assert box(page, "n").input_value() == str(old)
            assert page.get_by_text(str(old), exact=True).count() >= 1
        w, values, _ = typed(chrome, lake, ("n", str(new)))
        assert values == {"n": str(new)}
        assert w.staged[0]["what"] == f"→ {new}"
        w.commit("typed")
        assert int(lake["n"][0]) == new


LINES = ["a\r\nb", "a\rb", "a\nb", "a\r\nb\rc\n", "\r\n", "\n", "", "a", "\rx\n"]


@pytest.mark.parametrize("text", LINES)
def test_clicking_into_a_field_and_out_again_stages_nothing(chrome, make_lake, text):
    lake = make_lake(
        {"note": "text", "n": dl.Scalar("int64", nullable=True), "at": "timedelta64[s]"},
        note=[text],
        n=[None],
        at=["5 s"],
    )
    w, _, _ = typed(chrome, lake, ("note", None), ("n", None), ("at", None))
    assert w.staged_count == 0


@pytest.mark.parametrize(
    ("before", "after"), [("a\r\nb", "x\r\ny"), ("a\nb", "x\ny"), ("a\r\nb\nc", "x\ny")]
)
def test_string_keeps_its_line_ends_if_they_are_all_the_same(chrome, make_lake, before, after):
    lake = make_lake({"note": "text"}, note=[before])
    w, _, _ = typed(chrome, lake, ("note", "x\ny"))
    w.commit("typed")
    assert lake["note"][0] == after


@pytest.mark.parametrize("before", ["plain", "", None, "a\nb", "a\rb"])
@pytest.mark.parametrize("text", ["plain\nmore", "\n", "a\n\nb\n"])
def test_line_breaks_are_line_feeds_unless_the_string_only_had_crlf(
    chrome, make_lake, before, text
):
    lake = make_lake({"note": dl.Text(nullable=True)}, note=[before])
    w, _, _ = typed(chrome, lake, ("note", text))
    w.commit("typed")
    assert lake["note"][0] == text


def test_displayed_value_can_be_typed_again_and_a_refusal_restores_it(chrome, make_lake):
    schema = {
        "at": "timedelta64[s]",
        "when": "datetime64[ns]",
        "n": dl.Scalar("int8", nullable=True),
    }
    lake = make_lake(schema, at=["5 s"], when=["2026-01-01"], n=[5])
    w, values, said = typed(
        chrome, lake, ("at", "9 seconds"), ("n", ""), ("when", "2500-01-01"), ("n", "many")
    )
    assert values == {"at": "9 seconds", "n": "", "when": "2026-01-01T00:00:00.000000000"}
    assert "must be int8, but it is 'many'" in said
    assert [edit["what"] for edit in w.staged] == ["→ 9 seconds", "→ null"]


def test_field_left_twice_is_staged_once(chrome, make_lake):
    lake = make_lake({"a": "text", "b": "text"}, a=["a"], b=["b"])
    w = lake.browse()
    with row(chrome, w) as page:
        a, b = (box(page, name) for name in ("a", "b"))
        a.fill("new")
        b.click()
        settle(page)
        a.click()
        b.click()
        settle(page)
    assert w.staged_count == 1


def test_string_too_long_for_a_field_has_no_field(chrome, make_lake):
    lake = make_lake({"note": "text"}, note=["x" * 100_001])
    with row(chrome, lake.browse()) as page:
        assert page.locator(".dl-detail textarea").count() == 0


@pytest.mark.parametrize("kind", ["texts", "classes"])
def test_tag_with_surrounding_spaces_is_removed_by_its_cross(chrome, make_lake, kind):
    htype = dl.Sequence("text") if kind == "texts" else dl.ClassLabel([" x ", "y"], multiple=True)
    lake = make_lake({"tags": htype}, tags=[[" x ", "y"]])
    w = lake.browse()
    with row(chrome, w) as page:
        page.get_by_role("button", name="Remove x").click()
        settle(page)
    w.commit("without x")
    assert [str(tag) for tag in lake["tags"][0]] == [{"texts": "y", "classes": "1"}[kind]]


@pytest.mark.parametrize(
    "htype", [dl.ClassLabel(multiple=True), dl.Sequence(dl.ClassLabel())], ids=["several", "items"]
)
def test_tags_of_unnamed_classes_are_changed_by_number(chrome, make_lake, htype):
    lake = make_lake({"tags": htype}, tags=[[1, 3]])
    w = lake.browse()
    with row(chrome, w) as page:
        page.get_by_role("button", name="Remove 1").click()
        settle(page)
        page.get_by_role("button", name="Remove 1").wait_for(state="detached")
        page.get_by_role("button", name="Add to tags").click()
        page.keyboard.type("7")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Remove 7").wait_for()
    w.commit("by number")
    assert np.asarray(lake["tags"][0]).tolist() == [3, 7]


def test_checkbox_refused_by_python_shows_the_actual_value(chrome, make_lake):
    lake = make_lake({"ok": "bool"}, ok=[False])
    w = lake.browse()
    with row(chrome, w) as page:
        lake.branch("other")
        lake.checkout("other")
        page.get_by_role("checkbox", name="ok", exact=True).click()
        settle(page)
        assert not page.get_by_role("checkbox", name="ok", exact=True).is_checked()
        assert "moved to branch 'other'" in page.locator(".dl-banner-text").text_content()
    assert w.staged_count == 0
