"""Datasets of PyTorch are ingested, and rows become files of tensors."""

from __future__ import annotations

import os
import sys
import threading
import types
from collections import namedtuple
from uuid import uuid4

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from torch.utils.data import IterableDataset, Subset, TensorDataset
from torchvision.datasets import ImageFolder
from torchvision.transforms.v2 import RandomHorizontalFlip

import deeplake_lite as dl
from deeplake_lite.errors import InvalidValueError, OptionError
from deeplake_lite.testing import strategies
from tests.ingest.conftest import picture
from tests.ingest.torch_datasets import Files, Items


@pytest.fixture
def ingest(new_url):
    return lambda dataset, **options: dl.from_torch(dataset, new_url(), progress=False, **options)


class Stream(IterableDataset):
    def __init__(self, items):
        self.items = items

    def __iter__(self):
        return iter(self.items)


def test_tensors_are_columns(ingest):
    ds = ingest(TensorDataset(torch.arange(6.0).reshape(3, 2), torch.tensor([5, 6, 7])))
    assert {f.name: f.htype for f in ds.schema} == {
        "item_0": dl.Array("float32", (2,)), "item_1": dl.Scalar("int64")
    }  # fmt: skip
    assert ds["item_0"][:].tolist() == [[0, 1], [2, 3], [4, 5]]
    named = ingest(TensorDataset(torch.arange(3), torch.ones(3)), columns=["x", "y"])
    assert named["x"][:].tolist() == [0, 1, 2]


Pair = namedtuple("Pair", ["left", "right"])


def test_items_are_named(ingest):
    ds = ingest(Items([{"a": 1, "b": {"c": "x", "d": torch.ones(2)}, "e": [1, 2]}] * 2))
    assert ds.columns == ("a", "b.c", "b.d", "e")
    assert ingest(Items([Pair(1, "x")])).columns == ("left", "right")
    assert ingest(Items([torch.ones(2)])).columns == ("item",)
    chosen = ingest(Items([{"a": 1, "b": 2}]), columns=["b"])
    assert chosen.columns == ("b",)
    with pytest.raises(OptionError, match="it has 2 names for 1 item"):
        ingest(Items([1]), columns=["a", "b"])
    with pytest.raises(OptionError, match="no item 'z'"):
        ingest(Items([{"a": 1}]), columns=["z"])


def test_values_of_varying_shape_and_missing_values_are_taken(ingest):
    ds = ingest(
        Items([{"x": torch.ones(i, dtype=torch.bfloat16), "y": None if i else 2} for i in range(3)])
    )
    assert ds.schema["x"].htype == dl.Array("float32", (None,))
    assert ds.schema["y"].htype == dl.Scalar("int64", nullable=True)
    assert [len(v) for v in ds["x"][:]] == [0, 1, 2]


@pytest.fixture
def folder(photos):
    return photos("cat/a.png", "cat/b.jpg", "dog/c.png", "10/d.png", "2/e.png")


def test_files_of_an_image_folder_are_stored_unchanged(folder, ingest):
    dataset = ImageFolder(folder, transform=RandomHorizontalFlip())
    ds = ingest(dataset)
    assert ds.columns == ("image", "label", "path")
    assert ds["label"].names == ("10", "2", "cat", "dog")
    assert [ds["label"].names[i] for i in ds["label"][:]] == ["10", "2", "cat", "cat", "dog"]
    assert ds["path"][:] == ["10/d.png", "2/e.png", "cat/a.png", "cat/b.jpg", "dog/c.png"]
    assert [bytes(f) for f in ds["image"].encoded()] == [
        (folder / path).read_bytes() for path in ds["path"][:]
    ]
    part = ingest(Subset(Subset(dataset, [4, 3, 0]), [0, 2]))
    assert part["path"][:] == ["dog/c.png", "10/d.png"]


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")
@pytest.mark.parametrize("workers", [0, 2])
def test_images_of_pillow_keep_their_file(folder, ingest, workers):
    paths = sorted(folder.rglob("*.*"))
    ds = ingest(Files(paths), num_workers=workers)
    assert ds.schema["image"].htype == dl.Image("auto")
    assert ds["label"][:].tolist() == [0, 1, 2, 3, 4]
    assert [bytes(f) for f in ds["image"].encoded()] == [path.read_bytes() for path in paths]


