"""Datasets that someone else made name only files in their own folder."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import deeplake_lite as dl
from deeplake_lite.dataset.arrow.cells import HTYPE
from deeplake_lite.dataset.arrow.features import FILE
from deeplake_lite.htypes import web

if TYPE_CHECKING:
    from pathlib import Path

OUTSIDE = ["{secret}", "../secret.png", "a/../../secret.png", "file://{secret}",
           "http://127.0.0.1:9/x.png", "memory://x.png", "..\\secret.png", "C:\\x.png"]  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(web, "read_web", lambda *_: pytest.fail("a URL was requested"))
    (tmp_path / "data").mkdir()
    for name in ("secret.png", "data/own.png"):
        Image.fromarray(np.zeros((2, 3, 3), np.uint8)).save(tmp_path / name)
    return tmp_path / "data"


def write(folder: Path, values: pa.Array, feature: Any, name: str = "a.parquet") -> Path:
    table = pa.table({"file": values})
    if feature is not None:
        info = json.dumps({"info": {"features": {"file": feature}}})
        table = table.replace_schema_metadata({"huggingface": info})
    pq.write_table(table, folder / name)
    return folder / name


FEATURES = {
    "image": {"_type": "Image"},
    "audio": {"_type": "Audio"},
    "video": {"_type": "Video"},
    "pdf": {"_type": "Pdf"},
    "none": None,
    "list": {"_type": "List", "feature": {"_type": "Image"}},
    "list of audio": {"_type": "List", "feature": {"_type": "Audio"}},
}


CASES = [
    *(("from_parquet", "image", outside) for outside in OUTSIDE),
    *(("from_huggingface", name, OUTSIDE[0]) for name in FEATURES),
    ("ingest", "audio", OUTSIDE[1]),
]


@pytest.mark.parametrize(("read", "name", "outside"), CASES)
def test_files_outside_the_folder_are_not_read(
    folder: Path, new_url: Any, read: str, name: str, outside: str
) -> None:
    path = outside.format(secret=folder.parent / "secret.png")
    rows: list[Any] = [{"bytes": None, "path": p} for p in ("own.png", path)]
    if name.startswith("list"):
        rows = [[row] for row in rows]
    file = write(
        folder, pa.array(rows, pa.list_(FILE) if name.startswith("list") else FILE), FEATURES[name]
    )
    with pytest.raises(dl.errors.InvalidValueError, match="must be relative and must not lead out"):
        getattr(dl, read)(file, new_url(), progress=False)
    ds = getattr(dl, read)(file, new_url(), progress=False, on_error="skip")
    assert len(ds) == 1
    assert "row 1" in str(ds.ingested.skipped[0])
    assert "must be relative" in ds.ingested.skipped[0].reason


def test_types_that_a_file_records_name_no_files_outside(folder: Path, new_url: Any) -> None:
    secret = str(folder.parent / "secret.png")
    for kind in (dl.Image(), dl.Mask()):
        noted = {HTYPE: json.dumps(kind.get_config())}
        schema = pa.schema([pa.field("file", pa.string(), metadata=noted)])
        pq.write_table(pa.table({"file": [secret]}, schema=schema), folder / "a.parquet")
        with pytest.raises(dl.errors.InvalidValueError, match="must be relative"):
            dl.from_parquet(folder / "a.parquet", new_url(), progress=False)


def test_strings_for_a_column_of_images_need_a_declaration(folder: Path, new_url: Any) -> None:
    secret, url = str(folder.parent / "secret.png"), new_url()
    file = write(folder, pa.array([secret]), None)
    declared = {"file": dl.Image()}
    assert len(dl.from_parquet(file, url, schema=declared, progress=False)) == 1
    other = write(folder, pa.array([secret]), None, "c.parquet")
    with pytest.raises(dl.errors.InvalidValueError, match="schema="):
        dl.from_parquet(other, url, progress=False)
    structs = write(folder, pa.array([{"bytes": None, "path": secret}], FILE), None, "b.parquet")
    with pytest.raises(dl.errors.InvalidValueError, match="must be relative"):
        dl.from_parquet(structs, new_url(), schema=declared, progress=False)


def test_objects_of_datasets_name_local_files_but_no_urls(folder: Path, new_url: Any) -> None:
    own = (folder / "own.png").read_bytes()
    for feature in (datasets.Image(decode=False), datasets.Audio(decode=False)):
        for path, is_read in ((str(folder / "own.png"), True), ("http://127.0.0.1:9/x", False)):
            features = datasets.Features({"file": feature})
            rows = pa.table({"file": pa.array([{"bytes": None, "path": path}], FILE)})
            dataset = datasets.Dataset(rows.cast(features.arrow_schema))
            if is_read:
                ds = dl.from_huggingface(dataset, new_url(), progress=False)
                assert own in ds.to_arrow()["file"].to_pylist()
                continue
            with pytest.raises(dl.errors.InvalidValueError, match="must be local"):
                dl.from_huggingface(dataset, new_url(), progress=False)
