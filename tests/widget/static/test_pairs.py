"""The exported page of a diff: both sides of each row, in tabs, from a file."""

import base64
import json
import re

import numpy as np
import pytest

import deeplake_lite as dl

from ..page import stored

EVIL = "</script><img src=x onerror=alert(1)>"


@pytest.fixture
def pair(make_lake):
    pixels = np.random.default_rng(0).integers(0, 255, (9, 24, 32, 3), np.uint8)
    schema = {"image": "image", "label": dl.ClassLabel([EVIL, "bee"]), "n": "int8"}
    ds = make_lake(schema, image=list(pixels), label=[0] * 9, n=range(9))
    ds.tag("v1")
    ds.update([4, 1], {"label": "bee"})
    ds["n"][2] = 99
    ds.delete([7, 8])
    ds.append({"image": [pixels[0]], "label": [1], "n": [10]})
    ds.commit("mended")
    return dl.browse_diff(ds, "v1", "main")


def parts(path):
    page = path.read_text("utf-8")
    result = (
        re.search(f'id="{name}">(.*?)</script>', page, re.DOTALL)[1] for name in ("data", "bytes")
    )
    data, stored = result
    return json.loads(data), base64.b64decode(stored)


def test_page_has_both_sides_of_rows_of_every_kind(pair, tmp_path):
    data, stored = parts(pair.to_html(tmp_path / "page.html"))
    assert [cell["tab"] for cell in data["cells"]] == ["changed"] * 3 + ["added"] + ["removed"] * 2
    assert [cell["p"] for cell in data["cells"]] == list(range(6))
    assert sorted(data["details"]) == ["0a", "0b", "1a", "1b", "2a", "2b", "3b", "4a", "5a"]
    offset, _, mime = data["cells"][5]["a"]["v"]
    assert mime in ("image/jpeg", "image/png")
    assert stored[offset:].startswith((b"\x89PNG", b"\xff\xd8\xff"))
    assert data["traits"]["state"] | {"tab": "changed", "rows": 3} == data["traits"]["state"]
    assert data["traits"]["about"]["static"]
    assert data["traits"]["about"]["url"] == ""
    assert EVIL not in (tmp_path / "page.html").read_text("utf-8")


def test_page_of_few_rows_has_the_first_of_each_kind(pair, tmp_path):
    pair._tab({"tab": "removed"}, None)
    data, _ = parts(pair.to_html(tmp_path / "page.html", rows=1))
    assert [cell["tab"] for cell in data["cells"]] == ["changed", "added", "removed"]
    assert data["traits"]["about"]["counts"] == {"changed": 3, "added": 1, "removed": 2}
    assert data["traits"]["state"] | {"tab": "removed", "rows": 1} == data["traits"]["state"]


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True])
def test_page_opens_from_a_file_with_its_tabs_and_rows(chrome, pair, tmp_path, dark):
    path = pair.to_html(tmp_path / "page.html", rows=2)
    rows = "n => document.querySelector('.dl-browser').dataset.rows === n"
    with stored(chrome, path, dark=dark) as page:
        page.get_by_text("The first 2 rows of each kind").wait_for()
        page.screenshot(path=tmp_path / "pairs.png")
        page.get_by_role("button", name="Added").click()
        page.wait_for_function(rows, arg="1")
        page.get_by_role("button", name="Changed").click()
        page.wait_for_function(rows, arg="2")
        page.get_by_role("combobox", name="Changed column").select_option("n")
        page.wait_for_function(rows, arg="1")
        page.get_by_role("grid").focus()
        page.keyboard.press("Enter")
        page.locator("ins", has_text="99").wait_for()
        page.screenshot(path=tmp_path / "pair.png")


@pytest.mark.browser
def test_empty_diff_has_a_page(chrome, make_lake, tmp_path):
    pair = dl.browse_diff(make_lake({"n": "int8"}, n=[1, 2]))
    with stored(chrome, pair.to_html(tmp_path / "page.html")) as page:
        assert page.get_by_text("No row").first.is_visible()
