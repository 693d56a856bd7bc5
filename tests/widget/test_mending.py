"""A browser with a real kernel: find what is wrong, fix it, look at the diff."""

import numpy as np
import pytest

import deeplake_lite as dl

from .bridge import painted, shown

pytestmark = pytest.mark.browser


@pytest.fixture
def lake(make_lake):
    random = np.random.default_rng(0)
    truth = np.arange(40) % 2
    labels = truth.copy()
    labels[5] = 0
    return make_lake(
        {"image": "image", "label": dl.ClassLabel(["ant", "bee"]), "embedding": dl.Embedding(4)},
        image=[np.full((32, 32, 3), 60 + 120 * t + i, np.uint8) for i, t in enumerate(truth)],
        label=labels,
        embedding=np.eye(2, 4)[truth] + 0.05 * random.normal(size=(40, 4)),
    )


def rows(page):
    return page.eval_on_selector(".dl-browser", "root => root.dataset.rows")


def test_label_is_corrected_by_keys_and_committed_by_a_button(chrome, lake, tmp_path):
    w = lake.browse()
    w.ask("SELECT * WHERE label = 'ant' AND embedding[1] > 0.5")
    with shown(chrome, w) as (page, wrong):
        assert rows(page) == "1"
        page.get_by_role("grid").focus()
        page.keyboard.press("Space")
        page.keyboard.press("2")
        page.get_by_role("button", name="Commit 1 row").first.wait_for()
        page.keyboard.press("e")
        page.get_by_label("Commit message").fill("a bee")
        page.screenshot(path=tmp_path / "staged.png")
        page.keyboard.press("Enter")
        page.wait_for_function("() => document.querySelector('.dl-browser').dataset.rows === '0'")
        page.screenshot(path=tmp_path / "committed.png")
    assert wrong == []
    fresh = dl.open(lake.url)
    assert fresh["label"][5] == 1
    assert fresh.log()[0].message == "a bee"


def test_two_versions_are_drawn_side_by_side(chrome, lake, tmp_path):
    lake.tag("v1")
    lake["label"][5] = 1
    lake.append(lake[:2])
    lake.commit("mended")
    with shown(chrome, dl.browse_diff(lake, "v1", "main")) as (page, wrong):
        assert rows(page) == "1"
        page.screenshot(path=tmp_path / "changed.png")
        page.get_by_role("button", name="Added").click()
        page.wait_for_function("() => document.querySelector('.dl-browser').dataset.rows === '2'")
        painted(page)
        page.get_by_role("button", name="Changed").click()
        page.wait_for_function("() => document.querySelector('.dl-browser').dataset.rows === '1'")
        page.get_by_role("grid").focus()
        page.keyboard.press("Enter")
        page.wait_for_selector("ins:has-text('bee')")
        page.screenshot(path=tmp_path / "pair.png")
    assert wrong == []


def test_conflict_is_shown_and_resolved_by_a_button(chrome, lake, tmp_path):
    w = lake.browse()
    with shown(chrome, w) as (page, wrong):
        page.get_by_role("grid").focus()
        page.keyboard.press("Space")
        page.keyboard.press("2")
        page.get_by_role("button", name="Commit 1 row").first.wait_for()
        other = dl.open(lake.url)
        other.add_classes("label", ["cat"])
        other["label"][0] = "cat"
        other.commit("meanwhile")
        page.keyboard.press("e")
        page.get_by_label("Commit message").fill("a bee")
        page.keyboard.press("Enter")
        page.get_by_text("'cat'").first.wait_for()
        page.screenshot(path=tmp_path / "conflict.png")
        page.get_by_role("button", name="Write mine").click()
        page.get_by_text("Committed", exact=False).first.wait_for()
    assert wrong == []
    assert dl.open(lake.url)["label"][0] == 1


def test_suspects_come_first_and_the_map_is_drawn(chrome, lake, tmp_path):
    w = lake.browse()
    with shown(chrome, w) as (page, wrong):
        page.get_by_role("grid").focus()
        page.keyboard.press("m")
        page.locator(".dl-map canvas, canvas.dl-map").first.wait_for()
        painted(page)
        page.screenshot(path=tmp_path / "map.png")
        page.get_by_role("grid").focus()
        page.keyboard.press("s")
        page.get_by_role("button", name="unlike their neighbours").click()
        page.get_by_text("suspects").first.wait_for()
        painted(page)
        page.screenshot(path=tmp_path / "suspects.png")
        assert w.query == "SELECT * FROM suspects"
        assert w.view.row_ids[0] == lake.row_ids[5]
    assert wrong == []


def test_similar_rows_come_first_and_their_neighbours_next(chrome, lake, tmp_path):
    w = lake.browse()
    with shown(chrome, w) as (page, wrong):
        page.get_by_role("grid").focus()
        page.keyboard.press("End")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="More like this").click()
        page.get_by_role("grid").focus()
        page.wait_for_function(
            "() => document.querySelector('.dl-browser').dataset.missing === '0'"
        )
        assert "COSINE_SIMILARITY(embedding" in w.query
        page.screenshot(path=tmp_path / "alike.png")
        label = page.locator("[data-position='0']").get_attribute("aria-label")
        assert label == f"Row 0: label {w.view['label'].names[w.view['label'][0]]}"
    assert wrong == []


def test_lake_of_images_says_what_reviews_and_similarity_need(chrome, make_lake, tmp_path):
    label = dl.ClassLabel(["ant", "bee"])
    pictures = list(np.full((6, 32, 32, 3), 99, np.uint8))
    ds = make_lake({"image": "image", "label": label}, image=pictures, label=[0, 1] * 3)
    with shown(chrome, ds.browse()) as (page, wrong):
        page.get_by_role("button", name="Review").click()
        said = page.get_by_role("dialog", name="Rows to review")
        assert 'ds.add_column("scores", dl.Array("float32", (2,)), values=scores)' in (
            said.text_content()
        )
        page.screenshot(path=tmp_path / "needs.png")
        page.keyboard.press("Escape")
        page.get_by_role("grid").focus()
        page.keyboard.press("r")
        page.get_by_text("Needs a column of embeddings").wait_for()
        page.screenshot(path=tmp_path / "banner.png")
    assert wrong == []


def test_changed_column_may_be_named_like_the_choice_of_all(chrome, make_lake):
    names = ["all columns", "all", "x"]
    lake = make_lake(dict.fromkeys(names, "int32"), **dict.fromkeys(names, range(6)))
    lake.tag("v1")
    lake["all columns"][:2] = [7, 8]
    lake["x"][2:5] = [7, 8, 9]
    lake.commit("changed")
    with shown(chrome, dl.browse_diff(lake, "v1", "main")) as (page, wrong):
        choice = page.get_by_label("Changed column")
        counts = {"all columns (2)": "2", "x (3)": "3", "all columns": "5"}
        assert sorted(choice.locator("option").all_text_contents()) == sorted(counts)
        for option, count in counts.items():
            choice.select_option(label=option)
            page.locator(f".dl-browser[data-rows='{count}']").wait_for()
    assert wrong == []
