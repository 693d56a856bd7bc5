"""torchdata's StatefulDataLoader resumes our datasets at the next batch from any position."""

import pickle

import pytest
from torchdata.stateful_dataloader import StatefulDataLoader

import deeplake_lite as dl

ROWS = 25

pytestmark = [
    pytest.mark.filterwarnings("ignore:'set_vital' is deprecated"),  # torchdata 0.11
    pytest.mark.filterwarnings("ignore:Rows of epoch 0 are read again"),  # to compare epochs
]


@pytest.fixture(scope="module")
def view(tmp_path_factory):
    ds = dl.create(str(tmp_path_factory.mktemp("lakes") / "numbers.lake"), {"x": "int32"})
    ds.append({"x": range(ROWS)})
    ds.commit("numbers")
    return ds


KINDS = [
    ("in order", 0),
    ("shuffled", 0),
    ("shuffled", 2),
    ("by number", 0),
    ("by number", 2),
]
"""How rows are delivered, and by how many workers."""


@pytest.fixture(params=KINDS, ids="{0[0]}, {0[1]} workers".format)
def make(request, view):
    """Make a loader over rows in sequence, or rows that it requests by number."""
    kind, workers = request.param

    def loader(batch_size, *, stay=False, **options):
        shuffled = {"shuffle": True, "seed": 3} if kind == "shuffled" else {}
        style = "map" if kind == "by number" else "iterable"
        dataset = view.pytorch_dataset(style, columns=["x"], **shuffled)
        if workers:
            options |= {"num_workers": workers, "multiprocessing_context": "forkserver"}
            options |= {"persistent_workers": stay}
        return StatefulDataLoader(dataset, batch_size=batch_size, **options)

    return loader


def xs(batch):
    return batch["x"].tolist()


def epoch_with_states(loader):
    """Return an epoch's batches and the state before each, after the last, and after the end."""
    batches, states, iterator = [], [], iter(loader)
    states.append(pickle.dumps(loader.state_dict()))
    for batch in iterator:
        batches.append(xs(batch))
        states.append(pickle.dumps(loader.state_dict()))
    return batches, states, pickle.dumps(loader.state_dict())


def check_resumed(make, batches, states, end=None, **options):
    """Check that a loader that loads any of the states returns the rest, and then a whole epoch.

    Each epoch may start processes. So only an odd and an even state and that after the end are
    loaded, and only the last goes on to a whole epoch.
    """
    states = dict(enumerate(states))
    if make(**options).num_workers:
        states = {n: states[n] for n in (1, 2 * (len(batches) // 2))}
    if end is not None:
        states["end"] = end
    for seen, state in states.items():
        loader = make(**options)
        loader.load_state_dict(pickle.loads(state))
        # After the end, the whole next epoch follows.
        assert [xs(batch) for batch in loader] == batches[0 if seen == "end" else seen :], seen
        if seen == [*states][-1]:
            assert [xs(batch) for batch in loader] == batches, seen


@pytest.mark.parametrize("batch_size", [5, 6, 2 * ROWS])
def test_every_state_of_an_epoch_resumes_its_rest(make, batch_size):
    batches, states, end = epoch_with_states(make(batch_size))
    assert sorted(x for batch in batches for x in batch) == list(range(ROWS))
    check_resumed(make, batches, states, end, batch_size=batch_size)


def test_states_of_loaders_that_drop_the_last_batch_resume(make):
    options = {"batch_size": 6, "drop_last": True}
    batches, states, end = epoch_with_states(make(**options))
    check_resumed(make, batches, states, end, **options)


def test_persistent_workers_restart_each_epoch_even_after_an_abandoned_one(make):
    options = {"batch_size": 6, "stay": True}
    loader = make(**options)
    batches, _, _ = epoch_with_states(loader)
    abandoned = iter(loader)
    next(abandoned), next(abandoned)
    again, states, end = epoch_with_states(loader)
    assert again == batches
    check_resumed(make, batches, states, end, **options)


def test_states_between_worker_snapshots_resume(make):
    options = {"batch_size": 9, "snapshot_every_n_steps": 2}
    batches, states, end = epoch_with_states(make(**options))
    check_resumed(make, batches, states, end, **options)


@pytest.mark.parametrize("make", [k for k in KINDS if k[0] == "shuffled"], indirect=True)
def test_epoch_after_a_resumed_one_is_the_one_that_was_set(make):
    batches, states, _ = epoch_with_states(make(6))
    loader = make(6)
    loader.dataset.set_epoch(1)
    following = [xs(batch) for batch in loader]
    assert following != batches
    for seen, state in [*enumerate(states)][1::3]:
        resumed = make(6)
        resumed.load_state_dict(pickle.loads(state))
        assert [xs(batch) for batch in resumed] == batches[seen:]
        resumed.dataset.set_epoch(1)
        assert [xs(batch) for batch in resumed] == following


@pytest.mark.parametrize("seen", [0, 1, ROWS - 1, ROWS])
def test_states_of_a_dataset_and_of_its_iterator_resume(view, seen):
    dataset, again = (view.pytorch_dataset("iterable", shuffle=True) for _ in range(2))
    whole = [int(sample["x"]) for sample in dataset]
    samples = iter(dataset)
    taken = [int(next(samples)["x"]) for _ in range(seen)]
    state = samples.state_dict()
    assert dataset.state_dict() == state
    again.load_state_dict(state)
    assert taken + [int(sample["x"]) for sample in again] == whole
    resumed = iter(again)
    resumed.load_state_dict(state)
    assert resumed.state_dict() == state
    assert taken + [int(sample["x"]) for sample in resumed] == whole
    assert [int(sample["x"]) for sample in again] == whole


def test_finished_iterator_stays_at_its_end_and_its_dataset_restarts(view):
    dataset, again = (view.pytorch_dataset("iterable", shuffle=True) for _ in range(2))
    samples = iter(dataset)
    whole = [int(sample["x"]) for sample in samples]
    again.load_state_dict(dataset.state_dict())
    assert [int(sample["x"]) for sample in again] == whole
    ended = iter(again)
    ended.load_state_dict(samples.state_dict())
    assert list(ended) == []
    assert [int(sample["x"]) for sample in again] == whole
