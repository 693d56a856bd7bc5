"""PyTorch batches on a GPU have the values of those on the CPU, in memory of their own."""

import accelerate
import lightning
import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import deeplake_lite as dl
from tests.dataset.everything import SCHEMA, VALUES

pytestmark = pytest.mark.gpu
ROWS = 256


def leaves(value):
    """Return the tensors and other values of a batch, in order."""
    if isinstance(value, dict):
        return [leaf for key in value for leaf in leaves(value[key])]
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in leaves(item)]
    if isinstance(value, torch.Tensor) and value.is_nested:
        return list(value.unbind())
    return [value]


def tensors(value):
    return [leaf for leaf in leaves(value) if isinstance(leaf, torch.Tensor)]


def assert_equal_values(there, here):
    assert len(there) == len(here)
    for a, b in zip(there, here, strict=True):
        if not isinstance(b, torch.Tensor):
            assert type(a) is type(b)
            np.testing.assert_equal(a, b)
            continue
        assert a.is_cuda
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert torch.equal(a.cpu().nan_to_num(), b.nan_to_num())


@pytest.fixture(scope="module")
def everything():
    """Make a lake with all types and 96 rows."""
    lake = dl.create("memory://gpu-everything", SCHEMA)
    for _ in range(32):
        lake.append(VALUES)
    lake.drop_column("link")  # a link to something that is not an image
    lake.drop_column("pixels")  # greyscale and colour images have no common shape
    lake.commit("Rows")
    return lake


@pytest.fixture(scope="module")
def numbers():
    """Make a lake of 256 arrays of 4 MB; all numbers of row i are i."""
    ds = dl.create("memory://gpu-numbers", {"x": dl.Array("float32", (1024, 1024))})
    for start in range(0, ROWS, 64):
        rows = np.arange(start, start + 64, dtype=np.float32)
        ds.append({"x": np.broadcast_to(rows[:, None, None], (64, 1024, 1024))})
    ds.commit("Rows")
    return ds


@pytest.mark.parametrize("collate", ["pad", "list", None])
def test_batches_of_all_types_equal_those_on_the_cpu(everything, collate):
    options = {"shuffle": True, "seed": 3, "row_ids": True, "collate": collate, "mode": "RGB"}
    here, there = (everything.pytorch(7, device=d, **options) for d in ("cpu", "cuda"))
    for _ in range(2):
        batches = list(zip(there, here, strict=True))
        assert len(batches) == 14
        for a, b in batches:
            assert list(a) == list(b)
            assert tensors(a)
            assert_equal_values(leaves(a), leaves(b))


def sums_with_a_slow_gpu(loader):
    """Return the first number and mean of each row, computed long after the CPU dropped it."""
    results = []
    for batch in loader:
        torch.cuda._sleep(20_000_000)
        x = batch["x"]
        results.append(torch.stack([x[:, 0, 0], x.amin((1, 2)), x.amax((1, 2))], 1))
        del batch, x
    return torch.cat(results).cpu()


@pytest.mark.parametrize("workers", [{}, {"workers": "processes"}], ids=["threads", "processes"])
def test_memory_is_not_reused_while_the_gpu_reads_it(numbers, workers):
    loader = numbers.pytorch(4, device="cuda", shuffle=True, seed=1, **workers)
    for _ in range(2):
        seen = sums_with_a_slow_gpu(loader)
        assert torch.equal(seen[:, 1], seen[:, 0])
        assert torch.equal(seen[:, 2], seen[:, 0])
        assert seen[:, 0].sort().values.tolist() == list(range(ROWS))


def test_batches_arrive_on_the_current_stream(numbers):
    with torch.cuda.stream(torch.cuda.Stream()):
        seen = sums_with_a_slow_gpu(numbers.pytorch(4, device="cuda:0"))
    torch.cuda.synchronize()
    assert seen[:, 1].tolist() == seen[:, 2].tolist() == list(range(ROWS))


