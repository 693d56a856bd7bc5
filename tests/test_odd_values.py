"""Every argument of every public function gets unexpected values."""

from __future__ import annotations

import inspect
import itertools
import tarfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xarray as xr
import zarr
from array_record.python.array_record_module import ArrayRecordWriter

import deeplake_lite as dl
from deeplake_lite.dataset.export.methods import Exports
from deeplake_lite.dataset.export.shards.record_frames import frame
from deeplake_lite.dataset.export.shards.tf_example import serialize_example
from deeplake_lite.dataset.indexing import Indexable
from deeplake_lite.dataset.loading import Loadable, LoadableRows
from deeplake_lite.dataset.mapping import Mappable
from deeplake_lite.dataset.querying import Queryable
from deeplake_lite.ingest.options import Options as IngestOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VALUES = {
    "None": None,
    "True": True,
    "0": 0,
    "-1": -1,
    "1.5": 1.5,
    "nan": float("nan"),
    "10**30": 10**30,
    "no text": "",
    "text": "x",
    "a lone surrogate": "\ud800",
    "NUL": "a\0b",
    "bytes": b"x",
    "no list": [],
    "list": ["x"],
    "list of None": [None],
    "mapping": {"x": 1},
    "mapping of 1": {1: 1},
    "set": {"x"},
    "object": object(),
    "function": lambda *_args, **_named: 1,
    "generator": (i for i in ()),
    "number of NumPy": np.float32(1.5),
    "array of no axes": np.array(1.5),
    "array": np.array([1, 2]),
    "no array": np.empty(0),
    "texts of NumPy": np.array(["x"]),
    "date": np.datetime64("2020-01-01"),
}
"""Replacements for an argument, by what they are."""

PROMISED = {
    "str": str,
    "str | None": str | None,
    "bool": bool | np.bool_,
    "int": int | np.integer,
    "int | None": int | np.integer | None,
}
"""Annotations that describe the accepted values completely, and the types that they name."""

pytestmark = pytest.mark.filterwarnings("ignore::deeplake_lite.errors.ExportWarning")

ROWS = {
    "x": [1, 2], "name": ["a", "b"], "v": [[1, 2], [3, 4]], "label": ["rose", "tulip"],
    "boxes": [np.zeros((0, 4))] * 2, "labels": [[]] * 2, "guess": ["rose", "rose"],
}  # fmt: skip
SCHEMA = {
    "x": "int32",
    "name": "text",
    "v": dl.Embedding(2),
    "label": dl.ClassLabel(["rose", "tulip"]),
    "image": dl.Image("png", nullable=True),
    "link": dl.Link("bytes", nullable=True),
    "boxes": dl.Boxes(),
    "labels": dl.Sequence(dl.ClassLabel(["cat"])),
    "guess": dl.ClassLabel(["rose", "tulip"]),
}

NUMBERS = itertools.count()


PNG = dl.Image("png").encode([np.zeros((2, 2, 3), "uint8")]).buffers[0]


def new_url() -> str:
    """Return a URL without a lake."""
    return f"memory://odd-values-{next(NUMBERS)}"


def new_folder() -> Path:
    """Return a path at which nothing exists."""
    return Path(f"folder-{next(NUMBERS)}")


def make() -> dl.Dataset:
    """Return a small lake with two commits, a branch, a tag and a saved view."""
    ds = dl.create(new_url(), SCHEMA)
    ds.append({**ROWS, "image": [np.zeros((2, 2, 3), "uint8"), None]})
    ds.commit("first")
    ds.tag("v1")
    ds.branch("other")
    ds[:1].save("one")
    ds.append({**ROWS, "x": [3, 4]})
    ds.commit("second")
    return ds


@cache
def lake() -> dl.Dataset:
    """Return a lake that no test changes."""
    return make()


def written(name: str, text: str) -> Path:
    """Return a file in the current folder."""
    Path(name).write_text(text)
    return Path(name)


def folder() -> Path:
    """Return a folder with an image in it."""
    Path("pictures/rose").mkdir(parents=True, exist_ok=True)
    Path("pictures/rose/a.png").write_bytes(PNG)
    return Path("pictures")


