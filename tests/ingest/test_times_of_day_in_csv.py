"""Columns such as 16:09 stay strings, because ratios and scores look like times of day."""

from __future__ import annotations

from datetime import timedelta

import pytest

import deeplake_lite as dl
from deeplake_lite.ingest.tables import csv_file


@pytest.mark.parametrize("values", [["16:09", "04:03"], ["00:00:01", "23:59:59"], ["7:05", ""]])
@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "in blocks"])
def test_times_of_day_stay_strings_unless_declared(new_url, tmp_path, monkeypatch, values, at_once):
    if not at_once:
        monkeypatch.setattr(csv_file, "AT_ONCE", 0)
    path = tmp_path / "scores.csv"
    path.write_text("score,n\n" + "".join(f"{value},1\n" for value in values))
    ds = dl.from_csv(path, new_url())
    assert ds["score"].htype == dl.Text(nullable=not at_once)  # of later blocks nothing is known
    assert ds["score"][:] == values
    if "7:05" not in values:  # which is not ISO 8601
        times = dl.Scalar("timedelta64[s]")
        typed = dl.from_csv(path, new_url(), schema={"score": times})
        assert typed["score"][:].tolist() == [seconds(value) for value in values]


def seconds(text):
    """Return a time of day as a duration since midnight."""
    hours, minutes, *rest = map(int, text.split(":"))
    return timedelta(hours=hours, minutes=minutes, seconds=rest[0] if rest else 0)
