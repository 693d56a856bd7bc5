"""to_xarray restores the dataset that from_xarray has read, as far as the record still fits."""

from uuid import uuid4

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import deeplake_lite as dl

ADDED = {"url", "version", "ragged_columns", "htype"}


def ingested(data, url=None, **options):
    return dl.from_xarray(data, url or f"memory://{uuid4().hex}", progress=False, **options)


def without(data, ids="row_id"):
    """Return a dataset without what to_xarray adds."""
    data = data.drop_vars(ids, errors="ignore").copy()
    for item in (data, *data.variables.values()):
        item.attrs = {name: value for name, value in item.attrs.items() if name not in ADDED}
    return data


def moved(data, dim):
    """Return a dataset with the dimension of the rows first."""
    first = {n: v.transpose(dim, ...) for n, v in data.variables.items() if dim in v.dims}
    return data.assign(first)


def dtypes(data):
    """Return the dtype of each variable, for strings their kind."""
    found = {name: v.dtype for name, v in data.variables.items()}
    return {name: d.kind if d.kind in "US" else d for name, d in found.items()}


def check_same(back, data, dim, ids="row_id"):
    back, data = without(back.load(), ids), moved(data, dim)
    xr.testing.assert_identical(back, data)
    assert dtypes(back) == dtypes(data)
    assert set(back.indexes) == set(data.indexes)


@pytest.fixture
def weather():
    return xr.Dataset(
        {
            "t": (("time", "station"), np.arange(6.0).reshape(3, 2), {"units": "K", "n": 3}),
            "wind": (("station", "time"), np.arange(6, dtype="i2").reshape(2, 3)),
            "gap": ("time", [1.0, np.nan, 3.0], {"valid_range": np.array([0, 9], "f4")}),
            "height": ("station", [10.0, np.nan], {"fill": np.nan}),
        },
        {
            "time": ("time", pd.date_range("2020-01-01", periods=3), {"axis": "T"}),
            "station": ("station", ["x", "é"]),
            "quality": ("time", [1, 2, 3]),
            "run": np.datetime64("2020-01-01", "ns"),
            "name": "a run",
        },
        {"title": "weather", "scale": np.float32(0.1), "levels": [1, 2]},
    )


@pytest.mark.parametrize("dim", ["time", "station"])
def test_a_dataset_comes_back(weather, dim):
    if dim == "station":
        weather["station"] = [5, 7]
    check_same(ingested(weather, dim=dim).to_xarray(), weather, dim)


def test_the_engine_restores_it_too(weather, tmp_path):
    url = str(tmp_path / "a.lake")
    ingested(weather, url, dim="time")
    check_same(xr.open_dataset(url, engine="deeplake_lite"), weather, "time")
    part = xr.open_dataset(url, engine="deeplake_lite", drop_variables=["t", "height", "time"])
    assert set(part.variables) == {"wind", "gap", "station", "quality", "run", "name", "row_id"}
    assert part["wind"].dims == ("time", "station")


NAMES = st.sampled_from(["a", "b", "c", "x", "y", "row", "row_id", "a_0", "time"])
DTYPES = st.sampled_from(
    ["bool", "int8", "uint64", "float16", "float64", "complex64", "M8[s]", "M8[ns]", "m8[ms]"]
)
FURTHER = st.sampled_from(["float32", "int64", "U3", "S3", "M8[us]", "m8[ns]", "bool", "object"])
ATTRIBUTES = st.dictionaries(
    st.sampled_from(["units", "scale", "htypes"]),
    st.one_of(
        st.text("aé ", max_size=3),
        st.integers(),
        st.floats(),
        st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=2),
        st.floats(width=32).map(np.float32),
        st.just(np.array([np.inf, 1], "f4")),
        st.just(np.datetime64("2020-01-01", "D")),
        st.just(np.timedelta64(5, "s")),
        st.just({"a": [1, None]}),
        st.just((0, "a")),
        st.binary(max_size=3).filter(lambda b: b.decode("utf-8", "replace").encode() == b),
    ),
    max_size=2,
)


@st.composite
def datasets(draw):
    """Return a dataset whose variables with the dimension ``time`` have a fixed shape."""
    sizes = {"time": draw(st.integers(1, 3)), "x": 1, "y": 2, "a_0": 3, "row": 2}
    items = {}
    for name in draw(st.lists(NAMES, unique=True, max_size=5)):
        has_rows = draw(st.booleans())
        rest = draw(st.lists(st.sampled_from(["x", "y", "a_0", "row"]), unique=True, max_size=2))
        dims = draw(st.permutations(["time", *rest])) if has_rows else rest
        if name in dims and len(dims) > 1:
            continue
        shape = tuple(sizes[d] for d in dims)
        dtype = np.dtype(draw(DTYPES if has_rows else FURTHER))
        if name in dims and dtype == "float16":
            continue
        numbers = np.random.default_rng(0).integers(0, 9, shape)
        values = numbers.astype(dtype) if dtype.kind != "O" else numbers.astype("U").astype("O")
        if dtype.kind in "fmM" and values.size and draw(st.booleans()):
            values.flat[0] = "nan" if dtype.kind == "f" else "NaT"
        items[name] = (dims, values, draw(ATTRIBUTES))
    items["base"] = (["time"], np.arange(sizes["time"]))
    coordinates = {n: items.pop(n) for n in list(items) if draw(st.booleans()) and n != "base"}
    used = {d for dims, *_ in (*items.values(), *coordinates.values()) for d in dims}
    scalars = {n for n, v in (items | coordinates).items() if not v[0]} & used
    for name in scalars:
        items.pop(name, None)
        coordinates.pop(name, None)
    return xr.Dataset(items, coordinates, draw(ATTRIBUTES))


