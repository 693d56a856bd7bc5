"""The xarray backend: lazy, indexed like NumPy and found by its entry point."""

import json
import pickle
from uuid import uuid4

import numpy as np
import pytest
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st

import deeplake_lite as dl
from deeplake_lite.dataset.export.xarray_backend import LakeBackend
from deeplake_lite.storage.table import Table

from ..everything import SCHEMA, lake

CUBE = np.random.default_rng(0).normal(size=(37, 4, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def cubes():
    schema = {"cube": dl.Array("float32", (4, 3)), "x": "int64"}
    return lake(schema, {"cube": CUBE, "x": np.arange(37)})


@pytest.fixture
def reads(monkeypatch):
    """Record the slots that are read."""
    result, read = [], Table.read

    def noted(self, columns, slots):
        result.extend(slots.tolist())
        return read(self, columns, slots)

    monkeypatch.setattr(Table, "read", noted)
    return result


def test_dense_columns_are_variables_and_ragged_ones_are_named():
    opened = lake().to_xarray()
    dense = {"label", "number", "embedding", "matrix", "flags", "x", "n/small", "half", "wave"}
    dense |= {"ok", "when", "day", "age"}
    assert set(opened.data_vars) == dense
    assert opened.attrs["ragged_columns"] == [name for name in SCHEMA if name not in dense]
    assert opened["matrix"].dims == ("row", "matrix_0", "matrix_1")


def test_metadata_becomes_attributes():
    ds = lake()
    ds.metadata["license"] = {"name": "CC0"}
    ds["x"].metadata["unit"] = "K"
    ds.commit("noted")
    opened = ds.to_xarray()
    assert json.loads(opened.attrs["license"]) == {"name": "CC0"}
    assert opened["x"].attrs["unit"] == "K"


def test_nulls_become_nan_nat_or_minus_one():
    opened = lake().to_xarray()
    assert opened["label"].values.tolist() == [1, -1, 0]
    assert opened["label"].attrs["flag_meanings"] == "rose tulip"
    assert opened["n/small"].dtype == np.float32
    assert np.isnan(opened["n/small"].values[1])
    assert np.isnat(opened["when"].values[1])
    assert np.isnan(opened["wave"].values[1])
    assert np.isnan(opened["embedding"].values[1]).all()
    assert opened["day"].values.astype("datetime64[D]").astype(str)[1] == "1960-02-29"
    assert opened["number"].dtype == np.int32


def test_nothing_is_read_before_it_is_accessed(cubes, reads):
    opened = cubes.to_xarray()
    part = opened["cube"].isel(row=[30, 2], cube_1=0)
    repr(opened)
    opened._repr_html_()
    assert reads == []
    assert np.array_equal(part.values, CUBE[[30, 2], :, 0])
    assert sorted(reads) == [2, 30]


def test_rows_are_labelled_with_their_ids(cubes):
    opened = cubes[[5, 1]].to_xarray()
    assert opened["row_id"].values.tolist() == cubes.row_ids[[5, 1]].tolist()
    assert opened["x"].values.tolist() == [5, 1]


INDEX = st.one_of(
    st.integers(-4, 3),
    st.slices(4),
    st.lists(st.integers(-4, 3), max_size=5).map(lambda some: np.array(some, int)),
)


@settings(max_examples=80, deadline=None)
@given(
    rows=st.one_of(
        st.integers(-37, 36),
        st.slices(37),
        st.lists(st.integers(-37, 36), max_size=8).map(lambda some: np.array(some, int)),
    ),
    second=INDEX,
    third=st.integers(-3, 2) | st.slices(3),
)
def test_indexing_agrees_with_xarray_on_numpy(cubes, rows, second, third):
    lazy = cubes.to_xarray()["cube"].variable
    eager = xr.Variable(lazy.dims, CUBE)
    assert np.array_equal(lazy[rows, second, third].values, eager[rows, second, third].values)


def test_pointwise_indexing_and_masks(cubes):
    lazy = cubes.to_xarray()
    rows, second = xr.DataArray([3, 9, 9], dims="p"), xr.DataArray([0, 1, 3], dims="p")
    assert np.array_equal(lazy["cube"].isel(row=rows, cube_0=second), CUBE[[3, 9, 9], [0, 1, 3]])
    assert lazy["x"][(np.arange(37) % 9) == 0].values.tolist() == [0, 9, 18, 27, 36]
    assert float(lazy["cube"].mean()) == pytest.approx(CUBE.mean())
    assert lazy["x"].isel(row=slice(0, 10)).isel(row=slice(None, None, -3)).values.tolist() == [
        9,
        6,
        3,
        0,
    ]


def test_values_can_be_changed_in_memory_only(cubes):
    opened = cubes.to_xarray()
    opened["x"][0] = 99
    assert opened["x"].values[0] == 99
    assert cubes["x"][0] == 0


def test_opened_dataset_stays_at_its_version(tmp_path):
    ds = dl.create(str(tmp_path / "a.lake"), {"x": "int32"})
    ds.append({"x": [1, 2]})
    ds.commit("two")
    opened = ds.to_xarray()
    ds.append({"x": [3]})
    ds.update([0], {"x": [7]})
    ds.delete([1])
    assert opened["x"].values.tolist() == [1, 2]
    assert ds.to_xarray()["x"].values.tolist() == [7, 3]


def test_backend_is_found_by_name_and_by_suffix(tmp_path):
    url = str(tmp_path / "a.lake")
    ds = dl.create(url, {"x": "int32", "t": "text"})
    ds.append({"x": [1, 2], "t": ["a", "b"]})
    first = ds.commit("two")
    ds.tag("v1")
    ds.branch("fix")
    ds.checkout("fix")
    ds.append({"x": [3], "t": ["c"]})
    ds.commit("three")
    assert xr.open_dataset(url, engine="deeplake_lite")["x"].values.tolist() == [1, 2]
    assert xr.open_dataset(url)["x"].values.tolist() == [1, 2]
    opened = xr.open_dataset(url, engine="deeplake_lite", branch="fix")
    assert opened["x"].values.tolist() == [1, 2, 3]
    old = xr.open_dataset(url, engine="deeplake_lite", version="v1", drop_variables="x")
    assert list(old) == []
    assert old.attrs["version"] == first
    assert old.sizes == {"row": 2}


def test_guessing_ignores_other_files(tmp_path):
    guess = LakeBackend().guess_can_open
    dl.create(str(tmp_path / "plain"), {"x": "int32"})
    (tmp_path / "a.nc").write_bytes(b"CDF")
    assert guess(tmp_path / "plain")
    assert guess("s3://bucket/flowers.lake/")
    assert not guess(tmp_path / "a.nc")
    assert not guess("s3://bucket/flowers.zarr")
    assert not guess(object())
    with pytest.raises(dl.LakeNotFoundError, match="no lake"):
        xr.open_dataset(str(tmp_path / "none.lake"))


def test_names_that_collide_with_dimensions_are_allowed():
    values = {"row": [1, 2], "row_id": [3, 4], "a": [[1, 2], [3, 4]], "a_0": [5, 6]}
    ds = lake({"row": "int32", "row_id": "int32", "a": dl.Embedding(2), "a_0": "int32"}, values)
    opened = ds.to_xarray()
    assert opened["a"].dims == ("row_", "a_0_")
    assert opened["row"].values.tolist() == [1, 2]
    assert opened["row_id_"].values.tolist() == ds.row_ids.tolist()
    assert not opened.indexes


def test_empty_lake_has_its_variables():
    opened = lake(values={"x": []}).to_xarray()
    assert opened.sizes["row"] == 0
    assert opened["matrix"].values.shape == (0, 2, 3)
    assert opened["when"].dtype == np.dtype("datetime64[ms]")


def test_attributes_describe_a_column():
    ds = lake({"x": "int32"}, {"x": [1]})
    ds["x"].metadata["unit"] = "cm"
    ds["x"].metadata["range"] = [0, 1]
    attributes = ds.to_xarray()["x"].attrs
    assert attributes["unit"] == "cm"
    assert attributes["range"] == "[0, 1]"
    assert json.loads(attributes["htype"]) == {"htype": "scalar", "dtype": "int32"}


BACK = {
    "classes": (dl.ClassLabel(["a", "b"]), ["b", "a"]),
    "classes and null": (dl.ClassLabel(["a", "b"], nullable=True), ["b", None]),
    "integers and null": (dl.Scalar("int64", nullable=True), [5, None]),
    "booleans and null": (dl.Scalar("bool", nullable=True), [True, None]),
    "vectors": (dl.Embedding(2), [[1, 2], [3, 4]]),
    "arrays and null": (dl.Array("int32", (2,), nullable=True), [[1, 2], None]),
    "days": (dl.Scalar("datetime64[D]"), np.array([1, 2], "datetime64[D]")),
    "complex": (dl.Scalar("complex64"), [1 + 2j, 3]),
}


@pytest.mark.parametrize("case", BACK)
def test_xarray_variables_round_trip(case):
    htype, values = BACK[case]
    ds = lake({"x": htype}, {"x": values})
    back = lake({"x": htype}, {"x": []})
    back.append(ds.to_xarray())
    built = dl.from_arrays(ds.to_xarray(), f"memory://{uuid4()}")
    assert built["x"].htype == (dl.Scalar("datetime64[s]") if case == "days" else htype)
    for other in (back, built):
        np.testing.assert_array_equal(np.ma.filled(other["x"][:], 0), np.ma.filled(ds["x"][:], 0))
        np.testing.assert_array_equal(
            np.ma.getmaskarray(other["x"][:]), np.ma.getmaskarray(ds["x"][:])
        )


@pytest.mark.parametrize("names", [["b", "a"], ["c", "a", "b"]])
@pytest.mark.parametrize("nullable", [False, True])
def test_xarray_classes_round_trip_by_name(names, nullable):
    given = lake({"x": dl.ClassLabel(["a", "b"], nullable=nullable)}, {"x": ["b", "a"]}).to_xarray()
    ds = lake({"x": dl.ClassLabel(names)}, {"x": []})
    ds.append(given)
    ds["x"][:] = given["x"]
    ds.update(ds[:], given)
    ds.add_column("y", dl.ClassLabel(names), values=given["x"])
    for column in ("x", "y"):
        assert [names[n] for n in ds[column][:]] == ["b", "a"]


def test_computed_variable_is_stored_unchanged():
    given = lake({"x": "int64"}, {"x": [1, 2]}).to_xarray()["x"]
    half = xr.DataArray(given.values / 2, dims=given.dims, attrs=given.attrs)
    ds = lake({"y": "float64"}, {"y": []})
    ds.append({"y": half})
    assert ds["y"][:].tolist() == [0.5, 1.0]


@pytest.mark.parametrize("dtype", ["int64", "bool"])
def test_computed_variable_of_a_nullable_column_is_not_rounded(dtype):
    values = {"x": [True, None, True] if dtype == "bool" else [1, None, 1]}
    given = lake({"x": dl.Scalar(dtype, nullable=True)}, values).to_xarray()["x"]
    half = xr.DataArray(given.values / 2, dims=given.dims, attrs=given.attrs)
    ds = lake({"y": "float64"}, {"y": []})
    ds.append({"y": half})
    np.testing.assert_array_equal(ds["y"][:], [0.5, np.nan, 0.5])


@pytest.mark.parametrize("opened", ["export", "backend"])
def test_lazy_datasets_can_be_pickled(tmp_path, opened):
    ds = dl.create(str(tmp_path / "a.lake"), {"x": "int64", "v": dl.Embedding(2)})
    ds.append({"x": [1, 2], "v": [[1, 2], [3, 4]]})
    ds.commit("rows")
    lazy = ds.to_xarray() if opened == "export" else xr.open_dataset(ds.url, engine="deeplake_lite")
    copy = pickle.loads(pickle.dumps(lazy))
    xr.testing.assert_identical(copy.load(), lazy.load())
    assert copy["row_id"].values.tolist() == ds.row_ids.tolist()
