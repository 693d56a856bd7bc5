"""Appending, changing and removing rows, columns and metadata."""

import io
from itertools import count

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from PIL import Image

import deeplake_lite as dl
from deeplake_lite.dataset.write.upserts import Upserted
from deeplake_lite.storage.repo import Session
from deeplake_lite.storage.table import Table

BOTH = {"x": "int32", "t": "text"}


@pytest.fixture
def ds(make_lake):
    return make_lake(BOTH, x=[1, 2, 3], t=["a", "b", "c"])


def assert_as_before(ds):
    assert ds["x"][:].tolist() == [1, 2, 3]
    assert ds["t"][:] == ["a", "b", "c"]


# ---- append


def test_columns_and_rows_append_the_same(ds):
    ds.append({"x": [4, 5], "t": ["d", "e"]})
    ds.append([{"x": 6, "t": "f"}, {"t": "g", "x": 7}])
    assert ds["x"][:].tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert ds["t"][:] == list("abcdefg")


def test_bad_value_in_row_700_of_1000_names_column_row_and_rule_and_appends_nothing(ds):
    values = [*range(700), "many", *range(299)]
    with pytest.raises(
        dl.InvalidValueError, match=r"column 'x', row 700: .*but it is .*'many'"
    ) as error:
        ds.append({"x": values, "t": ["t"] * 1000})
    assert (error.value.column, error.value.row) == ("x", 700)
    assert_as_before(ds)
    assert not ds.status()


@pytest.mark.usefixtures("tiny")
def test_bad_value_in_the_last_column_appends_nothing_to_the_first(ds):
    with pytest.raises(dl.InvalidValueError, match="column 't', row 9: must be text"):
        ds.append({"x": range(10), "t": ["t"] * 9 + [9]})
    assert_as_before(ds)


def test_failed_append_keeps_pending_rows_of_an_earlier_one(ds):
    ds.append({"x": [4], "t": ["d"]})
    with pytest.raises(dl.InvalidValueError):
        ds.append({"x": [5], "t": [5]})
    ds.commit("four")
    assert ds["x"][:].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("data", "error", "match"),
    [
        ({"x": [1], "y": [1]}, dl.ColumnNotFoundError, "There is no column 'y'"),
        ({"x": [1], "t": ["a", "b"]}, dl.InvalidValueError, "'x' has 1 row and 't' has 2"),
        ({"x": [1]}, dl.InvalidValueError, "column 't': has no default"),
        ({"x": [1], "t": "a"}, dl.InvalidValueError, "a sequence with one value per row"),
        ({"x": 1, "t": ["a"]}, dl.InvalidValueError, "a sequence with one value per row"),
        ({"x": np.array(1), "t": ["a"]}, dl.InvalidValueError, "a sequence with one value per row"),
        ({"x": {1}, "t": ["a"]}, dl.InvalidValueError, "a sequence with one value per row"),
        ([{"x": 1, "t": "a"}, "b"], dl.InvalidValueError, "row 1: rows must be a dict of columns"),
        ({"x": [None], "t": ["a"]}, dl.InvalidValueError, "column 'x', row 0: must not be null"),
        ({"x": [2**40], "t": ["a"]}, dl.InvalidValueError, "int32 holds"),
        ({"x": [[1]], "t": ["a"]}, dl.InvalidValueError, "column 'x'"),
    ],
)
def test_refused_append_changes_nothing(ds, data, error, match):
    with pytest.raises(error, match=match):
        ds.append(data)
    assert_as_before(ds)
    assert not ds.status()


def test_missing_values_get_the_default_or_null(make_lake):
    ds = make_lake({"a": dl.Scalar("int8", default=5), "b": dl.Text(nullable=True), "c": "int8"})
    ds.append({"c": [1, 2]})
    ds.append([{"c": 3, "b": "x"}, {"c": 4}])
    assert ds["a"][:].tolist() == [5] * 4
    assert ds["b"][:] == [None, None, "x", None]


