"""Queries, filters, versions and the map on a page send requests to Python and show the replies."""

from __future__ import annotations

import pytest

from .page import opened

pytestmark = pytest.mark.browser


def write(shown, text):
    shown.page.get_by_role("combobox", name="Query").fill(text)
    shown.page.keyboard.press("Enter")


def rows(shown, count):
    shown.page.wait_for_function(
        "n => document.querySelector('.dl-browser').dataset.rows === n", arg=str(count)
    )
    shown.painted()


def test_query_filters_and_reports_count_and_duration(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=1000) as shown:
        shown.painted()
        write(shown, "label = 'cat'")
        rows(shown, 95)
        shown.page.get_by_text("95 of 1,000 rows · 12.3 ms").wait_for()
        assert shown.data("generation") == "2"
        write(shown, "")
        rows(shown, 1000)


def test_mistake_shows_its_position_and_leaves_the_rows(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=1000) as shown:
        shown.painted()
        write(shown, "label = 'cat' AND colour < 3")
        shown.page.get_by_text("There is no column colour").wait_for()
        shown.page.screenshot(path=tmp_path / "mistake.png")
        box = shown.page.get_by_role("combobox", name="Query")
        assert box.get_attribute("aria-invalid") == "true"
        assert box.evaluate("box => box.selectionStart") == 18
        assert shown.page.locator(".dl-wrong").text_content() == "colour"
        assert shown.data("rows") == "1000"
        box.press("Backspace")
        assert not shown.page.get_by_text("There is no column colour").is_visible()


def test_completions_are_offered_and_accepted(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=100) as shown:
        shown.painted()
        box = shown.page.get_by_role("combobox", name="Query")
        box.press_sequentially("sco")
        shown.page.get_by_role("option", name="score").wait_for()
        shown.page.screenshot(path=tmp_path / "completion.png")
        box.press("Tab")
        assert box.input_value() == "score"
        box.press_sequentially(" < LEN")
        shown.await_sent("complete", "text", "score < LEN")
        shown.answered()  # the completions of "L" start with another one
        shown.page.get_by_role("option", name="LENGTH").wait_for()
        box.press("ArrowDown")
        box.press("Enter")
        assert box.input_value() == "score < LENGTH("


def test_earlier_queries_are_recalled_with_the_arrow_keys(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=100) as shown:
        shown.painted()
        for text in ["label = 'cat'", "score < 0.5"]:
            write(shown, text)
            shown.answered()
        box = shown.page.get_by_role("combobox", name="Query")
        box.press("ArrowUp")
        box.press("ArrowUp")
        assert box.input_value() == "label = 'cat'"


def test_click_on_a_class_adds_it_to_the_query(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=1000, settings={"panel": "facets"}) as shown:
        shown.painted()
        shown.page.get_by_role("button", name="bird: ").click()
        rows(shown, 108)
        box = shown.page.get_by_role("combobox", name="Query")
        shown.eventually(lambda: box.input_value() == "label = 'bird'")
        bird = shown.page.get_by_role("button", name="bird: 108 of 108")
        shown.eventually(lambda: bird.get_attribute("aria-pressed") == "true")
        shown.page.get_by_role("button", name="cat: ").click()
        rows(shown, 108 + 95)
        shown.page.screenshot(path=tmp_path / "facets.png")
        shown.page.get_by_role("button", name="Clear the filter of label").click()
        rows(shown, 1000)


def test_brush_over_a_histogram_filters_by_whole_bins(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=1000, settings={"panel": "facets"}) as shown:
        shown.painted()
        box = shown.page.locator(".dl-histogram-box").first.bounding_box()
        mouse, y = shown.page.mouse, box["y"] + 20
        mouse.move(box["x"] + 0.26 * box["width"], y)
        mouse.down()
        mouse.move(box["x"] + 0.49 * box["width"], y, steps=5)
        shown.page.screenshot(path=tmp_path / "brush.png")
        mouse.up()
        shown.page.get_by_role("button", name="Clear the filter of score").wait_for()
        sent = shown.sent("filter")[-1]
        assert (sent["expression"], sent["op"], sent["values"]) == ("score", "set", [0.25, 0.5])
        shown.page.get_by_label("score below").fill("0.75")
        shown.page.keyboard.press("Enter")
        shown.eventually(lambda: shown.sent("filter")[-1]["values"] == [0.25, 0.75])


def test_rows_are_sorted_by_a_facet(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=200, settings={"panel": "facets"}) as shown:
        shown.painted()
        sorter = shown.page.get_by_role("button", name="Sort by score")
        for way, descending in (("asc", False), ("desc", True)):
            sorter.click()
            shown.page.locator(f".dl-facet button[data-sort={way}]").wait_for()
            assert shown.sent("sort")[-1]["descending"] is descending
        sorter.click()
        shown.eventually(lambda: len(shown.sent("sort")) == 3)
        assert shown.sent("sort")[-1]["expression"] is None


