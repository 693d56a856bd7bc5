"""Columns that a file next to the records describes, by types of a lake or features of TFDS."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from deeplake_lite.dataset.export.shards.example_columns import SIDECAR
from deeplake_lite.errors import InvalidValueError
from deeplake_lite.htypes.files import scheme_of
from deeplake_lite.ingest.exported_metadata import ExportedMetadata
from deeplake_lite.ingest.shards.lake_features import lake_columns
from deeplake_lite.ingest.shards.record_files import read_neighbour
from deeplake_lite.ingest.shards.tfds_features import (
    FEATURES,
    INFO,
    shard_lengths,
    split_names,
    tfds_columns,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deeplake_lite.ingest.shards.feature_columns import FeatureColumn

MAX_BYTES = 64 * 2**20
"""Maximum size in bytes of a file that describes features."""


@dataclass(frozen=True)
class Description:
    """The description of record files, which is empty if no file next to them describes them."""

    columns: Mapping[str, FeatureColumn] = field(default_factory=dict)
    """Maps the names of columns to the columns."""

    metadata: ExportedMetadata = field(default_factory=ExportedMetadata)
    """The metadata of the dataset and of its columns."""

    splits: Mapping[str, str] = field(default_factory=dict)
    """Maps each file to the name of its split, or is empty if there is only one split."""

    lengths: Mapping[str, int] = field(default_factory=dict)
    """Maps each file whose number of records is known to the number."""

    files: Sequence[str] = ()
    """Paths of the files that contain the description, without those at URLs."""


def described_features(files: Sequence[str], access: Mapping[str, Any]) -> Description:
    """Read the description in the folder of record files. Without one, the result is empty.

    Raises
    ------
    InvalidValueError
        If the description cannot be read, or if the folders have different descriptions.
    StorageError
        If the folder cannot be read.
    """
    folders = {file.rpartition("/")[0]: file for file in files}
    texts = {
        folder: {
            name: read_neighbour(file, name, access, MAX_BYTES) for name in (SIDECAR, FEATURES)
        }
        for folder, file in folders.items()
    }
    first, *others = texts.values()
    if any(other != first for other in others):
        raise InvalidValueError(
            f"All files must have the same features, but {SIDECAR} or {FEATURES} differs between "
            f"the folders {', '.join(map(repr, sorted(folders)[:4]))}. Ingest each folder "
            "separately."
        )
    file = files[0]
    if (data := first[SIDECAR]) is not None:
        columns, metadata = lake_columns(_json_object(data, file, SIDECAR), file)
        return Description(columns, metadata, files=_local(file, SIDECAR))
    if (data := first[FEATURES]) is None:
        return Description()
    classes = {}

    def names_of(feature: str) -> list[str] | None:
        """Return the names of a feature's classes, which TFDS writes to a file, or None."""
        name = f"{feature.replace('/', '-')}.labels.txt"
        text = read_neighbour(file, name, access, MAX_BYTES)
        classes[name] = text
        return None if text is None else _lines(text, file, name)

    columns = tfds_columns(_json_object(data, file, FEATURES), names_of)
    info = read_neighbour(file, INFO, access, MAX_BYTES)
    content = {} if info is None else _json_object(info, file, INFO)
    used = [FEATURES, *([INFO] if info else []), *(n for n, text in classes.items() if text)]
    splits, lengths = split_names(files, content), shard_lengths(files, content)
    return Description(
        columns, ExportedMetadata(_metadata(content)), splits, lengths, _local(file, *used)
    )


def _metadata(info: Mapping[str, Any]) -> dict[str, dict[str, object]]:
    """Return the name, version, description and licence of a TFDS dataset as metadata."""
    keys = ("name", "version", "description", "citation", "license")
    notes: dict[str, object] = {key: info[key] for key in keys if isinstance(info.get(key), str)}
    return {"tfds": notes} if notes else {}


def _local(file: str, *names: str) -> list[str]:
    folder, slash, _ = file.rpartition("/")
    return [] if scheme_of(file) is not None else [f"{folder}{slash}{name}" for name in names]


def _lines(data: bytes, file: str, name: str) -> list[str]:
    try:
        lines = data.decode("utf-8").split("\n")
    except UnicodeDecodeError:
        raise _unreadable(file, name, "it is not UTF-8") from None
    return [line.strip() for line in lines if line.strip()]


def _json_object(data: bytes, file: str, name: str) -> dict[str, Any]:
    """Return the content of a JSON file, which must be an object.

    Raises InvalidValueError if it is invalid.
    """
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _unreadable(file, name, str(error)) from None
    if not isinstance(content, dict):
        raise _unreadable(file, name, f"it is a {type(content).__name__}")
    return content


def _unreadable(file: str, name: str, reason: str) -> InvalidValueError:
    folder = file.rpartition("/")[0]
    return InvalidValueError(
        f"{name} in {folder!r} must be a JSON object, or UTF-8 text with class names, but it "
        f"cannot be read: {reason}. Restore the file, or move the records to another folder."
    )
