"""Types given as the schema of another lake, and paths relative to the table."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image as Pillow

import deeplake_lite as dl

SCHEMA = {
    "image": dl.Image("png", nullable=True),
    "pixels": dl.Image("zstd", dtype="uint16"),
    "label": dl.ClassLabel(["rose", "tulip"], nullable=True),
    "boxes": dl.Boxes("xyxy", nullable=True),
    "embedding": dl.Embedding(3, nullable=True),
    "matrix": dl.Array("float32", (2, 3)),
    "ragged": dl.Array("int16", (None, 2), nullable=True),
    "any": dl.Array("float32", None, "raw"),
    "raw": dl.Array("int32", (2, 2), "raw"),
    "x": "int32",
    "text": dl.Text(nullable=True),
    "notes": dl.Json(nullable=True),
    "words": dl.Sequence("text", nullable=True),
}
PIXELS = np.arange(12, dtype="uint8").reshape(2, 2, 3)
VALUES = {
    "image": [PIXELS, None],
    "pixels": [np.full((2, 3), 70), np.ones((2, 2, 3), int)],
    "label": ["tulip", None],
    "boxes": [[[0, 0, 2, 1]], None],
    "embedding": [[1, 2, 3], None],
    "matrix": np.arange(12.0).reshape(2, 2, 3),
    "ragged": [[[1, 2]], None],
    "any": [np.ones((2, 1, 2)), np.ones(3)],
    "raw": np.arange(8).reshape(2, 2, 2),
    "x": [1, -2],
    "text": ["grün", None],
    "notes": [{"a": [1, None]}, None],
    "words": [["a", ""], None],
}


def same(ds, other):
    for f in ds.schema:
        a, b = (
            d.handle.table.digests(d.schema[f.name].id, d.rows.locate()[1]) for d in (ds, other)
        )
        assert (a == b).all(), f"{f.name}: {other[f.name][:]}"


@pytest.mark.parametrize("way", ["parquet", "arrow"])
def test_schema_of_a_lake_ingests_its_export(make_lake, url, tmp_path, way):
    ds = make_lake(SCHEMA, **VALUES)
    if way == "parquet":
        pq.write_table(ds.to_arrow(), tmp_path / "rows.parquet")
        again = dl.from_parquet(tmp_path / "rows.parquet", url, schema=ds.schema)
    else:
        again = make_lake(SCHEMA)
        again.append(ds.to_arrow())
    assert [f.htype for f in again.schema] == [f.htype for f in ds.schema]
    same(ds, again)


def test_every_source_accepts_a_schema(make_lake, url, tmp_path):
    schema = make_lake({"x": "int8", "name": "text"}).schema
    (tmp_path / "rows.csv").write_text("x,name\n1,a\n")
    made = [
        dl.from_csv(tmp_path / "rows.csv", url + "1", schema=schema),
        dl.from_arrays({"x": [1], "name": ["a"]}, url + "2", schema=schema),
        dl.from_dataframe(dl.open(url + "1").to_pandas(), url + "3", schema=schema),
    ]
    for ds in made:
        assert ds["x"].htype == dl.Scalar("int8")
    (tmp_path / "photos").mkdir()
    Pillow.fromarray(PIXELS).save(tmp_path / "photos/a.png")
    pictures = make_lake({"image": dl.Image("png", mode="L")}).schema
    assert dl.from_folder(tmp_path / "photos", url + "4", schema=pictures)["image"][0].ndim == 2


@pytest.fixture
def table(tmp_path, monkeypatch):
    """Write a table next to its images, and change the working directory."""
    folder = tmp_path / "data"
    (folder / "photos").mkdir(parents=True)
    Pillow.fromarray(PIXELS).save(folder / "photos/a.png")
    path = folder / "rows.csv"
    path.write_text(f"image,n\nphotos/a.png,1\n{folder / 'photos/a.png'},2\n")
    elsewhere = tmp_path / "elsewhere/photos"
    elsewhere.mkdir(parents=True)
    Pillow.fromarray(PIXELS[::-1].copy()).save(elsewhere / "a.png")
    monkeypatch.chdir(elsewhere.parent)
    return path


@pytest.mark.parametrize("kind", [dl.Image("png"), dl.Image("zstd"), dl.Image()])
def test_relative_paths_in_a_csv_are_relative_to_its_folder(table, url, kind):
    ds = dl.from_csv(table, url, schema={"image": kind})
    for value in ds["image"][:]:
        np.testing.assert_array_equal(value, PIXELS)
    by_relative_path = dl.from_csv("../data/rows.csv", url + "2", schema={"image": kind})
    np.testing.assert_array_equal(by_relative_path["image"][0], PIXELS)


def test_paths_are_relative_to_the_folder_if_the_lake_knows_the_type(table, url):
    dl.create(url, {"image": dl.Image("png"), "n": "int64"})
    ds = dl.from_csv(table, url)
    np.testing.assert_array_equal(ds["image"][0], PIXELS)


def test_paths_of_masks_and_in_parquet_are_relative_to_the_folder(table, url):
    import pyarrow as pa

    Pillow.fromarray(PIXELS[..., 0]).save(table.parent / "photos/m.png")
    (table.parent / "masks.csv").write_text("m\nphotos/m.png\n")
    assert dl.from_csv(table.parent / "masks.csv", url, schema={"m": dl.Mask()})["m"][0].max() == 9
    rows = {
        "i": ["photos/a.png"],
        "s": [["photos/a.png"]],
        "h": [{"bytes": None, "path": "photos/a.png"}],
    }
    pq.write_table(pa.table(rows), table.parent / "rows.parquet")
    types = {"i": dl.Image("png"), "s": dl.Sequence(dl.Image("png")), "h": dl.Image("png")}
    ds = dl.from_parquet(table.parent / "rows.parquet", url + "2", schema=types)
    for value in (ds["i"][0], ds["s"][0][0], ds["h"][0]):
        np.testing.assert_array_equal(value, PIXELS)


def test_links_store_their_paths_unchanged(table, url):
    ds = dl.from_csv(table, url, schema={"image": dl.Link("image")})
    assert ds["image"].urls()[0] == "photos/a.png"
    ds = dl.open(url, allow=[str(table.parent)])
    np.testing.assert_array_equal(ds["image"][0], PIXELS)


def test_new_lake_may_follow_links_immediately(table, url):
    ds = dl.create(url, {"l": dl.Link("image")}, allow=[str(table.parent)])
    ds.append({"l": ["photos/a.png"]})
    np.testing.assert_array_equal(ds["l"][0], PIXELS)


def test_a_source_without_columns_is_refused(tmp_path):
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    for columns in ([], (), np.array([])):
        with pytest.raises(
            dl.errors.SchemaError, match=r"at least one column to ingest, but a\.csv has none"
        ):
            dl.from_csv(tmp_path / "a.csv", str(tmp_path / "lake"), columns=columns)
        assert not (tmp_path / "lake").exists()
