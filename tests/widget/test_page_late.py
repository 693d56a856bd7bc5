"""Late replies and images never replace what is shown by then."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl

from .bridge import held, painted, shown
from .page import eventually

pytestmark = pytest.mark.browser

DECODED = """(ms) => {
	const decode = window.createImageBitmap;
	window.begun = window.done = 0;
	window.createImageBitmap = async (...of) => {
		const made = await decode(...of);
		if (made.width > 500) {
			window.begun++;
			await new Promise((go) => setTimeout(go, ms));
			window.done++;
		}
		return made;
	};
}"""
"""Delays large images, and counts those that have begun and those that are done."""
MIDDLE = """() => {
	const canvas = document.querySelector(".dl-viewer canvas");
	const [x, y] = [(canvas.width * 0.45) | 0, canvas.height >> 1];
	return [...canvas.getContext("2d").getImageData(x, y, 1, 1).data].slice(0, 3);
}"""


def large(colour):
    return np.full((700, 700, 3), colour, "uint8")


def small(colour):
    return np.full((20, 20, 3), colour, "uint8")


def opened(page, position):
    page.locator(f"[data-position='{position}']").first.dblclick()
    page.locator(".dl-detail h2").wait_for()


@pytest.mark.parametrize("compares", [False, True])
def test_late_image_does_not_appear_in_the_next_row(chrome, make_lake, compares):
    pictures = [large((255, 0, 0)), small((0, 0, 255))]
    lake = make_lake({"image": dl.Image("png"), "x": "int32"}, image=pictures, x=[1, 2])
    before = lake.version
    lake.update([0, 1], {"x": [10, 20]})
    lake.commit("two")
    w = dl.browse_diff(lake, before, "main") if compares else lake.browse()
    with shown(chrome, w) as (page, wrong):
        page.evaluate(DECODED, 600)
        opened(page, 0)
        page.wait_for_function("n => window.begun === n", arg=2 if compares else 1)
        page.keyboard.press("ArrowRight")
        eventually(page, lambda: page.evaluate(MIDDLE) == [0, 0, 255])
        page.wait_for_function("() => window.done === window.begun")
        page.wait_for_timeout(300)  # the late image may not replace the other one
        assert page.locator(".dl-detail h2").text_content() == "Row 1 of 2"
        assert page.evaluate(MIDDLE) == [0, 0, 255]
    assert wrong == []


def test_comparison_mode_may_change_while_the_next_pair_is_read(chrome, make_lake):
    pictures = [small((255, 0, 0)), small((0, 0, 255))]
    lake = make_lake({"image": dl.Image("png"), "x": "int32"}, image=pictures, x=[1, 2])
    before = lake.version
    lake.update([0, 1], {"x": [10, 20]})
    lake.commit("two")
    with shown(chrome, dl.browse_diff(lake, before, "main")) as (page, wrong):
        opened(page, 0)
        page.locator(".dl-detail:not(.dl-loading) .dl-field").first.wait_for()
        release = held(page, "detail")
        page.keyboard.press("ArrowRight")
        page.get_by_role("button", name="Swipe").click()
        page.wait_for_timeout(300)  # nothing may go wrong while the replies are missing
        release()
        eventually(page, lambda: page.evaluate(MIDDLE) == [0, 0, 255])
        eventually(page, lambda: page.locator(".dl-change").first.inner_text() != "")
    assert wrong == []


def test_captions_read_before_an_edit_are_replaced(chrome, make_lake):
    lake = make_lake(
        {"image": dl.Image("png"), "label": dl.ClassLabel(["cat", "dog"])},
        image=[large((9, 9, 9))],
        label=["cat"],
    )
    w = lake.browse()
    w.settings = {**w.settings, "size": 700}
    with shown(chrome, w) as (page, wrong):
        page.evaluate(DECODED, 900)
        page.locator("[data-position='0']").click()
        page.keyboard.press("2")
        page.wait_for_function("() => window.begun === 1")  # the cell was read again
        page.keyboard.press("1")
        page.wait_for_function("() => window.done === 2")
        painted(page)
        card = page.locator("[data-position='0']")
        eventually(page, lambda: "label cat" in card.get_attribute("aria-label"))
        page.keyboard.press("Control+z")
        eventually(page, lambda: "label dog" in card.get_attribute("aria-label"))
    assert wrong == []


def lasso(page):
    """Draw around the upper left quarter of the map."""
    box = page.locator(".dl-map-box").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    corners = [(box["x"] + 2, box["y"] + 2), (x, box["y"] + 2), (x, y), (box["x"] + 2, y)]
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in corners[1:]:
        page.mouse.move(*corner, steps=5)
    page.mouse.up()


def test_lasso_on_the_map_of_other_rows_selects_nothing_and_says_so(chrome, make_lake):
    rng = np.random.default_rng(0)
    lake = make_lake(
        {"x": "int32", "e": dl.Embedding(4), "label": dl.ClassLabel(["a", "b"])},
        x=np.arange(300),
        e=rng.normal(size=(300, 4)).astype("float32"),
        label=rng.integers(0, 2, 300),
    )
    w = lake.browse()
    with shown(chrome, w) as (page, wrong):
        page.locator(".dl-scroller").focus()
        page.keyboard.press("m")
        note = page.locator(".dl-map-note")
        note.wait_for(state="attached")
        page.wait_for_function("() => !document.querySelector('.dl-map-note').textContent")
        lasso(page)
        eventually(page, lambda: len(w.selected) > 0)
        assert len(w.selected) < 300
        before = {int(x) for x in w.selected_view()["x"][:]}
        page.locator(".dl-scroller").focus()
        page.keyboard.press("Escape")
        release = held(page, "points")
        query = page.get_by_role("combobox", name="Query")
        query.fill("SELECT * WHERE label = 'b' ORDER BY x DESC")
        query.press("Enter")
        page.wait_for_function(
            "() => document.querySelector('.dl-browser').dataset.generation === '2'"
        )
        assert note.text_content().startswith("Computing the map")
        lasso(page)
        page.wait_for_timeout(200)
        page.mouse.click(
            *[v + 200 for v in page.locator(".dl-map-box").bounding_box().values()][:2]
        )
        said = page.locator(".dl-banner-text")
        why = "The map is being computed for the shown rows."
        eventually(page, lambda: said.text_content().startswith(why))
        assert w.selected.tolist() == []
        release()
        page.wait_for_function("() => !document.querySelector('.dl-map-note').textContent")
        lasso(page)
        labels = lake["label"][:]
        expected = {x for x in before if labels[x]}
        eventually(page, lambda: {int(x) for x in w.selected_view()["x"][:]} == expected)
    assert wrong == []
