"""Rows of a view as PyTorch datasets for a user's own DataLoader."""

import pickle

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

import deeplake_lite as dl
from deeplake_lite.errors import OptionError
from deeplake_lite.loader.frameworks.torch_datasets import WorkerShares


@pytest.fixture
def ds(make_lake):
    return make_lake(
        {
            "x": "int32",
            "label": dl.ClassLabel(["a", "b"]),
            "v": dl.Array("float32", (None,), nullable=True),
            "name": "text",
        },
        x=range(200),
        label=[i % 2 for i in range(200)],
        v=[None if i % 5 == 0 else [1.0] * (i % 3) for i in range(200)],
        name=[str(i) for i in range(200)],
    )


def draw(sample, rng):
    """Add a random number; at module level, so that a spawned process finds it."""
    return {"x": sample["x"], "drawn": float(rng.random())}


def xs(batches):
    return [int(x) for batch in batches for x in batch["x"]]


# ---- by number


def test_sample_is_a_row_of_tensors(ds):
    dataset = ds.pytorch_dataset(columns=["x", "label", "v", "name"])
    assert len(dataset) == 200
    assert dataset.columns == ("x", "label", "v", "name")
    sample = dataset[np.int64(-198)]
    assert (sample["x"], sample["x"].dtype) == (torch.tensor(2), torch.int32)
    assert (sample["label"], sample["label"].dtype) == (torch.tensor(0), torch.int64)
    assert sample["v"].tolist() == [1, 1]
    assert sample["name"] == "2"
    assert dataset[0]["v"] is None
    with pytest.raises(IndexError, match="200"):
        dataset[200]


def test_several_rows_are_read_at_once(ds, monkeypatch):
    dataset = ds.pytorch_dataset(columns=["x"])
    reads, read = [], type(dataset._loader.resources.samples).read
    monkeypatch.setattr(
        type(dataset._loader.resources.samples),
        "read",
        lambda self, positions: reads.append(positions.tolist()) or read(self, positions),
    )
    loader = DataLoader(dataset, batch_size=4, sampler=[7, 3, 199, 7, 0])
    assert xs(loader) == [7, 3, 199, 7, 0]
    assert reads == [[7, 3, 199, 7], [0]]


def test_collate_makes_the_batches_of_the_loader(ds):
    for how in ({"v": "pad"}, {"v": "ragged"}, {"v": "list"}, None):
        dataset = ds.pytorch_dataset(collate=how)
        (ours,) = DataLoader(dataset, batch_size=200, collate_fn=dataset.collate)
        (expected,) = ds.pytorch(200, collate=how)
        assert ours.keys() == expected.keys()
        for name, value in expected.items():
            if isinstance(value, torch.Tensor) and value.layout is torch.jagged:
                np.testing.assert_array_equal(ours[name].values(), value.values())
            elif isinstance(value, torch.Tensor):
                np.testing.assert_array_equal(ours[name], value)
                assert ours[name].dtype == value.dtype
            elif name == "v":
                assert [v if v is None else v.tolist() for v in ours[name]] == [
                    v if v is None else v.tolist() for v in value
                ]
            else:
                assert ours[name] == value


def test_nullable_column_after_a_transform_says_which_rows_are_null(make_lake):
    ds = make_lake({"s": dl.Scalar("float32", nullable=True)}, s=[None, 1.5])
    dataset = ds.pytorch_dataset(transform=lambda sample: sample)
    (batch,) = DataLoader(dataset, batch_size=2, collate_fn=dataset.collate)
    assert batch["s"].tolist() == [0, 1.5]
    assert batch["s_valid"].tolist() == [False, True]


def test_transform_draws_the_same_numbers_whoever_calls(ds):
    dataset = ds.pytorch_dataset(transform=draw, seed=4)
    together = dataset.__getitems__([5, 6])
    assert dataset[6] == together[1]
    assert {b["drawn"].item() for b in ds.pytorch(1, transform=draw, seed=4)} >= {
        sample["drawn"] for sample in together
    }
    dataset.set_epoch(1)
    assert dataset[6] != together[1]


def test_dataset_survives_a_commit_and_pickling(ds):
    dataset = ds[::-1].pytorch_dataset(columns=["x"], transform=draw)
    dataset.set_epoch(2)
    expected = dataset[3]
    again = pickle.loads(pickle.dumps(dataset))
    ds["x"][196] = 0
    ds.commit("changed")
    assert (again[3], again.epoch, len(again)) == (expected, 2, 200)
    assert dataset[3] == expected
    ds["x"][0] = 9
    with pytest.raises(dl.UncommittedError, match="ommit"):
        pickle.dumps(ds.pytorch_dataset())


