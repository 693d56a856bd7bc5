"""Features and Arrow types of every kind, at every place, come back from a lake unchanged."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from itertools import count

import datasets
import numpy as np
import pyarrow as pa
import pytest
from datasets import (
    Array2D,
    Audio,
    ClassLabel,
    Dataset,
    DatasetDict,
    Features,
    Image,
    Json,
    LargeList,
    List,
    Mesh,
    Nifti,
    Pdf,
    Translation,
    TranslationVariableLanguages,
    Value,
    Video,
)

import deeplake_lite as dl
from tests.dataset.everything import png

NUMBERS = count()
BERLIN = dt.timezone(dt.timedelta(hours=1))
FILE = {"bytes": b"RIFF", "path": "a.bin"}
PNG = {"bytes": png((2, 3)), "path": "a.png"}

KINDS = {
    "bool": (Value("bool"), [True, False]),
    "int8": (Value("int8"), [-128, 127]),
    "uint64": (Value("uint64"), [0, 2**64 - 1]),
    "float16": (Value("float16"), [0.5, -2.0]),
    "float32": (Value("float32"), [0.5, 1e30]),
    "string": (Value("string"), ["a", ""]),
    "large string": (Value("large_string"), ["ü", "b"]),
    "binary": (Value("binary"), [b"\0", b""]),
    "large binary": (Value("large_binary"), [b"\0", b"x"]),
    "date32": (Value("date32"), [dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
    "date64": (Value("date64"), [dt.date(1969, 12, 31), dt.date(2026, 1, 2)]),
    "time32 s": (Value("time32[s]"), [dt.time(0, 0, 1), dt.time(23, 59, 59)]),
    "time32 ms": (Value("time32[ms]"), [dt.time(0), dt.time(23, 59, 59, 999_000)]),
    "time64 us": (Value("time64[us]"), [dt.time(0), dt.time(23, 59, 59, 999_999)]),
    "time64 ns": (Value("time64[ns]"), [dt.time(0), dt.time(1, 2, 3, 4)]),
    "duration s": (Value("duration[s]"), [dt.timedelta(0), dt.timedelta(-5)]),
    "duration us": (Value("duration[us]"), [dt.timedelta(0, 1, 2), dt.timedelta(9_999)]),
    "timestamp s": (Value("timestamp[s]"), [dt.datetime(1, 1, 1), dt.datetime(9999, 1, 2)]),
    "timestamp us": (Value("timestamp[us]"), [dt.datetime(1969, 1, 1), dt.datetime(9999, 1, 2)]),
    "timestamp ns": (Value("timestamp[ns]"), [dt.datetime(1969, 1, 1), dt.datetime(2026, 1, 2)]),
    "zone": (
        Value("timestamp[us, tz=Europe/Berlin]"),
        [dt.datetime(2026, 1, 2, 3, tzinfo=BERLIN), dt.datetime(1970, 1, 1, tzinfo=BERLIN)],
    ),
    "offset": (
        Value("timestamp[ms, tz=+05:30]"),
        [dt.datetime(2026, 1, 2, 3, tzinfo=BERLIN), dt.datetime(1970, 1, 1, tzinfo=BERLIN)],
    ),
    "decimal": (Value("decimal128(10, 2)"), [Decimal("1.10"), Decimal("-99999999.99")]),
    "whole decimal": (Value("decimal128(12, 0)"), [Decimal(110), Decimal(-1)]),
    "wide decimal": (Value("decimal256(50, 3)"), [Decimal("0.700"), Decimal("12.345")]),
    "class": (ClassLabel(names=["b", "a"]), [1, 0]),
    "array": (Array2D((2, 3), "float32"), [np.ones((2, 3)).tolist(), np.zeros((2, 3)).tolist()]),
    "rows": (Array2D((None, 2), "int8"), [[[1, 2]], [[3, 4], [5, 6]]]),
    "json": (Json(), ['{"a":[1,"x"]}', "3"]),
    "image": (Image(decode=False), [PNG, {"bytes": png((1, 1)), "path": None}]),
    "audio": (Audio(decode=False), [FILE, {"bytes": b"", "path": None}]),
    "video": (Video(decode=False), [FILE, {"bytes": b"x", "path": "b"}]),
    "pdf": (Pdf(decode=False), [FILE, {"bytes": b"x", "path": "b"}]),
    "nifti": (Nifti(decode=False), [FILE, {"bytes": b"x", "path": "b"}]),
    "mesh": (Mesh(decode=False), [FILE, {"bytes": b"x", "path": "b"}]),
    "translation": (Translation(["en", "fr"]), [{"en": "a", "fr": "b"}, {"en": "", "fr": None}]),
    "translations": (
        TranslationVariableLanguages(["en", "fr"]),
        [{"language": ["en"], "translation": ["a"]}, {"language": [], "translation": []}],
    ),
    "numbers": (List(Value("int32")), [[1, 2], []]),
    "pair": (List(Value("float32"), length=2), [[1, 2], [3, 4]]),
    "texts": (LargeList(Value("string")), [["a", None], []]),
}  # fmt: skip
"""Features, and two values of each in the form that Arrow has."""

PLACES = {
    "column": lambda feature, a, b: (feature, [a, None, b]),
    "list": lambda feature, a, b: (List(feature), [[a, b], None, [], [b]]),
    "large list": lambda feature, a, b: (LargeList(feature), [[a, b], None, [], [b]]),
    "list of lists": lambda feature, a, b: (List(List(feature)), [[[a], []], None, [], [[b, a]]]),
    "struct": lambda feature, a, b: ({"x": feature, "n": Value("int8")}, [
        {"x": a, "n": 1}, {"x": None, "n": 2}, None, {"x": b, "n": None}]),
    "struct in a struct": lambda feature, a, _: (
        {"s": {"x": feature}, "n": Value("int8")}, [{"s": {"x": a}, "n": 1}, {"s": None, "n": 2}]),
    "list of structs": lambda feature, a, b: (List({"x": feature, "n": Value("int8")}), [
        [{"x": a, "n": 1}, {"x": b, "n": None}], None, []]),
    "list of structs of lists": lambda feature, a, b: (List({"x": List(feature)}), [
        [{"x": [a]}, {"x": [b, a]}], [], [{"x": []}]]),
}  # fmt: skip
"""Features that contain another one, and their values."""


def dataset_of(place, kinds=tuple(KINDS)):
    """Return a dataset with a column for each feature, at a place."""
    features, arrays = {}, []
    for name in kinds:
        feature, values = KINDS[name]
        features[name], rows = PLACES[place](feature, *values)
        arrays.append(rows)
    features = Features(features)
    columns = [
        column_of(rows, f.type) for rows, f in zip(arrays, features.arrow_schema, strict=True)
    ]
    table = pa.table(columns, features.arrow_schema)
    return Dataset(table, info=datasets.DatasetInfo(features=features))


def column_of(rows, kind):
    """Return rows as an Arrow array, whose extension types may be nested."""
    return with_extensions(pa.array(rows, storage_of(kind)), kind)


def storage_of(kind):
    if isinstance(kind, pa.BaseExtensionType):
        return storage_of(kind.storage_type)
    if pa.types.is_struct(kind):
        return pa.struct([(f.name, storage_of(f.type)) for f in kind])
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(storage_of(kind.value_type), kind.list_size)
    if pa.types.is_large_list(kind):
        return pa.large_list(storage_of(kind.value_type))
    return pa.list_(storage_of(kind.value_type)) if pa.types.is_list(kind) else kind


def with_extensions(array, kind):
    if isinstance(kind, pa.BaseExtensionType):
        return pa.ExtensionArray.from_storage(kind, array)
    if array.type == kind:
        return array
    mask = array.is_null()
    if pa.types.is_struct(kind):
        parts = [with_extensions(array.field(f.name), f.type) for f in kind]
        return pa.StructArray.from_arrays(parts, [f.name for f in kind], mask=mask)
    make = pa.LargeListArray if pa.types.is_large_list(kind) else pa.ListArray
    return make.from_arrays(
        array.offsets, with_extensions(array.values, kind.value_type), mask=mask
    )


def rows_of(dataset, name):
    """Return the values of a column as they are stored."""
    return [row for chunk in dataset.data.column(name).chunks for row in stored(chunk).to_pylist()]


def stored(array):
    if isinstance(array, pa.ExtensionArray):
        return stored(array.storage)
    mask = array.is_null()
    if pa.types.is_struct(array.type):
        parts = [stored(array.field(i)) for i in range(array.type.num_fields)]
        return pa.StructArray.from_arrays(parts, [f.name for f in array.type], mask=mask)
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        make = pa.LargeListArray if pa.types.is_large_list(array.type) else pa.ListArray
        start, stop = array.offsets[0].as_py(), array.offsets[-1].as_py()
        offsets = pa.compute.subtract(array.offsets, array.offsets[0])
        return make.from_arrays(offsets, stored(array.values.slice(start, stop - start)), mask=mask)
    return array


def saved(dataset, folder):
    dataset.save_to_disk(folder / "saved")
    return folder / "saved"


def files(dataset, folder):
    (folder / "data").mkdir()
    dataset.to_parquet(folder / "data" / "train-00000-of-00001.parquet")
    return folder


def one_file(dataset, folder):
    dataset.to_parquet(folder / "a.parquet")
    return folder / "a.parquet"


SOURCES = {
    "object": lambda dataset, _: dataset,
    "stream": lambda dataset, _: dataset.to_iterable_dataset(),
    "dict": lambda dataset, _: DatasetDict({"train": dataset}),
    "save_to_disk": saved,
    "folder": files,
    "file": one_file,
}


FAILS = {(kind, "save_to_disk") for kind in ("translation", "translations")}
"""Features for which `datasets` itself fails."""


def new_url():
    return f"memory://huggingface-types-{next(NUMBERS)}"


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """Keep `datasets` from the network."""
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    datasets.disable_progress_bars()


def imported(source):
    return dl.from_huggingface(source, new_url(), progress=False)


def check_same(result, original):
    """Check that features and stored values are the same, column by column."""
    wrong = []
    for name, feature in original.features.items():
        if name not in result.features:
            wrong.append(f"{name}: missing")
        elif result.features[name] != feature:
            wrong.append(f"{name}: {result.features[name]} is not {feature}")
        elif rows_of(result, name) != rows_of(original, name):
            wrong.append(f"{name}: {rows_of(result, name)} is not {rows_of(original, name)}"[:300])
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("place", PLACES)
def test_features_and_values_come_back(place, source, tmp_path):
    original = dataset_of(place, [kind for kind in KINDS if (kind, source) not in FAILS])
    ds = imported(SOURCES[source](original, tmp_path))
    if source in ("folder", "file"):  # Parquet has no seconds, and dates of one kind only
        paths = [str(path) for path in tmp_path.rglob("*.parquet")]
        original = Dataset.from_parquet(paths, cache_dir=str(tmp_path / "cache"))
    check_same(ds.to_huggingface(), original)