def coco() -> Path:
    """Return a COCO file."""
    return written("a.json", '{"images": [{"id": 1, "file_name": "a.png"}]}')


def voc() -> Path:
    """Return a folder with an image and its annotation."""
    written("pictures.xml", "<annotation></annotation>").rename(folder() / "rose" / "a.xml")
    return Path("pictures")


def cvat() -> Path:
    """Return a file of CVAT."""
    return written("a.xml", '<annotations><image name="a.png"></image></annotations>')


def labelstudio() -> Path:
    """Return a file of tasks."""
    return written("tasks.json", '[{"data": {"image": "a.png"}}]')


def fiftyone() -> Path:
    """Return a folder with a dataset of FiftyOne."""
    Path("samples").mkdir(exist_ok=True)
    written("samples/metadata.json", "{}")
    written("samples/samples.json", '{"samples": [{"filepath": "a.png"}]}')
    return Path("samples")


def tar() -> Path:
    """Return a tar file with a sample."""
    path = written("1.txt", "a")
    with tarfile.open("a.tar", "w") as file:
        file.add(path)
    return Path("a.tar")


def mds() -> Path:
    """Return a folder of MDS shards."""
    return lake()[["x"]].to_mds(new_folder())


def litdata() -> Path:
    """Return a folder of chunks of LitData."""
    return lake()[["x"]].to_litdata(new_folder())


def tfrecord() -> Path:
    """Return a TFRecord file."""
    Path("a.tfrecord").write_bytes(frame(serialize_example({"x": np.array([1])})))
    return Path("a.tfrecord")


def arrayrecord() -> Path:
    """Return an ArrayRecord file."""
    writer = ArrayRecordWriter("a.array_record", "group_size:1")
    writer.write(serialize_example({"x": np.array([1])}))
    writer.close()
    return Path("a.array_record")


def parquet() -> Path:
    """Return a Parquet file."""
    pq.write_table(pa.table({"x": [1, 2]}), "a.parquet")
    return Path("a.parquet")


def npz() -> Path:
    """Return an npz file."""
    np.savez("a.npz", x=np.array([1, 2]))
    return Path("a.npz")


def hdf5() -> Path:
    """Return an HDF5 file."""
    with h5py.File("a.h5", "w") as file:
        file["x"] = [1, 2]
    return Path("a.h5")


def idx() -> Path:
    """Return an IDX file."""
    Path("train-labels-idx1-ubyte").write_bytes(b"\0\0\x08\x01\0\0\0\x02\0\x01")
    return Path("train-labels-idx1-ubyte")


def zarr_group() -> zarr.Group:
    """Return a Zarr group with an array."""
    group = zarr.create_group({})
    group.create_array("x", data=np.array([1, 2]))
    return group


def tensors() -> Any:
    """Return a dataset of tf.data."""
    import tensorflow as tf

    return tf.data.Dataset.from_tensor_slices({"x": [1, 2]})


