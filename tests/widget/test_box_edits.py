"""Boxes are edited in the row details: each keeps its class, and each edit its row."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

import deeplake_lite as dl

from .test_row_edits import row, settle

pytestmark = pytest.mark.browser

NAMES = ["ant", "bee", "cat", "dog"]
BOXES = [[10, 10, 40, 40], [60, 10, 90, 40], [120, 50, 180, 90]]
CLASSES = ["bee", "cat", "dog"]
SIZE = (200, 100)

SLOW = """(wait) => {
	const python = window.python;
	window.python = async (sent) => {
		const back = await python(sent);
		const { message } = JSON.parse(sent);
		if (message?.type === "detail") await new Promise((done) => setTimeout(done, wait));
		return back;
	};
}"""


@pytest.fixture
def lake(make_lake):
    def make(classes=CLASSES):
        several = dl.ClassLabel(NAMES, multiple=True, nullable=True)
        return make_lake(
            {"image": "image", "boxes": dl.Boxes(), "boxes_classes": several, "n": "int32"},
            image=[np.full((*SIZE[::-1], 3), i, np.uint8) for i in range(3)],
            boxes=[BOXES] * 3,
            boxes_classes=[classes] * 3,
            n=range(3),
        )

    return make


def cells(ds, position=0):
    """Return the boxes of a row, in whole pixels, and the names of their classes."""
    fresh = dl.open(ds.url)
    result = fresh["boxes_classes"][position]
    names = None if result is None or result is np.ma.masked else [NAMES[i] for i in result]
    return np.round(fresh["boxes"][position]).astype(int).tolist(), names


def place(page, x, y):
    """Return the position of an image's pixel on the screen."""
    at = page.locator(".dl-viewer").bounding_box()
    width, height = at["width"] - 24, at["height"] - 24
    scale = min(width / SIZE[0], height / SIZE[1], 24)
    left, top = (width - SIZE[0] * scale) / 2, (height - SIZE[1] * scale) / 2
    return at["x"] + 12 + left + x * scale, at["y"] + 12 + top + y * scale


def draw(page, box, *, hold=0):
    """Draw a box, with a pause before the button is released."""
    page.mouse.move(*place(page, *box[:2]))
    page.mouse.down()
    page.mouse.move(*place(page, box[0] + 5, box[1] + 5), steps=2)
    page.wait_for_timeout(hold)
    page.mouse.move(*place(page, *box[2:]), steps=2)
    page.mouse.up()


def press(page, *keys):
    for key in keys:
        page.keyboard.press(key)


@contextmanager
def boxing(chrome, w, slow=0):
    """Show the first row with its boxes in edit mode."""
    with row(chrome, w) as page:
        if slow:
            page.evaluate(SLOW, slow)
        page.keyboard.press("b")
        page.locator(".dl-hint:not([hidden])").wait_for()
        yield page


def saved(page):
    """Wait until no key press is pending, and Python has answered."""
    page.wait_for_timeout(500)
    settle(page)


@pytest.mark.parametrize("slow", [0, 500])
@pytest.mark.parametrize("hold", [0, 300])
def test_drawing_boxes_in_a_row_keeps_all_classes(chrome, lake, slow, hold):
    ds = lake()
    w = ds.browse()
    new = [[5, 60, 30, 90], [40, 60, 70, 90], [80, 60, 110, 90]]
    with boxing(chrome, w, slow) as page:
        for box in new:
            draw(page, box, hold=hold)
            page.keyboard.press("4" if box == new[-1] else "1")
        saved(page)
    w.commit("drawn")
    assert cells(ds) == ([*BOXES, *new], [*CLASSES, "ant", "ant", "dog"])


def test_every_key_counts_while_the_row_is_loaded_again(chrome, lake):
    ds = lake()
    w = ds.browse()
    with boxing(chrome, w, slow=300) as page:
        press(page, "n", "4", "n", "Shift+ArrowRight", "n", "n", "1")
        page.wait_for_timeout(150)
        press(page, "n", "Shift+ArrowDown", "Shift+ArrowDown", "n", "n", "Delete")
        saved(page)
    w.commit("keys")
    assert cells(ds) == ([[70, 30, 100, 60], BOXES[2]], ["cat", "dog"])


def test_reopened_box_editor_shows_boxes_drawn_before(chrome, lake):
    ds = lake()
    w = ds.browse()
    new = [[5, 60, 30, 90], [40, 60, 70, 90]]
    with boxing(chrome, w, slow=600) as page:
        draw(page, new[0])
        press(page, "Escape", "b")
        draw(page, new[1])
        saved(page)
    w.commit("twice")
    assert cells(ds)[0] == [*BOXES, *new]