def test_another_version_is_shown_as_read_only(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=200, settings={"panel": "versions"}) as shown:
        shown.painted()
        shown.page.locator(".dl-version", has_text="v1").first.click()
        shown.page.wait_for_function("() => __model.get('about').version === 'v1'")
        shown.page.locator(".dl-pill", has_text="v1").wait_for()
        assert not shown.page.get_by_role("button", name="Relabel", exact=True).is_visible()
        shown.page.screenshot(path=tmp_path / "versions.png")


def test_view_is_saved_under_a_name_and_shown_again(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=200) as shown:
        shown.painted()
        shown.page.get_by_role("button", name="Save as a named view").click()
        shown.page.get_by_label("Name for the shown rows").fill("good ones")
        shown.page.keyboard.press("Enter")
        shown.page.get_by_text("Saved as the view “good ones”.").wait_for()
        assert shown.sent("save_view")[0]["name"] == "good ones"
        shown.page.get_by_role("button", name="Save as a named view").click()
        shown.page.get_by_role("button", name="night shots").click()
        shown.page.wait_for_function("() => __model.get('query') === \"label = 'cat'\"")


def test_rows_to_review_are_ranked(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=200) as shown:
        shown.painted()
        shown.page.get_by_role("button", name="Review").click()
        shown.page.get_by_role("button", name="label: labels unlike").click()
        shown.page.wait_for_function("() => __model.get('state').generation === 2")
        assert shown.sent("suspects")[0]["column"] == "embedding"


NEEDS = (
    'Review ranks rows whose `kind` looks wrong, and needs `ds.add_column("e", dl.Embedding(2))`.'
)


@pytest.mark.parametrize("dark", [False, True])
def test_impossible_review_says_what_it_needs(chrome, tmp_path, dark):
    about = {"suspects": [], "review_needs": NEEDS}
    with opened(chrome, tmp_path, rows=200, about=about, dark=dark) as shown:
        shown.painted()
        shown.page.locator("[role=grid]").focus()
        shown.page.keyboard.press("s")
        said = shown.page.get_by_role("dialog", name="Rows to review")
        assert said.locator("p").text_content() == NEEDS.replace("`", "")
        assert said.locator("code").all_text_contents() == NEEDS.split("`")[1::2]
        shown.page.screenshot(path=tmp_path / "needs.png")
        shown.page.keyboard.press("Escape")
        shown.page.get_by_role("button", name="Review").click()
        said.wait_for()
        assert shown.sent("suspects") == []


@pytest.mark.parametrize("dark", [False, True])
def test_similar_rows_are_shown_by_a_button_and_a_key(chrome, tmp_path, dark):
    with opened(chrome, tmp_path, rows=200, dark=dark) as shown:
        shown.painted()
        shown.page.mouse.dblclick(*shown.card(5))
        button = shown.page.get_by_role("button", name="More like this")
        assert "(r)" in button.get_attribute("title")
        shown.page.locator(".dl-detail:not(.dl-loading) .dl-field").first.wait_for()
        shown.page.screenshot(path=tmp_path / "alike.png")
        button.click()
        shown.page.wait_for_function("() => __model.get('state').generation === 2")
        shown.painted()
        button.wait_for(state="hidden")
        shown.page.locator("[role=grid]").focus()
        shown.page.keyboard.press("ArrowRight")  # from the row itself, which comes first
        shown.page.keyboard.press("r")
        shown.page.wait_for_function("() => __model.get('state').generation === 3")
        asked = [(m["p"], m["column"]) for m in shown.sent("neighbours")]
        assert asked == [(5, "embedding"), (1, "embedding")]
        shown.page.keyboard.press("?")
        shown.page.get_by_text("Rows most similar to this one").wait_for()


def test_one_of_several_embeddings_is_chosen_to_find_similar_rows(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=50, about={"alike": ["clip", "dino"]}) as shown:
        shown.painted()
        shown.page.locator("[role=grid]").focus()
        shown.page.keyboard.press("ArrowRight")
        shown.page.keyboard.press("r")
        shown.page.get_by_role("option", name="dino").click()
        shown.page.wait_for_function("() => __model.get('state').generation === 2")
        assert [(m["p"], m["column"]) for m in shown.sent("neighbours")] == [(1, "dino")]


@pytest.mark.parametrize(
    ("about", "why"),
    [
        ({"alike": []}, "Needs a column of embeddings"),
        ({"has_ids": False}, "Clear the query"),
    ],
)
def test_button_without_an_embedding_says_why(chrome, tmp_path, about, why):
    with opened(chrome, tmp_path, rows=50, about=about) as shown:
        shown.painted()
        shown.page.mouse.dblclick(*shown.card(2))
        button = shown.page.get_by_role("button", name="More like this")
        assert button.get_attribute("aria-disabled") == "true"
        assert why in button.get_attribute("title")
        button.focus()
        shown.page.keyboard.press("Enter")
        shown.page.get_by_role("alert").get_by_text(why).wait_for()
        shown.page.screenshot(path=tmp_path / "why.png")
        assert shown.sent("neighbours") == []


