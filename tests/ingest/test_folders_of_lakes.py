"""Ingesting a folder that was exported from a lake restores the lake's schema."""

import numpy as np
import pytest

import deeplake_lite as dl

FAR = np.array([2**40, -(2**36), 0], "datetime64[s]")
COLUMNS = {
    "spans": (dl.Sequence("timedelta64[s]"), [[np.timedelta64(5, "s")], [], [7, 8]]),
    "some spans": (
        dl.Sequence(dl.Sequence(dl.Scalar("timedelta64[ms]", nullable=True))),
        [[[5, None]], [], [[]]],
    ),
    "complex": (dl.Sequence("complex64"), [[1 + 2j], [], [3j]]),
    "months": (dl.Sequence("timedelta64[M]"), [[5], [], [7]]),
    "moments": (dl.Scalar("datetime64[s]"), FAR),
    "days": (dl.Scalar("datetime64[D]", nullable=True), [*FAR[:2].astype("datetime64[D]"), None]),
    "lists of moments": (dl.Sequence("datetime64[s]"), [list(FAR), [], [FAR[0]]]),
    "path": (dl.Scalar("int16"), [3, 4, 5]),
    "split": (dl.Json(), [{"a": 1}, [], "u"]),
    "file_name": (dl.Text(), ["z.png", "000001.png", ""]),
    "classes": (dl.ClassLabel(["2", "1"], nullable=True), ["1", "2", None]),
}


def values(ds, name):
    return [str(v) for v in ds[name][:]]


def numbers(htype, rows):
    """Return counts of a unit as durations."""
    dtype = str(getattr(htype, "dtype", ""))
    if isinstance(rows, list):
        of = htype.of if isinstance(htype, dl.Sequence) else htype
        return [numbers(of, row) for row in rows]
    is_count = isinstance(rows, int) and dtype.startswith("timedelta64")
    return np.int64(rows).astype(dtype) if is_count else rows


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("picture", ["image", "photo"])
def test_every_column_round_trips(make_lake, tmp_path, name, picture):
    htype, rows = COLUMNS[name]
    given = rows if isinstance(rows, np.ndarray) else [numbers(htype, [r])[0] for r in rows]
    pictures = [np.full((2, 2), i, "uint8") for i in range(3)]
    if isinstance(htype, dl.Sequence):
        given = [numbers(htype, row) for row in rows]
    ds = make_lake({picture: dl.Image("png"), name: htype}, **{picture: pictures, name: given})
    ds.commit("all")
    folder = ds.to_folder(tmp_path / "out")
    again = [
        dl.from_folder(folder, tmp_path / "x.lake", labels=folder / "metadata.csv",
                       schema=ds.schema, progress=False)
        for _ in range(2)
    ]  # fmt: skip
    there = f"{name}_" if name == "path" else name
    assert picture in again[0].columns
    assert again[0][there].htype == htype
    assert sorted(values(again[0], there)) == sorted(values(ds, name))
    assert (again[1].ingested.added, again[1].ingested.changed) == (0, 0)


@pytest.mark.parametrize("chosen", ["image", "thumb"])
@pytest.mark.parametrize("classes", [True, False])
def test_either_image_column_may_be_the_files(make_lake, tmp_path, chosen, classes):
    schema = {"image": dl.Image("png"), "thumb": dl.Image("png")}
    rows = {n: [np.full((k, 2), i, "uint8") for i in range(2)] for k, n in enumerate(schema, 1)}
    if classes:
        schema["kind"], rows["kind"] = dl.ClassLabel(["a", "b"]), [0, 1]
    ds = make_lake(schema, **rows)
    ds.commit("all")
    folder = ds.to_folder(tmp_path / "out", image=chosen)
    again = dl.from_folder(
        folder, tmp_path / "x.lake", labels=folder / "metadata.csv", schema=ds.schema
    )
    assert set(again.columns) == {*schema, "path"}
    for name in ("image", "thumb"):
        assert [v.tolist() for v in again[name][:]] == [v.tolist() for v in ds[name][:]]


