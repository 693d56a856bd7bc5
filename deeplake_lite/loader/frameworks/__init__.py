"""Loaders of PyTorch, TensorFlow and JAX arrays."""