def test_lasso_over_the_map_selects_at_once_without_a_request(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=200_000, settings={"panel": "map"}) as shown:
        shown.painted()
        shown.page.get_by_text("automobile").first.wait_for()
        shown.prefetched()
        box = shown.page.locator(".dl-map-box").bounding_box()
        mouse = shown.page.mouse
        corners = [(0.1, 0.1), (0.9, 0.1), (0.9, 0.5), (0.1, 0.5)]
        for i, (x, y) in enumerate(corners):
            mouse.move(box["x"] + x * box["width"], box["y"] + y * box["height"], steps=6)
            if not i:
                mouse.down()
        asked = shown.page.evaluate("() => __model.sent.length")
        frames = shown.page.evaluate(
            """() => new Promise((resolve) => {
                const box = document.querySelector('.dl-map-box');
                let frames = 0;
                const done = () => {
                    if (__model.get('_selected').byteLength) return resolve(frames);
                    frames += 1;
                    return requestAnimationFrame(done);
                };
                box.dispatchEvent(new PointerEvent('pointerup', { pointerId: 1 }));
                done();
            })"""
        )
        assert frames <= 1
        assert shown.page.evaluate("() => __model.sent.length") == asked
        mouse.up()
        count = len(shown.selected())
        shown.page.screenshot(path=tmp_path / "map.png")
        assert 20_000 < count < 180_000


def test_map_shows_the_row_under_the_pointer(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=2000, settings={"panel": "map"}) as shown:
        shown.painted()
        shown.page.locator(".dl-legend-item").first.wait_for()
        box = shown.page.locator(".dl-map-box").bounding_box()
        for x in range(60, 95):
            shown.page.mouse.move(box["x"] + x / 100 * box["width"], box["y"] + 0.5 * box["height"])
        shown.page.locator(".dl-tip").wait_for(timeout=600_000)
        shown.page.screenshot(path=tmp_path / "tip.png")


def test_settings_made_in_python_are_shown(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=300) as shown:
        shown.painted()
        grid = shown.page.locator("[role=grid]")
        columns = int(grid.get_attribute("aria-colcount"))
        shown.page.evaluate("() => __model.put('settings', { size: 64, panel: 'edits' })")
        shown.painted()
        shown.eventually(lambda: int(grid.get_attribute("aria-colcount")) > columns)
        shown.page.get_by_role("heading", name="Edits").wait_for()


def test_problem_in_python_is_shown(chrome, tmp_path):
    problem = {"kind": "LakeError", "message": "There is no 'x'.", "line": 1, "column": 8}
    with opened(chrome, tmp_path, rows=30, problem=problem) as shown:
        shown.page.get_by_text("LakeError: There is no 'x'. (line 1, column 8)").wait_for()


def test_escape_closes_the_completions_and_then_keeps_the_typed_text(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=200) as shown:
        shown.painted()
        query = shown.page.get_by_label("Query", exact=True)
        query.click()
        shown.page.keyboard.type("lab")
        shown.page.locator(".dl-completion").first.wait_for()
        shown.page.keyboard.press("Escape")
        shown.page.locator(".dl-completions").wait_for(state="hidden")
        assert query.evaluate("node => node === document.activeElement")
        shown.page.keyboard.press("Escape")
        assert shown.page.evaluate("() => document.activeElement.role") == "grid"
        assert query.input_value() == "lab"


def test_example_query_uses_an_existing_column(chrome, tmp_path):
    columns = [{"name": "digit", "kind": "class", "classes": ["it's", "one"]}]
    with opened(chrome, tmp_path, rows=20, about={"columns": columns}) as shown:
        query = shown.page.get_by_label("Query", exact=True)
        assert query.get_attribute("placeholder") == "Query, for example  digit = 'it''s'"


def test_missing_values_are_counted_against_all_rows(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=200, settings={"panel": "facets"}) as shown:
        shown.page.get_by_text("no value in 1 of 200 rows").wait_for()


def test_completions_that_arrive_after_escape_are_not_shown(chrome, tmp_path):
    with opened(chrome, tmp_path, rows=20, delay=300) as shown:
        shown.painted()
        shown.page.get_by_label("Query", exact=True).click()
        shown.page.keyboard.type("la")
        completions = shown.page.locator(".dl-completions")
        completions.wait_for()
        shown.page.keyboard.type("b")
        shown.await_sent("complete", "text", "lab")
        shown.page.keyboard.press("Escape")
        shown.page.wait_for_timeout(500)
        assert completions.is_hidden()
