"""DuckDB results of every type become columns, also in lists."""

import datetime as dt
from decimal import Decimal

import pyarrow as pa
import pytest

import deeplake_lite as dl
from deeplake_lite.query.result.columns import to_storable

from ..case_files import values_of


@pytest.mark.parametrize(
    ("text", "htype", "expected"),
    [
        ("[SUM(id), COUNT(*)]", dl.Scalar("int64", nullable=True), [1770, 60]),
        ("[SUM(id) * 1.5]", dl.Scalar("float64", nullable=True), [2655.0]),
        (
            "LIST(time - DATE '2024-01-01') FILTER (WHERE id = 0)",
            dl.Scalar("timedelta64[us]", nullable=True),
            [dt.timedelta(0)],
        ),
        ("LIST(CAST(time AS TIME)) FILTER (WHERE id = 0)", dl.Text(nullable=True), ["00:00:00"]),
    ],
)
def test_lists_hold_the_same_values_as_columns(ds, text, htype, expected):
    result = ds.query(f"SELECT {text} AS x")
    assert result["x"].htype == dl.Sequence(htype, nullable=True)
    assert values_of(result)["x"] == [expected]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([Decimal(2**62), None], pa.array([2**62, None])),
        ([Decimal(2**64)], pa.array([2.0**64])),
        ([Decimal("1.5")], pa.array([1.5])),
        ([[Decimal(1), Decimal(2)], None, []], pa.array([[1, 2], None, []])),
        ([[[Decimal(1)], None]], pa.array([[[1], None]])),
        ([dt.time(9, 30), None], pa.array(["09:30:00", None])),
        (["as it is"], pa.array(["as it is"])),
    ],
)
def test_wide_numbers_and_times_of_day_are_converted(values, expected):
    assert to_storable(pa.array(values)).to_pylist() == expected.to_pylist()


def test_part_of_a_list_column_is_converted_by_itself():
    lists = pa.array([[Decimal(1)], [Decimal(2), Decimal(3)], None, [Decimal(4)]])
    assert to_storable(lists.slice(1)).to_pylist() == [[2, 3], None, [4]]