def test_rows_consisting_of_defaults_count_as_rows(make_lake):
    ds = make_lake({"a": dl.Scalar("int8", default=5)})
    ds.append([{}, {}])
    assert ds["a"][:].tolist() == [5, 5]


def test_iterators_and_ranges_are_accepted(ds):
    ds.append({"x": iter([4]), "t": (t for t in "d")})
    ds.append({"x": range(5, 6), "t": ("e",)})
    assert ds["x"][:].tolist() == [1, 2, 3, 4, 5]


def test_tables_are_appended_by_column(make_lake):
    schema = {"x": dl.Scalar("int32", nullable=True), "t": dl.Text(nullable=True)}
    columns = {"x": [1, None], "t": ["a", None]}
    ds = make_lake(schema)
    ds.append(pd.DataFrame(columns).astype({"x": "Int32"}))
    ds.append(pa.table(columns))
    ds.append(pa.RecordBatch.from_pydict(columns))
    assert ds["x"][:].tolist() == [1, None] * 3
    assert ds["t"][:] == ["a", None] * 3


def test_exported_table_can_be_appended_to_its_lake(make_lake):
    schema = {
        "label": dl.ClassLabel(["a", "b"]),
        "v": dl.Embedding(2),
        "m": dl.Array("int16", (2, 2)),
        "boxes": dl.Boxes(),
        "when": "datetime64[us]",
        "i": dl.Image("png"),
    }
    ds = make_lake(
        schema,
        label=["b", "a"],
        v=[[1, 2], [3, 4]],
        m=np.arange(8, dtype="int16").reshape(2, 2, 2),
        boxes=[[], [[0, 0, 1, 1]]],
        when=["2026-01-02", "2026-01-03"],
        i=[np.eye(3, dtype="uint8")] * 2,
    )
    for table in (ds.to_arrow(), ds.to_pandas()):
        copy = make_lake(schema)
        copy.append(table)
        for name in schema:
            for one, other in zip(ds[name], copy[name], strict=True):
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    "values",
    [
        pd.Series([1, None], dtype="Int64"),
        pa.array([1, None]),
        pa.chunked_array([[1], [None]]),
        [1, pd.NA],
    ],
)
def test_missing_values_of_pandas_and_arrow_are_null(make_lake, values):
    ds = make_lake({"x": dl.Scalar("int32", nullable=True)})
    ds.append({"x": values})
    assert ds["x"][:].tolist() == [1, None]


def test_missing_strings_and_categories_of_pandas_are_null(make_lake):
    ds = make_lake({"t": dl.Text(nullable=True), "c": dl.ClassLabel(["a"], nullable=True)})
    frame = pd.DataFrame({"t": ["a", None], "c": ["a", None]})
    ds.append(frame.astype({"t": "string", "c": "category"}))
    assert (ds["t"][:], ds["c"][:].tolist()) == (["a", None], [0, None])


def test_table_with_duplicate_column_names_is_refused(make_lake):
    table = pa.table([pa.array([1]), pa.array([2])], ["x", "x"])
    with pytest.raises(dl.InvalidValueError, match="must be unique, but 'x' occurs twice"):
        make_lake({"x": "int32"}).append(table)


def test_generator_of_rows_is_read_in_blocks_and_errors_name_the_row(ds):
    ds.append({"x": i, "t": str(i)} for i in range(3_000))
    assert (len(ds), ds[-1]) == (3_003, {"x": 2_999, "t": "2999"})
    with pytest.raises(dl.InvalidValueError, match="column 'x', row 2500: must be int32"):
        ds.append({"x": "?" if i == 2_500 else i, "t": ""} for i in range(3_000))
    with pytest.raises(dl.InvalidValueError, match=r"row 2: rows must be .* but this is 5"):
        ds.append(row for row in [{"x": 1, "t": ""}, {"x": 1, "t": ""}, 5])
    assert len(ds) == 3_003


