"""Days are written without a time of day wherever they become strings or parts of JSON."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl

DAYS = np.array(["2026-01-04", "1969-12-31"], "datetime64[D]")


@pytest.fixture(scope="module")
def ds() -> dl.Dataset:
    types = {
        "i": "int64",
        "d": "datetime64[D]",
        "n": dl.Scalar("datetime64[D]", nullable=True),
        "t": "datetime64[s]",
        "v": dl.Array("datetime64[D]", (2,)),
        "s": dl.Sequence("datetime64[D]"),
    }
    ds = dl.create("memory://days-as-text", types, overwrite=True)
    rows = {"i": [0, 1], "d": DAYS, "n": DAYS, "t": DAYS.astype("datetime64[s]")}
    ds.append({**rows, "v": [DAYS, DAYS[::-1]], "s": [DAYS, DAYS[1:]]})
    ds.commit("days")
    return ds


SCALARS = [
    "d", "n", "v[0]", "s[0]", "CAST(t AS DATE)", "COALESCE(n, d)", "GREATEST(d, n)",
    "CASE WHEN i < 2 THEN d END", "NULLIF(d, DATE '2000-01-01')", "MAX(d) OVER (PARTITION BY i)",
]  # fmt: skip

FORMS = [
    "CAST({} AS TEXT)", "TRY_CAST({} AS VARCHAR)", "{} || ''", "CONCAT({}, '')",
    "FORMAT('{{}}', {})", "PRINTF('%s', {})", "CAST({} AS JSON)", "TO_JSON({})",
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("scalar", SCALARS)
def test_day_becomes_a_date(ds, scalar, form):
    result = ds.query(f"SELECT {form.format(scalar)} AS y ORDER BY i")["y"][:]
    assert list(result) == ["2026-01-04", "1969-12-31"]


@pytest.mark.parametrize("scalar", SCALARS)
def test_day_in_a_struct_or_a_list_becomes_a_date(ds, scalar):
    ds = ds.query(f"SELECT i, {scalar} AS d") if "(" in scalar else ds
    scalar = "d" if "(" in scalar else scalar
    assert ds.query(f"SELECT {{'d': {scalar}}} AS y")["y"][0] == {"d": "2026-01-04"}
    assert ds.query(f"SELECT CAST([{scalar}] AS TEXT) AS y")["y"][0] == "[2026-01-04]"
    days = ds.query(f"SELECT [{scalar}] AS y")["y"]
    assert days.htype.item.scalar == "datetime64[D]"
    assert days[:] == [[DAYS[0]], [DAYS[1]]]


@pytest.mark.parametrize(
    "source",
    ["SELECT d FROM dataset", "SELECT CAST(t AS DATE) AS d FROM dataset",
     "SELECT d FROM dataset UNION SELECT n FROM dataset", "SELECT UNNEST(v) AS d FROM dataset"],
)  # fmt: skip
def test_subquery_equals_a_view(ds, source):
    text = "SELECT DISTINCT CAST(d AS TEXT) AS y"
    inner = ds.query(f"{text} FROM ({source})")["y"][:]
    outer = ds.query(source).query(text)["y"][:]
    assert sorted(inner) == sorted(outer) == ["1969-12-31", "2026-01-04"]


def test_days_are_found_by_their_text(ds):
    assert ds.query("SELECT i WHERE CAST(d AS TEXT) = '2026-01-04'")["i"][:].tolist() == [0]
    assert ds.query("SELECT STRING_AGG(d, ',' ORDER BY i) AS y")["y"][:] == [
        "2026-01-04,1969-12-31"
    ]
    assert ds.query("SELECT CAST(t AS TEXT) AS y")["y"][0] == "2026-01-04 00:00:00"