def test_classes_name_the_labels(ingest):
    items = [(torch.zeros(1, 4, 4), i % 2) for i in range(3)]
    ds = ingest(Items(items, classes=["1", "0"]))
    assert ds.columns == ("image", "label")
    assert ds.schema["label"].htype == dl.ClassLabel(["1", "0"])
    assert ds["label"][:].tolist() == [0, 1, 0]
    named = ingest(Items([{"x": 1.5, "target": torch.tensor(1)}], classes=["a", "b"]))
    assert named["target"][:].tolist() == [1]
    assert named["target"].names == ("a", "b")


def test_iterable_datasets_are_read_in_order(ingest):
    ds = ingest(Stream([(i, f"{i}") for i in range(3_000)]), columns=["n", "t"])
    assert ds["t"][:] == [str(i) for i in range(3_000)]
    assert ingest(iter([1, 2]))["item"][:].tolist() == [1, 2]
    with pytest.raises(OptionError, match="num_workers must be 0"):
        ingest(Stream([1]), num_workers=2)


@pytest.mark.parametrize("workers", [0, 1])
def test_bad_samples_are_errors_or_skipped(ingest, workers):
    items = [(1, "a"), ValueError("broken"), (2, "b")]
    with pytest.raises(
        InvalidValueError, match=r"Items, row 1: it cannot be read: ValueError: broken"
    ):
        ingest(Items(items), num_workers=workers)
    ds = ingest(Items(items), on_error="skip", num_workers=workers)
    assert ds["item_1"][:] == ["a", "b"]
    assert [s.path for s in ds.ingested.skipped] == ["Items, row 1"]
    with pytest.raises(InvalidValueError, match="row 1: it cannot be read: KeyError"):
        ingest(_failing())


def _failing():
    yield 1
    raise KeyError("x")


def test_later_samples_must_have_the_items_of_the_first(ingest):
    items = [{"a": 1}] * 300 + [{"a": 1, "b": 2}]
    with pytest.raises(InvalidValueError, match=r"row 300: .* but it also has 'b'"):
        ingest(Items(items))


@pytest.mark.parametrize("dataset", [None, 1, {"x": 1}, b"x", object(), {1}])
def test_other_objects_are_refused(ingest, dataset):
    with pytest.raises(OptionError, match="dataset must be"):
        ingest(dataset)


def test_datasets_without_samples_are_refused(ingest):
    for empty in (Items([]), Stream([])):
        with pytest.raises(InvalidValueError, match="has none"):
            ingest(empty)


def test_rows_are_updated_by_their_key(new_url, folder):
    url = new_url()
    dl.from_torch(ImageFolder(folder), url, on="path", progress=False)
    (folder / "cat/a.png").write_bytes(picture(9))
    ds = dl.from_torch(ImageFolder(folder), url, on="path", progress=False)
    assert (ds.ingested.added, ds.ingested.changed, ds.ingested.unchanged) == (0, 1, 4)
    url = new_url()
    dl.from_torch(ImageFolder(folder), url, progress=False)
    assert dl.from_torch(ImageFolder(folder), url, progress=False).ingested.added == 0


# ---- files of tensors


def cells_of(ds, name):
    return ds.handle.table.digests(ds.schema[name].id, np.arange(len(ds))).tolist()


@settings(max_examples=25, deadline=None)
@given(table=strategies.tables())
def test_export_is_ingested_as_the_same_cells(table, tmp_path_factory):
    schema, rows = table
    ds = dl.create(f"memory://{uuid4().hex}", schema)
    ds.append(rows)
    ds.commit("rows")
    path = ds.to_torch(tmp_path_factory.getbasetemp() / f"{uuid4().hex}.pt", images="files")
    again = dl.from_torch(path, f"memory://{uuid4().hex}", progress=False)
    assert again.columns == ds.columns
    for name in ds.columns:
        assert again.schema[name].htype == ds.schema[name].htype
        assert cells_of(again, name) == cells_of(ds, name), name
    loaded = torch.load(path, weights_only=True)
    for name, array in ds.to_numpy(images="files").items():
        mine = loaded[name] if isinstance(loaded[name], list) else loaded[name].numpy()
        np.testing.assert_array_equal(mine, array)


