"""xarray datasets are ingested."""

from __future__ import annotations

import cftime
import numpy as np
import pandas as pd
import pytest
import xarray as xr

import deeplake_lite as dl
from deeplake_lite.errors import NotFoundError, OptionError


@pytest.fixture
def ingest(new_url):
    return lambda data, **options: dl.from_xarray(data, new_url(), progress=False, **options)


@pytest.fixture
def weather():
    return xr.Dataset(
        {
            "t": (("time", "station"), np.arange(6.0).reshape(3, 2), {"units": "K"}),
            "wind": (("station", "time"), np.arange(6, dtype="i2").reshape(2, 3)),
            "gap": ("time", [1.0, np.nan, 3.0]),
            "name": ("time", np.array(["a", "é", ""], object)),
            "height": ("station", [10.0, np.nan]),
        },
        {"time": pd.date_range("2020-01-01", periods=3), "station": ["x", "y"], "run": 5},
        {"title": "weather"},
    )


def test_variables_with_the_dimension_are_columns(weather, ingest):
    ds = ingest(weather, dim="time")
    assert {f.name: f.htype.bare for f in ds.schema} == {
        "t": dl.Array("float64", (2,)), "wind": dl.Array("int16", (2,)),
        "gap": dl.Scalar("float64"), "name": dl.Text(),
        "time": dl.Scalar(weather["time"].dtype.name),
    }  # fmt: skip
    np.testing.assert_array_equal(ds["wind"][:], weather["wind"].values.T)
    np.testing.assert_array_equal(ds["gap"][:], [1, np.nan, 3])
    np.testing.assert_array_equal(ds["time"][:], weather["time"].values)
    assert ds["name"][:] == ["a", "é", ""]
    kept = ds.metadata["xarray"]
    assert (kept["dim"], kept["attributes"]) == ("time", {"title": "weather"})
    assert kept["columns"]["t"] == {"dims": ["time", "station"], "attributes": {"units": "K"}}
    assert kept["variables"]["height"]["values"] == [10.0, "nan"]
    assert kept["variables"]["station"]["values"] == ["x", "y"]


def test_another_dimension_can_be_the_rows(weather, ingest):
    ds = ingest(weather, dim="station")
    assert set(ds.columns) == {"t", "wind", "height", "station"}
    assert ds["t"][:].tolist() == weather["t"].values.T.tolist()


def test_encoded_values_are_decoded(tmp_path, ingest):
    x = xr.Variable(("time",), [1.5, np.nan, 2.5])
    encoding = {"x": {"dtype": "i2", "scale_factor": 0.5, "_FillValue": -1}}
    xr.Dataset({"x": x}).to_zarr(tmp_path / "x.zarr", encoding=encoding, zarr_format=2)
    ds = ingest(xr.open_zarr(tmp_path / "x.zarr"), dim="time")
    np.testing.assert_array_equal(ds["x"][:], [1.5, np.nan, 2.5])


def test_data_arrays_and_missing_times_are_taken(ingest):
    array = xr.DataArray(np.array(["2020-01-01", "NaT"], "M8[s]"), dims="n", name="when")
    ds = ingest(array, dim="n")
    assert np.ma.getmaskarray(ds["when"][:]).tolist() == [False, True]
    assert ingest(xr.DataArray([1, 2], dims="n"), dim="n").columns == ("values",)


def test_wrong_arguments_are_refused(weather, ingest):
    with pytest.raises(NotFoundError, match=r"'tim'.*Did you mean 'time'"):
        ingest(weather, dim="tim")
    with pytest.raises(OptionError, match=r"must be an xarray\.Dataset"):
        ingest([1], dim="x")


def test_a_multi_index_is_refused_and_its_levels_are_taken(ingest):
    data = xr.Dataset({"x": ("n", [1.0, 2.0])}, {"a": ("n", [1, 2]), "b": ("n", [3, 4])})
    data = data.set_index(n=["a", "b"])
    with pytest.raises(dl.SchemaError, match=r"Pass dataset\.reset_index\('n'\)"):
        ingest(data)
    assert ingest(data.reset_index("n")).columns == ("x", "a", "b")


