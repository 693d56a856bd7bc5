"""One bad record in the middle: the others are ingested, or the error names the place."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import InvalidValueError
from tests.ingest.every_format import FORMATS, number_of

COUNT, BAD = 9, 4


def files_of(path):
    return [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())


def replace(path, old, new):
    """Replace bytes that occur once in the files of a path."""
    found = [file for file in files_of(path) if old in file.read_bytes()]
    (file,) = found
    data = file.read_bytes()
    assert data.count(old) == 1
    file.write_bytes(data.replace(old, new))


def no_text(path):
    """Make the text of the bad record something other than UTF-8."""
    replace(path, "té 4".encode(), b"t\xc3\xff 4")


def labelstudio(path):
    content = json.loads(path.read_text())
    content[BAD]["annotations"][0]["result"][0]["value"]["x"] = "x"
    path.write_text(json.dumps(content))


def fiftyone(path):
    content = json.loads((path / "samples.json").read_text())
    labels = next(
        v for v in content["samples"][BAD].values() if isinstance(v, dict) and "detections" in v
    )
    labels["detections"][0]["bounding_box"] = "x"
    (path / "samples.json").write_text(json.dumps(content))


def mds(path):
    """Damage a text in shards without hashes, as MosaicML's writer writes them by default."""
    no_text(path)
    index = json.loads((path / "index.json").read_text())
    index["shards"][0]["raw_data"]["hashes"] = {}
    (path / "index.json").write_text(json.dumps(index))


def xml(path):
    page = path / "Annotations/004.xml" if path.is_dir() else path
    text = page.read_text()
    start = text.index("004.png")
    at = re.search(r"(<xmin>|xtl=\")", text[start:])
    page.write_text(text[: start + at.end()] + "x" + text[start + at.end() :])


def coco(path):
    content = json.loads(path.read_text())
    image = next(i["id"] for i in content["images"] if i["file_name"].endswith("004.png"))
    next(a for a in content["annotations"] if a["image_id"] == image)["bbox"] = "x"
    path.write_text(json.dumps(content))


def yolo(path):
    (label,) = path.rglob("004.txt")
    label.write_text("0 x 0 0 0\n")


def image(path):
    (file,) = path.rglob("004.png")
    file.write_bytes(file.read_bytes()[:40])


def hdf5_enumeration(path):
    import h5py

    with h5py.File(path, "r+") as file:
        raw = file["parity"]
        raw.id.write(h5py.h5s.ALL, h5py.h5s.ALL, np.array([0, 1, 0, 1, 7, 1, 0, 1, 0], "i1"))


def hdf5_chunk(path):
    """Damage the second chunk of `vector`: the rows 4 to 7."""
    import h5py

    with h5py.File(path) as file:
        chunk = file["vector"].id.get_chunk_info_by_coord((4, 0))
    data = bytearray(path.read_bytes())
    data[chunk.byte_offset : chunk.byte_offset + 4] = b"\xff" * 4
    path.write_bytes(data)


def zarr_chunk(path):
    (path / "n/c/1").write_bytes(b"damaged")


def npz(path):
    data = bytearray(path.read_bytes())
    at = data.index(b"t.npy") + 40
    data[at : at + 20] = bytes(20)
    path.write_bytes(data)


def arrow_text(path):
    """Write the table again with a string that is not UTF-8."""
    (path,) = path.rglob("*.parquet")
    columns = pq.read_table(path)
    data = [f"té {n}".encode() for n in range(COUNT)]
    data[BAD] = b"\xff"
    offsets = np.cumsum([0, *map(len, data)]).astype("i4")
    text = pa.StringArray.from_buffers(
        COUNT, pa.py_buffer(offsets.tobytes()), pa.py_buffer(b"".join(data))
    )
    plain = columns.select(["n", "vector"]).add_column(0, "text", text)
    pq.write_table(plain.replace_schema_metadata(None), path, use_dictionary=False)


def csv(path):
    replace(path, b"\n4,", b"\nx,")


ONE, CHUNK = {BAD}, {4, 5, 6, 7}

CASES = {
    "csv": (csv, ONE, r"data\.csv, row 4"),
    "parquet": (arrow_text, ONE, r"data\.parquet, row 4"),
    "huggingface": (no_text, ONE, "row 4"),
    "webdataset": (no_text, ONE, r"\.tar, .*4"),
    "mds": (mds, ONE, r"shard\.00000\.mds, row 4"),
    "mds with hashes": (no_text, None, r"shard\.00000\.mds"),
    "litdata": (no_text, ONE, r"chunk-0-0\.bin, row 4"),
    "tfrecord": (no_text, ONE, r"record 4 \(byte "),
    "arrayrecord": (no_text, ONE, "record 4"),
    "torch": (no_text, None, r"data\.pt"),
    "npz": (npz, None, r"data\.npz, t"),
    "hdf5 enumeration": (hdf5_enumeration, ONE, r"data\.h5, row 4"),
    "hdf5 text": (no_text, ONE, r"data\.h5, row 4"),
    "hdf5 chunk": (hdf5_chunk, CHUNK, r"data\.h5, row 4"),
    "zarr": (zarr_chunk, CHUNK, r"data\.zarr, row 4"),
    "folder": (image, ONE, r"a/004\.png"),
    "coco": (coco, ONE, r"004\.png"),
    "yolo": (yolo, ONE, r"004\.(png|txt)"),
    "voc": (xml, ONE, r"004"),
    "cvat": (xml, ONE, r"004\.png"),
    "labelstudio": (labelstudio, ONE, "task 4"),
    "fiftyone": (fiftyone, ONE, "sample 4"),
    "voc image": (image, ONE, r"004\.png"),
    "coco image": (lambda path: image(path.parent), ONE, r"004\.png"),
}  # fmt: skip
"""By format: how a record is damaged, which rows are lost (None if all), and their place."""


