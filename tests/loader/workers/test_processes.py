"""Worker processes give the same batches, use unnamed memory and leave nothing behind."""

from __future__ import annotations

import os
import random
import sys
from pathlib import Path

import numpy as np
import pytest

from deeplake_lite.errors import LoaderError
from deeplake_lite.loader.workers import channel
from deeplake_lite.testing import transforms

from ..watching import children, eventually, shared_files, threads

BATCH = 7
KINDS = [("threads", 0), ("threads", 1), ("threads", 2), ("processes", 0), ("processes", 2)]


@pytest.fixture(autouse=True)
def nothing_left():
    """Check that no process, thread, or file in shared memory is left after a test."""
    before = shared_files()
    running = threads()
    yield
    assert eventually(lambda: not children())
    assert eventually(lambda: threads() <= running), threads() - running
    assert eventually(lambda: shared_files() <= before)  # other tests on this machine have some too


def plain(value):
    """Return a batch in a form that can be compared."""
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    if isinstance(value, list):
        return [plain(v) for v in value]
    if hasattr(value, "tolist"):
        return str(value.dtype), value.shape, np.asarray(value).tolist()
    return value


def batches_of(ds, workers="processes", num_workers=1, **options):
    """Return the batches of one epoch."""
    loader = ds.batches(BATCH, workers=workers, num_workers=num_workers, **options)
    try:
        return [plain(batch) for batch in loader]
    finally:
        loader.close()


@pytest.mark.parametrize("transform", [None, transforms.draw])
def test_batches_are_the_same_for_any_number_of_threads_and_processes(ds, transform):
    options = {"shuffle": True, "seed": 3, "transform": transform, "row_ids": True}
    expected = batches_of(ds, "threads", 0, **options)
    assert sorted(x for batch in expected for x in batch["x"][2]) == list(range(40))
    for workers, number in KINDS[1:]:
        assert batches_of(ds, workers, number, **options) == expected, (workers, number)


def test_global_generators_give_the_same_for_any_number_of_processes(numbers):
    transform = transforms.draw_globally
    expected = batches_of(numbers, num_workers=0, transform=transform)
    assert len({value for batch in expected for value in np.ravel(batch["drawn"][2])}) >= 40
    assert batches_of(numbers, num_workers=1, transform=transform) == expected
    assert batches_of(numbers, num_workers=2, transform=transform) == expected


def test_callers_own_generators_are_undisturbed(numbers):
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    expected = random.random(), np.random.random()  # noqa: NPY002
    random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    batches_of(numbers, num_workers=0, transform=transforms.draw_globally)
    assert (random.random(), np.random.random()) == expected  # noqa: NPY002


def maps():
    """Return how many parcels are mapped."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    return sum("memfd:deeplake-lite" in line for line in lines)


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_arrays_are_aligned_and_owned_by_the_user_until_released(ds):
    loader = ds.batches(20, columns=["x", "image"], workers="processes", num_workers=1)
    first, second = loader
    loader.close()
    image = first["image"]
    assert image.nbytes > channel.INLINE_BYTES
    assert image.ctypes.data % 64 == 0
    assert first["x"].ctypes.data % 64 == 0
    image[:] = 5
    first["x"][:] = 6
    assert maps() == 2
    part = image[3:5]
    small = second["x"]
    del first, second, image
    assert maps() == 1
    assert (part == 5).all()
    del part
    assert maps() == 0
    assert small.tolist() == list(range(20, 40))


@pytest.mark.parametrize(("name", "value"), [("MAX_MAPS", 1), ("_anonymous_memory", lambda: None)])
def test_batches_arrive_even_if_descriptors_or_memory_run_out(ds, monkeypatch, name, value):
    options = {"columns": ["x", "image"]}
    expected = batches_of(ds, "threads", 0, **options)
    monkeypatch.setattr(channel, name, value)
    assert batches_of(ds, **options) == expected


def test_processes_stay_for_the_next_epoch_and_have_one_thread_each(numbers, monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    transform = transforms.with_process
    loader = numbers.batches(1, workers="processes", num_workers=2, transform=transform)
    epochs = [list(loader) for _ in range(2)]
    pids = [{int(batch["pid"][0]) for batch in epoch} for epoch in epochs]
    assert pids[0] | pids[1] == set(children())
    assert os.getpid() not in pids[0]
    assert {int(batch["threads"][0]) for batch in epochs[0]} == {1}
    loader.close()
    assert not children()
    assert len(list(loader)) == 40
    loader.close()


OF_TORCH = """
import torch

def draw(sample):
    x = torch.tensor([int(sample["x"])])
    return {"x": x, "half": torch.ones(2, dtype=torch.bfloat16), "drawn": torch.rand(2)}
"""


def test_torch_draws_the_same_numbers_and_tensors_are_returned_as_tensors(
    numbers, monkeypatch, tmp_path
):
    import torch

    (tmp_path / "of_torch.py").write_text(OF_TORCH)
    monkeypatch.syspath_prepend(tmp_path)
    import of_torch

    here, there = (
        next(iter(numbers.batches(40, workers="processes", num_workers=n, transform=of_torch.draw)))
        for n in (0, 1)
    )
    assert torch.equal(there["x"], torch.arange(40)[:, None])
    assert there["half"].dtype == torch.bfloat16
    assert torch.equal(here["drawn"], there["drawn"])
    assert len(there["drawn"].unique()) >= 79


def test_pixel_cache_is_refused_if_no_single_process_holds_it(numbers):
    with pytest.raises(ValueError, match=r"cache='decoded' caches pixels.*workers='threads'"):
        numbers.batches(2, workers="processes", cache="decoded")


def test_uncommitted_edits_are_loaded_as_the_main_process_reads_them(numbers):
    numbers["x"][0] = 99
    assert batches_of(numbers)[0]["x"][2][0] == 99


def test_lambda_is_sent_by_cloudpickle_or_refused_with_an_explanation(numbers, monkeypatch):
    doubled = batches_of(numbers, transform=lambda s: {"x": s["x"] * 2})
    assert doubled[0]["x"][2] == list(range(0, 14, 2))
    monkeypatch.setitem(sys.modules, "cloudpickle", None)
    with pytest.raises(
        LoaderError, match=r"pickling transform=.*lambda.*top level of a module.*threads"
    ):
        numbers.batches(2, workers="processes", transform=lambda s: s)
    numbers.batches(2, workers="processes", num_workers=0, transform=lambda s: s)


def test_unreferenced_loader_ends_its_processes(numbers):
    loader = numbers.batches(1, workers="processes", num_workers=2, transform=transforms.rest)
    batches = iter(loader)
    next(batches)
    assert len(children()) == 2
    del loader, batches
    assert eventually(lambda: not children())