@pytest.mark.parametrize("action", ["draw", "delete", "nudge", "name"])
@pytest.mark.parametrize("classes", [None, CLASSES[:2], [*CLASSES, "ant"]])
def test_classes_that_do_not_match_the_boxes_stay_unchanged(chrome, lake, classes, action):
    ds = lake(classes)
    w = ds.browse()
    with boxing(chrome, w) as page:
        if action == "draw":
            draw(page, [5, 60, 30, 90])
        else:
            press(page, "n", {"delete": "Delete", "nudge": "Shift+ArrowRight", "name": "1"}[action])
        saved(page)
        banner = page.locator(".dl-banner-text").text_content()
        press(page, "n", "Shift+ArrowDown")
        saved(page)
    w.commit("edited")
    result, names = cells(ds)
    assert names == classes
    refused = classes is not None and action in ("draw", "delete")
    count = 3 if refused else {"draw": 4, "delete": 2}.get(action, 3)
    assert len(result) == count
    if refused:
        assert f"3 boxes but {len(classes)} classes" in banner
    if action == "name":
        assert "Not every box in this row has a class" in banner


@pytest.mark.parametrize("query", ["SELECT image, boxes", "SELECT image, boxes ORDER BY n DESC"])
@pytest.mark.parametrize("how", ["query", "view"])
def test_classes_omitted_by_the_query_follow_their_boxes(chrome, lake, query, how):
    ds = lake()
    w = ds.browse()
    setattr(w, how, query if how == "query" else ds.query(query))
    with boxing(chrome, w) as page:
        press(page, "n", "Delete", "4")  # the next box is the one that gets a name
        draw(page, [5, 60, 30, 90])
        saved(page)
    w.commit("edited")
    at = 2 if "DESC" in query else 0
    assert cells(ds, at) == ([*BOXES[1:], [5, 60, 30, 90]], ["dog", "dog", "dog"])


@pytest.mark.parametrize("choice", ["Keep theirs", "Write mine"])
def test_conflict_of_boxes_includes_their_classes(chrome, lake, choice):
    ds = lake()
    w = ds.browse()
    with boxing(chrome, w) as page:
        press(page, "n", "Delete")
        saved(page)
        other = dl.open(ds.url)
        other.update([0], {"boxes": [np.add(BOXES, 1)]})
        other.commit("theirs")
        press(page, "Escape", "Escape", "e")
        page.get_by_role("button", name="Commit 1 row", exact=True).click()
        page.get_by_role("dialog").wait_for()
        listed = page.get_by_role("dialog").locator("tbody td:nth-child(2)").all_text_contents()
        page.get_by_role("button", name=choice).click()
        settle(page)
    assert listed == ["boxes", "boxes_classes"]
    theirs = (np.add(BOXES, 1).tolist(), CLASSES)
    assert cells(ds) == (theirs if "theirs" in choice else (BOXES[1:], CLASSES[1:]))


LEAVE = {
    "next row": ["Escape", "ArrowRight"],
    "the grid": ["Escape", "Escape"],
    "no boxes": ["b"],
    "the next edit": ["Escape", "1"],
    "undo and redo": ["Control+z", "Control+Shift+z"],
}


@pytest.mark.parametrize("to", [*LEAVE, "the next button", "a commit", "a query"])
def test_nudge_is_staged_for_its_row_wherever_the_reader_goes(chrome, lake, to):
    ds = lake()
    w = ds.browse()
    with boxing(chrome, w) as page:
        press(page, "e", "n", "Shift+ArrowRight")
        if to == "the next button":
            page.get_by_role("button", name="Next row (→)").click()
        elif to == "a query":
            box = page.get_by_role("combobox", name="Query")
            box.fill("SELECT * WHERE n > 0")
            box.press("Enter")
        elif to == "a commit":
            press(page, "1")
            page.get_by_role("button", name="Commit 1 row", exact=True).click()
        else:
            press(page, *LEAVE[to])
        saved(page)
        assert page.locator(".dl-banner-text").text_content() in (
            "", f"Committed 1 row as {ds.version[:8]}."
        )  # fmt: skip
    if w.staged_count:
        w.commit("nudged")
    assert cells(ds)[0] == [[20, 10, 50, 40], *BOXES[1:]]
    assert cells(ds, 1) == (BOXES, CLASSES)


