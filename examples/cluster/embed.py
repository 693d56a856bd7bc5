"""The function of a job that embeds images, and the function that loads its model."""

import numpy as np

SIZE = 8
"""Number of pixels per side that the model receives."""


def load():
    """Return the model, which each worker loads once. Load your own model here."""
    return np.random.default_rng(0).normal(size=(SIZE * SIZE * 3, 64)).astype("float32")


def embed(batch, model):
    """Return one vector of length 1 per image, (n, 64) float32."""
    pixels = np.stack([shrink(image) for image in batch["image"]])
    vectors = (pixels.reshape(len(pixels), -1) / 255 - 0.5) @ model
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def shrink(image):
    """Return some pixels of an image of any size, (SIZE, SIZE, 3) float32."""
    image = np.atleast_3d(image)[..., :3]
    y, x = (np.linspace(0, length - 1, SIZE).astype(int) for length in image.shape[:2])
    return np.broadcast_to(image[np.ix_(y, x)], (SIZE, SIZE, 3)).astype("float32")
