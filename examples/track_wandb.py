"""Log to Weights & Biases which data a training run has used: version, query, seed, order and jobs.

Run it: python examples/track_wandb.py
Needs: pip install deeplake-lite wandb
"""

import json
import tempfile

import numpy as np
import wandb

import deeplake_lite as dl


def make_lake(url):
    """Write points, and compute a column of features from them."""
    rng = np.random.default_rng(0)
    ds = dl.create(url, {"point": dl.Embedding(2), "label": "int8"})
    points = rng.normal(size=(500, 2)).astype("float32")
    ds.append({"point": points, "label": (points.prod(axis=1) > 0).astype("int8")})
    ds.commit("500 points")

    def products(batch):
        return batch["point"].prod(axis=1, keepdims=True)

    ds.map(products, columns="point", into={"feature": dl.Embedding(1)})
    return ds


def train(loader):
    """Yield the loss after each batch of a logistic regression."""
    weight = 0.0
    for batch in loader:
        x, y = batch["feature"][:, 0], batch["label"]
        p = 1 / (1 + np.exp(-weight * x))
        weight += 0.5 * float(((y - p) * x).mean())
        yield float(-np.log(np.where(y, p, 1 - p)).mean())


def main():
    with tempfile.TemporaryDirectory() as scratch:
        ds = make_lake(f"{scratch}/points.lake")
        view = ds.query("SELECT feature, label WHERE label >= 0")
        loader = view.batches(50, shuffle=True, seed=1)
        lineage = loader.lineage()
        source = lineage["sources"][0]

        with wandb.init(mode="offline", dir=scratch, config={"data": lineage}) as run:
            for loss in train(loader):
                run.log({"loss": loss})
            logged = dict(run.config)["data"]

        assert json.loads(json.dumps(logged)) == json.loads(json.dumps(lineage))
        print(f"a run of version {source['version']}, to be sent with `wandb sync`")
        print("feature:", logged["sources"][0]["columns"]["feature"]["origin"]["function"])


if __name__ == "__main__":
    main()
