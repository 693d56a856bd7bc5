"""Queries of the paper by Hambardzumyan et al. (CIDR 2023)."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl

from ..case_files import values_of
from ..oracle import iou, normalize

COUNT = 6
BOXES = [
    np.array([[120 + i, 130, 220 + i, 330], [150, 150, 300, 300]][: i % 3], "float32").reshape(
        -1, 4
    )
    for i in range(COUNT)
]
TRUE = [b + np.float32(1 if i % 2 else 60) for i, b in enumerate(BOXES)]
LABELS = ["cat", "dog", "cat", "dog", "dog", "cat"]


@pytest.fixture(scope="module")
def lake():
    ds = dl.create(
        "memory://paper",
        {
            "images": dl.Image("png"),
            "boxes": dl.Boxes("xyxy"),
            "training/boxes": dl.Boxes("xyxy"),
            "labels": dl.ClassLabel(["cat", "dog"]),
        },
        overwrite=True,
    )
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (COUNT, 520, 500, 3), dtype="uint8")
    columns = {"images": images, "boxes": BOXES, "training/boxes": TRUE, "labels": LABELS}
    ds.append({name: values[:4] for name, values in columns.items()})
    ds.commit("four pictures with boxes")
    ds.tag("v1")
    ds.append({name: values[4:] for name, values in columns.items()})
    ds.commit("pictures with boxes")
    return ds


def test_query_of_figure_5(lake):
    result = lake.query("""
        SELECT images[100:500, 100:500, 0:2] AS crop,
               NORMALIZE(boxes, [100, 100, 400, 400]) AS box
        FROM dataset
        WHERE IOU(boxes, "training/boxes") > 0.95
        ORDER BY IOU(boxes, "training/boxes")
        ARRANGE BY labels
    """)
    scores = [iou(a, b) for a, b in zip(BOXES, TRUE, strict=True)]
    order = sorted((i for i in range(COUNT) if scores[i] > 0.95), key=scores.__getitem__)
    first = [LABELS[i] for i in order]
    order.sort(key=lambda i: first.index(LABELS[i]))
    assert 2 <= len(order) < COUNT
    assert result.columns == ("crop", "box")
    for row, i in zip(result, order, strict=True):
        np.testing.assert_array_equal(row["crop"], lake["images"][i][100:500, 100:500, :2])
        np.testing.assert_allclose(row["box"], normalize(BOXES[i], [100, 100, 400, 400]), atol=1e-6)


def test_query_of_figure_5_gives_crops_of_one_shape(lake):
    result = lake.query("SELECT images[100:500, 100:500, 0:2] AS crop")
    assert {v.shape for v in result["crop"][:]} == {(400, 400, 2)}


def test_rows_are_balanced_for_training(lake):
    text = (
        "SELECT labels SAMPLE BY CASE WHEN labels = 'cat' THEN 1 ELSE 4 END "
        "REPLACE LIMIT 500 SEED 3"
    )
    labels = values_of(lake.query(text))["labels"]
    assert 350 < labels.count("dog") < 450


def test_images_are_grouped(lake):
    text = "SELECT labels, COUNT(*) AS c, MEAN(images) AS m GROUP BY labels ORDER BY labels"
    result = values_of(lake.query(text))
    assert (result["labels"], result["c"]) == (["cat", "dog"], [3, 3])
    cats = [lake["images"][i] for i in range(COUNT) if LABELS[i] == "cat"]
    np.testing.assert_allclose(result["m"][0], np.mean(cats, axis=0))


def test_query_reads_a_version(lake):
    result = lake.query("SELECT labels FROM dataset VERSION 'v1'")
    assert values_of(result)["labels"] == LABELS[:4]
