"""Matching a lake's classes with a source's names, numbers, and names that look like numbers."""

import shutil
from decimal import Decimal
from importlib import import_module

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deeplake_lite as dl

from .conftest import fill


def names_of(ds, column="label"):
    """Return the class name of each row."""
    return ds[column].htype.to_names(np.ma.filled(ds[column][:]).tolist())


class Csv:
    """Takes labels from a CSV file with a key."""

    def __init__(self, folder, url):
        self.folder, self.url = folder, url

    def take(self, labels, **options):
        rows = "".join(f"im{i}.png,{label}\n" for i, label in enumerate(labels))
        path = self.folder / "l.csv"
        path.write_text(f"file,label\n{rows}")
        return dl.from_csv(path, self.url, on="file", progress=False, **options)


class Table(Csv):
    """Takes labels from a table of images."""

    def take(self, labels, **options):
        fill(self.folder, [f"im{i}.png" for i in range(len(labels))])
        rows = "".join(f"im{i}.png,{label}\n" for i, label in enumerate(labels))
        (self.folder / "l.csv").write_text(f"file,label\n{rows}")
        options = {"labels": "l.csv", "progress": False, **options}
        return dl.from_folder(self.folder, self.url, **options)


WRITTEN = {"csv": Csv, "table": Table}
FIRST = [
    ["1", "2", "unsure"],
    ["2", "1", "unsure"],
    ["5", "3", "x"],
    ["true", "false", "maybe"],
    ["1.5", "2.5", "none of them"],
    ["2020-01-01", "2021-01-01", "later"],
]


@pytest.fixture(params=WRITTEN.values(), ids=WRITTEN)
def written(request, tmp_path, url):
    folder = tmp_path / "pictures"
    folder.mkdir()
    return request.param(folder, url)


@pytest.mark.parametrize("labels", FIRST, ids=lambda labels: labels[0])
@pytest.mark.parametrize(
    "again", [{}, {"schema": {"label": "class_label"}}], ids=["as is", "asked"]
)
def test_numeric_labels_stay_names_when_the_other_labels_are_gone(written, labels, again):
    written.take(labels, schema={"label": "class_label"})
    ds = written.take(labels[:2], **again)
    assert names_of(ds)[:2] == labels[:2]
    assert ds.ingested.changed == 0
    assert ds["label"].names == tuple(sorted(labels))


def test_table_of_digits_keeps_class_names(tmp_path, url):
    folder = tmp_path / "pictures"
    Table(folder, url).take(["1", "2", "unsure"])
    assert names_of(Table(folder, url).take(["1", "2"]))[:2] == ["1", "2"]
    assert names_of(Table(folder, url).take(["2", "1", "4"])) == ["2", "1", "4"]


def test_classes_declared_with_numeric_names_are_named(written):
    declared = {"label": dl.ClassLabel(["1", "2", "3"])}
    assert names_of(written.take(["1", "3"], schema=declared)) == ["1", "3"]
    ds = written.take(["1", "3"])
    assert (names_of(ds), ds.ingested.changed) == (["1", "3"], 0)
    assert names_of(written.take(["2", "3"], schema=declared)) == ["2", "3"]


def test_numbers_are_class_numbers_if_no_class_has_a_numeric_name(written):
    declared = {"label": dl.ClassLabel(["cat", "dog"])}
    assert names_of(written.take(["cat", "dog"], schema=declared)) == ["cat", "dog"]
    assert names_of(written.take(["1", "0"])) == ["dog", "cat"]
    assert names_of(written.take(["0", "1"], schema=declared)) == ["cat", "dog"]


def test_number_that_is_not_a_class_name_is_refused_next_to_some_that_are(tmp_path, url):
    source = Csv(tmp_path, url)
    source.take(["1", "2"], schema={"label": dl.ClassLabel(["1", "2"])})
    with pytest.raises(dl.InvalidValueError, match="must be one of 2 classes, but it is '0'"):
        source.take(["0", "1"])


def test_folders_of_digits_and_a_table_mean_the_same_classes(tmp_path, url):
    folder = fill(tmp_path / "pictures", ["3/a.png", "5/b.png"])
    dl.from_folder(folder, url)
    (folder / "l.csv").write_text("file,label\na.png,3\nb.png,5\n")
    ds = dl.from_folder(folder, url, labels="l.csv", progress=False)
    assert (names_of(ds), ds.ingested.changed) == (["3", "5"], 0)