@pytest.mark.parametrize("data", [5, None, "rows", b"rows", {1, 2}, np.arange(3)])
def test_invalid_rows_get_an_error_that_lists_the_accepted_forms(ds, data):
    with pytest.raises(
        dl.InvalidValueError, match=r"dict of columns, .* DataFrame, an Arrow table"
    ):
        ds.append(data)
    assert_as_before(ds)


def test_arguments_may_change_afterwards(make_lake):
    values = np.arange(5, dtype="int32")
    ds = make_lake({"x": "int32"})
    ds.append({"x": values})
    values[:] = 0
    assert ds["x"][:].tolist() == [0, 1, 2, 3, 4]


def test_uncommitted_rows_are_invisible_to_other_readers(ds):
    ds.append({"x": [4], "t": ["d"]})
    ds["x"][0] = 9
    assert dl.open(ds.url)["x"][:].tolist() == [1, 2, 3]
    ds.commit("four")
    assert dl.open(ds.url)["x"][:].tolist() == [9, 2, 3, 4]


def test_stored_bytes_of_a_view_are_copied_without_following_links(make_lake):
    data = io.BytesIO()
    noise = np.random.default_rng(0).integers(0, 255, (16, 16, 3), np.uint8)
    Image.fromarray(noise).save(data, "jpeg", quality=50)
    schema = {"i": dl.Image("jpeg"), "l": dl.Link("image"), "n": "int8"}
    ds = make_lake(schema, i=[data.getvalue()] * 2, l=["a.jpg", "b.jpg"], n=[1, 2])
    copy = make_lake({**schema, "n": "int16", "d": dl.Scalar("int8", default=7)})
    copy.append(ds[[1]])
    assert bytes(copy["i"].encoded()[0]) == data.getvalue()
    assert copy["l"].urls() == ["b.jpg"]
    assert (copy["n"][0], copy["d"][0]) == (2, 7)


def test_dataset_can_be_appended_to_itself(ds):
    ds.append(ds)
    ds.append(ds[-1:])
    assert ds["t"][:] == list("abcabcc")
    assert len(np.unique(ds.row_ids)) == 7


def test_incompatible_view_appends_nothing(make_lake, ds):
    nulls = make_lake({"x": dl.Scalar("int32", nullable=True)}, x=[1, None])
    with pytest.raises(dl.InvalidValueError, match="column 'x', row 1: must not be null"):
        make_lake({"x": "int32"}).append(nulls)
    with pytest.raises(dl.ColumnNotFoundError, match="no column 't'"):
        nulls.append(ds)
    assert len(nulls) == 2


# ---- update and delete


def test_cells_are_set_by_position_slice_list_and_mask(ds):
    ds["t"][0] = "z"
    ds["x"][1:] = [8, 9]
    ds["x"][[2, 0]] = [30, 10]
    ds["t"][np.array([False, True, False])] = ["y"]
    ds["x"][-2] = 20
    assert ds["x"][:].tolist() == [10, 20, 30]
    assert ds["t"][:] == ["z", "y", "c"]