def test_times_and_classes_survive(make_lake, tmp_path, ingest):
    schema = {"t": dl.Scalar("datetime64[s]", nullable=True), "c": dl.ClassLabel(["1", "0"])}
    ds = make_lake(schema, t=["2020-01-01", None], c=["0", "1"])
    a, b = ds.to_torch(tmp_path / "a.pt"), ds.to_torch(tmp_path / "b.pt")
    assert a.read_bytes() == b.read_bytes()
    loaded = torch.load(a, weights_only=True)
    assert (loaded["c"].tolist(), loaded["c_names"]) == ([1, 0], ["1", "0"])
    again = ingest(a)
    assert cells_of(again, "t") == cells_of(ds, "t")
    assert ingest(a, columns=["c"]).columns == ("c",)


def test_files_are_not_unpickled(tmp_path, ingest):
    class Evil:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "harm"),)

    torch.save({"x": Evil()}, tmp_path / "x.pt")
    for content in ({"x": Evil()}, [torch.ones(2), Evil()]):
        torch.save(content, tmp_path / "x.pt")
        with pytest.raises(InvalidValueError, match="cannot be read without running code from it"):
            ingest(tmp_path / "x.pt")
        assert not (tmp_path / "harm").exists()
    torch.save(torch.utils.data.TensorDataset(torch.ones(2)), tmp_path / "y.pt")
    with pytest.raises(InvalidValueError, match=r"TensorDataset.*weights_only=False"):
        ingest(tmp_path / "y.pt")


IMAGES, LABELS = torch.arange(24, dtype=torch.uint8).reshape(3, 2, 4), torch.tensor([2, 0, 1])
FILES = {
    "a dict": ({"x": IMAGES, "y": LABELS}, {"x": IMAGES, "y": LABELS}),
    "a nested dict": (
        {"a": {"x": IMAGES.float()}, "b": {"c": LABELS}, "epoch": 3},
        {"a.x": IMAGES.float(), "b.c": LABELS},
    ),
    "lists": ({"x": IMAGES, "name": ["a", "b", ""], "k": [1, 2, 3], "classes": ["x", "y"]},
              {"x": IMAGES, "name": ["a", "b", ""], "k": [1, 2, 3]}),
    "a tuple": ((IMAGES, LABELS), {"item_0": IMAGES, "item_1": LABELS}),
    "a tensor": (IMAGES, {"data": IMAGES}),
    "lists alone": ({"x": [torch.ones(1), torch.ones(2)]}, {"x": [[1.0], [1.0, 1.0]]}),
    "samples": ([{"x": torch.ones(2), "y": "a"}, {"x": torch.zeros(2), "y": "b"}],
                {"x": torch.tensor([[1.0, 1], [0, 0]]), "y": ["a", "b"]}),
    "pairs": ([(IMAGES[0], 1), (IMAGES[1], 0)], {"item_0": IMAGES[:2], "item_1": [1, 0]}),
    "bfloat16": ({"x": torch.ones(2, 1, dtype=torch.bfloat16)}, {"x": torch.ones(2, 1)}),
    "parameters": (torch.nn.ParameterDict({"x": torch.ones(2, 1)}).state_dict(),
                   {"x": torch.ones(2, 1)}),
}  # fmt: skip


@pytest.mark.parametrize("zipped", [True, False], ids=["zip", "legacy"])
@pytest.mark.parametrize("case", FILES)
def test_files_that_people_save_are_read(case, zipped, tmp_path, ingest):
    content, expected = FILES[case]
    path = tmp_path / "data.pt"
    torch.save(content, path, _use_new_zipfile_serialization=zipped)
    ds = ingest(path)
    assert set(ds.columns) == set(expected)
    for name, values in expected.items():
        plain = values.numpy() if torch.is_tensor(values) else values
        read = ds[name][:]
        if isinstance(plain, np.ndarray):
            assert read.dtype == plain.dtype
            np.testing.assert_array_equal(read, plain)
        else:
            assert [v.tolist() if isinstance(v, np.ndarray) else v for v in read] == plain
    assert ingest(path).ingested.added == len(ds)


