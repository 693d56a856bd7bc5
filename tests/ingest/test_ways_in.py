"""Columns with nulls mean the same in every library and through every way to write them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import deeplake_lite as dl

BIG = 2**53 + 1  # not float64
WHOLE, BITS, FLOAT = (dl.Scalar(t, nullable=True) for t in ("int64", "uint64", "float64"))
TEXT, TRUTH = dl.Text(nullable=True), dl.Scalar("bool", nullable=True)
MOMENT = dl.Scalar("datetime64[us]", nullable=True)
DAY = np.datetime64("2026-01-31", "us")

KINDS = {
    "array of Int64": (WHOLE, lambda: pd.array([BIG, None], dtype="Int64"), [BIG, None]),
    "values of a frame": (
        WHOLE,
        lambda: pd.DataFrame({"x": pd.array([BIG, None])})["x"].values,
        [BIG, None],
    ),
    "array of UInt64": (
        BITS,
        lambda: pd.array([2**64 - 1, None], dtype="UInt64"),
        [2**64 - 1, None],
    ),
    "array of Float64": (FLOAT, lambda: pd.array([0.5, None], dtype="Float64"), [0.5, None]),
    "array of booleans": (TRUTH, lambda: pd.array([True, None]), [True, None]),
    "array of texts": (TEXT, lambda: pd.array(["a\0", None], dtype="string"), ["a\0", None]),
    "array of the default texts": (TEXT, lambda: pd.Series(["a\0", None]).array, ["a\0", None]),
    "Arrow's integers": (
        WHOLE,
        lambda: pd.array([BIG, None], dtype=pd.ArrowDtype(pa.int64())),
        [BIG, None],
    ),
    "Arrow's floats": (
        FLOAT,
        lambda: pd.array([0.5, None], dtype=pd.ArrowDtype(pa.float64())),
        [0.5, None],
    ),
    "categories": (TEXT, lambda: pd.Categorical(["b", None, "a"]), ["b", None, "a"]),
    "categories of integers": (WHOLE, lambda: pd.Categorical([BIG, None, 1]), [BIG, None, 1]),
    "index": (WHOLE, lambda: pd.Index([BIG, None], dtype="Int64"), [BIG, None]),
    "index of texts": (TEXT, lambda: pd.Index(["a\0", None]), ["a\0", None]),
    "index of moments": (MOMENT, lambda: pd.DatetimeIndex(["2026-01-31", None]), [DAY, None]),
    "moments with a time zone": (
        MOMENT,
        lambda: pd.DatetimeIndex(["2026-01-31 09:00", None]).tz_localize("Asia/Tokyo").array,
        [DAY, None],
    ),
    "polars' integers": (WHOLE, lambda: pl.Series([BIG, None]), [BIG, None]),
    "polars' floats": (FLOAT, lambda: pl.Series([0.5, None]), [0.5, None]),
    "polars' texts": (TEXT, lambda: pl.Series(["a\0", None, "a"]), ["a\0", None, "a"]),
    "polars' categories": (
        TEXT,
        lambda: pl.Series(["b", None, "a"], dtype=pl.Categorical),
        ["b", None, "a"],
    ),
    "Arrow's array": (WHOLE, lambda: pa.array([BIG, None]), [BIG, None]),
    "Arrow's views": (
        TEXT,
        lambda: pa.array(["a\0", None], pa.string_view()).dictionary_encode(),
        ["a\0", None],
    ),
    "NumPy's texts of any length": (
        TEXT,
        lambda: np.array(["a\0", None], np.dtypes.StringDType(na_object=None)),
        ["a\0", None],
    ),
    "NumPy's texts with NaN": (
        TEXT,
        lambda: np.array(["a", np.nan], np.dtypes.StringDType(na_object=np.nan)),
        ["a", None],
    ),
}


def empty(htype, rows=0):
    ds = dl.create("memory://ways-in", {"x": htype, "k": "int64"}, overwrite=True)
    ds.append({"k": range(rows)})
    return ds


def append(htype, values):
    ds = empty(htype)
    ds.append({"x": values, "k": range(len(values))})
    return ds


def append_rows(htype, values):
    ds = empty(htype)
    ds.append([{"x": value, "k": 0} for value in values])
    return ds


def append_frame(htype, values):
    ds = empty(htype)
    ds.append(pd.DataFrame({"x": values, "k": range(len(values))}))
    return ds


def append_polars(htype, values):
    ds = empty(htype)
    ds.append(pl.DataFrame({"x": values, "k": range(len(values))}))
    return ds


def update(htype, values):
    ds = empty(htype, len(values))
    ds.update(range(len(values)), {"x": values})
    return ds


def assign(htype, values):
    ds = empty(htype, len(values))
    ds["x"][:] = values
    return ds


def upsert(htype, values):
    ds = empty(htype, 1)
    ds.upsert({"x": values, "k": range(len(values))}, on="k")
    return ds


def add_column(htype, values):
    ds = dl.create("memory://ways-in", {"k": "int64"}, overwrite=True)
    ds.append({"k": range(len(values))})
    ds.add_column("x", htype, values=values)
    return ds


def from_arrays(htype, values):
    dl.create("memory://ways-in", {}, overwrite=True)
    return dl.from_arrays({"x": values}, "memory://ways-in", schema={"x": htype})


WAYS = [
    *(append, append_rows, append_frame, append_polars, update, assign, upsert, add_column),
    from_arrays,
]


def read(ds):
    """Return the values of the column, None where null, in built-in types except for times."""
    values = ds["x"][:]
    null = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    if null is None:
        return list(values)
    return [None if n else v for v, n in zip(values.data, null, strict=True)]


def goes(kind, way):
    """Tell whether that way to write accepts such values at all."""
    values = KINDS[kind][1]()
    if way is append_frame:
        return not hasattr(values, "to_pandas")
    if way is append_polars:
        return isinstance(values, pl.Series)
    is_whole = KINDS[kind][0] == WHOLE  # its categories iterate as NaN, which is not an integer
    return way is not append_rows or not (is_whole and isinstance(values, pd.Categorical))


@pytest.mark.parametrize(
    ("kind", "way"),
    [(kind, way) for kind in KINDS for way in WAYS if goes(kind, way)],
    ids=lambda part: getattr(part, "__name__", part),
)
def test_nulls_and_strings_are_the_same_by_every_way_to_write(kind, way):
    htype, make, expected = KINDS[kind]

    assert read(way(htype, make())) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_inferred_type_preserves_nulls_and_strings(kind):
    htype, make, expected = KINDS[kind]
    dl.create("memory://ways-found", {}, overwrite=True)

    ds = dl.from_arrays({"x": make()}, "memory://ways-found")

    result = read(ds)
    if isinstance(ds["x"].htype, dl.ClassLabel):
        result = [None if v is None else ds["x"].names[v] for v in result]
    assert result == expected
    assert ds["x"].htype.nullable == htype.nullable


@pytest.mark.parametrize(
    "cell",
    [pd.array([BIG, None]), pl.Series([BIG, None]), pa.array([BIG, None]), pd.Index([BIG, pd.NA])],
    ids=lambda cell: type(cell).__name__,
)
def test_column_as_a_cell_keeps_its_nulls(cell):
    sequence = dl.Sequence(WHOLE)

    assert read(append(sequence, [cell])) == [[BIG, None]]
    with pytest.raises(dl.InvalidValueError, match="To store lists with nulls, declare"):
        append(dl.Array("float64", (None,)), [cell])
    dl.create("memory://ways-found", {}, overwrite=True)
    assert dl.from_arrays({"x": [cell]}, "memory://ways-found")["x"][0] == [BIG, None]


def test_frame_as_a_column_of_vectors_does_not_turn_nulls_into_nan():
    vectors = dl.Array("float64", (2,))
    for make in (pd.DataFrame, pl.DataFrame):
        assert append(vectors, make({"a": [1, 2], "b": [3, 4]}))["x"][1].tolist() == [2, 4]
    for frame in (pl.DataFrame({"a": [None, 2]}), pd.DataFrame({"a": pd.array([None, 2])})):
        with pytest.raises(dl.InvalidValueError, match="row 0"):
            append(dl.Array("float64", (1,)), frame)


@pytest.mark.parametrize("dtype", ["Object", "Int128", "UInt128"])
def test_polars_types_that_arrow_lacks_are_refused(dtype):
    series = pl.Series("x", [1, 2], dtype=getattr(pl, dtype))
    for way in (append, append_polars, update, add_column, from_arrays):
        with pytest.raises(dl.InvalidValueError, match=r"column 'x'.*must have a type that Arrow"):
            way(WHOLE, series)
    with pytest.raises(dl.InvalidValueError, match=r"column 'x'.*must have a type that Arrow"):
        dl.from_dataframe(pl.DataFrame({"x": series}), "memory://ways-refused")


@pytest.mark.parametrize("rows", [pd.Series([1]), pl.Series([1]), pa.array([1]), pd.Index([1])])
def test_column_without_a_name_is_not_rows(rows):
    ds = empty(WHOLE)
    with pytest.raises(
        dl.InvalidValueError,
        match=r"column's name to its values: \{'x': values\}",
    ):
        ds.append(rows)
    with pytest.raises(
        dl.InvalidValueError,
        match=r"column's name to its values: \{'x': values\}",
    ):
        dl.from_dataframe(rows, "memory://ways-refused")


def test_lazy_polars_query_must_be_collected():
    lazy = pl.LazyFrame({"x": [1]})
    for take in (
        empty(WHOLE).append,
        lambda rows: dl.from_dataframe(rows, "memory://ways-refused"),
    ):
        with pytest.raises(dl.InvalidValueError, match=r"\.collect\(\)"):
            take(lazy)


def test_name_is_not_cut_at_a_nul():
    for table in (pa.table({"x\0y": [1]}), pa.record_batch({"x\0y": [1]})):
        with pytest.raises(dl.SchemaError, match="free of control characters"):
            dl.from_dataframe(table, "memory://ways-refused")
    with pytest.raises(dl.InvalidValueError, match="NUL"):
        dl.from_dataframe(pl.DataFrame({"x\0y": [1]}), "memory://ways-refused")


def test_arrow_scalar_is_read_as_its_value():
    numbers = dl.Array("int64", (None,))
    for cell in (pa.scalar("rose"), [pa.scalar("rose")], pa.scalar(b"rose")):
        with pytest.raises(dl.InvalidValueError, match="must be"):
            append(numbers, [cell])
    assert append(numbers, [[pa.scalar(1), 2]])["x"][0].tolist() == [1, 2]
    assert read(append(TEXT, [pa.scalar("rose"), pa.scalar(None)])) == ["rose", None]
    dl.create("memory://ways-found", {}, overwrite=True)
    assert dl.from_arrays({"x": [pa.scalar("a")]}, "memory://ways-found")["x"][:] == ["a"]


@pytest.mark.parametrize("kind", [k for k in KINDS if "NumPy" not in k])
def test_column_equals_the_values_it_was_made_from(kind):
    htype, make, _ = KINDS[kind]
    ds = append(htype, make())

    assert (ds["x"] == make()).all()


def test_polars_parameter_preserves_its_integers():
    ds = append(WHOLE, [BIG, BIG - 1])
    result = ds.query("SELECT x WHERE list_contains($given, x)", {"given": pl.Series([BIG, None])})
    assert read(result) == [BIG]
