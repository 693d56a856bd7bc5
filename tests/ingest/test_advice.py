"""Messages about columns without a type advise only what works."""

import datetime as dt

import numpy as np
import pyarrow as pa
import pytest
import torch

import deeplake_lite as dl

VALUES = {
    "numbers and texts": [1, "a"],
    "with a null": [1, "a", None],
    "NaN among texts": ["a", float("nan")],
    "arrays of several ranks": [np.zeros(2, int), np.zeros((2, 2), int)],
    "numbers and lists": [1, [2]],
    "calendar intervals": pa.array([pa.MonthDayNano([1, 2, 3])]),
    "an empty name of a class": pa.DictionaryArray.from_arrays(
        pa.array([0, 1]), pa.array(["a", ""])
    ),
}
UNFIT = {
    "sets": [{1}],
    "bytes and texts": [b"a", "a"],
    "objects": [object()],
    "records": np.array([(1, 2)], [("a", "i4"), ("b", "i4")]),
}


@pytest.mark.parametrize("kind", VALUES)
def test_the_type_that_is_advised_takes_the_values(kind):
    with pytest.raises(dl.SchemaError, match=r"Column 'x'.*schema=\{'x': dl\.") as raised:
        dl.from_arrays({"x": VALUES[kind]}, "memory://advice")
    advised = str(raised.value).rpartition("schema=")[2].rstrip(".")

    ds = dl.from_arrays(
        {"x": VALUES[kind]}, "memory://advised", schema=eval(advised, {"dl": dl}), update="force"
    )

    assert len(ds) >= len(VALUES[kind])
    dl.create("memory://advised", {}, overwrite=True)


@pytest.mark.parametrize("kind", UNFIT)
def test_no_type_is_advised_where_none_takes_them(kind):
    with pytest.raises(dl.SchemaError, match="No type takes them: convert them"):
        dl.from_arrays({"x": UNFIT[kind]}, "memory://advice")


def test_times_of_day_are_durations_as_those_of_a_frame_are():
    ds = dl.from_arrays({"x": [dt.time(1), None]}, "memory://times-of-day")
    assert ds["x"].htype == dl.Scalar("timedelta64[us]", nullable=True)
    assert ds["x"][0] == np.timedelta64(1, "h")


@pytest.mark.parametrize(
    "single", [np.array(5), torch.tensor(5), np.datetime64("2026"), pa.scalar(5), 5, "a", None]
)
def test_a_single_value_is_no_column(single):
    with pytest.raises(dl.InvalidValueError, match="with one value per row"):
        dl.from_arrays({"x": single}, "memory://single")


def test_labels_are_no_folder(photos):
    folder = photos("rose/1.png")
    with pytest.raises(dl.InvalidValueError, match=r"is a folder. Leave labels= out"):
        dl.from_folder(folder, "memory://labels-folder", labels=folder / "rose")
