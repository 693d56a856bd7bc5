"""Finding what an annotator or a model got wrong.

Steps: `labels` reads a column as classes, `neighbours` finds the vectors nearest to each, which
`kept` remembers, `votes` judges labels by those of neighbours, `confident` by a model's
probabilities; `ranking` makes a ranked view of it. `predictions` writes queries that compare a
model's answers with the truth.
"""

from deeplake_lite.review.predictions import agreement, compared, pairs
from deeplake_lite.review.ranking import ask, suspects

__all__ = ["agreement", "ask", "compared", "pairs", "suspects"]
