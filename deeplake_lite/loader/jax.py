"""Batches as tensors of jax."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deeplake_lite.loader.loader import Loader

if TYPE_CHECKING:
    from deeplake_lite.dataset.view import View
    from deeplake_lite.loader.mix import Mix
    from deeplake_lite.loader.options import Options


class JaxLoader(Loader):
    """A loader that gives tensors."""

    def __init__(self, view: View | Mix, options: Options, sharding: Any = None) -> None:
        super().__init__(view, options)
        self.sharding = sharding
