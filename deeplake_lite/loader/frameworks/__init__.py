"""Loaders whose batches have arrays of PyTorch, TensorFlow and JAX."""
