"""The browser as an HTML file with the same front end and the data of some rows.

The page opens without a kernel and sends no requests. Its content security policy enforces this: it
allows only one script and one style sheet, identified by their hashes. The data are in elements
that browsers do not run, and are escaped so that they cannot end such an element.
"""

from __future__ import annotations

import json
import math
from base64 import b64encode
from hashlib import sha256
from html import escape
from typing import TYPE_CHECKING, Any, override

import numpy as np

from deeplake_lite.dataset.export.atomic_files import atomic_write
from deeplake_lite.dataset.read.values import with_none
from deeplake_lite.dataset.repr.html.words import visible
from deeplake_lite.errors import LakeError
from deeplake_lite.query.parse.names import unused
from deeplake_lite.widget import front_end
from deeplake_lite.widget.edits.inputs import to_cells
from deeplake_lite.widget.filters.bins import EXACT
from deeplake_lite.widget.filters.counting import bin_expression
from deeplake_lite.widget.filters.facets import Facets
from deeplake_lite.widget.images.cells import MAX_ROWS, Cells
from deeplake_lite.widget.images.kinds import OVERLAYS, colouring
from deeplake_lite.widget.messages import Pack
from deeplake_lite.widget.review.mapping import Map
from deeplake_lite.widget.row.detail import Detail

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deeplake_lite.dataset.view import View
    from deeplake_lite.widget.browser import Browser
    from deeplake_lite.widget.filters.facets import FacetCounts
    from deeplake_lite.widget.messages import Span

POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src blob: data:; "
    "media-src blob: data:; base-uri 'none'; form-action 'none'"
)
"""Content security policy of the page."""

ABOUT = ("title", "version", "name", "branch", "total")
"""Fields about the lake in the page. The URL of the lake is omitted, because pages are shared."""

STYLE = "body{margin:0}main>.dl-browser{height:100vh;resize:none;border:0;border-radius:0}"
"""Style that makes the browser fill the window."""

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main id="browser"></main>
<noscript>This page needs JavaScript to show its {rows} rows, but JavaScript is disabled.</noscript>
<script type="application/json" id="data">{data}</script>
<script type="text/plain" id="bytes">{bytes}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def write(path: Path, page_content: dict[str, Any], pack: Pack) -> Path:
    """Write a page atomically. Raises StorageError if the file cannot be written.

    Parameters
    ----------
    path : Path
        The file.
    page_content : dict
        Content of the page, including its traits.
    pack : Pack
        Bytes of the content.
    """
    data = json.dumps(to_json(page_content), allow_nan=False)
    script = _script()
    style = front_end.style() + STYLE
    policy = POLICY.format(script=_hash(script), style=_hash(style))
    page = PAGE.format(
        policy=policy,
        title=escape(visible(page_content["traits"]["about"]["title"])),
        style=style,
        rows=f"{len(page_content['cells']):,}",
        data=data.replace("<", "\\u003c"),
        bytes=b64encode(pack.data).decode("ascii"),
        script=script,
    )
    with atomic_write(path) as draft:
        draft.write_text(page, "utf-8", newline="\n")
    return path


def content(
    browser: Browser, pack: Pack, *, query: str, size: int, large: int
) -> dict[str, object]:
    """Return the content of a page, which is its rows, facets, maps and traits.

    Parameters
    ----------
    browser : Browser
        A browser with exactly the rows of the page.
    pack : Pack
        Pack for the bytes.
    query : str
        The query that returned the rows.
    size, large : int
        Longer side of images in the grid and in the view of a single row, in pixels.
    """
    unavailable = {"url": "", "writable": False, "suspects": [], "alike": [], "umap": False}
    about = {**browser.about, **unavailable, "static": True}
    names = [c["name"] for c in about["columns"]]
    request = {
        "size": size,
        "picture": browser.settings["picture"],
        "columns": [c["name"] for c in about["columns"] if c["role"] == "caption"],
        "overlays": [c["name"] for c in about["columns"] if c["kind"] in OVERLAYS],
    }
    rows = range(len(browser.view))
    cells = [
        cell
        for start in range(0, len(rows), MAX_ROWS)
        for cell in browser.part(Cells).cells(
            {**request, "start": start, "stop": start + MAX_ROWS}, pack
        )["cells"]
    ]
    # The page counts and filters by these values, because it cannot run queries.
    page_facets = list(facets(browser, names))
    for facet in page_facets:
        for cell, value in zip(cells, facet_values(browser.view, facet), strict=True):
            cell.setdefault("facet", {})[facet["expression"]] = value
    detail = browser.part(Detail)
    return {
        "traits": {
            "about": about,
            "state": {**browser.state, "generation": 1},
            "settings": dict(browser.settings),
            "query": query,
        },
        "cells": cells,
        "details": {str(p): detail.detail({"p": p, "size": large}, pack) for p in rows},
        "facets": {"facets": page_facets, "ms": 0},
        "points": {name: points(browser, name, pack) for name in about["embeddings"]},
    }


