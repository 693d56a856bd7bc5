"""Reading the splits of Hugging Face's folders and files without the package ``datasets``.

``save_to_disk`` writes a folder with state.json, dataset_info.json and Arrow streams. For several
splits, it writes a folder with dataset_dict.json and a folder of this kind for each split. On the
hub, a dataset is a folder of Parquet files whose names or folders contain the split, such as
``data/train-00000-of-00002.parquet``.
"""

from __future__ import annotations

import json
import os
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import yaml

from deeplake_lite.dataset.arrow.features import features_in, read_metadata
from deeplake_lite.errors import InvalidValueError, NotFoundError
from deeplake_lite.ingest.files import find_all_files, find_files, folder_of
from deeplake_lite.ingest.huggingface.feature_table import (
    FeatureTable,
    has_null_items,
    has_values,
)
from deeplake_lite.ingest.huggingface.part import Part
from deeplake_lite.ingest.tables.parquet import SUFFIXES, parquet_table
from deeplake_lite.ingest.tables.tabular import locate_errors, reading

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from deeplake_lite.dataset.arrow.leaves import Leaf

SHARD = re.compile(r"^(?P<split>.+?)-\d{5}-of-\d{5}(-[0-9a-f]+)?$")
"""Pattern of the names, without extension, of the numbered files of a split."""

KNOWN = {
    "train": "train", "training": "train",
    "validation": "validation", "valid": "validation", "val": "validation", "dev": "validation",
    "test": "test", "testing": "test", "eval": "test", "evaluation": "test",
}  # fmt: skip
"""Maps words that ``datasets`` recognises in names of files and folders to names of splits."""

MAX_CARD_BYTES = 10_000_000
"""Maximum size in bytes of a dataset card. Larger cards are not read."""

FIRST = ("train", "validation", "test")
"""Names of the splits that come before all other splits, in their order."""


def saved_parts(path: Path, declared: Mapping[str, Any]) -> tuple[list[Part], list[str], bool]:
    """Return the splits at a path, their files, and whether to add a column of splits.

    `declared` maps the names of columns to the types that the user declares.

    Raises
    ------
    NotFoundError
        If the path does not exist or has no dataset.
    InvalidValueError
        If a file cannot be read.
    """
    if (path / "dataset_dict.json").is_file():
        splits = _read_json(path / "dataset_dict.json").get("splits")
        if not isinstance(splits, list) or not all(isinstance(s, str) for s in splits):
            raise InvalidValueError(
                f"{str(path / 'dataset_dict.json')!r} must list the names of the splits, but it "
                "does not. Save the dataset again."
            )
        parts, files = list[Part](), list[str]()
        for split in splits:
            part, part_files = _saved_part(path / Path(split).name, split)
            parts.append(part)
            files += part_files
        return parts, files, True
    if (path / "state.json").is_file():
        part, files = _saved_part(path, None)
        return [part], files, False
    _check_one_configuration(path)
    try:
        files = find_all_files(path, *SUFFIXES)
    except NotFoundError as error:
        if not path.is_dir():
            raise
        raise NotFoundError(
            f"{str(path)!r} must be a folder written by save_to_disk or a folder of Parquet files, "
            "but it has neither state.json nor *.parquet. Check the path."
        ) from error
    by_split = split_files(path, files)
    parts = [
        _parquet_part(path, split, part_files, declared) for split, part_files in by_split.items()
    ]
    return parts, files, path.is_dir() and [*by_split] != ["train"]


def listed_parts(
    paths: Sequence[str], declared: Mapping[str, Any]
) -> tuple[list[Part], list[str], bool]:
    """Return the same values as `saved_parts`, but for a list of Parquet files."""
    files = find_files(paths, *SUFFIXES)
    root = Path(folder_of(files))
    by_split = split_files(root, map(os.path.abspath, files))
    parts = [
        _parquet_part(root, split, part_files, declared) for split, part_files in by_split.items()
    ]
    return parts, files, [*by_split] != ["train"]


def _check_one_configuration(path: Path) -> None:
    """Raise InvalidValueError if a folder's dataset card lists several configurations.

    Each configuration is a dataset of its own.
    """
    names = [c.get("config_name") for c in _configurations(path / "README.md")]
    if len(names) > 1:
        raise InvalidValueError(
            f"{str(path)!r} must contain one dataset, but its README.md lists the configurations "
            f"{', '.join(map(repr, names[:8]))}. Pass the folder or the files of one configuration."
        )


def _configurations(card: Path) -> list[dict[str, Any]]:
    """Return the configurations in a dataset card, or an empty list if it cannot be read."""
    if not card.is_file() or card.stat().st_size > MAX_CARD_BYTES:
        return []
    _, _, rest = card.read_text("utf-8", errors="replace").partition("---\n")
    header, end, _ = rest.partition("\n---")
    try:
        content = yaml.safe_load(header) if end else None
    except (yaml.YAMLError, ValueError, RecursionError):
        return []
    configurations = content.get("configs") if isinstance(content, dict) else None
    if not isinstance(configurations, list):
        return []
    return [c for c in configurations if isinstance(c, dict)]


