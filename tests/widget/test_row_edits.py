"""Cells are edited in the row at large: what the page sends is what becomes a version."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

import deeplake_lite as dl

from .bridge import shown

pytestmark = pytest.mark.browser


@contextmanager
def row(chrome, w, position=0):
    """Show a row at large; in the end nothing may have gone wrong on its page."""
    with shown(chrome, w) as (page, wrong):
        page.locator(f"[data-position='{position}']").first.dblclick()
        page.locator(".dl-detail:not(.dl-loading) .dl-field").first.wait_for()
        yield page
    assert wrong == []


def settle(page):
    """Wait until Python has answered everything."""
    page.wait_for_function("() => document.querySelector('.dl-browser').dataset.pending === '0'")


def test_boxes_beyond_the_picture_stay_when_one_is_drawn(chrome, make_lake):
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
