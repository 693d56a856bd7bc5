"""Columns of values in any container: tensors, deques, Arrow timestamps, or empty ones."""

from collections import deque

import ml_dtypes
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

import deeplake_lite as dl

# ---- tensors


def tracked(numbers):
    """Return a tensor that requires grad."""
    return torch.tensor(numbers, dtype=torch.float32, requires_grad=True) * 1


TENSORS = {
    "tracked": tracked,
    "a parameter": lambda x: torch.nn.Parameter(torch.tensor(x)),
    "bfloat16": lambda x: torch.tensor(x, dtype=torch.bfloat16),
    "float8": lambda x: torch.tensor(x).to(torch.float8_e5m2),
    "sparse": lambda x: torch.tensor(x).to_sparse(),
    "compressed": lambda x: torch.tensor(x).to_sparse_csr(),
    "negated lazily": lambda x: torch.complex(torch.zeros(2, 3), -torch.tensor(x)).conj().imag,
}
NUMBERS = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]


def append(ds, values):
    ds.append({"e": values})


def append_rows(ds, values):
    ds.append([{"e": value} for value in values])


def update(ds, values):
    ds.append({"e": np.zeros((2, 3))})
    ds.update([0, 1], {"e": values})


def upsert(ds, values):
    ds.upsert({"k": [0, 1], "e": values}, on="k")


def assign(ds, values):
    ds.append({"e": np.zeros((2, 3))})
    ds["e"][:] = values


def assign_each(ds, values):
    ds.append({"e": np.zeros((2, 3))})
    for i in range(2):
        ds["e"][i] = values[i]


def add_column(ds, values):
    ds.append({"e": np.zeros((2, 3))})
    ds.drop_column("e")
    ds.add_column("e", dl.Embedding(3), values=values)


WRITES = [append, append_rows, update, upsert, assign, assign_each, add_column]


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("kind", TENSORS)
@pytest.mark.parametrize("listed", [False, True])
def test_tensor_is_stored_as_its_values(make_lake, write, kind, listed):
    values = TENSORS[kind](NUMBERS)
    if kind == "compressed" and (listed or write in (append_rows, assign_each)):
        values = list(torch.tensor(NUMBERS).to_sparse())  # CSR has no rows
    ds = make_lake({"k": dl.Scalar("int64", default=0), "e": dl.Embedding(3)})
    write(ds, [values[0], values[1]] if listed else values)
    assert ds["e"][:].tolist() == NUMBERS


@pytest.mark.parametrize("listed", [False, True])
def test_new_lake_accepts_tensors(tmp_path, listed):
    values = [tracked(row) for row in NUMBERS] if listed else tracked(NUMBERS)
    ds = dl.from_arrays(
        {"e": values, "b": torch.ones(2, dtype=torch.bfloat16)}, tmp_path / "x.lake"
    )
    assert ds["e"][:].tolist() == NUMBERS
    assert ds["b"].htype == dl.Scalar("float32")


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("listed", [False, True])
def test_tensor_without_values_is_refused(make_lake, write, listed):
    values = torch.ones(2, 3, device="meta")
    ds = make_lake({"k": dl.Scalar("int64", default=0), "e": dl.Embedding(3)})
    with pytest.raises(dl.InvalidValueError, match=r"must have values .* its device is 'meta'"):
        write(ds, list(values) if listed else values)


@pytest.mark.parametrize(
    ("htype", "values", "read"),
    [
        ("uint64", [torch.tensor(2**63, dtype=torch.uint64)], [2**63]),
        ("int64", [torch.tensor(5), 6], [5, 6]),
        (dl.Array("float32", None), [tracked([1.0]), [tracked(2.0)]], [[1.0], [2.0]]),
        (dl.Array("float32", (2,)), [[tracked(1.0), 2]], [[1.0, 2.0]]),
        (dl.Sequence("float32"), [[tracked(1.0)], []], [[1.0], []]),
        (dl.Sequence(dl.Embedding(1)), [[tracked([1.0])]], [[[1.0]]]),
        (dl.ClassLabel(["a", "b"]), torch.tensor([1, 0]), [1, 0]),
    ],
)
def test_tensors_in_lists_are_values(make_lake, htype, values, read):
    ds = make_lake({"x": htype}, x=values)
    assert [v.tolist() if hasattr(v, "tolist") else v for v in ds["x"][:]] == read or [
        [np.asarray(item).tolist() for item in row] for row in ds["x"][:]
    ] == read