@settings(max_examples=40, deadline=None)
@given(data=datasets())
def test_any_dataset_of_fixed_shape_comes_back(data):
    back = ingested(data, dim="time").to_xarray()
    ids = next(name for name in back.coords if name.startswith("row_id") and name not in data)
    check_same(back, data, "time", ids)


def test_an_export_that_is_read_again_comes_back(weather):
    once = ingested(weather, dim="time").to_xarray().drop_vars("row_id")
    check_same(ingested(once, dim="time").to_xarray(), weather, "time")


def test_edited_columns_have_the_names_that_still_fit(weather):
    ds = ingested(weather, dim="time")
    ds.rename_column("t", "kelvin")
    ds.drop_column("gap")
    ds.drop_column("wind")
    ds.add_column("wind", dl.Embedding(3), values=np.zeros((3, 3)))
    ds.add_column("height", "int64", values=[1, 2, 3])
    ds.drop_column("quality")
    ds.add_column("quality", dl.Embedding(2), values=np.zeros((3, 2)))
    back = ds.to_xarray()
    assert back["kelvin"].dims == ("time", "kelvin_0")
    assert "units" not in back["kelvin"].attrs
    assert back["wind"].dims == ("time", "wind_0")  # another size than the stations
    assert back["height"].dims == ("time",)
    assert back["quality"].dims == ("time", "quality_0")
    assert "quality" not in back.coords
    assert back["station"].values.tolist() == ["x", "é"]
    assert back.load().attrs["title"] == "weather"


def test_views_have_their_rows(weather):
    ds = ingested(weather, dim="time")
    xr.testing.assert_identical(
        without(ds.query("SELECT t, time WHERE gap > 2").to_xarray().load()),
        weather[["t", "run", "name", "height"]].isel(time=[2]).drop_vars("quality"),
    )
    assert ds.query("SELECT t + 1 AS t").to_xarray()["t"].dims == ("row", "t_0")
    assert ds[:0].to_xarray().sizes["time"] == 0


def test_a_column_of_strings_still_names_the_rows():
    data = xr.Dataset({"x": ("city", [1, 2])}, {"city": ["Rome", "Oslo"]})
    back = ingested(data, dim="city").to_xarray()
    assert back["x"].dims == ("city",)
    assert back.attrs["ragged_columns"] == ["city"]


def test_variables_that_are_too_large_are_listed():
    data = xr.Dataset({"x": ("time", [1]), "map": (("i", "j"), np.zeros((400, 300)))})
    ds = ingested(data, dim="time")
    assert "'time', and its" in str(ds.ingested.skipped[0])
    assert list(ds.to_xarray().data_vars) == ["x"]


def test_a_column_that_pandas_cannot_index_is_no_index():
    data = xr.Dataset({"x": ("time", [1])}, {"time": [5]})
    ds = ingested(data, dim="time")
    ds.drop_column("time")
    ds.add_column("time", "float16", values=[0.5])
    assert ds.to_xarray()["x"].dims == ("row",)


WORDS = st.sampled_from(
    ["x", "y", "v", "time", "row", "dims", "values", "float16", "float32", "str", "bytes", "object",
     "bool", "datetime64[s]", "datetime64[Y]", "timedelta64[Y]", "int8", "nan", "", "\0", "1j"]
)  # fmt: skip
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=8,
)
ITEM = JSON | st.fixed_dictionaries(
    {"dims": st.lists(WORDS, max_size=3) | JSON},
    optional={
        "values": JSON, "dtype": WORDS, "attributes": st.dictionaries(WORDS, JSON, max_size=2),
        "attribute_dtypes": st.dictionaries(WORDS, WORDS, max_size=2), "coordinate": JSON,
    },
)  # fmt: skip
RECORD = JSON | st.fixed_dictionaries(
    {"dim": WORDS},
    optional={
        "sizes": st.dictionaries(WORDS, st.integers(-1, 4) | JSON, max_size=3),
        "columns": st.dictionaries(WORDS, ITEM, max_size=4),
        "variables": st.dictionaries(WORDS, ITEM, max_size=4),
        "attributes": JSON,
        "attribute_dtypes": JSON,
    },
)


@pytest.fixture(scope="module")
def small():
    schema = {"x": "float16", "y": dl.Embedding(2), "v": dl.Array("int8", (1, 3)), "row": "text"}
    ds = dl.create(f"memory://{uuid4().hex}", schema)
    rows = {"x": [1, 2], "y": [[1, 2], [3, 4]], "v": np.ones((2, 1, 3), "i1"), "row": ["a", "b"]}
    ds.append(rows)
    ds.commit("rows")
    return ds


@settings(max_examples=150, deadline=None)
@given(record=RECORD)
def test_any_metadata_leaves_the_columns(small, record):
    small.metadata["xarray"] = record
    back = small.to_xarray().load()
    assert back["x"].values.tolist() == [1, 2]
    assert back["y"].shape == (2, 2)
    assert back["v"].shape == (2, 1, 3)
    repr(back)
