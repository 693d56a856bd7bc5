"""Names with invisible or direction-changing characters: the page shows each of them."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl

from .bridge import shown
from .page import eventually, stored

pytestmark = pytest.mark.browser

RTL = "\u202egnp.evil"
SAID = "\\u202egnp.evil"
VALUE = "\u202etxet"

WRITTEN = """() => {
  window.written = [];
  const own = CanvasRenderingContext2D.prototype.fillText;
  CanvasRenderingContext2D.prototype.fillText = function (text, ...more) {
    window.written.push(text);
    return own.call(this, text, ...more);
  };
}"""

TURNED = """() => {
  const turned = (text) => /[\\u0000-\\u0008\\u200b-\\u200f\\u202a-\\u202e\\u2066-\\u2069]/.test(text ?? "");
  const found = [];
  const walker = document.createTreeWalker(document.querySelector(".dl-browser"), NodeFilter.SHOW_ALL);
  for (let node = walker.currentNode; node; node = walker.nextNode()) {
    if (node.nodeType === 3) {
      if (turned(node.data) && !node.parentElement.closest("[dir=auto]")) found.push(node.data);
      continue;
    }
    for (const name of node.getAttributeNames?.() ?? []) {
      if (["title", "aria-label", "placeholder"].includes(name) && turned(node.getAttribute(name))) found.push(`${name}: ${node.getAttribute(name)}`);
    }
  }
  return found;
}"""  # noqa: E501

PANELS = {"": ".dl-facet", "v": ".dl-version", "e": ".dl-edit", "m": ".dl-legend-item"}


@pytest.fixture
def ds(tmp_path):
    ds = dl.create(
        tmp_path / f"{RTL}.lake",
        {
            RTL: dl.ClassLabel([RTL, "bee"]),
            "b" + RTL: dl.Scalar("float32"),
            "note": dl.Text(),
            "boxes": dl.Boxes(),
            "boxes_classes": dl.ClassLabel([RTL], multiple=True),
            "image": "image",
            "vector": dl.Embedding(2),
        },
    )
    rows = 4
    ds.append(
        {
            RTL: [0, 1, 0, 1],
            "b" + RTL: range(rows),
            "note": [VALUE, "a", "b", "c"],
            "boxes": [[[0, 0, 9, 9]]] * rows,
            "boxes_classes": [[0]] * rows,
            "image": [np.zeros((16, 16, 3), "uint8")] * rows,
            "vector": np.eye(2)[[0, 1, 0, 1]],
        }
    )
    ds.commit(f"first {RTL}\nline")
    ds[:2].save(RTL)
    return ds


def test_every_character_of_a_name_is_visible(chrome, ds):
    w = ds.browse()
    w.selected = [0]
    w.edit(RTL, "bee")
    w.selected = []
    with shown(chrome, w) as (page, wrong):
        page.evaluate(WRITTEN)
        for key, awaited in PANELS.items():
            page.locator(".dl-scroller").focus()
            if key:  # the filters are open initially
                page.keyboard.press(key)
            page.locator(awaited).first.wait_for()
            assert page.evaluate(TURNED) == [], key
            if key != "e":
                assert SAID in page.locator(".dl-side, .dl-body").first.inner_text(), key
        page.locator(".dl-scroller").focus()
        page.keyboard.press("Enter")
        page.locator(".dl-value-text").first.wait_for()
        assert page.evaluate(TURNED) == []
        assert SAID in page.locator(".dl-info").inner_text()
        drawn = "said => window.written.some((text) => text.includes(said))"
        eventually(page, lambda: page.evaluate(drawn, SAID))
        assert [text for text in page.evaluate("() => window.written") if RTL in text] == []
        assert SAID in page.locator(".dl-title").get_attribute("title")
    assert wrong == []


def test_strings_of_the_data_keep_their_direction_and_are_isolated(chrome, ds):
    w = ds.browse()
    with shown(chrome, w) as (page, _):
        value = page.locator(".dl-value-name", has_text=VALUE)
        value.wait_for()
        assert value.evaluate("(node) => getComputedStyle(node).unicodeBidi") == "isolate"


def test_exported_page_shows_every_character_too(chrome, ds, tmp_path):
    path = ds.browse().to_html(tmp_path / "page.html")
    with stored(chrome, path) as page:
        assert SAID in page.title()
        page.locator(".dl-facet").first.wait_for()
        assert page.evaluate(TURNED) == []