def test_dataset_of_no_rows_is_empty(make_lake):
    ds = make_lake({"x": "int32"})
    assert len(ds.pytorch_dataset()) == 0
    assert list(ds.pytorch_dataset("iterable")) == []


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"style": "random"}, ValueError, "style must be 'map' or 'iterable', but it is 'random'"),
        (
            {"shuffle": True},
            ValueError,
            "style 'map' has no option 'shuffle'.*use style='iterable'",
        ),
        ({"batch_size": 3}, ValueError, "has no option 'batch_size'"),
        ({"collate": list}, TypeError, "collate_fn"),
        ({"columns": ["z"]}, dl.ColumnNotFoundError, "z"),
    ],
)
def test_invalid_argument_of_a_dataset_is_an_error(ds, options, error, message):
    with pytest.raises(error, match=message):
        ds.pytorch_dataset(**options)


# ---- in sequence


def test_epoch_equals_that_of_the_loader(ds):
    dataset = ds.pytorch_dataset("iterable", columns=["x"], shuffle=True, seed=2)
    loader = ds.pytorch(200, columns=["x"], shuffle=True, seed=2)
    for epoch in range(2):
        dataset.set_epoch(epoch)
        assert [int(sample["x"]) for sample in dataset] == xs(loader)


@pytest.mark.parametrize("last", ["uneven", "drop", "pad"])
@pytest.mark.parametrize("world_size", [1, 2, 3, 4])
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("n", [0, 1, 5, 12, 25])
def test_workers_and_ranks_share_the_positions(n, workers, world_size, last):
    places = np.arange(n)
    by_rank = []
    for rank in range(world_size):
        taken = []
        for worker in range(workers):
            shares = WorkerShares(n, 2, rank, world_size, last, worker, workers)
            pieces = [shares.of(places[slice(*shares.span(k))]) for k in range(len(shares))]
            assert all(len(piece) == 2 for piece in pieces[:-1])
            assert all(len(piece) for piece in pieces)
            taken.append([place for piece in pieces for place in piece.tolist()])
        by_rank.append(taken)
    everything = [p for taken in by_rank for some in taken for p in some]
    counts = {tuple(map(len, taken)) for taken in by_rank}
    rest = n % world_size
    match last:
        case "uneven":
            assert sorted(everything) == list(range(n))
        case "drop":
            assert sorted(everything) == list(range(n - rest))
            assert len(counts) == 1
        case "pad":
            assert set(everything) == set(range(n))
            assert len(everything) == n + -n % world_size
            assert len(counts) == 1


@pytest.mark.filterwarnings("ignore:Rows of epoch 0 are read again")
@pytest.mark.parametrize("seen", [0, 1, 64, 150])
def test_state_resumes_at_the_next_sample(ds, seen):
    dataset, again = (ds.pytorch_dataset("iterable", shuffle=True) for _ in range(2))
    whole = [int(sample["x"]) for sample in dataset]
    samples = iter(dataset)
    taken = [int(next(samples)["x"]) for _ in range(seen)]
    again.load_state_dict(dataset.state_dict())
    assert taken + [int(sample["x"]) for sample in again] == whole
    assert [int(sample["x"]) for sample in again] == whole


def test_state_for_a_different_number_of_workers_or_rows_is_an_error(ds):
    state = ds.pytorch_dataset("iterable").state_dict()
    with pytest.raises(ValueError, match=r"on rank 0 of 1, but this is .* on rank 1 of 2. Use the"):
        ds.pytorch_dataset("iterable", rank=1, world_size=2).load_state_dict(state)
    with pytest.raises(ValueError, match="another view"):
        ds[:10].pytorch_dataset("iterable").load_state_dict(state)


@pytest.mark.parametrize("state", [None, [], {}, "x", {"order": {}}, {"share": 3, "order": None}])
def test_invalid_state_is_refused(ds, state):
    share = isinstance(state, dict) and "share" in state
    with pytest.raises(ValueError, match="belongs to 3" if share else "state must be"):
        ds.pytorch_dataset("iterable").load_state_dict(state)


# ---- in workers


