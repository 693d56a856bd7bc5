"""Query plans as text: what is read, computed and joined, in which order, over how many rows."""

from __future__ import annotations

import re
from uuid import uuid4

import pytest

import deeplake_lite as dl

from ..plan_files import FOLDER, load, plan_of


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda p: p.stem)
def test_plan_equals_that_of_its_file(path):
    query, plan = load(path)
    assert plan_of(query) == plan


def test_view_without_a_query_says_so(ds):
    assert "without a query" in ds[2:5].explain()


def test_time_of_the_result_is_the_sum_of_all_steps(ds):
    fresh = dl.create(f"memory://plans-{uuid4()}", ds.schema)  # whose columns are read, and shown
    fresh.append(ds)
    fresh.commit("rows")
    result = fresh.query("SELECT * WHERE MEAN(image) > 3 AND label = 'cat'").explain()
    [whole] = re.findall(r"([\d.]+) ms in total\]", result)
    parts = [float(ms) for ms in re.findall(r"([\d.]+) ms\]", result)]
    assert len(parts) >= 3
    assert abs(float(whole) - sum(parts)) < 0.1 * len(parts)
