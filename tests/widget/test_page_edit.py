"""Row details, edits and diffs on a page."""

from __future__ import annotations

import re

import pytest

from .page import opened

pytestmark = pytest.mark.browser


def detail(shown, position):
    shown.page.mouse.dblclick(*shown.card(position))
    loaded(shown)


def loaded(shown):
    shown.page.locator(".dl-detail:not(.dl-loading) .dl-field").first.wait_for()


def staged(shown):
    return [edit for message in shown.sent("stage") for edit in message["edits"]]


def await_staged(shown, count):
    """Return the staged edits when there are that many; a row in detail is then read again."""
    shown.eventually(lambda: len(staged(shown)) >= count)
    shown.answered()
    if shown.page.locator(".dl-detail").count():
        loaded(shown)
    return staged(shown)


def test_number_keys_set_the_class_of_the_selection_and_can_be_undone(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=200, settings={"panel": "edits"}) as shown:
        shown.painted()
        shown.click(1)
        shown.click(3, "Shift")
        shown.page.keyboard.press("4")
        shown.page.get_by_role("button", name="Commit 3 rows", exact=True).wait_for()
        edit = {"positions": [1, 2, 3], "column": "label", "op": "set", "value": 3}
        assert staged(shown) == [edit]
        shown.painted()
        shown.page.screenshot(path=tmp_path / "edits.png")
        card = shown.page.locator("[data-position='2']")
        shown.eventually(lambda: card.get_attribute("aria-label") == "Row 2: label cat, edited")
        shown.page.keyboard.press("Control+z")
        shown.page.get_by_text("Nothing is staged").wait_for()
        shown.page.keyboard.press("Control+Shift+z")
        shown.page.get_by_text("set to cat", exact=True).wait_for()
        shown.page.get_by_role("button", name="Drop the edit of label").click()
        shown.page.get_by_text("Nothing is staged").wait_for()


def test_class_is_chosen_by_typing_its_beginning(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=200) as shown:
        shown.painted()
        shown.click(5)
        shown.page.keyboard.press("l")
        shown.page.keyboard.type("fr")
        shown.page.screenshot(path=tmp_path / "chooser.png")
        shown.page.keyboard.press("Enter")
        assert await_staged(shown, 1)[0]["value"] == 6
        shown.page.keyboard.press("t")
        shown.page.keyboard.type("night")
        shown.page.keyboard.press("Enter")
        tag = await_staged(shown, 2)[1]
        assert (tag["op"], tag["value"]) == ("add_tag", 2)


def test_edits_are_committed_with_a_message(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=200, settings={"panel": "edits"}) as shown:
        shown.painted()
        shown.click(1)
        shown.page.keyboard.press("2")
        shown.page.get_by_label("Commit message").fill("Fix labels")
        shown.page.keyboard.press("Enter")
        shown.page.get_by_text("Committed 1 row as 7QHX2K9ABC.").wait_for()
        assert shown.sent("commit")[0]["message"] == "Fix labels"


def test_conflict_shows_both_sides_and_is_resolved(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=200, settings={"panel": "edits"}) as shown:
        shown.painted()
        shown.click(1)
        shown.page.keyboard.press("2")
        shown.page.get_by_label("Commit message").fill("conflict")
        shown.page.keyboard.press("Enter")
        dialog = shown.page.get_by_role("dialog", name="Another writer changed these rows")
        dialog.wait_for()
        shown.page.screenshot(path=tmp_path / "conflict.png")
        dialog.get_by_role("cell", name="dog").wait_for()
        dialog.get_by_role("button", name="Keep theirs").click()
        shown.page.get_by_text("Committed").first.wait_for()
        assert shown.sent("resolve")[0]["choice"] == "theirs"


def test_row_details_show_every_column_and_the_history(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=200) as shown:
        shown.painted()
        detail(shown, 2)
        names = shown.page.locator(".dl-field dt span:first-child").all_text_contents()
        assert names[:2] == ["image", "label"]
        assert names[-1] == "row id"
        shown.page.locator("summary", has_text="History").click()
        shown.page.get_by_text("Fix labels of the night shots").wait_for()
        shown.page.screenshot(path=tmp_path / "detail.png")
        shown.page.keyboard.press("ArrowRight")
        shown.page.get_by_role("heading", name="Row 3 of 200").wait_for()
        shown.page.keyboard.press("Escape")
        assert not shown.page.locator(".dl-detail").count()
        assert shown.page.evaluate("() => document.activeElement.role") == "grid"


def test_zooming_in_requests_the_whole_image(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=200) as shown:
        shown.painted()
        detail(shown, 2)
        for _ in range(6):
            shown.page.keyboard.press("+")
        shown.page.wait_for_function(
            "() => __model.sent.some((m) => m.type === 'detail' && m.size === 0)"
        )


