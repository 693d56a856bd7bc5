"""The dataset that edits of a view are written to: the user's own handle, or one of the same lake.

A view does not know its handle. It reads a version; the branch that ends with it, or else one that
came after it, is where its edits go.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from deeplake_lite.dataset import versions
from deeplake_lite.dataset.dataset import Dataset
from deeplake_lite.dataset.opening import at_branch
from deeplake_lite.dataset.view import View
from deeplake_lite.dataset.virtual import VirtualTable, question_of
from deeplake_lite.errors import ReadOnlyError, UncommittedError

if TYPE_CHECKING:
    from collections.abc import Iterator

MOST_COMMITS = 1000
"""Of a branch, in which a view's version is looked for."""


def handle_of(view: View) -> Dataset:
    """Return the dataset that edits of a view are written to.

    Raises
    ------
    ReadOnlyError
        For a version that never moves, or that is on no branch.
    UncommittedError
        For a view of edits that are in the transaction of another handle.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://handle-doc", {"x": "int32"})
    >>> ds.append({"x": [1, 2]})
    >>> version = ds.commit("two rows")
    >>> handle_of(ds) is ds, handle_of(ds[:1]).current_branch
    (True, 'main')
    """
    if isinstance(view, Dataset):
        view._check_writable()
        return view
    if view._table.edits:
        raise UncommittedError(
            "The view has edits that are not committed, in a dataset that it does not know. "
            "Browse the dataset, ds.browse(), or commit first: ds.commit('…')."
        )
    branch = next(_branches(view), None)
    if branch is None:
        raise ReadOnlyError(
            f"No branch ends with version {view.version!r} or came after it. Browse a branch to "
            "edit it: ds.browse()."
        )
    return at_branch(view._lake, branch)


def _branches(view: View) -> Iterator[str]:
    """Yield the branches with a view's version: those that end with it, main before others."""
    repository = view._lake.repository
    tips = versions.branches(repository)
    names = sorted(tips, key=lambda name: (name != "main", name))
    ended = (name for name in names if tips[name] == view.version)
    passed = (
        name
        for name in names
        if any(c.id == view.version for c in versions.history(repository, tips[name], MOST_COMMITS))
    )
    return chain(ended, passed)


def renewed(view: View, ds: Dataset) -> View:
    """Return the rows of a view as they are in a dataset by now, those that are still there.

    Of a query's result the query is asked again, of what it was asked of as that is by now.
    """
    question = question_of(view)
    if question is not None:
        return _asked_again(view, ds)
    if view.url != ds.url or isinstance(view._table, VirtualTable):
        return view
    if isinstance(view, Dataset):
        return ds
    table = ds._table
    slots = table.find(view.row_ids)
    names = tuple(name for name in view.columns if name in ds.columns)
    return View(ds._lake, table, slots[slots >= 0], names, view.origin)


def _asked_again(view: View, ds: Dataset) -> View:
    from dataclasses import replace

    question = question_of(view)
    assert question is not None
    asked = None if question.asked is None else renewed(question.asked, ds)
    sources = {name: renewed(source, ds) for name, source in question.sources.items()}
    again = replace(question, asked=asked, sources=sources).ask()
    if not len(view) or not again._table.has_ids:  # type: ignore[attr-defined]
        return again
    ids = again.row_ids
    kept = ids[np.isin(ids, view.row_ids)]
    return again[np.flatnonzero(np.isin(ids, kept))]
