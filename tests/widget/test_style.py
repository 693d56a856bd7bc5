"""Our style sheets affect only our own elements, even on a page with conflicting styles."""

from __future__ import annotations

import re

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.repr.html.style import SHEET
from deeplake_lite.widget import front_end

from .page import opened

pytestmark = pytest.mark.browser

STYLE = front_end.style()

STRAY = """() => {
  const rules = (list) => [...list].flatMap((rule) => [rule, ...rules(rule.cssRules ?? [])]);
  const flat = (rule) => {
    const own = rule.selectorText.replaceAll(/::[\\w-]+/g, "");
    const parent = rule.parentRule;
    const above = parent && (parent.selectorText ? parent : parent.parentRule);
    const outer = above && flat(above);
    if (!outer) return own;
    return own.includes("&") ? own.replaceAll("&", `:is(${outer})`) : `:is(${outer}) :is(${own})`;
  };
  const sheet = [...document.styleSheets].find((sheet) => sheet.ownerNode.id === "ours");
  const all = rules(sheet.cssRules);
  const styled = all.filter((rule) => rule.selectorText);
  const stray = [];
  for (const selector of styled.map(flat)) {
    for (const node of document.querySelectorAll(selector)) {
      if (!node.closest(OURS)) stray.push(`${selector}: ${node.className || node.tagName}`);
    }
  }
  return { count: styled.length, stray, names: all.filter((r) => r.name).map((r) => r.name) };
}"""

# Everything that a rule may select, outside: each of our classes, each element, each state.
DECOYS = """(classes) => {
  const tags = ("div p h2 h3 ul li table tr td th dl dt dd pre kbd code select textarea input " +
    "button form summary strong img span svg label del ins").split(" ");
  const states = ("aria-pressed aria-expanded aria-selected aria-disabled data-writable " +
    "data-theme").split(" ");
  const box = document.createElement("div");
  box.id = "decoys";
  document.body.append(box);
  const all = document.createElement("section");
  all.className = classes.join(" ");
  box.append(all);
  for (const one of [...classes, ""]) {
    const outer = document.createElement("div");
    outer.className = one;
    box.append(outer);
    for (const tag of tags) {
      const node = document.createElement(tag);
      node.className = one;
      for (const name of states) node.setAttribute(name, "true");
      node.hidden = true;
      outer.append(node);
      all.append(node.cloneNode());
    }
  }
}"""


def load(page, css):
    page.evaluate(
        "(text) => { const style = document.createElement('style'); style.id = 'ours';"
        " style.textContent = text; document.head.append(style); }",
        css,
    )


@pytest.mark.parametrize(
    ("css", "ours", "least"), [(STYLE, ".dl-browser, .dl-strip", 200), (SHEET, ".dl-repr", 30)]
)
def test_no_rule_affects_foreign_elements(css, ours, least, chrome, tmp_path):
    classes = sorted(
        set(re.findall(r"dl-[a-z0-9-]+", STYLE + SHEET)) - {*re.findall(r"dl-[a-z]+", ours)}
    )
    with opened(chrome, tmp_path, rows=8) as shown:
        load(shown.page, css)
        shown.page.evaluate(DECOYS, classes)
        result = shown.page.evaluate(STRAY.replace("OURS", f'"{ours}"'))
    assert result["stray"] == []
    assert result["count"] >= least
    assert [name for name in result["names"] if not name.startswith("dl-browser-")] == []


SEEN = """() => [...document.querySelectorAll("#repr, #repr *")].map((node) => {
  const style = getComputedStyle(node);
  return Object.fromEntries([...style].map((name) => [name, style.getPropertyValue(name)]));
})"""


def test_repr_looks_the_same_next_to_a_browser(chrome, tmp_path, make_lake):
    ds = make_lake(
        {"label": dl.ClassLabel(["a", "b"]), "x": "float32", "image": "image"},
        label=[0, 1, 1], x=[1.0, 2.0, 3.0], image=[np.zeros((8, 8, 3), "uint8")] * 3,
    )  # fmt: skip
    htmls = [ds._repr_html_(), ds["label"]._repr_html_(), ds["x"]._repr_html_()]
    assert any("dl-bar" in html for html in htmls)
    with opened(chrome, tmp_path, rows=8) as shown:
        page = shown.page
        page.evaluate(
            "(html) => { const box = document.createElement('div'); box.id = 'repr';"
            " box.innerHTML = html; document.body.append(box); }",
            "".join(htmls),
        )
        page.add_style_tag(content="html { overflow-y: scroll } body { margin: 12px !important }")
        sheet = "[...document.styleSheets].find((s) => s.ownerNode.textContent.includes('dl-top'))"
        beside = page.evaluate(SEEN)
        page.evaluate(f"() => {{ {sheet}.disabled = true; }}")
        alone = page.evaluate(SEEN)
    changed = [
        (name, a[name], b[name]) for a, b in zip(alone, beside, strict=True) for name in a
        if a[name] != b[name]
    ]  # fmt: skip
    assert changed == []
    assert len(beside) > 20
