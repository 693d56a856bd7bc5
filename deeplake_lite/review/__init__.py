"""Tools that find mistakes made by annotators and models.

Steps: `labels` reads a column as class numbers. `neighbours` finds the nearest vectors of each row,
and `neighbour_cache` caches them. `votes` judges labels by the labels of neighbours, and
`confident` judges them by a model's probabilities. `ranking` returns the result as a ranked view.
`predictions` writes queries that compare a model's predictions with the truth.
"""

from deeplake_lite.review.predictions import agreement, comparison_query, pairs
from deeplake_lite.review.ranking import ask, suspects

__all__ = ["agreement", "ask", "comparison_query", "pairs", "suspects"]