def ambiguous(numbers, tmp_path):
    """Yield the ways to read numbers from typed sources, by the name of the source."""
    keys = [str(i) for i in range(len(numbers))]
    arrow = pa.table({"k": keys, "label": numbers})
    pq.write_table(arrow, tmp_path / "rows.parquet")
    frame = pd.DataFrame({"k": keys, "label": numbers})
    categories = frame.astype({"label": "category"})
    nullable = frame.astype({"label": "Int64"})
    yield lambda url, **o: dl.from_parquet(tmp_path / "rows.parquet", url, on="k", **o)
    for table in (frame, categories, nullable, arrow):
        yield lambda url, table=table, **o: dl.from_dataframe(table, url, on="k", **o)
    for values in (numbers, np.array(numbers), np.array(numbers, object)):
        rows = {"k": keys, "label": values}
        yield lambda url, rows=rows, **o: dl.from_arrays(rows, url, on="k", **o)


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_numbers_from_typed_sources_with_different_classes_are_refused(tmp_path, url, on_error):
    dl.create(url, {"k": "text", "label": dl.ClassLabel(["1", "2"])})
    for take in ambiguous([0, 1], tmp_path):
        with pytest.raises(
            dl.InvalidValueError,
            match="1 is ambiguous: it could mean class number 1 or the class named",
        ):
            take(url, on_error=on_error)
    assert len(dl.open(url)) == 0


@pytest.mark.parametrize("names", [["0", "1"], ["cat", "dog"], ["7", "8"]])
def test_unambiguous_numbers_from_typed_sources_are_class_numbers(tmp_path, names):
    for i, take in enumerate(ambiguous([1, 0], tmp_path)):
        url = str(tmp_path / f"{i}.lake")
        dl.create(url, {"k": "text", "label": dl.ClassLabel(names)})
        assert names_of(take(url)) == names[::-1]


def test_lake_column_matches_its_classes_by_name(tmp_path, url):
    ds = dl.create(url, {"k": "text", "label": dl.ClassLabel(["2", "1"])})
    ds.append({"k": ["a", "b"], "label": ["1", "2"]})
    ds.commit("both")
    for i, take in enumerate((ds.to_arrow(), ds.to_pandas())):
        other = dl.create(str(tmp_path / f"{i}.lake"), {"k": "text", "label": ds["label"].htype})
        assert names_of(dl.from_dataframe(take, other.url, on="k")) == ["1", "2"]
    rows = {"k": ds["k"], "label": ds["label"]}
    assert names_of(dl.from_arrays(rows, str(tmp_path / "c.lake"), on="k")) == ["1", "2"]


@pytest.mark.parametrize("key", [True, False])
def test_numeric_strings_of_a_lake_stay_strings(tmp_path, url, key):
    path, options = tmp_path / "a.csv", {"on": "k"} if key else {}
    for values in (["01", "b"], ["1", "2"], ["1.50", "2"], ["true", "false"]):
        path.write_text(f"k,x\n{values[0]},1\n{values[1]},2\n")
        ds = dl.from_csv(path, url, progress=False, **options)
        assert set(values) <= set(ds["k"][:])


# ---- a requested type, again and again


def take_frame(frame, way, folder, url, **options):
    """Read a frame's labels in one of several ways."""
    labels = frame["label"].tolist()
    if way in ("csv", "table"):
        return WRITTEN[way](folder, url).take(labels, **options)
    if way == "folders":
        shutil.rmtree(folder)
        fill(folder, [f"{label}/im{i}.png" for i, label in enumerate(labels)])
        return dl.from_folder(folder, url, progress=False, **options)
    options = {"on": "k", "progress": False, **options}
    if way == "arrays":
        return dl.from_arrays({"k": frame["k"].tolist(), "label": labels}, url, **options)
    if way == "parquet":
        frame.to_parquet(folder / "rows.parquet")
        return dl.from_parquet(folder / "rows.parquet", url, **options)
    frame = frame.astype({"label": "category"}) if way == "categories" else frame
    return dl.from_dataframe(frame, url, **options)


