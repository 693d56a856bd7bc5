"""Ingesting Hugging Face datasets: objects of the package ``datasets``, and files."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import pyarrow as pa

from deeplake_lite import checks
from deeplake_lite.dataset.arrow.cells import HTYPE
from deeplake_lite.dataset.write.tables import exported_htype
from deeplake_lite.errors import InvalidValueError, NotFoundError, SchemaError
from deeplake_lite.htypes import ClassLabel
from deeplake_lite.ingest.files import fingerprint, folder_of, name_of, title_of
from deeplake_lite.ingest.huggingface.feature_table import OWN, lake_metadata
from deeplake_lite.ingest.huggingface.files import listed_parts, saved_parts
from deeplake_lite.ingest.huggingface.objects import is_dataset, object_parts
from deeplake_lite.ingest.options import takes_options, types_of
from deeplake_lite.ingest.tables.tabular import TabularSource, select_columns
from deeplake_lite.ingest.writer import ingest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deeplake_lite.ingest.huggingface.part import Part
    from deeplake_lite.ingest.options import Options, Types
    from deeplake_lite.ingest.result import IngestedDataset

SPLIT = "split"
"""Name of the column of splits."""


@takes_options
def from_huggingface(
    dataset: object,
    url: str,
    *,
    on: str | None = None,
    columns: Sequence[str] | None = None,
    **options: Unpack[Options],
) -> IngestedDataset:
    """Ingest a Hugging Face dataset, with its classes, original files, splits and description.

    Parameters
    ----------
    dataset : Dataset, IterableDataset, DatasetDict, str, Path or list of these
        An object of the package ``datasets``, which may be streaming; a folder written by
        ``save_to_disk``; a folder of Parquet files, as on the hub; or Parquet files. The package is
        not needed for folders and files. A folder must have all files of a numbered set, such as
        ``train-00000-of-00003.parquet``; to read only some of them, pass a list of files.
    url : str
        URL of the lake, which is created if it does not exist.
    on, columns
        See `TABLE_LINES`.
    **options
        See `Options`.

    Returns
    -------
    Dataset
        The committed dataset, whose attribute ``ingested`` summarizes the import.

    Raises
    ------
    NotFoundError
        If the folder does not exist or has no dataset.
    InvalidValueError
        If a file cannot be read, or a row is invalid.
    SchemaError
        If the splits have different columns.

    Notes
    -----
    If there are several splits, their names are stored in the column ``split``. Features become
    column types: ClassLabel becomes `ClassLabel` (-1, no label, becomes null); Image becomes
    `Image`; Audio, Video, Pdf, Nifti and Mesh become `Bytes`; Array2D to Array5D become `Array`;
    Json, Translation and structs of numbers and strings become `Json`; lists become `Array` or
    `Sequence`. If a struct has any other field, each of its fields becomes a column:
    ``objects: [{bbox, category}]`` becomes ``objects.bbox`` and ``objects.category``, with the
    names of the classes. To store boxes as `Boxes`, declare this type:
    ``schema={"objects.bbox": dl.Boxes("xywh")}``.

    If a folder has paths of files instead of their bytes, the files are read if the paths are
    relative and stay inside the folder. In objects of the package ``datasets``, all local paths are
    read. The paths themselves are stored in another column, such as ``image_path``. The description
    and the features are stored in ``ds.metadata["huggingface"]``, so that `View.to_huggingface`
    restores structs, time zones, decimals and times of day.

    Examples
    --------
    >>> import json, tempfile
    >>> import pyarrow.parquet as pq
    >>> import deeplake_lite as dl
    >>> features = {"label": {"_type": "ClassLabel", "names": ["cat", "dog"]}}
    >>> metadata = {"huggingface": json.dumps({"info": {"features": features}})}
    >>> folder = Path(tempfile.mkdtemp())
    >>> for split in ("train", "test"):
    ...     table = pa.table({"label": [1, 0]}).replace_schema_metadata(metadata)
    ...     pq.write_table(table, folder / f"{split}-00000-of-00001.parquet")
    >>> ds = dl.from_huggingface(folder, "memory://from-huggingface")
    >>> ds["label"].names, ds["split"].names, len(ds)
    (('cat', 'dog'), ('train', 'test'), 4)
    """
    source = huggingface_source(dataset, key=on, columns=columns, schema=options.get("schema"))
    return ingest(source, url, **options)


def huggingface_source(
    dataset: Any,
    *,
    key: str | None = None,
    columns: Sequence[str] | None = None,
    schema: Types = None,
) -> TabularSource:
    """Return the source for a dataset.

    Raises NotFoundError or InvalidValueError if the dataset does not exist or cannot be read, and
    SchemaError if its splits have different columns.
    """
    files: list[str] = []
    base, declared = None, types_of(schema)
    if is_dataset(dataset):
        parts, title = object_parts(dataset), type(dataset).__name__
        has_splits = isinstance(dataset, Mapping)
    elif isinstance(dataset, str | os.PathLike):
        path = Path(checks.location("dataset", dataset)).expanduser()
        parts, files, has_splits = saved_parts(path, declared)
        title, base = (
            path.name or str(path),
            str((path if path.is_dir() else path.parent).absolute()),
        )
    elif isinstance(dataset, list | tuple) and dataset and all(map(_is_path, dataset)):
        parts, files, has_splits = listed_parts(
            [checks.location("dataset", p) for p in dataset], declared
        )
        base = folder_of(files)
        title = title_of(dataset, files)
    else:
        raise InvalidValueError(
            "dataset must be a Hugging Face Dataset, IterableDataset or DatasetDict, or the path "
            f"of a folder or file, but its type is {type(dataset).__name__}. Pass a dict of arrays "
            "to dl.from_arrays."
        )
    if not parts:
        raise NotFoundError(
            f"A dataset must have at least one split, but {title} has none. Check the dataset."
        )
    joined = _JoinedSplits.of(parts, has_splits=has_splits)
    selected = select_columns(joined.schema, columns)
    rows = [part.rows for part in parts]
    full = frozenset.intersection(*(part.full for part in parts))
    return TabularSource(
        title=title,
        arrow=selected,
        read=joined.read,
        key=key,
        rows=None if None in rows else sum(r for r in rows if r is not None),
        fingerprint=fingerprint(name_of(dataset, files), files) if files else None,
        full=full,
        schema=declared,
        features=parts[0].table.columns,
        metadata=lake_metadata(parts[0].table, parts[0].metadata, parts[0].info),
        base=base,
        allowed_paths="local" if is_dataset(dataset) else "inside",
    )


def _is_path(value: object) -> bool:
    return isinstance(value, str | os.PathLike)


@dataclass(frozen=True)
class _JoinedSplits:
    """The rows of all splits, one split after another."""

    parts: Sequence[Part]
    """The splits."""

    schema: pa.Schema
    """Arrow schema of the columns, including the column of splits if one is added."""

    adds_split: bool
    """Whether a column with the names of the splits is added."""

    @classmethod
    def of(cls, parts: Sequence[Part], *, has_splits: bool) -> _JoinedSplits:
        """Join splits. Raises SchemaError if their columns differ."""
        schema = parts[0].table.schema
        for part in parts[1:]:
            _check_same(parts[0], part)
        recorded = _recorded_split(parts[0])
        if not (has_splits or recorded is not None):
            return cls(parts, schema, adds_split=False)
        if SPLIT in schema.names:
            raise SchemaError(
                f"The names of the splits are stored in the column {SPLIT!r}, but the dataset has "
                f"a column with that name. Rename this column: dataset.rename_column({SPLIT!r}, …)."
            )
        htype = recorded if recorded is not None else ClassLabel([part.split for part in parts])
        f = pa.field(
            SPLIT, _SPLIT_KIND, nullable=False, metadata={HTYPE: json.dumps(htype.get_config())}
        )
        return cls(parts, schema.append(f), adds_split=True)

    def read(self, names: list[str]) -> Iterator[pa.RecordBatch]:
        """Yield batches with some columns of all splits."""
        table_names = [name for name in names if not (self.adds_split and name == SPLIT)]
        for part in self.parts:
            for batch in part.table.read(table_names or part.table.schema.names[:1]):
                arrays = dict(zip(table_names, batch.columns, strict=False))
                if self.adds_split:
                    codes = pa.array([0] * batch.num_rows, pa.int32())
                    arrays[SPLIT] = pa.DictionaryArray.from_arrays(codes, [part.split])
                yield pa.RecordBatch.from_arrays([arrays[name] for name in names], names=names)


_SPLIT_KIND = pa.dictionary(pa.int32(), pa.string())


def _recorded_split(part: Part) -> Any:
    """Return the type of the column of splits in the exported lake, or None if it is unknown."""
    exported = part.metadata.get(OWN)
    config = exported.get(SPLIT) if isinstance(exported, dict) else None
    return exported_htype(pa.field(SPLIT, pa.string(), metadata={HTYPE: json.dumps(config)}))


def _check_same(first: Part, part: Part) -> None:
    """Raise SchemaError if two splits have different columns."""
    a, b = first.table.schema, part.table.schema
    if a.names == b.names and a.types == b.types and first.features == part.features:
        return
    differing = [n for n in {**dict.fromkeys(a.names), **dict.fromkeys(b.names)}
                 if n not in a.names or n not in b.names or a.field(n).type != b.field(n).type
                 or first.features.get(n) != part.features.get(n)]  # fmt: skip
    raise SchemaError(
        "All splits must have the same columns, in the same order, but "
        f"{', '.join(map(repr, differing)) or 'the order'} differs between {first.split!r} and "
        f"{part.split!r}. Ingest each split into its own lake, or give all splits the same "
        "columns. If the splits are separate configurations, pass the folder of one configuration."
    )
