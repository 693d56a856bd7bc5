"""Arrow and Parquet strings that are not UTF-8 are refused with their row, and can be skipped."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import deeplake_lite as dl

TEXTS = pa.array([b"ok", b"caf\xe9", b"fine"]).view(pa.string())  # Latin-1
ENDS = pa.array([0, 1, 2, 3], pa.int32())
KEYS = pa.array(["a", "a", "a"])

KINDS = {
    "plain": (TEXTS, ["ok", "fine"]),
    "large": (
        TEXTS.cast(pa.binary()).cast(pa.large_binary()).view(pa.large_string()),
        ["ok", "fine"],
    ),
    "dictionary": (pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), TEXTS), ["ok", "fine"]),
    "list": (pa.ListArray.from_arrays(ENDS, TEXTS), [["ok"], ["fine"]]),
    "struct": (pa.StructArray.from_arrays([TEXTS], ["a"]), [{"a": "ok"}, {"a": "fine"}]),
    "map": (pa.MapArray.from_arrays(ENDS, KEYS, TEXTS), [{"a": "ok"}, {"a": "fine"}]),
    "keys of a map": (pa.MapArray.from_arrays(ENDS, TEXTS, KEYS), [{"ok": "a"}, {"fine": "a"}]),
}
NOT_UTF8 = "byte 0xe9 at position 3 is not|surrogates not allowed"


def frame(table, tmp_path, **options):
    return dl.from_dataframe(table, str(tmp_path / "x.lake"), **options)


def parquet(table, tmp_path, **options):
    pq.write_table(table, tmp_path / "x.parquet")
    return dl.from_parquet(tmp_path / "x.parquet", str(tmp_path / "x.lake"), **options)


def values(ds):
    label = isinstance(ds["x"].htype, dl.ClassLabel)
    return [ds["x"].names[v] if label else v for v in ds["x"][:]]


PAIRS = [  # Arrow cannot read files with such a dictionary
    (kind, way)
    for kind in KINDS
    for way in (frame, parquet)
    if (kind, way) != ("dictionary", parquet)
]


@pytest.mark.parametrize("key", [None, "k"])
@pytest.mark.parametrize(("kind", "way"), PAIRS)
def test_invalid_row_is_named_and_can_be_skipped(kind, way, key, tmp_path):
    column, rest = KINDS[kind]
    table = pa.table({"x": column, "k": [1, 2, 3]})

    with pytest.raises(dl.InvalidValueError, match=rf"'x': .*row 1: .*({NOT_UTF8})"):
        way(table, tmp_path, on=key)
    ds = way(table, tmp_path, on=key, on_error="skip")

    assert values(ds) == rest
    assert "row 1" in str(ds.ingested.skipped[0])


@pytest.mark.parametrize("way", [frame, parquet])
def test_invalid_string_is_refused_as_a_key(way, tmp_path):
    table = pa.table({"x": TEXTS})
    with pytest.raises(dl.InvalidValueError, match=f"row 1: .*({NOT_UTF8})"):
        way(table, tmp_path, on="x")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "htype",
    ["text", "class_label", "json", "bytes", "int64", dl.Image("png"), dl.Sequence("text")],
    ids=str,
)
def test_no_type_accepts_an_invalid_string(kind, htype):
    ds = dl.create("memory://no-text", {"x": htype}, overwrite=True)
    rows = pa.table({"x": KINDS[kind][0]}).slice(1)
    with pytest.raises(dl.InvalidValueError, match="row 0"):
        ds.append(rows)
    assert len(ds) == 0


def test_classes_of_a_table_are_its_valid_strings(tmp_path):
    table = pa.table({"x": TEXTS})
    ds = frame(table, tmp_path, schema={"x": "class_label"}, on_error="skip")
    assert (ds["x"].names, list(ds["x"][:])) == (("fine", "ok"), [1, 0])


def test_struct_with_duplicate_field_names_is_refused(tmp_path):
    twice = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    for schema in ({}, {"x": "text"}, {"x": "json"}):
        with pytest.raises(dl.LakeError, match="names of a struct must be unique"):
            frame(pa.table({"x": twice}), tmp_path, schema=schema)


@pytest.mark.parametrize("view", [pa.string_view(), pa.binary_view()])
@pytest.mark.parametrize("within", ["dictionary", "run ends", "list of a dictionary"])
def test_string_views_are_read_inside_dictionaries_and_lists(view, within, tmp_path):
    items = pa.array([b"a", b"b", None]).cast(pa.string()).cast(view)
    column = {
        "dictionary": lambda: pa.DictionaryArray.from_arrays(pa.array([1, 0, 1]), items),
        "run ends": lambda: pa.RunEndEncodedArray.from_arrays(
            pa.array([1, 2, 3], pa.int32()), items
        ),
        "list of a dictionary": lambda: pa.ListArray.from_arrays(
            ENDS, pa.DictionaryArray.from_arrays(pa.array([1, 0, 1]), items)
        ),
    }[within]()
    expected = [column[i].as_py() for i in range(3)]

    ds = frame(pa.table({"x": column}), tmp_path)

    assert np.array(values(ds), object).tolist() == np.array(expected, object).tolist()
