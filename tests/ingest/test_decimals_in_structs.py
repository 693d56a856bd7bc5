"""Decimals within structs, maps and dicts become the numbers that a column of them would have."""

from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import InvalidValueError

PRICE = pa.struct([("price", pa.decimal128(20, 2)), ("count", pa.decimal128(20, 0))])
ROW = {"price": Decimal("1.50"), "count": Decimal(12345678901234567)}
READ = {"price": 1.5, "count": 12345678901234567}

ARROW = {
    "struct": (PRICE, ROW, READ),
    "list of structs": (pa.list_(PRICE), [ROW, None], [READ, None]),
    "map": (pa.map_(pa.string(), pa.decimal128(5, 2)), [("a", Decimal("0.10"))], {"a": 0.1}),
    "struct of lists": (
        pa.struct([("p", pa.list_(pa.decimal128(5, 2)))]),
        {"p": [Decimal("0.70"), None]},
        {"p": [0.7, None]},
    ),
}


@pytest.mark.parametrize(("kind", "value", "expected"), ARROW.values(), ids=ARROW)
@pytest.mark.parametrize("source", ["dataframe", "parquet"])
def test_decimals_within_arrow_structs_become_numbers(
    tmp_path, new_url, kind, value, expected, source
):
    table = pa.table({"c": pa.array([value, value], kind)})
    if source == "parquet":
        import pyarrow.parquet as pq

        pq.write_table(table, tmp_path / "rows.parquet")
        ds = dl.from_parquet(tmp_path / "rows.parquet", new_url())
    else:
        ds = dl.from_dataframe(table.to_pandas(types_mapper=pd.ArrowDtype), new_url())
    assert list(ds["c"][:]) == [expected, expected]


@pytest.mark.parametrize("value", [ROW, [ROW], {"rows": [ROW]}], ids=["dict", "list", "nested"])
def test_decimals_within_python_dicts_become_numbers(new_url, value):
    expected = {str(ROW): READ, str([ROW]): [READ], str({"rows": [ROW]}): {"rows": [READ]}}
    ds = dl.from_dataframe(pd.DataFrame({"c": [value, value]}), new_url())
    assert list(ds["c"][:]) == 2 * [expected[str(value)]]


def test_decimal_within_a_struct_that_float64_rounds_is_refused(new_url):
    rounded = {"price": Decimal("123456789012345678.25"), "count": None}
    table = pa.table({"c": pa.array([ROW, rounded], PRICE)})
    with pytest.raises(InvalidValueError, match=r"row 1.*float64 would round the decimal 1234567"):
        dl.from_dataframe(table.to_pandas(types_mapper=pd.ArrowDtype), new_url())
