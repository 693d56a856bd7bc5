"""Batches belong to the caller: writing into one changes no later batch and no read."""

import ctypes

import numpy as np
import pytest
import torch

import deeplake_lite as dl

ROWS = 12
rng = np.random.default_rng(0)
SCHEMA = {
    "x": "int32",
    "big": dl.Array("float32", (2048,)),
    "maybe": dl.Scalar("float32", nullable=True),
    "ragged": dl.Array("float32", (None,)),
    "long": dl.Array("uint8", (None,)),
    "packed": dl.Array("float32", (None,), "zstd"),
    "png": dl.Image("png"),
    "raw": dl.Image("raw"),
    "sizes": dl.Image("raw"),
    "mask": dl.Mask("semantic"),
    "boxes": dl.Boxes(),
    "outlines": dl.Polygons(),
    "lists": dl.Sequence("int32"),
    "vector": dl.Embedding(8),
    "when": dl.Scalar("datetime64[us]"),
    "meta": dl.Json(),
    "text": "text",
}
VALUES = {
    "x": range(1, ROWS + 1),
    "big": rng.random((ROWS, 2048), np.float32) + 1,
    "maybe": [None if i % 3 == 0 else i for i in range(ROWS)],
    "ragged": [rng.random(1 + i % 3, np.float32) + 1 for i in range(ROWS)],
    "long": [rng.integers(1, 255, 20_000 + i, np.uint8) for i in range(ROWS)],
    "packed": [rng.random(4 + i % 2, np.float32) + 1 for i in range(ROWS)],
    "png": list(rng.integers(1, 255, (ROWS, 8, 9, 3), np.uint8)),
    "raw": list(rng.integers(1, 255, (ROWS, 80, 90, 3), np.uint8)),
    "sizes": [rng.integers(1, 255, (80 + i, 90, 3), np.uint8) for i in range(ROWS)],
    "mask": list(rng.integers(1, 9, (ROWS, 8, 9), np.uint8)),
    "boxes": [rng.random((i % 3, 4), np.float32).cumsum(axis=1) + 1 for i in range(ROWS)],
    "outlines": [[[[1, 1], [i + 1, 1], [1, 2]]] for i in range(ROWS)],
    "lists": [list(range(1, i + 2)) for i in range(ROWS)],
    "vector": rng.random((ROWS, 8), np.float32) + 1,
    "when": [np.datetime64(10**15 + i, "us") for i in range(ROWS)],
    "meta": [{"k": [i + 1]} for i in range(ROWS)],
    "text": [str(i) for i in range(ROWS)],
}


@pytest.fixture(scope="module", params=["folder", "memory"])
def ds(request, tmp_path_factory):
    folder = request.param == "folder"
    url = str(tmp_path_factory.mktemp("own") / "a.lake") if folder else "memory://owned-batches"
    ds = dl.create(url, SCHEMA)
    ds.append(VALUES)
    ds.commit("rows")
    return ds


def spoil(value):
    """Overwrite everything that is writable; return how much that was."""
    match value:
        case dict():
            done = sum(map(spoil, value.values()))
            value.clear()
            return done + 1
        case list() | tuple():
            done = sum(map(spoil, value))
            if isinstance(value, list):
                value.clear()
            return done
        case torch.Tensor():
            if value.is_nested:
                value = value.values()
            value.zero_()
            return 1
        case np.ndarray() if value.flags.writeable:
            value[...] = np.zeros((), value.dtype)
            return 1
    return 0


def plain(value):
    """Return a deep copy that can be compared with `==`."""
    match value:
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case torch.Tensor():
            return plain(value.values().numpy() if value.is_nested else value.numpy())
        case np.ma.MaskedArray():
            return [plain(value.data), plain(np.ma.getmaskarray(value))]
        case np.ndarray():
            return str(value.dtype), value.shape, value.tobytes()
    return repr(value)


OPTIONS = {
    "as they are": {},
    "decoded": {"cache": "decoded"},
    "disk": {"cache": "disk"},
    "nothing held": {"cache": None},
    "no worker": {"num_workers": 0},
    "a process": {"workers": "processes", "num_workers": 1},
    "small budget": {"memory_budget": 1},
    "blocks": {"shuffle": "block", "memory_budget": 1},
    "lists": {"collate": "list"},
    "padded": {"collate": "pad"},
    "a plain transform": {"transform": dict},
    "a transform that adds": {"transform": lambda s: {**s, "more": s["x"]}, "num_workers": 0},
}


