"""A folder that a lake wrote is taken in again, with the lake's schema."""

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
    """Return counts of a unit as spans."""
    dtype = str(getattr(htype, "dtype", ""))
    if isinstance(rows, list):
        of = htype.of if isinstance(htype, dl.Sequence) else htype
        return [numbers(of, row) for row in rows]
    is_count = isinstance(rows, int) and dtype.startswith("timedelta64")
    return np.int64(rows).astype(dtype) if is_count else rows


@pytest.mark.parametrize("name", COLUMNS)
@pytest.mark.parametrize("picture", ["image", "photo"])
def test_every_column_comes_back(make_lake, tmp_path, name, picture):
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
def test_pictures_of_either_column_may_be_the_files(make_lake, tmp_path, chosen, classes):
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


def test_a_column_that_a_user_misspells_is_refused(photos, url):
    folder = photos("1.png")
    (folder / "t.csv").write_text("file,x\n1.png,3\n")
    for labels in ("t.csv", None):
        with pytest.raises(dl.SchemaError, match="schema= names column 'imge'"):
            dl.from_folder(folder, url, labels=labels, schema={"imge": dl.Image()})


def test_a_type_for_path_is_the_folders_where_the_table_has_none(photos, url):
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
def test_texts_of_far_moments_are_moments(make_lake, text, moment):
    ds = make_lake({"t": "datetime64[s]"}, t=[text, "1970-01-01T00:00:00"])
    assert ds["t"][:].astype("int64").tolist() == [moment, 0]


@pytest.mark.parametrize("text", ["20260102", "999999999999-01-01", "12345", "-5", "-5-01-01x"])
def test_texts_that_may_mean_something_else_are_no_moments(make_lake, text):
    with pytest.raises(dl.InvalidValueError, match=r"must (be a moment|fit)"):
        make_lake({"t": "datetime64[s]"}, t=[text])
