"""Export of a view as a folder of Parquet files with a dataset card, as on the hub.

The folder has files such as ``data/train-00000-of-00002.parquet``, and a README.md that describes
the features of all columns. Each split has its own files, without the column of splits.
"""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from deeplake_lite import checks
from deeplake_lite.dataset.export.huggingface.features import (
    FeatureExport,
    card_feature,
    find_misfits,
)
from deeplake_lite.dataset.export.portable import warn_of_metadata
from deeplake_lite.dataset.export.shards.plan import Part
from deeplake_lite.dataset.export.shards.splits import SPLIT, Splits
from deeplake_lite.dataset.export.shards.writer import write_shards
from deeplake_lite.remote.executor import check_executor

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deeplake_lite.dataset.export.shards.journal import Written
    from deeplake_lite.dataset.export.shards.plan import Shard
    from deeplake_lite.dataset.view import View
    from deeplake_lite.htypes.cells import Cells

GROUP_BYTES = 16 * 2**20
"""Approximate size of a row group in memory, in bytes. Readers load whole row groups."""

FILE_ROWS = 50_000
"""Default number of rows per file."""


def write_parquet(view: View, path: str | Path, rows_per_file: int, executor: Any) -> Path:
    """Write the rows of a view; see `View.to_parquet`."""
    root = Path(checks.location("path", path)).expanduser()
    rows_per_file = checks.integer("rows_per_file", rows_per_file, 1)
    executor = check_executor(executor)
    warn_of_metadata(view, "to_parquet", "features")
    plain = find_misfits(view, "to_parquet")
    splits = Splits.of(view, "to_parquet")

    def finish(written: Sequence[Sequence[Written]]) -> None:
        sizes = {
            split or "train": (len(part), sum(int(w.info["bytes"]) for w in files))
            for (split, part), files in zip(splits.views.items(), written, strict=True)
        }
        (root / "README.md").write_text(_card(splits, plain, sizes), "utf-8")

    write_shards(
        root,
        [
            _part(split or "train", part, splits, plain, rows_per_file)
            for split, part in splits.views.items()
        ],
        method="to_parquet",
        options={"rows_per_file": rows_per_file, "metadata": dict(view.rows.table.metadata)},
        executor=executor,
        finish=finish,
    )
    return root


def _metadata(splits: Splits, export: FeatureExport) -> dict[str, Any]:
    """Return the metadata that each Parquet file gets, as JSON values."""
    content = export.metadata
    if splits.field is not None:
        content["deeplake_lite"][SPLIT] = splits.field.htype.get_config()
    return content


def _part(
    split: str, view: View, splits: Splits, plain: frozenset[str], rows_per_file: int
) -> Part:
    """Return the part of the export that holds the files of a split."""
    export = FeatureExport(view, plain)
    return Part(
        view,
        export.read_fields,
        lambda number, count: f"data/{split or 'train'}-{number:05d}-of-{count:05d}.parquet",
        partial(_open_file, export, {"huggingface": json.dumps(_metadata(splits, export))}),
        max_rows=rows_per_file,
        block_rows=export.batch_rows,
        min_files=1,
    )


@contextlib.contextmanager
def _open_file(
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
    """Size that all written rows have in memory, in bytes."""

    _group: list[pa.RecordBatch] = field(default_factory=list)
    """Rows of the next row group."""

    def write(self, cells: Mapping[str, Cells], first: int) -> None:  # noqa: ARG002
        """Write rows, in row groups of about `GROUP_BYTES`."""
        batch = self.export.batch(cells)
        self.nbytes += batch.nbytes
        self._group.append(batch)
        if sum(batch.nbytes for batch in self._group) >= GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._group:
            table = pa.Table.from_batches(self._group)
            table = table.replace_schema_metadata(self.metadata)
            self.writer.write_table(table, row_group_size=len(table))
            self._group.clear()

    def finish(self) -> Mapping[str, Any]:
        """Write the remaining rows. Return a dict with the size of all rows in memory."""
        self._flush()
        return {"bytes": self.nbytes}


def _card(splits: Splits, plain: frozenset[str], sizes: dict[str, tuple[int, int]]) -> str:
    """Return the dataset card: a YAML header, written as JSON, and a description in text."""
    export = FeatureExport(next(iter(splits.views.values())), plain)
    info = {
        "features": [card_feature(name, f) for name, f in export.features.items()],
        "splits": [
            {"name": split, "num_examples": count, "num_bytes": nbytes}
            for split, (count, nbytes) in sizes.items()
        ],
    }
    # `configs` is left out: with it, `datasets` does not notice that files have changed, and
    # returns cached rows of an earlier export. Splits are inferred from the file names.
    lines = [f"dataset_info: {_yaml(info)}"]
    text = export.source_info.get("description")
    return "\n".join(["---", *lines, "---", "", text if isinstance(text, str) else "", ""])


def _yaml(value: object) -> str:
    r"""Convert a value to JSON that is valid YAML, by escaping characters that YAML forbids.

    >>> print(_yaml({"name": "a\x85ü"}))
    {"name": "a\u0085ü"}
    """
    text = json.dumps(value, ensure_ascii=False)
    return re.sub(
        "[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]", lambda m: f"\\u{ord(m[0]):04x}", text
    )
