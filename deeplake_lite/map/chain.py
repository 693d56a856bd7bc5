"""The lineage of a view as a JSON object: its version, its query, and the origins of its columns.

A copy of a view records the lineage, so that `find_origin` can follow columns from the copy to the
lake. Loaders return it for experiment trackers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deeplake_lite.dataset.dataset import Dataset
from deeplake_lite.dataset.handle import Handle
from deeplake_lite.dataset.read.virtual import ViewColumn, VirtualTable
from deeplake_lite.ingest.copied_lineage import COPIED
from deeplake_lite.map.origins import Recorded, find_origin
from deeplake_lite.storage.repo import is_web, public_url
from deeplake_lite.storage.table import Table

if TYPE_CHECKING:
    from deeplake_lite.dataset.view import View
    from deeplake_lite.schema import Field


def lineage_of(view: View) -> dict[str, Any]:
    """Return the lineage of a view as a JSON object.

    It has the keys ``url`` (without credentials), ``version``, ``uncommitted`` (whether the rows
    include uncommitted edits), ``selection`` (how the rows were selected, such as the text of a
    query), ``rows`` (their number), ``columns`` and ``computed``. ``columns`` maps each column that
    is read from a lake to the ``url`` and ``version`` of that lake, the name of the ``column``
    there, and its ``origin``: the job that filled it, or None. ``computed`` names the columns that
    a query computes.

    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://chain-doc", {"x": "int32"})
    >>> ds.append({"x": [1, 2]})
    >>> version = ds.commit("two rows")
    >>> lineage = lineage_of(ds.query("SELECT x, x * 2 AS y"))
    >>> lineage["columns"]["x"] == {
    ...     "url": ds.url, "version": version, "column": "x", "origin": None
    ... }
    True
    >>> lineage["computed"], lineage["selection"], lineage["rows"]
    (['y'], 'SELECT x, x * 2 AS y', 2)
    """
    columns, computed, known = dict[str, Any](), list[str](), dict[tuple[str, str], Recorded]()
    for f in view.schema:
        stored = _stored(view, f)
        if stored is None:
            computed.append(f.name)
            continue
        source, column = stored
        url, version = public_url(source.url), source.version
        if (source.url, version) not in known:
            known[source.url, version] = Recorded.of(_dataset_of(source))
        origin = find_origin(known[source.url, version], column.name, column.id)
        columns[f.name] = {
            "url": url,
            "version": version,
            "column": column.name,
            "origin": None if origin is None else origin.to_json(),
        }
    return {
        "url": public_url(view.url),
        "version": view.version,
        "uncommitted": view.rows.uncommitted,
        "selection": view.origin,
        "rows": len(view),
        "columns": columns,
        "computed": computed,
    }


def record_copy(view: View, how: str, *, with_places: bool = True) -> dict[str, Any]:
    """Return the record of a copy of a view, for the metadata of the copy's commit.

    Parameters
    ----------
    view : View
        The view that is copied. The columns of the copy have the same ids.
    how : str
        Name of the method that copies it, such as ``"materialize"``.
    with_places : bool
        Whether the record has the URLs of lakes. Addresses on web servers are always kept.
    """
    ids, lineage = {f.name: f.id for f in view.schema}, lineage_of(view)
    if not with_places:
        lineage = _without_places(lineage)
    return {COPIED: {"how": how, "lineage": lineage, "ids": ids}}


def _without_places(value: Any) -> Any:
    """Return a part of a lineage without the URLs of lakes, except those on web servers.

    >>> _without_places({"url": "/home/me/a.lake", "columns": {"x": {"url": "https://x.org/b"}}})
    {'url': '', 'columns': {'x': {'url': 'https://x.org/b'}}}
    """
    if not isinstance(value, dict):
        return value
    hidden = {"url": "", "lake": None}
    return {
        key: hidden[key]
        if key in hidden and isinstance(item, str) and not is_web(item)
        else _without_places(item)
        for key, item in value.items()
    }


def _stored(view: View, f: Field) -> tuple[View, Field] | None:
    """Return the view of a lake from which a column's cells are read, and the column's name there.

    None if a query computes the cells.
    """
    while isinstance(table := view.rows.table, VirtualTable):
        column = table.column(f.id)
        if not isinstance(column, ViewColumn):
            return None
        view, f = column.view, column.field
    return view, f


def _dataset_of(view: View) -> Dataset:
    """Return the version of the lake that a view reads, as a read-only dataset."""
    lake, version = view.rows.lake, view.version
    table = Table.open(lake.repository, lake.repository.reader(version))
    return Dataset(Handle(lake.at(None, version), table))
