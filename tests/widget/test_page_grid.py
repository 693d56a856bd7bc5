"""The grid on a page: painting, scrolling and selecting rows."""

from __future__ import annotations

import pytest

from .page import opened

pytestmark = pytest.mark.browser


def test_thousand_rows_are_painted_without_network_requests(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=1000) as shown:
        shown.painted()
        assert (shown.data("rows"), shown.data("generation")) == ("1000", "1")
        shown.page.screenshot(path=tmp_path / "grid.png")
        asked = shown.sent("cells")
        assert asked[0]["start"] == 0
        assert all(message["stop"] - message["start"] < 200 for message in asked)


def test_names_from_the_data_are_shown_as_text(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=100, settings={"panel": "facets"}) as shown:
        shown.painted()
        name = shown.page.locator(".dl-value-name", has_text="<img src=x onerror=fail()>")
        name.wait_for()
        assert name.count() == 1
        assert shown.page.locator(".dl-browser img").count() == 0


@pytest.mark.parametrize("dark", [False, True])
def test_grid_follows_the_light_or_dark_theme_of_the_host(chrome, tmp_path, dark):
    with opened(chrome, tmp_path, rows=30, dark=dark) as shown:
        shown.painted()
        assert shown.data("theme") == ("dark" if dark else "light")
    ground = "#111111" if dark else "#ffffff"
    with opened(
        chrome, tmp_path, rows=30, dark=not dark, css=f":root {{ --jp-layout-color0: {ground} }}"
    ) as shown:
        shown.painted()
        assert shown.data("theme") == ("dark" if dark else "light")
        shown.page.screenshot(path=tmp_path / "theme.png")


def test_end_of_ten_million_rows_can_be_reached(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=10_000_000) as shown:
        shown.painted()
        shown.page.locator("[role=grid]").focus()
        shown.page.keyboard.press("Control+End")
        shown.page.wait_for_function("() => document.querySelector('[data-position=\"9999999\"]')")
        shown.painted()
        label = shown.page.locator("[data-position='9999999']").get_attribute("aria-label")
        assert label.startswith("Row 9,999,999: label ")
        x, before = shown.card(9_999_999)
        shown.page.mouse.move(x, before)
        shown.page.mouse.wheel(0, -120)
        shown.eventually(lambda: shown.card(9_999_999)[1] > before)
        assert 9_999_900 < int(shown.data("start")) < 9_999_990  # one step of the wheel is one step


COUNT_WORK = """
window.__work = { drawn: 0, changed: 0, decoding: 0 };
const context = CanvasRenderingContext2D.prototype;
for (const name of ['drawImage', 'fillRect', 'fillText', 'fill', 'stroke']) {
    const real = context[name];
    context[name] = function (...given) {
        __work.drawn += 1;
        return real.apply(this, given);
    };
}
const decode = window.createImageBitmap;
window.createImageBitmap = (...given) => {
    __work.decoding += 1;
    return decode(...given).finally(() => { __work.decoding -= 1; });
};
window.ImageDecoder = class extends ImageDecoder {
    constructor(given) { super(given); __work.decoding += 1; }
    close() { super.close(); __work.decoding -= 1; }
};
"""
"""Counts what is drawn on canvases, and the images that are being decoded."""


def work_of_scrolling(chrome, folder, rows):
    """Return what is drawn, and which elements change, while rows scroll by for sixty frames."""
    with opened(chrome, folder, rows=rows, script=COUNT_WORK) as shown:
        shown.painted()
        shown.prefetched()
        shown.page.wait_for_function("() => __work.decoding === 0")
        work = shown.page.evaluate(
            """async () => {
                const scroller = document.querySelector('.dl-scroller');
                const watch = new MutationObserver((all) => { __work.changed += all.length; });
                watch.observe(document, { subtree: true, childList: true, attributes: true });
                const before = __work.drawn;
                for (let i = 0; i < 60; i++) {
                    scroller.scrollTop += 12;
                    await new Promise(requestAnimationFrame);
                }
                watch.disconnect();
                return [__work.drawn - before, __work.changed];
            }"""
        )
        shown.painted()
        drawn, changed = work
        return drawn, changed