@pytest.mark.parametrize("case", CASES)
def test_others_are_ingested_or_the_place_is_named(case, tmp_path, new_url):
    spoil, lost, place = CASES[case]
    form = FORMATS[case.partition(" ")[0]]
    path = form.write(tmp_path, COUNT)
    spoil(path)
    options = {"schema": {"n": "int64"}} if case == "csv" else {}
    with pytest.raises(InvalidValueError, match=place):
        form.ingest(path, new_url(), progress=False, **options)
    if lost is None:
        with pytest.raises(InvalidValueError, match=place):
            form.ingest(path, new_url(), progress=False, on_error="skip", **options)
        return
    ds = form.ingest(path, new_url(), progress=False, on_error="skip", **options)
    assert sorted(form.numbers(ds)) == [n for n in range(COUNT) if n not in lost]
    assert len(ds.ingested.skipped) == len(lost)
    assert re.search(place, ds.ingested.skipped[0].path)
    again = form.ingest(path, ds.url, progress=False, on_error="skip", **options)
    assert sorted(form.numbers(again)) == sorted(form.numbers(ds))


# ---- data in memory


class Items:
    """A dataset of PyTorch whose bad item is an error."""

    def __len__(self):
        return COUNT

    def __getitem__(self, number):
        if number == BAD:
            raise OSError("lost")
        return {"n": number}


def tensors(count=COUNT):
    import tensorflow as tf

    def checked(n):
        nan = tf.constant(np.nan, tf.float64)
        return tf.debugging.check_numerics(tf.where(n == BAD, nan, tf.cast(n, tf.float64)), "")

    return tf.data.Dataset.range(count).map(lambda n: {"n": checked(n)})


def texts_of_arrow():
    """Return a table with a string that is not UTF-8."""
    data = [b"\xff" if n == BAD else b"a" for n in range(COUNT)]
    text = pa.StringArray.from_buffers(
        COUNT,
        pa.py_buffer(np.arange(COUNT + 1, dtype="i4").tobytes()),
        pa.py_buffer(b"".join(data)),
    )
    return pa.table({"n": np.arange(COUNT), "text": text})


SOURCES = {
    "torch": (dl.from_torch, Items),
    "tensorflow": (dl.from_tensorflow, tensors),
    "tensorflow, of unknown length": (dl.from_tensorflow, lambda: tensors().filter(lambda _: True)),
    "tensorflow, the last of a known length": (
        dl.from_tensorflow, lambda: tensors(BAD + 1)
    ),
    "dataframe": (dl.from_dataframe, texts_of_arrow),
    "arrays": (dl.from_arrays, lambda: {name: texts_of_arrow()[name] for name in ("n", "text")}),
    "pandas": (dl.from_dataframe, lambda: pd.DataFrame({
        "n": np.arange(COUNT), "x": [b"\xff" if n == BAD else "a" for n in range(COUNT)],
    })),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", SOURCES)
def test_others_in_memory_are_ingested(name, new_url):
    ingest, make = SOURCES[name]
    options = {"schema": {"x": "text"}} if name == "pandas" else {}
    with pytest.raises(InvalidValueError, match="row 4"):
        ingest(make(), new_url(), progress=False, **options)
    ds = ingest(make(), new_url(), progress=False, on_error="skip", **options)
    last = BAD if "last" in name else COUNT
    assert [number_of(n) for n in ds["n"][:]] == [n for n in range(last) if n != BAD]
    (skipped,) = ds.ingested.skipped
    assert "row 4" in skipped.path


@pytest.mark.filterwarnings("ignore")
def test_a_generator_that_fails_is_not_taken_for_a_whole_one(new_url):
    import tensorflow as tf

    def numbers():
        yield from range(BAD)
        raise OSError("lost")

    data = tf.data.Dataset.from_generator(numbers, output_signature=tf.TensorSpec((), tf.int64))
    for on_error in ("raise", "skip"):
        with pytest.raises(InvalidValueError, match=r"row 4: .*No later elements can be read"):
            dl.from_tensorflow(data, new_url(), progress=False, on_error=on_error)


def test_damaged_parquet_files_are_named_even_if_rows_are_skipped(tmp_path, new_url):
    path = tmp_path / "data.parquet"
    values = np.random.default_rng(0).integers(0, 2**60, 40_000)
    pq.write_table(pa.table({"n": values}), path, row_group_size=20_000, use_dictionary=False)
    column = pq.ParquetFile(path).metadata.row_group(1).column(0)
    data = bytearray(path.read_bytes())
    data[column.data_page_offset : column.data_page_offset + 40] = bytes(40)
    path.write_bytes(data)
    for on_error in ("raise", "skip"):
        with pytest.raises(
            InvalidValueError, match=r"data\.parquet(, from row [\d,]+ on)?' cannot"
        ):
            dl.from_parquet(path, new_url(), progress=False, on_error=on_error)
