"""A loader of an open transaction returns the rows as they were when it was made."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl

CACHES = [None, "encoded", "decoded"]


@pytest.fixture
def ds(make_lake):
    """Make a lake with an open transaction."""
    ds = make_lake({"k": "int64", "t": "text", "v": dl.Embedding(2)},
                   k=range(8), t=list("abcdefgh"), v=np.ones((8, 2)))  # fmt: skip
    ds["t"][7] = "H"
    return ds


def joined(ds):
    text = "SELECT a.k, b.t, a.v + b.v AS w FROM dataset AS a JOIN other AS b ON a.k = b.k"
    return ds.query(text, sources={"other": ds[2:]})


VIEWS = {
    "all": lambda ds: ds,
    "some": lambda ds: ds[:4],
    "rows of a query": lambda ds: ds.query("SELECT * WHERE k < 4"),
    "computed": lambda ds: ds.query("SELECT k, t, v * 2 AS w"),
    "query of a query": lambda ds: ds.query("SELECT k, v * 2 AS w").query("SELECT k, w + 1 AS u"),
    "join": joined,
    "mix": lambda ds: dl.mix([(ds[:4], 1), (ds[4:], 1)], seed=0),
}

EDITS = {
    "cell": lambda ds: ds["t"].__setitem__(0, "zzz"),
    "column": lambda ds: ds["v"].__setitem__(slice(None), np.zeros((8, 2))),
    "rename": lambda ds: ds.rename_column("t", "text"),
    "drop": lambda ds: ds.drop_column("t"),
    "nullable": lambda ds: ds.set_nullable("t"),
    "append": lambda ds: ds.append({"k": [9], "t": ["i"], "v": [[0, 0]]}),
    "delete": lambda ds: ds.delete([0]),
    "new column": lambda ds: ds.add_column("n", "int32", values=range(8)),
    "notes": lambda ds: ds.metadata.update(n=1),
}


def plain(loader):
    """Return the batches of the first epoch."""
    loader.set_epoch(0)
    return [as_lists(batch) for batch in loader]


def as_lists(batch):
    return {n: np.asarray(v).tolist() for n, v in batch.items()}


@pytest.mark.parametrize("cache", CACHES)
@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_loader_keeps_its_rows_whatever_the_transaction_does(ds, view, edit, cache):
    loader, unused = (view(ds).batches(2, cache=cache) for _ in range(2))
    before = plain(loader)
    loader.set_epoch(0)
    begun = iter(loader)
    first = next(begun)
    edit(ds)
    assert [as_lists(batch) for batch in (first, *begun)] == before
    for some in (loader, unused):
        assert plain(some) == before
        some.close()


@pytest.mark.parametrize("cache", CACHES)
@pytest.mark.parametrize("end", ["commit", "discard", "nothing"])
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_loader_keeps_its_rows_after_the_transaction(ds, view, end, cache):
    loader = view(ds).batches(2, cache=cache)
    before = plain(loader)
    if end == "commit":
        ds.commit("done")
        ds["t"][0] = "of the next transaction"
    elif end == "discard":
        ds.discard()
        ds["t"][0] = "of the next transaction"
    assert plain(loader) == before
    loader.close()


@pytest.mark.parametrize("cache", CACHES)
def test_loader_of_a_version_does_not_see_later_edits(ds, cache):
    ds.commit("done")
    loader = ds[:4].batches(2, cache=cache)
    before = plain(loader)
    ds["t"][0] = "zzz"
    assert plain(loader) == before
    loader.close()


def test_pytorch_datasets_keep_their_rows(ds):
    result = ds.pytorch_dataset()
    assert result[0]["t"] == "a"
    ds["t"][0] = "zzz"
    assert result[0]["t"] == "a"
    assert ds.pytorch_dataset()[0]["t"] == "zzz"


@pytest.mark.parametrize("cache", CACHES)
def test_columns_that_are_not_loaded_accept_results_of_the_loop(ds, cache):
    ds.add_column("guess", dl.Text(nullable=True))
    loader = ds.batches(3, columns=["k", "v"], row_ids=True, cache=cache)
    for _ in range(2):
        for batch in loader:
            ds.update(ids=batch["_row_id"], data={"guess": [f"{k}" for k in batch["k"]]})
            ds["t"][0] = "zzz"
    assert ds["guess"][:] == [f"{k}" for k in range(8)]
    ds["k"][0] = 99
    assert next(iter(loader))["k"].tolist() == [0, 1, 2]
