"""Datasets of PyTorch that other processes can import."""

from __future__ import annotations

from PIL import Image as PillowImage
from torch.utils.data import Dataset


class Items(Dataset):
    """A map-style dataset of the given items; an exception is raised."""

    def __init__(self, items, classes=None):
        self.items = items
        if classes is not None:
            self.classes = classes

    def __len__(self):
        return len(self.items)

    def __getitem__(self, number):
        if isinstance(self.items[number], Exception):
            raise self.items[number]
        return self.items[number]


class Files(Dataset):
    """A dataset that opens files with Pillow."""

    def __init__(self, paths):
        self.paths = paths

    def __len__(self):
        return len(self.paths)

    def __getitem__(self, number):
        return PillowImage.open(self.paths[number]), number