NAMES = ["000001.png", "000002.png", "000000.png"]
"""Names of the files that `to_folder` writes, each in a row other than its own."""

MISLEADING = {
    "file_name": {"file_name": NAMES},
    "file": {"file": NAMES},
    "image_path": {"image_path": NAMES},
    "another case": {"File_Name": NAMES},
    "beside another": {"file_name": ["a.png", "b.png", "c.png"], "file": NAMES},
    "with underscores": {"file_name_": NAMES, "file_name": NAMES[::-1], "file_name___": NAMES},
    "only with underscores": {"file_name_": NAMES},
    "other suffixes": {"file_name": ["000001.jpg", "000002.jpg", "000000.jpg"]},
    "stems": {"file_name": ["000001", "000002", "000000"]},
    "folders": {"file_name": ["k/000001.png", "k/000002.png", "k/000000.png"]},
    "some": {"file_name": ["000001.png", "000002.png", "z.png"]},
    "mostly empty": {"file_name": ["", "", "x"], "file": NAMES},
}


def taken_in_again(ds, folder, *, schema):
    options = {"schema": ds.schema} if schema else {}
    ds.to_folder(folder / "out")
    return dl.from_folder(
        folder / "out", folder / "again.lake", labels="metadata.csv", progress=False, **options
    )


@pytest.mark.parametrize("name", MISLEADING)
@pytest.mark.parametrize("schema", [True, False])
@pytest.mark.parametrize("nulls", [0, 1, 2, 3])
def test_images_keep_their_rows_whatever_other_columns_are_called(
    make_lake, tmp_path, name, schema, nulls
):
    columns = MISLEADING[name]
    pictures = [None] * nulls + [np.full((2, 2), i, "uint8") for i in range(nulls, 3)]
    ds = make_lake(
        {
            "image": dl.Image("png", nullable=True),
            "at": "int64",
            **dict.fromkeys(columns, dl.Text()),
        },
        image=pictures,
        at=range(3),
        **columns,
    )
    ds.commit("all")
    again = taken_in_again(ds, tmp_path, schema=schema)
    assert set(again.columns) == {"image", "path", "at", *columns}
    assert len(again) == 3
    assert again["image"].htype.nullable or not nulls
    for row in again:
        at = row["at"]
        assert row["image"] is None if at < nulls else row["image"][0, 0] == at
        assert {name: row[name] for name in columns} == {n: v[at] for n, v in columns.items()}
    twice = dl.from_folder(tmp_path / "out", again.url, labels="metadata.csv", progress=False)
    assert (twice.ingested.added, twice.ingested.changed, twice.ingested.skipped) == (0, 0, ())


def test_labels_in_a_column_called_file_name_round_trip(make_lake, tmp_path):
    kind = dl.ClassLabel(["000000.png", "000001.png"])
    pictures = [np.full((2, 2), i, "uint8") for i in range(2)]
    ds = make_lake({"image": dl.Image("png"), "file_name": kind}, image=pictures, file_name=[1, 0])
    ds.commit("all")
    folder = ds.to_folder(tmp_path / "out")
    again = dl.from_folder(
        folder, tmp_path / "x.lake", labels="metadata.csv", label="file_name", progress=False
    )
    result = {int(row["image"][0, 0]): kind.names[row["file_name"]] for row in again}
    assert result == {0: "000001.png", 1: "000000.png"}


def test_most_images_may_be_null(make_lake, tmp_path):
    count = 1_200
    pictures = [None] * (count - 2) + [np.full((2, 2), i, "uint8") for i in range(2)]
    others = [f"00{count - 1 - i % 2}.png" for i in range(count)]
    ds = make_lake(
        {"image": dl.Image("png", nullable=True), "file": dl.Text()}, image=pictures, file=others
    )
    ds.commit("all")
    again = taken_in_again(ds, tmp_path, schema=False)
    assert len(again) == count
    result = {row["path"]: row["image"][0, 0] for row in again if row["image"] is not None}
    assert result == {"001198.png": 0, "001199.png": 1}


