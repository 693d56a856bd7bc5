"""Arrays of times give the same results in fixed-shape, ragged and compressed columns."""

from uuid import uuid4

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import QueryTypeError

UNITS = ["D", "s", "ms", "us", "ns"]
DTYPES = [f"{kind}64[{unit}]" for kind in ("datetime", "timedelta") for unit in UNITS]
KINDS = {
    "ragged": ((None,), None), "packed": ((2,), "zstd"), "both": ((None,), "lz4"),
    "any": (None, None),
}  # fmt: skip

EXPRESSIONS = [
    "{x}[0]", "{x}[1]", "{x}[k - 1]", "{x}[0:1]", "{x}[::-1]", "{x}[[1, 0]]", "UNNEST({x})",
    "{x}[0] = one", "{x}[0] > one", "{x}[1] IS NULL", "{x}[0] BETWEEN one AND {x}[1]",
    "{x}[0] IN (one, {x}[1])", "{x}[0] = $p", "{x} = $p", "{x} <> {x}", "{x} <= {x}[0]",
    "{x} >= one", "ALL({x} = dense)", "COALESCE({x}[1], one)", "GREATEST({x}[0], one)",
    "[{x}[0], one]", "CAST({x}[0] AS TEXT)", "CASE WHEN k > 1 THEN {x}[0] ELSE one END",
    "CASE WHEN k > 1 THEN {x} ELSE dense END", "COALESCE({x}, dense)", "LIST({x})",
    "LIST({x}[0])", "MAX({x}[0])", "MIN({x}[1])", "COUNT(DISTINCT {x}[0])", "ANY_VALUE({x})",
    "{x}[0] - {x}[1]", "{x}[0] + INTERVAL 1 DAY", "LEN({x})", "HASH({x}) = HASH(dense)",
    "HASH({x}[0])", "CONTAINS({x}, one)", "CONTAINS({x}, $p)", "MAX({x})", "MIN({x})",
    "SORT({x})", "UNIQUE({x})", "ARGMAX({x})",
]  # fmt: skip
QUERIES = [
    "SELECT {x}[0] AS y, COUNT(*) AS n GROUP BY {x}[0] ORDER BY y",
    "SELECT DISTINCT {x}[1] AS y ORDER BY y", "SELECT {x}[0] AS y ORDER BY {x}[0] DESC, k",
    "SELECT {x} AS y WHERE {x}[0] >= one", "SELECT {x} AS y, COUNT(*) AS n GROUP BY {x}",
    "SELECT {x}[0] AS y UNION ALL SELECT one AS y",
    "SELECT a.k AS y FROM dataset a JOIN dataset b ON a.{x}[0] = b.one ORDER BY a.k, b.k",
]  # fmt: skip
REFUSED = [
    "MEAN({x})", "PROD({x})", "SUM({x})", "{x} - {x}", "{x} + 1", "-{x}", "CAST({x} AS INT64)",
    "CONTAINS({x}, 1)", "{x} = 1", "{x} > 'yesterday'", "{x}[0] + 1 > 2 AND {x}[0] = 1",
]  # fmt: skip


def lake(dtype):
    schema = {name: dl.Array(dtype, *how) for name, how in KINDS.items()}
    one = dl.Scalar(dtype, nullable=True)
    ds = dl.create(
        f"memory://{uuid4().hex}",
        {"k": "int32", "dense": dl.Array(dtype, (2,)), **schema, "one": one},
    )
    days = np.array([[3, 9], [4, -5], [9, 3], [3, 9]], "int64")
    values = days.view(f"{'M' if dtype.startswith('d') else 'm'}8[D]").astype(dtype)
    values[1, 1] = "NaT"
    ds.append({"k": range(1, 5), **dict.fromkeys(["dense", *KINDS], values), "one": values[:, 0]})
    return ds


def described(view):
    """Return the dtype of a column and its values as strings."""
    column = view["y"]
    htype = column.htype if column.htype.item is None else column.htype.item
    return htype.value_dtype, [str(v) for v in column[:]], view.columns


@pytest.mark.parametrize("dtype", DTYPES)
def test_queries_give_the_same_result_for_every_kind(dtype):
    ds = lake(dtype)
    time = ds["dense"][0][0]
    for text in [*(f"SELECT {e} AS y" for e in EXPRESSIONS), *QUERIES]:
        params = {"p": time} if "$p" in text else {}
        expected = described(ds.query(text.format(x="dense"), params))
        for name in KINDS:
            assert described(ds.query(text.format(x=name), params)) == expected, (name, text)


@pytest.mark.parametrize("dtype", DTYPES)
def test_unsupported_operations_are_refused_for_every_kind(dtype):
    ds = lake(dtype)
    for text in REFUSED:
        for name in ["dense", *KINDS]:
            with pytest.raises(QueryTypeError):
                ds.query(f"SELECT {text} AS y".format(x=name))["y"][:]
