"""Export of a view as a folder of Parquet files with a dataset card, as on the hub.

``data/train-00000-of-00002.parquet``, and README.md with the features of each column. Rows of
different splits are written to different files, from which the column of splits is left out.
"""

from __future__ import annotations

import contextlib
import json
import re
import warnings
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.parquet as pq

from deeplake_lite import checks
from deeplake_lite.dataset.export.huggingface.features import (
    FeatureExport,
    card_feature,
    warn_of_losses,
)
from deeplake_lite.dataset.export.shards.plan import Part
from deeplake_lite.dataset.export.shards.writer import workers_of, write_shards
from deeplake_lite.errors import ExportWarning

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deeplake_lite.dataset.export.shards.journal import Written
    from deeplake_lite.dataset.export.shards.plan import Shard
    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes.cells import Cells
    from deeplake_lite.schema import Field

FILE_ROWS = 50_000
"""Rows of a file by default."""

SPLIT = "split"
"""Name of the column of splits."""

_SPLIT_NAME = re.compile(r"\w+(\.\w+)*")


def write_parquet(
    view: View, path: str | Path, rows_per_file: int, num_workers: int | None
) -> Path:
    """Write the rows of a view; see `View.to_parquet`."""
    root = Path(checks.location("path", path)).expanduser()
    rows_per_file = checks.integer("rows_per_file", rows_per_file, 1)
    workers = workers_of(num_workers)
    splits = _Splits.of(view)
    warn_of_losses(view, "to_parquet")
    splits.warn()

    def finish(written: Sequence[Sequence[Written]]) -> None:
        sizes = {
            split: (len(own), sum(int(w.info["bytes"]) for w in files))
            for (split, own), files in zip(splits.views.items(), written, strict=True)
        }
        (root / "README.md").write_text(_card(splits, sizes), "utf-8")

    write_shards(
        root,
        [_part(split, own, splits, rows_per_file) for split, own in splits.views.items()],
        method="to_parquet",
        options={"rows_per_file": rows_per_file, "metadata": dict(view.rows.table.metadata)},
        num_workers=workers,
        finish=finish,
    )
    return root


@dataclass(frozen=True)
class _Splits:
    """The splits of a view."""

    view: View

    split: Field | None
    """The column of splits, if its values can name files."""

    @classmethod
    def of(cls, view: View) -> _Splits:
        """Find the column of splits: one of classes, without nulls, whose names can name files."""
        f = view.schema[SPLIT] if SPLIT in view.columns else None
        names = f.htype.classes.names if f is not None and f.htype.classes is not None else ()
        is_split = (
            f is not None and f.htype.sql == "class" and len(view.columns) > 1 and len(view) > 0
            and bool(names) and not f.htype.nullable and all(map(_SPLIT_NAME.fullmatch, names))
        )  # fmt: skip
        return cls(view, f if is_split else None)

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


def _part(split: str, view: View, splits: _Splits, rows_per_file: int) -> Part:
    """Return the files of a split."""
    export = FeatureExport(view)
    return Part(
        view,
        export.read_fields,
        lambda number, count: f"data/{split}-{number:05d}-of-{count:05d}.parquet",
        partial(_opened, export, {"huggingface": json.dumps(splits.metadata(export))}),
        most_rows=rows_per_file,
        block_rows=export.batch_rows,
        least=1,
    )


@contextlib.contextmanager
def _opened(
    export: FeatureExport, metadata: Mapping[str, str], path: Path, _: Shard
) -> Iterator[_Parquet]:
    """Open a Parquet file."""
    with pq.ParquetWriter(path, export.schema.with_metadata(metadata)) as writer:
        yield _Parquet(writer, export, metadata)


@dataclass
class _Parquet:
    """An open Parquet file."""

    writer: pq.ParquetWriter
    export: FeatureExport
    metadata: Mapping[str, str]
    nbytes: int = 0
    """Size of its rows in memory."""

    def write(self, cells: Mapping[str, Cells], first: int) -> None:  # noqa: ARG002
        """Write rows."""
        batch = self.export.batch(cells)
        self.writer.write_batch(batch.replace_schema_metadata(self.metadata))
        self.nbytes += batch.nbytes

    def finish(self) -> Mapping[str, Any]:
        """Return the size of the rows in memory."""
        return {"bytes": self.nbytes}


def _card(splits: _Splits, sizes: dict[str, tuple[int, int]]) -> str:
    """Return the dataset card: YAML, in the subset that JSON is, and the description."""
    export = FeatureExport(next(iter(splits.views.values())))
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