FUNCTIONS: dict[str, dict[str, Any]] = {
    "create": {"url": new_url, "schema": {"x": "int8"}},
    "exists": {"url": new_url},
    "open": {"url": lambda: lake().url},
    "mix": {"views": lambda: [(lake(), 1)]},
    "jobs": {"url": lambda: lake().url},
    "browse_diff": {"ds": lake},
    "compare": {"a": lambda: evaluated(), "b": lambda: evaluated()},
    "function": {"returns": "float32"},
    "from_arrays": {"arrays": {"x": [1]}, "url": new_url},
    "ingest": {"data": lambda: {"x": [1]}, "url": new_url},
    "from_coco": {"annotations": coco, "url": new_url, "images": False},
    "from_yolo": {"path": folder, "url": new_url, "task": "classify"},
    "from_voc": {"folder": voc, "url": new_url},
    "from_cvat": {"path": cvat, "url": new_url, "images": False},
    "from_labelstudio": {"path": labelstudio, "url": new_url, "images": False},
    "from_fiftyone": {"path": fiftyone, "url": new_url, "images": False},
    "from_webdataset": {"tars": tar, "url": new_url},
    "from_mds": {"folder": mds, "url": new_url},
    "from_litdata": {"folder": litdata, "url": new_url},
    "from_numpy": {"files": npz, "url": new_url},
    "from_idx": {"files": idx, "url": new_url, "classes": ["a", "b"]},
    "from_hdf5": {"path": hdf5, "url": new_url},
    "from_zarr": {"group": zarr_group, "url": new_url},
    "from_xarray": {
        "dataset": lambda: xr.Dataset({"x": ("row", [1, 2])}),
        "url": new_url,
        "dim": "row",
    },
    "from_torch": {"dataset": [1, 2], "url": new_url},
    "from_tensorflow": {"dataset": tensors, "url": new_url},
    "from_tfds": {"dataset": tensors, "url": new_url},
    "from_deeplake": {"path": folder, "url": new_url},  # its package is not loaded
    "from_lance": {"path": folder, "url": new_url},  # its package is not loaded
    "from_tfrecord": {"files": tfrecord, "url": new_url},
    "from_arrayrecord": {"files": arrayrecord, "url": new_url},
    "from_csv": {"path": lambda: written("a.csv", "x\n1\n"), "url": new_url},
    "from_parquet": {"path": parquet, "url": new_url},
    "from_huggingface": {"dataset": parquet, "url": new_url},
    "from_folder": {"path": folder, "url": new_url},
    "from_dataframe": {"df": lambda: pd.DataFrame({"x": [1]}), "url": new_url},
}
"""Arguments with which each function works; callables create them."""

METHODS: dict[str, dict[str, Any]] = {
    "append": {"data": ROWS},
    "extend": {"data": ROWS},
    "has_key": {"key": "batch"},
    "update": {"rows": [0], "data": {"x": [5]}},
    "delete": {"rows": [0]},
    "upsert": {"data": ROWS, "on": "x"},
    "add_column": {"name": "new", "htype": "int8"},
    "rename_column": {"old": "x", "new": "y"},
    "set_default": {"name": "x", "value": 1},
    "set_nullable": {"name": "x"},
    "set_mode": {"name": "image", "mode": "RGB"},
    "add_classes": {"name": "label", "names": ["lily"]},
    "drop_column": {"name": "x"},
    "commit": {},
    "transaction": {},
    "branch": {"name": "new"},
    "checkout": {"branch": "other"},
    "delete_branch": {"name": "other"},
    "tag": {"name": "new"},
    "delete_tag": {"name": "v1"},
    "diff": {"a": "v1", "b": "main"},
    "merge": {"branch": "other"},
    "map": {"function": lambda: lambda batch: batch["x"], "into": "x", "columns": "x"},
    "lineage": {"column": "x"},
    "rebase": {},
    "restore": {"version": "v1"},
    "optimize": {},
    "vacuum": {},
    "create_index": {"column": "v"},
    "drop_index": {"index": "v"},
    "publish": {"url": new_url},
    "__getitem__": {"index": 0},
    "split": {"fractions": [0.5, 0.5]},
    "folds": {"k": 2},
    "save": {"name": "new"},
    "materialize": {"url": new_url},
    "browse": {},
    "query": {"text": "SELECT x WHERE x > $1", "params": [1]},
    "suspects": {"label": "label", "column": "v", "neighbours": 1},
    "evaluate": {"predictions": "guess", "truth": "label"},
    "to_folder": {"path": new_folder, "image": "image", "label": "label"},
    "to_coco": {"path": lambda: new_folder().with_suffix(".json")},
    "to_yolo": {"path": new_folder},
    "to_voc": {"path": new_folder},
    "to_cvat": {"path": new_folder},
    "to_labelstudio": {"path": new_folder},
    "to_fiftyone": {"path": new_folder},
    "to_webdataset": {"path": new_folder},
    "to_mds": {"path": new_folder},
    "to_litdata": {"path": new_folder},
    "to_numpy": {"path": lambda: new_folder().with_suffix(".npz")},
    "to_torch": {"path": lambda: new_folder().with_suffix(".pt")},
    "to_deeplake": {"path": new_folder},
    "to_lance": {"path": new_folder},
    "to_tfrecord": {"path": new_folder},
    "to_arrayrecord": {"path": new_folder},
    "to_huggingface": {},
    "to_parquet": {"path": new_folder},
    "batches": {"batch_size": 2},
    "pytorch": {"batch_size": 2},
    "jax": {"batch_size": 2},
    "tensorflow": {"batch_size": 2},
    "pytorch_dataset": {},
}
"""Arguments with which each method of datasets and views works."""