def test_boxes_belong_to_the_loaded_row(chrome, lake):
    ds = lake()
    ds.update([1], {"boxes": [BOXES[:1]], "boxes_classes": [["ant"]]})
    ds.commit("one box")
    w = ds.browse()
    with row(chrome, w) as page:
        page.evaluate(SLOW, 500)
        press(page, "ArrowRight", "b", "n", "Shift+ArrowRight")
        saved(page)
        page.wait_for_timeout(300)
        settle(page)
    if w.staged_count:
        w.commit("moved")
    assert len(cells(ds, 1)[0]) == 1
    assert cells(ds) == (BOXES, CLASSES)


def test_edit_of_rows_that_are_no_longer_shown_is_refused_visibly(chrome, lake):
    ds = lake()
    w = ds.browse()
    with boxing(chrome, w) as page:
        press(page, "n", "Shift+ArrowRight")
        w.query = "SELECT * ORDER BY n DESC"
        saved(page)
        said = page.locator(".dl-banner-text").text_content()
    assert "nothing was edited" in said
    assert w.staged_count == 0


OTHERS = {
    "scaled": ("SELECT RESIZE(image, 50, 100) AS image, boxes", None),
    "cut": ("SELECT image[10:90, 10:100] AS image, boxes", None),
    "cut, by another name": ("SELECT image[10:90, 10:100] AS part, boxes", "part"),
    "of another size": ("", "thumb"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_boxes_are_not_edited_over_another_image(chrome, make_lake, other):
    picture = np.zeros((*SIZE[::-1], 3), np.uint8)
    schema = {"image": "image", "thumb": "image", "boxes": dl.Boxes()}
    ds = make_lake(schema, image=[picture], thumb=[picture[::4, ::4]], boxes=[BOXES])
    w = ds.browse()
    query, chosen = OTHERS[other]
    w.query = query
    w.settings = {**w.settings, "picture": chosen or "image"}
    with row(chrome, w) as page:
        assert page.get_by_role("button", name="Edit boxes (b)").is_hidden()
        assert "'boxes' is not drawn over" in page.locator(".dl-unmarked").text_content()
        press(page, "b", "n", "Shift+ArrowRight", "a")
        saved(page)
        assert "'boxes' is not drawn over" in page.locator(".dl-banner-text").text_content()
    assert w.staged_count == 0


def test_boxes_are_no_longer_edited_once_another_image_is_chosen(chrome, make_lake):
    picture = np.zeros((*SIZE[::-1], 3), np.uint8)
    schema = {"image": "image", "thumb": "image", "boxes": dl.Boxes()}
    ds = make_lake(schema, image=[picture], thumb=[picture[::4, ::4]], boxes=[BOXES])
    w = ds.browse()
    with boxing(chrome, w) as page:
        press(page, "n", "Shift+ArrowRight")
        page.get_by_role("button", name="Overlays").click()
        page.get_by_label("Image", exact=True).select_option("thumb")
        page.keyboard.press("Escape")
        saved(page)
        page.locator(".dl-unmarked:not([hidden])").wait_for()
        assert page.locator(".dl-hint").is_hidden()
        page.locator(".dl-detail").focus()
        press(page, "Shift+ArrowRight", "Delete", "a")
        saved(page)
    w.commit("nudged")
    assert np.round(dl.open(ds.url)["boxes"][0]).tolist() == [[20, 10, 50, 40], *BOXES[1:]]


@pytest.mark.parametrize("classed", [False, True])
def test_boxes_are_drawn_in_an_empty_row_and_not_into_another_column(chrome, make_lake, classed):
    schema = {"image": "image", "mine": dl.Boxes(nullable=True), "other": dl.Boxes()}
    cells = {
        "image": [np.zeros((*SIZE[::-1], 3), np.uint8)] * 2,
        "mine": [None, BOXES],
        "other": [BOXES, BOXES],
    }
    if classed:
        schema["mine_classes"] = dl.ClassLabel(NAMES, multiple=True, nullable=True)
        cells["mine_classes"] = [None, CLASSES]
    ds = make_lake(schema, **cells)
    w = ds.browse()
    with boxing(chrome, w) as page:
        draw(page, [5, 60, 30, 90])
        saved(page)
        draw(page, [60, 20, 90, 50])
        if classed:
            page.keyboard.press("3")
        saved(page)
    assert {edit["column"] for edit in w.staged} <= {"mine", "mine_classes"}
    w.commit("drawn")
    fresh = dl.open(ds.url)
    drawn = np.round(fresh["mine"][0]).astype(int).tolist()
    assert drawn == [[5, 60, 30, 90], [60, 20, 90, 50]]
    np.testing.assert_array_equal(fresh["other"][0], np.array(BOXES))
    if classed:
        assert [NAMES[i] for i in fresh["mine_classes"][0]] == ["ant", "cat"]
