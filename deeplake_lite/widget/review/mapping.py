"""The map of an embedding column: points of the rows that are shown, and what colours them."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.dataset.read.reading import read_values
from deeplake_lite.dataset.read.virtual import source_of
from deeplake_lite.dataset.versions.changes import has_same
from deeplake_lite.errors import SchemaError
from deeplake_lite.htypes.layouts import Dense
from deeplake_lite.review.labels import Labels
from deeplake_lite.storage.table import Table
from deeplake_lite.widget import fields
from deeplake_lite.widget.images.kinds import colouring
from deeplake_lite.widget.review.embedding import (
    FITTED_ROWS,
    MOST_POINTS,
    Axes,
    Frame,
    held,
    sample,
    umap,
    vectors,
)
from deeplake_lite.widget.review.placed import Placed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field
    from deeplake_lite.widget.messages import Pack
    from deeplake_lite.widget.parts import Handler, Host, Request
    from deeplake_lite.widget.shown import Shown

type Positions = NDArray[np.int64]
type Points = NDArray[np.float32]
type Layout = PcaLayout | UmapLayout

MOST_NAMES = 1000
"""Texts that colours are told apart for."""

BINARY = "application/octet-stream"


class Map:
    """The map, one layout per column of what is browsed."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._layouts: dict[tuple[str, str], tuple[View, Layout]] = {}

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """What it answers, by type of message."""
        return {"points": self.points}

    def points(self, request: Request, pack: Pack) -> dict[str, Any]:
        """Return where rows lie, and what colours them."""
        shown = self._host.shown
        view = shown.view
        f = vector_column(view, fields.text(request, "column"))
        layout = self._layout(shown, f, fields.text(request, "method", "pca"))
        positions, xy = layout.place(shown, f)
        colour, values = colours(view, fields.text_or_none(request, "colour"), positions)
        spans: dict[str, Any] = {
            "xy": pack.add(xy.astype("<f4").tobytes(), BINARY)[:2],
            "positions": pack.add(positions.astype("<u4").tobytes(), BINARY)[:2],
            "colour": None if values is None else pack.add(values.tobytes(), BINARY)[:2],
        }
        return {"n": len(positions), "of": len(view), "colour": colour, "v": spans}

    def _layout(self, shown: Shown, f: Field, method: str) -> Layout:
        """Return the layout of a column: of all rows that are browsed, where they have it.

        It stays while rows and vectors do: a commit that mends labels moves nothing.
        """
        if method not in LAYOUTS:
            raise SchemaError(f"A map is made by 'pca' or 'umap', got {brief(method, 40)}.")
        base = shown.base
        stored = f.name in base.columns and source_of(base, base.schema[f.name])
        over = base if stored == source_of(shown.view, f) else shown.view
        known = self._layouts.get((f.name, method))
        if known is not None and (known[0] is over or _are_alike(known[0], over, f.name)):
            layout = known[1]
        else:
            layout = LAYOUTS[method](over, over.schema[f.name])
        self._layouts[f.name, method] = over, layout
        return layout


class PcaLayout:
    """Principal axes, which place any row; each row's vector is read once."""

    def __init__(self, view: View, f: Field) -> None:
        _, found = held(view, f, sample(len(view), FITTED_ROWS))
        self._axes = Axes.of(found)
        self._frame = Frame.of(self._axes.place(found))
        self._placed = Placed()

    def place(self, shown: Shown, f: Field) -> tuple[Positions, Points]:
        """Return the positions of rows that are shown, and where they lie."""
        view = shown.view
        positions = sample(len(view), MOST_POINTS)
        ids = shown.ids(positions)
        if ids is None:
            points = self._read(view, f, positions)
        else:
            points = self._placed.get(ids, lambda new: self._read(view, f, positions[new]))
        there = np.isfinite(points).all(axis=1)
        return positions[there], points[there]

    def _read(self, view: View, f: Field, positions: Positions) -> Points:
        """Return where rows lie, (n, 2); not a number for those without a vector."""
        points = np.full((len(positions), 2), np.nan, np.float32)
        for there, found in vectors(view, f, positions):
            points[np.searchsorted(positions, there)] = self._frame.fit(self._axes.place(found))
        return points