WAYS = ["csv", "frame", "categories", "arrays", "parquet", "table", "folders"]
STEPS = {
    "grows": (["cat dog", "cat dog ant", "cat dog ant"], ["cat", "dog", "ant"]),
    "shrinks": (["ant cat dog", "ant cat", "dog cat"], ["ant", "cat", "dog"]),
    "both": (["cat dog", "cat dog ant", "cat ant", "bee ant"], ["cat", "dog", "ant", "bee"]),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("steps", STEPS)
def test_requested_classes_without_names_are_those_of_the_lake(tmp_path, url, way, steps):
    folder = tmp_path / "pictures"
    folder.mkdir()
    sources, names = STEPS[steps]
    for labels in map(str.split, sources):
        frame = pd.DataFrame({"k": [str(i) for i in range(len(labels))], "label": labels})
        ds = take_frame(frame, way, folder, url, schema={"label": "class_label"})
        key = ds["path"][:] if "path" in ds.columns else ds[0:].to_arrow()[0].to_pylist()
        result = dict(zip(key, names_of(ds), strict=True))
        own = {"folders": "{}/im{}.png", "csv": "im{1}.png", "table": "im{1}.png"}.get(way, "{1}")
        assert {
            own.format(label, i): label for i, label in enumerate(labels)
        }.items() <= result.items()
    assert list(ds["label"].names) == names


def test_nullability_and_defaults_do_not_change_the_type(url):
    rows, types = {"k": ["a"], "x": [1]}, {"k": "text", "x": "int32"}
    ds = dl.from_arrays(rows, url, on="k", schema=types)
    ds.set_nullable("x")
    ds.set_default("x", 7)
    ds.commit("nulls")
    ds = dl.from_arrays({"k": ["a", "b"], "x": [1, 2]}, url, on="k", schema=types)
    assert ds["x"].htype == dl.Scalar("int32", nullable=True, default=7)
    assert ds["x"][:].tolist() == [1, 2]


def test_different_type_or_class_order_is_refused(url):
    rows = {"k": ["a"], "x": [1], "label": ["cat"], "words": ["cat"]}
    labels = dl.ClassLabel(["cat", "dog"])
    ds = dl.from_arrays(rows, url, on="k", schema={"x": "int32", "label": labels})
    ds.add_classes("label", ["ant"])
    ds.commit("a class more")
    for types in (
        {"x": "int64"},
        {"label": dl.ClassLabel(["dog", "cat"])},
        {"label": dl.ClassLabel(["cat"], multiple=True)},
        {"words": "class_label"},
    ):
        with pytest.raises(dl.SchemaError, match=r"the type .*, not .*\. Leave .* out of"):
            dl.from_arrays(rows, url, on="k", schema=types)
    assert len(dl.from_arrays(rows, url, on="k", schema={"label": labels})) == 1


# ---- numbers in any container, in columns and in lists of classes


class Wrapped:
    """Values that convert themselves to NumPy."""

    def __init__(self, values):
        self.values = values

    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype)


def objects(values):
    array = np.empty(len(values), object)
    array[:] = values
    return array


def tensor(values):
    return import_module("torch").tensor(values)


ONE = {
    "int": 1,
    "float": 1.0,
    "truth": True,
    "NumPy's int": np.int8(1),
    "NumPy's truth": np.True_,
    "Decimal": Decimal(1),
    "array": np.array(1),
    "tensor": lambda: tensor(1),
    "wrapped": Wrapped(1),
}
KINDS = {
    "one": (dl.ClassLabel, lambda one: one),
    "several": (lambda names: dl.ClassLabel(names, multiple=True), lambda one: [one]),
    "a sequence": (lambda names: dl.Sequence(dl.ClassLabel(names)), lambda one: [one]),
    "sequences": (
        lambda names: dl.Sequence(dl.Sequence(dl.ClassLabel(names))),
        lambda one: [[], [one]],
    ),
    "a sequence of several": (
        lambda names: dl.Sequence(dl.ClassLabel(names, multiple=True)),
        lambda one: [[one]],
    ),
}


