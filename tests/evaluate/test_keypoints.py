import numpy as np
import pytest

import deeplake_lite as dl

from . import coco


def points_lake(url, names, rows, points=17):
    kinds = {"keypoints": dl.Keypoints([f"p{n}" for n in range(points)])}
    kinds["predicted_keypoints"] = kinds["keypoints"]
    plain = coco.lake(f"{url}-boxes", names, []).schema
    ds = dl.create(url, {**{f.name: f.htype for f in plain}, **kinds})
    ds.append(rows)
    return ds


def points_of(row, name, n):
    flat = np.asarray(row[name][n], np.float64)
    return {"keypoints": np.round(flat, 1).ravel().tolist()}


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("points", [17, 4])
def test_metrics_of_keypoints_are_those_of_pycocotools(seed, points):
    names, rows = coco.random_rows(seed, classes=2)
    rows = coco.with_points(rows, seed, points)
    ds = points_lake(f"memory://keypoints-{seed}-{points}", names, rows, points)
    sigmas = None if points == 17 else [0.1, 0.05, 0.2, 0.1]
    result = ds.evaluate(
        "predicted_keypoints",
        "keypoints",
        labels="predicted_labels",
        scores="predicted_scores",
        sigmas=sigmas,
    )
    document, results = coco.annotations(
        names,
        rows,
        lambda row, n: {
            **points_of(row, "keypoints", n),
            "num_keypoints": int((row["keypoints"][n][:, 2] > 0).sum()),
        },
        lambda row, n: points_of(row, "predicted_keypoints", n),
    )
    for own in results:
        own.pop("bbox")
    judged = coco.oracle(document, results, "keypoints", sigmas)
    assert result.kind == "keypoints"
    coco.assert_agree(result, judged, "keypoints")


def test_sigmas_must_fit_the_points():
    names, rows = coco.random_rows(0, classes=2)
    ds = points_lake("memory://sigmas", names, coco.with_points(rows, 0, 3), 3)
    with pytest.raises(dl.SchemaError, match=r"the number of keypoints, which is 3, but it is 17"):
        ds.evaluate("predicted_keypoints", "keypoints", scores="predicted_scores")
