"""Datasets of Hugging Face are ingested with their classes, original files and splits."""

from __future__ import annotations

import contextlib
import datetime as dt
import subprocess
import sys

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import (
    Array2D,
    Array3D,
    ClassLabel,
    Dataset,
    DatasetDict,
    Features,
    Image,
    IterableDataset,
    Json,
    LargeList,
    List,
    Translation,
    Value,
)

import deeplake_lite as dl
from deeplake_lite.errors import InvalidValueError, LakeError, NotFoundError, SchemaError
from deeplake_lite.ingest.huggingface.source import huggingface_source
from tests.ingest.conftest import picture

FEATURES = {
    "image": Image(),
    "label": ClassLabel(names=["10", "1"]),
    "tags": List(ClassLabel(names=["x", "y"])),
    "numbers": datasets.Sequence(Value("int32")),
    "pair": List(Value("float32"), length=2),
    "texts": LargeList(Value("string")),
    "matrix": Array2D((2, 3), "float32"),
    "rows": Array2D((None, 3), "int8"),
    "cube": Array3D((1, 2, 3), "uint8"),
    "json": Json(),
    "frames": List(Image()),
    "objects": {"box": List(List(Value("float32"))), "kind": List(ClassLabel(names=["q"]))},
    "day": Value("date32"),
    "file": Value("binary"),
    "half": Value("float16"),
    "nothing": Value("null"),
}

ROW = {
    "image": {"bytes": picture(1), "path": "a.png"},
    "label": 1,
    "tags": [1, 0],
    "numbers": [1, 2],
    "pair": [1, 2],
    "texts": ["a", None],
    "matrix": np.ones((2, 3), "float32"),
    "rows": np.ones((2, 3), "int8"),
    "cube": np.ones((1, 2, 3), "uint8"),
    "json": {"a": [1, "x"]},
    "frames": [{"bytes": picture(2), "path": None}],
    "objects": {"box": [[1, 2, 3, 4]], "kind": [0]},
    "day": dt.date(2020, 1, 2),
    "file": b"x",
    "half": np.float16(1),
    "nothing": None,
}

TYPES = {
    "image": dl.Image(),
    "image_path": dl.Text(nullable=True),
    "label": dl.ClassLabel(["10", "1"]),
    "tags": dl.Sequence(dl.ClassLabel(["x", "y"], nullable=True)),
    "numbers": dl.Array("int32", (None,)),
    "pair": dl.Array("float32", (2,)),
    "texts": dl.Sequence(dl.Text(nullable=True)),
    "matrix": dl.Array("float32", (2, 3)),
    "rows": dl.Array("int8", (None, 3)),
    "cube": dl.Array("uint8", (1, 2, 3)),
    "json": dl.Json(),
    "frames": dl.Sequence(dl.Image(nullable=True)),
    "objects.box": dl.Sequence(dl.Array("float32", (None,), nullable=True)),
    "objects.kind": dl.Sequence(dl.ClassLabel(["q"], nullable=True)),
    "day": dl.Scalar("datetime64[D]"),
    "file": dl.Bytes(),
    "half": dl.Scalar("float16"),
    "nothing": dl.Text(nullable=True),
}


@pytest.fixture(scope="module")
def dataset():
    return Dataset.from_list([ROW, ROW], features=Features(FEATURES))


@pytest.fixture
def ingest(new_url):
    return lambda source, **options: dl.from_huggingface(
        source, new_url(), progress=False, **options
    )


def labels(values, names=("cat", "dog")):
    """Return a dataset of labels."""
    return Dataset.from_dict(
        {"label": values}, features=Features({"label": ClassLabel(names=list(names))})
    )


def write_parquet(dataset, path):
    dataset.to_parquet(path)
    return path


def save(dataset, path):
    dataset.save_to_disk(path)
    return path


