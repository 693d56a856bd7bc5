"""Dropped loaders release their threads and rows, whichever framework was using them."""

import weakref

import pytest
from torch.utils.data import DataLoader

import deeplake_lite as dl

from ..watching import eventually, threads

WAYS = {
    "batches": lambda ds: ds.batches(4),
    "batches, shuffled": lambda ds: ds.batches(4, shuffle=True),
    "pytorch": lambda ds: ds.pytorch(4),
    "jax": lambda ds: ds.jax(4),
    "map-style": lambda ds: ds.pytorch_dataset(),
    "iterable": lambda ds: ds.pytorch_dataset(style="iterable"),
    "DataLoader, map-style": lambda ds: DataLoader(ds.pytorch_dataset(), batch_size=4),
    "DataLoader, iterable": lambda ds: DataLoader(
        ds.pytorch_dataset(style="iterable"), batch_size=4
    ),
    "mix": lambda ds: dl.mix([(ds, 1), (ds[::2], 1)]).batches(4),
}

USES = {
    "an epoch": list,
    "a part of an epoch": lambda loader: next(iter(loader)),
    "two at once": lambda loader: list(zip(loader, loader, strict=True)),
}


@pytest.mark.parametrize("use", USES.values(), ids=USES)
@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_dropped_loader_leaves_no_threads_and_no_rows(make_lake, way, use):
    ds = make_lake({"x": "int32"}, x=range(40))
    running, loaders = threads(), []
    for _ in range(3):
        loader = way(ds)
        loaders.append(weakref.ref(loader))
        use(loader)
        del loader
    assert eventually(lambda: threads() <= running)
    assert [loader() for loader in loaders] == [None] * 3
