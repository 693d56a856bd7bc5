"""The browser in a JupyterLab, with a kernel behind it: what the page does arrives in Python."""

from __future__ import annotations

import shutil

import pytest

from deeplake_lite.cli.demo import Story, gather, write_digits, write_photographs

pytestmark = pytest.mark.browser

OPEN = """\
import deeplake_lite as dl
w = dl.open({url!r}).checkout("practice").browse()
w"""


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    """Make the demo's lake, mistakes and all."""
    story = Story(str(tmp_path_factory.mktemp("demo") / "digits.lake"))
    for step in (gather, write_digits, write_photographs):
        step(story)
    return story


@pytest.fixture
def url(demo, tmp_path):
    """Return a copy of it, to write to."""
    return shutil.copytree(demo.url, tmp_path / "digits.lake").as_posix()


def test_what_is_clicked_is_selected_in_the_next_cell(lab, chrome, url, tmp_path):
    cells = OPEN.format(url=url), "print(w.selected.tolist())", "w.selected = [3, 5, 8]"
    with lab.notebook(chrome, *cells) as nb:
        nb.run(0)
        nb.painted()
        nb.click(9)
        nb.prints(1, "[9]")
        nb.click(4, "Control")
        nb.click(6, "Shift", "Control")
        nb.prints(1, "[4, 5, 6, 9]")
        nb.click(2)
        nb.click(5, "Shift")
        nb.shot(tmp_path / "selected.png")
        nb.prints(1, "[2, 3, 4, 5]")
        nb.page.get_by_role("button", name="Select all 1,807").click()
        nb.page.get_by_text("1,807 selected").wait_for()
        nb.prints(1, str(list(range(1807))))
        nb.run(2)
        nb.page.get_by_text("3 selected").wait_for()
        nb.page.wait_for_selector("[data-position='5'][aria-selected='true']")
