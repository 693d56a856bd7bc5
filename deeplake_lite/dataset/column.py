"""The public class `Column`: one column of a view, with its values, shapes and encoded bytes.

If the view is a writable Dataset, the column's values can also be set.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite.dataset.metadata import Change, Metadata
from deeplake_lite.dataset.read import comparisons
from deeplake_lite.dataset.read.positions import is_position, resolve_index, resolve_position
from deeplake_lite.dataset.read.reading import read_cells, read_rows, read_value, read_values
from deeplake_lite.dataset.read.values import copy_if_shared
from deeplake_lite.errors import ColumnAttributeError, OptionError, ReadOnlyError, SchemaError
from deeplake_lite.htypes.cells import NestedCells, RaggedCells
from deeplake_lite.lazy import LazyModule

if TYPE_CHECKING:
    from collections.abc import Buffer, Iterator, MutableMapping, Sequence

    from numpy.typing import NDArray

    from deeplake_lite.dataset import show
    from deeplake_lite.dataset.dataset import Dataset
    from deeplake_lite.dataset.view import View
    from deeplake_lite.dataset.write import edits
    from deeplake_lite.htypes.base import Htype
    from deeplake_lite.schema import Field
else:
    edits = LazyModule("deeplake_lite.dataset.write.edits")
    show = LazyModule("deeplake_lite.dataset.show")


class Column:
    """A column of a view. If the view is a writable Dataset, the column's values can be set.

    Examples
    --------
    >>> import deeplake_lite as dl
    >>> ds = dl.create("memory://column-doc", {"label": dl.ClassLabel(["rose", "tulip"])})
    >>> ds.append({"label": ["rose", "tulip", "rose"]})
    >>> ds["label"][0] = "tulip"
    >>> ds["label"][:], ds["label"].names
    (array([1, 1, 0], dtype=int32), ('rose', 'tulip'))
    """

    def __init__(self, view: View, name: str) -> None:
        self.view, self.name = view, name

    @property
    def field(self) -> Field:
        """The entry of the schema for the column."""
        return self._pinned[1]

    @property
    def htype(self) -> Htype:
        """Type of the values."""
        return self.field.htype

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the classes or keypoints, if values or the items of sequences have such names.

        Raises ColumnAttributeError for a type without names.
        """
        names = _names_of(self.htype)
        if names is None:
            raise ColumnAttributeError(
                f"Column {self.name!r} has no class names, because its type is {self.htype!r}. To "
                "store its values as classes, create a lake with "
                f"schema={{{self.name!r}: 'class_label'}}."
            )
        return tuple(names)

    @property
    def metadata(self) -> MutableMapping[str, Any]:
        """The column's metadata, a dict of JSON values. On a writable dataset it can be changed."""
        return Metadata(lambda: self.field.metadata, self._change_metadata)

    @property
    def shapes(self) -> NDArray[np.int32]:
        """Shapes of the values, (n, ndim) int32, -1 for missing axes, read without decoding."""
        view, f = self._pinned
        table, slots = view.rows.locate()
        return copy_if_shared(table.shapes(f.id, slots))

    @property
    def nbytes(self) -> int:
        """Stored size of the values, in bytes."""
        view, f = self._pinned
        table, slots = view.rows.locate()
        return table.nbytes(f.id, slots)

    def __len__(self) -> int:
        return len(self.view)

    def __iter__(self) -> Iterator[Any]:
        view, f = self._pinned
        return (row[self.name] for row in read_rows(view, [f]))

    def __getitem__(self, index: object) -> Any:
        """Return one value (by position), or the values of several rows as an ndarray or list."""
        view, f = self._pinned
        if is_position(index):
            return read_value(view, f, resolve_position(int(index), len(view)))
        return read_values(view, [f], resolve_index(index, len(view)))[f.name]

    def __setitem__(self, index: object, values: object) -> None:
        """Set one value (by position), or several: one value per row, or a single value for all.

        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://assign-doc", {"part": "text"})
        >>> ds.append({"part": ["train", "train", "train"]})
        >>> ds["part"][1:] = "val"
        >>> ds["part"][:]
        ['train', 'val', 'val']
        """
        ds = self._writable()
        if not is_position(index):
            ds.update(resolve_index(index, len(ds)), {self.name: values})
            return
        edits.set_one(ds.handle, self.name, int(index), values)

    def __eq__(self, other: object) -> Any:
        """Compare each value with `other`, which is one value or one per row.

        Returns a mask, (n,) bool.

        Classes are compared by name. None equals only null. Times may be given as strings.

        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://equal-doc", {"label": dl.ClassLabel(["rose", "tulip"])})
        >>> ds.append({"label": ["rose", "tulip", "rose"]})
        >>> ds["label"] == "rose"
        array([ True, False,  True])
        """
        return comparisons.equal(self, other)

    def __ne__(self, other: object) -> Any:
        """Return the negation of ``==``."""
        return ~(self == other)

    def __lt__(self, other: object) -> NDArray[np.bool_]:
        """Compare each value with `other`, which is one value or one per row.

        Returns a mask, (n,) bool.

        Null compares as False.

        >>> import deeplake_lite as dl
        >>> ds = dl.create("memory://less-doc", {"x": "int32"})
        >>> ds.append({"x": [1, 5, 3]})
        >>> ds["x"] < 4, ds["x"] >= 3
        (array([ True, False,  True]), array([False,  True,  True]))
        """
        return comparisons.compare(self, operator.lt, other)

    def __le__(self, other: object) -> NDArray[np.bool_]:
        """Compare each value with `other`, which may take the same forms as for ``<``."""
        return comparisons.compare(self, operator.le, other)

    def __gt__(self, other: object) -> NDArray[np.bool_]:
        """Compare each value with `other`, which may take the same forms as for ``<``."""
        return comparisons.compare(self, operator.gt, other)

    def __ge__(self, other: object) -> NDArray[np.bool_]:
        """Compare each value with `other`, which may take the same forms as for ``<``."""
        return comparisons.compare(self, operator.ge, other)

    def __contains__(self, value: object) -> bool:
        return bool(comparisons.equal(self, value, unknown=True).any())

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return all values as one array. Raises OptionError if their shapes differ.

        With an object dtype, values of different shapes become the items of a 1-d array.
        """
        values = self[:]
        if not isinstance(values, list) or _have_one_shape(values):
            return np.array(values, dtype=dtype, copy=copy)
        if dtype is not None and np.dtype(dtype).kind == "O":
            return np.fromiter(values, object, len(values))
        raise OptionError(
            f"Column {self.name!r} cannot be converted to one array, because its values, or the "
            "items of one value, differ in shape. Read them as a list: column[:]."
        )

    def encoded(self, index: object = slice(None)) -> list[Buffer]:
        """Return the encoded bytes of the given values, without copying them if possible.

        Raises
        ------
        RowIndexError
            When `index` is not a slice, list of integers or boolean mask. Write ``[3]`` for row 3.
        SchemaError
            When the column has a fixed shape or is a sequence, so its values are not encoded.
        """
        view, f = self._pinned
        cells = read_cells(view, f, resolve_index(index, len(view)))
        if not isinstance(cells, RaggedCells):
            raise SchemaError(
                f"Column {self.name!r} has no encoded bytes, because its type is {f.htype!r}. Read "
                f"its values: ds[{self.name!r}][:]."
            )
        return cells.buffers

    def urls(self, index: object = slice(None)) -> list[str | None]:
        """Return the URLs of linked files.

        Raises
        ------
        RowIndexError
            When `index` is not a slice, list of integers or boolean mask. Write ``[3]`` for row 3.
        SchemaError
            When the column is not of type `Link`.
        """
        view, f = self._pinned
        if f.htype.target is None:
            raise SchemaError(
                f"Only a column of type Link has URLs, but {self.name!r} is {f.htype!r}. Read its "
                f"values: ds[{self.name!r}][:]."
            )
        return list(read_values(view, [f], resolve_index(index, len(view)), follow=False)[f.name])

    def lengths(self) -> NDArray[np.int64]:
        """Return the number of items of each sequence, (n,) int64.

        Raises
        ------
        SchemaError
            When the column is not a sequence.
        """
        view, f = self._pinned
        cells = read_cells(view, f, resolve_index(slice(None), len(view)))
        if not isinstance(cells, NestedCells):
            raise SchemaError(
                f"Only a column of type Sequence has lengths, but {self.name!r} is {f.htype!r}. "
                f"Read its shapes: ds[{self.name!r}].shapes."
            )
        return cells.counts

    def __repr__(self) -> str:
        return show.column_text(self)

    def _repr_html_(self) -> str:
        return show.column_html(self)

    @property
    def _pinned(self) -> tuple[View, Field]:
        """The view and the column's field, both fixed, so that other threads cannot change them."""
        view = self.view.pin()
        return view, view.rows.table.schema[self.name]

    def _writable(self) -> Dataset:
        from deeplake_lite.dataset.dataset import Dataset

        if not isinstance(self.view, Dataset):
            raise ReadOnlyError(
                "Views are read-only. Edit the rows through the dataset: ds.update(view, {…})."
            )
        return self.view

    def _change_metadata(self, change: Change) -> None:
        edits.change_metadata(self._writable().handle, self.name, change)


def _names_of(htype: Htype) -> Sequence[str] | None:
    """Return the class or keypoint names of a type or its items, or None if there are none."""
    if htype.item is not None:
        return _names_of(htype.item)
    if htype.classes is not None:
        return htype.classes.names
    if htype.pixels is not None and htype.pixels.is_mask:
        return htype.pixels.names
    points = htype.coordinates
    return points.names if points is not None and points.marks == "keypoints" else None


def _have_one_shape(values: list[Any]) -> bool:
    """Return whether all values have the same shape, and no value is ragged."""
    try:
        return len(set(map(np.shape, values))) <= 1
    except ValueError:  # NumPy raises this error for a list whose items differ in length
        return False