TYPES = {
    "label": (dl.ClassLabel(["a", "b"], nullable=True), ["b", None, "a"]),
    "n": (dl.Scalar("int8", nullable=True), [1, None, 3]),
    "ok": (dl.Scalar("bool"), [True, False, True]),
    "v": (dl.Embedding(2, nullable=True), [[1, 2], None, [3, 4]]),
    "m": (dl.Array("int16", (2, 2)), np.arange(12, dtype="i2").reshape(3, 2, 2)),
    "t": (dl.Scalar("datetime64[ms]", nullable=True), ["2026-01-01", None, "2026-01-02"]),
    "s": (dl.Scalar("timedelta64[s]"), ["1 s", "2 s", "3 s"]),
}


def test_exported_columns_keep_their_types(ingest, make_lake):
    ds = make_lake({n: t for n, (t, _) in TYPES.items()}, **{n: v for n, (_, v) in TYPES.items()})
    back = ingest(ds.to_xarray())
    assert {n: back.schema[n].htype for n in TYPES} == {n: t for n, (t, _) in TYPES.items()}
    for name in TYPES:
        first, second = (d.handle.table.digests(d.schema[name].id, np.arange(3)).tolist()
                         for d in (ds, back))  # fmt: skip
        assert first == second, name


def test_computed_variables_have_the_type_of_their_values(ingest, make_lake):
    given = make_lake({"n": dl.Scalar("int8", nullable=True)}, n=[1, None, 3]).to_xarray()
    half = xr.Dataset({"n": (("row",), given["n"].values / 2, given["n"].attrs)})
    ds = ingest(half)
    assert ds.schema["n"].htype.bare == dl.Scalar("float32")
    np.testing.assert_array_equal(ds["n"][:], [0.5, np.nan, 1.5])


def test_export_has_the_same_values(weather, ingest):
    back = ingest(weather, dim="time").to_xarray()
    for name in ("t", "gap", "time"):
        np.testing.assert_array_equal(back[name].values, weather[name].values)


def with_cftime(times):
    """Return a dataset with times of cftime: coordinates, one without axes, and a variable."""
    data = xr.Dataset({"v": (("x", "time"), np.zeros((3, 2)))}, {"time": ("time", times)})
    return data.assign_coords(bound=("time", times), start=((), times[0])).assign(y=("time", times))


@pytest.mark.parametrize("calendar", ["360_day", "noleap", "julian"])
@pytest.mark.parametrize("dim", ["time", "x"])
def test_times_of_other_calendars_become_numbers_with_their_calendar(ingest, calendar, dim):
    times = np.array(
        [cftime.datetime(2000, 2, 28, calendar=calendar),
         cftime.datetime(2001, 1, 1, 12, calendar=calendar)], object,
    )  # fmt: skip
    ds = ingest(with_cftime(times), dim=dim)
    assert ds.ingested.skipped == ()
    back = ds.to_xarray()
    assert {"time", "bound", "start"} <= set(back.coords)
    for name in ("time", "bound", "start", "y"):
        assert back[name].attrs["calendar"] == calendar
        assert back[name].dtype.kind in "if"
    decoded = xr.decode_cf(back)
    for name in ("time", "bound", "y"):
        assert decoded[name].values.tolist() == times.tolist()
    assert decoded["start"].item() == times[0]


def test_times_that_cannot_be_encoded_are_refused(ingest):
    mixed = [cftime.datetime(2000, 1, 1, calendar=c) for c in ("360_day", "noleap")]
    data = with_cftime(np.array(mixed, object))
    with pytest.raises(dl.SchemaError, match=r"'\w+' cannot be encoded: .*convert_calendar"):
        ingest(data, dim="time")
