"""Votes of nearest neighbours on the label of each row.

A vote is weighted by the cosine of the neighbour, as in Bahri, Jiang, Gupta, Deep k-NN for Noisy
Labels (ICML 2020), https://arxiv.org/abs/2004.12289, and Zhu, Dong, Liu, Detecting Corrupted Labels
Without Training a Model to Predict (ICML 2022), https://arxiv.org/abs/2110.06283.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MIN_WEIGHT = 1e-6  # weight of neighbours whose cosine is 0 or less


def votes(
    codes: NDArray[np.int64], rows: NDArray[np.int64], cosines: NDArray[np.float32]
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return the share of votes against each label, and the label with the most votes.

    Parameters
    ----------
    codes : ndarray, (n,) int64
        Class number of each row's label.
    rows, cosines : ndarray, (n, k)
        Rows of the neighbours of each row, and their cosines. A missing neighbour is -1.

    Returns
    -------
    suspicion : ndarray, (n,) float32
        Share of the votes against the row's label; 0 if there are no neighbours.
    suggested : ndarray, (n,) int64
        The label with the most votes, or in a tie, the row's own label.

    Examples
    --------
    >>> labels, rows = np.array([7, 7, 5]), np.array([[1, 2], [0, 2], [0, 1]])
    >>> suspicion, suggested = votes(labels, rows, np.array([[0.5, 0.5], [0.9, 0.1], [0.5, 0.5]]))
    >>> suspicion.tolist(), suggested.tolist()
    ([0.5, 0.10000000149011612, 1.0], [7, 7, 7])
    """
    weights = np.where(rows >= 0, np.maximum(cosines, _MIN_WEIGHT), 0)
    voted, labels = codes[rows], codes[:, np.newaxis]
    for_label = np.where(voted == labels, weights, 0).sum(axis=1)
    total = weights.sum(axis=1)
    support = np.stack(
        [np.where(voted == label[:, np.newaxis], weights, 0).sum(axis=1) for label in voted.T],
        axis=1,
    )
    best = support.argmax(axis=1)[:, np.newaxis]
    is_ahead = np.take_along_axis(support, best, axis=1)[:, 0] > for_label
    suggested = np.where(is_ahead, np.take_along_axis(voted, best, axis=1)[:, 0], codes)
    share = np.divide(for_label, total, out=np.ones_like(for_label), where=total > 0)
    return (1 - share).astype(np.float32), suggested
