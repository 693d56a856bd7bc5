"""Charts next to the grid are complete and labelled."""

from __future__ import annotations

import pytest

import deeplake_lite as dl

from .bridge import shown
from .page import eventually

pytestmark = pytest.mark.browser


@pytest.fixture
def ds(make_lake):
    return make_lake(
        {
            "large": "int64",
            "i": "int64",
            "x": dl.Scalar("float32", nullable=True),
            "when": "datetime64[s]",
        },
        large=[-(2**63), 0, 5, 2**63 - 1],
        i=[1, 3, 5, 7],
        x=[None, float("nan"), 0.25, 0.75],
        when=["2020-01-01T00:00:00", "2020-01-01T09:00:00", "2020-01-01T23:00:00", "2020-01-02"],
    )


def chart(page, name):
    """Return the chart of a column once it has been counted."""
    result = page.locator(f"section.dl-facet[aria-label='{name}']")
    result.locator("canvas").wait_for()
    return result


def test_ends_of_a_chart_are_never_cut_off(chrome, ds):
    with shown(chrome, ds.browse()) as (page, _):
        fields = page.locator(".dl-range-field")
        chart(page, "when")
        said = fields.evaluate_all(
            "(all) => all.map((f) => [f.value, f.title, f.scrollWidth <= f.clientWidth])"
        )
        assert [fits for *_, fits in said] == [True] * len(said)
        ends = [chart(page, "large").locator("input").nth(i).input_value() for i in (0, 1)]
        assert ends == ["-1e19", "1e19"]
        assert said[0][1] == "-10000000000000000000"
        chart(page, "large").locator(".dl-histogram-box").hover(position={"x": 2, "y": 20})
        under = chart(page, "large").locator(".dl-range .dl-quiet")
        eventually(page, lambda: under.inner_text() == "-1e19: 1 / 1")
        assert under.evaluate("(node) => node.scrollWidth <= node.clientWidth")


def test_rows_next_to_a_chart_are_labelled(chrome, ds):
    with shown(chrome, ds.browse()) as (page, _):
        assert "1 null · 1 NaN or infinite" in chart(page, "x").inner_text()
        assert "null" not in chart(page, "i").inner_text()
