"""The page is accessible to people who do not see it, and works at any size."""

from __future__ import annotations

import pytest

from .page import opened

pytestmark = pytest.mark.browser

NAMED = {
    *("button", "checkbox", "combobox", "textbox", "searchbox", "slider", "option", "link"),
    *("grid", "gridcell", "dialog", "separator", "application", "region"),
}


def tree(shown):
    """Nodes of Chromium's accessibility tree: role, name, node."""
    session = shown.page.context.new_cdp_session(shown.page)
    nodes = session.send("Accessibility.getFullAXTree")["nodes"]
    return [
        (node["role"]["value"], node.get("name", {}).get("value", ""), node)
        for node in nodes
        if not node.get("ignored") and "role" in node
    ]


def nameless(shown):
    return [(role, name) for role, name, _ in tree(shown) if role in NAMED and not name.strip()]


STATES = {
    "filters": ({"panel": "facets"}, [], ".dl-facet"),
    "map": ({"panel": "map"}, [], ".dl-legend-item"),
    "versions": ({"panel": "versions"}, [], ".dl-version"),
    "edits": ({"panel": "edits"}, ["ArrowRight", "3"], ".dl-edit"),
    "help": ({}, ["?"], "[role=dialog]"),
    "chooser": ({}, ["ArrowRight", "l"], "[role=dialog]"),
    "review": ({}, ["s"], "[role=dialog]"),
    "detail": ({}, ["Enter"], ".dl-detail:not(.dl-loading) .dl-field"),
}
"""Settings, keys to press, and an element that appears then."""


@pytest.mark.parametrize("state", STATES)
def test_every_control_has_a_name(chrome, tmp_path, state):
    settings, keys, appears = STATES[state]
    with opened(chrome, tmp_path, rows=200, settings=settings) as shown:
        shown.painted()
        shown.page.locator("[role=grid]").focus()
        for key in keys:
            shown.page.keyboard.press(key)
        shown.page.locator(appears).first.wait_for()
        shown.answered()
        assert nameless(shown) == []


def test_grid_is_a_grid_of_rows_of_cells(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=1000) as shown:
        shown.painted()
        parents = shown.page.evaluate(
            """() => [...document.querySelectorAll('[role=gridcell]')].map((cell) =>
                [cell.parentElement.role, cell.closest('[role=grid]') !== null,
                 cell.hasAttribute('aria-selected'), Number(cell.ariaColIndex) >= 1])"""
        )
        assert parents
        assert all(result == ["row", True, True, True] for result in parents)
        grid = shown.page.locator("[role=grid]")
        columns, count = (int(grid.get_attribute(f"aria-{n}count")) for n in ("col", "row"))
        assert (count - 1) * columns < 1000 <= count * columns
        assert any(role == "grid" for role, _, _ in tree(shown))


def test_ids_are_unique_and_references_point_somewhere(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=300, settings={"panel": "facets"}) as shown:
        shown.painted()
        shown.page.locator("[role=grid]").focus()
        shown.page.keyboard.press("ArrowRight")
        shown.page.locator(".dl-facet").first.wait_for()
        doubled, dangling = shown.page.evaluate(
            """() => {
                const ids = [...document.querySelectorAll('[id]')].map((node) => node.id);
                const wanted = [...document.querySelectorAll('[aria-controls], [aria-activedescendant]')]
                    .flatMap((n) => [n.getAttribute('aria-controls'), n.getAttribute('aria-activedescendant')])
                    .filter(Boolean);
                return [ids.filter((id, i) => ids.indexOf(id) !== i), wanted.filter((id) => !ids.includes(id))];
            }"""  # noqa: E501
        )
        assert (doubled, dangling) == ([], [])


def test_changes_are_announced_to_screen_readers(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=300) as shown:
        shown.painted()
        live = shown.page.locator("[aria-live=polite]")
        shown.click(2)
        shown.eventually(lambda: live.text_content() == "1 row selected")
        shown.page.get_by_role("combobox", name="Query").fill("label = 'cat'")
        shown.page.keyboard.press("Enter")
        shown.eventually(lambda: live.text_content().endswith("rows shown"))


def test_focus_reaches_every_control_and_is_visible(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=100, settings={"panel": "facets"}) as shown:
        shown.painted()
        shown.page.locator(".dl-facet").first.wait_for()
        shown.page.evaluate("() => document.body.focus()")
        seen = []
        for _ in range(60):
            shown.page.keyboard.press("Tab")
            result = shown.page.evaluate(
                """() => {
                    const node = document.activeElement, style = getComputedStyle(node);
                    if (!node.closest('.dl-browser')) return null;
                    const ring = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
                    const box = node.closest('.dl-query') && getComputedStyle(node.closest('.dl-query')).boxShadow !== 'none';
                    return [node.getAttribute('aria-label') ?? node.textContent, ring || Boolean(box) || node.role === 'separator'];
                }"""  # noqa: E501
            )
            if result is None and seen:
                break
            if result:
                seen.append(result)
        names = [name for name, _ in seen]
        assert {"Query", "Filters", "Overlays", "Size of the cards", "Rows"} <= set(names)
        assert [name for name, visible in seen if not visible] == []


def test_dialogs_trap_the_focus_and_return_it(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=100) as shown:
        shown.painted()
        shown.page.locator("[role=grid]").focus()
        shown.page.keyboard.press("ArrowRight")
        shown.page.keyboard.press("l")
        inside = "() => document.activeElement.closest('[role=dialog]') !== null"
        for _ in range(6):
            shown.page.keyboard.press("Tab")
            assert shown.page.evaluate(inside)
        shown.page.keyboard.press("Escape")
        assert shown.page.evaluate("() => document.activeElement.role") == "grid"


@pytest.mark.parametrize(
    ("name", "size"),
    [("narrow", {"width": 480, "height": 720}), ("doubled", {"width": 640, "scale": 2})],
)
def test_nothing_is_cut_off_in_little_space(chrome, tmp_path, name, size):
    with opened(chrome, tmp_path, rows=200, **size) as shown:
        shown.painted()
        shown.page.screenshot(path=tmp_path / f"{name}.png")
        beyond = shown.page.evaluate(
            """() => {
                const root = document.querySelector('.dl-browser').getBoundingClientRect();
                return [...document.querySelectorAll('.dl-top *, .dl-foot *')].filter((node) => {
                    const box = node.getBoundingClientRect();
                    return box.width && node.checkVisibility() && (box.right > root.right + 1 || box.left < root.left - 1);
                }).map((node) => node.className);
            }"""  # noqa: E501
        )
        assert beyond == []
        small = shown.page.evaluate(
            """() => [...document.querySelectorAll('.dl-browser button')].filter((node) => {
                const box = node.getBoundingClientRect();
                return box.width && (box.width < 22 || box.height < 22);
            }).map((node) => node.textContent)"""
        )
        assert small == []


def test_animations_stop_for_reduced_motion(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=50) as shown:
        shown.painted()
        shown.page.emulate_media(reduced_motion="reduce")
        shown.page.evaluate(
            "() => document.querySelector('.dl-browser').classList.add('dl-working')"
        )
        style = "() => getComputedStyle(document.querySelector('.dl-body'), '::before')"
        assert shown.page.evaluate(f"{style}.animationName") == "none"
