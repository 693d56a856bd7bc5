"""Batches as a tf.data.Dataset."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deeplake_lite.loader.loader import Loader

if TYPE_CHECKING:
    from deeplake_lite.dataset.view import View
    from deeplake_lite.loader.mix import Mix
    from deeplake_lite.loader.options import Options


def dataset(view: View | Mix, options: Options) -> Any:
    """Return a tf.data.Dataset of batches."""
    return Loader(view, options)
