"""Train a network on a lake of handwritten digits in plain JAX, stop it, and resume exactly.

Run it: python examples/train_jax.py
Needs: pip install "deeplake-lite[demo,jax]"
"""

import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from sklearn.datasets import load_digits

import deeplake_lite as dl


def make_lake(url):
    """Write the digits that come with scikit-learn."""
    digits = load_digits()
    ds = dl.create(url, {"image": dl.Array("uint8", (8, 8)), "label": dl.ClassLabel()})
    ds.append({"image": digits.images.astype(np.uint8), "label": digits.target})
    ds.commit("1,797 digits")
    return ds


def logits(weights, image):
    hidden = jax.nn.relu(image.reshape(-1, 64) / 16 @ weights["in"])
    return hidden @ weights["out"]


@jax.jit
def step(weights, batch):
    def loss(weights):
        scores = jax.nn.log_softmax(logits(weights, batch["image"]))
        return -jnp.take_along_axis(scores, batch["label"][:, None], axis=1).mean()

    value, grads = jax.value_and_grad(loss)(weights)
    return value, jax.tree.map(lambda w, g: w - 0.3 * g, weights, grads)


def main():
    with tempfile.TemporaryDirectory() as scratch:
        ds = make_lake(f"{scratch}/digits.lake")
        train, test = ds[:1500], ds[1500:]

        first, second = jax.random.split(jax.random.key(0))
        weights = {
            "in": jax.random.normal(first, (64, 64)) / 8,
            "out": jax.random.normal(second, (64, 10)) / 8,
        }
        # All batches have the same shape, so that JAX compiles `step` only once.
        batches = train.jax(16, shuffle=True, seed=0, drop_last=True)
        for epoch in range(5):
            losses = []
            for batch in batches:
                value, weights = step(weights, batch)
                losses.append(value)
            print(f"epoch {epoch}: loss {np.mean(losses):.3f}")

        batch = next(iter(test.jax(len(test))))
        accuracy = float((logits(weights, batch["image"]).argmax(axis=1) == batch["label"]).mean())
        print(f"accuracy on test digits: {accuracy:.3f}")
        assert accuracy > 0.85

        for _, batch in zip(range(20), batches, strict=False):  # stop within the sixth epoch
            step(weights, batch)
        state = batches.state_dict()
        resumed = train.jax(16, shuffle=True, seed=0, drop_last=True)
        resumed.load_state_dict(state)
        print(f"resumed for {sum(1 for _ in resumed)} of {len(resumed)} batches; state: {state}")


if __name__ == "__main__":
    main()
