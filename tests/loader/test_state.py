"""States are small and plain, and are refused by loaders that they do not fit."""

import json

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.loader import state as states


@pytest.fixture
def ds(make_lake):
    return make_lake({"x": "int32", "t": "text"}, x=range(50), t=[str(i) for i in range(50)])


def stopped(view, batches=2, **options):
    """Return a state taken after some batches."""
    loader = view.batches(**{"batch_size": 4, "shuffle": True, "seed": 3} | options)
    for _ in zip(range(batches), loader, strict=False):
        pass
    return loader.state_dict()


def refused(state, view, match, **options):
    loader = view.batches(**{"batch_size": 4, "shuffle": True, "seed": 3} | options)
    with pytest.raises(ValueError, match=match):
        loader.load_state_dict(state)
    assert [len(b["x"]) for b in loader][:2] == [4, 4]  # it continues as if nothing had happened


def test_state_is_small_and_unchanged_by_json(ds):
    state = stopped(ds, batch_size=np.int64(4), seed=np.uint8(3), shuffle="block")
    text = json.dumps(state)
    assert len(text) < 1_000
    assert json.loads(text) == state
    assert state["consumed"] == 8


def test_state_of_another_version_says_how_to_open_it(ds):
    state, old = stopped(ds), ds.version
    ds.append({"x": [1], "t": ["a"]})
    ds.commit("more")
    refused(state, ds, rf"dl.open\('{ds.url}', version='{old}'\)")
    loader = dl.open(ds.url, version=old).batches(4, shuffle=True, seed=3)
    loader.load_state_dict(state)


@pytest.mark.parametrize(
    "other",
    [
        lambda ds: ds[1:],
        lambda ds: ds[::-1],
        lambda ds: ds[["t", "x"]],
        lambda ds: ds[["x"]],
        lambda ds: ds.query("SELECT x, t WHERE x < 49"),
        lambda ds: ds.query("SELECT x + 1 AS x, t"),
    ],
)
def test_state_of_another_view_is_refused(ds, other):
    refused(stopped(ds), other(ds), "another view of this version, with 50 rows")


def test_same_query_on_different_rows_is_a_different_view(ds):
    text = "SELECT x + 1 AS x, t"
    refused(stopped(ds[:20].query(text)), ds[20:40].query(text), "another view")
    ids = stopped(ds.query("SELECT x + $k AS x", {"k": np.arange(2_000)[7]}))
    refused(ids, ds.query("SELECT x + $k AS x", {"k": np.arange(2_000)[8]}), "another view")


def test_repeated_query_is_the_same_view(ds):
    text = "SELECT x + 1 AS x, t WHERE x > 5 ORDER BY t"
    loader = dl.open(ds.url).query(text).batches(4, shuffle=True, seed=3)
    loader.load_state_dict(stopped(ds.query(text)))


@pytest.mark.parametrize("options", [{"seed": 4}, {"shuffle": False}, {"shuffle": "block"}])
def test_state_of_another_order_is_refused_with_the_difference(ds, options):
    refused(
        stopped(ds), ds, "seed=3, shuffle='exact', but this loader has .* Set the same", **options
    )


def test_state_of_another_batch_size_says_which_to_set(ds):
    state = stopped(ds, batch_size=12)
    ranks = {"rank": 0, "world_size": 3}
    refused(state, ds, "To continue exactly, set batch_size=12")
    loader = ds.batches(4, shuffle=True, seed=3, **ranks)
    loader.load_state_dict(state)
    with pytest.raises(ValueError, match=r"3 ranks with batch_size=5 make 15.* set batch_size=4"):
        ds.batches(5, shuffle=True, seed=3, **ranks).load_state_dict(state)
    with pytest.raises(ValueError, match="a number of ranks that divides 12"):
        ds.batches(5, shuffle=True, seed=3, rank=0, world_size=5).load_state_dict(state)


@pytest.mark.parametrize("shuffle", [False, "exact"])
def test_state_resumes_with_other_columns(ds, shuffle):
    every = [b["x"].tolist() for b in ds.batches(4, shuffle=shuffle, seed=3)]
    one = ds.batches(4, shuffle=shuffle, seed=3, columns=["x"])
    one.load_state_dict(stopped(ds, shuffle=shuffle))
    assert [b["x"].tolist() for b in one] == every[2:]
    mixed = dl.mix([(ds, 1)])
    again = mixed.batches(4, columns=["x"])
    again.load_state_dict(mixed.batches(4).state_dict())


def test_different_block_sizes_are_attributed_to_the_columns(ds):
    long = [str(i) * 4000 for i in range(50)]
    ds["t"][:] = long
    ds.commit("longer")
    state = stopped(ds, shuffle="block")
    refused(state, ds, "and the same columns=", shuffle="block", columns=["x"])


@pytest.mark.parametrize("state", [None, [], {}, {"epoch": 3}, "x"])
def test_invalid_state_is_refused(ds, state):
    refused(state, ds, r"A state must be the result of state_dict\(\), but this one is")


def test_state_of_another_format_is_refused(ds):
    refused(
        stopped(ds) | {"format": states.FORMAT + 1},
        ds,
        "have format 1, but this state has format 2. Install",
    )


def test_uncommitted_edits_have_no_state(ds):
    ds["x"][0] = 7
    loader = ds.batches(4)
    next(iter(loader))
    with pytest.raises(dl.UncommittedError, match="Commit first"):
        loader.state_dict()


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("consumed", -5), ("consumed", 7), ("consumed", 99_999), ("epoch", "1"), ("rows", None),
        ("global_batch_size", "x"), ("global_batch_size", -1),
    ],
)  # fmt: skip
def test_modified_state_is_refused(make_lake, field, value):
    loader = make_lake({"x": "int32"}, x=range(100)).batches(10, shuffle=True)
    with pytest.raises(ValueError, match=field):
        loader.load_state_dict(loader.state_dict() | {field: value})
    assert sum(len(batch["x"]) for batch in loader) == 100


def test_state_is_refused_if_a_query_function_now_selects_different_rows(ds):
    """Both queries have the same number of rows, but a user function chooses different ones."""
    chosen = [0]

    @dl.function(returns="bool")
    def is_chosen(x):
        return int(x) % 2 == chosen[0]

    text = "SELECT x, t WHERE IS_CHOSEN(x)"
    state = stopped(ds.query(text))
    chosen[0] = 1
    refused(state, ds.query(text), "another view of this version, with 25 rows")