def test_other_values_of_a_file_are_metadata(tmp_path, ingest):
    content = {"x": LABELS, "classes": ["a", "b"], "model": {"lr": 0.5, "step": torch.tensor(7)}}
    torch.save(content, tmp_path / "a.pt")
    ds = ingest(tmp_path / "a.pt")
    found = {"classes": ["a", "b"], "model.lr": 0.5, "model.step": 7}
    assert ds.metadata["torch"] == found
    assert ds.columns == ("x",)


def test_splits_in_names_are_a_column(tmp_path, ingest):
    tensors = {"x_train": IMAGES, "y_train": LABELS, "x_test": IMAGES[:1], "y_test": LABELS[:1]}
    torch.save(tensors, tmp_path / "a.pt")
    ds = ingest(tmp_path / "a.pt")
    assert ds.columns == ("x", "y", "split")
    assert len(ds) == 4


def test_columns_of_a_file_are_named_or_chosen(tmp_path, ingest):
    torch.save({"weight": torch.ones(3, 2), "bias": torch.ones(2)}, tmp_path / "a.pt")
    with pytest.raises(InvalidValueError, match=r"'weight': 3, 'bias': 2\. Select columns"):
        ingest(tmp_path / "a.pt")
    assert ingest(tmp_path / "a.pt", columns=["bias"]).columns == ("bias",)
    torch.save((IMAGES, LABELS), tmp_path / "b.pt")
    assert ingest(tmp_path / "b.pt", columns=["image", "label"]).columns == ("image", "label")
    with pytest.raises(OptionError, match="it has 1 name for 2 tensors"):
        ingest(tmp_path / "b.pt", columns=["image"])


@pytest.mark.filterwarnings("ignore:Validating sparse tensor invariants:UserWarning")
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (5, "it holds an object of type int"),
        ([], "an empty list"),
        ((), "an empty tuple"),
        (torch.tensor(3), "a tensor without axes"),
        ({}, "it holds nothing"),
        ({"lr": 0.1, "betas": (1, 2)}, r"it holds 'lr', 'betas'\. Pass a part of the file"),
        ({"x": torch.eye(3).to_sparse()}, "must be dense"),
        ({"train": [{"x": 1}], "test": [{"x": 2}, {"x": 3}]}, "Pass a part of the file"),
    ],
)
def test_other_content_is_refused_with_the_way_out(content, message, tmp_path, ingest):
    torch.save(content, tmp_path / "a.pt")
    with pytest.raises(InvalidValueError, match=message):
        ingest(tmp_path / "a.pt")


@pytest.mark.filterwarnings("ignore:Sparse .* tensor support is in beta:UserWarning")
@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr"])
def test_sparse_tensors_are_rejected(ingest, layout):
    with pytest.raises(InvalidValueError, match="must be dense"):
        ingest([(getattr(torch.eye(3), layout)(), 1)])


def test_columns_are_named_once(ingest):
    with pytest.raises(OptionError, match="each column only once"):
        ingest(TensorDataset(torch.zeros(2), torch.ones(2)), columns=["a", "a"])


def test_datasets_that_processes_cannot_read_are_errors(ingest, monkeypatch):
    with pytest.raises(OptionError, match=r"num_workers must be 0 .* pickl.* Use num_workers=0"):
        ingest(Items([threading.Lock()]), num_workers=1)
    elsewhere = types.ModuleType("elsewhere")  # which no other process can import
    elsewhere.Hidden = type("Hidden", (Items,), {"__module__": "elsewhere"})
    monkeypatch.setitem(sys.modules, "elsewhere", elsewhere)
    with pytest.raises(InvalidValueError, match=r"No module named 'elsewhere'\. Use num_workers=0"):
        ingest(elsewhere.Hidden([1]), num_workers=1)
