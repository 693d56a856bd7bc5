"""Arrow structs and maps are read as objects, whatever their fields, or as tensors of a lake."""

from uuid import uuid4

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deeplake_lite as dl


def new_url():
    return f"memory://{uuid4().hex}"


def appended(table, htype, _):
    ds = dl.create(new_url(), {"x": htype})
    ds.append(table)
    ds.commit()
    return ds


def appended_by_column(table, htype, folder):
    return appended({"x": table.column("x")}, htype, folder)


def appended_from_pandas(table, htype, folder):
    return appended(table.to_pandas(types_mapper=pd.ArrowDtype), htype, folder)


def added(table, htype, _):
    ds = dl.create(new_url(), {"at": "int64"})
    ds.append({"at": range(len(table))})
    ds.add_column("x", htype, values=table.column("x"))
    ds.commit()
    return ds


def from_dataframe(table, htype, _):
    return dl.from_dataframe(table, new_url(), schema={"x": htype})


def from_pandas(table, htype, _):
    frame = table.to_pandas(types_mapper=pd.ArrowDtype)
    return dl.from_dataframe(frame, new_url(), schema={"x": htype})


def from_parquet(table, htype, folder):
    pq.write_table(table, folder / "a.parquet")
    return dl.from_parquet(folder / "a.parquet", new_url(), schema={"x": htype})


WAYS = [
    appended,
    appended_by_column,
    appended_from_pandas,
    added,
    from_dataframe,
    from_pandas,
    from_parquet,
]

MAP = pa.map_(pa.string(), pa.int64())
OBJECTS = {
    "data and shape": ([{"data": [1, 2, 3, 4], "shape": [2, 2]}], None),
    "a shape that is a text": ([{"data": "a", "shape": "round"}], None),
    "a shape that does not fit": ([{"data": [1, 2, 3], "shape": [2]}], None),
    "lists of such": ([[{"data": [1, 2], "shape": [2, 1]}], []], None),
    "such within others": ([{"sensor": {"data": [1.5], "shape": [1]}}], None),
    "maps": ([{"a": 1}, {}, None], MAP),
    "maps in structs": ([{"m": {"a": 1, "b": None}}], pa.struct({"m": MAP})),
    "maps in lists": ([[{"a": 1}], []], pa.list_(MAP)),
    "maps in maps": ([{"k": {"a": 1}}], pa.map_(pa.string(), MAP)),
}


def table_of(values, kind):
    return pa.table({"x": pa.array(_pairs(values, kind), kind)})


def _pairs(value, kind):
    """Return values with maps as pairs, which Arrow accepts."""
    if isinstance(value, list):
        return [_pairs(item, kind) for item in value]
    if isinstance(value, dict) and (kind is not None):
        inner = {key: _pairs(item, kind) for key, item in value.items()}
        return inner if "m" in value else list(inner.items())
    return value


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", OBJECTS)
def test_structs_and_maps_become_objects_in_a_json_column(way, name, tmp_path):
    values, kind = OBJECTS[name]
    ds = way(table_of(values, kind), dl.Json(nullable=True), tmp_path)
    assert ds["x"][:] == values


@pytest.mark.parametrize("name", OBJECTS)
@pytest.mark.parametrize("parquet", [False, True])
def test_structs_and_maps_without_a_type_become_json(name, parquet, tmp_path):
    values, kind = OBJECTS[name]
    pq.write_table(table_of(values, kind), tmp_path / "a.parquet")
    if parquet:
        ds = dl.from_parquet(tmp_path / "a.parquet", new_url())
    else:
        ds = dl.from_dataframe(table_of(values, kind), new_url())
    assert [row["x"] for row in ds] == values


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "htype", [dl.Array("int64", (None, None)), dl.Array("int64", None), dl.Mask(dtype="int32")]
)
def test_data_and_shape_fields_become_a_tensor_in_an_array_column(way, htype, tmp_path):
    table = pa.table({"x": pa.array([{"data": [1, 2, 3, 4], "shape": [2, 2]}])})
    assert np.array_equal(way(table, htype, tmp_path)["x"][0], [[1, 2], [3, 4]])


