"""Features and Arrow types of every kind, at every place, come back from a lake unchanged."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from itertools import count

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
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
from huggingface_hub import DatasetCardData

import deeplake_lite as dl
from deeplake_lite.errors import ExportWarning, InvalidValueError, SchemaError
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


FAILS = {
    (kind, source)
    for kind in ("translation", "translations")
    for source in ("save_to_disk", "folder", "file")
}
"""Features that `datasets` itself fails to write."""

CASES = [
    (place, source)
    for place in PLACES
    for source in SOURCES
    if source in ("object", "stream", "file") or place in ("column", "list of structs")
]


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


@pytest.mark.parametrize(("place", "source"), CASES)
def test_features_and_values_come_back(place, source, tmp_path):
    original = dataset_of(place, [kind for kind in KINDS if (kind, source) not in FAILS])
    ds = imported(SOURCES[source](original, tmp_path))
    if source in ("folder", "file"):  # Parquet has no seconds, and dates of one kind only
        paths = [str(path) for path in tmp_path.rglob("*.parquet")]
        original = Dataset.from_parquet(paths, cache_dir=str(tmp_path / "cache"))
    check_same(ds.to_huggingface(), original)


@pytest.mark.parametrize("place", ["column", "struct", "list of structs"])
def test_exported_files_have_the_same_features_and_values(place, tmp_path):
    original = dataset_of(place)
    folder = imported(original).to_parquet(tmp_path / "hub")
    read = datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))["train"]
    # A dataset card does not say whether files are decoded.
    assert str(read.features).replace("decode=True", "decode=False") == str(
        original.features
    ).replace("decode=True", "decode=False")
    assert all(rows_of(read, name) == rows_of(original, name) for name in original.features)
    ds = imported(folder)
    assert {f.name: f.htype for f in ds.schema} == {
        f.name: f.htype for f in imported(original).schema
    }


@pytest.mark.parametrize("place", ["column", "list", "struct", "list of structs"])
def test_arrow_types_of_plain_files_come_back(place, tmp_path):
    kinds = [name for name, (feature, _) in KINDS.items() if isinstance(feature, Value)]
    table = dataset_of(place, kinds).data.table.replace_schema_metadata(None)
    pq.write_table(table, tmp_path / "a.parquet")
    table = pq.read_table(tmp_path / "a.parquet")
    ds = dl.from_parquet(tmp_path / "a.parquet", new_url(), progress=False)
    (path,) = ds.to_parquet(tmp_path / "hub").rglob("*.parquet")
    again = pq.read_table(path)
    narrow = (
        {"large string": "string", "large binary": "binary"} if place in ("column", "list") else {}
    )
    for name in kinds:
        if name not in narrow and not (place == "list" and "large" in str(table.field(name).type)):
            assert again.field(name).type == table.field(name).type, name
        assert again[name].to_pylist() == table[name].to_pylist(), name


DETECTION = List({
    "bbox": List(Value("float32"), length=4), "category": ClassLabel(names=["x", "y"]),
    "area": Value("int64"), "tag": Value("string"),
})  # fmt: skip
OBJECTS = [
    [{"bbox": [0, 0, 2, 1], "category": 1, "area": 2, "tag": "a"},
     {"bbox": [1, 1, 2, 3], "category": 0, "area": 9, "tag": None}],
    [],
]  # fmt: skip


def detection():
    rows = [{"objects": objects} for objects in OBJECTS]
    return Dataset.from_list(rows, features=Features({"objects": DETECTION}))


@pytest.mark.parametrize("source", SOURCES)
def test_detection_dataset_has_typed_columns(source, tmp_path):
    types = {"objects.bbox": dl.Boxes("xywh")}
    given = SOURCES[source](detection(), tmp_path)
    ds = dl.from_huggingface(given, new_url(), schema=types, progress=False)
    names = [name for name in ds.columns if name != "split"]
    assert names == ["objects.bbox", "objects.category", "objects.area", "objects.tag"]
    assert ds.schema["objects.category"].htype == dl.Sequence(
        dl.ClassLabel(["x", "y"], nullable=True),
        nullable=ds.schema["objects.category"].htype.nullable,
    )
    assert ds["objects.bbox"][0].tolist() == [[0, 0, 2, 1], [1, 1, 2, 3]]
    assert ds["objects.category"][0] == [1, 0]
    exported = ds.to_huggingface()
    assert exported["objects"][:] == OBJECTS
    assert exported.features["objects"].feature["category"] == ClassLabel(names=["x", "y"])
    assert imported(exported).schema["objects.bbox"].htype == ds.schema["objects.bbox"].htype


def test_selected_fields_of_a_struct_are_exported():
    ds = imported(detection())
    view = ds.select(("objects.category",))
    assert view.to_huggingface()["objects"][:] == [[{"category": 1}, {"category": 0}], []]
    plain = ds.select(("objects.area",)).to_huggingface()  # alone, it would be JSON
    assert plain["objects.area"][:] == [[2, 9], []]


def test_new_classes_are_exported():
    ds = imported(detection())
    ds.append({name: [ds[name][0]] for name in ds.columns if name != "objects.category"}
              | {"objects.category": [["x", "y"]]})  # fmt: skip
    exported = ds.to_huggingface()
    assert exported["objects"][2][1]["category"] == 1


def test_edited_lists_of_other_lengths_are_reported(tmp_path):
    ds = imported(detection())
    ds["objects.area"][0] = [1]
    with pytest.warns(ExportWarning, match="'objects' with the lake's type.*lengths"):
        exported = ds.to_huggingface()
    assert exported["objects.area"][:] == [[1], []]
    assert exported["objects.tag"][:] == [["a", None], []]
    with pytest.warns(ExportWarning, match="to_parquet writes 'objects'"):
        folder = ds.to_parquet(tmp_path / "hub")
    assert imported(folder).columns == ds.columns


@pytest.mark.parametrize(
    ("kind", "value", "feature"),
    [
        ("time64 us", np.timedelta64(25, "h"), Value("duration[us]")),
        ("decimal", 0.123, Value("float64")),
        ("wide decimal", 1e48, Value("float64")),
        ("translation", {"en": 3}, Json()),
        ("null", "x", Value("string")),
    ],
)
def test_edited_cells_that_do_not_fit_are_reported(kind, value, feature):
    if kind == "null":
        original = Dataset.from_dict({kind: [None]}, features=Features({kind: Value("null")}))
    else:
        original = dataset_of("column", [kind])
    ds = imported(original)
    ds[kind][0] = value
    with pytest.warns(ExportWarning, match=f"to_huggingface writes '{kind}' with the lake's type"):
        exported = ds.to_huggingface()
    assert exported.features[kind] == feature


RECORDED = {
    "boxes": (dl.Boxes("xyxy"), [[[0, 0, 2, 1]], []]),
    "points": (dl.Keypoints(["nose", "tail"], dims=2), [[[[1, 2], [3, 4]]], []]),
    "outlines": (dl.Polygons(), [[[[0, 0], [4, 0], [0, 3]]], []]),
    "mask": (dl.Mask(names=["sky", "sea"]), [np.eye(2, dtype="uint8")] * 2),
    "objects": (dl.Mask("instance"), [np.zeros((0, 2, 3), bool), np.ones((1, 2, 3), bool)]),
    "embedding": (dl.Embedding(3), [[1, 2, 3], [4, 5, 6]]),
    "pixels": (dl.Image("zstd", dtype="uint16"), [np.full((2, 3), 9, "uint16")] * 2),
    "tags": (dl.ClassLabel(["a", "b"], multiple=True), [["a", "b"], []]),
    "number": (dl.ClassLabel(), [3, 0]),
    "months": (dl.Scalar("timedelta64[M]"), ["5 M", "-1 M"]),
    "hours": (dl.Scalar("datetime64[h]"), ["2026-01-02T03", "1960-01-02T03"]),
    "wave": (dl.Scalar("complex64"), [1 + 2j, 3]),
    "any": (dl.Array("float32", (None, None)), [[[1, 2]], np.zeros((0, 5))]),
    "counts": (dl.Sequence(dl.Scalar("int8", nullable=True)), [[1, None], []]),
    "link": (dl.Link("image"), ["a.png", "b.png"]),
}  # fmt: skip
"""Types that features lack."""

REWRITES = {
    "map": lambda dataset, _: dataset.map(lambda row: {"new": len(row)}, keep_in_memory=True),
    "map of all columns": lambda dataset, _: dataset.map(lambda row: row, keep_in_memory=True),
    "save_to_disk": saved,
    "to_parquet": one_file,
    "hub": lambda dataset, folder: hub(dataset, folder),
    "stream": lambda dataset, _: dataset.to_iterable_dataset().map(lambda row: row,
                                                                   features=dataset.features),
}  # fmt: skip


def hub(dataset, folder):
    """Return what is read from the hub: files, and a card with the features."""
    files(dataset, folder)
    card = datasets.info.DatasetInfosDict({"default": dataset.info})
    data = DatasetCardData()
    card.to_dataset_card_data(data)
    (folder / "README.md").write_text(f"---\n{data.to_yaml()}\n---\n")
    return datasets.load_dataset(str(folder), cache_dir=str(folder / "cache"))["train"]


def lake_of(types):
    ds = dl.create(new_url(), {name: htype for name, (htype, _) in types.items()})
    ds.append({name: values for name, (_, values) in types.items()})
    ds.commit("filled")
    return ds


@pytest.mark.parametrize("rewrite", REWRITES)
def test_types_that_features_lack_survive_rewrites(rewrite, tmp_path):
    ds = lake_of(RECORDED)
    dataset = datasets.Dataset(ds.to_huggingface().data)  # with its features only
    dataset.info.features = ds.to_huggingface().features
    new = imported(REWRITES[rewrite](dataset, tmp_path))
    wrong = {
        name: new.schema[name].htype
        for name in RECORDED
        if new.schema[name].htype.bare != ds.schema[name].htype.bare
    }
    assert not wrong
    assert [
        name for name in RECORDED
        if new.handle.table.digests(new.schema[name].id, np.arange(2)).tolist()
        != ds.handle.table.digests(ds.schema[name].id, np.arange(2)).tolist()
    ] == []  # fmt: skip


def test_changed_features_win_over_recorded_types():
    exported = lake_of({"embedding": RECORDED["embedding"]}).to_huggingface()
    changed = exported.cast_column("embedding", List(Value("float64", id=None), length=3))
    assert imported(changed).schema["embedding"].htype == dl.Array("float64", (3,))
    note = Value("float32", id='deeplake_lite:{"htype": "nothing"}')
    strange = exported.cast_column("embedding", List(note, length=3))
    assert imported(strange).schema["embedding"].htype == dl.Array("float32", (3,))


FAR = [10**15, -(10**15), 0]


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_times_far_from_now_are_kept(unit, zone, tmp_path):
    times = pa.array(FAR).cast(pa.timestamp(unit, zone))
    features = Features({"x": Value(f"timestamp[{unit}{', tz=UTC' if zone else ''}]")})
    dataset = Dataset(pa.table({"x": times}), info=datasets.DatasetInfo(features=features))
    ds = imported(dataset)
    assert ds["x"][:].astype(np.int64).tolist() == FAR
    assert ds.to_huggingface().data["x"].chunk(0).equals(times)
    assert imported(ds.to_parquet(tmp_path / "hub"))["x"][:].astype(np.int64).tolist() == FAR


def test_times_that_parquet_cannot_hold_are_our_error(tmp_path):
    ds = dl.create(new_url(), {"x": "datetime64[s]", "day": "datetime64[D]"})
    ds.append({"x": np.array([2**62], "datetime64[s]"), "day": np.array([2**33], "datetime64[D]")})
    for export in (ds.to_huggingface, lambda: ds.to_parquet(tmp_path / "hub")):
        with pytest.raises(InvalidValueError, match="column 'x': Times in seconds must be"):
            export()
    with pytest.warns(ExportWarning, match="years up to 5,881,580"):
        exported = ds.select(("day",)).to_huggingface()
    assert exported.features["day"] == Value("timestamp[s]")


def test_days_are_dates():
    ds = lake_of({"day": (dl.Scalar("datetime64[D]"), ["2026-01-02", "0001-01-01"])})
    exported = ds.to_huggingface()
    assert exported.features["day"] == Value("date32")
    assert exported["day"][:] == [dt.date(2026, 1, 2), dt.date(1, 1, 1)]


@pytest.mark.parametrize("source", ["object", "save_to_disk", "file"])
def test_nulls_in_lists_are_kept(source, tmp_path):
    features = Features({
        "f": List(Value("float32")), "i": List(List(Value("int8"))),
        "t": List(Value("timestamp[us]")), "full": List(Value("int8")),
    })  # fmt: skip
    rows = [{"f": [1, None], "i": [[1, None]], "t": [None], "full": [1]},
            {"f": [], "i": [], "t": [], "full": []}]  # fmt: skip
    original = Dataset.from_list(rows, features=features)
    ds = imported(SOURCES[source](original, tmp_path))
    assert ds.schema["f"].htype.bare == dl.Sequence(dl.Scalar("float32", nullable=True))
    assert ds.schema["full"].htype.bare == dl.Array("int8", (None,))
    check_same(ds.to_huggingface(), original)


def test_views_of_strings_become_strings():
    table = pa.table({"x": pa.array(["a"], pa.string_view())})
    features = Features({"x": Value("string_view")})
    dataset = Dataset(table, info=datasets.DatasetInfo(features=features))
    assert imported(dataset).to_huggingface()["x"][:] == ["a"]


def test_decimals_that_floats_round_are_an_error():
    number = pa.array([Decimal("0.10000000000000001")], pa.decimal128(20, 17))
    features = Features({"x": Value("decimal128(20, 17)")})
    dataset = Dataset(pa.table({"x": number}), info=datasets.DatasetInfo(features=features))
    with pytest.raises(SchemaError, match="which float64 rounds"):
        imported(dataset)
