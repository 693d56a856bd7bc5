"""Columns for the arrays in the groups of HDF5 and Zarr files."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deeplake_lite import checks
from deeplake_lite.errors import InvalidValueError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deeplake_lite.ingest.arrays.array_source import ArrayColumn
    from deeplake_lite.ingest.source import Skipped

DEEPEST = 64
"""Maximum depth of nested groups."""


@dataclass(frozen=True)
class Tree:
    """The columns and metadata of an HDF5 or Zarr file."""

    title: str
    """Name of the file."""

    columns: Mapping[str, ArrayColumn]
    """Maps names to columns. A name joins the names of groups, array and field with dots."""

    metadata: Mapping[str, object]
    """Attributes, and the values of arrays without axes."""

    left_out: tuple[Skipped, ...]

    def select(self, columns: Sequence[str] | None) -> dict[str, ArrayColumn]:
        """Return a dict with the given columns, or with all columns if `columns` is None.

        Raises
        ------
        NotFoundError
            If a column does not exist.
        InvalidValueError
            If no columns are given, and the columns have different lengths.
        """
        if columns is not None:
            names = checks.names("columns", columns)
            for name in names:
                if name not in self.columns:
                    raise NotFoundError.named("column", name, self.columns)
            return {name: self.columns[name] for name in names}
        lengths = {name: len(column) for name, column in self.columns.items()}
        if len(set(lengths.values())) > 1:
            listed = ", ".join(f"{name!r}: {n:,}" for name, n in lengths.items())
            raise InvalidValueError(
                f"Columns must have the same length, but in {self.title} their lengths are "
                f"{listed}. Select columns of the same length: columns=[…]."
            )
        return dict(self.columns)


class Columns:
    """A collection of columns. Adding the same name twice is an error."""

    def __init__(self, title: str) -> None:
        self.title = title
        self.by_name: dict[str, Any] = {}

    def add(self, columns: Mapping[str, Any]) -> None:
        """Add columns. Raises InvalidValueError if a column has the same name as another."""
        for name, column in columns.items():
            if name in self.by_name:
                raise InvalidValueError(
                    f"Names must be unique after joining nested names with dots, but {self.title} "
                    f"has two arrays for the column {name!r}. Rename one of them."
                )
            self.by_name[name] = column