def test_one_value_is_assigned_to_several_rows(make_lake):
    schema = {
        "label": dl.ClassLabel(["one", "two"]),
        "x": dl.Scalar("int32", nullable=True),
        "t": "text",
        "v": dl.Embedding(2),
        "tags": dl.ClassLabel(["a", "b"], multiple=True),
        "boxes": dl.Boxes(),
        "notes": dl.Sequence("text"),
        "meta": "json",
    }
    ds = make_lake(schema)
    row = {"label": 0, "x": 1, "t": "", "v": [0, 0], "tags": [], "boxes": [], "notes": []}
    ds.append([{**row, "meta": {}}] * 4)
    ds["label"][1:3] = "two"
    ds["x"][:2] = None
    ds["t"][[0, 3]] = "text"
    ds["v"][1:] = [5, 6]
    ds["tags"][ds["label"] == "two"] = ["a", "b"]
    ds["boxes"][2:] = [[0, 0, 2, 1]]
    ds["notes"][:2] = ["p", "q"]
    ds.update([0, 1], {"meta": {"k": [1]}, "t": ["u", "w"]})
    assert ds["label"][:].tolist() == [0, 1, 1, 0]
    assert ds["x"][:].tolist() == [None, None, 1, 1]
    assert ds["t"][:] == ["u", "w", "", "text"]
    assert ds["v"][:].tolist() == [[0, 0], [5, 6], [5, 6], [5, 6]]
    assert [t.tolist() for t in ds["tags"][:]] == [[], [0, 1], [0, 1], []]
    assert [len(b) for b in ds["boxes"][:]] == [0, 0, 1, 1]
    assert ds["notes"][:] == [["p", "q"], ["p", "q"], [], []]
    assert ds["meta"][:] == [{"k": [1]}, {"k": [1]}, {}, {}]


def test_list_with_one_value_per_row_is_assigned_row_by_row(make_lake):
    ds = make_lake({"j": "json"}, j=[0, 0])
    ds["j"][:] = ["a", "b"]
    assert ds["j"][:] == ["a", "b"]
    ds["j"][0] = ["a", "b"]
    assert ds["j"][0] == ["a", "b"]


@pytest.mark.parametrize(
    ("name", "value", "match"),
    [
        ("t", ["a", "b"], "column 't': .* one value for all rows, but for 3 rows it got 2 values"),
        ("x", [], "column 'x': .* for 3 rows it got 0 values"),
        ("x", "one", "column 'x': must be int32, but it is str 'one'"),
        ("x", 2**40, "column 'x': int32 holds"),
        ("t", ["a", 5, "c"], "column 't', row 1: must be text"),
    ],
)
def test_wrong_number_of_values_is_refused(ds, name, value, match):
    with pytest.raises(dl.InvalidValueError, match=match):
        ds[name][:] = value
    assert_as_before(ds)


def test_single_cell_accepts_one_value_and_no_list_of_it(make_lake):
    ds = make_lake({"tags": dl.Sequence("text"), "x": "int8"}, tags=[[]], x=[1])
    with pytest.raises(dl.InvalidValueError, match="must be a list of items"):
        ds["tags"][0] = "a"
    ds.update(0, {"x": 2})
    assert ds["x"][0] == 2


def test_update_errors_name_the_row_of_the_dataset(make_lake):
    ds = make_lake({"label": dl.ClassLabel(["cat", "dog"]), "x": "int8"}, label=[0] * 9, x=[0] * 9)
    with pytest.raises(dl.InvalidValueError, match=r"column 'label', row 2: .*'dgo'") as error:
        ds["label"][2] = "dgo"
    assert error.value.row == 2
    with pytest.raises(dl.InvalidValueError, match="column 'label', row 8: "):
        ds["label"][-1] = "dgo"
    with pytest.raises(dl.InvalidValueError, match="column 'x', row 7: "):
        ds.update([5, 6, 7], {"x": [1, 2, 3_000]})
    with pytest.raises(dl.InvalidValueError, match="column 'label', row 6: "):
        ds["label"][4:7] = ["cat", "dog", "dgo"]
    assert not ds.status()


def test_setting_no_rows_changes_nothing(ds):
    ds["t"][ds["x"] == 99] = "z"
    assert_as_before(ds)


def test_update_of_several_columns_is_all_or_nothing(ds):
    with pytest.raises(dl.InvalidValueError, match="column 't', row 1: must be text"):
        ds.update([0, 1], {"x": [7, 8], "t": ["y", 5]})
    assert_as_before(ds)
    ds.update([0, 1], {"x": [7, 8], "t": ["y", "z"]})
    assert ds[1] == {"x": 8, "t": "z"}


