"""Tensor loaders in other training loops: torch.distributed, Lightning and Accelerate."""

import json
import os
import socket
import subprocess
import sys
from collections import Counter
from pathlib import Path

import lightning
import numpy as np
import pytest
import torch
from accelerate import Accelerator, skip_first_batches

import deeplake_lite as dl

SCRIPT = Path(__file__).with_name("rank_of_two.py")


def test_two_ranks_train_on_every_row_in_equally_many_batches(digits):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    address = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2"}
    ranks = [
        subprocess.Popen(
            [sys.executable, str(SCRIPT), digits.url],
            env={**os.environ, **address, "RANK": str(rank), "OMP_NUM_THREADS": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        done = [process.communicate(timeout=1_800) for process in ranks]
    finally:
        for process in ranks:
            process.kill()
    assert [process.returncode for process in ranks] == [0, 0], done
    result = [json.loads(out) for out, _ in done]
    for rank, (own, at, world_size, batches, *_) in enumerate(result):
        assert (own, at, world_size) == (rank, rank, 2)
        assert batches == 2 * 18  # 1,797 rows in batches of 2 × 50
    seen = Counter(row for _, _, _, _, rows, _, _ in result for row in rows)
    assert seen == dict.fromkeys(digits.row_ids.tolist(), 2)  # once in each of two epochs
    assert result[0][-1] == result[1][-1]
    losses = result[0][-2]
    assert np.mean(losses[-5:]) < losses[0] / 3


class Module(lightning.LightningModule):
    """A model that records the rows it saw, and writes a checkpoint after 40 batches."""

    def __init__(self, checkpoint):
        super().__init__()
        torch.manual_seed(0)
        self.checkpoint = checkpoint
        self.layers = torch.nn.Sequential(
            torch.nn.Flatten(), torch.nn.Linear(64, 32), torch.nn.ReLU(), torch.nn.Linear(32, 10)
        )
        self.seen, self.losses = [], []

    def training_step(self, batch, _):
        self.seen.append(batch["_row_id"].tolist())
        logits = self.layers(batch["image"] / 16)
        loss = torch.nn.functional.cross_entropy(logits, batch["label"])
        self.losses.append(loss.item())
        return loss

    def on_train_batch_end(self, *_):
        if self.checkpoint is not None and self.trainer.global_step == 40:
            self.trainer.save_checkpoint(self.checkpoint)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), 0.01)


def fit(view, checkpoint, *, resume=False):
    """Train for two epochs with Lightning; write a checkpoint after 40 batches, or resume."""
    trainer = lightning.Trainer(
        accelerator="cpu",
        max_epochs=2,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
    )
    module = Module(None if resume else checkpoint)
    loader = view.pytorch(64, shuffle=True, seed=3, row_ids=True)
    trainer.fit(module, loader, ckpt_path=checkpoint if resume else None)
    return module


@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # Lightning 2.6 with PyTorch 2.15
def test_lightning_trains_and_resumes_in_the_middle_of_an_epoch(digits, tmp_path):
    whole = fit(digits, tmp_path / "step 40.ckpt")
    assert len(whole.seen) == 2 * 29
    for epoch in (whole.seen[:29], whole.seen[29:]):
        assert sorted(row for rows in epoch for row in rows) == sorted(digits.row_ids.tolist())
    assert whole.seen[0] != whole.seen[29]
    assert np.mean(whole.losses[-5:]) < whole.losses[0] / 3
    rest = fit(digits, tmp_path / "step 40.ckpt", resume=True)
    assert rest.seen == whole.seen[40:]
    np.testing.assert_allclose(rest.losses, whole.losses[40:], rtol=1e-4)


def overfit(train, val):
    trainer = lightning.Trainer(
        accelerator="cpu",
        max_epochs=3,
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
        overfit_batches=2,
    )
    module = Module(None)
    trainer.fit(module, train, val)
    return module.seen


@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # Lightning 2.6 with PyTorch 2.15
@pytest.mark.filterwarnings("ignore:.*validation_step:UserWarning")
def test_lightning_overfits_the_first_batches_of_a_loader_without_shuffle(digits):
    seen = overfit(digits.pytorch(8, row_ids=True), digits.pytorch(8))
    first = [digits.row_ids[:8].tolist(), digits.row_ids[8:16].tolist()]
    assert seen == 3 * first


@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # Lightning 2.6 with PyTorch 2.15
@pytest.mark.filterwarnings("ignore:.*turning off:UserWarning")
@pytest.mark.parametrize("kind", ["view", "mix"])
def test_lightning_refuses_to_overfit_a_loader_whose_epochs_differ(digits, kind):
    rows = digits if kind == "view" else dl.mix({digits: 1}, length=40)
    loader = rows.pytorch(8, shuffle=kind == "view", row_ids=True)
    with pytest.raises(ValueError, match="needs to subclass"):
        overfit(loader, None)


@pytest.mark.parametrize("taken", [10, 29])
def test_accelerate_preserves_the_loader_and_its_state(digits, tmp_path, taken):
    def made():
        loader = digits.pytorch(64, shuffle=True, row_ids=True)
        model = torch.nn.Linear(64, 10)
        accelerator = Accelerator(cpu=True)
        model, prepared = accelerator.prepare(model, loader)
        assert prepared is loader
        accelerator.register_for_checkpointing(loader)
        return accelerator, model, loader

    accelerator, model, loader = made()
    batches = iter(loader)
    for _ in range(taken):
        model(next(batches)["image"].flatten(1).float()).sum().backward()
    accelerator.save_state(str(tmp_path))
    rest = [batch["_row_id"].tolist() for batch in batches] or [
        batch["_row_id"].tolist() for batch in loader
    ]
    accelerator, _, again = made()
    accelerator.load_state(str(tmp_path))
    assert [batch["_row_id"].tolist() for batch in again] == rest


# ---- accelerate.skip_first_batches


def ids(batches):
    return [batch["_row_id"].tolist() for batch in batches]


@pytest.mark.parametrize("skipped", [0, 1, 27, 28, 29, 40])
@pytest.mark.parametrize("options", [{}, {"drop_last": True}, {"last": "pad"}], ids=str)
def test_skipped_batches_are_left_out_and_the_next_epoch_is_complete(digits, skipped, options):
    def made():
        return digits.pytorch(64, columns=["label"], shuffle=True, row_ids=True, **options)

    one = made()
    whole = [ids(one), ids(one)]
    loader = Accelerator(cpu=True).prepare(made())
    rest = skip_first_batches(loader, skipped)
    if skipped <= len(whole[0]):  # otherwise accelerate's sampler has a negative length
        assert len(rest) == len(whole[0]) - skipped
    assert ids(rest) == whole[0][skipped:]
    assert loader.epoch == 0
    assert ids(loader) == whole[1]


def test_skipped_batches_are_neither_read_nor_made(digits):
    made = []
    loader = digits.pytorch(
        64, columns=["label"], transform=lambda s: made.append(s) or s, cache=None, num_workers=0
    )
    rest = iter(skip_first_batches(loader, 20))
    assert loader.state_dict()["consumed"] == 0  # nothing has been requested yet
    next(rest)
    assert len(made) == 64
    assert loader.state_dict()["consumed"] == 21 * 64


@pytest.mark.parametrize("taken", [3, 9])
def test_epoch_with_skipped_batches_is_resumed_at_its_position(digits, taken):
    def made():
        return digits.pytorch(64, columns=["label"], shuffle=True, row_ids=True)

    one = made()
    whole, following = ids(one), ids(one)
    loader = made()
    batches = iter(skip_first_batches(loader, 20))
    got = [next(batches)["_row_id"].tolist() for _ in range(taken)]
    state = loader.state_dict()
    again = made()
    again.load_state_dict(state)
    if taken == 9:
        assert ids(again) == following
        return
    assert len(skip_first_batches(again, 2)) == 29 - 20 - taken - 2
    assert got + ids(batches) == whole[20:]
    assert ids(skip_first_batches(again, 2)) == whole[20 + taken + 2 :]
    assert ids(again) == following


def test_two_epochs_with_skipped_batches_run_side_by_side(digits):
    loader = digits.pytorch(64, columns=["label"], shuffle=True, row_ids=True)
    rest = skip_first_batches(loader, 20)
    unused = iter(rest)
    first, second = iter(rest), iter(rest)
    pairs = [(a, b) for a, b in zip(ids(first), ids(second), strict=True)]
    one = digits.pytorch(64, columns=["label"], shuffle=True, row_ids=True)
    assert [a for a, _ in pairs] == ids(one)[20:]
    assert [b for _, b in pairs] == ids(one)[20:]
    assert ids(unused) == ids(one)[20:]


def test_indexing_the_dataset_of_a_loader_is_refused(digits):
    dataset = digits.pytorch(64).dataset
    assert len(dataset) == len(digits)
    with pytest.raises(dl.errors.LoaderError, match=r"view\.pytorch_dataset\(\)"):
        dataset[3]
    with pytest.raises(dl.errors.LoaderError, match=r"view\.pytorch_dataset\(\)"):
        dataset.__getitems__([3, 4])


@pytest.mark.parametrize("name", ["sampler", "batch_sampler"])
def test_epoch_of_skipped_batches_is_set_through_their_sampler(digits, name):
    def rows(batches):
        return [batch["_row_id"].tolist() for batch in batches]

    options = {"shuffle": True, "seed": 3, "row_ids": True}
    loader = digits.pytorch(100, **options)
    epochs = [rows(loader) for _ in range(3)]
    for epoch in (2, 0, 1):
        skipping = skip_first_batches(digits.pytorch(100, **options), 2)
        skipping.batch_sampler.batch_sampler.set_epoch(epoch)
        assert rows(skipping) == epochs[epoch][2:]
        loader = digits.pytorch(100, **options)
        getattr(loader, name).set_epoch(epoch)
        assert rows(loader) == epochs[epoch]


@pytest.mark.filterwarnings("ignore:.*LeafSpec:FutureWarning")  # Lightning 2.6 with PyTorch 2.15
@pytest.mark.parametrize("limit", [4, 0.5])
def test_lightning_continues_with_the_next_epoch_after_a_truncated_one(digits, tmp_path, limit):
    def seen(epochs, checkpoint=None):
        module = Module(None)
        trainer = lightning.Trainer(
            max_epochs=epochs, limit_train_batches=limit, logger=False, accelerator="cpu",
            enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
        )  # fmt: skip
        loader = digits.pytorch(200, shuffle=True, seed=1, row_ids=True)
        trainer.fit(module, loader, ckpt_path=checkpoint)
        trainer.save_checkpoint(tmp_path / f"{epochs}.ckpt")
        return module.seen

    whole = seen(3)
    first = seen(1)
    assert whole == first + seen(3, tmp_path / "1.ckpt")
