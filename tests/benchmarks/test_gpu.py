"""Training on a GPU: how busy the loader keeps it, compared with a DataLoader and with no loader.

A torchvision ResNet trains in bfloat16 on JPEGs that are cropped on the GPU. The upper bound
trains on one batch that stays on the GPU. All contenders use all cores.
"""

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

import deeplake_lite as dl

from .harness import OURS, Figures, at_least_times
from .loader_peers import Files
from .loaders import listed, write_lake, write_list

pytestmark = [pytest.mark.bench, pytest.mark.gpu]
ROWS, BATCH, CROP, CLASSES = 10_000, 256, 224, 10
LIMIT, PEER = "one batch on the GPU", "PyTorch's DataLoader"

type Batches = Iterator[tuple[Any, Any]]


class Training:
    """A model that learns from batches of images and labels on the GPU."""

    def __init__(self, architecture: str) -> None:
        import torch
        import torchvision

        self.torch = torch
        model = getattr(torchvision.models, architecture)(num_classes=CLASSES)
        self.model = model.to("cuda", memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.01, momentum=0.9)

    def epoch(self, batches: Batches) -> int:
        """Train on the batches, wait for the GPU, and return the number of images."""
        count = 0
        for images, labels in batches:
            self.step(images, labels)
            count += len(labels)
        self.torch.cuda.synchronize()
        return count

    def step(self, images: Any, labels: Any) -> None:
        functional = self.torch.nn.functional
        crops = images[:, :CROP, :CROP].permute(0, 3, 1, 2).to(self.torch.bfloat16) / 255
        with self.torch.autocast("cuda", self.torch.bfloat16):
            loss = functional.cross_entropy(self.model(crops), labels % CLASSES)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()


def our_batches(folder: Path) -> Callable[[], Batches]:
    view = dl.open(str(folder / "lake"))
    loader = view.pytorch(BATCH, shuffle=True, last="drop", device="cuda")
    return lambda: ((batch["image"], batch["label"]) for batch in loader)


def their_batches(folder: Path) -> Callable[[], Batches]:
    from torch.utils.data import DataLoader

    loader = DataLoader(
        Files(listed(folder)), batch_size=BATCH, shuffle=True, drop_last=True, pin_memory=True,
        num_workers=os.cpu_count() or 1, persistent_workers=True, prefetch_factor=4,
    )  # fmt: skip
    return lambda: (tuple(x.to("cuda", non_blocking=True) for x in batch) for batch in loader)


def one_batch(folder: Path) -> Callable[[], Batches]:
    batch = next(their_batches(folder)())
    count = len(listed(folder)) // BATCH
    return lambda: (batch for _ in range(count))


def measure(training: Training, batches: Callable[[], Batches], epochs: Iterable[str]) -> Figures:
    """Return the images per second of each epoch; the first includes all start-up."""
    figures = {}
    for name in epochs:
        started = time.perf_counter()
        figures[f"{name}images/s"] = training.epoch(batches()) / (time.perf_counter() - started)
    return figures


@pytest.mark.parametrize("architecture", ["resnet50", "resnet18"])
def test_training(race, report, work, jpegs, architecture):
    lake, files = work / "lake", work / "files"
    for folder, write in ((lake, write_lake), (files, write_list)):
        if not folder.exists():
            folder.mkdir()
            write(folder, jpegs[:ROWS])
    training = Training(architecture)
    training.epoch(one_batch(files)())  # cuDNN chooses its kernels
    entrants = {OURS: (our_batches, lake), PEER: (their_batches, files), LIMIT: (one_batch, files)}
    rounds = race(
        {
            name: lambda make=make, folder=folder: measure(training, make(folder), ("first ", ""))
            for name, (make, folder) in entrants.items()
        },
        warm_up=False,
    )
    figure = f"training a {architecture} on {ROWS:,} JPEGs, batches of {BATCH}"
    report.add(
        figure, rounds,
        at_least_times(0.9, LIMIT, "images/s"), at_least_times(1, PEER, "images/s"),
    )  # fmt: skip
