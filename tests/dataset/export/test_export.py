"""Exports: every type, nulls and empty lakes, and reading the export back."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image as Pillow

import deeplake_lite as dl
from deeplake_lite.dataset.export.folder_names import Folders, safe_name
from deeplake_lite.htypes import from_config

from ..everything import SCHEMA, VALUES, lake, png


@pytest.fixture(scope="module")
def full():
    return lake()


@pytest.fixture(scope="module")
def table(full):
    return full.to_arrow()


@pytest.fixture(scope="module")
def frame(full):
    return full.to_pandas()


# ---- Arrow

TYPES = {
    "image": "large_binary",
    "pixels": "struct<data: large_list<item: uint16>, shape: large_list<item: int32>>",
    "mask": "large_binary",
    "objects": "struct<data: large_list<item: bool>, shape: large_list<item: int32>>",
    "label": "dictionary<values=string, indices=int32, ordered=0>",
    "tags": "large_list<item: dictionary<values=string, indices=int32, ordered=0>>",
    "number": "int32",
    "boxes": "large_list<item: fixed_size_list<item: float>[4]>",
    "points": "large_list<item: fixed_size_list<item: fixed_size_list<item: float>[2]>[2]>",
    "outlines": "large_list<item: large_list<item: fixed_size_list<item: float>[2]>>",
    "embedding": "fixed_size_list<item: float>[3]",
    "matrix": "extension<arrow.fixed_shape_tensor[value_type=float, shape=[2,3]]>",
    "flags": "fixed_size_list<item: fixed_size_list<item: bool>[2]>[2]",
    "ragged": "large_list<item: fixed_size_list<item: int16>[2]>",
    "packed": "large_list<item: large_list<item: double>>",
    "x": "int32",
    "n/small": "int8",
    "half": "halffloat",
    "wave": "fixed_size_list<item: float>[2]",
    "ok": "bool",
    "when": "timestamp[ms]",
    "day": "timestamp[s]",
    "age": "int64",
    "text": "large_string",
    "notes": "large_string",
    "blob": "large_binary",
    "link": "large_string",
    "frames": "large_list<item: large_binary>",
    "words": "large_list<item: large_string>",
    "counts": "large_list<item: int32>",
}


@pytest.mark.parametrize("name", TYPES)
def test_every_type_has_an_arrow_type(table, name):
    assert str(table.schema.field(name).type) == TYPES[name]


def test_arrow_table_has_every_column_and_is_valid(table):
    table.validate(full=True)
    assert table.column_names == list(SCHEMA)
    assert table.num_rows == 3


@pytest.mark.parametrize(
    "name",
    [
        "image",
        "label",
        "tags",
        "number",
        "x",
        "n/small",
        "ok",
        "text",
        "blob",
        "link",
        "frames",
        "words",
        "counts",
    ],
)
def test_plain_values_are_exported_unchanged(table, name):
    assert table[name].to_pylist() == VALUES[name]


def test_arrays_are_exported_as_numbers(table, full):
    def numbers(name):
        return [None if v is None else np.array(v) for v in table[name].to_pylist()]

    for name in ("boxes", "points", "ragged", "packed", "embedding", "flags"):
        for got, want in zip(numbers(name), full[name][:], strict=True):
            if got is None:
                assert want is None or np.ma.getmaskarray(want).all()
            else:
                assert got.reshape(np.shape(want)).tolist() == np.asarray(want).tolist()


def test_tensors_round_trip_to_numpy(table, full):
    matrix = table["matrix"].combine_chunks().to_numpy_ndarray()
    assert np.array_equal(matrix, full["matrix"][:])
    assert matrix.dtype == np.float32


def test_pixels_without_a_format_are_exported_with_their_shape(table, full):
    for cell, pixels in zip(table["pixels"].to_pylist(), full["pixels"][:], strict=True):
        assert np.array_equal(np.array(cell["data"]).reshape(cell["shape"]), pixels)


def test_times_and_complex_numbers_are_exported(table):
    assert table["day"].to_numpy().astype("datetime64[D]").astype(str).tolist() == VALUES["day"]
    assert table["when"].null_count == 1
    assert table["age"].to_pylist() == [5, 0, -3]
    assert table["wave"].to_pylist() == [[1, 2], None, [3, 0]]
    half = table["half"].to_pylist()
    assert half[1] is None
    assert np.isnan(half[2])


def test_field_metadata_has_the_type_and_the_column_metadata():
    ds = lake({"x": "int32"}, {"x": [1]})
    ds["x"].metadata["unit"] = "cm"
    ds.metadata["licence"] = "CC-BY"
    schema = ds.to_arrow().schema
    config = json.loads(schema.field("x").metadata[b"deeplake_lite.htype"])
    assert from_config(config) == ds["x"].htype
    assert json.loads(schema.field("x").metadata[b"deeplake_lite.metadata"]) == {"unit": "cm"}
    assert json.loads(schema.metadata[b"deeplake_lite.metadata"]) == {"licence": "CC-BY"}


def test_nullable_columns_are_nullable_fields(table):
    assert {f.name: f.nullable for f in table.schema} == {
        name: lake_type.nullable if isinstance(lake_type, dl.Htype) else False
        for name, lake_type in SCHEMA.items()
    }


def test_exports_can_be_read_back(table, full):
    config = {f.name: json.loads(f.metadata[b"deeplake_lite.htype"]) for f in table.schema}
    lost = ("pixels", "wave", "notes", "age", "objects")  # an empty array of objects has no shape
    names = [n for n in SCHEMA if n not in lost]
    values = {n: table[n].to_pylist() for n in names}
    values["matrix"] = table["matrix"].combine_chunks().to_numpy_ndarray()
    back = lake({n: from_config(config[n]) for n in names}, values)
    for name in names:
        left, right = full[name].field, back[name].field
        a = full.handle.table.digests(left.id, full.rows.live())
        b = back.handle.table.digests(right.id, back.rows.live())
        assert a.tolist() == b.tolist(), name


def test_parquet_round_trips_the_table(table, tmp_path):
    import pyarrow.parquet as pq

    names = [n for n in table.column_names if n != "half"]
    pq.write_table(table.select(names), tmp_path / "t.parquet")
    back = pq.read_table(tmp_path / "t.parquet")
    assert back.schema.field("x").metadata[b"deeplake_lite.htype"]
    assert back.select(["label", "boxes", "text"]).equals(table.select(["label", "boxes", "text"]))


def test_empty_lake_exports_the_same_types(table):
    empty = lake(values={"x": []}).to_arrow()
    assert empty.schema.equals(table.schema, check_metadata=True)
    assert empty.num_rows == 0


def test_views_are_exported_in_their_order(full):
    assert full[[2, 0]][["x", "label"]].to_arrow().to_pylist() == [
        {"x": 3, "label": "rose"},
        {"x": 1, "label": "tulip"},
    ]


def test_blocks_are_joined_into_one_table(monkeypatch):
    monkeypatch.setattr("deeplake_lite.dataset.export.portable.BLOCK_ROWS", 2)
    ds = lake(
        {"label": dl.ClassLabel(["a", "b"]), "t": "text"},
        {"label": [0, 1] * 4, "t": list("abcdefgh")},
    )
    table = ds.to_arrow()
    assert table["label"].num_chunks == 4
    assert table["t"].to_pylist() == list("abcdefgh")
    assert ds.to_pandas()["label"].tolist() == ["a", "b"] * 4


# ---- pandas


def test_scalars_have_native_and_nullable_dtypes(frame):
    dtypes = {name: str(frame[name].dtype) for name in frame}
    expected = {
        "x": "int32",
        "n/small": "Int8",
        "half": "Float32",
        "wave": "object",
        "ok": "boolean",
        "when": "datetime64[ms]",
        "day": "datetime64[s]",
        "age": "int64",
        "text": "string",
        "link": "string",
        "label": "category",
        "number": "int32",
        "embedding": "object",
    }
    assert {name: dtypes[name] for name in expected} == expected


def test_nulls_are_exported_as_missing(frame):
    nullable = [n for n, t in SCHEMA.items() if isinstance(t, dl.Htype) and t.nullable]
    row = [2 if name == "image" else 1 for name in nullable]
    assert all(pd.isna(frame[n][r]) for n, r in zip(nullable, row, strict=True))


def test_classes_are_exported_as_categories_and_names(frame):
    assert frame["label"].cat.categories.tolist() == ["rose", "tulip"]
    assert frame["label"].tolist()[::2] == ["tulip", "rose"]
    assert frame["tags"].tolist() == VALUES["tags"]


def test_ragged_cells_are_exported_as_arrays_and_files_as_bytes(frame, full):
    assert frame["image"][0] == VALUES["image"][0]
    for name in ("boxes", "points", "ragged", "matrix"):
        for got, want in zip(frame[name], full[name][:], strict=True):
            assert (got is None and want is None) or np.array_equal(got, want)
    assert frame["notes"][0] == {"a": [1, None]}
    assert frame["frames"].tolist() == VALUES["frames"]
    assert frame["link"][2] == "/etc/passwd"


def test_empty_frame_has_the_same_dtypes(frame):
    empty = lake(values={"x": []}).to_pandas()
    assert empty.dtypes.equals(frame.dtypes)
    assert empty.shape == (0, len(SCHEMA))


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            st.none() | st.integers(-(2**63), 2**63 - 1),
            st.none() | st.floats(width=32),
            st.none() | st.text(st.characters(codec="utf-8")),
        ),
        max_size=20,
    )
)
def test_pandas_and_arrow_agree_with_python(rows):
    schema = {
        "i": dl.Scalar("int64", nullable=True),
        "f": dl.Scalar("float32", nullable=True),
        "t": dl.Text(nullable=True),
    }
    columns = {name: [row[k] for row in rows] for k, name in enumerate(schema)}
    ds = lake(schema, columns)
    frame, table = ds.to_pandas(), ds.to_arrow()
    for name in ("i", "t"):
        assert [None if v is pd.NA else v for v in frame[name].tolist()] == columns[name]
        assert table[name].to_pylist() == columns[name]
    got = table["f"].to_pylist()
    assert [v is None for v in got] == [v is None for v in columns["f"]]
    assert np.array_equal(
        [v for v in got if v is not None],
        [v for v in columns["f"] if v is not None],
        equal_nan=True,
    )


def test_invalid_utf_8_is_reported_as_damage():
    from deeplake_lite.dataset.arrow.cells import array_of
    from deeplake_lite.htypes.cells import RaggedCells

    cells = RaggedCells([b"\xff"], np.empty((1, 0), np.int32))
    with pytest.raises(dl.DamagedError, match="UTF-8"):
        array_of(dl.Text(), cells)


# ---- folders


def flowers(labels, names=("rose", "tulip"), **more):
    schema = {
        "image": "image",
        "label": dl.ClassLabel(names, nullable=True),
        **more.pop("schema", {}),
    }
    pictures = [png((2, i + 1), i) for i in range(len(labels))]
    return lake(schema, {"image": pictures, "label": labels, **more})


def read_csv(root):
    with (root / "metadata.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_images_are_exported_unchanged_into_one_folder_per_class(tmp_path):
    ds = flowers(["tulip", "rose", "tulip"])
    root = ds.to_folder(tmp_path / "new" / "out")
    assert [line["file_name"] for line in read_csv(root)] == [
        "tulip/000000.png",
        "rose/000001.png",
        "tulip/000002.png",
    ]
    assert (root / "tulip/000002.png").read_bytes() == png((2, 3), 2)


def test_table_has_scalars_strings_and_classes(tmp_path):
    schema = {
        "x": dl.Scalar("float32", nullable=True),
        "t": dl.Text(nullable=True),
        "when": "datetime64[s]",
        "tags": dl.ClassLabel(["a", "b"], multiple=True),
        "boxes": dl.Boxes(),
        "j": "json",
    }
    hostile = 'a,"b"\r\n=1+1\0'
    ds = flowers(
        ["rose", None],
        schema=schema,
        x=[0.1, None],
        t=[hostile, ""],
        when=["2026-01-02", "2026-01-03"],
        tags=[["b"], []],
        boxes=[[], []],
        j=[{"k": None}, [1]],
    )
    first, second = read_csv(ds.to_folder(tmp_path / "out"))
    assert first == {
        "file_name": "rose/000000.png",
        "label": "rose",
        "x": "0.1",
        "t": hostile,
        "when": "2026-01-02T00:00:00",
        "tags": '["b"]',
        "boxes": "[]",
        "j": '{"k": null}',
    }
    assert (second["file_name"], second["label"], second["x"]) == ("000001.png", "", "")


def test_hostile_class_names_stay_inside_the_folder(tmp_path):
    names = [
        "../../evil",
        "/etc",
        "..",
        "a\\b",
        "CON",
        "Rose",
        "rose",
        "x" * 300,
        "unlabelled",
        ".",
    ]
    root = flowers([*names, None], names).to_folder(tmp_path / "a" / "out")
    folders = [path for path in root.rglob("*") if path.is_dir()]
    assert all(path.resolve().is_relative_to(root.resolve()) for path in folders)
    assert len({path.name.casefold() for path in folders}) == len(names)
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == ["out"]
    assert all((root / line["file_name"]).is_file() for line in read_csv(root))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=130) | st.text("a.\xa0 _é", max_size=130))
def test_every_name_becomes_one_harmless_folder(name):
    safe = safe_name(name)
    assert safe
    assert not {"/", "\\", "\0", ":"} & set(safe)
    assert not safe.startswith(".")
    assert not safe.endswith((".", " "))
    assert len(safe.encode()) <= 100
    assert safe_name(safe) == safe


def test_different_values_never_share_a_folder(tmp_path):
    folders = Folders(tmp_path, ["metadata.csv"])
    names = ["a/b", "a:b", "a_b", "A_B", "metadata.csv", "", None]
    assert len({folders.of(name) for name in names}) == len(names)
    assert folders.of("a:b") == folders.of("a:b")


def test_null_image_has_a_row_but_no_file(tmp_path):
    ds = lake({"image": dl.Image(nullable=True)}, {"image": [None, png((2, 2))]})
    root = ds.to_folder(tmp_path / "out")
    assert [line["file_name"] for line in read_csv(root)] == ["", "000001.png"]


def test_pixels_and_bytes_are_exported_as_files(tmp_path):
    ds = lake(
        {"p": dl.Image("zstd"), "b": dl.Bytes()}, {"p": [np.eye(3, dtype=np.uint8)], "b": [b"\0"]}
    )
    assert (ds.to_folder(tmp_path / "p") / "000000.png").is_file()
    assert (ds.to_folder(tmp_path / "b", image="b") / "000000.bin").read_bytes() == b"\0"


def test_non_empty_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("mine")
    ds = flowers(["rose"])
    for path in (tmp_path, tmp_path / "file"):
        with pytest.raises(dl.ExistsError, match="new or empty"):
            ds.to_folder(path)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_columns_must_be_named_when_ambiguous(full, tmp_path):
    with pytest.raises(dl.SchemaError, match=r"image='…': 'image', 'pixels'"):
        full.to_folder(tmp_path / "out")
    with pytest.raises(dl.SchemaError, match="label='…': 'label', 'number'"):
        full.to_folder(tmp_path / "out", image="image")
    with pytest.raises(dl.SchemaError, match=r"Boxes\(nullable=True\) holds no files"):
        full.to_folder(tmp_path / "out", image="boxes")
    with pytest.raises(dl.SchemaError, match="does not name one folder per row"):
        full.to_folder(tmp_path / "out", image="image", label="tags")
    with pytest.raises(dl.ColumnNotFoundError, match="imag"):
        full.to_folder(tmp_path / "out", image="imag")
    assert not (tmp_path / "out").exists()
    with pytest.warns(dl.ExportWarning, match="the nulls of 'text' as empty cells"):
        root = full.to_folder(tmp_path / "out", image="image", label="x")
    assert sorted(p.name for p in root.iterdir()) == ["-2", "1", "3", "_columns", "metadata.csv"]


@pytest.mark.filterwarnings("ignore:to_folder writes the nulls of 'text':UserWarning")
def test_every_column_is_exported_to_the_table_or_as_files(full, tmp_path):
    root = full.to_folder(tmp_path / "out", image="image", label="label")
    first, second, third = lines = read_csv(root)
    assert list(first) == ["file_name", *(name for name in full.columns if name != "image")]
    assert json.loads(first["boxes"]) == [[0, 0, 2, 1]]
    assert json.loads(first["outlines"]) == [[[0, 0], [4, 0], [0, 3]]]
    assert json.loads(third["embedding"]) == [4, 5, 6]
    assert (first["counts"], first["age"], first["wave"]) == ("[1, null]", "5", "(1+2j)")
    assert (second["boxes"], second["ragged"], second["blob"]) == ("", "", "")
    assert first["matrix"] == "_columns/matrix/000000.npy"
    for name in ("matrix", "flags", "ragged", "packed", "objects"):
        for row, line in enumerate(lines):
            if line[name]:
                assert np.array_equal(np.load(root / line[name]), full[name][row])
    assert np.array_equal(np.asarray(Pillow.open(root / first["mask"])), full["mask"][0])
    assert np.array_equal(np.asarray(Pillow.open(root / first["pixels"])), full["pixels"][0])
    assert np.array_equal(np.load(root / second["pixels"]), full["pixels"][1])  # PNG cannot hold it
    assert (root / first["blob"]).read_bytes() == b"\0\xff"
    frames = [(root / path).read_bytes() for path in json.loads(first["frames"])]
    assert frames == VALUES["frames"][0]


def test_exported_folder_is_ingested_with_the_same_images_and_labels(tmp_path):
    schema = {"mask": dl.Mask(), "x": "float32"}
    masks = [np.eye(2, dtype="uint8")] * 3
    ds = flowers(["tulip", None, "rose"], schema=schema, mask=masks, x=[0.1, 2, 3])
    root = ds.to_folder(tmp_path / "out")
    again = dl.from_folder(root, str(tmp_path / "again.lake"), progress=False)
    order = np.argsort([Path(path).stem for path in again["path"][:]])
    assert again.columns == ("image", "label", "path")
    assert [bytes(again["image"].encoded()[i]) for i in order] == [
        bytes(data) for data in ds["image"].encoded()
    ]
    names = again["label"].htype.to_names([again["label"][i] for i in order])
    assert names == ["tulip", None, "rose"]
    by_table = dl.from_folder(root, str(tmp_path / "t.lake"), labels="metadata.csv", progress=False)
    assert by_table.columns == ("image", "path", "label", "mask", "x")
    assert len(by_table) == 3


def test_strings_may_name_the_folders_and_links_are_not_followed(tmp_path):
    ds = lake(
        {"image": "image", "t": "text", "link": dl.Link("image")},
        {"image": [png((1, 1))], "t": ["spring"], "link": ["/etc/passwd"]},
    )
    root = ds.to_folder(tmp_path / "out", label="t")
    assert read_csv(root)[0] == {
        "file_name": "spring/000000.png",
        "t": "spring",
        "link": "/etc/passwd",
    }


def test_file_name_column_always_holds_the_paths(tmp_path):
    names = ["file_name", "file_name_", "file"]
    ds = lake(
        {"image": "image", **dict.fromkeys(names, "text")},
        {"image": [png((1, 1))], **{name: [name] for name in names}},
    )
    assert read_csv(ds.to_folder(tmp_path / "out")) == [
        {
            "file_name": "000000.png",
            "file_name_": "file_name",
            "file_name__": "file_name_",
            "file": "file",
        }
    ]


def test_empty_lake_exports_a_table_with_a_header(tmp_path):
    root = flowers([]).to_folder(tmp_path / "out")
    assert (root / "metadata.csv").read_text().strip() == '"file_name","label"'
    assert [p.name for p in root.iterdir()] == ["metadata.csv"]


def test_importing_the_dataset_imports_no_export_library():
    code = (
        "import sys, deeplake_lite as dl; dl.Dataset; "
        "print(sorted({'pandas', 'pyarrow', 'xarray', 'tqdm'} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "[]"


def test_table_of_a_large_lake_has_64_bit_offsets(table):
    assert pa.types.is_large_binary(table.schema.field("image").type)


def test_json_round_trips_through_arrow(make_lake):
    values = [{"a": [1, None]}, "text", 3, None]
    schema = {"j": dl.Json(nullable=True), "s": dl.Sequence(dl.Json(), nullable=True)}
    ds = make_lake(schema, j=values, s=[[{"a": 1}, "b"], [], None, [2]])
    ds.append(ds.to_arrow())
    ds.append(ds[:1].to_arrow().to_batches()[0])
    assert ds["j"][:] == [*values, *values, values[0]]
    assert ds["s"][4:] == [[{"a": 1}, "b"], [], None, [2], [{"a": 1}, "b"]]


def test_strings_of_other_tables_are_not_taken_for_json(make_lake):
    ds = make_lake({"j": dl.Json()})
    ds.append(pa.table({"j": ['{"a": 1}']}))
    assert ds["j"][0] == '{"a": 1}'
