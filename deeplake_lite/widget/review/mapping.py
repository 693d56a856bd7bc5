"""The part of the browser that draws the map of an embedding column as coloured points."""

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
    MAX_POINTS,
    Axes,
    Frame,
    read_vectors,
    sample,
    umap,
    vectors,
)
from deeplake_lite.widget.review.point_cache import PointCache

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes import Htype
    from deeplake_lite.schema import Field
    from deeplake_lite.widget.browser_state import BrowserState
    from deeplake_lite.widget.messages import Pack
    from deeplake_lite.widget.parts import Handler, Host, Request

type Positions = NDArray[np.int64]
type Points = NDArray[np.float32]
type Layout = PcaLayout | UmapLayout

MAX_NAMES = 1000
"""Maximum number of coloured classes."""

BINARY = "application/octet-stream"


class Map:
    """The part of the browser that sends maps. There is one layout per column and method."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._layouts: dict[tuple[str, str], tuple[View, Layout]] = {}

    @property
    def handlers(self) -> Mapping[str, Handler]:
        """The methods that answer requests, by the type of the request."""
        return {"points": self.points}

    def points(self, request: Request, pack: Pack) -> dict[str, object]:
        """Return the points of the shown rows, and the values by which they are coloured."""
        shown = self._host.shown
        view = shown.view
        f = vector_column(view, fields.text(request, "column"))
        layout = self._layout(shown, f, fields.text(request, "method", "pca"))
        positions, xy = layout.points(shown, f)
        colour, values = colours(view, fields.text_or_none(request, "colour"), positions)
        spans: dict[str, object] = {
            "xy": pack.add(xy.astype("<f4").tobytes(), BINARY)[:2],
            "positions": pack.add(positions.astype("<u4").tobytes(), BINARY)[:2],
            "colour": None if values is None else pack.add(values.tobytes(), BINARY)[:2],
        }
        return {"n": len(positions), "of": len(view), "colour": colour, "v": spans}

    def _layout(self, shown: BrowserState, f: Field, method: str) -> Layout:
        """Return the layout of the browsed rows, or of the result if the query computes the column.

        The layout is reused as long as the rows and their vectors stay the same. Therefore,
        committing corrected labels does not move points.
        """
        if method not in LAYOUTS:
            raise SchemaError(
                f"The method of a map must be 'pca' or 'umap', but it is {brief(method, 40)}. "
                "Reload the page."
            )
        base = shown.base
        stored = f.name in base.columns and source_of(base, base.schema[f.name])
        mapped_view = base if stored == source_of(shown.view, f) else shown.view
        cached = self._layouts.get((f.name, method))
        if cached is not None and (
            cached[0] is mapped_view or _same_vectors(cached[0], mapped_view, f.name)
        ):
            layout = cached[1]
        else:
            layout = LAYOUTS[method](mapped_view, mapped_view.schema[f.name])
        self._layouts[f.name, method] = mapped_view, layout
        return layout


class PcaLayout:
    """A layout by principal axes, which has a point for every row with a vector.

    Each row's vector is read only once.
    """

    def __init__(self, view: View, f: Field) -> None:
        _, vectors = read_vectors(view, f, sample(len(view), FITTED_ROWS))
        self._axes = Axes.of(vectors)
        self._frame = Frame.of(self._axes.project(vectors))
        self._cache = PointCache()

    def points(self, shown: BrowserState, f: Field) -> tuple[Positions, Points]:
        """Return the positions and points of the shown rows that have a vector."""
        view = shown.view
        positions = sample(len(view), MAX_POINTS)
        ids = shown.ids(positions)
        if ids is None:
            points = self._read(view, f, positions)
        else:
            points = self._cache.get(ids, lambda new: self._read(view, f, positions[new]))
        has_point = np.isfinite(points).all(axis=1)
        return positions[has_point], points[has_point]

    def _read(self, view: View, f: Field, positions: Positions) -> Points:
        """Return the points of rows, (n, 2), with NaN for rows without a vector."""
        points = np.full((len(positions), 2), np.nan, np.float32)
        for rows, block in vectors(view, f, positions):
            points[np.searchsorted(positions, rows)] = self._frame.fit(self._axes.project(block))
        return points


class UmapLayout:
    """A layout by UMAP, which has points only for the rows from which it was computed."""

    def __init__(self, view: View, f: Field) -> None:
        positions, vectors = read_vectors(view, f, sample(len(view), FITTED_ROWS))
        points = umap(vectors)
        self._ids = view.row_ids[positions]
        self._points = Frame.of(points).fit(points)

    def points(self, shown: BrowserState, f: Field) -> tuple[Positions, Points]:  # noqa: ARG002
        """Return the positions and points of the shown rows that have a point."""
        if not shown.has_ids:
            raise SchemaError(
                "UMAP needs rows of the dataset, but the query computes new rows. Clear the "
                "query, or use PCA."
            )
        ids = shown.view.row_ids
        order = np.argsort(self._ids, kind="stable")
        at = order[np.minimum(np.searchsorted(self._ids, ids, sorter=order), len(order) - 1)]
        has_point = np.flatnonzero(self._ids[at] == ids) if len(order) else np.empty(0, np.int64)
        return has_point, self._points[at[has_point]]


LAYOUTS: dict[str, type[Layout]] = {"pca": PcaLayout, "umap": UmapLayout}


def _same_vectors(before: View, now: View, name: str) -> bool:
    """Return whether two versions of the browsed view have the same rows and vectors."""
    a, b = before.rows.table, now.rows.table
    if not (isinstance(a, Table) and isinstance(b, Table)) or name not in before.columns:
        return False
    f, g = before.schema[name], now.schema[name]
    return (
        before.url == now.url
        and (f.id, f.htype) == (g.id, g.htype)
        and np.array_equal(before.rows.locate()[1], now.rows.locate()[1])
        and has_same(a, b, f.id)
    )


def is_vector(htype: Htype) -> bool:
    """Return whether a column can have a map: an embedding, or any vector of floats.

    >>> from deeplake_lite.htypes import Embedding, Scalar
    >>> is_vector(Embedding(4)), is_vector(Scalar("float32"))
    (True, False)
    """
    layout = htype.layout
    if not isinstance(layout, Dense) or len(layout.shape) != 1 or layout.shape[0] < 2:
        return False
    return htype.is_embedding or np.dtype(layout.dtype).kind == "f"


def vector_column(view: View, name: str) -> Field:
    """Return a column of vectors. Raises SchemaError for other columns."""
    f = view[name].field
    if not is_vector(f.htype):
        raise SchemaError(
            f"A map needs a column of vectors, but the type of column {name!r} is {f.htype}. "
            "Choose another column."
        )
    return f


def about_map(view: View) -> dict[str, object]:
    """Return the columns that can have a map, embeddings first, and whether UMAP is installed."""
    columns = sorted(
        (f for f in view.schema if is_vector(f.htype)),
        key=lambda f: not f.htype.is_embedding,
    )
    return {"embeddings": [f.name for f in columns], "umap": find_spec("umap") is not None}


def colours(
    view: View, name: str | None, positions: Positions
) -> tuple[dict[str, object] | None, NDArray[Any] | None]:
    """Return the legend of the colours, and an array with the number or class of each row.

    The class -1 means no class. If no column colours the points, return (None, None).
    """
    if not name or name not in view.columns:
        return None, None
    f = view.schema[name]
    match colouring(f.htype):
        case "classes":
            labels = Labels.of(view[positions], f.name)
            names = _names(f.htype, labels)
            codes = np.where(labels.codes < MAX_NAMES, labels.codes, -1)
            return {"kind": "classes", "names": names[:MAX_NAMES]}, codes.astype("<i4")
        case "numbers":
            return _numbers(read_values(view, [f], positions)[f.name])
    raise SchemaError(
        f"Points can be coloured by classes or numbers, but the type of column {name!r} is "
        f"{f.htype}. Choose another column."
    )


def _names(htype: Htype, labels: Labels) -> list[str]:
    if htype.classes is not None and htype.classes.names:
        return list(htype.classes.names)
    return [str(value) for value in labels.values]


def _numbers(values: Any) -> tuple[dict[str, object], NDArray[Any]]:
    """Return a legend with the range of numbers or times, and the values as float32.

    Null becomes NaN.
    """
    plain = np.ma.getdata(values)
    if plain.dtype.kind in "mM":
        plain = plain.astype("int64")
    numbers = np.ma.array(plain, np.float64, mask=np.ma.getmaskarray(values)).filled(np.nan)
    finite = numbers[np.isfinite(numbers)]
    ends = [float(finite.min()), float(finite.max())] if len(finite) else [0.0, 1.0]
    return {"kind": "numbers", "range": ends}, numbers.astype("<f4")
