"""Queries that compare a model's predictions with the truth agree with NumPy."""

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.review import comparison_query, pairs


@pytest.fixture
def lake(make_lake):
    names = dl.ClassLabel(["ant", "bee"])
    schema = {
        "label": names,
        'label "pred"': names,
        "boxes": dl.Boxes(),
        "boxes_predicted": dl.Boxes("xywh"),
        "scores": dl.Array("float32", (2,)),
        "seen": dl.Boxes(units="fraction"),
    }
    square = [[0, 0, 10, 10]]
    return make_lake(
        schema,
        **{
            "label": [0, 1, 0],
            'label "pred"': [0, 0, 1],
            "boxes": [square, square, square],
            "boxes_predicted": [square, [[0, 0, 10, 4]], []],
            "scores": [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]],
            "seen": [[], [], []],
        },
    )


def rows(lake, *columns, **options):
    result = lake.query(comparison_query(lake, *columns, **options))
    return [lake.row_ids.tolist().index(i) for i in result.row_ids.tolist()]


def test_predicted_classes_agree_or_disagree(lake):
    assert rows(lake, "label", 'label "pred"') == [1, 2]
    assert rows(lake, "label", 'label "pred"', agree=True) == [0]


def test_scores_mean_the_class_with_the_highest(lake):
    assert rows(lake, "label", "scores") == [2]


def test_boxes_agree_above_an_overlap_and_the_worst_come_first(lake):
    assert rows(lake, "boxes", "boxes_predicted") == [2, 1]
    assert rows(lake, "boxes", "boxes_predicted", threshold=0.3) == [2]
    assert rows(lake, "boxes", "boxes_predicted", agree=True) == [0]


def test_masks_agree_above_a_share_of_pixels(make_lake):
    masks = [np.zeros((2, 2), "uint8"), np.array([[0, 1], [1, 1]], "uint8")]
    lake = make_lake(
        {"mask": dl.Mask(), "mask_pred": dl.Mask()}, mask=masks, mask_pred=[masks[0]] * 2
    )
    assert rows(lake, "mask", "mask_pred") == [1]


def test_columns_of_a_model_find_their_truth(lake):
    assert list(pairs(lake)) == [
        ("label", 'label "pred"'),
        ("boxes", "boxes_predicted"),
        ("label", "scores"),
    ]


def test_incomparable_columns_are_reported(lake):
    with pytest.raises(dl.SchemaError, match="'boxes' is Boxes"):
        comparison_query(lake, "boxes", "label")
    with pytest.raises(dl.SchemaError, match="must both be classes"):
        comparison_query(lake, "boxes", "seen")
