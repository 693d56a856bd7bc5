"""Evaluation of predictions that are columns of a lake.

Steps: `api` checks the options and finds the columns (`columns`). `detection` (boxes, keypoints and
outlines of objects), `classification` and `segmentation` compute figures (`findings`).
`evaluation` shows, writes and saves them, and `comparison` compares two evaluations.

For objects, `objects` and `masks` read them, `overlaps` and `outlines` compute how much they
overlap, `matching` matches them, and `average_precision` averages. `page` and `drawing` draw the
results as HTML.
"""

from deeplake_lite.evaluate.api import evaluate
from deeplake_lite.evaluate.comparison import Comparison, compare
from deeplake_lite.evaluate.evaluation import Evaluation, restore

__all__ = ["Comparison", "Evaluation", "compare", "evaluate", "restore"]