def test_scrolling_a_million_rows_takes_the_work_of_a_thousand(chrome, tmp_path):
    few_drawn, few_changed = work_of_scrolling(chrome, tmp_path, 1_000)
    drawn, changed = work_of_scrolling(chrome, tmp_path, 1_000_000)
    assert 0 < drawn <= 1.5 * few_drawn
    assert changed <= 1.5 * few_changed


def test_fast_scrolling_requests_little_and_stopping_requests_the_visible_rows(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=1_000_000, delay=30) as shown:
        shown.painted()
        before = len(shown.sent("cells"))
        shown.page.evaluate(
            """async () => {
                const scroller = document.querySelector('.dl-scroller');
                for (let i = 0; i < 40; i++) {
                    scroller.scrollTop += 40000;
                    await new Promise(requestAnimationFrame);
                }
            }"""
        )
        shown.painted()
        shown.prefetched()
        assert len(shown.sent("cells")) - before < 10
        assert shown.sent("cells")[-1]["start"] > 10_000


def test_clicks_select_as_in_a_file_manager(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=500) as shown:
        shown.painted()
        shown.click(3)
        shown.await_selected([3])
        assert shown.page.evaluate("() => __model.get('_selected_of')") == 1
        shown.click(6, "Shift")
        shown.await_selected([3, 4, 5, 6])
        shown.click(1, "Control")
        shown.await_selected([1, 3, 4, 5, 6])
        shown.click(4, "Control")
        shown.await_selected([1, 3, 5, 6])
        shown.page.locator("[data-position='3'][aria-selected=true]").wait_for()
        shown.page.screenshot(path=tmp_path / "selected.png")
        shown.page.keyboard.press("Escape")
        shown.await_selected([])


def test_lasso_selects_what_it_encloses(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=500, settings={"size": 100}) as shown:
        shown.painted()
        (x0, y0), (x1, y1) = shown.card(1), shown.card(14)
        mouse = shown.page.mouse
        mouse.move(x0 - 20, y0 - 20)
        mouse.down()
        for x, y in [(x1 + 20, y0 - 20), (x1 + 20, y1 + 20), (x0 - 20, y1 + 20)]:
            mouse.move(x, y, steps=6)
        shown.page.screenshot(path=tmp_path / "lasso.png")
        mouse.up()
        shown.eventually(lambda: {1, 2, 14} <= set(shown.selected()))
        assert 0 not in shown.selected()


def test_select_all_is_done_in_python(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=200_000) as shown:
        shown.painted()
        shown.page.get_by_role("button", name="Select all 200,000").click()
        shown.page.get_by_text("200,000 selected", exact=True).wait_for()
        shown.await_sent("select", "what", "all")
        shown.eventually(lambda: len(shown.selected()) == 200_000)


def test_large_selections_are_sent_as_runs(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=1_300_000) as shown:
        shown.painted()
        shown.click(2)
        shown.page.locator("[role=grid]").focus()
        shown.page.keyboard.press("Control+Shift+End")
        shown.page.get_by_text("1,299,998 selected", exact=True).wait_for()
        shown.await_sent("select", "runs", [[2, 1_300_000]])


def test_selection_made_in_python_is_drawn(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=100) as shown:
        shown.painted()
        shown.page.evaluate(
            "() => __model.put('_selected', new DataView(Uint32Array.of(2, 5).buffer))"
        )
        shown.page.get_by_text("2 selected", exact=True).wait_for()
        shown.page.locator("[data-position='5'][aria-selected=true]").wait_for()


def test_keyboard_moves_selects_and_zooms(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=500) as shown:
        shown.painted()
        grid = shown.page.locator("[role=grid]")
        grid.focus()
        for key in ["ArrowRight", "ArrowDown", "Space", "Shift+ArrowRight"]:
            shown.page.keyboard.press(key)
        shown.eventually(lambda: len(shown.selected()) == 2)
        first, second = shown.selected()
        assert second == first + 1 > 1
        active = grid.get_attribute("aria-activedescendant")
        assert shown.page.locator(f"#{active}").get_attribute("data-position") == str(second)
        columns = int(grid.get_attribute("aria-colcount"))
        shown.page.keyboard.press("-")
        shown.page.keyboard.press("-")
        shown.painted()
        shown.eventually(lambda: int(grid.get_attribute("aria-colcount")) > columns)
        shown.page.keyboard.press("?")
        shown.page.get_by_role("dialog", name="Keys").wait_for()
        shown.page.keyboard.press("Escape")
        assert not shown.page.get_by_role("dialog").count()