def split_files(root: Path, files: Iterable[str]) -> dict[str, list[str]]:
    """Return a dict from splits to the files whose names or folders contain the split.

    Files whose names and folders contain no split are in the split "train".

    >>> split_files(Path("/d"), ["/d/data/test-00000-of-00001.parquet", "/d/train/0.parquet"])
    {'train': ['/d/train/0.parquet'], 'test': ['/d/data/test-00000-of-00001.parquet']}
    """
    by_split: dict[str, list[str]] = {}
    for file in files:
        by_split.setdefault(_split_of(root, Path(file)), []).append(file)
    rest = [split for split in by_split if split not in FIRST]
    return {split: by_split[split] for split in [*FIRST, *rest] if split in by_split}


def _split_of(root: Path, file: Path) -> str:
    """Return the split that a file's name or one of its folders contains, or "train"."""
    if match := SHARD.match(file.stem):
        return KNOWN.get(match["split"], match["split"])
    parents = file.relative_to(root).parent.parts if file.is_relative_to(root) else ()
    for name in (file.stem, *reversed(parents)):
        for word in re.split(r"[^a-z]+", name.lower()):
            if word in KNOWN:
                return KNOWN[word]
    return "train"


def _parquet_part(path: Path, split: str, files: list[str], declared: Mapping[str, Any]) -> Part:
    root = str(path) if path.is_dir() else None
    table, metadata, rows, full = parquet_table(str(path), files, root, declared)
    return Part(split, table, metadata, rows, frozenset(full))


def _read_json(path: Path) -> dict[str, Any]:
    """Return the content of a JSON file, which must be an object.

    Raises InvalidValueError if it is invalid.
    """
    try:
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidValueError(
            f"{str(path)!r} must be a JSON object, but it cannot be read: {error}. Save the "
            "dataset again."
        ) from error
    if not isinstance(content, dict):
        raise InvalidValueError(
            f"{str(path)!r} must be a JSON object, but it is a {type(content).__name__}. Save the "
            "dataset again."
        )
    return content


def _saved_part(folder: Path, split: str | None) -> tuple[Part, list[str]]:
    """Return the split in a folder written by ``save_to_disk``, and its files."""
    state = _read_json(folder / "state.json")
    info = _read_json(folder / "dataset_info.json")
    listed = state.get("_data_files")
    names = [f.get("filename") if isinstance(f, dict) else None for f in listed or ()] \
        if isinstance(listed, list) else [None]  # fmt: skip
    if not names or any(not isinstance(name, str) for name in names):
        raise InvalidValueError(
            f"{str(folder / 'state.json')!r} must list the files of the dataset under the key "
            "'_data_files', but it does not. Save the dataset again."
        )
    files = [str(folder / Path(str(name)).name) for name in names]
    if state.get("_indices_data_files"):
        raise InvalidValueError(
            f"{str(folder)!r} cannot be read, because an old release of datasets saved it with a "
            "list of indices. Load the dataset, and pass the loaded object: "
            "datasets.load_from_disk(…)."
        )
    schemas = [_schema_of(file) for file in files]
    metadata = {**read_metadata(schemas[0]), "info": info}
    if not features_in(metadata):
        metadata = read_metadata(schemas[0])
    table = FeatureTable.of(
        schemas[0],
        metadata,
        partial(_read_streams, files),
        partial(_has_any, files, has_values),
        partial(_has_any, files, has_null_items),
    )
    name = split or str(state.get("_split") or "train")
    return Part(name, table, metadata, info=info), files


def _schema_of(file: str) -> pa.Schema:
    with reading(file), pa.memory_map(file) as source:
        return pa.ipc.open_stream(source).schema


def _read_streams(files: Sequence[str], columns: list[str]) -> Iterator[pa.RecordBatch]:
    """Yield the batches of several Arrow streams, with only the given columns."""
    for file in files:
        with reading(file), pa.memory_map(file) as source:
            for batch in locate_errors(file, pa.ipc.open_stream(source)):
                missing = [name for name in columns if name not in batch.schema.names]
                if missing:
                    raise InvalidValueError(
                        f"{file!r} must have the same columns as the first file, but "
                        f"{missing[0]!r} is missing. Save the dataset again."
                    )
                part = batch.select(columns)
                for column in part.columns:
                    _check(column)
                yield part


def _check(column: pa.Array) -> None:
    """Raise ArrowInvalid if an array's memory is invalid.

    Strings that are not UTF-8 pass this check. Later errors about them name the row.
    """
    kind = column.type
    if kind == pa.string():
        column = column.cast(pa.binary())
    elif kind == pa.large_string():
        column = column.cast(pa.large_binary())
    column.validate(full=True)


def _has_any(files: Sequence[str], has: Callable[[pa.Array], bool], leaf: Leaf) -> bool:
    """Return whether `has` is true for the values of a part in any batch of the files."""
    batches = _read_streams(files, [leaf.path[0]])
    return any(has(leaf.part(batch.column(0))) for batch in batches)
