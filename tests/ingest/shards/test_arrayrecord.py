"""ArrayRecord files are ingested, as Google's package writes them."""

from __future__ import annotations

import io
import random
import sys

import fsspec
import numpy as np
import pytest
from array_record.python.array_record_module import ArrayRecordWriter
from PIL import Image as PillowImage

import deeplake_lite as dl
from deeplake_lite.dataset.export.shards.tf_example import serialize_example
from deeplake_lite.errors import (
    InvalidValueError,
    LakeError,
    MissingPackageError,
    NotFoundError,
    OptionError,
    StorageError,
)


@pytest.fixture
def ingest(new_url):
    return lambda files, **options: dl.from_arrayrecord(files, new_url(), progress=False, **options)


def write(path, records, options="group_size:1"):
    writer = ArrayRecordWriter(str(path), options)
    for record in records:
        writer.write(record)
    writer.close()
    return path


def examples(count):
    return [serialize_example({"x": np.array([i]), "t": [f"é{i}".encode()]}) for i in range(count)]


@pytest.mark.parametrize(
    "options", ["group_size:1", "group_size:64", "group_size:7,uncompressed", "transpose"]
)
def test_files_that_the_package_wrote_are_ingested(tmp_path, ingest, options):
    ds = ingest(write(tmp_path / "a.array_record", examples(300), options))
    assert ds["x"][:].tolist() == list(range(300))
    assert ds["t"][7] == "é7"


def test_records_of_bytes_are_one_column(tmp_path, ingest):
    file = io.BytesIO()
    PillowImage.new("RGB", (8, 8)).save(file, "png")
    for record, htype in (
        (file.getvalue(), dl.Image("auto")), (b"text", dl.Text()), (b"\xff\0", dl.Bytes())
    ):  # fmt: skip
        ds = ingest(write(tmp_path / "a.array_record", [record] * 3))
        assert ds.schema["record"].htype == htype
        assert len(ds) == 3
    assert bytes(ds["record"][0]) == b"\xff\0"


def test_declared_contents_decide_how_records_are_read(tmp_path, ingest):
    records = examples(2)
    path = write(tmp_path / "a.array_record", records)
    ds = ingest(path, contents="bytes")
    assert [bytes(data) for data in ds["record"][:]] == records
    write(path, [np.arange(4, dtype="<f4").tobytes()] * 2)
    ds = ingest(path, schema={"record": dl.Array("float32", (2, 2))}, contents="bytes")
    assert ds["record"][1].tolist() == [[0, 1], [2, 3]]
    with pytest.raises(OptionError, match="contents"):
        ingest(path, contents="text")
    with pytest.raises(InvalidValueError, match="record 0, is not"):
        ingest(write(path, [b"hello"]), contents="example")
    ds = ingest(write(path, [b'{"a": 1}', b"{"]), schema={"record": "json"}, on_error="skip")
    assert ds["record"][:] == [{"a": 1}]
    assert [s.path for s in ds.ingested.skipped] == ["a.array_record, record 1"]


def test_folders_and_urls_are_read(tmp_path, ingest):
    for i in range(2):
        write(tmp_path / f"a-train.array_record-0000{i}-of-00002", examples(i + 1))
    (tmp_path / "README.md").write_text("no records")
    assert ingest(tmp_path)["x"][:].tolist() == [0, 0, 1]
    with fsspec.open("memory://arrays/a.array_record", "wb") as file:
        file.write((tmp_path / "a-train.array_record-00001-of-00002").read_bytes())
    assert ingest("memory://arrays/a.array_record")["x"][:].tolist() == [0, 1]
    with pytest.raises(StorageError, match="cannot be read"):
        ingest("memory://arrays/b.array_record")
    with pytest.raises(NotFoundError, match="no ArrayRecord file at"):
        ingest(tmp_path / "none")


def test_damaged_files_raise_only_our_errors_or_give_right_rows(tmp_path, new_url):
    rng = random.Random(0)
    path = write(tmp_path / "a.array_record", examples(100))
    whole, right = path.read_bytes(), {f"é{i}" for i in range(100)}
    used = whole.rstrip(b"\0")
    refused = 0
    for _ in range(100):
        data = bytearray(whole)
        a = rng.randrange(len(used))
        match rng.randrange(3):
            case 0:
                data[a] ^= 1 << rng.randrange(8)
            case 1:
                del data[a:]
            case 2:
                del data[a : a + rng.randrange(1, 50)]
        path.write_bytes(data)
        try:
            ds = dl.from_arrayrecord(path, new_url(), progress=False)
        except LakeError:
            refused += 1
            continue
        assert set(ds["t"][:]) == right
    assert refused > 50


@pytest.mark.parametrize("data", [b"", b"hello", bytes(70_000)], ids=["empty", "text", "zeros"])
def test_files_of_another_kind_are_refused(tmp_path, ingest, data):
    (tmp_path / "a.array_record").write_bytes(data)
    with pytest.raises(InvalidValueError, match="must be a complete ArrayRecord file"):
        ingest(tmp_path / "a.array_record")


def test_missing_package_is_named(tmp_path, ingest, make_lake, monkeypatch):
    path = write(tmp_path / "a.array_record", examples(1))
    monkeypatch.setitem(sys.modules, "array_record.python.array_record_module", None)
    with pytest.raises(MissingPackageError, match="deeplake-lite\\[array-record\\]"):
        ingest(path)
    with pytest.raises(MissingPackageError, match="to_arrayrecord needs array-record"):
        make_lake({"x": "int8"}, x=[1]).to_arrayrecord(tmp_path / "out")


def test_second_run_adds_nothing(tmp_path, new_url):
    url, path = new_url(), write(tmp_path / "a.array_record", examples(5))
    dl.from_arrayrecord(path, url, progress=False)
    assert dl.from_arrayrecord(path, url, progress=False).ingested.added == 0