def test_columns_are_edited_in_place(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=200) as shown:
        shown.painted()
        detail(shown, 2)
        shown.page.get_by_label("score", exact=True).fill("0.25")
        shown.page.keyboard.press("Enter")
        await_staged(shown, 1)
        caption = shown.page.get_by_label("caption", exact=True)
        caption.fill("A new text")
        shown.page.keyboard.press("Control+Enter")
        await_staged(shown, 2)
        shown.page.get_by_role("button", name="Remove night").click()
        made = [(e["column"], e["op"], e["value"]) for e in await_staged(shown, 3)]
        assert made == [
            ("score", "set", "0.25"),
            ("caption", "set", "A new text"),
            ("tags", "remove_tag", 2),
        ]
        assert all(edit["positions"] == [2] for edit in staged(shown))


def test_boxes_are_drawn_moved_named_and_removed(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=200) as shown:
        shown.painted()
        detail(shown, 0)
        shown.page.keyboard.press("b")
        viewer = shown.page.locator(".dl-viewer").bounding_box()
        mouse = shown.page.mouse
        x, y = viewer["x"] + viewer["width"] / 2, viewer["y"] + viewer["height"] / 2
        mouse.move(x - 150, y + 60)
        mouse.down()
        mouse.move(x - 90, y + 120, steps=4)
        mouse.up()
        drawn = await_staged(shown, 1)[-1]
        assert (drawn["op"], len(drawn["value"]["boxes"])) == ("set_boxes", 2)
        mouse.move(x - 120, y + 90)
        mouse.down()
        mouse.move(x - 100, y + 70, steps=4)
        mouse.up()
        moved = await_staged(shown, 2)[-1]
        before, after = drawn["value"]["boxes"][1], moved["value"]["boxes"][1]
        assert after[0] > before[0]
        assert after[1] < before[1]
        assert after[2] - after[0] == pytest.approx(before[2] - before[0])
        shown.page.screenshot(path=tmp_path / "boxes.png")
        shown.page.keyboard.press("3")
        assert await_staged(shown, 3)[-1]["value"]["c"] == [1, 2]
        shown.page.keyboard.press("Delete")
        assert len(await_staged(shown, 4)[-1]["value"]["boxes"]) == 1


def test_read_only_version_cannot_be_edited(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=50, about={"writable": False}) as shown:
        shown.painted()
        shown.click(1)
        shown.page.keyboard.press("2")
        shown.page.get_by_text("This version is read-only").wait_for()
        assert shown.sent("stage") == []


def test_diff_shows_pairs_by_kind_of_change(chrome, tmp_path):
    with opened(chrome, tmp_path, mode="diff") as shown:
        shown.painted()
        assert shown.data("rows") == "120"
        label = shown.page.locator("[data-position='1']").get_attribute("aria-label")
        assert re.search(r"Row 1: .*label: \w+ → \w+", label)
        shown.page.screenshot(path=tmp_path / "diff.png")
        shown.page.get_by_role("button", name="Removed").click()
        shown.page.wait_for_function(
            "() => document.querySelector('.dl-browser').dataset.rows === '8'"
        )
        shown.painted()
        shown.page.get_by_role("button", name="Changed").click()
        shown.page.wait_for_function(
            "() => document.querySelector('.dl-browser').dataset.rows === '120'"
        )
        shown.painted()
        shown.page.get_by_label("Changed column").select_option("label")
        shown.await_sent("tab", "column", "label")


def test_pair_is_compared_side_by_side_and_by_swipe(chrome, tmp_path):
    with opened(chrome, tmp_path, mode="diff") as shown:
        shown.painted()
        detail(shown, 1)
        assert [m["side"] for m in shown.sent("detail")] == ["a", "b"]
        assert shown.page.locator(".dl-viewer:visible").count() == 2
        assert shown.page.locator("del").first.text_content() == "automobile"
        shown.page.get_by_role("button", name="Swipe").click()
        assert shown.page.locator(".dl-viewer:visible").count() == 1
        shown.page.get_by_label("Share of the older version").fill("30")
        shown.page.wait_for_timeout(150)
        shown.page.screenshot(path=tmp_path / "swipe.png")


COUNT_DRAWINGS = """
for (const name of ["clearRect", "setTransform"]) {
    const call = CanvasRenderingContext2D.prototype[name];
    CanvasRenderingContext2D.prototype[name] = function (...args) {
        this.canvas.dataset.drawings = Number(this.canvas.dataset.drawings ?? 0) + 1;
        return call.apply(this, args);
    };
}
"""
DRAWINGS = """() => [...document.querySelectorAll('.dl-viewer')]
    .filter((viewer) => viewer.offsetParent)
    .flatMap((viewer) => [viewer, ...viewer.querySelectorAll('*')])
    .filter((element) => element.matches('canvas'))
    .map((canvas) => Number(canvas.dataset.drawings ?? 0))"""


