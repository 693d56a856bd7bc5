"""Zero-dimensional arrays among arrays of any shape: stored, read, exported and computed with."""

import numpy as np
import pytest

import deeplake_lite as dl


def arrays(seed, n=40):
    """Arrays of 0 to 3 dimensions; the first has none, the second has one."""
    rng = np.random.default_rng(seed)
    axes = [0, 1, *rng.integers(0, 4, n - 2)]
    return [rng.integers(-9, 9, rng.integers(0, 4, k)).astype("int32") for k in axes]


def lake(values, **options):
    ds = dl.create(
        f"memory://no-axes-{np.random.default_rng().integers(2**60)}",
        {"v": dl.Array("int32", None, **options)},
    )
    ds.append({"v": values})
    ds.commit("arrays")
    return ds


def check_same(found, expected):
    assert len(found) == len(expected)
    for a, b in zip(found, expected, strict=True):
        if b is None:
            assert a is None
            continue
        assert np.shape(a) == np.shape(b)
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("with_nulls", [False, True])
@pytest.mark.parametrize("codec", [None, "zstd"])
def test_zero_dimensional_arrays_round_trip_everywhere(with_nulls, codec):
    values = arrays(0)
    if with_nulls:
        values[3] = values[5] = None
    ds = lake(values, nullable=with_nulls, codec=codec)
    check_same(ds["v"][:], values)
    assert ds.verify()
    table = ds.to_arrow()
    shapes = [None if row is None else tuple(row["shape"]) for row in table["v"].to_pylist()]
    assert shapes == [None if value is None else value.shape for value in values]
    check_same(dl.from_dataframe(table, f"{ds.url}-arrow")["v"][:], values)
    copy = ds.query("SELECT v").materialize(f"{ds.url}-copy")
    check_same(copy["v"][:], values)
    check_same(copy.to_arrow()["v"].to_pylist(), table["v"].to_pylist())
    copy.append(ds)
    copy.update([0], {"v": [values[0]]})
    check_same(copy["v"][:], [*values, *values])
    (batch,) = ds.batches(len(values), collate="list")
    check_same(batch["v"], values)


@pytest.mark.parametrize("rank", [1, 2])
def test_queries_combine_zero_dimensional_arrays_with_fixed_rank_arrays(rank):
    shapes = [(), (2, 3)[:rank]]
    values = [
        np.arange(np.prod(shape, dtype=int), dtype="int32").reshape(shape) for shape in shapes
    ]
    ds = lake(values)
    for expression, compute in {
        "v + 1": lambda v: v.astype("int64") + 1,
        "-v": lambda v: -v.astype("int64"),
        "v > 0": lambda v: v > 0,
        "TRANSPOSE(v)": np.transpose,
        "v[None]": lambda v: v[None],
        "CAST(v AS FLOAT)": lambda v: v.astype("float32"),
    }.items():
        check_same(ds.query(f"SELECT {expression} AS x")["x"][:], [compute(v) for v in values])
    assert ds.query("SELECT NDIM(v) AS n, SIZE(v) AS s").to_pandas().n.tolist() == [0, rank]
    parts = lake([np.arange(3, dtype="int32"), np.ones((2, 3), "int32")])
    check_same(
        parts.query("SELECT v[0] AS x WHERE SHAPE(v)[0] > 0").to_arrow()["x"].to_pylist()[-1:],
        [{"data": [1, 1, 1], "shape": [3]}],
    )
