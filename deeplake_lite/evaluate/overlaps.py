"""The overlap of predicted and true boxes, masks and keypoints, by COCO's formulas.

See https://cocodataset.org/#detection-eval and https://cocodataset.org/#keypoints-eval. Operations
are in the same order as in pycocotools, so that even the last bits agree.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

type Floats = NDArray[np.float64]
type Flags = NDArray[np.bool_]

COCO_SIGMAS = (
    0.026, 0.025, 0.025, 0.035, 0.035, 0.079, 0.079, 0.072, 0.072, 0.062, 0.062, 0.107, 0.107,
    0.087, 0.087, 0.089, 0.089,
)  # fmt: skip
"""Standard deviation between annotators for each of COCO's 17 keypoints, relative to the person's
size."""

_TINY = float(np.spacing(1))


def box_ious(predicted: Floats, true: Floats, crowd: Flags) -> Floats:
    """Return the intersection over union of pairs of boxes.

    Parameters
    ----------
    predicted, true : ndarray, (n, 4) float64, xywh
        The boxes of each pair.
    crowd : ndarray, (n,) bool
        Whether the true object is a crowd. If so, the overlap is divided by the area of the
        prediction, so that the part of the crowd outside the prediction does not count.

    Examples
    --------
    >>> a, b = np.array([[0.0, 0, 2, 2]]), np.array([[1.0, 0, 2, 2]])
    >>> box_ious(a, b, np.array([False])), box_ious(a, b, np.array([True]))
    (array([0.33333333]), array([0.5]))
    """
    last = np.minimum(predicted[:, :2] + predicted[:, 2:], true[:, :2] + true[:, 2:])
    sides = last - np.maximum(predicted[:, :2], true[:, :2])
    shared = np.where((sides > 0).all(axis=1), sides[:, 0] * sides[:, 1], 0.0)
    pred_area, true_area = predicted[:, 2] * predicted[:, 3], true[:, 2] * true[:, 3]
    return _over_union(shared, pred_area, true_area, crowd)


def _over_union(shared: Floats, pred_area: Floats, true_area: Floats, crowd: Flags) -> Floats:
    union = np.where(crowd, pred_area, pred_area + true_area - shared)
    result: Floats = np.divide(shared, union, out=np.zeros_like(shared), where=shared > 0)
    return result


def mask_ious(
    predicted: NDArray[np.uint8], true: NDArray[np.uint8], crowd: Flags
) -> tuple[Floats, Floats, Floats]:
    """Return the intersection over union of an image's masks, and the area of each mask.

    Parameters
    ----------
    predicted, true : ndarray, (d, bytes) and (g, bytes) uint8
        Masks with the pixels packed into bits.
    crowd : ndarray, (g,) bool
        Whether each true object is a crowd, as in `box_ious`.

    Returns
    -------
    ious : ndarray, (d, g) float64
    pred_areas, true_areas : ndarray, (d,) and (g,) float64, pixels
        Areas of the predicted masks and of the true masks.
    """
    pred_areas, true_areas = areas(predicted), areas(true)
    ious = np.zeros((len(predicted), len(true)))
    for j, mask in enumerate(true):
        shared = areas(predicted & mask)
        ious[:, j] = _over_union(shared, pred_areas, true_areas[j : j + 1], crowd[j : j + 1])
    return ious, pred_areas, true_areas


def areas(masks: NDArray[np.uint8]) -> Floats:
    """Return the number of pixels of packed masks, (n,) float64."""
    return np.bitwise_count(masks).sum(axis=1, dtype=np.float64)


def keypoint_similarities(
    predicted: Floats, true: Floats, boxes: Floats, areas: Floats, sigmas: Sequence[float]
) -> Floats:
    """Return the object keypoint similarity (OKS) of pairs of objects.

    Parameters
    ----------
    predicted : ndarray, (n, k, 2 or 3) float64, pixels
        Predicted points. The visibility of predicted points is not used.
    true : ndarray, (n, k, 3) float64
        True points. Points with visibility 0 do not count.
    boxes : ndarray, (n, 4) float64, xywh
        Boxes of the true objects, which are used if all points have visibility 0.
    areas : ndarray, (n,) float64, pixels
        Areas of the true objects.
    sigmas : sequence of float
        Spread of each point, as in `COCO_SIGMAS`.

    Examples
    --------
    >>> points = np.array([[[3.0, 4.0, 2.0]]])
    >>> keypoint_similarities(points, points, np.zeros((1, 4)), np.ones(1), [0.1])
    array([1.])
    """
    variances = (np.asarray(sigmas, np.float64) * 2) ** 2
    difference = predicted[..., :2] - true[..., :2]
    low = (boxes[:, :2] - boxes[:, 2:])[:, np.newaxis]
    high = (boxes[:, :2] + boxes[:, 2:] * 2)[:, np.newaxis]
    outside = np.maximum(0, low - predicted[..., :2]) + np.maximum(0, predicted[..., :2] - high)
    counts: Any = true[..., 2] > 0
    is_labelled = counts.any(axis=1)
    distance = np.where(is_labelled[:, np.newaxis, np.newaxis], difference, outside)
    counts = counts | ~is_labelled[:, np.newaxis]
    squares = distance[..., 0] ** 2 + distance[..., 1] ** 2
    exponents = squares / variances / (areas[:, np.newaxis] + _TINY) / 2
    total = np.where(counts, np.exp(-exponents), 0.0).sum(axis=1)
    result: Floats = total / counts.sum(axis=1)
    return result