def test_recursive_list_is_refused(make_lake):
    within: list[object] = [1]
    within += [within, within]
    with pytest.raises(dl.InvalidValueError, match="must be a JSON value"):
        make_lake({"x": "json"}, x=[within])


# ---- dtypes that NumPy lacks

SMALL = {"bfloat16": "float32", "float8_e4m3fn": "float32", "int4": "int8", "uint4": "uint8"}
"""Dtypes of JAX and TensorFlow, and the smallest NumPy dtype that holds each."""

CORNERS = [[0, 0], [4, 0], [0, 3]]
TAKE_SMALL = {
    "scalar": (dl.Scalar("float32"), 2),
    "fixed": (dl.Array("float32", (3, 2)), CORNERS),
    "any length": (dl.Array("float32", (None, 2)), CORNERS),
    "any axes": (dl.Array("float32", None), CORNERS),
    "encoded": (dl.Array("float64", (3, 2), "zstd"), CORNERS),
    "embedding": (dl.Embedding(2), [1, 2]),
    "items": (dl.Sequence(dl.Array("float32", (None,))), CORNERS),
    "numbers": (dl.Sequence("float32"), [1, 2]),
    "boxes": (dl.Boxes("xyxy"), [[0, 1, 2, 3]]),
    "keypoints": (dl.Keypoints(dims=2), [CORNERS]),
    "polygons": (dl.Polygons(), [CORNERS]),
    "pixels": (dl.Image("raw", dtype="float32"), CORNERS),
}


@pytest.mark.parametrize("dtype", SMALL)
@pytest.mark.parametrize("name", TAKE_SMALL)
def test_arrays_of_dtypes_that_numpy_lacks_are_accepted(make_lake, dtype, name):
    htype, value = TAKE_SMALL[name]
    block = np.array([value, value], getattr(ml_dtypes, dtype))
    ds = make_lake({"x": htype})
    ds.append({"x": block})
    ds.append({"x": list(block)})
    items = block[0] if name == "pixels" else block[0].tolist()  # a list is never an image
    ds.append({"x": [items, block[0]]})
    ds["x"][0] = block[0]
    assert [np.asarray(v).tolist() for v in ds["x"][:]] == 6 * [value]


@pytest.mark.parametrize(("dtype", "wanted"), SMALL.items())
@pytest.mark.parametrize("axes", [0, 1, 2])
@pytest.mark.parametrize("listed", [False, True])
def test_type_is_inferred_for_dtypes_that_numpy_lacks(new_url, dtype, wanted, axes, listed):
    block = np.ones((2,) * (axes + 1), getattr(ml_dtypes, dtype))
    ds = dl.from_arrays({"x": list(block) if listed else block}, new_url(), progress=False)
    assert ds["x"].htype == (dl.Array(wanted, (2,) * axes) if axes else dl.Scalar(wanted))
    assert ds["x"][:].tolist() == np.ones(block.shape).tolist()


@pytest.mark.parametrize("dtype", ["int4", "uint4"])
@pytest.mark.parametrize("htype", [dl.Mask(), dl.Mask("instance"), dl.ClassLabel(multiple=True)])
def test_four_bit_integers_are_integers(make_lake, dtype, htype):
    value = np.ones((2,) * htype.layout.ndim, getattr(ml_dtypes, dtype))
    ds = make_lake({"x": htype}, x=[value])
    assert np.array_equal(ds["x"][0], np.ones(value.shape))


@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "complex64"])
@pytest.mark.parametrize("listed", [False, True])
def test_structured_array_is_refused_with_a_suggestion_that_works(make_lake, dtype, listed):
    value = np.zeros(2, [("a", "i1"), ("b", "f4")])
    ds = make_lake({"x": dl.Array(dtype, (None,))})
    with pytest.raises(dl.InvalidValueError, match=r"Select a field with x\['a'\]"):
        ds.append({"x": [list(value) if listed else value]})
    if dtype in ("float32", "int8"):
        ds.append({"x": [value["a"]]})


# ---- containers that only iterate


@pytest.mark.parametrize("kind", [deque, pa.array, pd.Series, tuple, iter])
def test_column_may_be_any_container_of_items(make_lake, kind):
    ds = make_lake({"x": "int64", "name": "text"})
    ds.append({"x": kind([1, 2]), "name": kind(["a", "b"])})
    assert (ds["x"][:].tolist(), ds["name"][:]) == ([1, 2], ["a", "b"])
    if kind is not iter:
        ds.update([0, 1], {"x": kind([3, 4])})
        ds["name"][:] = kind(["c", "d"])
        ds.add_column("y", "int64", values=kind([5, 6]))
        assert (ds["x"][:].tolist(), ds["name"][:]) == ([3, 4], ["c", "d"])
        assert ds["y"][:].tolist() == [5, 6]


