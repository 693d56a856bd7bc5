"""Train a Keras model on a lake of handwritten digits, stop within an epoch, and resume exactly.

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


def to_inputs_and_targets(batch):
    """Return the pair that Keras expects: inputs, as floats from 0 to 1, and targets."""
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

        options = {"batch_transform": to_inputs_and_targets}
        batches = train.tensorflow(32, shuffle=True, seed=0, **options)
        # The loader has shuffled the rows already, so Keras need not shuffle.
        history = model.fit(batches, epochs=5, shuffle=False, verbose=2).history
        assert history["loss"][-1] < history["loss"][0] / 2

        _, accuracy = model.evaluate(test.tensorflow(64, **options), verbose=0)
        print(f"accuracy on test digits: {accuracy:.3f}")
        assert accuracy > 0.85

        before = [y.numpy().tolist() for _, y in batches.take(20)]  # stop within the sixth epoch
        state = batches.loader.state_dict()
        resumed = train.tensorflow(32, shuffle=True, seed=0, **options)
        resumed.loader.load_state_dict(state)
        after = [y.numpy().tolist() for _, y in resumed]
        print(f"stopped after {len(before)} batches, resumed for {len(after)}; state: {state}")
        assert len(before) + len(after) == len(batches.loader)


if __name__ == "__main__":
    main()
