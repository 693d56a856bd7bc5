"""Finding the mistakes of annotators and models.

Steps: `labels` reads a column as class numbers. `neighbours` finds the nearest vectors of each row,
which `neighbour_cache` caches. `votes` judges labels by those of the neighbours, and `confident` by
a model's probabilities. `ranking` returns the result as a ranked view. `predictions` writes queries
that compare the predictions of a model with the truth.
"""

from deeplake_lite.review.predictions import agreement, compared, pairs
from deeplake_lite.review.ranking import ask, suspects

__all__ = ["agreement", "ask", "compared", "pairs", "suspects"]