def test_batch_belongs_to_the_caller(numbers):
    loader = numbers.pytorch(8, device="cuda")
    for _ in range(2):
        for number, batch in enumerate(loader):
            assert batch["x"][:, 0, 0].tolist() == list(range(8 * number, 8 * number + 8))
            batch["x"].fill_(-1)


def test_gpu_memory_does_not_grow(numbers):
    loader = numbers.pytorch(4, device="cuda")
    peaks = []
    for _ in range(4):
        torch.cuda.reset_peak_memory_stats()
        for batch in loader:
            batch["x"].sum()
        del batch
        peaks.append(torch.cuda.max_memory_allocated())
    assert max(peaks) <= 5 * 4 * 2**22  # the current batch, the next, and a margin
    assert peaks[-1] <= peaks[0] + 2**22


def test_epoch_resumes_on_the_gpu(numbers):
    loader = numbers.pytorch(8, device="cuda", shuffle=True, seed=5)
    whole = [batch["x"][:, 0, 0].tolist() for batch in loader]
    first = numbers.pytorch(8, device="cuda", shuffle=True, seed=5)
    batches = iter(first)
    begun = [next(batches)["x"][:, 0, 0].tolist() for _ in range(11)]
    second = numbers.pytorch(8, device="cuda", shuffle=True, seed=5)
    second.load_state_dict(first.state_dict())
    assert begun + [batch["x"][:, 0, 0].tolist() for batch in second] == whole


def test_cpu_tensors_of_a_transform_are_moved(numbers):
    loader = numbers.pytorch(
        8, device="cuda", transform=lambda row: {"s": torch.as_tensor(row["x"][0, :3]), "t": "a"}
    )
    for number, batch in enumerate(loader):
        assert batch["s"].is_cuda
        assert batch["s"][:, 2].tolist() == list(range(8 * number, 8 * number + 8))
        assert batch["t"] == ["a"] * 8


def test_data_loader_pins_the_batches_of_a_dataset(everything):
    view = everything[["image", "boxes", "x", "text"]]
    dataset = view.pytorch_dataset()
    loader = DataLoader(dataset, batch_size=6, collate_fn=dataset.collate, pin_memory=True)
    for batch, expected in zip(loader, view.pytorch(6), strict=True):
        assert batch["x"].is_pinned()
        assert torch.equal(batch["x"].to("cuda", non_blocking=True).cpu(), expected["x"])
        assert batch["text"] == expected["text"]


class Mean(lightning.LightningModule):
    """Learns one number, and records the first number of each row."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))
        self.seen = []

    def training_step(self, batch):
        assert batch["x"].device == self.weight.device
        self.seen += batch["x"][:, 0, 0].tolist()
        return ((batch["x"].mean() - self.weight) ** 2).mean()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 1e-6)


@pytest.mark.filterwarnings("ignore")  # a Lightning warning about its own set-up
@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_lightning_trains_on_every_row(numbers, device, tmp_path):
    model = Mean()
    trainer = lightning.Trainer(
        accelerator="gpu", devices=1, max_epochs=1, logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, default_root_dir=tmp_path,
    )  # fmt: skip
    trainer.fit(model, numbers.pytorch(8, shuffle=True, seed=0, device=device))
    assert sorted(model.seen) == list(range(ROWS))


def test_accelerate_passes_on_batches_that_are_already_on_its_device(numbers):
    accelerator = accelerate.Accelerator()
    loader = accelerator.prepare(numbers.pytorch(8, device=accelerator.device))
    seen = []
    for batch in loader:
        assert batch["x"].is_cuda
        seen += batch["x"][:, 0, 0].tolist()
    assert seen == list(range(ROWS))


def test_missing_gpu_is_refused(numbers):
    missing = f"cuda:{torch.cuda.device_count()}"
    with pytest.raises(dl.OptionError, match=missing):
        numbers.pytorch(8, device=missing)
