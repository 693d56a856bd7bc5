"""Ingesting folders of images, with labels from subfolders or from a table."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Unpack

from deeplake_lite import checks
from deeplake_lite.brief import brief
from deeplake_lite.errors import InvalidValueError, OptionError, SchemaError
from deeplake_lite.htypes import ClassLabel, Htype, Image, Text, resolve
from deeplake_lite.htypes.files import scheme_of
from deeplake_lite.ingest.folders.formats import find_images, formats_of
from deeplake_lite.ingest.folders.layout import (
    File,
    Layout,
    image_column,
    no_images_error,
    own_columns,
    scan,
)
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.source import Block, Skipped
from deeplake_lite.ingest.tables.arrays import MemorySource
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from deeplake_lite.ingest.folders.labels import Labels
    from deeplake_lite.ingest.options import Options, Types
    from deeplake_lite.ingest.result import IngestedDataset

BLOCK_ROWS = 1_024
BLOCK_BYTES = 32 * 2**20
"""Maximum size of all files in a block, in bytes."""


@takes_options
def from_folder(
    path: str | os.PathLike[str],
    url: str,
    *,
    label: str = "label",
    labels: str | os.PathLike[str] | None = None,
    file_column: str | None = None,
    **options: Unpack[Options],
) -> IngestedDataset:
    """Ingest a folder of images into a lake; the files are stored byte for byte.

    Rows are identified by the path of their file. If you ingest the folder again, only new and
    changed files are written. Rows that people have changed or deleted in the lake stay as they are
    and are listed in ``ingested.kept``; ``update="force"`` overwrites them.

    Parameters
    ----------
    path : str or Path
        The folder. Its subfolders are classes (``rose/1.jpg``), or splits that contain classes
        (``train/rose/1.jpg``). There may also be no subfolders. Images are recognised by their
        first bytes, regardless of their names.
    url : str
        URL of the lake, which is created if it does not exist.
    label : str
        Name of the column of labels. The names that `from_folder` uses itself, such as ``path``,
        are reserved.
    labels : str or Path, optional
        A CSV with a column of file names. The column `label` has the labels, and the other columns
        are ingested, too; a column ``path`` is renamed to ``path_``. Only files listed in the CSV
        are read. A file name must be unique, or a path that is relative to the folder or to the
        CSV. If files were moved, the last components of their former path are enough, provided that
        they include a folder and match only one file. In a row without a file name, the image is
        null and ``path`` identifies the row (``"labels.csv, row 17"``); the row is skipped if the
        lake or `schema` does not allow null images.
    file_column : str, optional
        The column of the CSV that has the file names. By default, this is the column whose values
        match the files. Columns with full file names are preferred to columns of numbers or of
        names without suffixes; among several, the column called ``file_name`` or similar (``file``,
        ``image_path``…) is used. If the CSV also has a column ``file_name_``, it is ingested as
        ``file_name``, which undoes the renaming by `View.to_folder`.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        The committed dataset. It has the columns ``image``, ``path``, `label` if there are labels,
        and ``split`` if there are split folders. If the image column of `schema` has another name,
        that name is used. The dataset's attribute ``ingested`` summarizes the import and lists
        skipped files.

    Raises
    ------
    NotFoundError
        If there is no such folder or CSV.
    SchemaError
        If `schema` declares ``path`` as a column of images, or ``split`` if there are split
        folders.
    InvalidValueError
        If there are no images, or a file is not an image; with ``on_error="skip"``, such a file is
        skipped.

    Examples
    --------
    >>> import tempfile
    >>> from PIL import Image as PillowImage
    >>> import deeplake_lite as dl
    >>> folder = Path(tempfile.mkdtemp())
    >>> for name in ("rose", "lily"):
    ...     (folder / name).mkdir()
    ...     PillowImage.new("RGB", (8, 8)).save(folder / name / "1.png")
    >>> ds = dl.from_folder(folder, "memory://from-folder")
    >>> ds["path"][:], ds["label"][:], ds["label"].names
    (['lily/1.png', 'rose/1.png'], array([0, 1], dtype=int32), ('lily', 'rose'))
    >>> again = dl.from_folder(folder, "memory://from-folder").ingested
    >>> again.added, again.unchanged
    (0, 2)
    """
    known: Mapping[str, Htype] = {}
    if labels is not None:
        from deeplake_lite.ingest.tables.csv import lake_types  # imports pyarrow, 0.3 s

        known = lake_types(url, options)
    source = folder_source(
        path,
        label=label,
        labels=labels,
        file_column=file_column,
        schema=options.get("schema"),
        known=known,
    )
    if source.table is not None:
        options["schema"] = source.table.schema
    return ingest(source, url, **options)


def folder_source(
    path: str | os.PathLike[str],
    *,
    label: str = "label",
    labels: str | os.PathLike[str] | None = None,
    file_column: str | None = None,
    schema: Types = None,
    known: Mapping[str, Htype] = MappingProxyType({}),
) -> FolderSource:
    """Return the source for a folder. `known` maps the lake's columns to their types.

    Raises NotFoundError or InvalidValueError if there are no images, or a file is invalid.
    """
    if isinstance(path, str) and scheme_of(path) is not None:
        raise InvalidValueError(
            f"path must be a folder on this machine, but it is {brief(path, 120)}. Download "
            "the folder first."
        )
    folder = Path(checks.location("path", path)).expanduser()
    scanned = scan(folder)
    if labels is None:
        files, left_out = find_images(folder, scanned)
        if not files:
            raise no_images_error(folder, scanned.others)
        image, layout = image_column(schema, [label]), Layout.of(files)
        _check_label(label, own_columns(image, files))
        _check_types(own_columns(image, files), types_of(schema))
        return FolderSource(folder, tuple(files), layout, label, None, tuple(left_out), image)
    from deeplake_lite.ingest.folders.labels import (  # imports pyarrow, 0.3 s
        TableOptions,
        read_labels,
    )

    table = read_labels(labels, folder, scanned, TableOptions(label, file_column, schema, known))
    images = [f for f in table.files if f.path not in table.without_file]
    _check_label(label, own_columns(table.image, images))
    _check_types(own_columns(table.image, images), {**known, **table.schema})
    unlisted = {f.path for f in scanned.images} - {f.path for f in table.files}
    rest = [Skipped(path, "the table does not list it") for path in sorted(unlisted)]
    skipped = (*table.missing, *rest)  # missing files first: they are more likely a mistake
    layout = Layout.of(images)
    return FolderSource(folder, table.files, layout, label, table, skipped, table.image)


def _check_label(label: str, columns: Collection[str]) -> None:
    """Raise OptionError if another of the folder's columns has the name of the column of labels."""
    if label in columns:
        raise OptionError(
            "label must differ from the names of the folder's other columns, but it is "
            f"{label!r}. Choose another name: label='{label}_label'."
        )


