"""Values of pandas and Arrow that no column can store are refused, never stored in part."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import deeplake_lite as dl

FRAMES = {
    "intervals": pd.DataFrame({"x": pd.IntervalIndex.from_tuples([(0, 1)], closed="left")}),
    "intervals of pd.cut": pd.DataFrame({"x": pd.cut([1, 5], [0, 3, 6])}),
    "periods": pd.DataFrame({"x": pd.period_range("2026-01", periods=1, freq="M")}),
}


WAYS = {
    "frame": lambda frame, url: dl.from_dataframe(frame, url),
    "table": lambda frame, url: dl.from_dataframe(pa.Table.from_pandas(frame), url),
    "append": lambda frame, url: dl.create(url, {"x": "json"}).append(frame),
    "series": lambda frame, url: dl.create(url, {"x": "json"}).append({"x": frame["x"]}),
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("way", WAYS)
def test_intervals_and_periods_are_refused(new_url, kind, way):
    with pytest.raises(
        dl.InvalidValueError, match=f"column 'x'.*{kind.split()[0]} cannot be stored"
    ):
        WAYS[way](FRAMES[kind], new_url())


def test_intervals_can_be_stored_as_strings(new_url):
    frame = FRAMES["intervals of pd.cut"]
    ds = dl.from_dataframe(frame.assign(x=frame["x"].astype(str)), new_url())
    assert ds["x"][:] == ["(0, 3]", "(3, 6]"]


VECTOR = pa.list_(pa.float32(), 2)
TENSOR = pa.fixed_shape_tensor(pa.float32(), (2,))


def column(rows, kind):
    if kind is TENSOR:
        return pa.ExtensionArray.from_storage(TENSOR, pa.array(rows, VECTOR))
    return pa.array(rows, kind)


@pytest.mark.parametrize("kind", [VECTOR, TENSOR], ids=["list", "tensor"])
@pytest.mark.parametrize("other", [[3.0, 4.0], None], ids=["vector", "null"])
def test_null_within_a_vector_is_refused(new_url, kind, other):
    with pytest.raises(dl.InvalidValueError, match=r"row 0: must be float32, but it is NoneType"):
        dl.from_dataframe(pa.table({"x": column([[1.0, None], other], kind)}), new_url())
    schema = {"x": dl.Array("float32", (2,), nullable=True)}
    with pytest.raises(dl.InvalidValueError, match="row 0"):
        dl.create(new_url(), schema).append({"x": column([[1.0, None], other], kind)})


@pytest.mark.parametrize("kind", [VECTOR, TENSOR], ids=["list", "tensor"])
def test_null_vectors_are_null(new_url, kind):
    ds = dl.from_dataframe(pa.table({"x": column([[1.0, np.nan], None], kind)}), new_url())
    assert ds["x"][0].tolist()[0] == 1
    assert np.isnan(ds["x"][0][1])
    assert ds["x"][1] is None


def test_rows_need_a_column(new_url):
    ds = dl.create(new_url(), {})
    with pytest.raises(dl.SchemaError, match="Rows need a column"):
        ds.append([{}, {}])
    ds.append([])
    assert len(ds) == 0