@pytest.mark.parametrize(
    "values",
    [[np.zeros((2, 3), int), np.zeros(4, int), np.zeros((1,) * 9, int)], [[[1, 2]], [3, [4]], [5]]],
)
def test_lists_of_different_lengths_are_refused_in_arrays_of_any_shape(make_lake, values):
    ds = make_lake({"x": dl.Array("int16", None)}, x=[[1], [2], [3]])
    for write in (lambda: ds.append({"x": values}), lambda: ds.update([0, 1, 2], {"x": values})):
        with pytest.raises(dl.InvalidValueError, match=r"must (have at most 8 axes|be an array)"):
            write()
    assert [a.tolist() for a in ds["x"][:]] == [[1], [2], [3]]


def test_arrays_of_different_ranks_are_distinguished_in_arrays_of_any_shape(make_lake):
    values = [np.zeros((2, 3), int), np.ones(4, int), np.full((), 5)]
    ds = make_lake({"x": dl.Array("int16", None)}, x=values)
    ds.update([0, 1, 2], {"x": values[::-1]})
    assert [a.tolist() for a in ds["x"][:]] == [a.tolist() for a in values[::-1]]


# ---- no rows, and masks


@pytest.mark.parametrize("shape", [(0,), (0, 3), (0, 0)])
@pytest.mark.parametrize("dtype", ["int64", "float32", "bool", "datetime64[s]"])
@pytest.mark.parametrize("htype", [dl.Scalar, lambda d, **o: dl.Array(d, (3,), **o)])
def test_empty_masked_arrays_have_no_rows(make_lake, shape, dtype, htype):
    none = np.ma.array(np.zeros(shape, dtype), mask=np.zeros(shape, bool))
    ds = make_lake({"x": htype(dtype, nullable=True)})
    ds.append({"x": none})
    ds.update([], {"x": none})
    ds["x"][0:0] = none
    assert len(ds) == 0


@pytest.mark.parametrize("dtype", ["Int64", "Float64", "boolean", "datetime64[ns]", "string"])
def test_existing_rows_may_have_nulls_if_they_are_not_updated(tmp_path, dtype):
    values = {"datetime64[ns]": pd.Timestamp(2020, 1, 1), "string": "a"}.get(dtype, 1)
    frame = pd.DataFrame({"k": ["a", "b"], "x": pd.array([values, None], dtype=dtype)})
    for _ in range(2):
        ds = dl.from_dataframe(frame, tmp_path / "x.lake", on="k", update=False, progress=False)
    assert (len(ds), ds.ingested.added, ds.ingested.unchanged) == (2, 0, 2)


# ---- Arrow times and durations


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("kind", [pa.timestamp, pa.duration])
@pytest.mark.parametrize("null", [True, False])
@pytest.mark.parametrize("listed", [True, False])
def test_arrow_times_are_stored_exactly_however_far_away(make_lake, unit, kind, null, listed):
    far = {"s": 2**40, "ms": 2**50, "us": 2**61, "ns": 2**62 + 1}[unit]
    numbers = [far, -far, None if null else 0]
    dtype = f"{'datetime' if kind is pa.timestamp else 'timedelta'}64[{unit}]"
    times = pa.array(numbers, pa.int64()).cast(kind(unit))
    htype = dl.Scalar(dtype, nullable=True)
    ds = make_lake({"t": dl.Sequence(htype) if listed else htype})
    ds.append(pa.table({"t": pa.ListArray.from_arrays([0, 3], times) if listed else times}))
    read = ds["t"][0] if listed else ds["t"][:].tolist()
    result = [None if v in (None, np.ma.masked) else np.datetime64 for v in read]
    assert [v is None for v in result] == [n is None for n in numbers]
    cells = ds["t"][0][:2] if listed else np.ma.getdata(ds["t"][:])[:2]
    assert np.array(cells, dtype).view("int64").tolist() == numbers[:2]
    again = make_lake({"t": ds["t"].htype})
    again.append(ds.to_arrow())
    assert str(again["t"][:]) == str(ds["t"][:])
