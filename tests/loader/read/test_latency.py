"""Loading from a high-latency store: few requests, many at a time, the same batches."""

import numpy as np
import pytest
import simplejpeg

import deeplake_lite as dl
from deeplake_lite.testing.slow_store import SlowStore, storage_options

ROWS = 600


@pytest.fixture(scope="module")
def pictures():
    rng = np.random.default_rng(0)
    return [
        simplejpeg.encode_jpeg(rng.integers(0, 256, (96, 96, 3), dtype=np.uint8), 95)
        for _ in range(ROWS)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory, pictures):
    folder = tmp_path_factory.mktemp("store")
    ds = dl.create(str(folder / "lake"), {"image": dl.Image("jpeg"), "row": "int64"})
    ds.append({"image": pictures, "row": np.arange(ROWS)})
    ds.commit("pictures")
    return folder


@pytest.fixture
def store(folder):
    with SlowStore(folder, latency=0.02) as store:
        yield store


def opened(store):
    return dl.open("s3://lakes/lake", storage_options=storage_options(store.endpoint))


@pytest.mark.parametrize("shuffle", [False, "exact", "block"])
def test_batches_from_a_remote_store_equal_those_from_disk(store, folder, shuffle):
    options = {"shuffle": shuffle, "seed": 3}
    far = list(opened(store).batches(64, **options))
    near = list(dl.open(str(folder / "lake")).batches(64, **options))
    assert len(far) == len(near) == 10
    for a, b in zip(far, near, strict=True):
        np.testing.assert_array_equal(a["row"], b["row"])
        np.testing.assert_array_equal(a["image"], b["image"])


@pytest.mark.parametrize("shuffle", [False, "exact", "block"])
def test_epoch_requests_far_fewer_objects_than_it_has_rows(store, shuffle):
    loader = opened(store).batches(64, shuffle=shuffle)
    before = store.requests
    rows = np.concatenate([batch["row"] for batch in loader])
    assert sorted(rows.tolist()) == list(range(ROWS))
    assert store.requests - before <= ROWS / 10


def test_second_epoch_that_fits_in_memory_requests_nothing(store):
    loader = opened(store).batches(64, shuffle=True)
    list(loader)
    before = store.requests
    assert sum(len(batch["row"]) for batch in loader) == ROWS
    assert store.requests == before


def test_epoch_reads_about_the_bytes_of_its_rows(store, pictures):
    view = opened(store)
    before = store.bytes
    list(view.batches(64, columns=["image"], shuffle=True))
    assert store.bytes - before <= 1.5 * sum(map(len, pictures))
