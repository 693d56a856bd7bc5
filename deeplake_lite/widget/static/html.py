"""A page of its own with the browser in it: some rows, their pictures, and the same front end.

It opens from a file, asks nobody for anything, and its policy says so: it runs the one script and
the one style sheet whose hashes it names. Data are in elements that are no script; nothing of them
can end an element.
"""

from __future__ import annotations

import json
import math
from base64 import b64encode
from hashlib import sha256
from html import escape
from typing import TYPE_CHECKING, Any, override

import numpy as np

from deeplake_lite.dataset.export.whole_files import written_whole
from deeplake_lite.dataset.read.values import with_none
from deeplake_lite.dataset.repr.html.words import visible
from deeplake_lite.errors import LakeError
from deeplake_lite.query.parse.names import unused
from deeplake_lite.widget import front_end
from deeplake_lite.widget.edits.inputs import plain
from deeplake_lite.widget.filters.bins import EXACT
from deeplake_lite.widget.filters.counting import bin_expression
from deeplake_lite.widget.filters.facets import Facets
from deeplake_lite.widget.images.cells import MOST_ROWS, Cells
from deeplake_lite.widget.images.kinds import OVERLAYS, colouring
from deeplake_lite.widget.messages import Pack
from deeplake_lite.widget.review.mapping import Map
from deeplake_lite.widget.row.detail import Detail

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from deeplake_lite.dataset.view import View
    from deeplake_lite.widget.browser import Browser
    from deeplake_lite.widget.messages import Span

POLICY = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src blob: data:; "
    "media-src blob: data:; base-uri 'none'; form-action 'none'"
)
"""What the page may do."""

ABOUT = ("title", "version", "name", "branch", "total")
"""What the page says of the lake; where it is, is its owner's business."""

STYLE = "body{margin:0}main>.dl-browser{height:100vh;resize:none;border:0;border-radius:0}"
"""The browser fills the window."""

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
<noscript>This page draws its {rows} rows with a script, which is switched off.</noscript>
<script type="application/json" id="data">{data}</script>
<script type="text/plain" id="bytes">{bytes}</script>
<script type="module">{script}</script>
</body>
</html>
"""


def write(path: Path, found: dict[str, Any], pack: Pack) -> Path:
    """Write a page, whole or not at all. Raises StorageError.

    Parameters
    ----------
    found : dict
        What it holds, with its traits.
    pack : Pack
        The bytes of it.
    """
    data = json.dumps(written(found), allow_nan=False)
    script = _script()
    style = front_end.style() + STYLE
    policy = POLICY.format(script=_hash(script), style=_hash(style))
    page = PAGE.format(
        policy=policy,
        title=escape(visible(found["traits"]["about"]["title"])),
        style=style,
        rows=f"{len(found['cells']):,}",
        data=data.replace("<", "\\u003c"),
        bytes=b64encode(pack.data).decode("ascii"),
        script=script,
    )
    with written_whole(path) as draft:
        draft.write_text(page, "utf-8", newline="\n")
    return path


def content(browser: Browser, pack: Pack, *, query: str, size: int, large: int) -> dict[str, Any]:
    """Return what the page has of each row, and its traits; bytes go into the pack.

    Parameters
    ----------
    browser : Browser
        Of the rows of the page, and no others.
    query : str
        What they are the answer of.
    """
    never = {"url": "", "writable": False, "suspects": [], "alike": [], "umap": False}
    about = {**browser.about, **never, "static": True}
    names = [c["name"] for c in about["columns"]]
    wanted = {
        "size": size,
        "picture": browser.settings["picture"],
        "columns": [c["name"] for c in about["columns"] if c["role"] == "caption"],
        "overlays": [c["name"] for c in about["columns"] if c["kind"] in OVERLAYS],
    }
    rows = range(len(browser.view))
    cells = [
        cell
        for start in range(0, len(rows), MOST_ROWS)
        for cell in browser.part(Cells).cells(
            {**wanted, "start": start, "stop": start + MOST_ROWS}, pack
        )["cells"]
    ]
    found = list(facets(browser, names))
    for facet in found:
        for cell, value in zip(cells, values_of(browser.view, facet), strict=True):
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
        "facets": {"facets": found, "ms": 0},
        "points": {name: points(browser, name, pack) for name in about["embeddings"]},
    }


def points(browser: Browser, name: str, pack: Pack) -> dict[str, Any]:
    """Return the map of a column by what colours it, as the page can be asked; empty for nothing.

    Bytes that are the same for all are in the pack once.
    """
    coloured = [f.name for f in browser.view.schema if colouring(f.htype)]
    asked = {"column": name, "method": "pca"}
    return {
        colour: browser.part(Map).points({**asked, "colour": colour}, pack)
        for colour in ("", *coloured)
    }


def facets(browser: Browser, names: list[str]) -> Iterator[dict[str, Any]]:
    """Yield the facets that the page can count by itself."""
    for facet in browser.part(Facets).facets({"columns": names}, Pack())["facets"]:
        if facet["kind"] != "times" and ("values" in facet or "edges" in facet):
            yield {**facet, "chosen": None}


def values_of(view: View, facet: dict[str, Any]) -> list[Any]:
    """Return the value of each row that a facet tells apart: a name, a list of names, a number.

    A number comes with the place of its range, because a page compares otherwise than a query.
    """
    value, place = unused(view.columns, "value", "place")
    e = facet["expression"]
    try:
        if not facet.get("edges"):
            column = view.query(f"SELECT {e} AS {value}")[value]
            return plain(column.htype, column[:])
        found = view.query(f"SELECT {e} AS {value}, {bin_expression(e, facet['edges'])} AS {place}")
    except LakeError:
        return [[None, None] if "edges" in facet else None] * len(view)
    numbers = map(number, with_none(found[value][:]))
    return [list(pair) for pair in zip(with_none(found[place][:]), numbers, strict=True)]


def number(value: Any) -> Any:
    """Return a number as a page compares it: a float, or the digits of what is none there.

    >>> number(np.float32(0.1)), number(2**60 + 1), number(float("-inf")), number(np.nan)
    (0.1, '1152921504606846977', '-Infinity', None)
    """
    if value is None or value != value:  # NaN
        return None
    if isinstance(value, int | np.integer):
        return int(value) if abs(int(value)) <= EXACT else str(value)
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    is_single = isinstance(value, np.float32)  # which a query compares with ends of float32
    return float(str(value)) if is_single else float(value)


class OncePack(Pack):
    """Bytes of a page: what is the same is there once."""

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


def written(value: Any) -> Any:
    """Return what is JSON: numbers of NumPy become plain ones, and what is no number null.

    >>> written({"a": np.float32(0.5), "b": (float("nan"), np.array([1, 2]))})
    {'a': 0.5, 'b': [None, [1, 2]]}
    """
    match value:
        case dict():
            return {str(key): written(part) for key, part in value.items()}
        case list() | tuple() | set():
            return [written(part) for part in value]
        case np.ndarray():
            return written(value.tolist())
        case np.datetime64() | np.timedelta64():
            return str(value)
        case np.generic():
            return written(value.item())
        case float() if not math.isfinite(value):
            return None
        case None | bool() | int() | float() | str():
            return value
    return str(value)


def _script() -> str:
    """Return the one script: the front end, and what opens the page."""
    return front_end.script("page").replace("</script", "<\\/script").replace("<!--", "<\\!--")


def _hash(text: str) -> str:
    """Return the hash of an element's text as a policy names it."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode('ascii')}"