@pytest.mark.parametrize("one", ONE.values(), ids=ONE)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("column", [list, objects, pd.Series])
def test_number_that_names_another_class_is_refused_in_any_form(url, one, kind, column):
    make, wrap = KINDS[kind]
    value = wrap(one() if callable(one) and not isinstance(one, Wrapped) else one)
    htype = make(["cat", "dog", "1"])
    dl.create(url, {"x": htype})
    take, rows = dl.from_arrays, {"x": column([value])}
    if column is pd.Series:
        take, rows = dl.from_dataframe, pd.DataFrame({"x": pd.Series([value], dtype=object)})
    with pytest.raises(
        dl.InvalidValueError,
        match="1 is ambiguous: it could mean class number 1 or the class named",
    ):
        take(rows, url, schema={"x": htype})


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "float32"])
@pytest.mark.parametrize("kind", ["one", "several", "a sequence"])
@pytest.mark.parametrize("torch", [False, True])
def test_arrays_of_numbers_that_name_other_classes_are_refused(url, dtype, kind, torch):
    make, wrap = KINDS[kind]
    value = np.array([wrap(1)], dtype)
    if torch:
        value = tensor(value.astype("int64") if dtype == "uint64" else value)
    dl.create(url, {"x": make(["cat", "dog", "1"])})
    with pytest.raises(
        dl.InvalidValueError,
        match="1 is ambiguous: it could mean class number 1 or the class named",
    ):
        dl.from_arrays({"x": value}, url, schema={"x": make(["cat", "dog", "1"])})


@pytest.mark.parametrize("kind", ["several", "a sequence"])
def test_lists_of_numbers_in_tables_that_name_other_classes_are_refused(tmp_path, url, kind):
    make, wrap = KINDS[kind]
    dl.create(url, {"x": make(["cat", "dog", "1"])})
    table = pa.table({"x": [wrap(1)]})
    pq.write_table(table, tmp_path / "a.parquet")
    (tmp_path / "a.csv").write_text('x\n"[1]"\n')
    takes = [
        lambda: dl.from_dataframe(table, url),
        lambda: dl.from_parquet(tmp_path / "a.parquet", url),
        lambda: dl.from_csv(tmp_path / "a.csv", url),
    ]
    for take in takes:
        with pytest.raises(
            dl.InvalidValueError, match="1 is ambiguous: it could mean class number 1 or the class"
        ):
            take()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("names", [["cat", "dog"], ["0", "1"], ["cat", "dog", "7"]])
def test_numbers_that_name_no_other_class_are_accepted_in_any_form(url, kind, names):
    make, wrap = KINDS[kind]
    htype = make(names)
    dl.create(url, {"x": htype})
    rows = [wrap(np.array(1)), wrap(np.int64(1)), wrap(1)]
    ds = dl.from_arrays({"x": rows}, url, schema={"x": htype})
    assert len(ds) == 3


@pytest.mark.parametrize(
    "name", ["1", "-1", "+1", "01", " 1", "1 ", "-0", "1.0", "\uff11", "\u00b2", "1e0"]
)
def test_class_with_a_numeric_name_is_read_by_name(written, name):
    written.take(["cat"], schema={"label": dl.ClassLabel(["cat", "dog", "x", name])})
    assert names_of(written.take([name, name])) == [name, name]


@pytest.mark.parametrize("there", ["class_label", "int64", "float64", "uint8"])
@pytest.mark.parametrize("words", [["true", "false"], ["TRUE", "True"], ["false", "false"]])
@pytest.mark.parametrize("way", ["folder", "csv", "csv with a key", "large csv"])
def test_words_for_booleans_are_not_numbers(photos, url, there, words, way, monkeypatch):
    if way == "large csv":
        monkeypatch.setattr(import_module("deeplake_lite.ingest.tables.csv_file"), "AT_ONCE", 0)
    folder = photos("a.png", "b.png")
    table = folder / "t.csv"

    def take(labels):
        table.write_text(f"file,label\na.png,{labels[0]}\nb.png,{labels[1]}\n")
        if way == "folder":
            return dl.from_folder(folder, url, labels=table, progress=False)
        key = {"on": "file"} if way == "csv with a key" else {}
        return dl.from_csv(table, url, progress=False, **key)

    schema = {"image": "image", "path": "text"} if way == "folder" else {"file": "text"}
    dl.create(url, {**schema, "label": dl.ClassLabel() if there == "class_label" else there})
    before = take(["3", "0"])["label"][:].tolist()
    with pytest.raises(dl.InvalidValueError, match=f"but it is .*'{words[0]}'"):
        take(words)
    assert dl.open(url)["label"][:].tolist() == before


def test_words_for_booleans_are_booleans_if_the_lake_has_a_boolean_column(photos, url):
    folder = photos("a.png", "b.png")
    for words in (["true", "false"], ["false", "true"]):
        (folder / "t.csv").write_text(f"file,label\na.png,{words[0]}\nb.png,{words[1]}\n")
        ds = dl.from_folder(folder, url, labels="t.csv", progress=False)
        assert ds["label"][:].tolist() == [word == "true" for word in words]