READING = {
    "__getitem__", "split", "folds", "query", "suspects", "browse", "diff", "to_folder", "batches",
    "pytorch", "jax", "tensorflow", "pytorch_dataset", "materialize", "publish", "to_coco",
    "to_yolo", "to_webdataset", "to_huggingface", "to_parquet", "to_numpy", "to_torch",
    "to_deeplake", "to_lance",
    "evaluate", "has_key", "lineage", "to_mds", "to_litdata",
    "to_tfrecord", "to_arrayrecord",
    "to_voc", "to_cvat", "to_labelstudio", "to_fiftyone",
}  # fmt: skip
"""Methods that change nothing."""


def public(*classes: type) -> list[str]:
    """Return the names of the public methods that classes define themselves."""
    named = [name for cls in classes for name, o in vars(cls).items() if inspect.isfunction(o)]
    return [name for name in named if not name.startswith("_") or name == "__getitem__"]


PARENTS = (Queryable, Mappable, Indexable, Exports, Loadable, LoadableRows)

OF_DATASETS = dict.fromkeys(public(dl.Dataset, dl.View, *PARENTS))


def parameters(function: Callable[..., Any]) -> dict[str, str]:
    """Return the parameters of a function and their annotations."""
    result = {
        name: str(p.annotation)
        for name, p in inspect.signature(function).parameters.items()
        if name != "self" and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    }
    if function.__name__.startswith("from_"):
        result |= {name: str(kind) for name, kind in IngestOptions.__annotations__.items()}
    return result


def state(ds: dl.Dataset) -> Any:
    """Return the state that an error must leave unchanged."""
    return (
        len(ds), ds.columns, ds.version, ds.current_branch, str(ds.status()), ds.branches, ds.tags,
        sorted(ds.views()),
    )  # fmt: skip


