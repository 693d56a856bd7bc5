"""An edit applies to the row that the reader chose, whatever is shown when it is made."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.widget.edits.editing import Editing

from .bridge import held, painted, pushed, shown
from .page import eventually

pytestmark = pytest.mark.browser

CLASSES = ["cat", "dog", "cow", "fox"]
ROWS = 8


@pytest.fixture
def lake(make_lake):
    return make_lake(
        {
            "text": "text",
            "n": "int32",
            "ok": "bool",
            "label": dl.ClassLabel(CLASSES),
            "tags": dl.Sequence("text"),
        },
        text=[f"row {i}" for i in range(ROWS)],
        n=range(ROWS),
        ok=[False] * ROWS,
        label=[i % 4 for i in range(ROWS)],
        tags=[["old", f"of {i}"] for i in range(ROWS)],
    )


def at(page, position):
    box = page.locator(f".dl-cell[data-position='{position}']").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def opened(page, position):
    page.mouse.dblclick(*at(page, position))
    loaded(page)


def loaded(page):
    page.locator(".dl-detail:not(.dl-loading) .dl-field").first.wait_for()


def settle(page):
    """Wait for all that an action causes, and a little longer for an edit that must not come."""
    page.evaluate(FRAMES)
    page.wait_for_function(
        "() => document.querySelector('.dl-browser').dataset.pending === '0' && !model.calls"
    )
    page.evaluate(FRAMES)
    page.wait_for_timeout(60)


FRAMES = """async () => {
	for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
}"""
"""Waits for drawings, and for selections, which are sent once a frame."""


def title(page):
    return page.locator(".dl-detail h2").text_content()


def banner(page):
    return page.locator(".dl-banner-text").text_content()


def ids_of(w):
    """Return the ids of the rows with staged edits."""
    return w.part(Editing).staged.all_rows().tolist()


def less(lake, w, page, position):
    """Remove a row outside the browser, and refresh the browser."""
    other = dl.open(lake.url)
    other.delete([position])
    other.commit("one less")
    lake.refresh()
    w.refresh()
    pushed(page)


def test_fields_of_the_previous_row_accept_nothing_while_the_next_row_is_read(chrome, lake):
    w = lake.browse()
    with shown(chrome, w) as (page, wrong):
        opened(page, 0)
        release = held(page, "detail")
        page.get_by_role("button", name="Next row (→)").click()
        box = page.locator("textarea[aria-label=text]").bounding_box()
        page.mouse.click(box["x"] + 9, box["y"] + 9)
        page.keyboard.type("zz")
        page.keyboard.press("Control+Enter")
        release()
        loaded(page)
        assert title(page) == f"Row 1 of {ROWS}"
        field = page.get_by_role("textbox", name="text", exact=True)
        assert field.input_value() == "row 1"
        assert w.staged_count == 0
        field.fill("checked")
        field.blur()
        settle(page)
    assert wrong == []
    w.commit("typed")
    assert lake["text"][:3] == ["row 0", "checked", "row 2"]


def test_typed_value_is_staged_for_its_row_when_the_next_one_is_shown(chrome, lake):
    w = lake.browse()
    with shown(chrome, w) as (page, wrong):
        opened(page, 0)
        page.get_by_role("textbox", name="text", exact=True).fill("typed")
        page.get_by_role("button", name="Next row (→)").click()
        settle(page)
        loaded(page)
        field = page.get_by_role("textbox", name="text", exact=True)
        eventually(page, lambda: field.input_value() == "row 1")
    assert wrong == []
    w.commit("typed")
    assert lake["text"][:2] == ["typed", "row 1"]


def press(key):
    return lambda page: page.keyboard.press(key)


def choose(page):
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")


def type_in(name, text):
    def before(page):
        page.get_by_role("textbox", name=name, exact=True).fill(text)

    return before, press("Control+Enter" if name == "text" else "Enter")


def clicked(role, name):
    return lambda page: page.get_by_role(role, name=name, exact=True).click()


EDITS = {
    "text": type_in("text", "seen by me"),
    "number": type_in("n", "77"),
    "focus in a checkbox": (
        lambda page: page.get_by_role("checkbox", name="ok", exact=True).focus(),
        press(" "),
    ),
    "class of the field": (clicked("button", "label: cow. Change"), choose),
    "tag to remove": (lambda _: None, clicked("button", "Remove old")),
    "tag to add": (
        clicked("button", "Add to tags"),
        lambda page: (page.keyboard.type("new"), page.keyboard.press("Enter")),
    ),
    "digit": (lambda page: page.locator(".dl-detail").focus(), press("1")),
    "class by l": (
        lambda page: (page.locator(".dl-detail").focus(), page.keyboard.press("l")),
        choose,
    ),
}


@pytest.mark.parametrize("kind", EDITS)
@pytest.mark.parametrize("removed", [0, 7])
def test_refresh_during_an_edit_does_not_move_it_to_another_row(chrome, lake, kind, removed):
    before, after = EDITS[kind]
    w = lake.browse()
    with shown(chrome, w) as (page, wrong):
        opened(page, 2)
        seen = int(lake.row_ids[2])
        before(page)
        less(lake, w, page, removed)
        after(page)
        settle(page)
        loaded(page)
        now = 2 if removed == 7 else 3
        assert title(page) == f"Row 2 of {ROWS - 1}"
        text = page.get_by_role("textbox", name="text", exact=True).input_value()
        if removed == 7:  # the same row is where it was
            left = kind == "focus in a checkbox" and not ids_of(w)  # while the row is read again
            assert left or ids_of(w) == [seen]
            assert text == ("seen by me" if kind == "text" else "row 2")
        else:
            assert text == f"row {now}"
            acted_anew = kind in ("tag to remove", "digit", "focus in a checkbox")
            assert seen not in ids_of(w)
            assert ids_of(w) == [] or acted_anew
            if not acted_anew:
                eventually(page, lambda: "nothing was edited" in banner(page))
    assert wrong == []


def committed(page, w):
    page.keyboard.press("1")
    settle(page)
    w.commit("one")


def queried(page, w):  # noqa: ARG001
    w.query = "SELECT * WHERE label = 'dog'"


NOBODY = {
    "a filter": lambda page, _: page.locator(".dl-value", has_text="dog").first.click(),
    "Esc": lambda page, _: page.keyboard.press("Escape"),
    "a commit": committed,
    "a query": queried,
    "a click beside the cards": lambda page, _: page.mouse.click(1270, 600),
}


@pytest.mark.parametrize("how", NOBODY)
@pytest.mark.parametrize("key", ["1", "l", "t", "a"])
def test_keys_edit_nothing_without_a_selection(chrome, lake, how, key):
    w = lake.browse()
    with shown(chrome, w) as (page, wrong):
        page.locator(".dl-value").first.wait_for()
        page.mouse.click(*at(page, 3))
        settle(page)
        NOBODY[how](page, w)
        pushed(page)
        settle(page)
        painted(page)
        count = page.locator(".dl-chosen-count")
        eventually(page, lambda: count.text_content() == "Nothing selected")
        page.locator(".dl-scroller").focus()
        page.keyboard.press(key)
        settle(page)
        assert w.staged_count == 0
        assert page.get_by_role("dialog").count() == 0
        if key != "a":
            why = "Nothing is selected. Select rows first"
            eventually(page, lambda: banner(page).startswith(why))
    assert wrong == []


RINGED = """() => {
	const canvas = document.querySelector('.dl-canvas');
	return canvas.toDataURL();
}"""


def test_row_with_the_keyboard_focus_is_edited_until_the_answer_changes(chrome, lake):
    w = lake.browse()
    with shown(chrome, w) as (page, wrong):
        page.locator(".dl-scroller").focus()
        settle(page)
        without = page.evaluate(RINGED)
        page.keyboard.press("ArrowRight")
        page.keyboard.press("ArrowRight")
        settle(page)
        eventually(page, lambda: page.evaluate(RINGED) != without)
        page.keyboard.press("4")
        settle(page)
        page.keyboard.press("l")
        page.get_by_role("dialog").wait_for()
        page.keyboard.press("Enter")
        settle(page)
        eventually(page, lambda: w.staged_count == 2)
        assert ids_of(w) == [int(lake.row_ids[2])]
        page.locator(".dl-value").first.focus()
        page.keyboard.press("1")
        settle(page)
        assert w.staged_count == 2  # the ring is not drawn
        page.locator(".dl-scroller").focus()
        w.commit("two")
        pushed(page)
        settle(page)
        page.keyboard.press("1")
        settle(page)
        assert w.staged_count == 0
        page.keyboard.press("ArrowLeft")
        page.keyboard.press("1")
        settle(page)
        eventually(page, lambda: ids_of(w) == [int(lake.row_ids[1])])
    assert wrong == []


@pytest.mark.parametrize("key", ["l", "t"])
def test_dialog_edits_the_rows_that_were_selected_when_it_was_opened(chrome, lake, key):
    w = lake.browse()
    with shown(chrome, w) as (page, wrong):
        page.mouse.click(*at(page, 2))
        settle(page)
        page.keyboard.press(key)
        page.get_by_role("dialog").wait_for()
        less(lake, w, page, 0)
        page.keyboard.type("cat")
        page.keyboard.press("Enter")
        settle(page)
        assert w.staged_count == 0
        eventually(page, lambda: "nothing was edited" in banner(page))
        eventually(page, lambda: w.selected.tolist() == [1])
        page.keyboard.press("1")
        settle(page)
        assert w.view["text"][1] == "row 2"
        eventually(page, lambda: ids_of(w) == [int(w.view.row_ids[1])])
    assert wrong == []


def test_more_like_this_uses_the_selected_row(chrome, make_lake):
    vectors = np.eye(6, dtype=np.float32)
    lake = make_lake({"e": dl.Embedding(6), "n": "int32"}, e=vectors, n=range(6))
    w = lake.browse()
    with shown(chrome, w) as (page, wrong):
        page.mouse.click(*at(page, 3))
        page.keyboard.press("Escape")
        settle(page)
        page.keyboard.press("r")
        settle(page)
        eventually(page, lambda: banner(page).startswith("Nothing is selected"))
        page.mouse.click(*at(page, 4))
        page.keyboard.press("r")
        settle(page)
        eventually(page, lambda: w.view["n"][0] == 4)
    assert wrong == []