@pytest.fixture(autouse=True)
def cache_folder(monkeypatch, tmp_path):
    """Cache blocks on disk in a folder of the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
@pytest.mark.parametrize("batch_size", [5])
def test_writing_into_a_batch_changes_no_other(ds, batch_size, options):
    expected = [plain(batch) for batch in ds.batches(batch_size, **options)]
    loader, spoilt = ds.batches(batch_size, **options), 0
    for _ in range(3):
        loader.set_epoch(0)
        for number, batch in enumerate(loader):
            assert plain(batch) == expected[number]
            spoilt += spoil(batch)
    assert spoilt
    assert {name: plain(ds[name][:]) for name in SCHEMA} == as_stored(ds)


def as_stored(ds):
    again = dl.open(ds.url)
    return {name: plain(again[name][:]) for name in SCHEMA}


def test_transform_that_writes_in_place_changes_no_later_epoch(ds):
    def spoiling(sample):
        out = {"x": int(sample["x"])}
        spoil(sample)
        return out

    for cache in ("encoded", "decoded"):
        loader = ds.batches(5, transform=spoiling, cache=cache)
        for _ in range(3):
            assert [x for batch in loader for x in batch["x"].tolist()] == [*range(1, ROWS + 1)]
    (whole,) = ds.batches(ROWS)
    assert whole["x"].tolist() == [*range(1, ROWS + 1)]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"cache": "decoded"},
        {"cache": "disk"},
        {"collate": "ragged"},
        {"workers": "processes", "num_workers": 1},
    ],
    ids=["as they are", "decoded", "disk", "ragged", "a process"],
)
def test_tensors_that_share_a_batch_share_nothing_else(ds, options):
    columns = [name for name in SCHEMA if options.get("collate") != "ragged" or name != "sizes"]
    expected = [plain(batch) for batch in ds.pytorch(5, columns=columns, **options)]
    loader = ds.pytorch(5, columns=columns, **options)
    for _ in range(2):
        loader.set_epoch(0)
        for number, batch in enumerate(loader):
            assert plain(batch) == expected[number]
            assert spoil(batch)


@pytest.mark.parametrize("options", [{}, {"cache": "decoded"}, {"cache": "disk"}], ids=str)
def test_batches_of_a_mix_share_nothing(ds, options):
    mix = dl.mix({ds[:5]: 1, ds[5:]: 1}, length=2 * ROWS)
    expected = [plain(batch) for batch in mix.batches(5, **options)]
    loader = mix.batches(5, **options)
    for _ in range(2):
        loader.set_epoch(0)
        for number, batch in enumerate(loader):
            assert plain(batch) == expected[number]
            assert spoil(batch)


def exposed(value):
    """Return NumPy arrays over the memory of any framework's values, writable or not."""
    match value:
        case dict():
            return [array for item in value.values() for array in exposed(item)]
        case list() | tuple():
            return [array for item in value for array in exposed(item)]
        case np.ndarray() if value.dtype.kind in "biuf":
            return [value]
    if hasattr(value, "flat_values"):  # a ragged tensor
        value = value.flat_values
    if hasattr(value, "numpy") and value.dtype != "string":
        return [value.numpy()]
    return [np.asarray(value)] if hasattr(value, "unsafe_buffer_pointer") else []


def overwrite(array):
    """Overwrite memory, even of arrays that claim to be read-only."""
    if array.nbytes:
        ctypes.memset(array.ctypes.data, 0, array.nbytes)
    return 1


@pytest.mark.parametrize("options", [{}, {"cache": "decoded"}, {"cache": "disk"}], ids=str)
@pytest.mark.parametrize("exporter", ["tensorflow", "jax"])
def test_memory_shared_with_frameworks_belongs_to_the_batch(ds, exporter, options):
    columns = [name for name in SCHEMA if name not in ("meta", "sizes", "outlines")]

    def epoch():
        loader.loader.set_epoch(0) if exporter == "tensorflow" else loader.set_epoch(0)
        for batch in loader:
            arrays = exposed(batch)
            yield [array.tobytes() for array in arrays]
            assert sum(map(overwrite, arrays)) > 5

    loader = getattr(ds, exporter)(5, columns=columns, **options)
    first = list(epoch())
    assert [list(epoch()) for _ in range(2)] == [first] * 2
    assert {name: plain(ds[name][:]) for name in SCHEMA} == as_stored(ds)


def test_samples_of_a_dataset_share_nothing(ds):
    dataset = ds.pytorch_dataset()
    expected = [plain(dataset[i]) for i in range(ROWS)]
    for _ in range(2):
        for number in range(ROWS):
            sample = dataset[number]
            assert plain(sample) == expected[number]
            spoil(sample)
