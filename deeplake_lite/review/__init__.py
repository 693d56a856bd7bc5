"""Tools that find mistakes made by annotators and models.

The module `labels` reads a column as class numbers. `neighbours` finds the nearest vectors of each
row, and `neighbour_cache` caches the result. `votes` judges labels by the labels of neighbours, and
`confident` judges labels by a model's probabilities. `ranking` returns a view that has the rows
with the most suspicious labels first. `predictions` writes queries that compare a model's
predictions with the truth.
"""

from deeplake_lite.review.predictions import agreement, comparison_query, pairs
from deeplake_lite.review.ranking import ask, suspects

__all__ = ["agreement", "ask", "comparison_query", "pairs", "suspects"]