def test_workers_read_rows_by_number(ds):
    dataset = ds.pytorch_dataset()
    options = {"batch_size": 32, "shuffle": True, "collate_fn": dataset.collate}
    loader = DataLoader(dataset, num_workers=2, multiprocessing_context="spawn", **options)
    batches = list(loader)
    assert sorted(xs(batches)) == list(range(200))
    assert [int(name) for batch in batches for name in batch["name"]] == xs(batches)


@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated")  # torchdata 0.11 calls it
def test_workers_share_the_rows_and_their_states_resume(ds):
    dataset = ds.pytorch_dataset("iterable", columns=["x"], shuffle=True)
    options = {"batch_size": 16, "num_workers": 2, "multiprocessing_context": "forkserver"}
    loader = StatefulDataLoader(dataset, **options)
    batches, state = [], None
    for number, batch in enumerate(loader):
        batches.append(batch)
        if number == 4:
            state = loader.state_dict()
    assert sorted(xs(batches)) == list(range(200))
    again = StatefulDataLoader(dataset, **options)
    again.load_state_dict(state)
    assert xs(again) == xs(batches[5:])


def test_forked_worker_says_how_to_start_it(ds):
    dataset = ds.pytorch_dataset(columns=["x"])
    assert dataset[0]["x"] == 0
    with pytest.raises(dl.ForkedError, match=r'DataLoader.*multiprocessing_context="forkserver"'):
        list(DataLoader(dataset, num_workers=1, multiprocessing_context="fork"))


@pytest.mark.parametrize("row_ids", [False, True])
def test_collate_accepts_samples_changed_by_others(row_ids):
    ds = dl.create("memory://changed", {"x": "float32", "t": "text"}, overwrite=True)
    ds.append({"x": [1.0, 2.0], "t": ["a", "b"]})
    dataset = ds.pytorch_dataset(row_ids=row_ids)
    samples = [dataset[0], dataset[1]]
    whole = dataset.collate(samples)
    fewer = dataset.collate([{k: v for k, v in s.items() if k != "t"} for s in samples])
    assert fewer.keys() == whole.keys() - {"t"}
    more = dataset.collate([{**s, "more": torch.ones(2)} for s in samples])
    assert more.keys() == {*whole, "more"}
    assert more["more"].tolist() == [[1, 1], [1, 1]]
    assert all(torch.equal(b["x"], whole["x"]) for b in (fewer, more))
    renamed = dataset.collate([{"y": s["x"]} for s in samples])
    assert {name: values.tolist() for name, values in renamed.items()} == {"y": [1, 2]}
    with pytest.raises(OptionError, match="same keys"):
        dataset.collate([samples[0], {"x": samples[1]["x"]}])


def noise(sample):
    return {"x": sample["x"] + NOISE.random()}


NOISE = np.random.default_rng(0)


@pytest.mark.parametrize(
    "options",
    [{"transform": draw}, {"transform": noise}, {"style": "iterable", "shuffle": True}],
    ids=["rng", "generator", "shuffle"],
)
def test_repeated_epoch_is_reported_once(ds, options):
    dataset = ds.pytorch_dataset(columns=["x"], **options)
    loader = DataLoader(dataset, batch_size=64)
    list(loader)
    with pytest.warns(UserWarning, match=r"epoch 0 .* Call dataset\.set_epoch\(number\) before"):
        list(loader)
    list(loader)


@pytest.mark.parametrize("style", ["map", "iterable"])
def test_epochs_that_are_set_or_do_not_matter_are_not_reported(ds, style):
    plain = ds.pytorch_dataset(style=style, columns=["x"], transform=dict)
    numbered = ds.pytorch_dataset(style=style, columns=["x"], transform=draw)
    drawn = []
    for epoch in range(3):
        numbered.set_epoch(epoch)
        list(DataLoader(plain, batch_size=64))
        drawn += [
            x for batch in DataLoader(numbered, batch_size=64) for x in batch["drawn"].tolist()
        ]
    assert len(set(drawn)) == 600


def test_repeated_epoch_of_workers_is_reported(ds):
    dataset = pickle.loads(pickle.dumps(ds.pytorch_dataset(columns=["x"], transform=draw)))
    list(DataLoader(dataset, batch_size=64))
    with pytest.warns(UserWarning, match="set_epoch"):
        list(DataLoader(pickle.loads(pickle.dumps(dataset)), batch_size=64))
