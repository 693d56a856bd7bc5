"""Batches as PyTorch, TensorFlow and JAX have them."""
