"""Masks of the objects in a row, drawn from outlines, run-length encodings or binary masks."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.export.annotations.coco_annotations import original_keys
from deeplake_lite.dataset.read.reading import read_values
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.evaluate.outlines import mask_of_outlines, mask_of_runs
from deeplake_lite.htypes.words import pluralize

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field

MAX_PIXELS = 2**31
"""Maximum total number of pixels in the masks of a row."""

type Size = tuple[int, int]


class RowMasks:
    """The masks of the objects of some rows. The masks of a row are drawn when they are requested.

    Parameters
    ----------
    view : View
        The view.
    f : Field
        Column with outlines or a binary mask for each object.
    cells : Cells
        Cells of the column.
    positions : ndarray, (n,) int64
        Positions of the rows in the view.
    """

    def __init__(self, view: View, f: Field, cells: Cells, positions: NDArray[np.int64]) -> None:
        self._view, self._field, self._positions = view, f, positions
        self._values: list[Any] = f.htype.decode_cells(cells)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Number of objects in each row, (n,) int64."""
        return np.array([len(objects) for objects in self._values], np.int64)

    @property
    def are_outlines(self) -> bool:
        """Whether the objects are outlines, which can be drawn at any image size."""
        return self._field.htype.item is not None

    def size(self, row: int) -> Size:
        """Return the height and width of a row's masks.

        For outlines, this is the smallest size that contains all outlines.
        """
        objects = self._values[row]
        if not self.are_outlines:
            return (int(objects.shape[1]), int(objects.shape[2])) if len(objects) else (0, 0)
        corners = [np.asarray(c).reshape(-1, 2) for shape in objects for c in shape]
        far = np.concatenate([*corners, np.zeros((1, 2))]).max(axis=0)
        for runs in self._encoded[row].values():
            size = runs.get("size")
            if isinstance(size, list) and len(size) == 2:
                far = np.maximum(far, np.asarray(size[::-1], np.float64) - 1)
        return int(np.ceil(far[1])) + 1, int(np.ceil(far[0])) + 1

    def packed(self, row: int, size: Size) -> NDArray[np.uint8]:
        """Return the masks of a row in column-major order, packed to (objects, bytes) uint8."""
        objects, (height, width) = self._values[row], size
        if len(objects) * height * width > MAX_PIXELS:
            raise self._error(
                row,
                f"the masks of a row may have at most {MAX_PIXELS:,} pixels in total, but this "
                f"row has {pluralize(len(objects), 'mask')} of {height:,} × {width:,} pixels. "
                "Scale the outlines down.",
            )
        masks = [self._pack(row, n, shape, size) for n, shape in enumerate(objects)]
        return np.stack(masks) if masks else np.zeros((0, -(-height * width // 8)), np.uint8)

    def _pack(self, row: int, number: int, shape: Any, size: Size) -> NDArray[np.uint8]:
        if not self.are_outlines:
            return np.packbits(np.asarray(shape, bool).T)
        runs = self._encoded[row].get(number) if not len(shape) else None
        if runs is None:
            return np.packbits(mask_of_outlines(shape, *size))
        mask = mask_of_runs(runs)
        if tuple(runs["size"]) != size:
            raise self._error(
                row,
                f"the mask of object {number} must have the size of the image, {size}, but its "
                f"size is {tuple(runs['size'])}. Correct the annotation.",
            )
        return np.packbits(mask)

    def _error(self, row: int, message: str) -> InvalidValueError:
        return InvalidValueError(message, column=self._field.name, row=int(self._positions[row]))

    @cached_property
    def _encoded(self) -> list[dict[int, dict[str, Any]]]:
        """The run-length encodings of a COCO file: for each row, a dict by object index.

        `from_coco` stores the encodings in the column ``coco``, because they are not polygons.
        """
        view, names = self._view, ("coco", "annotation_ids")
        none: list[dict[int, dict[str, Any]]] = [{} for _ in self._values]
        if self._field.name != "segmentation" or not all(name in view for name in names):
            return none
        fields = [view.field(name) for name in names]
        if fields[0].htype.sql != "json" or fields[1].htype.item is None:
            return none
        values = read_values(view, fields, self._positions)
        return [
            _runs(document, ids or ())
            for document, ids in zip(values["coco"], values["annotation_ids"], strict=True)
        ]


def _runs(document: Any, ids: Any) -> dict[int, dict[str, Any]]:
    """Return a dict that maps indices of an image's objects to run-length encodings."""
    annotations = document.get("annotations") if isinstance(document, dict) else None
    if not isinstance(annotations, dict):
        return {}
    originals = [annotations.get(key) for key in original_keys([int(i) for i in ids])]
    runs = [a.get("segmentation") if isinstance(a, dict) else None for a in originals]
    return {n: run for n, run in enumerate(runs) if isinstance(run, dict)}
