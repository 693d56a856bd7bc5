"""The exported page opens from a file under a strict policy, and never executes data."""

import base64
import hashlib
import json
import re
import threading

import numpy as np
import pytest
from ipywidgets.widgets.widget import _instances

import deeplake_lite as dl
from deeplake_lite.widget.static import html as page_module

from ..page import stored

EVIL = "<img src=x onerror=alert(1)>"
END = "</script><script>alert(2)</script><!--"


@pytest.fixture
def lake(make_lake):
    random = np.random.default_rng(0)
    return make_lake(
        {
            "image": "image",
            "label": dl.ClassLabel([EVIL, "bee"]),
            END: "text",
            "x": dl.Scalar("float32", nullable=True),
            "boxes": dl.Boxes(),
            "tags": dl.Sequence("text"),
            "when": "datetime64[s]",
            "vector": dl.Embedding(3),
        },
        **{
            "image": list(random.integers(0, 255, (30, 24, 32, 3), np.uint8)),
            "label": np.arange(30) % 2,
            END: [f"{END} {i}" for i in range(30)],
            "x": [None, float("nan"), *np.arange(28.0)],
            "boxes": [[[2, 3, 12, 13]]] * 30,
            "tags": [["a"], ["a", EVIL], *[[]] * 28],
            "when": ["2026-01-31"] * 30,
            "vector": random.normal(size=(30, 3)),
        },
    )


@pytest.fixture
def path(lake, tmp_path):
    return lake.browse().to_html(tmp_path / "page.html", rows=20)


def element(page, name):
    return re.search(rf'<script type="[^"]*" id="{name}">(.*?)</script>', page, re.DOTALL)[1]


def test_page_has_the_rows_their_images_and_their_filters(path):
    page = path.read_text("utf-8")
    data, stored = json.loads(element(page, "data")), base64.b64decode(element(page, "bytes"))
    assert len(data["cells"]) == len(data["details"]) == 20
    offset, length, mime = data["cells"][3]["v"]
    assert mime in ("image/jpeg", "image/png")
    assert stored[offset : offset + length].startswith((b"\x89PNG", b"\xff\xd8\xff"))
    assert data["cells"][1]["facet"]["label"] == "bee"
    assert data["cells"][1]["facet"]["tags"] == ["a", EVIL]
    assert data["cells"][1]["facet"]["x"] == [None, None]
    assert data["traits"]["about"]["static"]
    assert data["points"]["vector"][""]["n"] == 20
    assert "times" not in {facet["kind"] for facet in data["facets"]["facets"]}
    assert data["details"]["0"]["columns"][1]["text"] == EVIL


def test_names_and_strings_cannot_close_an_element(path):
    page = path.read_text("utf-8")
    assert END not in page
    assert EVIL not in page
    assert len(re.findall("<script", page)) == 3
    assert len(re.findall("</script", page)) == 3
    assert "<!--" not in page.partition("<main")[2]


def test_policy_names_the_only_script_and_style(path):
    page = path.read_text("utf-8")
    policy = re.search('Policy" content="([^"]*)"', page)[1]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    script = re.search('<script type="module">(.*?)</script>', page, re.DOTALL)[1]
    style = re.search("<style>(.*?)</style>", page, re.DOTALL)[1]
    for text in (script, style):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy


def test_page_contains_the_shown_rows(lake, tmp_path):
    w = lake.browse()
    w.query = "SELECT * WHERE label = 'bee'"
    page = w.to_html(tmp_path / "bees.html").read_text("utf-8")
    data = json.loads(element(page, "data"))
    assert len(data["cells"]) == 15
    assert data["traits"]["query"] == w.query


def test_equal_bytes_are_stored_once(make_lake, tmp_path):
    same = make_lake({"image": "image"}, image=[np.zeros((64, 64, 3), np.uint8)] * 40)
    page = same.browse().to_html(tmp_path / "same.html").read_text("utf-8")
    spans = {tuple(cell["v"]) for cell in json.loads(element(page, "data"))["cells"]}
    assert len(spans) == 1


def test_empty_dataset_has_a_page(make_lake, tmp_path):
    assert make_lake({"image": "image"}).browse().to_html(tmp_path / "empty.html").is_file()


@pytest.mark.browser
def test_page_opens_from_a_file(chrome, path, tmp_path):
    with stored(chrome, path) as page:
        assert page.eval_on_selector(".dl-browser", "root => root.dataset.rows") == "20"
        page.screenshot(path=tmp_path / "page.png")
        page.get_by_role("grid").focus()
        page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")
        page.wait_for_selector(f"dd:has-text({json.dumps(END + ' 1')})")
        page.screenshot(path=tmp_path / "row.png")


def test_page_does_not_reveal_the_lakes_location_and_leaves_no_browser_behind(tmp_path):
    lake = dl.create(str(tmp_path / "where" / "it.lake"), {"x": "int32"})
    lake.append({"x": [1, 2]})
    lake.commit("two")
    shown = lake.browse()
    before = len(_instances)
    page = shown.to_html(tmp_path / "page.html")
    assert str(tmp_path) not in page.read_text("utf-8")
    assert len(_instances) == before


def test_browser_responds_while_a_page_is_exported(lake, tmp_path, page, monkeypatch):
    shown = page(lake)
    content = page_module.content

    def meanwhile(*arguments, **options):
        reply = []
        thread = threading.Thread(target=lambda: reply.append(shown.asks("cells", start=0, stop=2)))
        thread.start()
        thread.join(20)
        assert reply
        return content(*arguments, **options)

    monkeypatch.setattr(page_module, "content", meanwhile)
    shown.w.to_html(tmp_path / "page.html", rows=2)


def test_map_is_coloured_like_the_cards(path):
    page = path.read_text("utf-8")
    data, packed = json.loads(element(page, "data")), base64.b64decode(element(page, "bytes"))
    assert data["points"]["vector"].keys() == {"", "label", END, "x", "when"}
    points = data["points"]["vector"]["label"]
    positions, colours = (
        np.frombuffer(packed[start : start + length], "<i4")
        for start, length in (points["v"]["positions"], points["v"]["colour"])
    )
    cards = [data["cells"][p]["caption"]["label"]["c"] for p in positions]
    assert colours.tolist() == cards
    assert set(cards) == {0, 1}
    assert data["points"]["vector"][""]["colour"] is None
