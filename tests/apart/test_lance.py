"""Datasets of Lance are ingested."""

from __future__ import annotations

import random
import shutil
from datetime import UTC, datetime, time
from decimal import Decimal
from pathlib import Path

import lance
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import InvalidValueError, LakeError, NotFoundError, OptionError
from deeplake_lite.ingest.detection.api import recognise


@pytest.fixture
def folder(tmp_path):
    return str(tmp_path / "flowers.lance")


@pytest.fixture
def flowers(folder):
    """Return a dataset of three fragments."""
    table = pa.table({"name": [f"n{i}" for i in range(10)], "petals": list(range(10))})
    return lance.write_dataset(table, folder, max_rows_per_file=4)


def ingest(folder, url, **options):
    return dl.from_lance(folder, url, progress=False, **options)


@pytest.mark.usefixtures("flowers")
def test_a_dataset_of_several_fragments_is_ingested(folder, new_url):
    ds = ingest(folder, new_url())
    assert ds["petals"][:].tolist() == list(range(10))
    assert ingest(folder, ds.url).ingested.repeated == ds.version


def test_versions_and_tags_can_be_chosen(flowers, folder, new_url):
    flowers.tags.create("first", 1)
    flowers.delete("petals = 3")
    assert [len(ingest(folder, new_url(), version=v)) for v in (None, 1, 2, "first")] == [
        9,
        10,
        9,
        10,
    ]
    for version in (9, "none"):
        with pytest.raises(NotFoundError, match="There is no version"):
            ingest(folder, new_url(), version=version)
    for version in (0, True, 1.5):
        with pytest.raises(OptionError, match="version must be a"):
            ingest(folder, new_url(), version=version)


def test_a_key_updates_rows(flowers, folder, new_url):
    url = new_url()
    ingest(folder, url, on="name")
    flowers.update({"petals": "99"}, where="name = 'n2'")
    ds = ingest(folder, url, on="name")
    assert (ds.ingested.changed, ds["petals"][2]) == (1, 99)


@pytest.mark.usefixtures("flowers")
def test_an_interrupted_run_is_resumed(folder, new_url, monkeypatch):
    from deeplake_lite.ingest.lance import source

    url, read = new_url(), source._read

    def stopping(dataset, title, columns, *, start=0):
        for count, batch in enumerate(read(dataset, title, columns, start=start)):
            if count == 2:
                raise KeyboardInterrupt
            yield batch

    monkeypatch.setattr(source, "BATCH_ROWS", 4)
    with monkeypatch.context() as patch:
        patch.setattr(source, "_read", stopping)
        with pytest.raises(KeyboardInterrupt):
            ingest(folder, url, commit_every=4)
    assert 0 < len(dl.open(url)) < 10
    assert ingest(folder, url, commit_every=4)["petals"][:].tolist() == list(range(10))


@pytest.mark.usefixtures("flowers")
def test_rows_from_a_start_are_numbered(folder):
    from deeplake_lite.ingest.lance.source import lance_source

    blocks = list(lance_source(folder).blocks(6))
    assert [
        row.as_py() if hasattr(row, "as_py") else row for b in blocks for row in b.columns["petals"]
    ] == [6, 7, 8, 9]
    assert blocks[0].row_names[0] == "flowers.lance, row 6"


def test_blobs_nested_values_and_metadata_are_read(folder, new_url):
    blob = pa.field("b", pa.large_binary(), metadata={"lance-encoding:blob": "true"})
    schema = pa.schema(
        [blob, ("n", pa.struct([("a", pa.int32()), ("l", pa.list_(pa.string()))])),
         ("v", pa.list_(pa.float32(), 2)), ("d", pa.dictionary(pa.int8(), pa.string()))],
        metadata={"source": "garden"},
    )  # fmt: skip
    labels = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int8()), ["rose", "lily"])
    table = pa.Table.from_arrays(
        [pa.array([b"a" * 99, b"", None], pa.large_binary()),
         pa.array([{"a": 1, "l": ["x"]}, {"a": 2, "l": []}, None], schema.field("n").type),
         pa.array([[1, 2], [3, 4], [5, 6]], schema.field("v").type), labels],
        schema=schema,
    )  # fmt: skip
    lance.write_dataset(table, folder)
    ds = ingest(folder, new_url())
    assert ds["b"][:] in ([b"a" * 99, b"", None], [b"a" * 99, None, None])
    assert ds["n"][:] == [{"a": 1, "l": ["x"]}, {"a": 2, "l": []}, None]
    assert np.asarray(ds["v"][:]).tolist() == [[1, 2], [3, 4], [5, 6]]
    assert ds["d"].names == ("rose", "lily")
    assert ds.metadata["lance"] == {"source": "garden"}


