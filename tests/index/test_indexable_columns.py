"""Columns whose vectors an index cannot tell apart are refused; all others have right answers."""

import numpy as np
import pytest

import deeplake_lite as dl

DIM, ROWS = 8, 3_000
RANDOM = np.random.default_rng(0)
NORMAL = RANDOM.normal(size=(ROWS, DIM))


@pytest.fixture(scope="module")
def ds():
    """Return a lake with a column for each kind of vectors."""
    columns = {
        "near_two_62": ("int64", 2**62 + RANDOM.integers(-1_000, 1_000, (ROWS, DIM))),
        "wide": ("int64", RANDOM.integers(-(2**62), 2**62, (ROWS, DIM))),
        "huge": ("float64", NORMAL * 1e200),
        "tiny": ("float64", NORMAL * 1e-200),
        "far": ("float64", NORMAL + 1e9),
        "somewhat_far": ("float64", NORMAL + 1e5),
        "infinite": ("float32", np.where(RANDOM.random((ROWS, 1)) < 0.05, np.inf, NORMAL)),
        "nan": ("float32", np.where(RANDOM.random((ROWS, 1)) < 0.5, np.nan, NORMAL)),
        "times": ("datetime64[us]", RANDOM.integers(0, 9, (ROWS, DIM)).astype("datetime64[us]")),
        "spans": ("timedelta64[us]", RANDOM.integers(0, 9, (ROWS, DIM)).astype("m8[us]")),
        "truths": ("bool", NORMAL > 0),
        "complex": ("complex64", NORMAL.astype("complex64")),
    }
    schema = {name: dl.Array(dtype, (DIM,)) for name, (dtype, _) in columns.items()}
    url = "memory://indexable"
    ds = dl.create(url, {**schema, "n": "int64", "key": "int64"}, overwrite=True)
    values = {name: vectors.astype(dtype) for name, (dtype, vectors) in columns.items()}
    ds.append({**values, "n": np.arange(ROWS), "key": np.arange(ROWS)})
    ds.commit("rows")
    return ds


@pytest.mark.parametrize(
    ("column", "metric", "reason"),
    [
        ("near_two_62", "cosine", "most vectors are equal in the 32-bit floats"),
        ("near_two_62", "l2", "3,000 of 3,000 vectors .* greater than 1e"),
        ("wide", "dot", "3,000 of 3,000 vectors .* Divide the vectors by a number"),
        ("huge", "l2", "greater than 1e"),
        ("tiny", "l2", "most vectors are equal"),
        ("far", "cosine", "most vectors are equal .* Subtract the mean of the vectors"),
        ("far", "dot", "most vectors are equal|find only"),
        ("somewhat_far", "l2", "find only|most vectors are equal"),
        ("times", "l2", r"vectors of numbers .* has the type Array\('datetime64\[us\]'"),
        ("spans", "l2", "vectors of numbers"),
        ("truths", "cosine", "vectors of numbers"),
        ("complex", "cosine", "vectors of numbers"),
    ],
)
def test_vectors_that_an_index_cannot_compare_are_refused(ds, column, metric, reason):
    with pytest.raises(dl.SchemaError, match=reason):
        ds.create_index(column, "vector", metric=metric)
    assert all(index.column != column or index.metric != metric for index in ds.indexes)


@pytest.mark.parametrize("column", ["key", "times"])
def test_message_without_a_kind_names_both_kinds(ds, column):
    with pytest.raises(dl.SchemaError, match="An index needs a column of strings, or of vectors"):
        ds.create_index(column)


ORDERS = {
    "cosine": "COSINE_SIMILARITY({}, $q) DESC",
    "l2": "L2_DISTANCE({}, $q)",
    "dot": "DOT({}, $q) DESC",
}


@pytest.mark.parametrize(
    ("column", "metric"),
    [
        ("wide", "cosine"), ("huge", "cosine"), ("tiny", "cosine"), ("infinite", "cosine"),
        ("infinite", "dot"), ("infinite", "l2"), ("nan", "dot"), ("nan", "l2"),
    ],
)  # fmt: skip
def test_answers_are_those_of_an_exact_search(ds, column, metric):
    index = ds.create_index(column, metric=metric)
    text = f"SELECT n ORDER BY {ORDERS[metric].format(column)} LIMIT 10"
    found = []
    for row in (3, 40, 500):
        query = np.where(np.isfinite(ds[column][row]), ds[column][row], 1)
        exact = ds.query(text, {"q": query})["n"][:].tolist()
        result = ds.query(f"{text} USING INDEX", {"q": query})["n"][:].tolist()
        found.append(len(set(exact) & set(result)))
    assert min(found) >= 7
    assert index.recall >= 0.88


@pytest.mark.parametrize("metric", ORDERS)
def test_huge_query_is_answered_as_without_an_index(ds, metric):
    ds.create_index("nan", metric=metric)
    query = np.full(DIM, 1e200)
    text = f"SELECT n ORDER BY {ORDERS[metric].format('nan')} LIMIT 10"
    exact = ds.query(text, {"q": query})["n"][:].tolist()
    assert len(set(exact) & set(ds.query(f"{text} USING INDEX", {"q": query})["n"][:].tolist())) > 6
    if metric == "cosine":
        vectors = np.nan_to_num(ds["nan"][:].astype(float), nan=0)
        cosines = vectors @ np.ones(DIM) / np.maximum(np.linalg.norm(vectors, axis=1), 1e-30)
        assert set(exact) == set(np.argsort(-cosines)[:10].tolist())