WAYS = {
    "object": lambda dataset, _: dataset,
    "stream": lambda dataset, _: dataset.to_iterable_dataset(),
    "stream of objects": lambda dataset, _: IterableDataset.from_generator(
        lambda: iter([ROW, ROW]), features=dataset.features
    ),
    "save_to_disk": lambda dataset, folder: save(dataset, folder / "saved"),
    "Parquet": lambda dataset, folder: write_parquet(dataset, folder / "a.parquet"),
}


@pytest.mark.parametrize("way", WAYS)
def test_every_feature_has_a_column_type_and_files_keep_their_bytes(way, dataset, ingest, tmp_path):
    ds = ingest(WAYS[way](dataset, tmp_path))
    # Of a stream, it is not known in advance whether any file has a path.
    types = {**TYPES, "frames_path": dl.Sequence(dl.Text(nullable=True))}
    assert {*ds.columns} == (types if way.startswith("stream") else TYPES).keys()
    for f in ds.schema:
        assert f.htype.bare == types[f.name].bare, f.name
    assert ds["image"].encoded([0, 1]) == [picture(1)] * 2
    first = ds.to_arrow().to_pylist()[0]
    assert first["image_path"] == "a.png"
    assert first["label"] == "1"
    assert first["tags"] == ["y", "x"]
    assert first["frames"] == [picture(2)]
    assert ds[0]["json"] == {"a": [1, "x"]}
    assert [box.tolist() for box in ds[0]["objects.box"]] == [[1, 2, 3, 4]]
    assert first["objects.kind"] == ["q"]
    assert ds[0]["matrix"].tolist() == ROW["matrix"].tolist()


def test_types_of_a_dataset_in_memory_know_that_there_are_no_nulls(dataset, ingest):
    assert {f.name: f.htype for f in ingest(dataset).schema} == TYPES


def test_no_label_is_null(ingest):
    ds = ingest(labels([1, -1, 0]))
    assert ds.schema["label"].htype == dl.ClassLabel(["cat", "dog"], nullable=True)
    assert ds.to_arrow()["label"].to_pylist() == ["dog", None, "cat"]


def test_class_number_without_a_name_is_an_error_or_its_row_is_skipped(ingest, tmp_path):
    path = write_parquet(labels([1, 0, 1]), tmp_path / "a.parquet")
    table = pq.read_table(path)
    bad = table.set_column(0, table.field("label"), pa.array([1, 7, 0]))
    pq.write_table(bad, path)
    with pytest.raises(InvalidValueError, match=r"a\.parquet, row 1: .*7"):
        ingest(path)
    ds = ingest(path, on_error="skip")
    assert ds["label"][:].tolist() == [1, 0]
    assert [skipped.path for skipped in ds.ingested.skipped] == ["a.parquet, row 1"]


def test_damaged_image_is_an_error_or_its_row_is_skipped(ingest):
    rows = [{"image": {"bytes": data, "path": None}} for data in (picture(1), b"no image")]
    dataset = Dataset.from_list(rows, features=Features({"image": Image()}))
    with pytest.raises(InvalidValueError, match="Dataset, row 1"):
        ingest(dataset)
    ds = ingest(dataset, on_error="skip")
    assert ds["image"].encoded([0]) == [picture(1)]
    assert ds.columns == ("image",)


@pytest.mark.parametrize("way", ["object", "stream", "save_to_disk", "hub", "folders"])
def test_splits_become_a_column(way, ingest, tmp_path):
    splits = DatasetDict({"train": labels([1, 0]), "test": labels([1])})
    source = splits
    if way == "stream":
        source = datasets.IterableDatasetDict(
            {name: own.to_iterable_dataset() for name, own in splits.items()}
        )
    elif way == "save_to_disk":
        source = save(splits, tmp_path / "saved")
    elif way in ("hub", "folders"):
        source = tmp_path
        for name, own in splits.items():
            path = f"data/{name}-00000-of-00001" if way == "hub" else f"{name}/0"
            (tmp_path / path).parent.mkdir(exist_ok=True)
            own.to_parquet(tmp_path / f"{path}.parquet")
    ds = ingest(source)
    assert ds.schema["split"].htype == dl.ClassLabel(["train", "test"])
    assert ds["split"][:].tolist() == [0, 0, 1]
    assert ds["label"][:].tolist() == [1, 0, 1]


