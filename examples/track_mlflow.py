"""Log to MLflow which data a training run has used: version, query, seed, order and jobs.

Run it: python examples/track_mlflow.py
Needs: pip install deeplake-lite mlflow
"""

import json
import os
import tempfile
from pathlib import Path

import mlflow
import numpy as np

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

        # MLflow asks for this before it logs to a folder instead of a database or server.
        os.environ["MLFLOW_ALLOW_FILE_STORE"] = "true"
        mlflow.set_tracking_uri(Path(f"{scratch}/runs").as_uri())
        with mlflow.start_run() as run:
            mlflow.set_tags({"data.url": source["url"], "data.version": source["version"]})
            mlflow.log_params({name: lineage[name] for name in ("seed", "rows")})
            mlflow.log_dict(lineage, "lineage.json")
            for step, loss in enumerate(train(loader)):
                mlflow.log_metric("loss", loss, step=step)

        # To reproduce a run, read what it has logged.
        logged = mlflow.artifacts.load_dict(f"{run.info.artifact_uri}/lineage.json")
        assert logged == json.loads(json.dumps(lineage))
        print(f"a run of version {mlflow.get_run(run.info.run_id).data.tags['data.version']}")
        print("feature:", logged["sources"][0]["columns"]["feature"]["origin"]["function"])


if __name__ == "__main__":
    main()