MALFORMED = {
    "too many": [{"data": [1, 2, 3], "shape": [2, 1]}],
    "less than none": [{"data": [1, 2], "shape": [-1, -2]}],
    "texts": [{"data": ["a"], "shape": [1, 1]}],
    "no lists": [{"data": "a", "shape": "round"}],
    "no whole numbers": [{"data": [1], "shape": [1.0, 1.0]}],
    "a null size": [{"data": [1], "shape": [1, None]}],
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("values", MALFORMED.values(), ids=MALFORMED)
@pytest.mark.parametrize("noted", [False, True])
def test_struct_that_is_not_an_array_is_an_error_with_its_row(way, values, noted, tmp_path):
    htype, table = dl.Array("int64", (None, None)), pa.table({"x": pa.array(values)})
    if noted:
        note = {
            "deeplake_lite.htype": '{"htype": "array", "dtype": "int64", "shape": [null, null]}'
        }
        table = table.cast(pa.schema([table.schema.field("x").with_metadata(note)]))
    with pytest.raises(dl.InvalidValueError, match=r"row 0: must be int64 .*, but it is dict"):
        way(table, htype, tmp_path)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [MAP, pa.list_(MAP)])
def test_map_with_a_duplicate_key_is_refused(way, kind, tmp_path):
    row = [("a", 1), ("a", 2)]
    table = pa.table({"x": pa.array([row if kind == MAP else [row]], kind)})
    with pytest.raises(dl.InvalidValueError, match="must be unique"):
        way(table, dl.Json(), tmp_path)


@pytest.mark.parametrize("way", WAYS)
def test_map_with_structs_as_keys_is_refused(way, tmp_path):
    kind = pa.map_(pa.struct({"k": pa.int64()}), pa.int64())
    table = pa.table({"x": pa.array([[({"k": 1}, 2)]], kind)})
    with pytest.raises(dl.InvalidValueError, match="keys of a map"):
        way(table, dl.Json(), tmp_path)


def test_tensors_in_nested_lists_round_trip():
    htype = dl.Sequence(dl.Sequence(dl.Array("int64", (None, None))))
    ds = dl.create(new_url(), {"x": htype})
    ds.append({"x": [[[[[1, 2]], [[3], [4]]], []]]})
    ds.commit()
    for again in (
        appended(ds.to_arrow(), htype, None),
        dl.from_dataframe(ds.to_arrow(), new_url()),
    ):
        assert [[v.tolist() for v in item] for item in again["x"][0]] == [
            [[[1, 2]], [[3], [4]]],
            [],
        ]


def json_column(texts):
    return pa.array(texts, pa.json_())


def in_lists(texts):
    return pa.ListArray.from_arrays([0, len(texts)], json_column(texts))


def in_structs(texts):
    return pa.StructArray.from_arrays([json_column(texts)], ["a"])


def in_dictionary(texts):
    return pa.DictionaryArray.from_arrays(pa.array(range(len(texts))), json_column(texts))


TEXTS = ['{"b": [1, null]}', "[1.5]", '"text"', "5"]
PARSED = [{"b": [1, None]}, [1.5], "text", 5]
JSON_COLUMNS = {
    "json": (json_column([*TEXTS, None]), dl.Json(nullable=True), [*PARSED, None]),
    "chunks": (
        pa.chunked_array([json_column(TEXTS[:1]), json_column(TEXTS[1:])]), dl.Json(), PARSED,
    ),
    "dictionary": (in_dictionary(TEXTS), dl.Json(), PARSED),
    "lists": (in_lists(TEXTS), dl.Json(), [PARSED]),
    "sequences": (in_lists(TEXTS), dl.Sequence(dl.Json()), [PARSED]),
    "structs": (in_structs(TEXTS), dl.Json(), [{"a": value} for value in PARSED]),
    "texts": (json_column(TEXTS), dl.Text(), TEXTS),
    "sequences of texts": (in_lists(TEXTS), dl.Sequence(dl.Text()), [TEXTS]),
}  # fmt: skip


@pytest.mark.parametrize("name", JSON_COLUMNS)
@pytest.mark.parametrize("write", [appended, appended_by_column, added, from_dataframe])
def test_arrow_json_is_parsed_for_a_json_column(tmp_path, name, write):
    column, htype, values = JSON_COLUMNS[name]
    assert write(pa.table({"x": column}), htype, tmp_path)["x"][:] == values


@pytest.mark.parametrize("text", ["{", '{"a": 1, "a": 2}', "[" * 100_000])
def test_invalid_arrow_json_is_an_error_with_its_row(tmp_path, text):
    table = pa.table({"x": json_column(["1", text])})
    with pytest.raises(dl.InvalidValueError, match=r"row 1: must be JSON, but .* cannot be parsed"):
        appended(table, dl.Json(), tmp_path)
