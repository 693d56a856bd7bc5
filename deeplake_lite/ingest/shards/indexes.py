"""Reading ``index.json``, which lists the shards of MDS datasets or the chunks of LitData."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deeplake_lite import checks
from deeplake_lite.errors import InvalidValueError, NotFoundError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deeplake_lite.ingest.shards.samples import Encoding

INDEX = "index.json"

MAX_INDEX_BYTES = 2**30


def dataset_folder(location: object) -> Path:
    """Return the folder of a dataset, given the folder or its index."""
    path = Path(checks.location("folder", location)).expanduser()
    return path.parent if path.name == INDEX and path.is_file() else path


def find_indexes(root: Path) -> list[Path]:
    """Return a list with the index of a folder or, if it has none, the indexes in its subfolders.

    Raises NotFoundError if there is no index.
    """
    if (root / INDEX).is_file():
        return [root / INDEX]
    indexes = sorted(root.rglob(INDEX)) if root.is_dir() else []
    if not indexes and root.is_file():
        raise NotFoundError(
            f"{str(root)!r} must be a folder with {INDEX}, but it is a file. Pass its folder."
        )
    if not indexes:
        raise NotFoundError(f"There is no {INDEX} in {str(root)!r}. Check the path.")
    return indexes


def read_index(path: Path) -> dict[str, Any]:
    """Return the content of an index. Raises InvalidValueError if it is invalid."""
    if path.stat().st_size > MAX_INDEX_BYTES:
        raise InvalidValueError(
            f"{str(path)!r} may be at most {MAX_INDEX_BYTES:,} bytes, but it is larger. Check the "
            "file."
        )
    try:
        content = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise InvalidValueError(
            f"{str(path)!r} must be a JSON file, but it cannot be read: {error}. Write the index "
            "again."
        ) from None
    if not isinstance(content, dict):
        raise InvalidValueError(
            f"{str(path)!r} must be a JSON object, but it is a {type(content).__name__}. Write the "
            "index again."
        )
    return content


def check_names(title: str, encodings: Mapping[str, Encoding], names: Sequence[str]) -> None:
    """Raise SchemaError if a shard does not have all of the columns `names`."""
    missing = [name for name in names if name not in encodings]
    if missing:
        raise SchemaError(
            f"All shards must have the columns {', '.join(map(repr, names))}, but {title} has no "
            f"column {missing[0]!r}. Select the columns that all shards have: columns=[…]."
        )


def path_inside(index: Path, name: str) -> Path:
    """Return the path of a file that an index lists.

    Raises InvalidValueError if the file is not in the folder of the index.
    """
    path = index.parent / name
    try:
        is_inside = path.resolve().is_relative_to(index.parent.resolve())
    except ValueError:  # the name has characters that no file name can have
        is_inside = False
    if not is_inside:
        raise InvalidValueError(
            f"{str(index)!r} must only list files in its own folder, but it lists {name!r:.80}. "
            "Correct the index."
        )
    return path
