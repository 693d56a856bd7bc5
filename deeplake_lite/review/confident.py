"""Confident learning, which finds labels that contradict a model's probabilities.

See Northcutt, Jiang, Chuang, Confident Learning: Estimating Uncertainty in Dataset Labels (JAIR 70,
2021), https://arxiv.org/abs/1911.00068. The threshold of a class is the mean probability of this
class in the rows that are labelled with this class. A row is assigned to the most probable of the
classes whose probabilities reach their thresholds. If this class differs from the row's label, the
label is probably wrong; in the paper, the row is then counted off the diagonal of the "confident
joint" matrix. A row's probabilities should come from a model that was not trained on this row,
which cross-validation ensures.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from numpy.typing import NDArray

type Probabilities = NDArray[np.float32]


def thresholds(
    codes: NDArray[np.int64], blocks: Iterable[tuple[slice, Probabilities]], classes: int
) -> NDArray[np.float64]:
    """Return the threshold of each class, (classes,) float64.

    This is the mean probability of the class in the rows that are labelled with it, or infinity if
    there are no such rows.
    """
    sums = np.zeros(classes)
    for span, probabilities in blocks:
        of_labels = probabilities[np.arange(len(probabilities)), codes[span]]
        sums += np.bincount(codes[span], of_labels, classes)
    counts = np.bincount(codes, minlength=classes)
    means: NDArray[np.float64] = np.full(classes, np.inf)
    return np.divide(sums, counts, out=means, where=counts > 0)


def judge(
    codes: NDArray[np.int64],
    blocks: Callable[[], Iterable[tuple[slice, Probabilities]]],
    classes: int,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return a suspicion score for each row's label, and the class that the model suggests.

    Parameters
    ----------
    codes : ndarray, (n,) int64
        Class number of each row's label.
    blocks : callable
        Yields all rows in order, as slices with their probabilities, (rows, classes).
    classes : int
        Number of classes.

    Returns
    -------
    suspicion : ndarray, (n,) float32
        (1 - p(label) + the largest p of another class) / 2, where p is the probability minus the
        threshold of its class, shifted and scaled so that p is not negative and adds up to 1 in
        each row. The score is 0 for a certain label and 1 for a certain error.
    suggested : ndarray, (n,) int64
        The class to which each row belongs according to its probabilities, or the row's label if no
        class reaches its threshold.

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.9, 0.1]], np.float32)
    >>> suspicion, suggested = judge(np.array([0, 0, 1, 1]), lambda: [(slice(0, 4), p)], 2)
    >>> suggested.tolist(), int(suspicion.argmax())
    ([0, 0, 1, 0], 3)
    """
    least = thresholds(codes, blocks(), classes)
    highest = least[np.isfinite(least)].max(initial=0)
    suspicion, suggested = np.zeros(len(codes), np.float32), codes.copy()
    for span, probabilities in blocks():
        labels = codes[span]
        reached = np.where(probabilities >= least - 1e-9, probabilities, -1)
        is_confident = reached.max(axis=1, initial=-1) >= 0
        suggested[span] = np.where(is_confident, reached.argmax(axis=1), labels)
        # Adding the highest threshold keeps the scores positive without changing their order.
        suspicion[span] = _suspicion(np.maximum(probabilities - least + highest, 0), labels)
    return suspicion, suggested


def _suspicion(scores: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how far the score of each label is below the best score of any other class, 0 to 1."""
    total = scores.sum(axis=1, keepdims=True)
    shares = np.divide(scores, total, out=np.zeros_like(scores), where=total > 0)
    at = np.arange(len(labels))
    of_labels = shares[at, labels].copy()
    shares[at, labels] = 0
    suspicion: NDArray[np.float64] = (1 - of_labels + shares.max(axis=1, initial=0)) / 2
    return suspicion
