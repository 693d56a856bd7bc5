"""Functions that find the dataset to which edits of a view are written, and renew views.

A view remembers the branch from which it was taken. Edits of the view are written to that branch,
even if the dataset has moved to another branch since then. After a commit, a renewed view has the
current values.
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
    """Return the dataset to which edits of a view are written.

    This is the view itself if it is a dataset, and otherwise a new Dataset object on its branch.

    Raises
    ------
    ReadOnlyError
        When the rows belong to a read-only version.
    UncommittedError
        When the view has uncommitted edits, because the dataset of these edits is unknown.
    VersionNotFoundError
        When the branch has been deleted.

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
    if view.rows.uncommitted:
        raise UncommittedError(
            "The view has uncommitted edits, and the dataset browser cannot tell to which dataset "
            "they belong. Browse the dataset with ds.browse(), or commit first with ds.commit('…')."
        )
    lake = view.rows.lake
    if lake.branch is None:
        origin = f"to version {lake.name!r}, which never moves" if lake.name else "to no branch"
        raise ReadOnlyError(
            f"Edits go to the branch from which a view was taken, but these rows belong {origin}. "
            "Browse rows of a branch, such as dl.open(url).browse()."
        )
    return at_branch(lake, lake.branch)


def renew_view(view: View, ds: Dataset) -> View:
    """Return the rows of a view that still exist in a dataset, with their current values.

    If the view is a query result, the query runs again on its renewed sources. Rows of another
    lake, branch or version are returned unchanged.
    """
    question = question_of(view)
    if question is not None:
        return _rerun_query(view, ds)
    is_elsewhere = (view.url, view.rows.lake.branch) != (ds.url, ds.current_branch)
    if is_elsewhere or isinstance(view.rows.table, VirtualTable):
        return view
    if isinstance(view, Dataset):
        return ds
    table = ds.handle.table
    slots = table.find(view.row_ids)
    names = tuple(name for name in view.columns if name in ds.columns)
    return View(RowSelection(ds.handle.lake, table, slots[slots >= 0]), names, view.origin)


def _rerun_query(view: View, ds: Dataset) -> View:
    """Run the query of a view again.

    The result has only rows that the view contained, unless the view was empty or its rows have no
    ids.
    """
    from dataclasses import replace

    question = question_of(view)
    assert question is not None
    asked = None if question.asked is None else renew_view(question.asked, ds)
    sources = {name: renew_view(source, ds) for name, source in question.sources.items()}
    result = replace(question, asked=asked, sources=sources).repeat()
    if not len(view) or not result.rows.table.has_ids:
        return result
    ids = result.row_ids
    common = ids[np.isin(ids, view.row_ids)]
    return result[np.flatnonzero(np.isin(ids, common))]
