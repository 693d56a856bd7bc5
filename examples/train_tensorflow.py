"""Train a Keras model on handwritten digits, straight from a lake; stop and go on exactly.

Run it: python examples/train_tensorflow.py
Needs: pip install "deeplake-lite[demo,tensorflow]"
"""

import os
import tempfile

import numpy as np
from sklearn.datasets import load_digits

import deeplake_lite as dl

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def make_lake(url):
    """Write the digits that come with scikit-learn."""
    digits = load_digits()
    ds = dl.create(url, {"image": dl.Array("uint8", (8, 8)), "label": dl.ClassLabel()})
    ds.append({"image": digits.images.astype(np.uint8), "label": digits.target})
    ds.commit("1,797 digits")
    return ds


def pair(batch):
    """Give Keras what it wants, inputs and targets, as floats from 0 to 1."""
    return batch["image"].reshape(-1, 64).astype(np.float32) / 16, batch["label"]


def main():
    import tensorflow as tf

    tf.keras.utils.set_random_seed(0)
    with tempfile.TemporaryDirectory() as scratch:
        ds = make_lake(f"{scratch}/digits.lake")
        train, test = ds[:1500], ds[1500:]

        model = tf.keras.Sequential([
            tf.keras.layers.Dense(64, "relu"),
            tf.keras.layers.Dense(10),
        ])  # fmt: skip
        loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(tf.keras.optimizers.Adam(0.01), loss, metrics=["accuracy"])

        batches = train.tensorflow(32, shuffle=True, seed=0, batch_transform=pair)
        history = model.fit(batches, epochs=5, shuffle=False, verbose=2).history  # shuffled already
        assert history["loss"][-1] < history["loss"][0] / 2

        _, accuracy = model.evaluate(test.tensorflow(64, batch_transform=pair), verbose=0)
        print(f"accuracy on digits that it has not seen: {accuracy:.3f}")
        assert accuracy > 0.85

        half = [y.numpy().tolist() for _, y in batches.take(20)]  # stop within the sixth epoch
        state = batches.loader.state_dict()
        again = train.tensorflow(32, shuffle=True, seed=0, batch_transform=pair)
        again.loader.load_state_dict(state)
        rest = [y.numpy().tolist() for _, y in again]
        print(f"stopped after {len(half)} batches, went on for {len(rest)}; state: {state}")
        assert len(half) + len(rest) == len(batches.loader)


if __name__ == "__main__":
    main()