@pytest.mark.parametrize("mode", ["diff", None])
def test_images_in_the_details_follow_a_change_of_the_theme(chrome, tmp_path, mode):
    options = {"mode": mode} if mode else {"rows": 50}
    with opened(chrome, tmp_path, script=COUNT_DRAWINGS, **options) as shown:
        shown.painted()
        detail(shown, 1)
        shown.page.wait_for_timeout(300)  # nothing says that the images are drawn for good
        before = shown.page.evaluate(DRAWINGS)
        assert len(before) == (2 if mode else 1)
        shown.page.evaluate("() => document.body.setAttribute('data-theme', 'dark')")
        shown.page.wait_for_function(
            f"(before) => ({DRAWINGS})().every((drawings, i) => drawings > before[i])", arg=before
        )


def test_keys_in_the_row_details_edit_that_row_and_not_the_selection_behind_it(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=200) as shown:
        shown.painted()
        shown.click(0)
        detail(shown, 0)
        shown.page.keyboard.press("ArrowRight")
        shown.page.get_by_role("heading", name="Row 1 of 200").wait_for()
        shown.page.keyboard.press("2")
        for key in ("l", "t"):
            shown.page.keyboard.press(key)
            shown.page.get_by_role("dialog").wait_for()
            shown.page.keyboard.press("Enter")
        assert [edit["positions"] for edit in await_staged(shown, 3)] == [[1], [1], [1]]
        shown.page.locator(".dl-detail").focus()
        shown.page.keyboard.press("Escape")
        shown.page.keyboard.press("3")
        assert await_staged(shown, 4)[-1]["positions"] == [0]


DIGITS = {"columns": [{"name": "digit", "kind": "class", "classes": list("0123456789")}]}


def test_digit_means_the_class_with_that_name(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=50, about=DIGITS, settings={"panel": "edits"}) as shown:
        shown.page.locator("[data-position='1']").wait_for()
        shown.click(1)
        keys = shown.page.locator(".dl-key-list kbd").all_text_contents()
        assert sorted(keys) == list("0123456789")
        for key in "70":
            shown.page.keyboard.press(key)
        assert [edit["value"] for edit in await_staged(shown, 2)] == [7, 0]


def test_read_only_version_says_so_before_anything_is_selected(chrome, tmp_path):
    for key in ("l", "t"):
        with opened(chrome, tmp_path, rows=50, about={"writable": False}) as shown:
            shown.painted()
            shown.click(1)
            shown.page.keyboard.press(key)
            shown.page.get_by_text("This version is read-only. Show a branch").wait_for()
            assert not shown.page.get_by_role("dialog").count()


BOXES = [
    {"name": "image", "kind": "image"},
    {"name": "label", "kind": "class", "classes": list("abcdefghi")},
    {"name": "boxes", "kind": "boxes", "classes": ["cat", "dog"]},
]


def test_digit_without_a_class_of_a_box_leaves_the_row_unchanged(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=200, about={"columns": BOXES}) as shown:
        shown.painted()
        detail(shown, 0)
        shown.page.keyboard.press("b")
        shown.page.get_by_text("Drag to draw").wait_for()
        shown.page.keyboard.press("n")
        shown.page.keyboard.press("9")
        shown.page.keyboard.press("2")
        await_staged(shown, 1)
        shown.page.wait_for_timeout(150)  # no other edit may follow
        assert [edit["op"] for edit in staged(shown)] == ["set_boxes"]


COMPUTED = [
    {"name": "guess", "kind": "class", "classes": ["x", "y"], "stored": False},
    {"name": "label", "kind": "class", "classes": ["a", "b"], "stored": True},
]


def test_keys_set_a_stored_column_and_not_a_computed_one(chrome, tmp_path):
    about = {"columns": COMPUTED}
    with opened(chrome, tmp_path, rows=50, about=about, settings={"panel": "edits"}) as shown:
        shown.page.locator("[data-position='1']").wait_for()
        shown.click(1)
        shown.page.keyboard.press("2")
        made = [(edit["column"], edit["value"]) for edit in await_staged(shown, 1)]
        assert made == [("label", 1)]
    about = {"columns": COMPUTED[:1]}
    with opened(chrome, tmp_path, rows=50, about=about, settings={"panel": "edits"}) as shown:
        shown.page.locator("[data-position='1']").wait_for()
        shown.click(1)
        for key in "2l":
            shown.page.keyboard.press(key)
        shown.page.wait_for_timeout(150)
        assert staged(shown) == []
        assert not shown.page.get_by_role("dialog").count()