def test_splits_with_other_columns_are_refused(ingest):
    with pytest.raises(SchemaError, match="'label' differs between 'a' and 'b'"):
        ingest(DatasetDict({"a": labels([1]), "b": labels([1], ["cat"] * 1 + ["cow"])}))
    with pytest.raises(SchemaError, match="are stored in the column 'split'"):
        ingest(DatasetDict({"a": labels([1]).rename_column("label", "split")}))


def test_description_is_kept(ingest):
    dataset = labels([1])
    dataset.info.description = "Pets"
    assert ingest(dataset).metadata["huggingface"]["description"] == "Pets"


def test_struct_of_files_has_a_column_for_each_field(ingest):
    file = {"bytes": picture(3), "path": None}
    features = Features(
        {"pair": {"left": Image(), "x": Value("int8")}, "seq": List({"im": Image()})}
    )
    row = {"pair": {"left": file, "x": 1}, "seq": [{"im": file}, {"im": None}]}
    ds = ingest(Dataset.from_list([row, {"pair": None, "seq": []}], features=features))
    assert ds.columns == ("pair.left", "pair.x", "seq.im")
    assert ds.to_arrow().to_pylist() == [
        {"pair.left": picture(3), "pair.x": 1, "seq.im": [picture(3), None]},
        {"pair.left": None, "pair.x": None, "seq.im": []},
    ]


def test_translations_are_json(ingest):
    features = Features({"t": Translation(["en", "fr"])})
    assert ingest(Dataset.from_list([{"t": {"en": "a", "fr": "b"}}], features=features))[0] == {
        "t": {"en": "a", "fr": "b"}
    }


@pytest.mark.parametrize("kind", ["Audio", "Video"])
def test_audio_and_video_are_bytes_with_their_path(kind, ingest, tmp_path):
    table = pa.table({"clip": [{"bytes": b"RIFF", "path": "a.wav"}, None]})
    info = f'{{"info": {{"features": {{"clip": {{"_type": "{kind}"}}}}}}}}'
    pq.write_table(table.replace_schema_metadata({"huggingface": info}), tmp_path / "a.parquet")
    ds = ingest(tmp_path / "a.parquet")
    assert ds.to_arrow().to_pylist() == [
        {"clip": b"RIFF", "clip_path": "a.wav"}, {"clip": None, "clip_path": None}
    ]  # fmt: skip
    assert ds.schema["clip"].htype == dl.Bytes(nullable=True)


def test_selected_and_shuffled_rows_are_read(ingest):
    dataset = labels([1, 0, 1, 0]).select([3, 0])
    assert ingest(dataset)["label"][:].tolist() == [0, 1]


def test_stream_is_read_in_blocks():
    read = []

    def rows():
        for number in range(2_000):
            read.append(number)
            yield {"x": number}

    stream = IterableDataset.from_generator(rows, features=Features({"x": Value("int32")}))
    blocks = huggingface_source(stream).blocks()
    assert list(next(blocks).columns["x"]) == list(range(256))
    assert len(read) < 600
    assert sum(len(block.row_names) for block in blocks) == 2_000 - 256


def test_failing_stream_is_our_error(ingest):
    def rows():
        yield {"x": 1}
        raise RuntimeError("no network")

    stream = IterableDataset.from_generator(rows, features=Features({"x": Value("int8")}))
    with pytest.raises(InvalidValueError, match="from row 0 on: no network"):
        ingest(stream)


@pytest.mark.parametrize("value", [3, None, {"x": [1]}, b"x"])
def test_other_objects_are_refused(ingest, value):
    with pytest.raises(InvalidValueError, match="dataset must be a Hugging Face Dataset"):
        ingest(value)


