"""Predictions are written to the right rows, whatever the order, framework and workers."""

import jax
import numpy as np
import pytest
from torch.utils.data import DataLoader

import deeplake_lite as dl

ROWS = 40


@pytest.fixture
def ds(make_lake):
    ds = make_lake(
        {
            "x": "int32",
            "score": dl.Scalar("float32", nullable=True),
            "logits": dl.Array("float32", (2,), nullable=True),
        },
        x=range(ROWS),
    )
    ds.commit("rows")
    return ds


def dataset_loader(ds, style, workers):
    dataset = ds.pytorch_dataset(style, columns=["x"], row_ids=True)
    context = {"multiprocessing_context": "forkserver"} if workers else {}
    shuffle = {"shuffle": True} if style == "map" else {}
    return DataLoader(
        dataset, 7, num_workers=workers, collate_fn=dataset.collate, **shuffle, **context
    )


OPTIONS = {"columns": ["x"], "shuffle": True, "row_ids": True}
LOADERS = {
    "numpy": lambda ds: ds.batches(7, **OPTIONS),
    "no workers": lambda ds: ds.batches(7, num_workers=0, **OPTIONS),
    "processes": lambda ds: ds.batches(7, workers="processes", num_workers=2, **OPTIONS),
    "transform": lambda ds: ds.batches(7, transform=dict, **OPTIONS),
    "pytorch": lambda ds: ds.pytorch(7, **OPTIONS),
    "tensorflow": lambda ds: ds.tensorflow(7, **OPTIONS),
    "jax": lambda ds: ds.jax(7, **OPTIONS),
    "map": lambda ds: dataset_loader(ds, "map", 0),
    "map, workers": lambda ds: dataset_loader(ds, "map", 2),
    "iterable": lambda ds: dataset_loader(ds, "iterable", 0),
    "query": lambda ds: ds.query("SELECT x WHERE x >= 0 ORDER BY x % 7").batches(7, **OPTIONS),
}


@pytest.mark.parametrize("kind", LOADERS)
def test_predictions_from_a_shuffled_loader_reach_their_rows(ds, kind):
    for batch in LOADERS[kind](ds):
        x = batch["x"]
        ds.update(ids=batch["_row_id"], data={"score": x * 2, "logits": x[:, None] + _two(x)})
    assert ds["score"][:].tolist() == [2 * x for x in range(ROWS)]
    assert ds["logits"][:].tolist() == [[x, x + 1] for x in range(ROWS)]
    ds.commit("predicted")


def _two(x):
    """Return 0 and 1 as an array of the framework of `x`."""
    if isinstance(x, np.ndarray):
        return np.arange(2)
    module = type(x).__module__
    if module.startswith("torch"):
        return x.new_tensor([0, 1])
    return np.arange(2, dtype="int32")


def test_jax_row_ids_are_exact_with_x64(ds):
    with jax.enable_x64(True):
        for batch in ds.jax(7, **OPTIONS):
            ds.update(ids=batch["_row_id"], data={"score": batch["x"]})
    assert ds["score"][:].tolist() == list(range(ROWS))


def test_samples_of_a_dataset_have_ids_only_on_request(ds):
    plain = ds.pytorch_dataset(columns=["x"])
    assert list(plain[3]) == ["x"]
    with_ids = ds.pytorch_dataset(columns=["x"], row_ids=True)
    assert int(with_ids[3]["_row_id"]) == int(ds.row_ids[3])
    changed = ds.pytorch_dataset(row_ids=True, columns=["x"], transform=lambda s: {"y": s["x"] + 1})
    batch = changed.collate([changed[3], changed[4]])
    assert batch["_row_id"].tolist() == ds.row_ids[3:5].tolist()
    assert batch["y"].tolist() == [4, 5]


def test_padding_rows_are_excluded_by_their_mask(ds):
    for batch in ds.batches(16, last="pad", **OPTIONS):
        own = ~batch["_padding"]
        if not own.all():
            with pytest.raises(dl.InvalidValueError, match="_padding"):
                ds.update(ids=batch["_row_id"], data={"score": batch["x"]})
        ds.update(ids=batch["_row_id"][own], data={"score": batch["x"][own]})
    assert ds["score"][:].tolist() == list(range(ROWS))
