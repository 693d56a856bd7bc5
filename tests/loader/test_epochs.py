"""An epoch starts at the first `next`; an unused iterator changes nothing."""

import lightning
import pytest
import torch
from accelerate import Accelerator
from lightning.pytorch.trainer.connectors.data_connector import _check_dataloader_iterable
from lightning.pytorch.trainer.states import TrainerFn
from torch.utils.data import DataLoader
from torchdata.stateful_dataloader import StatefulDataLoader

import deeplake_lite as dl

ROWS, BATCH = 40, 4
OPTIONS = {"shuffle": True, "seed": 5, "columns": ["x"]}


class Source:
    """Batches of one framework, and the loader that holds their state."""

    def __init__(self, batches, loader):
        self.batches, self.loader = batches, loader

    def __iter__(self):
        return (rows_of(batch) for batch in iter(self.batches))


def rows_of(batch):
    return [int(x) for x in batch["x"]]


def of_tensorflow(view, **options):
    dataset = view.tensorflow(BATCH, **OPTIONS, **options)
    return Source(dataset, dataset.loader)


def of_method(name):
    def make(view, **options):
        loader = getattr(view, name)(BATCH, **OPTIONS, **options)
        return Source(loader, loader)

    return make


def of_mix(view, **options):
    loader = dl.mix([(view[:20], 1), (view[20:], 1)], seed=1).batches(BATCH, **OPTIONS, **options)
    return Source(loader, loader)


FRAMEWORKS = {
    "numpy": of_method("batches"),
    "mix": of_mix,
    "pytorch": of_method("pytorch"),
    "jax": of_method("jax"),
    "tensorflow": of_tensorflow,
}


def unused(source):
    """Get an iterator the way trainers do, and never take a batch."""
    iter(source.batches)
    kept = iter(source.batches)
    del kept
    if not hasattr(source.batches, "element_spec"):
        iter(source.batches).close()
    _check_dataloader_iterable(source.batches, None, TrainerFn.FITTING)


@pytest.fixture(params=FRAMEWORKS)
def make(request, numbers):
    """Return the function that makes sources of one framework."""
    made = []

    def of_framework():
        made.append(FRAMEWORKS[request.param](numbers))
        return made[-1]

    yield of_framework
    for source in made:
        source.loader.close()


def test_unused_iterator_consumes_no_epoch_and_drops_no_state(make):
    expected, source = make(), make()
    epochs = [list(expected) for _ in range(2)]
    assert epochs[0] != epochs[1]
    before = source.loader.state_dict()
    unused(source)
    assert source.loader.state_dict() == before
    assert source.loader.epoch == 0
    assert list(source) == epochs[0]
    unused(source)
    assert list(source) == epochs[1]

    expected.loader.set_epoch(0)
    batches = iter(expected)
    seen = [next(batches) for _ in range(3)]
    state = expected.loader.state_dict()
    assert state["consumed"] == 3 * BATCH
    unused(expected)
    assert expected.loader.state_dict() == state
    for _ in range(2):
        source.loader.load_state_dict(state)
        unused(source)
        assert source.loader.state_dict() == state
        assert seen + list(source) == epochs[0]
    source.loader.set_epoch(1)
    unused(source)
    assert list(source) == epochs[1]


def test_state_loaded_after_iter_takes_effect(make):
    source = make()
    whole = list(source)
    source.loader.set_epoch(0)
    batches = iter(source)
    next(batches)
    state = source.loader.state_dict()
    fresh = make()
    early = iter(fresh)
    fresh.loader.load_state_dict(state)
    assert list(early) == whole[1:]


def test_two_iterators_are_two_epochs_in_the_order_of_their_first_batches(make):
    expected = make()
    epochs = [list(expected) for _ in range(3)]
    source = make()
    first, second = iter(source), iter(source)
    late = next(second)
    early = next(first)
    assert (late, early) == (epochs[0][0], epochs[1][0])
    assert [late, *second] == epochs[0]
    assert [early, *first] == epochs[1]
    assert source.loader.epoch == 1
    assert list(source) == epochs[2]


def test_abandoned_iterator_is_one_epoch(make):
    expected = make()
    epochs = [list(expected) for _ in range(2)]
    source = make()
    batches = iter(source)
    assert next(batches) == epochs[0][0]
    state = source.loader.state_dict()
    del batches
    assert source.loader.state_dict() == state
    assert list(source) == epochs[1]
    source.loader.load_state_dict(state)
    assert list(source) == epochs[0][1:]


