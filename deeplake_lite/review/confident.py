"""Labels that a model's probabilities contradict: confident learning.

After Northcutt, Jiang, Chuang, Confident Learning: Estimating Uncertainty in Dataset Labels (JAIR
70, 2021), https://arxiv.org/abs/1911.00068: a class's threshold is what the model gives it on
average where it is the label; a row belongs to the most probable class that reaches its threshold.
Where that is not the label, it is off the diagonal of the confident joint. The probabilities are to
come from models that did not see the row, by cross-validation.
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
    """Return the mean probability of each class where it is the label, (classes,) float64.

    Infinite for a class that no row has.
    """
    sums = np.zeros(classes)
    for span, given in blocks:
        own = given[np.arange(len(given)), codes[span]]
        sums += np.bincount(codes[span], own, classes)
    counts = np.bincount(codes, minlength=classes)
    means: NDArray[np.float64] = np.full(classes, np.inf)
    return np.divide(sums, counts, out=means, where=counts > 0)


def judged(
    codes: NDArray[np.int64],
    blocks: Callable[[], Iterable[tuple[slice, Probabilities]]],
    classes: int,
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return how far each row's label is behind another class, and to which one it belongs.

    Parameters
    ----------
    codes : ndarray, (n,) int64
        Labels.
    blocks : callable
        Yields the rows as slices with their probabilities, (rows, classes), from the beginning.
    classes : int
        How many there are.

    Returns
    -------
    suspicion : ndarray, (n,) float32
        (1 - p(label) + the largest p of another class) / 2, of probabilities less the thresholds:
        0 for a sure label, 1 for a sure error.
    suggested : ndarray, (n,) int64
        The class of the confident joint; the label where no class reaches its threshold.

    Examples
    --------
    >>> p = np.array([[0.9, 0.1], [0.8, 0.2], [0.1, 0.9], [0.9, 0.1]], np.float32)
    >>> suspicion, suggested = judged(np.array([0, 0, 1, 1]), lambda: [(slice(0, 4), p)], 2)
    >>> suggested.tolist(), int(suspicion.argmax())
    ([0, 0, 1, 0], 3)
    """
    least = thresholds(codes, blocks(), classes)
    highest = least[np.isfinite(least)].max(initial=0)
    suspicion, suggested = np.zeros(len(codes), np.float32), codes.copy()
    for span, given in blocks():
        labels = codes[span]
        reached = np.where(given >= least - 1e-9, given, -1)
        sure = reached.max(axis=1, initial=-1) >= 0
        suggested[span] = np.where(sure, reached.argmax(axis=1), labels)
        suspicion[span] = _behind(np.maximum(given - least + highest, 0), labels)
    return suspicion, suggested


def _behind(given: NDArray[np.float64], labels: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how far labels are behind the best other class, 0 to 1."""
    total = given.sum(axis=1, keepdims=True)
    shares = np.divide(given, total, out=np.zeros_like(given), where=total > 0)
    at = np.arange(len(labels))
    own = shares[at, labels].copy()
    shares[at, labels] = 0
    behind: NDArray[np.float64] = (1 - own + shares.max(axis=1, initial=0)) / 2
    return behind