def test_overlays_change_without_another_request(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=100) as shown:
        shown.painted()
        shown.prefetched()
        asked = len(shown.sent("cells"))
        shown.page.get_by_role("button", name="Overlays").click()
        shown.page.get_by_label("Opacity of mask").fill("20")
        shown.page.get_by_label("Show boxes").uncheck()
        shown.page.wait_for_function(
            "() => __model.get('settings').overlays?.boxes?.shown === false"
        )
        shown.page.wait_for_timeout(150)  # no request may follow
        shown.page.screenshot(path=tmp_path / "layers.png")
        assert len(shown.sent("cells")) == asked
        overlays = shown.page.evaluate("() => __model.get('settings').overlays")
        assert overlays["mask"]["opacity"] == 0.2
        assert overlays["boxes"]["shown"] is False


def test_rows_without_images_have_cards(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=100, kind="text", settings={"size": 200}) as shown:
        shown.painted()
        shown.page.screenshot(path=tmp_path / "text.png")
        label = shown.page.locator("[data-position='0']").get_attribute("aria-label")
        assert "It was a bright cold day" in label


def test_empty_grid_says_so(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=0) as shown:
        shown.page.get_by_text("No rows yet").wait_for()


def test_host_that_loses_buffers_gets_text(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=50, base64=True) as shown:
        shown.painted()
        shown.eventually(lambda: len(shown.sent("hello")) == 2)
        assert [message.get("base64") for message in shown.sent("hello")] == [None, True]


def test_slow_kernel_is_reported_and_can_be_asked_again(chrome, tmp_path):
    script = "const real = performance.now.bind(performance); performance.now = () => real() * 8;"
    with opened(chrome, tmp_path, rows=50, dead=True, script=script) as shown:
        shown.page.get_by_text("Waiting for the kernel").wait_for(timeout=600_000)
        shown.page.screenshot(path=tmp_path / "late.png")
        shown.page.get_by_text("the kernel has restarted").wait_for(timeout=600_000)
        shown.page.evaluate("() => { __model.options.dead = false; }")
        shown.page.get_by_role("button", name="Retry").click()
        shown.painted()
        shown.page.locator(".dl-banner").wait_for(state="hidden")


def test_closing_leaves_nothing_behind(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=50) as shown:
        shown.painted()
        shown.page.evaluate("() => __close()")
        shown.page.wait_for_timeout(100)
        left = "() => [...__model.handlers.values()].reduce((n, s) => n + s.size, 0)"
        assert shown.page.evaluate(left) == 0
        assert shown.page.locator(".dl-browser").count() == 0


@pytest.mark.parametrize("dark", [False, True])
def test_captions_without_space_become_tooltips_and_always_name_the_cards(chrome, tmp_path, dark):
    settings = {"caption": ["label", "caption"]}
    with opened(chrome, tmp_path, rows=300, dark=dark, settings={**settings, "size": 64}) as shown:
        card = shown.page.locator("[data-position='1']")
        shown.painted()
        shown.page.wait_for_function(
            "() => document.querySelector(\"[data-position='1']\").title.includes('label')"
        )
        first, second = card.get_attribute("title").split("\n")
        assert first.startswith("label ")
        assert second.startswith("caption row ")
        assert card.get_attribute("aria-label").startswith(f"Row 1: {first}, {second}")
        shown.page.screenshot(path=tmp_path / "small.png")
        for size, has_title in ((160, False), (96, True)):
            shown.page.evaluate(
                "([settings, size]) => __model.put('settings', {...settings, size})",
                [settings, size],
            )
            shown.painted()
            shown.page.wait_for_function(
                "has => document.querySelector(\"[data-position='1']\").title !== '' === has",
                arg=has_title,
            )
            assert first in card.get_attribute("aria-label")
        shown.page.evaluate(
            "() => __model.put('settings', {size: 96, caption: ['label', 'tags', 'caption']})"
        )
        shown.page.wait_for_function(
            "() => document.querySelector(\"[data-position='1']\").title.split('\\n').length === 3"
        )
        shown.page.wait_for_timeout(100)
        shown.page.screenshot(path=tmp_path / "lines.png")