def test_folder_without_a_dataset_is_refused(ingest, tmp_path):
    with pytest.raises(NotFoundError, match=r"neither state\.json nor"):
        ingest(tmp_path)
    with pytest.raises(NotFoundError):
        ingest(tmp_path / "missing")


@pytest.mark.parametrize("part", range(4))
def test_damaged_files_raise_only_our_errors(part, dataset, ingest, tmp_path):
    rng = np.random.default_rng(part)
    for number in range(10):
        for way in ("save_to_disk", "Parquet"):
            folder = tmp_path / f"{way}{number}"
            folder.mkdir()
            source = WAYS[way](dataset, folder)
            files = [p for p in folder.rglob("*") if p.is_file()]
            path = files[rng.integers(len(files))]
            data = bytearray(path.read_bytes())
            if number % 2:
                data = data[: rng.integers(len(data))]
            else:
                data[rng.integers(len(data))] ^= 1 << int(rng.integers(8))
            path.write_bytes(data)
            with contextlib.suppress(LakeError):
                ingest(source)


def test_files_are_read_without_the_package(dataset, tmp_path):
    paths = [
        save(dataset, tmp_path / "saved"), write_parquet(dataset, tmp_path / "a.parquet")
    ]  # fmt: skip
    code = (
        "import sys; sys.modules['datasets'] = None; import deeplake_lite as dl\n"
        "for n, path in enumerate(sys.argv[1:]):\n"
        "    ds = dl.from_huggingface(path, f'memory://{n}')\n"
        "    assert ds['label'].names == ('10', '1'), ds\n"
    )
    subprocess.run([sys.executable, "-c", code, *map(str, paths)], check=True)


def test_from_parquet_reads_features(dataset, tmp_path, new_url):
    path = write_parquet(dataset, tmp_path / "a.parquet")
    ds = dl.from_parquet(path, new_url(), progress=False)
    assert ds["label"].names == ("10", "1")
    assert ds["image"].encoded([0]) == [picture(1)]
    declared = dl.from_parquet(path, new_url(), schema={"label": "int64"}, progress=False)
    assert declared["label"][:].tolist() == [1, 1]


def test_folder_of_several_configurations_is_refused(tmp_path):
    for name in ("de", "en"):
        (tmp_path / name).mkdir()
        pq.write_table(pa.table({"x": [1]}), tmp_path / name / "train-00000-of-00001.parquet")
    card = "---\nconfigs:\n- config_name: de\n- config_name: en\n---\n# Card\n"
    (tmp_path / "README.md").write_text(card)
    with pytest.raises(InvalidValueError, match="lists the configurations 'de', 'en'"):
        dl.from_huggingface(tmp_path, "memory://huggingface-configurations", progress=False)
    ds = dl.from_huggingface(tmp_path / "en", "memory://huggingface-en", progress=False)
    assert ds["x"][:].tolist() == [1]
    for text in ("", "---\n", "---\n: [\n---\n", "---\nconfigs: 3\n---\n"):
        (tmp_path / "en" / "README.md").write_text(text)
        assert len(dl.from_huggingface(tmp_path / "en", "memory://huggingface-en")) == 1


@pytest.mark.parametrize("name", [b"species", b"inner"])
def test_names_that_are_no_text_are_errors(tmp_path, new_url, name):
    rows = [{"species": 1, "s": {"inner": 2}}]
    datasets.Dataset.from_list(rows).save_to_disk(str(tmp_path / "data"))
    [file] = (tmp_path / "data").glob("*.arrow")
    data = file.read_bytes()
    damaged = data.replace(name + b"\0", b"\xf0" + name[1:] + b"\0")
    assert damaged != data
    file.write_bytes(damaged)
    with pytest.raises(InvalidValueError, match="must be UTF-8 text"):
        dl.from_huggingface(str(tmp_path / "data"), new_url(), progress=False)