def _check_types(columns: Sequence[str], types: Mapping[str, object]) -> None:
    """Raise SchemaError if a type of files is declared for one of the folder's string columns."""
    for name in columns[1:]:
        htype = resolve(types.get(name, "text"))
        if htype.takes_files:
            raise SchemaError(
                f"Column {name!r} of a folder of images must contain strings, but it is declared "
                f"as {htype}. Leave {name!r} out of schema=, and ingest the images into a new "
                "lake, where they become the column 'image'. If the folder was exported from a "
                f"lake, rename its column with ds.rename_column({name!r}, 'photo'), and export "
                "the lake again."
            )


@dataclass(frozen=True)
class FolderSource:
    """The source for a folder of images."""

    folder: Path
    """The folder."""

    files: tuple[File, ...]
    """The files in the order of the rows."""

    layout: Layout
    """The classes and splits that the subfolders represent."""

    label: str
    """Name of the column of labels."""

    table: Labels | None
    """Labels and other columns from a table, or None if there is no table."""

    left_out: Sequence[Skipped]
    """Files that are not images, files that the table does not list, and rows without a file."""

    image: str = "image"
    """Name of the column of images."""

    key: str = "path"
    """Rows are identified by the path of the file."""

    fingerprint: None = None
    """None, because rows are identified by their paths."""

    metadata: Mapping[str, object] = MappingProxyType({})

    @property
    def title(self) -> str:
        """The folder's name."""
        return self.folder.resolve().name or str(self.folder)

    @property
    def rows(self) -> int:
        """Number of images."""
        return len(self.files)

    @cached_property
    def columns(self) -> dict[str, Htype]:
        """Type of each column."""
        has_nulls = bool(self._without_file)
        types: dict[str, Htype] = {self.image: Image(self._codec(), nullable=has_nulls)}
        layout, files = self.layout, [f.path for f in self.files]
        if self.table is None and layout.classes:
            some_without = any(layout.class_of(path) is None for path in files)
            types[self.label] = ClassLabel(layout.classes, nullable=some_without)
        if layout.splits:
            types["split"] = ClassLabel(layout.splits, nullable=has_nulls)
        types["path"] = Text()
        return types | dict(self._rest.columns)

    @cached_property
    def _rest(self) -> MemorySource:
        """A source of the table's columns. If there is no table, it has no columns."""
        columns = {} if self.table is None else self.table.columns
        schema = {} if self.table is None else {**self.table.types}
        is_inferred = self.label in columns and self.label not in schema
        if is_inferred and self._is_classes(columns[self.label]):
            schema[self.label] = "class_label"
        return MemorySource.of(columns, None, schema)

    @property
    def _without_file(self) -> frozenset[str]:
        """Names, in messages, of those rows of the table that name no file."""
        return frozenset() if self.table is None else self.table.without_file

    def _is_classes(self, column: Any) -> bool:
        """Return whether a column may become classes, as strings and integers from 0 on may."""
        from deeplake_lite.ingest.folders.labels import class_numbers

        return column.htype(classes=True).classes is not None or class_numbers(column)

    def _codec(self) -> str:
        """Return the codec of all files, according to their first bytes, or "auto" for several."""
        paths = [self.folder / f.path for f in self.files if f.path not in self._without_file]
        formats = set(formats_of(paths)) - {None}
        return str(formats.pop()) if len(formats) == 1 else "auto"

    def check_unrounded(self, names: Iterable[str]) -> None:
        """Accept all columns, because neither folders nor CSV files have decimals."""

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the rows from number `start` on."""
        while start < len(self.files):
            stop = self._end(start)
            files = [f.path for f in self.files[start:stop]]
            base = None if self.table is None else self.table.base
            rest = None if self.table is None else self._rest.block(start, stop)
            errors = {} if rest is None else rest.errors
            yield Block(self._values(files, rest), files, base, errors)
            start = stop

    def _end(self, start: int) -> int:
        """Return the number of the row after the block that begins at row `start`."""
        size, stop = 0, start
        while stop < min(len(self.files), start + BLOCK_ROWS) and size < BLOCK_BYTES:
            size += self.files[stop].size
            stop += 1
        return stop

    def _values(self, files: list[str], rest: Block | None) -> dict[str, object]:
        """Return a dict from columns to the values of a block. Images are paths of files."""
        # Paths are absolute, because `Block.base` is the folder of the table.
        layout, folder = self.layout, self.folder.absolute()
        paths = [None if path in self._without_file else path for path in files]
        values: dict[str, Any] = {
            self.image: [path and str(folder / path) for path in paths],
            "split": [path and layout.split_of(path) for path in paths],
            "path": files,
        }
        if rest is None:
            values[self.label] = [layout.class_of(path) for path in files]
        else:
            values |= rest.columns
        return {name: values[name] for name in self.columns}
