"""Random objects as a lake and as COCO documents, and the metrics of pycocotools."""

from __future__ import annotations

import contextlib
import io
import warnings

import numpy as np
from pycocotools import mask as coco_mask
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

import deeplake_lite as dl

SIZE = 200
"""Width and height of the images."""


def random_rows(seed, *, rows=30, classes=5, crowds=0.1, ties=True):
    """Return rows of random true objects, and of predictions that resemble some of them."""
    random = np.random.default_rng(seed)
    names = [f"c{n}" for n in range(classes)]
    result = []
    for _ in range(rows):
        true = _boxes(random, random.integers(0, 8))
        labels = random.integers(0, max(1, classes - 1), len(true))  # the last class has no truth
        copies = np.repeat(np.arange(len(true)), random.integers(0, 4, len(true)))
        moved = np.round(true[copies] + random.normal(0, 4, (len(copies), 4)), 1)
        predicted = np.concatenate([moved, _boxes(random, random.integers(0, 4))])
        predicted[:, 2:] = np.maximum(predicted[:, 2:], 1)
        own = np.concatenate(
            [labels[copies], random.integers(0, classes, len(predicted) - len(copies))]
        )
        swap = random.random(len(own)) < 0.15
        own[swap] = random.integers(0, classes, swap.sum())
        scores = random.integers(0, 9, len(own)) / 8 if ties else random.random(len(own))
        result.append(
            {
                "boxes": true,
                "labels": [names[n] for n in labels],
                "crowd": random.random(len(true)) < crowds,
                "predicted_boxes": predicted,
                "predicted_labels": [names[n] for n in own],
                "predicted_scores": scores,
            }
        )
    return names, result


def _boxes(random, n):
    corner = random.uniform(0, 150, (n, 2))
    side = np.exp(random.uniform(1.5, 5.2, (n, 2)))
    # A few identical boxes make ties of overlaps.
    boxes = np.round(np.concatenate([corner, side], axis=1), 1)
    return np.concatenate([boxes[:1], boxes[: n - 1]]) if n > 2 and random.random() < 0.2 else boxes


def lake(url, names, rows, *, dtype="float64", predicted_names=None):
    """Return a lake with these rows."""
    ds = dl.create(
        url,
        {
            "boxes": dl.Boxes("xywh", dtype=dtype),
            "labels": dl.Sequence(dl.ClassLabel(names)),
            "crowd": dl.Sequence("bool"),
            "predicted_boxes": dl.Boxes("xywh", dtype=dtype),
            "predicted_labels": dl.Sequence(dl.ClassLabel(predicted_names or names)),
            "predicted_scores": dl.Sequence("float64"),
        },
    )
    ds.append(rows)
    return ds


def annotations(names, rows, shape=None, result=None):
    """Return a COCO document of the truth, and a list of results."""
    truth, results = [], []
    for image, row in enumerate(rows, 1):
        for n, box in enumerate(np.asarray(row["boxes"], float).tolist()):
            truth.append(
                {
                    "id": len(truth) + 1,
                    "image_id": image,
                    "category_id": names.index(row["labels"][n]) + 1,
                    "bbox": box,
                    "area": box[2] * box[3],
                    "iscrowd": int(row["crowd"][n]),
                    **(shape(row, n) if shape else {}),
                }
            )
        for n, box in enumerate(np.asarray(row["predicted_boxes"], float).tolist()):
            results.append(
                {
                    "image_id": image,
                    "category_id": names.index(row["predicted_labels"][n]) + 1,
                    "bbox": box,
                    "score": float(row["predicted_scores"][n]),
                    **(result(row, n) if result else {}),
                }
            )
    document = {
        "images": [{"id": n + 1, "width": SIZE, "height": SIZE} for n in range(len(rows))],
        "categories": [{"id": n + 1, "name": name} for n, name in enumerate(names)],
        "annotations": truth,
    }
    return document, results


def oracle(document, results, kind="bbox", sigmas=None):
    """Return the evaluation of pycocotools, accumulated and summarized."""
    with contextlib.redirect_stdout(io.StringIO()):
        coco = COCO()
        coco.dataset = document
        coco.createIndex()
        judged = COCOeval(coco, coco.loadRes(results), kind)
        if sigmas is not None:
            judged.params.kpt_oks_sigmas = np.asarray(sigmas)
        judged.evaluate()
        judged.accumulate()
        judged.summarize()
    return judged


def runs_of(mask):
    """Return a mask (h, w) as COCO's run-length encoding, with its counts as a string."""
    encoded = coco_mask.encode(np.asfortranarray(mask.astype(np.uint8)))
    return {"size": encoded["size"], "counts": encoded["counts"].decode()}


NAMES = {
    "bbox": [
        "AP", "AP50", "AP75", "AP_small", "AP_medium", "AP_large",
        "AR1", "AR10", "AR100", "AR_small", "AR_medium", "AR_large",
    ],
    "keypoints": [
        "AP", "AP50", "AP75", "AP_medium", "AP_large",
        "AR", "AR50", "AR75", "AR_medium", "AR_large",
    ],
}  # fmt: skip
NAMES["segm"] = NAMES["bbox"]


def assert_agree(result, judged, kind="bbox"):
    """Check that the metrics of a result are those of pycocotools."""
    ours = [result.summary[name] for name in NAMES[kind]]
    theirs = [np.nan if value == -1 else value for value in judged.stats]
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)


def with_points(rows, seed, points=17):
    """Add keypoints in the boxes to each row."""
    random = np.random.default_rng(seed)
    for row in rows:
        for name in ("boxes", "predicted_boxes"):
            boxes = np.asarray(row[name], float).reshape(-1, 4)
            places = (
                boxes[:, None, :2] + random.random((len(boxes), points, 2)) * boxes[:, None, 2:]
            )
            if name == "predicted_boxes" and len(row["boxes"]):
                near = random.integers(0, len(row["boxes"]), len(boxes))
                places = row["keypoints"][near, :, :2] + random.normal(0, 3, places.shape)
            sight = random.integers(0, 3, (len(boxes), points, 1))
            sight[random.random(len(boxes)) < 0.2] = 0
            values = np.concatenate([np.round(places, 1), sight], axis=2).astype(np.float32)
            row["keypoints" if name == "boxes" else "predicted_keypoints"] = values
    return rows


def with_outlines(rows, seed):
    """Add one or two outlines around the boxes to each row."""
    random = np.random.default_rng(seed)
    for row in rows:
        for name, target in (("boxes", "outlines"), ("predicted_boxes", "predicted_outlines")):
            row[target] = [
                [_outline(box, random) for _ in range(random.integers(1, 3))] for box in row[name]
            ]
    return rows


def _outline(box, random):
    angles = np.sort(random.random(random.integers(3, 9))) * 2 * np.pi
    x, y, width, height = box
    corners = [x + width * (0.5 + np.cos(angles) / 2), y + height * (0.5 + np.sin(angles) / 2)]
    return np.round(np.stack(corners, axis=1), 2).astype(np.float32)


def mask_of(outlines):
    """Return the mask of outlines as pycocotools draws it, (h, w) bool."""
    lists = [np.asarray(o, np.float64).ravel().tolist() for o in outlines]
    runs = coco_mask.merge(coco_mask.frPyObjects(lists, SIZE, SIZE))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pycocotools does not know NumPy 2's copy=
        return coco_mask.decode(runs).astype(bool)
