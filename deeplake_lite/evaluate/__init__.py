"""Evaluation of predictions that are columns of a lake.

Steps: `api` checks the options and finds the columns (`columns`). `detection` (boxes, keypoints and
outlines of objects), `classification` and `segmentation` compute metrics (`findings`).
`evaluation` shows, writes and saves the metrics, and `comparison` compares two evaluations.

`objects` and `masks` read the objects of each row. `overlaps` and `outlines` compare predicted with
true objects, and `matching` matches them. `average_precision` computes average precision and recall
from the matches. `page` and `drawing` draw the results as HTML.
"""

from deeplake_lite.evaluate.api import evaluate
from deeplake_lite.evaluate.comparison import Comparison, compare
from deeplake_lite.evaluate.evaluation import Evaluation, restore

__all__ = ["Comparison", "Evaluation", "compare", "evaluate", "restore"]
