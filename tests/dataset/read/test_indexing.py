"""Indexing a dataset, a view or a column follows NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import deeplake_lite as dl
from deeplake_lite.storage import chunks

N = 23


@pytest.fixture(scope="module")
def ds():
    made = dl.create(
        "memory://indexing",
        {
            "x": "int64",
            "name": "text",
            "vector": dl.Array("float32", (3,)),
            "ragged": dl.Array("int16", (None, 2)),
            "maybe": dl.Scalar("float64", nullable=True),
        },
        overwrite=True,
    )
    made.append(rows(0, 9))
    made.commit("some")
    made.append(rows(9, 18))
    made.delete([2])
    made.commit("more, one less")
    made.append(rows(18, N + 1))  # the open transaction's
    return made


def rows(start, stop):
    return {
        "x": np.arange(start, stop),
        "name": [f"row {i}" for i in range(start, stop)],
        "vector": np.arange(start, stop)[:, None] + np.zeros(3),
        "ragged": [np.full((i % 4, 2), i) for i in range(start, stop)],
        "maybe": [None if i % 5 == 0 else i / 2 for i in range(start, stop)],
    }


@pytest.fixture(scope="module")
def oracle():
    return np.array([i for i in range(N + 1) if i != 2])


integers = st.integers(-N, N - 1)
edges = st.none() | st.integers(-N - 3, N + 3)
slices = st.builds(slice, edges, edges, st.none() | st.integers(-4, 4).filter(bool))
lists = st.lists(integers, max_size=12)
masks = st.lists(st.booleans(), min_size=N, max_size=N)
indices = slices | lists | masks | lists.map(lambda i: np.array(i, np.int32))


def numpy_index(index):
    return np.array(index, np.int64) if isinstance(index, list) and not index else index


@given(index=indices)
def test_view_has_the_rows_that_numpy_selects(ds, oracle, index):
    picked = oracle[numpy_index(index)]
    view = ds[index]
    assert len(view) == len(picked)
    assert view["x"][:].tolist() == picked.tolist()
    assert view["name"][:] == [f"row {i}" for i in picked]


@given(first=indices, data=st.data())
def test_view_of_a_view_selects_as_in_numpy(ds, oracle, first, data):
    picked = oracle[numpy_index(first)]
    edge = st.none() | st.integers(-len(picked) - 2, len(picked) + 2)
    second = data.draw(st.builds(slice, edge, edge, st.sampled_from([None, 1, 2, -1, -3])))
    assert ds[first][second]["x"][:].tolist() == picked[second].tolist()


@given(position=integers)
def test_row_has_every_value_at_its_position(ds, oracle, position):
    i = int(oracle[position])
    row = ds[position]
    assert list(row) == ["x", "name", "vector", "ragged", "maybe"]
    assert row["x"] == i
    assert row["name"] == f"row {i}"
    assert row["vector"].tolist() == [i] * 3
    assert row["ragged"].tolist() == [[i, i]] * (i % 4)
    assert row["maybe"] == (None if i % 5 == 0 else i / 2)


@given(index=indices)
def test_column_has_the_values_of_its_rows(ds, oracle, index):
    picked = oracle[numpy_index(index)]
    assert ds["vector"][index].tolist() == [[i] * 3 for i in picked]
    assert [v.tolist() for v in ds["ragged"][index]] == [[[i, i]] * (i % 4) for i in picked]
    expected = np.ma.MaskedArray(picked / 2, picked % 5 == 0)
    assert ds["maybe"][index].tolist() == expected.tolist()


@pytest.mark.parametrize("kind", [np.int8, np.uint16, np.int64, int])
def test_positions_may_be_any_integer(ds, kind):
    assert ds[kind(3)]["x"] == 4
    assert ds["x"][kind(3)] == 4


def test_iterating_gives_every_row_once(ds, oracle):
    assert [row["x"] for row in ds] == oracle.tolist()
    assert list(ds["name"]) == [f"row {i}" for i in oracle]


def test_columns_are_chosen_by_name(ds):
    view = ds[["name", "x"]]
    assert view.columns == ("name", "x")
    assert list(view[0]) == ["name", "x"]
    assert view[1:3]["x"][:].tolist() == [1, 3]


@pytest.mark.parametrize("position", [N, -N - 1])
def test_position_out_of_range_is_an_index_error(ds, position):
    with pytest.raises(IndexError, match=f"row {position} is out of range: there are {N} rows"):
        ds[position]
    with pytest.raises(IndexError, match="is out of range"):
        ds[[0, position]]


def test_mask_of_another_length_is_an_index_error(ds):
    with pytest.raises(IndexError, match=f"for {N} rows this mask has 2 elements"):
        ds[[True, False]]


@pytest.mark.parametrize("index", [1.5, [0.5], None, {"a": 1}, [[1, 2]], range(2**70, 2**70 + 2)])
def test_invalid_index_is_an_index_error(ds, index):
    with pytest.raises(IndexError, match="Rows are selected with an integer, a slice"):
        ds[index]


@pytest.mark.parametrize("ends", [(None, None, 0), (0.5, 2), ("a", None), (None, None, 1.0)])
def test_invalid_slice_is_an_index_error(ds, ends):
    for view in (ds, ds[[0]], ds[ds.columns[0]], ds.query(f'SELECT "{ds.columns[0]}" AS y')):
        with pytest.raises(dl.RowIndexError, match="The parts of a slice must be integers"):
            view[slice(*ends)]


def test_unknown_column_suggests_the_nearest(ds):
    with pytest.raises(dl.ColumnNotFoundError, match=r"'nmae'. Did you mean 'name'\?"):
        ds["nmae"]
    with pytest.raises(dl.ColumnNotFoundError, match="There is no column 'y'"):
        ds[["x", "y"]]


def test_unselected_column_is_missing(ds):
    with pytest.raises(dl.ColumnNotFoundError, match="Known: 'x'"):
        ds[["x"]]["name"]


def test_column_names_complete_in_brackets(make_lake):
    ds = make_lake({"x": "int32", "name": "text"})
    assert ds._ipython_key_completions_() == ["x", "name"]
    assert ds[["name"]]._ipython_key_completions_() == ["name"]


@pytest.fixture
def flowers(make_lake):
    schema = {
        "label": dl.ClassLabel(["rose", "tulip"]),
        "x": dl.Scalar("int32", nullable=True),
        "note": dl.Text(nullable=True),
        "v": dl.Embedding(2),
        "ragged": dl.Array("int8", (None,)),
    }
    return make_lake(
        schema,
        label=["rose", "tulip", "rose"],
        x=[1, None, 3],
        note=["b", None, "a"],
        v=np.zeros((3, 2)),
        ragged=[[1], [1, 2], []],
    )


def test_columns_are_ordered_and_null_is_neither_less_nor_greater(flowers):
    assert (flowers["x"] > 1).tolist() == [False, False, True]
    assert (flowers["x"] <= np.array([1, 1, 1])).tolist() == [True, False, False]
    assert (flowers["note"] < "b").tolist() == [False, False, True]
    assert flowers[flowers["x"] >= 1]["note"][:] == ["b", "a"]


def test_classes_compare_with_one_name_or_one_per_row(flowers):
    assert (flowers["label"] == ["rose", "rose", "rose"]).tolist() == [True, False, True]
    with pytest.raises(dl.InvalidValueError, match=r"column 'label': .* Did you mean 'rose'"):
        flowers["label"] == "ros"  # noqa: B015


def test_in_operator_searches_a_column(flowers):
    assert "rose" in flowers["label"]
    assert "ros" not in flowers["label"]
    assert 3 in flowers["x"]
    assert "c" not in flowers["note"]


@pytest.mark.parametrize("index", [(0, 1), (0, "x"), (slice(None), 1), ()])
def test_multiple_indices_are_refused_because_rows_have_one_axis(flowers, index):
    for shown in (flowers, flowers["v"]):
        with pytest.raises(IndexError, match="Rows are selected with one index"):
            shown[index]
    with pytest.raises(IndexError, match="Rows are selected with one index"):
        flowers["v"][index] = 0


def test_ellipsis_selects_all_rows(flowers):
    assert flowers["x"][...].tolist() == flowers["x"][:].tolist()
    assert len(flowers[...]) == 3


def test_values_of_different_shapes_do_not_form_an_array(flowers):
    with pytest.raises(
        ValueError,
        match="Column 'ragged' cannot be converted to one array, because its values, or the items",
    ):
        np.array(flowers["ragged"])


def test_multi_element_values_are_equal_as_a_whole(make_lake):
    vectors = [[1, 2], None, [1, 3], [0, 0]]
    ds = make_lake({"v": dl.Embedding(2, nullable=True)}, v=vectors)
    assert (ds["v"] == [1, 2]).tolist() == [True, False, False, False]
    assert (ds["v"] != [1, 2]).tolist() == [False, True, True, True]
    assert (ds["v"] == [[1, 2], [0, 0], [1, 3], [1, 0]]).tolist() == [True, False, True, False]
    assert len(ds[:0]["v"] == [1, 2]) == 0
    assert [1, 3] in ds["v"]
    assert [2, 3] not in ds["v"]


def test_none_equals_null_in_columns_of_all_kinds(make_lake):
    schema = {"x": dl.Scalar("int32", nullable=True), "t": dl.Text(nullable=True), "y": "int8"}
    ds = make_lake(schema, x=[0, None], t=[None, ""], y=[0, 1])
    assert (ds["x"] == None).tolist() == [False, True]  # noqa: E711
    assert (ds["t"] == None).tolist() == [True, False]  # noqa: E711
    assert (ds["y"] == None).tolist() == [False, False]  # noqa: E711


ALL_ONES = [np.array([2**64 - 1], "uint64"), np.uint64(2**64 - 1), [np.uint64(2**63)]]


@pytest.mark.parametrize("index", ALL_ONES, ids=["array", "scalar", "list"])
def test_index_beyond_int64_does_not_wrap_around(make_lake, index):
    ds = make_lake({"x": "int32"}, x=[1, 2, 3])
    ds.commit()
    many = index if isinstance(index, np.ndarray | list) else [index]
    for use in (
        lambda: ds[index],
        lambda: ds["x"][index],
        lambda: ds["x"].__setitem__(index, 7),
        lambda: ds.update(many, {"x": [7]}),
        lambda: ds.delete(many),
    ):
        with pytest.raises(IndexError, match="is out of range"):
            use()
    with pytest.raises(dl.InvalidValueError, match="ids must be integers"):
        ds.update(ids=many, data={"x": [7]})
    assert ds["x"][:].tolist() == [1, 2, 3]


def test_null_in_a_mask_selects_no_row(make_lake):
    ds = make_lake({"x": dl.Scalar("bool", nullable=True)}, x=[True, None, False])
    assert len(ds[ds["x"][:]]) == 1
    assert len(ds[~ds["x"][:]]) == 1
    ds.delete(~ds["x"][:])
    assert ds["x"][:].tolist() == [True, None]


def test_null_in_a_list_of_positions_is_an_index_error(make_lake):
    ds = make_lake({"x": dl.Scalar("int32", nullable=True)}, x=[0, None, 2])
    with pytest.raises(IndexError, match="element 1 is null"):
        ds[ds["x"][:]]


def test_reading_rows_lists_no_others(make_lake, monkeypatch):
    ds = make_lake({"n": "int64", "t": "text"}, n=range(9), t=list("abcdefghi"))
    ds.commit("nine rows")
    ds.append({"n": [9], "t": ["j"]})

    count_up = chunks.count_up

    def bounded(count):
        assert count <= 2, f"{count} rows are counted"
        return count_up(count)

    monkeypatch.setattr(chunks, "count_up", bounded)
    assert len(ds) == 10
    assert ds[9] == {"n": 9, "t": "j"}
    assert (ds["n"][5], ds["t"][-1], ds["t"][[1, 9]]) == (5, "j", ["b", "j"])
    ds["n"][5] = -5
    assert ds["n"][5] == -5
