"""Batches as tensors of torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deeplake_lite.loader.loader import Loader

if TYPE_CHECKING:
    from deeplake_lite.dataset.view import View
    from deeplake_lite.loader.mix import Mix
    from deeplake_lite.loader.options import Options


class TorchLoader(Loader):
    """A loader that gives tensors."""

    def __init__(self, view: View | Mix, options: Options, device: Any = None) -> None:
        super().__init__(view, options)
        self.device = device