def test_a_missing_dataset_is_named(tmp_path, new_url):
    (tmp_path / "empty").mkdir()
    for name in ("none", "empty"):
        with pytest.raises(NotFoundError, match="There is no Lance dataset at"):
            ingest(tmp_path / name, new_url())


@pytest.mark.usefixtures("flowers")
def test_damaged_files_raise_our_errors(folder, new_url, tmp_path):
    draw = random.Random(3)
    files = sorted(p for p in Path(folder).rglob("*") if p.is_file())
    failed = 0
    for case in range(120):
        copy = tmp_path / f"copy{case}.lance"
        shutil.copytree(folder, copy)
        file = copy / draw.choice(files).relative_to(folder)
        data = bytearray(file.read_bytes())
        if case % 3 == 0 and data:
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        elif case % 3 == 1:
            del data[draw.randrange(len(data) + 1) :]
        if case % 3 == 2:
            file.unlink()
        else:
            file.write_bytes(bytes(data))
        try:
            ingest(copy, new_url())
        except LakeError:
            failed += 1
    assert failed


def test_blobs_outside_the_dataset_are_rejected(folder, new_url, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("secret")
    try:
        table = pa.table(
            {"b": lance.blob_array([secret.as_uri()])}, schema=pa.schema([lance.blob_field("b")])
        )
        lance.write_dataset(
            table, folder, data_storage_version="2.2", allow_external_blob_outside_bases=True
        )
    except (TypeError, ValueError, OSError) as error:
        pytest.fail(f"Lance cannot write the dataset of this test: {error}")
    with pytest.raises(InvalidValueError, match="refers to files outside the dataset"):
        ingest(folder, new_url())


def test_lance_datasets_name_the_call(tmp_path):
    data = lance.write_dataset(pa.table({"x": [1]}), str(tmp_path / "a.lance"))
    with pytest.raises(OptionError, match=r"dl\.from_lance\(data\.uri"):
        recognise(data)


def test_exports_restore_types_that_a_lake_does_not_have(folder, new_url, tmp_path):
    table = pa.table(
        {
            "at": pa.array([datetime(2020, 1, 1, tzinfo=UTC), None], pa.timestamp("us", "UTC")),
            "price": pa.array([Decimal("1.25"), None], pa.decimal128(10, 2)),
            "time": pa.array([time(1, 2, 3), None], pa.time64("us")),
            "pair": pa.array([{"a": 1, "b": "x"}, None]),
        }
    )
    lance.write_dataset(table, folder)
    ds = ingest(folder, new_url())
    ds.to_parquet(tmp_path / "out")
    back = pq.read_table(next(iter((tmp_path / "out").rglob("*.parquet")))).select(
        table.column_names
    )
    assert back.schema.types == table.schema.types
    assert back.to_pylist() == table.to_pylist()
    lake = ingest(ds.to_lance(tmp_path / "own.lance"), new_url())
    assert lake.metadata["arrow"] == ds.metadata["arrow"]


def test_unnamed_index_of_pandas_becomes_a_column(folder, new_url):
    frame = pd.DataFrame({"a": [1, 2]}, index=["p", "q"])
    lance.write_dataset(pa.Table.from_pandas(frame), folder)
    ds = ingest(folder, new_url())
    assert ds["index"][:] == ["p", "q"]
    assert ds["a"][:].tolist() == [1, 2]
