"""Slice bounds, norms and shapes given by values that are not plain numbers."""

import numpy as np
import pytest
from PIL import Image

import deeplake_lite as dl


@pytest.fixture
def ds(make_lake):
    schema = {
        "v": dl.Array("int32", (4,)),
        "k": "int32",
        "part": "float32",
        "tags": dl.ClassLabel(["a", "b"], multiple=True),
        "c": "complex64",
    }
    return make_lake(
        schema,
        v=[[1, 2, 3, 4]] * 3,
        k=[1, 2, 3],
        part=[1, 2.5, 3],
        tags=[["a"], [], ["a", "b"]],
        c=[3 + 4j, 0, -1],
    )


def test_slice_bound_may_vary_by_row(ds):
    assert [v.tolist() for v in ds.query("SELECT v[:k] AS x")["x"][:]] == [[1], [1, 2], [1, 2, 3]]


@pytest.mark.parametrize("end", ["tags", "tags % 4", "v", "SHAPE(tags)", "part", "[1, 2]"])
@pytest.mark.parametrize("part", [":{}", "{}:", "1:3:{}"])
def test_fractional_slice_bound_is_refused(ds, end, part):
    with pytest.raises(dl.QueryError, match=r"v\["):
        ds.query(f"SELECT v[{part.format(end)}] AS x")["x"][:]


@pytest.mark.parametrize("norm", ["L1_NORM", "L2_NORM", "LINF_NORM"])
def test_norms_of_complex_numbers_are_real(ds, norm):
    result = ds.query(f"SELECT {norm}(c) AS x")["x"]
    assert result.htype.dtype == "float32"
    assert result[:].tolist() == [5, 0, 1]


def test_shape_of_a_link_is_that_of_its_file(tmp_path):
    paths = []
    for n in (2, 3):
        paths.append(str(tmp_path / f"{n}.png"))
        Image.fromarray(np.zeros((n, 4, 3), np.uint8)).save(paths[-1])
    ds = dl.create(
        str(tmp_path / "a.lake"), {"x": dl.Link(dl.Image(), nullable=True)}, allow=[tmp_path]
    )
    ds.append({"x": [paths[0], None, paths[1]]})
    for query, expected in {
        "SHAPE(x)[0]": [2, None, 3],
        "LEN(x)": [2, None, 3],
        "NDIM(x)": [3, None, 3],
        "SIZE(x)": [24, None, 36],
        "SHAPE(x)[-1]": [3, None, 3],
    }.items():
        assert ds.query(f"SELECT {query} AS x")["x"][:].tolist() == expected, query
    assert len(ds.query("SELECT UNNEST(x) AS x")) == 5
    assert len(ds.query("SELECT x WHERE SHAPE(x)[0] > 2")) == 1


@pytest.mark.parametrize("value", ["k", "(k, part)", "label", "j", "NULL"])
def test_empty_list_contains_nothing(make_lake, value):
    schema = {"k": "int32", "part": "float32", "label": dl.ClassLabel(["a"]), "j": dl.Json()}
    ds = make_lake(schema, k=[1, 2], part=[1, 2], label=[0, 0], j=[{}, 1])
    assert len(ds.query(f"SELECT k WHERE {value} IN ()")) == 0
    assert len(ds.query(f"SELECT k WHERE {value} NOT IN ()")) == 2


def test_lists_in_json_stay_lists(make_lake):
    """They are JSON values, and not axes of the sequence."""
    values = [[[1]], [[1, 2], [3]], [], [{"a": 1}], [[[1, 2]]]]
    ds = make_lake({"s": dl.Sequence(dl.Json()), "g": "int32"}, s=values, g=range(5))

    def read(query):
        return ds.query(query)["x"][:]

    assert read("SELECT s AS x") == values
    assert read("SELECT s[0] AS x") == [v[0] if v else None for v in values]
    assert read("SELECT s[0:1] AS x") == [v[:1] for v in values]
    assert read("SELECT s[::-1] AS x") == [v[::-1] for v in values]
    assert read("SELECT UNNEST(s) AS x") == [item for v in values for item in v]
    assert read("SELECT FIRST(s) AS x GROUP BY g") == values
    assert read("SELECT LIST(s) AS x GROUP BY g") == [[v] for v in values]
    assert read("SELECT s AS x FROM dataset UNION SELECT s FROM dataset") == values


@pytest.mark.parametrize("name", ["dense", "ragged", "image", "boxes", "sequence"])
def test_value_of_a_correlated_subquery_belongs_to_its_row(make_lake, name):
    columns = {
        "dense": (dl.Array("int32", (2,)), [1, 2]),
        "ragged": (dl.Array("int32", (None,)), [1, 2]),
        "image": (dl.Image("png"), np.zeros((2, 3, 3), np.uint8)),
        "boxes": (dl.Boxes(), [[0, 0, 1, 1]]),
        "sequence": (dl.Sequence(dl.Embedding(2)), [[1, 2]]),
    }
    htype, value = columns[name]
    ds = make_lake({"i": "int32", "x": htype}, i=range(3), x=[value] * 3)
    for query in (
        "SELECT (SELECT x FROM dataset WHERE i = 1) AS x",
        "SELECT CASE WHEN i < 9 THEN (SELECT x FROM dataset WHERE i = 1) END AS x",
        "SELECT (SELECT x FROM dataset WHERE i = 1)[0:1] AS x",
    ):
        view = ds.query(query)
        before = [np.copy(v) for v in view["x"][:]]
        values = [view[0]["x"], view["x"][0], *view["x"][:]]
        given = [value if name == "sequence" else [value] for value in values]
        for number, arrays in enumerate(given):
            for array in arrays:
                array[...] = number + 50
        assert all((array == n + 50).all() for n, arrays in enumerate(given) for array in arrays)
        again = view["x"][:]
        assert all(np.array_equal(a, b) for a, b in zip(again, before, strict=True)), query


