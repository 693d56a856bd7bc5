"""Pictures in folders: a folder per class, per split and class, or a table of labels."""

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
from deeplake_lite.ingest.arrays import MemorySource
from deeplake_lite.ingest.formats import formats_of, recognised
from deeplake_lite.ingest.layout import (
    Found,
    Layout,
    no_pictures,
    own_columns,
    picture_column,
    scan,
)
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.source import Block, Skipped
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from deeplake_lite.ingest.labels import Labels
    from deeplake_lite.ingest.options import Options, Types
    from deeplake_lite.ingest.result import IngestedDataset

BLOCK_ROWS = 1_024
BLOCK_BYTES = 32 * 2**20
"""Of the files of a block, at the most."""


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
    """Take a folder of pictures into a lake; files are kept byte for byte.

    Run it again and only what is new or has changed is written: rows are told apart by their path.
    What people have changed in the lake meanwhile stays, and rows that they have deleted stay away:
    ``ingested.kept`` lists them, and ``update="force"`` takes them from the folder again.

    Parameters
    ----------
    path : str or Path
        The folder. Its folders are classes (``rose/1.jpg``); or splits and, in them, classes
        (``train/rose/1.jpg``); or there are none. Pictures are known by what they begin with,
        whatever they are called.
    url : str
        Where the lake is, or is to be.
    label : str
        Name of the column of labels; none that the folder has by itself, such as ``path``.
    labels : str or Path, optional
        A CSV with a column of file names, and others: labels come from its column `label`, and its
        other columns are taken, too; ``path``, which the folder has by itself, as ``path_``. Only
        the files that it lists are read. It names them by their name, where one file has it, or by
        a path, which starts at the folder or at the table, or whose end with a folder in it is that
        of one file's path, as where files were moved. A row without a file name has a null picture,
        and ``path`` is the row; it is left out where the lake or `schema` has no null pictures.
    file_column : str, optional
        The column of that CSV with the file names; found by looking at the files if left out: one
        that has their names with suffixes comes before one of stems or numbers, and of several such
        columns, ``file_name`` or one that is called like it (``file``, ``image_path``…).
        Beside ``file_name``, a column ``file_name_`` is taken as ``file_name``, as
        `View.to_folder` writes it.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        Committed, with the columns ``image`` (or what the schema of a lake that is given calls the
        column of files that no table has), `label` (where there are any), ``split`` (where there
        are split folders) and ``path``. Its ``ingested`` tells what was done, and lists what was
        left out.

    Raises
    ------
    NotFoundError
        When there is no such folder or table.
    SchemaError
        When ``path``, or ``split`` where there are split folders, is to be a column of pictures.
    InvalidValueError
        When there are no pictures, or a file is none; with ``on_error="skip"`` such a file is left
        out.

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
        from deeplake_lite.ingest.csv import lake_types  # pyarrow: 0.3 s

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
    """Return the source for a folder, whose rows go to a lake of the types `known`.

    Raises NotFoundError, InvalidValueError.
    """
    if isinstance(path, str) and scheme_of(path) is not None:
        raise InvalidValueError(
            f"from_folder reads folders of this machine, got {brief(path, 120)}."
        )
    folder = Path(checks.location("path", path)).expanduser()
    found = scan(folder)
    if labels is None:
        files, left_out = recognised(folder, found)
        if not files:
            raise no_pictures(folder, found.others)
        image, layout = picture_column(schema, [label]), Layout.of(files)
        _check_label(label, own_columns(image, files))
        _check_types(own_columns(image, files), types_of(schema))
        return FolderSource(folder, tuple(files), layout, label, None, tuple(left_out), image)
    from deeplake_lite.ingest.labels import Asked, read_labels  # pyarrow: 0.3 s

    table = read_labels(labels, folder, found, Asked(label, file_column, schema, known))
    pictures = [f for f in table.files if f.path not in table.bare]
    _check_label(label, own_columns(table.image, pictures))
    _check_types(own_columns(table.image, pictures), {**known, **table.schema})
    unlisted = {f.path for f in found.pictures} - {f.path for f in table.files}
    rest = [Skipped(path, "the table does not list it") for path in sorted(unlisted)]
    without = (*table.missing, *rest)  # first what may be a slip
    layout = Layout.of(pictures)
    return FolderSource(folder, table.files, layout, label, table, without, table.image)


def _check_label(label: str, own: Collection[str]) -> None:
    """Refuse a name of labels that another column of the folder has; one would be lost."""
    if label in own:
        raise OptionError(
            f"label must name a column of its own, but a folder has a column {label!r} already. "
            f"Choose another name: label='{label}_label'."
        )


def _check_types(own: Sequence[str], types: Mapping[str, Any]) -> None:
    """Refuse pictures in a column that a folder fills by itself: its paths would be read as files.

    Raises SchemaError.
    """
    for name in own[1:]:
        htype = resolve(types.get(name, "text"))
        if htype.takes_files:
            raise SchemaError(
                f"{name!r} is a column that a folder of pictures has by itself, of texts, but it "
                f"is to be {htype}. Rename the pictures' column before it is written to a folder, "
                f"ds.rename_column({name!r}, 'photo'), or leave it out of schema= and take the "
                "pictures into a new lake, as 'image'."
            )


@dataclass(frozen=True)
class FolderSource:
    """The pictures below a folder."""

    folder: Path
    """Where they are."""

    files: tuple[Found, ...]
    """In the order of the rows."""

    layout: Layout
    """What the folders mean."""

    label: str
    """Name of the column of labels."""

    table: Labels | None
    """Labels and other columns from a table."""

    left_out: Sequence[Skipped]
    """Files that are no pictures."""

    image: str = "image"
    """Name of the column of pictures."""

    key: str = "path"
    """Rows are told apart by the file's path."""

    fingerprint: None = None
    """Not needed: there is a key."""

    @property
    def title(self) -> str:
        """The folder's name."""
        return self.folder.resolve().name or str(self.folder)

    @property
    def rows(self) -> int:
        """How many pictures there are."""
        return len(self.files)

    @cached_property
    def columns(self) -> dict[str, Htype]:
        """Type of each column."""
        found: dict[str, Htype] = {self.image: Image(self._codec(), nullable=bool(self._bare))}
        layout, files = self.layout, [f.path for f in self.files]
        if self.table is None and layout.classes:
            some_without = any(layout.class_of(path) is None for path in files)
            found[self.label] = ClassLabel(layout.classes, nullable=some_without)
        if layout.splits:
            found["split"] = ClassLabel(layout.splits, nullable=bool(self._bare))
        found["path"] = Text()
        return found | dict(self._rest.columns)

    @cached_property
    def _rest(self) -> MemorySource:
        """The columns that come from the table, as a source of their own."""
        columns = {} if self.table is None else self.table.columns
        schema = {} if self.table is None else {**self.table.types}
        is_found = self.label in columns and self.label not in schema
        if is_found and self._is_classes(columns[self.label]):
            schema[self.label] = "class_label"
        return MemorySource.of(columns, None, schema)

    @property
    def _bare(self) -> frozenset[str]:
        """Names of the rows of the table that name no file."""
        return frozenset() if self.table is None else self.table.bare

    def _is_classes(self, column: Any) -> bool:
        """Tell whether a column of the table can be classes: texts, or whole numbers from 0 on."""
        from deeplake_lite.ingest.labels import class_numbers

        return column.htype(classes=True).classes is not None or class_numbers(column)

    def _codec(self) -> str:
        """Return the one codec of all files, by their first bytes, or "auto"."""
        paths = [self.folder / f.path for f in self.files if f.path not in self._bare]
        found = set(formats_of(paths)) - {None}
        return str(found.pop()) if len(found) == 1 else "auto"

    def check_unrounded(self, names: Iterable[str]) -> None:
        """Accept all columns: neither folders nor tables of labels have decimals."""

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the pictures from number `start` on."""
        while start < len(self.files):
            stop = self._end(start)
            files = [f.path for f in self.files[start:stop]]
            base = None if self.table is None else self.table.base
            yield Block(self._values(files, start, stop), files, base)
            start = stop

    def _end(self, start: int) -> int:
        """Return where the block ends that begins at `start`."""
        size, stop = 0, start
        while stop < min(len(self.files), start + BLOCK_ROWS) and size < BLOCK_BYTES:
            size += self.files[stop].size
            stop += 1
        return stop

    def _values(self, files: list[str], start: int, stop: int) -> dict[str, Any]:
        """Return the values of some rows, by column; pictures as paths."""
        layout, folder = self.layout, self.folder.absolute()  # paths in a table start elsewhere
        there = [None if path in self._bare else path for path in files]
        values: dict[str, Any] = {
            self.image: [path and str(folder / path) for path in there],
            "split": [path and layout.split_of(path) for path in there],
            "path": files,
        }
        if self.table is None:
            values[self.label] = [layout.class_of(path) for path in files]
        else:
            values |= self._rest.slice(start, stop)
        return {name: values[name] for name in self.columns}