@pytest.mark.parametrize(
    ("rows", "data", "error", "match"),
    [
        (
            [0],
            {"x": [1, 2]},
            dl.InvalidValueError,
            "one value for all rows, but for 1 row it got 2 values",
        ),
        ([0, 0], {"x": [1, 2]}, dl.InvalidValueError, "may name each row only once"),
        ([5], {"x": [1]}, IndexError, "row 5 is out of range"),
        ([0], {"y": [1]}, dl.ColumnNotFoundError, "no column 'y'"),
        ([True, False], {"x": [1]}, IndexError, "A mask must have one element per row"),
    ],
)
def test_refused_update_changes_nothing(ds, rows, data, error, match):
    with pytest.raises(error, match=match):
        ds.update(rows, data)
    assert_as_before(ds)


def test_rows_are_deleted_by_position_slice_list_and_mask(make_lake):
    ds = make_lake({"x": "int32"}, x=range(10))
    ds.delete(0)
    ds.delete(slice(0, 2))
    ds.delete([-1, -1])
    ds.delete(ds["x"][:] == 5)
    assert ds["x"][:].tolist() == [3, 4, 6, 7, 8]
    with pytest.raises(IndexError, match="row 5 is out of range"):
        ds.delete(5)


def test_views_take_no_edits(ds):
    with pytest.raises(dl.ReadOnlyError, match="Views are read-only"):
        ds[:2]["x"][0] = 5


# ---- upsert


def test_upsert_adds_changes_and_skips_rows(ds):
    done = ds.upsert({"t": ["b", "c", "d"], "x": [2, 30, 4]}, on="t")
    assert (done.added, done.changed, done.unchanged) == (1, 1, 1)
    assert ds["x"][:].tolist() == [1, 2, 30, 4]


def test_repeated_upsert_changes_nothing(ds):
    rows = {"t": ["c", "d"], "x": [30, 4]}
    ds.upsert(rows, on="t")
    ds.commit("once")
    assert ds.upsert(rows, on="t").unchanged == 2
    assert not ds.status()


@pytest.mark.parametrize(("dtype", "bits"), [("float64", 53), ("float32", 24), ("float16", 11)])
def test_float_key_to_which_other_integers_round_is_refused(new_url, dtype, bits):
    ds = dl.create(new_url(), {"k": dtype, "x": "int64"})
    ds.append({"k": [2.0**bits], "x": [1]})
    with pytest.raises(dl.InvalidValueError, match=rf"must be below 2\*\*{bits}"):
        ds.upsert({"k": [2**bits + 1], "x": [2]}, on="k")
    done = ds.upsert({"k": [2**bits - 1, np.nan, np.inf], "x": [2, 3, 4]}, on="k")
    assert (done.added, done.changed) == (3, 0)


@pytest.mark.parametrize("spared", range(4))
def test_upsert_with_a_failing_write_changes_nothing(make_lake, monkeypatch, spared):
    ds = make_lake(
        {"k": "int32", "n": "int32", "data": "bytes"}, k=[1, 2], n=[1, 2], data=[b"1"] * 2
    )
    ds.append({"k": [3], "n": [3], "data": [b"3" * 3_000_000]})
    before, put, writes = list(ds), Session.put, count()

    async def fill_up(session, key, data):
        if next(writes) >= spared:
            raise OSError("No space left on device")
        await put(session, key, data)

    rows = {
        "k": [2, 3, 4, 5],
        "n": [9] * 4,
        "data": [bytes([65 + i]) * 5_000_000 for i in range(4)],
    }
    with monkeypatch.context() as patch:
        patch.setattr(Session, "put", fill_up)
        with pytest.raises(OSError, match="No space left"):
            ds.upsert(rows, on="k")
    assert list(ds) == before
    assert ds.status().added == 1
    assert not ds.status().updated
    assert ds.upsert(rows, on="k") == Upserted(2, 2, 0)
    ds.commit("at last")
    assert ds["n"][:].tolist() == [1, 9, 9, 9, 9]
    assert ds.verify()


