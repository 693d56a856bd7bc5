"""Naive tensor functions for one row: slow, plain and obviously right."""

from __future__ import annotations

import math
import re
from itertools import permutations

import numpy as np


def corners(boxes):
    """Return xywh boxes as xyxy."""
    boxes = np.asarray(boxes, float)
    return np.concatenate([boxes[:, :2], boxes[:, :2] + boxes[:, 2:]], 1)


def area(boxes):
    """Return the area of each box, xyxy."""
    boxes = np.asarray(boxes, float)
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def iou_matrix(a, b):
    """Return the intersection over union of each pair of boxes, xyxy."""
    out = np.zeros((len(a), len(b)))
    for i, p in enumerate(np.asarray(a, float)):
        for j, q in enumerate(np.asarray(b, float)):
            w = max(0, min(p[2], q[2]) - max(p[0], q[0]))
            h = max(0, min(p[3], q[3]) - max(p[1], q[1]))
            union = area([p])[0] + area([q])[0] - w * h
            out[i, j] = w * h / union if union else 0
    return out


def iou(a, b):
    """Return the best one-to-one matching's IoU summed, by the larger count."""
    if not len(a) and not len(b):
        return 1.0
    m = iou_matrix(a, b)
    if len(a) > len(b):
        m = m.T
    sums = [
        sum(m[i, j] for i, j in enumerate(order))
        for order in permutations(range(m.shape[1]), m.shape[0])
    ]
    return max(sums) / max(len(a), len(b))


def normalize(boxes, window):
    """Return boxes in units of a window."""
    x0, y0, x1, y1 = window
    w, h = x1 - x0, y1 - y0
    return (np.asarray(boxes, float) - [x0, y0, x0, y0]) / [w, h, w, h]


def cosine(a, b):
    """Return the cosine of an angle, or 0 if a vector is zero."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    length = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / length) if length else 0.0


def last(value):
    """Return a sort key that puts NaN and then null last."""
    if value is None:
        return (2, 0)
    return (1, 0) if value != value else (0, value)


def falling(value):
    """Return a descending sort key that puts NaN and then null last."""
    if value is None:
        return (2, 0)
    return (1, 0) if value != value else (0, -value)


def mask_box(mask):
    """Return the bounding box of a mask, xyxy with exclusive ends; zeros for an empty mask."""
    ys, xs = np.nonzero(mask)
    return [xs.min(), ys.min(), xs.max() + 1, ys.max() + 1] if len(xs) else [0, 0, 0, 0]


def crop(image, box):
    """Return the part of an image within a box, rounded to pixels."""
    x0, y0, x1, y1 = (max(int(v), 0) for v in np.rint(box))
    return image[y0:y1, x0:x1]


def bm25(texts, query):
    """Return how well strings match words: BM25, k1 = 1.2, b = 0.75; None for null."""
    words = [None if t is None else re.findall(r"\w+", t.casefold()) for t in texts]
    known = [w for w in words if w is not None]
    mean = sum(map(len, known)) / len(known)

    def score(found):
        total = 0.0
        for word in query.casefold().split():
            having, count = sum(word in w for w in known), found.count(word)
            weight = math.log(1 + (len(known) - having + 0.5) / (having + 0.5))
            total += weight * count / (count + 1.2 * (0.25 + 0.75 * len(found) / mean))
        return total

    return [None if w is None else score(w) for w in words]
