"""Converting COCO annotations to cells, and keeping values that cells cannot hold exactly.

A value of the file that its cell does not hold exactly is kept as an *original*. A block has
thousands of annotations, so the numbers of all annotations are converted and compared together. If
that fails, annotations are converted one by one, to find the invalid annotations.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.brief import brief
from deeplake_lite.dataset.export.annotations import coco_annotations as coco

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

type Annotations = Sequence[Mapping[str, Any]]

DERIVED = ("num_keypoints",)
"""Keys that do not become columns, because their values follow from other cells."""


@dataclass
class Cells:
    """The cells of a block of annotations."""

    by_key: dict[str, list[Any]] = field(default_factory=dict)
    """Maps each key to a list with a cell per annotation. Invalid values become placeholders."""

    originals: list[dict[str, Any]] = field(default_factory=list)
    """The originals of each annotation, as a dict from keys to values of the file; see
    `coco_annotations.restore`."""

    bad: dict[int, str] = field(default_factory=dict)
    """Maps the positions of invalid annotations to error messages."""


def cells_of(
    flat: Annotations, keys: Collection[str], classes: Mapping[Any, int], points: Mapping[Any, int]
) -> Cells:
    """Convert annotations to cells, with a cell of each key for each annotation.

    Parameters
    ----------
    flat : sequence of dict
        The annotations.
    keys : collection of str
        The keys that become columns, or whose values follow from columns.
    classes : mapping
        Maps category ids to class numbers.
    points : mapping
        Maps category ids to numbers of keypoints.
    """
    cells = Cells()
    wanted, known = frozenset(keys), {*coco.COLUMNS, *DERIVED, "image_id"}
    usual = wanted | {"image_id"}
    for annotation in flat:
        # Segments do not have the key image_id.
        if annotation.keys() == usual or annotation.keys() == wanted:
            cells.originals.append({})
            continue
        rest = (
            {}
            if annotation.keys() <= known
            else {k: v for k, v in annotation.items() if k not in known}
        )
        if not wanted <= annotation.keys():
            rest[coco.MISSING] = sorted(wanted - annotation.keys())
        cells.originals.append(rest)
    for key in sorted(wanted & coco.COLUMNS.keys()):
        column = _Column(key, flat, cells)
        match key:
            case "category_id":
                cells.by_key[key] = column.each(lambda v: coco.class_number(v, classes), 0)
            case "bbox":
                cells.by_key[key] = column.boxes()
            case "segmentation":
                cells.by_key[key] = column.outlines()
            case "keypoints":
                cells.by_key[key] = column.keypoints(points)
            case "caption":
                cells.by_key[key] = column.each(coco.caption, "")
            case "area":
                cells.by_key[key] = column.each(coco.area, np.nan, _is_same)
            case "iscrowd":
                cells.by_key[key] = column.each(coco.crowd, False, _is_same)
            case "id":
                cells.by_key[key] = column.each(coco.own_id, coco.NO_ID, _is_same)
    if "num_keypoints" in wanted and "keypoints" in wanted:
        _keep_counts(flat, cells)
    return cells


@dataclass(frozen=True)
class _Column:
    """A converter of the values that the annotations of a block have for one key."""

    key: str
    flat: Annotations
    cells: Cells

    def each(
        self,
        convert: Callable[[object], Any],
        blank: object,
        is_exact: Callable[[Any, object], bool] | None = None,
    ) -> list[Any]:
        """Convert values one by one, and keep those that their cells do not hold exactly.

        Parameters
        ----------
        convert : callable
            Converts a value to a cell, or raises ValueError.
        blank : object
            The cell for missing and invalid values.
        is_exact : callable, optional
            Takes a cell and the value that was converted, and returns whether they are equal.
        """
        if (plain := self._plain()) is not None:
            return plain
        key, result = self.key, list[Any]()
        for i, annotation in enumerate(self.flat):
            if key not in annotation and key not in ("category_id", "caption"):
                result.append(blank)
                continue
            value = annotation.get(key, "" if key == "caption" else None)
            try:
                cell = convert(value)
            except ValueError as error:
                self._refuse(i, error)
                cell = blank
            else:
                if is_exact is not None and not is_exact(cell, value):
                    self._keep(i)
            result.append(cell)
        return result

    def _plain(self) -> list[Any] | None:
        """Return the values if they can be used as cells, as in most files, or else None."""
        values: list[Any] = [annotation.get(self.key) for annotation in self.flat]
        kinds = {*map(type, values)}
        match self.key:
            case "id" if kinds == {int} and all(-(2**63) < v < 2**63 for v in values):
                return values
            case "area" if kinds == {float}:
                return values
            case "iscrowd" if kinds == {int} and {*values} <= {0, 1}:
                return [*map(bool, values)]
            case "caption" if kinds == {str}:
                return values
        return None

    def boxes(self) -> list[NDArray[np.float32]]:
        """Return a box with shape (4,) for each annotation."""
        try:
            wide = np.array([annotation["bbox"] for annotation in self.flat])
        except (KeyError, ValueError):
            wide = np.empty(0, object)
        if wide.dtype.kind not in "if" or wide.shape[1:] != (4,):
            return self.each(coco.box, np.zeros(4, np.float32), _is_exact)
        narrow = wide.astype(np.float32)
        for i in np.flatnonzero((coco.shortest(narrow) != wide).any(axis=1)).tolist():
            self._keep(i)
        return [*narrow]

    def outlines(self) -> list[list[NDArray[np.float32]]]:
        """Return a list of outlines for each annotation. An outline has shape (k, 2)."""
        values = [annotation.get("segmentation") for annotation in self.flat]
        parts = [part for value in values if type(value) is list for part in value]
        joined = _numbers(parts)
        if joined is None:
            return self.each(coco.outlines, [], _are_exact)
        narrow = joined.astype(np.float32)
        ends = np.cumsum([len(part) for part in parts])
        inexact = {*np.searchsorted(ends, np.flatnonzero(coco.shortest(narrow) != joined), "right")}
        result, number, start = [], 0, 0
        stops = ends.tolist()
        for i, value in enumerate(values):
            outlines = []
            is_whole = type(value) is list or "segmentation" not in self.flat[i]
            for _ in value if type(value) is list else ():
                stop = stops[number]
                if stop - start >= coco.LEAST and (stop - start) % 2 == 0:
                    outlines.append(narrow[start:stop].reshape(-1, 2))
                    is_whole = is_whole and number not in inexact
                else:
                    is_whole = False
                number, start = number + 1, stop
            if not is_whole:
                self._keep(i)
            result.append(outlines)
        return result

    def keypoints(self, points: Mapping[Any, int]) -> list[NDArray[np.float32]]:
        """Return the keypoints of each annotation, as arrays (k, 3).

        The original is kept if an export would write another number of keypoints.
        """
        most = max(points.values(), default=0)
        cells = self.each(coco.points, np.zeros((most, 3), np.float32), _is_exact)
        lengths = {*map(len, cells)}
        usual = lengths.pop() if len(lengths) == 1 and min(lengths) >= most else -1
        for i, (annotation, cell) in enumerate(zip(self.flat, cells, strict=True)):
            category = annotation.get("category_id")
            known = points.get(category, usual) if isinstance(category, int | str) else usual
            if self.key in annotation and len(cell) != known:
                self._keep(i)
        return cells

    def _keep(self, i: int) -> None:
        self.cells.originals[i][self.key] = self.flat[i][self.key]

    def _refuse(self, i: int, error: ValueError) -> None:
        annotation = self.flat[i]
        name = f" {brief(annotation['id'], 40)}" if "id" in annotation else ""
        value = brief(annotation.get(self.key), 80)
        reason = f"{self.key} {error}, but in annotation{name} it is {value}."
        self.cells.bad.setdefault(i, reason)


def _numbers(parts: Sequence[Any]) -> NDArray[np.float64] | None:
    """Join lists of numbers into one array. Return None if there are other values."""
    if not all(type(part) is list for part in parts):
        return None
    try:
        joined = np.array([*chain.from_iterable(parts)])
    except ValueError:
        return None
    is_flat = joined.ndim == 1 and (joined.dtype.kind in "if" or not joined.size)
    return joined.astype(np.float64) if is_flat else None


def _is_same(cell: object, value: object) -> bool:
    return cell == value and isinstance(value, int | float)


def _is_exact(cell: NDArray[np.float32], value: object) -> bool:
    return bool(coco.shortest(cell).ravel().tolist() == value)


def _are_exact(cells: Sequence[NDArray[np.float32]], value: object) -> bool:
    return [coco.shortest(cell).ravel().tolist() for cell in cells] == value


def _keep_counts(flat: Annotations, cells: Cells) -> None:
    """Keep the original of each ``num_keypoints`` that is not the number of visible keypoints."""
    for annotation, points, rest in zip(
        flat, cells.by_key["keypoints"], cells.originals, strict=True
    ):
        count = annotation.get("num_keypoints")
        if "num_keypoints" in annotation and count != np.count_nonzero(points[:, 2] > 0):
            rest["num_keypoints"] = count