@pytest.mark.parametrize("at", [1, 3])
def test_bad_value_in_an_upsert_names_its_input_row(ds, at):
    rows = {"t": ["a", "b", "y", "z"], "x": [1, 2, 3, 4]}
    rows["x"][at] = "many"
    with pytest.raises(dl.InvalidValueError, match=f"column 'x', row {at}"):
        ds.upsert(rows, on="t")
    assert_as_before(ds)


def test_keys_must_identify_rows(ds):
    with pytest.raises(dl.InvalidValueError, match=r"a value of 't' occurs twice"):
        ds.upsert({"t": ["d", "d"], "x": [4, 5]}, on="t")
    ds.append({"t": ["a"], "x": [9]})
    with pytest.raises(dl.InvalidValueError, match="the lake has several rows with the same key"):
        ds.upsert({"t": ["a"], "x": [9]}, on="t")
    with pytest.raises(dl.InvalidValueError, match="needs the key column"):
        ds.upsert({"x": [9]}, on="t")
    with pytest.raises(dl.ColumnNotFoundError, match="no column 'k'"):
        ds.upsert({"x": [9]}, on="k")


# ---- columns


def test_column_is_added_with_values_computed_or_with_its_default(ds):
    ds.add_column("v", "float32", values=[0.5, 1.5, 2.5])
    ds.add_column("w", "text", compute=lambda row: row["t"] * int(row["x"]))
    ds.add_column("d", dl.Scalar("int8", default=7))
    ds.add_column("n", dl.Text(nullable=True))
    ds.commit("four columns")
    assert ds["v"][:].tolist() == [0.5, 1.5, 2.5]
    assert ds["w"][:] == ["a", "bb", "ccc"]
    assert ds["d"][:].tolist() == [7] * 3
    assert ds["n"][:] == [None] * 3


def test_column_is_added_with_deleted_and_pending_rows(ds):
    ds.delete([1])
    ds.append({"x": [4], "t": ["d"]})
    ds.add_column("v", "text", values=["A", "C", "D"])
    assert ds["v"][:] == ["A", "C", "D"]
    ds.commit("v")
    assert dl.open(ds.url)["v"][:] == ["A", "C", "D"]


def test_column_without_a_default_is_added_to_an_empty_lake(ds, make_lake):
    empty = make_lake(BOTH)
    empty.add_column("v", "text")
    ds.delete(slice(None))
    ds.add_column("v", "text")
    for some in (ds, empty):
        some.commit("v")
        some.append({"x": [1], "t": ["a"], "v": ["b"]})
        some.commit("row")
        assert dl.open(some.url)["v"][:] == ["b"]


@pytest.mark.parametrize(
    ("values", "match"),
    [
        (["a"], "one value per row, but for 3 rows it got 1 value"),
        (["a", 5, "c"], "column 'v', row 1: must be text"),
        (None, "column 'v': a new column needs values for 3 existing rows"),
    ],
)
def test_column_that_cannot_be_filled_is_not_added(ds, values, match):
    with pytest.raises(dl.InvalidValueError, match=match):
        ds.add_column("v", "text", values=values)
    assert ds.columns == ("x", "t")
    assert not ds.status()
    ds.add_column("v", "text", values=["a", "b", "c"])
    ds.commit("v")
    assert dl.open(ds.url)["v"][:] == ["a", "b", "c"]


def test_taken_and_invalid_names_are_refused(ds):
    with pytest.raises(dl.SchemaError, match="A column 'x' already exists"):
        ds.add_column("x", "int8", values=[1, 2, 3])
    with pytest.raises(dl.SchemaError, match="A column 'x' already exists"):
        ds.rename_column("t", "x")
    with pytest.raises(dl.ColumnNotFoundError, match="no column 'y'"):
        ds.rename_column("y", "z")
    with pytest.raises(dl.ColumnNotFoundError, match="no column 'y'"):
        ds.drop_column("y")