def test_rows_without_a_number_are_arranged_together(make_lake):
    ds = make_lake({"k": "int32", "x": "float32"}, k=range(4), x=[np.nan, 1, np.nan, 1])
    assert ds.query("SELECT k ARRANGE BY x")["k"][:].tolist() == [0, 2, 1, 3]
    assert ds.query("SELECT k ARRANGE BY [x, 1]")["k"][:].tolist() == [0, 2, 1, 3]


def test_string_of_json_and_its_value_have_different_hashes(make_lake):
    values = [{}, "{}", [], "[]", [1], "[1]", {"a": 1}, '{"a": 1}', None]
    ds = make_lake({"k": "int32", "j": dl.Json(nullable=True)}, k=range(9), j=values)
    assert len(ds.query("SELECT DISTINCT HASH(j) AS h")) == 9
    for row in (1, 3, 5, 7):
        result = ds.query("SELECT k WHERE HASH(j) = HASH(?)", [values[row]])
        assert result["k"][:].tolist() == [row]


def test_unknown_function_after_null_is_an_error(make_lake):
    ds = make_lake({"k": "int32"}, k=[1])
    with pytest.raises(dl.NotFoundError, match="There is no function NOFUNCTION"):
        ds.query("SELECT NULL.NOFUNCTION(k) AS x")


@pytest.fixture
def of_every_type(make_lake):
    schema = {
        "v": dl.Array("float32", (3,)), "r": dl.Array("uint8", (None,)), "im": dl.Image("png"),
        "s": dl.Sequence("text"), "sa": dl.Sequence(dl.Array("int16", (None,))), "t": "text",
        "j": "json", "y": dl.Bytes(), "b": "bool", "n": dl.Scalar("bool", nullable=True),
        "f": "float64", "k": "int64",
    }  # fmt: skip
    return make_lake(
        schema,
        v=np.arange(6).reshape(2, 3), r=[[1, 2], [3, 4]], im=[np.zeros((2, 2, 3), "u1")] * 2,
        s=[["a", "b"], ["c"]], sa=[[[1], [2, 3]]] * 2, t=["ab", "cd"], j=[[1, 2], [3]],
        y=[b"ab", b"cd"], b=[True, False], n=[True, None], f=[1.5, 1.0], k=[1, 0],
    )  # fmt: skip


INDEXED = ["v", "r", "im", "s", "sa", "t", "j", "y", "[1, 2]", "[k, 5, 6]", "'abc'", "SHAPE(v)",
           "LIST(t)", "(v + 1)", "[[1], [2]]"]  # fmt: skip


@pytest.mark.parametrize("base", INDEXED)
@pytest.mark.parametrize("index", ["b", "n", "k > 0", "TRUE"])
@pytest.mark.parametrize("form", ["{}", "{}:"])
def test_boolean_is_not_an_index(of_every_type, base, index, form):
    with pytest.raises(dl.QueryTypeError, match=r"whole number.* but (in .* it is bool|it is)"):
        of_every_type.query(f"SELECT {base}[{form.format(index)}] AS x")


@pytest.mark.parametrize("base", ["t", "'abc'", "[k, 5, 6]", "j", "y", "LIST(t)"])
@pytest.mark.parametrize("index", ["1.5", "f", "k / 2", "MEAN(v)", "1.5:", ":f", "t[0]"])
def test_fraction_is_not_an_index_of_strings_lists_and_json(of_every_type, base, index):
    if base == "j" and index == "t[0]":  # a key
        return
    with pytest.raises(dl.QueryTypeError, match="whole number"):
        of_every_type.query(f"SELECT {base}[{index}] AS x GROUP BY ALL")


def test_integers_are_indices(of_every_type):
    for base in ("v", "s", "t", "j", "y", "[k, 5, 6]"):
        for index in ("k", "k + 0", "1", "LEN(t) - 1", "CAST(f AS BIGINT)", "k:"):
            of_every_type.query(f"SELECT {base}[{index}] AS x")["x"][:]


@pytest.mark.parametrize(
    "base", ["v", "r", "im", "s", "sa", "[1, 2]", "(v + 1)", "v[1:]", "LIST(v)"]
)
@pytest.mark.parametrize("step", ["k", "k * 1", "k - k"])
def test_step_of_0_is_reported_with_its_row(of_every_type, base, step):
    group = " GROUP BY k" if base == "LIST(v)" else ""
    expected = pytest.raises(
        dl.QueryError,
        match=r"An expression cannot be computed for a row: the step .* must not be 0",
    )
    with expected:
        of_every_type.query(f"SELECT {base}[::{step}] AS x{group}")["x"][:]
    if not group:
        with expected:
            of_every_type.query(f"SELECT k WHERE LEN({base}[::{step}]) > 0")
