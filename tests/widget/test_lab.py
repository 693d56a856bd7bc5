"""The browser in JupyterLab with a real kernel: actions on the page arrive in Python."""

from __future__ import annotations

import re
import shutil

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.cli.demo import DemoState, gather, write_digits, write_photographs

from .page import eventually

pytestmark = pytest.mark.browser

OPEN = """\
import deeplake_lite as dl
w = dl.open({url!r}).checkout("practice").browse()
w"""


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """Make the demo's lake, including its mistakes."""
    story = DemoState(str(tmp_path_factory.mktemp("demo") / "digits.lake"))
    for step in (gather, write_digits, write_photographs):
        step(story)
    return story


@pytest.fixture
def url(demo, tmp_path):
    """Return a copy of it, to write to."""
    return shutil.copytree(demo.url, tmp_path / "digits.lake").as_posix()


def ask(nb, text):
    """Type a query and press Enter."""
    box = nb.page.get_by_role("combobox", name="Query")
    box.fill(text)
    box.press("Enter")


def test_clicked_rows_are_the_selection_in_the_next_cell(lab, chrome, url, tmp_path):
    cells = OPEN.format(url=url), "print(w.selected.tolist())", "w.selected = [3, 5, 8]"
    with lab.notebook(chrome, *cells) as nb:
        nb.run(0)
        nb.painted()
        nb.click(7)
        nb.prints(1, "[7]")
        nb.click(4, "Control")
        nb.click(6, "Shift", "Control")
        nb.prints(1, "[4, 5, 6, 7]")
        nb.click(2)
        nb.click(5, "Shift")
        nb.prints(1, "[2, 3, 4, 5]")
        nb.shot(tmp_path / "selected.png")
        nb.page.get_by_role("button", name="Select all 1,807").click()
        nb.prints(1, str(list(range(1807))))
        nb.run(2)
        nb.page.get_by_text("3 selected").wait_for()
        nb.page.wait_for_selector("[data-position='5'][aria-selected='true']")


def test_query_with_a_mistake_shows_its_position_and_then_filters(lab, chrome, url, tmp_path):
    cells = OPEN.format(url=url), "print(len(w.view), w.query)", "w.query = ''"
    with lab.notebook(chrome, *cells, dark=True) as nb:
        nb.run(0)
        nb.rows(1807)
        ask(nb, "SELECT * WHERE lable = '3'")
        said = nb.page.get_by_role("alert").filter(has_text="no column 'lable'")
        said.wait_for()
        assert "null" not in said.inner_text()
        assert nb.page.locator(".dl-wrong").inner_text() == "lable"
        caret = "() => document.querySelector('.dl-query-text').selectionStart"
        assert nb.page.evaluate(caret) == len("SELECT * WHERE ")
        nb.shot(tmp_path / "mistake.png")
        nb.prints(1, "1807")
        ask(nb, "SELECT * WHERE label = '3'")
        nb.rows(183)
        nb.page.get_by_text("183 of 1,807 rows").wait_for()
        nb.shot(tmp_path / "filtered.png")
        nb.prints(1, "183 SELECT * WHERE label = '3'")
        nb.run(2)
        nb.rows(1807)


def test_corrected_and_committed_labels_are_visible_to_others(lab, chrome, url, tmp_path):
    with lab.notebook(chrome, OPEN.format(url=url)) as nb:
        page = nb.page
        nb.run(0)
        nb.painted()
        nb.click(0)
        nb.click(1, "Control")
        page.keyboard.press("l")
        page.get_by_role("combobox", name="Set label of 2 rows").fill("photo")
        page.keyboard.press("Enter")
        page.get_by_role("button", name="Commit 2 rows …").click()
        nb.shot(tmp_path / "staged.png")
        assert dl.open(url, branch="practice")["label"][:2].tolist() == [0, 1]
        page.get_by_role("textbox", name="Commit message").fill("two photographs")
        page.keyboard.press("Enter")
        page.get_by_text("Committed 2 rows").wait_for()
        nb.painted()
        nb.shot(tmp_path / "committed.png")
    ds = dl.open(url, branch="practice")
    assert [ds["label"].names[i] for i in ds["label"][:3]] == ["photograph", "photograph", "2"]
    assert ds.log()[0].message == "two photographs"


def test_grid_scrolls_while_another_cell_computes(lab, chrome, url, tmp_path):
    busy = "import time\nwhile not pathlib.Path({!r}).exists():\n    time.sleep(0.01)"
    done = tmp_path / "done"
    cells = (
        f"import pathlib\n{OPEN.format(url=url)}",
        busy.format(str(done)),
        "print(w._dispatcher._thread_works)",
    )
    with lab.notebook(chrome, *cells) as nb:
        nb.run(0)
        nb.painted()
        nb.begin(1)
        nb.page.locator(".dl-stage").hover()
        for _ in range(8):
            nb.page.mouse.wheel(0, 900)
        nb.page.wait_for_function("() => +document.querySelector('.dl-browser').dataset.start > 40")
        nb.painted()
        nb.shot(tmp_path / "scrolled.png")
        assert nb.running(1)
        done.touch()
        nb.page.evaluate("() => window.__run.then(() => null)")
        nb.prints(2, "True")  # long requests are answered beside the grid