# ---- DataLoaders over our datasets


@pytest.mark.filterwarnings("ignore:Rows of epoch 0 are read again")
def test_unused_iterator_over_a_dataset_drops_no_state(numbers):
    dataset, again = (numbers.pytorch_dataset("iterable", shuffle=True) for _ in range(2))
    whole = [int(sample["x"]) for sample in dataset]
    samples = iter(dataset)
    seen = [int(next(samples)["x"]) for _ in range(7)]
    state = dataset.state_dict()
    again.load_state_dict(state)
    iter(again)
    iter(DataLoader(again, batch_size=4))
    _check_dataloader_iterable(DataLoader(again, batch_size=4), None, TrainerFn.FITTING)
    assert again.state_dict() == state
    rest = [x for batch in DataLoader(again, batch_size=4) for x in rows_of(batch)]
    assert seen + rest == whole
    again.load_state_dict(state)
    again.set_epoch(1)
    assert sorted(int(sample["x"]) for sample in again) == sorted(whole)


@pytest.mark.filterwarnings("ignore:Rows of epoch 0 are read again")
def test_two_iterators_over_a_dataset_count_independently(numbers):
    dataset = numbers.pytorch_dataset("iterable", shuffle=True)
    first, second = iter(dataset), iter(dataset)
    for _ in range(5):
        next(first)
    for _ in range(3):
        next(second)
    next(first)
    again = numbers.pytorch_dataset("iterable", shuffle=True)
    again.load_state_dict(dataset.state_dict())
    assert [int(s["x"]) for s in again] == [int(s["x"]) for s in second]


@pytest.mark.filterwarnings("ignore:Rows of epoch 0 are read again")
@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated:UserWarning")  # torchdata 0.11
def test_stateful_data_loader_resumes_after_an_unused_iterator(numbers):
    def make():
        dataset = numbers.pytorch_dataset("iterable", shuffle=True)
        return StatefulDataLoader(dataset, batch_size=4)

    loader = make()
    whole = [rows_of(batch) for batch in loader]
    batches = iter(loader)
    seen = [rows_of(next(batches)) for _ in range(3)]
    state = loader.state_dict()
    again = make()
    again.load_state_dict(state)
    assert seen + [rows_of(batch) for batch in again] == whole
    again.load_state_dict(state)
    iter(again)
    assert again.state_dict()["_num_yielded"] == 3


# ---- trainers


class Seen(lightning.LightningModule):
    """A model that records the rows of every batch."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(1, 1)
        self.trained, self.validated = [], []

    def training_step(self, batch, _):
        self.trained.append(rows_of(batch))
        return self.layer(batch["x"][:, None].float()).sum()

    def validation_step(self, batch, _):
        self.validated.append(rows_of(batch))

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 1e-9)


@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # Lightning 2.6 with PyTorch 2.15
def test_lightning_trains_from_epoch_0_and_resumes_from_the_loaded_state(numbers):
    expected = numbers.pytorch(BATCH, **OPTIONS)
    epochs = [[rows_of(batch) for batch in expected] for _ in range(3)]

    def fitted(loader):
        module = Seen()
        lightning.Trainer(
            accelerator="cpu", max_epochs=2, logger=False, enable_progress_bar=False,
            enable_model_summary=False, enable_checkpointing=False,
        ).fit(module, loader, numbers.pytorch(BATCH, columns=["x"]))  # fmt: skip
        return module

    module = fitted(numbers.pytorch(BATCH, **OPTIONS))
    assert module.trained == epochs[0] + epochs[1]
    expected.set_epoch(0)
    next(iter(expected))
    loader = numbers.pytorch(BATCH, **OPTIONS)
    loader.load_state_dict(expected.state_dict())
    assert fitted(loader).trained == epochs[0][1:] + epochs[1]


def test_accelerate_sees_the_epochs_in_order(numbers):
    expected = numbers.pytorch(BATCH, **OPTIONS)
    epochs = [[rows_of(batch) for batch in expected] for _ in range(2)]
    prepared = Accelerator(cpu=True).prepare(numbers.pytorch(BATCH, **OPTIONS))
    iter(prepared)
    assert [rows_of(batch) for batch in prepared] == epochs[0]
    iter(prepared)
    assert [rows_of(batch) for batch in prepared] == epochs[1]
