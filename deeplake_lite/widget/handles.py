"""The dataset that edits of a view are written to: the user's own handle, or one of the same lake.

A view remembers the branch that its handle was on. That is where its edits go, wherever the handle
has gone since.
"""

from __future__ import annotations

import numpy as np

from deeplake_lite.dataset.dataset import Dataset
from deeplake_lite.dataset.opening import at_branch
from deeplake_lite.dataset.read.virtual import VirtualTable, question_of
from deeplake_lite.dataset.selection import RowSelection
from deeplake_lite.dataset.view import View
from deeplake_lite.errors import ReadOnlyError, UncommittedError


def handle_of(view: View) -> Dataset:
    """Return the dataset that edits of a view are written to.

    Raises
    ------
    ReadOnlyError
        For rows of a version that never moves.
    UncommittedError
        For a view of edits that are in the transaction of another handle.
    VersionNotFoundError
        When the branch is deleted.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://handle-doc", {"x": "int32"})
    >>> ds.branch("fix")
    >>> few = ds[:1]
    >>> handle_of(ds.checkout("fix")) is ds, handle_of(few).current_branch
    (True, 'main')
    """
    if isinstance(view, Dataset):
        view.handle.check_writable()
        return view
    if view.rows.table.uncommitted:
        raise UncommittedError(
            "The view has edits that are not committed, in a dataset that it does not know. "
            "Browse the dataset, ds.browse(), or commit first: ds.commit('…')."
        )
    lake = view.rows.lake
    if lake.branch is None:
        whose = f"of version {lake.name!r}, which never moves" if lake.name else "of no branch"
        raise ReadOnlyError(
            f"Edits go to the branch that a view was taken from, but these rows are {whose}. "
            "Browse rows of a branch, such as dl.open(url).browse()."
        )
    return at_branch(lake, lake.branch)


def renewed(view: View, ds: Dataset) -> View:
    """Return the rows of a view as they are in a dataset by now, those that are still there.

    Of a query's result the query is asked again, of what it was asked of as that is by now. Rows
    of another lake, branch or version stay as they are.
    """
    question = question_of(view)
    if question is not None:
        return _asked_again(view, ds)
    elsewhere = (view.url, view.rows.lake.branch) != (ds.url, ds.current_branch)
    if elsewhere or isinstance(view.rows.table, VirtualTable):
        return view
    if isinstance(view, Dataset):
        return ds
    table = ds.handle.table
    slots = table.find(view.row_ids)
    names = tuple(name for name in view.columns if name in ds.columns)
    return View(RowSelection(ds.handle.lake, table, slots[slots >= 0]), names, view.origin)


def _asked_again(view: View, ds: Dataset) -> View:
    from dataclasses import replace

    question = question_of(view)
    assert question is not None
    asked = None if question.asked is None else renewed(question.asked, ds)
    sources = {name: renewed(source, ds) for name, source in question.sources.items()}
    again = replace(question, asked=asked, sources=sources).repeat()
    if not len(view) or not again.rows.table.has_ids:
        return again
    ids = again.row_ids
    kept = ids[np.isin(ids, view.row_ids)]
    return again[np.flatnonzero(np.isin(ids, kept))]
