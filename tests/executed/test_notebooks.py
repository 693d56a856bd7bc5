"""Output of the executed notebooks; run `pytest --nbmake --overwrite notebooks` first."""

import json
import re
from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


def cells(path):
    return [c for c in json.loads(path.read_text())["cells"] if c["cell_type"] == "code"]


def shown(path, *, kind):
    """Return the cell outputs of one kind, with the source of the cell: (source, data) pairs."""
    return [
        ("".join(cell["source"]), output["data"][kind])
        for cell in cells(path)
        for output in cell["outputs"]
        if kind in output.get("data", {})
    ]


def named(number):
    return next(path for path in NOTEBOOKS if path.name.startswith(number))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_every_cell_ran_without_warnings(path):
    assert all(cell["execution_count"] for cell in cells(path))
    for cell in cells(path):
        for output in cell["outputs"]:
            is_bad = output["output_type"] == "error" or output.get("name") == "stderr"
            assert not is_bad, ("".join(cell["source"]), output)


def test_quickstart_ends_with_the_browser():
    assert "".join(cells(named("01"))[-1]["source"]).endswith(".browse()")
    assert shown(named("01"), kind="text/html")[-1][0].endswith(".browse()")


def test_training_shows_a_batch():
    assert shown(named("03"), kind="image/png")


def test_static_browser_and_diff_show_the_rows_named_in_the_text():
    pages = shown(named("04"), kind="text/html")
    frozen = next("".join(html) for source, html in pages if "LIMIT 24" in source)
    assert frozen.count("<img") == 24
    assert set(re.findall(r"label: (\d)", frozen)) == {"3"}
    assert "pixelated" in frozen
    difference = next("".join(html) for source, html in pages if "browse_diff" in source)
    assert "<img" in difference