def test_renamed_column_keeps_its_values_and_a_dropped_one_stays_in_older_versions(ds):
    old = ds.version
    ds.rename_column("x", "number")
    ds.drop_column("t")
    ds.commit("less")
    assert ds.columns == ("number",)
    assert ds["number"][:].tolist() == [1, 2, 3]
    assert dl.open(ds.url, version=old)["t"][:] == ["a", "b", "c"]


def test_name_can_be_reused_for_another_column(ds):
    ds.drop_column("t")
    ds.add_column("t", "int8", values=[7, 8, 9])
    ds.commit("again")
    assert dl.open(ds.url)["t"][:].tolist() == [7, 8, 9]


def test_changed_default_applies_to_later_rows(ds):
    ds.set_default("t", "?")
    ds.append({"x": [4]})
    assert ds["t"][:] == ["a", "b", "c", "?"]
    with pytest.raises(dl.SchemaError, match="must be text"):
        ds.set_default("t", 5)


# ---- metadata


def test_dataset_and_column_metadata_is_versioned(ds):
    ds.metadata["licence"] = "CC-BY"
    ds["x"].metadata["unit"] = "m"
    ds.commit("notes")
    again = dl.open(ds.url)
    assert dict(again.metadata) == {"licence": "CC-BY"}
    assert dict(again["x"].metadata) == {"unit": "m"}
    del ds.metadata["licence"]
    assert dict(ds.metadata) == {}
    ds.discard()
    assert dict(ds.metadata) == {"licence": "CC-BY"}


@pytest.mark.parametrize("value", [object(), float("nan"), {1: 2}, (1, 2)])
def test_metadata_that_json_cannot_hold_is_refused_at_once(ds, value):
    with pytest.raises(dl.SchemaError, match="Metadata must"):
        ds.metadata["bad"] = value
    with pytest.raises(dl.SchemaError, match="Metadata must"):
        ds["x"].metadata["bad"] = value
    assert dict(ds.metadata) == {}
    ds.metadata["good"] = 1
    ds.commit("good")


# ---- transactions


def test_transaction_commits_its_edits(ds):
    with ds.transaction("two edits"):
        ds["x"][0] = 9
        ds.delete([1])
    assert ds.log()[0].message == "two edits"
    assert dl.open(ds.url)["x"][:].tolist() == [9, 3]


def test_error_in_a_transaction_reverts_everything(ds):
    version = ds.version

    def fail():
        with ds.transaction("never"):
            ds["x"][0] = 9
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert_as_before(ds)
    assert ds.version == version


@pytest.mark.parametrize("error", [dl.StorageError("disk full"), KeyboardInterrupt()], ids=repr)
def test_edits_of_a_transaction_whose_commit_fails_stay(make_lake, monkeypatch, error):
    ds = make_lake({"x": "int32"}, x=[1])

    def fail(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Session, "commit", fail)
        with pytest.raises(type(error)), ds.transaction("a row"):
            ds.append({"x": [2]})
    assert ds.status().added == 1
    assert dl.open(ds.url)["x"][:].tolist() == [1]
    ds.commit("a row, again")
    assert dl.open(ds.url)["x"][:].tolist() == [1, 2]


def test_transaction_needs_a_clean_dataset(ds):
    ds["x"][0] = 9
    match = r"1 cell updated.*Before starting a transaction"
    with pytest.raises(dl.UncommittedError, match=match), ds.transaction():
        pass


# ---- large cells