def test_mistakes_of_the_demo_are_found_corrected_committed_and_compared(
    lab, chrome, url, demo, tmp_path
):
    cells = (
        OPEN.format(url=url),
        'w.commit("labels mended in the browser")',
        f"dl.browse_diff(dl.open({url!r}), 'v1', 'practice')",
    )
    with lab.notebook(chrome, *cells) as nb:
        page = nb.page
        nb.run(0)
        nb.painted()
        page.get_by_role("button", name="Review").click()
        page.get_by_text("label: labels unlike their neighbours in embedding").click()
        nb.rows(1797)
        page.get_by_role("button", name="Filters").click()
        nb.painted()
        nb.shot(tmp_path / "suspects.png")
        page.get_by_role("button", name="Captions").click()
        page.get_by_role("checkbox", name="text").check()  # reports what was written
        page.keyboard.press("Escape")
        nb.page.wait_for_function(
            "() => [...document.querySelectorAll('.dl-cell')].every("
            "(cell) => cell.ariaLabel.includes('handwritten'))"
        )
        wrong = suspects_in_view(nb)
        nb.click(wrong[0][0])
        for position, _ in wrong[1:]:
            nb.click(position, "Control")
        page.get_by_role("button", name="Accept suggested").click()
        for position, written in wrong:
            card = page.locator(f"[data-position='{position}'][aria-label*='edited']")
            if f"label {written}," in card.get_attribute("aria-label"):
                continue
            nb.click(position)  # the suggestion is wrong here, too
            page.keyboard.press("l")
            page.get_by_role("combobox", name="Set label of 1 row").fill(written)
            page.keyboard.press("Enter")
            page.wait_for_selector(f"[data-position='{position}'][aria-label*='label {written},']")
        nb.shot(tmp_path / "relabelled.png")
        nb.run(1)
        page.get_by_role("button", name="Commit").wait_for(state="hidden")
        nb.run(2)
        nb.painted(1)
        page.locator(".dl-browser").nth(1).get_by_text(f"{len(wrong)}").first.wait_for()
        nb.shot(tmp_path / "diff.png")
        nb.theme("JupyterLab Dark")
        nb.shot(tmp_path / "diff-dark.png")
    before, after = dl.open(url, version="v1"), dl.open(url, branch="practice")
    mended = np.flatnonzero(before["label"][:] != after["label"][:])
    assert len(mended) == len(wrong) > 5
    assert (after["label"][mended] == demo.truth[mended]).all()


def suspects_in_view(nb):
    """Return positions of the visible rows whose label is wrong, and the label written there."""
    labels = nb.page.locator(".dl-cell").evaluate_all(
        "cells => cells.map((cell) => [+cell.dataset.position, cell.ariaLabel,"
        " cell.getBoundingClientRect().bottom"
        " < document.querySelector('.dl-scroller').getBoundingClientRect().bottom])"
    )
    result = []
    for position, text, whole in labels:
        label, written = re.search(r"label (\w+),.*a handwritten (\w+)", text).groups()
        if whole and label != written:
            result.append((position, written))
    return result


def test_staged_edits_survive_a_kernel_restart(lab, chrome, url, tmp_path):
    with lab.notebook(chrome, OPEN.format(url=url)) as nb:
        page = nb.page
        nb.run(0)
        nb.painted()
        before = dl.open(url, branch="practice")
        nb.click(0)
        page.keyboard.press("5")
        page.get_by_role("button", name="Edits").click()
        page.get_by_role("button", name="Commit 1 row", exact=True).wait_for()
        page.wait_for_selector(".dl-browser[data-pending='0']")
        nb.restart()
        page.get_by_text("The kernel has restarted or ended").wait_for()
        page.get_by_role("button", name="Commit 1 row").first.wait_for(state="hidden")
        nb.shot(tmp_path / "restarted.png")
        nb.run(0)
        nb.painted()
        eventually(page, lambda: page.get_by_text("The kernel has restarted").count() == 0)
        page.get_by_text("1 edit of 1 row, staged").first.wait_for()
        nb.shot(tmp_path / "offered.png")
        assert dl.open(url, branch="practice").version == before.version
        page.locator(".dl-banner").get_by_role("button", name="Restore").click()
        page.get_by_text("Restored: 1 row. Nothing is committed yet.").wait_for()
        page.wait_for_selector("[data-position='0'][aria-label*='edited']")
        page.get_by_role("button", name="Edits").click()
        nb.shot(tmp_path / "restored.png")
        page.get_by_role("button", name="Commit 1 row", exact=True).click()
        page.get_by_text("Committed 1 row").wait_for()
    ds = dl.open(url, branch="practice")
    assert ds["label"].names[ds["label"][0]] == "5"
    assert (ds["label"][1:] == before["label"][1:]).all()
