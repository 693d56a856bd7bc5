"""The content of a page about a difference, with each row in both versions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deeplake_lite.widget.images.cells import MAX_ROWS
from deeplake_lite.widget.images.kinds import OVERLAYS
from deeplake_lite.widget.pairs import TABS, Pairs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deeplake_lite.dataset.versions.diff import Diff
    from deeplake_lite.widget.images.thumbnails import Thumbnails
    from deeplake_lite.widget.messages import Pack


def content(
    diff: Diff,
    about: Mapping[str, Any],
    settings: Mapping[str, object],
    thumbnails: Thumbnails,
    pack: Pack,
    *,
    rows: int,
    size: int,
    large: int,
) -> dict[str, Any]:
    """Return the traits, the pairs for all kinds of change, and the details of their rows.

    The key of a row's details is the index of the pair followed by the side, such as ``"3a"``.
    Bytes are added to the pack.
    """
    columns = about["columns"]
    request = {
        "size": size,
        "picture": settings.get("picture"),
        "columns": [c["name"] for c in columns if c["role"] == "caption"],
        "overlays": [c["name"] for c in columns if c["kind"] in OVERLAYS],
    }
    cells: list[dict[str, object]] = []
    details: dict[str, object] = {}
    for tab in TABS:
        pairs = Pairs.of(diff, tab, None)
        first, count = len(cells), min(rows, len(pairs))
        for start in range(0, count, MAX_ROWS):
            span = {"start": start, "stop": min(start + MAX_ROWS, count)}
            block = pairs.cells({**request, **span}, thumbnails, pack)
            cells += [{**pair, "p": first + pair["p"], "tab": tab} for pair in block]
        for side in pairs.sides:
            for p in range(count):
                row = {"p": p, "size": large, "picture": request["picture"]}
                details[f"{first + p}{side}"] = pairs.detail(side, row, thumbnails, pack)
    changes = {"static": True, "url": "", "rows_each": rows}
    return {"traits": {"about": {**about, **changes}}, "cells": cells, "details": details}