@pytest.mark.slow
def test_sample_larger_than_ten_chunks_round_trips(make_lake):
    sample = np.random.default_rng(0).integers(0, 255, (50, 1024, 1024), np.uint8)
    ds = make_lake({"x": dl.Array("uint8", (None, None, None)), "n": "int8"})
    ds.append({"x": [sample[:1], sample, sample[:2]], "n": [1, 2, 3]})
    for _ in ("pending", "committed"):
        np.testing.assert_array_equal(ds["x"][1], sample)
        np.testing.assert_array_equal(ds["x"][2], sample[:2])
        ds.commit("50 MiB")
    assert dl.open(ds.url).verify()


def test_existing_column_is_made_nullable(make_lake):
    ds = make_lake({"x": "int32", "text": "text"}, x=[1, 2], text=["a", "b"])
    first = ds.version
    ds.set_nullable("x")
    ds.set_nullable("text")
    ds.append({"x": [None, 4], "text": ["c", None]})
    ds["x"][0] = None
    ds.commit("nulls")
    assert ds["x"][:].tolist() == [None, 2, None, 4]
    assert ds["text"][:] == ["a", "b", "c", None]
    assert [row["x"] for row in ds] == [None, 2, None, 4]
    assert ds.diff(first).changed["x"].tolist() == [ds.row_ids[0]]
    assert ds.verify()


def test_lake_whose_creation_was_interrupted_is_created_again(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(Table, "create", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            dl.create(str(tmp_path / "cut.lake"), {"x": "int32"})
    assert not dl.exists(str(tmp_path / "cut.lake"))
    assert list(tmp_path.iterdir()) == []
    assert dl.create(str(tmp_path / "cut.lake"), {"x": "int32"}).columns == ("x",)


def test_failed_update_keeps_pending_rows(make_lake, monkeypatch):
    ds = make_lake({"data": "bytes"}, data=[b"old"])
    ds.append({"data": [b"a" * 3_000_000, b"b" * 900_000]})

    async def full(*_):
        raise OSError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Session, "put", full)
        with pytest.raises(OSError, match="No space left"):
            ds.update([0], {"data": [b"c" * 2_000_000]})
    assert [bytes(v[:1]) for v in ds["data"][:]] == [b"o", b"a", b"b"]
    ds.commit("the pending rows")
    assert dl.open(ds.url)["data"][2] == b"b" * 900_000
    assert ds.verify()


def test_new_column_accepts_one_value_for_all_rows(ds):
    ds.add_column("part", "text", values="abc")
    ds.add_column("y", "int8", values=(i for i in range(3)))
    assert (ds["part"][:], ds["y"][:].tolist()) == (["abc"] * 3, [0, 1, 2])
    with pytest.raises(dl.InvalidValueError, match=r"column 'z': .* Pass the function as compute="):
        ds.add_column("z", "int8", values=lambda row: row["x"])


def test_new_column_accepts_values_or_a_function_but_not_both(ds):
    with pytest.raises(dl.InvalidValueError, match="values= or compute=, but both"):
        ds.add_column("z", "int32", values=1, compute=len)
    assert "z" not in ds.columns


def test_new_column_without_values_for_existing_rows_says_what_it_needs(make_lake):
    ds = make_lake({"x": "int32"}, x=[1, 2])
    needs = r"column 'boxes': .* 2 existing rows.*values= or compute="
    with pytest.raises(dl.InvalidValueError, match=needs):
        ds.add_column("boxes", dl.Boxes("xyxy"))
    assert not ds.status()
    ds.add_column("boxes", dl.Boxes("xyxy", nullable=True))
    assert ds["boxes"][:] == [None, None]
    wrap = r"row 1: .*a single box, \[1, 2, 3, 4\]\. Put it in a list: \[\["
    with pytest.raises(dl.InvalidValueError, match=wrap):
        ds["boxes"][1] = [1, 2, 3, 4]
    with pytest.raises(dl.InvalidValueError, match="Put it in a list"):
        ds.append({"x": [3], "boxes": [np.arange(4)]})