def test_rows_without_a_file_are_skipped_if_images_are_not_nullable(photos, url):
    folder = photos("1.png")
    (folder / "t.csv").write_text("file,x\n1.png,3\n,4\n")
    reason = "it names no file, but images cannot be null"
    for schema in ({"image": dl.Image("png")}, None):  # then the lake determines the type
        ds = dl.from_folder(folder, url, labels="t.csv", schema=schema, progress=False)
        assert len(ds) == 1
        assert [(s.path, s.reason) for s in ds.ingested.skipped] == [("t.csv, row 1", reason)]


def test_file_called_none_is_not_used_for_rows_without_a_file(photos, url):
    folder = photos("None.png", "1.png")
    (folder / "t.csv").write_text("file,x\n1.png,3\nNone.png,4\n,5\n")
    ds = dl.from_folder(folder, url, labels="t.csv", progress=False)
    assert dict(zip(ds["path"][:], ds["x"][:].tolist(), strict=True)) == {
        "1.png": 3,
        "None.png": 4,
        "t.csv, row 2": 5,
    }


@pytest.mark.parametrize("split", [True, False])
def test_rows_without_a_file_have_no_split(photos, url, split):
    folder = photos("train/1.png", "test/2.png") if split else photos("a/1.png", "b/2.png")
    (folder / "t.csv").write_text("file,x\n1.png,3\n2.png,4\n,5\n")
    ds = dl.from_folder(folder, url, labels="t.csv", progress=False)
    assert ("split" in ds.columns) == split
    if split:
        assert ds["split"].htype == dl.ClassLabel(["train", "test"], nullable=True)
        row = ds["path"][:].index("t.csv, row 2")
        assert ds[row]["split"] is None


@pytest.mark.parametrize(
    "names", [[".net", "java"], [".a", "_.a"], ["..b", ".b", "b"], [".", ".."]]
)
def test_classes_that_begin_with_a_dot_round_trip(make_lake, tmp_path, names):
    pictures = [np.full((2, 2), i, "uint8") for i in range(len(names))]
    schema = {"image": dl.Image("png"), "label": dl.ClassLabel(names)}
    ds = make_lake(schema, image=pictures, label=range(len(names)))
    ds.commit("all")
    again = taken_in_again(ds, tmp_path, schema=True)
    assert again["label"].names == tuple(names)
    assert all(row["image"][0, 0] == row["label"] for row in again)
    assert len(again) == len(names)
    assert not list((tmp_path / "out").rglob(".*"))
    without = dl.from_folder(tmp_path / "out", tmp_path / "y.lake", progress=False)
    assert len(without) == len(names)


def test_misspelt_column_is_refused(photos, url):
    folder = photos("1.png")
    (folder / "t.csv").write_text("file,x\n1.png,3\n")
    for labels in ("t.csv", None):
        with pytest.raises(dl.SchemaError, match="but it has 'imge'"):
            dl.from_folder(folder, url, labels=labels, schema={"imge": dl.Image()})


def test_given_type_for_path_applies_to_the_folder_if_the_table_has_no_path(photos, url):
    folder = photos("1.png")
    (folder / "t.csv").write_text("file,path\n1.png,3\n")
    types = {"path": dl.Text(default="here"), "path_": "int16"}
    ds = dl.from_folder(folder, url, labels="t.csv", schema=types)
    assert ds["path"].htype == dl.Text(default="here")
    assert ds["path_"][:].tolist() == [3]


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("36812-02-20T00:36:16", 2**40),
        ("+36812-02-20 00:36:16Z", 2**40),
        ("-208-05-13T16:27:44", -(2**36)),
    ],
)
def test_strings_of_distant_times_are_times(make_lake, text, moment):
    ds = make_lake({"t": "datetime64[s]"}, t=[text, "1970-01-01T00:00:00"])
    assert ds["t"][:].astype("int64").tolist() == [moment, 0]


@pytest.mark.parametrize("text", ["20260102", "999999999999-01-01", "12345", "-5", "-5-01-01x"])
def test_ambiguous_strings_are_not_times(make_lake, text):
    with pytest.raises(dl.InvalidValueError, match=r"must (be a time|fit)"):
        make_lake({"t": "datetime64[s]"}, t=[text])
