"""The current time is read once, in UTC, and is the same whenever the query is repeated."""

from __future__ import annotations

import datetime as dt
import pickle
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.query.bind.expressions.lowering import Lowering

FORMS = [
    "CURRENT_TIMESTAMP",
    "CURRENT_DATE",
    "CURRENT_TIME",
    "LOCALTIMESTAMP",
    "LOCALTIME",
    "CAST(AGE(t) AS TEXT)",
    "CAST(AGE(CAST(t AS DATE)) AS TEXT)",
    "AGE(CURRENT_TIMESTAMP, t) > AGE(t)",
    "t - LOCALTIMESTAMP",
    "[LOCALTIMESTAMP]",
    "{'now': CURRENT_TIMESTAMP}",
    "(SELECT MAX(LOCALTIMESTAMP))",
    "CAST(CURRENT_TIME AS TEXT)",
    "EXTRACT(hour FROM CURRENT_TIMESTAMP)",
    "v > LOCALTIMESTAMP",
    "(SELECT [LOCALTIMESTAMP, t] FROM ds LIMIT 1)",
]


@pytest.fixture
def ds() -> dl.Dataset:
    ds = dl.create(
        "memory://current-time",
        {"id": "int64", "t": "datetime64[s]", "v": dl.Array("datetime64[s]", (2,))},
        overwrite=True,
    )
    times = ["2020-02-29", "2100-02-28"]
    ds.append({"id": [0, 1], "t": times, "v": [np.array(times, "M8[s]")] * 2})
    ds.commit("two times")
    return ds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[dt.datetime]:
    """Times that the next queries will read, in reverse order."""
    times = [dt.datetime(2031, 5, 6, 7, 8, 9, 10), dt.datetime(2030, 1, 31, 23, 59, 59, 999_999)]

    def read_clock(self: Lowering) -> dt.datetime:
        if self.moment is None:
            self.moment = times.pop()
        return self.moment

    monkeypatch.setattr(Lowering, "read_clock", read_clock)
    return times


def values(view: dl.View) -> list[str]:
    return [repr(view[field.name][:]) for field in view.schema]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("how", ["save", "pickle", "both"])
def test_view_keeps_its_time(ds: dl.Dataset, clock: list[dt.datetime], form: str, how: str) -> None:
    view: Any = ds.query(f"SELECT id + 0 AS k, {form} AS x ORDER BY k")
    expected = values(view)
    if how != "pickle":
        view.save("kept")
        view = dl.open("memory://current-time").views()["kept"]
        assert values(view) == expected
    if how != "save":
        assert values(pickle.loads(pickle.dumps(view))) == expected
    assert len(clock) == 1


@pytest.mark.usefixtures("clock")
def test_another_run_reads_the_clock_again(ds: dl.Dataset) -> None:
    first, second = (ds.query("SELECT LOCALTIMESTAMP AS x")["x"][0] for _ in range(2))
    assert str(first) == "2030-01-31T23:59:59.999999"
    assert str(second) == "2031-05-06T07:08:09.000010"


def test_condition_on_the_current_time_selects_the_same_rows_later(
    ds: dl.Dataset, clock: list[dt.datetime]
) -> None:
    clock[:] = [dt.datetime(2200, 1, 1), dt.datetime(2030, 1, 1)]
    view = ds.query("SELECT id + 0 AS k WHERE t < CURRENT_TIMESTAMP")
    kept = pickle.dumps(view)
    assert pickle.loads(kept)["k"][:].tolist() == [0]
    assert ds.query("SELECT id + 0 AS k WHERE t < CURRENT_TIMESTAMP")["k"][:].tolist() == [0, 1]


@pytest.mark.usefixtures("clock")
def test_query_of_a_result_keeps_both_times(ds: dl.Dataset) -> None:
    first = ds.query("SELECT id + 0 AS k, LOCALTIMESTAMP AS a")
    both = first.query("SELECT k, a, LOCALTIMESTAMP AS b")
    expected = values(both)
    both.save("chained")
    assert values(ds.views()["chained"]) == expected
    assert values(pickle.loads(pickle.dumps(both))) == expected
    assert "2030" in expected[1]
    assert "2031" in expected[2]


def test_one_query_has_one_time(ds: dl.Dataset) -> None:
    same = ds.query(
        "SELECT LOCALTIMESTAMP = CURRENT_TIMESTAMP AND LOCALTIMESTAMP = (SELECT MAX(LOCALTIMESTAMP)"
        " FROM ds) AND CAST(LOCALTIMESTAMP AS DATE) = CURRENT_DATE AND CAST(LOCALTIMESTAMP AS "
        "TIME) = LOCALTIME AND AGE(t) = AGE(CURRENT_DATE, t) AS r"
    )
    assert same["r"][:].all()


def test_current_time_is_in_utc(ds: dl.Dataset) -> None:
    before = np.datetime64(dt.datetime.now(dt.UTC).replace(tzinfo=None))
    result = ds.query("SELECT CURRENT_TIMESTAMP AS a, LOCALTIMESTAMP AS b LIMIT 1")
    after = np.datetime64(dt.datetime.now(dt.UTC).replace(tzinfo=None))
    assert before <= result["a"][0] == result["b"][0] <= after


IN_A_ZONE = """
import datetime as dt
import deeplake_lite as dl
from deeplake_lite.query.bind.expressions.lowering import Lowering
Lowering.read_clock = lambda self: dt.datetime(2030, 1, 31, 23, 30)
found = dl.query("SELECT EXTRACT(hour FROM CURRENT_TIMESTAMP) AS a, CURRENT_DATE AS b, LOCALTIME "
    "AS c, CAST(CURRENT_TIME AS TEXT) AS d, LOCALTIMESTAMP = CURRENT_TIMESTAMP AS e, "
    "CAST(MAKE_TIMESTAMPTZ(2030, 1, 2, 3, 4, 5.0) AS TEXT) AS f")
print(*(found[field.name][0] for field in found.schema), sep=", ")
"""


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Kathmandu"])
def test_time_zone_of_the_machine_does_not_matter(
    zone: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TZ", zone)
    ran = subprocess.run(
        [sys.executable, "-c", IN_A_ZONE], capture_output=True, text=True, check=True
    )
    assert (
        ran.stdout.strip() == "23, 2030-01-31, 23:30:00, 23:30:00+00, True, 2030-01-02 03:04:05+00"
    )