def points(browser: Browser, name: str, pack: Pack) -> dict[str, object]:
    """Return a dict with the map of a vector column, coloured by each column that can colour it.

    The keys are the names of the colouring columns. The key "" has the map without colours.

    The pack of a page stores equal bytes only once, so the coordinates are not repeated.
    """
    coloured = [f.name for f in browser.view.schema if colouring(f.htype)]
    request = {"column": name, "method": "pca"}
    return {
        colour: browser.part(Map).points({**request, "colour": colour}, pack)
        for colour in ("", *coloured)
    }


def facets(browser: Browser, names: list[str]) -> Iterator[FacetCounts]:
    """Yield the facets that the page can count by itself."""
    for facet in browser.part(Facets).facets({"columns": names}, Pack())["facets"]:
        if facet["kind"] != "times" and ("values" in facet or "edges" in facet):
            yield {**facet, "chosen": None}


def facet_values(view: View, facet: FacetCounts) -> list[object]:
    """Return a facet's value for each row, which is a name, a list of names, or a number.

    A number becomes a list with the index of its bin and the number, because JavaScript and queries
    compare numbers differently.
    """
    value, bin_ = unused(view.columns, "value", "bin")
    e = facet["expression"]
    try:
        if not facet.get("edges"):
            column = view.query(f"SELECT {e} AS {value}")[value]
            return to_cells(column.htype, column[:])
        rows = view.query(f"SELECT {e} AS {value}, {bin_expression(e, facet['edges'])} AS {bin_}")
    except LakeError:
        return [[None, None] if "edges" in facet else None] * len(view)
    numbers = map(page_number, with_none(rows[value][:]))
    return [list(pair) for pair in zip(with_none(rows[bin_][:]), numbers, strict=True)]


def page_number(value: Any) -> object:
    """Convert a number for JavaScript to a float, or to a string if a float would change it.

    >>> page_number(np.float16(0.5)), page_number(2**60 + 1)
    (0.5, '1152921504606846977')
    >>> page_number(float("-inf")), page_number(np.nan)
    ('-Infinity', None)
    """
    if value is None or value != value:  # true for NaN
        return None
    if isinstance(value, int | np.integer):
        return int(value) if abs(int(value)) <= EXACT else str(value)
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    return float(value)


class OncePack(Pack):
    """A pack that stores equal bytes only once."""

    def __init__(self) -> None:
        super().__init__()
        self._known: dict[bytes, Span] = {}

    @override
    def add(self, data: bytes, mime: str) -> Span:
        key = sha256(data).digest()
        if key not in self._known:
            self._known[key] = super().add(data, mime)
        offset, length, _ = self._known[key]
        return offset, length, mime


def to_json(value: object) -> object:
    """Convert a value to JSON.

    NumPy numbers become plain numbers. NaN and infinity become null.

    >>> to_json({"a": np.float32(0.5), "b": (float("nan"), np.array([1, 2]))})
    {'a': 0.5, 'b': [None, [1, 2]]}
    """
    match value:
        case dict():
            return {str(key): to_json(part) for key, part in value.items()}
        case list() | tuple() | set():
            return [to_json(part) for part in value]
        case np.ndarray():
            return to_json(value.tolist())
        case np.datetime64() | np.timedelta64():
            return str(value)
        case np.generic():
            return to_json(value.item())
        case float() if not math.isfinite(value):
            return None
        case None | bool() | int() | float() | str():
            return value
    return str(value)


def _script() -> str:
    """Return the page's script, without sequences that HTML treats specially in scripts."""
    return front_end.script("page").replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _hash(text: str) -> str:
    """Return the hash of an element's text in the format of content security policies."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}"
