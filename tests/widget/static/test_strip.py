"""The static view of a browser, shown where no kernel runs."""

from __future__ import annotations

import re

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

import deeplake_lite as dl
from deeplake_lite.errors import LakeError
from deeplake_lite.widget import Browser

BAD = "<img src=x onerror=alert(1)>"


def test_browser_has_a_static_strip_of_images(make_lake):
    ds = make_lake(
        {"image": "image", "label": dl.ClassLabel([BAD])},
        image=[np.full((200, 300, 3), i, "uint8") for i in range(20)],
        label=[0] * 20,
    )
    data, _ = Browser(ds)._repr_mimebundle_()
    html = data["text/html"]
    assert "application/vnd.jupyter.widget-view+json" in data
    assert html.count('<img src="data:image/jpeg;base64,') == 8
    assert 'width="96" height="64"' in html
    assert "12 more rows" in html
    assert BAD not in html
    tags = " ".join(re.findall(r"<[^>]*>", html))
    assert not re.search(r"<(script|style|link)|\son\w+=|\sid=", tags)
    assert len(html) < 65_000
    assert data["text/plain"].startswith("Browser of test-")


def test_rows_without_images_are_described_in_words(make_lake):
    ds = make_lake({"t": "text", "x": "int32"}, t=[BAD, "b"], x=[1, 2])
    html = Browser(ds)._repr_mimebundle_()[0]["text/html"]
    assert "x: 2" in html
    assert BAD not in html


def test_no_rows_make_a_title(make_lake):
    html = Browser(make_lake({"image": "image"}))._repr_mimebundle_()[0]["text/html"]
    assert "0 rows" in html


def test_browser_is_captured_when_it_is_displayed(make_lake, monkeypatch):
    from IPython.display import DisplayHandle

    ds = make_lake({"x": "int32"}, x=range(100))
    w, updates = Browser(ds), []
    with pytest.raises(LakeError, match="Show it in a cell first"):
        w.freeze()
    monkeypatch.setattr(DisplayHandle, "update", lambda _, data, **_raw: updates.append(data))
    w._displays.append(DisplayHandle())
    w.freeze(rows=30)
    assert "70 more rows" in updates[0]["text/html"]
    assert updates[0]["text/plain"] == repr(w)


LAKE = """
import numpy as np, deeplake_lite as dl
ds = dl.create("memory://converted", {"image": "image", "label": "text"})
ds.append({"image": [np.zeros((8, 8), "uint8")] * 3, "label": ["rose", "lily", "lily"]})
first = ds.commit("three")
ds["label"][0] = "tulip"
second = ds.commit("mended")
"""


def test_executed_and_converted_notebook_shows_rows():
    cells = [
        LAKE,
        "ds.browse()",
        "dl.browse_diff(ds, first, second)",
        "w = ds.query(\"SELECT * WHERE label = 'lily'\").browse()\nw",
        "w.freeze()",
    ]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    NotebookClient(notebook, kernel_name="python3", timeout=1_800).execute()
    html, _ = HTMLExporter().from_notebook_node(notebook)
    seen = [part.split("</div>\n</div>")[0] for part in html.split("jp-RenderedHTMLCommon")[1:]]
    shown = [part for part in seen if "<img" in part]
    assert len(shown) == 3
    assert ["tulip" in part for part in shown] == [True, True, False]
    assert all("image-rendering:pixelated" in part or "dl-pixels" in part for part in shown)
