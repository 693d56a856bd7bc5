"""Batches of a view for training, in NumPy, PyTorch, TensorFlow and JAX."""

from deeplake_lite.loader.loader import Loader
from deeplake_lite.loader.options import Options

__all__ = ["Loader", "Options"]