def wrong(call: Callable[[str, Any], Any], taken: dict[str, str]) -> Iterator[str]:
    """Yield what is wrong with a function, for each argument and each unexpected value."""
    for name, annotation in taken.items():
        promised = PROMISED.get(annotation)
        for title, value in VALUES.items():
            said = f"{name}={title}"
            try:
                call(name, value)
            except dl.LakeError as error:
                if str(error).encode(errors="replace").decode() != str(error):
                    yield f"{said}: a message that does not print: {error!a}"
            except Exception as error:
                yield f"{said}: {type(error).__name__}: {error!s:.100}"
            else:
                fits = promised is None or isinstance(value, promised)
                if not fits or (value is True and annotation.startswith("int")):
                    yield f"{said}: taken, though it is declared as {annotation}"


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Make relative paths lead to a folder of the test."""
    monkeypatch.chdir(tmp_path)


def test_no_public_function_is_forgotten():
    able = {name for name in OF_DATASETS if parameters(getattr(dl.Dataset, name))}
    inner = {"field", "select"}  # for code that builds on views
    assert able - METHODS.keys() - inner == {"query_async"}  # takes the arguments of query
    functions = {n for n in dl.__all__ if inspect.isfunction(getattr(dl, n))}
    assert functions | {"ingest"} == FUNCTIONS.keys()  # `ingest` and `query` are callable packages


@pytest.mark.parametrize("method", METHODS)
def test_methods_of_datasets_accept_documented_values_or_raise_our_errors(method):
    function, known = getattr(dl.Dataset, method), METHODS[method]
    ds = make()
    before = state(ds)

    def call(name: str, value: Any) -> None:
        nonlocal ds, before
        given = {key: v() if callable(v) else v for key, v in known.items()}
        try:
            done = function(ds, **{**given, name: value})
            if method == "transaction":
                with done:
                    pass
        except Exception as error:
            assert state(ds) == before, f"{name}={value!r} is refused, but has changed the lake"
            raise error from None
        if method not in READING:
            ds = make()
            before = state(ds)

    assert list(wrong(call, parameters(function))) == []


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_accept_documented_values_or_raise_our_errors(name):
    function, known = getattr(dl, name), FUNCTIONS[name]

    def call(argument: str, value: Any) -> None:
        given = {key: v() if callable(v) else v for key, v in known.items()}
        function(**{**given, argument: value})

    assert list(wrong(call, parameters(function))) == []


def evaluated() -> dl.Evaluation:
    """Return an evaluation."""
    return lake().evaluate("guess", "label")


def saved_evaluations() -> Any:
    """Return the saved evaluations of a lake."""
    ds = make()
    ds.evaluate("guess", "label").save("one")
    return ds.evaluations()


def changed() -> dl.Diff:
    """Return the changes of the second commit."""
    return lake().diff("v1", "main")


PARTS: dict[str, tuple[Callable[[], Any], dict[str, Any]]] = {
    "SavedViews.__getitem__": (lambda: lake().views(), {"name": "one"}),
    "SavedViews.info": (lambda: lake().views(), {"name": "one"}),
    "SavedViews.delete": (lambda: make().views(), {"name": "one"}),
    "Notes.__getitem__": (lambda: lake().metadata, {"key": "x"}),
    "Notes.__setitem__": (lambda: make().metadata, {"key": "x", "value": 1}),
    "Notes.__delitem__": (lambda: lake().metadata, {"key": "x"}),
    "Column.__getitem__": (lambda: lake()["x"], {"index": 0}),
    "Column.__setitem__": (lambda: make()["x"], {"index": 0, "values": 1}),
    "Column.encoded": (lambda: lake()["image"], {"index": 0}),
    "Column.urls": (lambda: lake()["link"], {"index": 0}),
    "Diff.before": (changed, {"column": "x"}),
    "Diff.after": (changed, {"column": "x"}),
    "Evaluation.curve": (evaluated, {}),
    "Evaluation.worst": (evaluated, {}),
    "Evaluation.write": (evaluated, {"ds": lambda: dl.open(lake().url)}),
    "Evaluation.save": (lambda: make().evaluate("guess", "label"), {"name": "new"}),
    "SavedEvaluations.__getitem__": (saved_evaluations, {"name": "one"}),
    "SavedEvaluations.delete": (saved_evaluations, {"name": "one"}),
    "Browser.to_html": (lambda: lake().browse(), {"path": "page.html"}),
}
"""Methods of the objects that datasets return, how these are made, and working arguments."""


@pytest.mark.parametrize("name", PARTS)
def test_parts_of_datasets_accept_documented_values_or_raise_our_errors(name):
    make_part, known = PARTS[name]

    def call(argument: str, value: Any) -> None:
        given = {key: v() if callable(v) else v for key, v in known.items()}
        getattr(make_part(), name.partition(".")[2])(**{**given, argument: value})

    function = getattr(type(make_part()), name.partition(".")[2])
    assert list(wrong(call, parameters(function))) == []


TYPES = {
    "Array": {"dtype": "float32", "shape": (2,)}, "Boxes": {}, "Bytes": {}, "ClassLabel": {},
    "Embedding": {"dim": 2}, "Image": {}, "Json": {}, "Keypoints": {}, "Limits": {},
    "Link": {"of": "bytes"}, "Mask": {}, "Polygons": {}, "Scalar": {"dtype": "int8"},
    "Sequence": {"of": "text"}, "Text": {}, "Schema": {},
}  # fmt: skip
"""Classes that users call, and arguments with which each works."""


@pytest.mark.parametrize("name", TYPES)
def test_types_accept_documented_values_or_raise_our_errors(name):
    taken = {k: v for k, v in parameters(getattr(dl, name)).items() if not k.startswith("_")}

    def call(argument: str, value: Any) -> None:
        getattr(dl, name)(**{**TYPES[name], argument: value})

    assert list(wrong(call, taken)) == []
