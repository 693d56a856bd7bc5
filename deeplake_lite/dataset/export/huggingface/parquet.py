"""Export of a view as a folder of Parquet files with a dataset card, as on the hub.

``data/train-00000-of-00002.parquet``, and README.md with the features of each column. Rows of
different splits are written to different files, from which the column of splits is left out.
"""

from __future__ import annotations

import json
import re
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq

from deeplake_lite import checks
from deeplake_lite.dataset.export.atomic_files import as_storage_errors
from deeplake_lite.dataset.export.folder import new_folder
from deeplake_lite.dataset.export.huggingface.features import (
    FeatureExport,
    card_feature,
    find_misfits,
    warn_of_losses,
)
from deeplake_lite.errors import ExportWarning

if TYPE_CHECKING:
    from deeplake_lite.dataset.view import View
    from deeplake_lite.schema import Field

FILE_ROWS = 50_000
"""Rows of a file by default."""

SPLIT = "split"
"""Name of the column of splits."""

_SPLIT_NAME = re.compile(r"\w+(\.\w+)*")


def write_parquet(view: View, path: str | Path, rows_per_file: int) -> Path:
    """Write the rows of a view; see `View.to_parquet`."""
    root = Path(checks.location("path", path)).expanduser()
    rows_per_file = checks.integer("rows_per_file", rows_per_file, 1)
    warn_of_losses(view, "to_parquet")
    parts = _Parts.of(view, find_misfits(view, "to_parquet"))
    parts.warn()
    with as_storage_errors(root), new_folder(root, "to_parquet"):
        (root / "data").mkdir()
        sizes = {
            split: _write(root, split, own, parts, rows_per_file)
            for split, own in parts.views.items()
        }
        (root / "README.md").write_text(_card(parts, sizes), "utf-8")
    return root


@dataclass(frozen=True)
class _Parts:
    """The splits of a view."""

    view: View

    split: Field | None
    """The column of splits, if its values can name files."""

    plain: frozenset[str]
    """Columns that are not written with the types that they were imported from."""

    @classmethod
    def of(cls, view: View, plain: frozenset[str]) -> _Parts:
        """Find the column of splits: one of classes, without nulls, whose names can name files."""
        f = view.schema[SPLIT] if SPLIT in view.columns else None
        names = f.htype.classes.names if f is not None and f.htype.classes is not None else ()
        is_split = (
            f is not None and f.htype.sql == "class" and len(view.columns) > 1 and len(view) > 0
            and bool(names) and not f.htype.nullable and all(map(_SPLIT_NAME.fullmatch, names))
        )  # fmt: skip
        return cls(view, f if is_split else None, plain)

    @cached_property
    def views(self) -> dict[str, View]:
        """The rows of each split, without the column of splits."""
        if self.split is None or self.split.htype.classes is None:
            return {"train": self.view}
        numbers = np.asarray(self.view[SPLIT][:])
        rest = [name for name in self.view.columns if name != SPLIT]
        return {
            name: self.view[np.flatnonzero(numbers == number)].select(tuple(rest))
            for number, name in enumerate(self.split.htype.classes.names)
            if (numbers == number).any()
        }

    def warn(self) -> None:
        """Warn if the files cannot keep the order of the rows."""
        if len(self.views) > 1 and (np.diff(np.asarray(self.view[SPLIT][:])) < 0).any():
            warnings.warn(
                "to_parquet writes a file for each split, so rows of different splits change their "
                f"order. To keep it, rename the column {SPLIT!r}.",
                ExportWarning,
                stacklevel=5,
            )

    def metadata(self, export: FeatureExport) -> dict[str, Any]:
        """Return the metadata of the files of a split."""
        content = export.metadata
        if self.split is not None:
            content["deeplake_lite"][SPLIT] = self.split.htype.get_config()
        return content


def _write(
    root: Path, split: str, view: View, parts: _Parts, rows_per_file: int
) -> tuple[int, int]:
    """Write the files of a split; return its number of rows, and their size in memory."""
    count = max(1, -(-len(view) // rows_per_file))
    export = FeatureExport(view, parts.plain)
    metadata = {"huggingface": json.dumps(parts.metadata(export))}
    schema = export.schema.with_metadata(metadata)
    nbytes = 0
    for number in range(count):
        rows = view[number * rows_per_file : (number + 1) * rows_per_file]
        path = root / "data" / f"{split}-{number:05d}-of-{count:05d}.parquet"
        with pq.ParquetWriter(path, schema) as writer:
            for batch in FeatureExport(rows, parts.plain).batches("to_parquet"):
                writer.write_batch(batch.replace_schema_metadata(metadata))
                nbytes += batch.nbytes
    return len(view), nbytes


def _card(parts: _Parts, sizes: dict[str, tuple[int, int]]) -> str:
    """Return the dataset card: YAML, in the subset that JSON is, and the description."""
    export = FeatureExport(next(iter(parts.views.values())), parts.plain)
    info = {
        "features": [card_feature(name, f) for name, f in export.features.items()],
        "splits": [
            {"name": split, "num_examples": count, "num_bytes": nbytes}
            for split, (count, nbytes) in sizes.items()
        ],
    }
    # Without `configs`: with it, `datasets` does not notice that files have changed, and returns
    # the rows that it cached for a former export. Splits follow from the names of the files.
    lines = [f"dataset_info: {_yaml(info)}"]
    text = export.notes.get("description")
    return "\n".join(["---", *lines, "---", "", text if isinstance(text, str) else "", ""])


def _yaml(value: object) -> str:
    r"""Return a value as YAML: as JSON, with characters escaped that YAML does not print.

    >>> print(_yaml({"name": "a\x85ü"}))
    {"name": "a\u0085ü"}
    """
    text = json.dumps(value, ensure_ascii=False)
    return re.sub(
        "[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda m: f"\\u{ord(m[0]):04x}", text
    )