class UmapLayout:
    """UMAP, which places the rows that it has seen."""

    def __init__(self, view: View, f: Field) -> None:
        positions, found = held(view, f, sample(len(view), FITTED_ROWS))
        placed = umap(found)
        self._ids = view.row_ids[positions]
        self._points = Frame.of(placed).fit(placed)

    def place(self, shown: Shown, f: Field) -> tuple[Positions, Points]:  # noqa: ARG002
        """Return the positions of rows that are shown, and where they lie."""
        if not shown.has_ids:
            raise SchemaError("UMAP needs rows of the dataset. Take the query back, or use PCA.")
        ids = shown.view.row_ids
        order = np.argsort(self._ids, kind="stable")
        at = order[np.minimum(np.searchsorted(self._ids, ids, sorter=order), len(order) - 1)]
        known = np.flatnonzero(self._ids[at] == ids) if len(order) else np.empty(0, np.int64)
        return known, self._points[at[known]]


LAYOUTS: dict[str, type[Layout]] = {"pca": PcaLayout, "umap": UmapLayout}


def _are_alike(before: View, now: View, name: str) -> bool:
    """Tell whether what is browsed has the same rows with the same vectors as it had."""
    a, b = before._table, now._table
    if not (isinstance(a, Table) and isinstance(b, Table)) or name not in before.columns:
        return False
    f, g = before.schema[name], now.schema[name]
    return (
        before.url == now.url
        and (f.id, f.htype) == (g.id, g.htype)
        and np.array_equal(before._located()[1], now._located()[1])
        and has_same(a, b, f.id)
    )


def is_vector(htype: Htype) -> bool:
    """Tell whether a column has a map: embeddings, and rows of floats.

    >>> from deeplake_lite.htypes import Embedding, Scalar
    >>> is_vector(Embedding(4)), is_vector(Scalar("float32"))
    (True, False)
    """
    layout = htype.layout
    if not isinstance(layout, Dense) or len(layout.shape) != 1 or layout.shape[0] < 2:
        return False
    return htype.is_embedding or np.dtype(layout.dtype).kind == "f"


def vector_column(view: View, name: str) -> Field:
    """Return a column that has a map. Raises SchemaError."""
    f = view[name]._field
    if not is_vector(f.htype):
        raise SchemaError(f"A map takes a column of vectors, column {name!r} is {f.htype}.")
    return f


def about_map(view: View) -> dict[str, Any]:
    """Return what the page knows of maps."""
    found = sorted(
        (f for f in view.schema if is_vector(f.htype)),
        key=lambda f: not f.htype.is_embedding,
    )
    return {"embeddings": [f.name for f in found], "umap": find_spec("umap") is not None}


def colours(
    view: View, name: str | None, positions: Positions
) -> tuple[dict[str, Any] | None, NDArray[Any] | None]:
    """Return what colours mean, and a value for each row: a class, -1 for none, or a number."""
    if not name or name not in view.columns:
        return None, None
    f = view.schema[name]
    match colouring(f.htype):
        case "classes":
            labels = Labels.of(view[positions], f.name)
            names = _names(f.htype, labels)
            codes = np.where(labels.codes < MOST_NAMES, labels.codes, -1)
            return {"kind": "classes", "names": names[:MOST_NAMES]}, codes.astype("<i4")
        case "numbers":
            return _numbers(read_values(view, [f], positions)[f.name])
    raise SchemaError(f"Points are coloured by classes or numbers, column {name!r} is {f.htype}.")


def _names(htype: Htype, labels: Labels) -> list[str]:
    if htype.classes is not None and htype.classes.names:
        return list(htype.classes.names)
    return [str(value) for value in labels.values]


def _numbers(values: Any) -> tuple[dict[str, Any], NDArray[Any]]:
    plain = np.ma.getdata(values)
    if plain.dtype.kind in "mM":
        plain = plain.astype("int64")
    numbers = np.ma.array(plain, np.float64, mask=np.ma.getmaskarray(values)).filled(np.nan)
    finite = numbers[np.isfinite(numbers)]
    ends = [float(finite.min()), float(finite.max())] if len(finite) else [0.0, 1.0]
    return {"kind": "numbers", "range": ends}, numbers.astype("<f4")
