"""Plans as text: what is read, computed and joined, in which order, over how many rows."""

from __future__ import annotations

import pytest

from .plan_files import FOLDER, load, plan_of


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda p: p.stem)
def test_a_plan_is_as_its_file_says(path):
    query, plan = load(path)
    assert plan_of(query) == plan


def test_a_view_without_a_query_says_so(ds):
    assert "no query made them" in ds[2:5].explain()
