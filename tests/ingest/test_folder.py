"""Folders of images: layouts, keys, bad files, labels in a table."""

import os
from importlib import import_module
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import deeplake_lite as dl

from .conftest import JPEG, picture

CLASSES = ("rose/b.jpg", "rose/a.jpg", "lily/c.jpg")


def test_one_folder_per_class_becomes_sorted_classes_and_paths(photos, url):
    folder = photos(*CLASSES)
    ds = dl.from_folder(folder, url)
    assert ds.columns == ("image", "label", "path")
    assert ds["path"][:] == ["lily/c.jpg", "rose/a.jpg", "rose/b.jpg"]
    assert ds["label"].names == ("lily", "rose")
    assert ds["label"][:].tolist() == [0, 1, 1]
    assert ds["image"].htype == dl.Image("jpeg")
    assert [bytes(b) for b in ds["image"].encoded()] == [
        (folder / path).read_bytes() for path in ds["path"][:]
    ]


def test_result_is_the_dataset_and_describes_what_was_done(photos, url):
    ds = dl.from_folder(photos(*CLASSES), url)
    assert isinstance(ds, dl.Dataset)
    assert (ds.ingested.added, ds.ingested.changed, ds.ingested.unchanged) == (3, 0, 0)
    assert repr(ds.ingested).startswith("3 rows added in ")
    assert not ds.status()
    assert dl.open(url).version == ds.version


def test_ingesting_the_same_folder_twice_changes_nothing(photos, url):
    folder = photos(*CLASSES)
    first = dl.from_folder(folder, url)
    second = dl.from_folder(folder, url)
    assert second.version == first.version
    assert (second.ingested.added, second.ingested.unchanged) == (0, 3)


def test_only_new_and_changed_rows_are_written(photos, url):
    folder = photos(*CLASSES)
    before = dl.from_folder(folder, url)
    ids = before.row_ids
    (folder / "rose/a.jpg").write_bytes(picture(77, JPEG))
    (folder / "rose/z.jpg").write_bytes(picture(78, JPEG))
    after = dl.from_folder(folder, url)
    assert (after.ingested.added, after.ingested.changed, after.ingested.unchanged) == (1, 1, 2)
    assert after.row_ids[:3].tolist() == ids.tolist()
    diff = after.diff(before.version)
    assert {name: len(rows) for name, rows in diff.changed.items()} == {"image": 1}
    assert len(diff.added) == 1


def test_existing_rows_are_not_read_without_update(photos, url):
    folder = photos(*CLASSES)
    dl.from_folder(folder, url)
    for path in CLASSES:
        (folder / path).write_bytes(b"no picture any more")
    (folder / "rose/z.jpg").write_bytes(picture(78, JPEG))
    ds = dl.from_folder(folder, url, update=False)
    assert (ds.ingested.added, ds.ingested.unchanged) == (1, 3)


def test_new_class_gets_the_next_number(photos, url):
    dl.from_folder(photos(*CLASSES), url)
    ds = dl.from_folder(photos(*CLASSES, "aster/d.jpg"), url)
    assert ds["label"].names == ("lily", "rose", "aster")
    assert dict(zip(ds["path"][:], ds["label"][:].tolist(), strict=True)) == {
        "lily/c.jpg": 0,
        "rose/a.jpg": 1,
        "rose/b.jpg": 1,
        "aster/d.jpg": 2,
    }


def test_split_folders_become_a_column(photos, url):
    ds = dl.from_folder(photos("val/rose/1.png", "train/rose/1.png", "train/lily/2.png"), url)
    assert ds.columns == ("image", "label", "split", "path")
    assert ds["split"].names == ("train", "val")
    assert ds["split"][:].tolist() == [0, 0, 1]
    assert ds["label"].names == ("lily", "rose")


def test_flat_folder_has_no_labels(photos, url):
    ds = dl.from_folder(photos("2.png", "1.png"), url)
    assert ds.columns == ("image", "path")
    assert ds["path"][:] == ["1.png", "2.png"]


def test_images_next_to_class_folders_have_no_class(photos, url):
    ds = dl.from_folder(photos("1.png", "rose/2.png"), url)
    assert ds["label"].htype.nullable
    assert ds["label"][:].tolist() == [None, 0]


def test_codec_is_determined_by_file_contents(photos, url):
    folder = photos("1.png", "2.png")
    assert dl.from_folder(folder, url)["image"].htype == dl.Image("png")
    (folder / "3.png").write_bytes(picture(3, JPEG))
    again = dl.from_folder(folder, url)
    assert again["image"].htype == dl.Image("auto")
    assert bytes(again["image"].encoded()[2]) == picture(3, JPEG)
    assert dl.from_folder(folder, url + "2")["image"].htype == dl.Image("auto")


def test_other_files_are_listed_unless_hidden(photos, url, capsys):
    folder = photos("rose/1.png")
    (folder / "rose/notes.txt").write_text("red")
    (folder / ".DS_Store").write_text("")
    (folder / ".cache").mkdir()
    (folder / ".cache/2.png").write_bytes(picture())
    ds = dl.from_folder(folder, url)
    assert [s.path for s in ds.ingested.skipped] == ["rose/notes.txt"]
    assert "1 skipped" in capsys.readouterr().err
    dl.from_folder(folder, url, progress=False)
    assert capsys.readouterr().err == ""


BAD = {
    "empty.jpg": b"",
    "text.jpg": b"this is no picture",
    "cut.jpg": picture(1, JPEG)[:-200],
    "page.png": b"<!DOCTYPE html><html></html>",
}


@pytest.mark.parametrize("name", BAD)
def test_bad_file_is_named_and_nothing_is_written(photos, url, name):
    folder = photos(*CLASSES)
    (folder / name).write_bytes(BAD[name])
    with pytest.raises(dl.InvalidValueError, match=rf"column 'image'.*{name}.*on_error=\"skip\""):
        dl.from_folder(folder, url)
    assert not os.path.exists(url)


def test_bad_files_can_be_skipped_and_are_listed_with_the_reason(photos, url):
    folder = photos(*CLASSES)
    for name, data in BAD.items():
        (folder / name).write_bytes(data)
    ds = dl.from_folder(folder, url, on_error="skip", progress=False)
    assert ds.ingested.added == 3
    assert {s.path for s in ds.ingested.skipped} == set(BAD)
    assert all(s.reason for s in ds.ingested.skipped)
    (folder / "cut.jpg").write_bytes(picture(1, JPEG))
    assert dl.from_folder(folder, url, on_error="skip", progress=False).ingested.added == 1


def test_broken_link_is_skipped_like_any_bad_file(photos, url):
    folder = photos(*CLASSES)
    (folder / "gone.jpg").symlink_to(folder / "nowhere.jpg")
    ds = dl.from_folder(folder, url, on_error="skip", progress=False)
    assert [s.path for s in ds.ingested.skipped] == ["gone.jpg"]


def test_full_check_finds_damage_beyond_the_header(photos, url):
    folder = photos("1.png")
    data = bytearray(picture(5))
    at = data.index(b"IDAT") + 12
    data[at : at + 8] = bytes(8)
    (folder / "2.png").write_bytes(bytes(data))
    with pytest.raises(dl.InvalidValueError, match=r"2\.png"):
        dl.from_folder(folder, url, check="full")


def test_circular_links_terminate(photos, url):
    folder = photos("rose/1.png")
    (folder / "rose/again").symlink_to(folder, target_is_directory=True)
    (folder / "rose/self").symlink_to(folder / "rose", target_is_directory=True)
    assert dl.from_folder(folder, url)["path"][:] == ["rose/1.png"]


def test_link_to_another_folder_is_followed(photos, url, tmp_path):
    folder = photos("rose/1.png")
    (tmp_path / "more").mkdir()
    (tmp_path / "more/2.png").write_bytes(picture(2))
    (folder / "lily").symlink_to(tmp_path / "more", target_is_directory=True)
    assert dl.from_folder(folder, url)["path"][:] == ["lily/2.png", "rose/1.png"]


def test_missing_or_empty_folder_or_a_file_instead_is_reported(tmp_path, url):
    with pytest.raises(dl.NotFoundError, match=r"no folder '.*nowhere'"):
        dl.from_folder(tmp_path / "nowhere", url)
    (tmp_path / "empty").mkdir()
    with pytest.raises(dl.InvalidValueError, match=r"no images .* below '[^']*'. Check"):
        dl.from_folder(tmp_path / "empty", url)
    (tmp_path / "empty/a.txt").write_text("a")
    with pytest.raises(dl.InvalidValueError, match=r"only 1 other file \(\.txt\)"):
        dl.from_folder(tmp_path / "empty", url)
    with pytest.raises(dl.InvalidValueError, match="is a file"):
        dl.from_folder(tmp_path / "empty/a.txt", url)
    with pytest.raises(dl.InvalidValueError, match="a folder on this machine"):
        dl.from_folder("s3://bucket/photos", url)
    assert not os.path.exists(url)


def test_labels_are_read_from_a_table_by_file_name(photos, url):
    folder = photos("x/1.png", "x/2.png", "3.png")
    (folder / "labels.csv").write_text(
        "id,filename,label,weight\n7,2.png,rose,1.5\n8,x/1.png,lily,\n9,3,rose,3\n"
    )
    ds = dl.from_folder(folder, url, labels="labels.csv")
    assert ds.columns == ("image", "path", "id", "label", "weight")
    assert ds["path"][:] == ["3.png", "x/1.png", "x/2.png"]
    assert ds["label"].htype.to_names(ds["label"][:]) == ["rose", "lily", "rose"]
    assert ds["id"][:].tolist() == [9, 8, 7]
    assert ds["weight"][:].tolist() == [3.0, None, 1.5]
    assert ds.ingested.skipped == ()


def test_table_may_name_fewer_and_more_files_than_exist(photos, url):
    folder = photos("1.png", "2.png")
    (folder / "t.csv").write_text("file,species\n1.png,rose\n9.png,lily\n")
    ds = dl.from_folder(folder, url, labels="t.csv", label="species", progress=False)
    assert ds["path"][:] == ["1.png"]
    assert ds["species"][:].tolist() == [0]
    assert [str(s) for s in ds.ingested.skipped] == [
        "t.csv, row 1: there is no file '9.png'",
        "2.png: the table does not list it",
    ]


def test_integers_in_a_table_are_classes_without_names(photos, url):
    folder = photos("1.png", "2.png")
    (folder / "t.csv").write_text("file,label\n1.png,3\n2.png,0\n")
    ds = dl.from_folder(folder, url, labels=folder / "t.csv")
    assert ds["label"].htype == dl.ClassLabel()
    assert ds["label"][:].tolist() == [3, 0]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,b\nx,y\n", {}, "no column of .* does. Choose one with file_column="),
        ("file\n1.png\n1.png\n", {}, "must be named only once"),
        ("file\n1.png\n", {"file_column": "name"}, "no column 'name'"),
    ],
)
def test_table_that_does_not_fit_is_explained(photos, url, text, options, message):
    folder = photos("1.png", "2.png")
    (folder / "t.csv").write_text(text)
    with pytest.raises(dl.LakeError, match=message):
        dl.from_folder(folder, url, labels="t.csv", **options)
    with pytest.raises(dl.NotFoundError, match=r"no file 'nowhere\.csv'"):
        dl.from_folder(folder, url, labels="nowhere.csv")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "lines",
    [
        ["file_name", "1.png", "2.png", "", ""],
        ["file_name", "", "1.png", "", "2.png"],
        ["", "file_name", "1.png", "2.png", ""],
        ["file_name,x", "1.png,5", "", "2.png,6", "", ""],
    ],
)
def test_empty_line_of_a_table_names_no_file(photos, url, lines, end):
    folder = photos("1.png", "2.png")
    (folder / "t.csv").write_text(end.join(lines), newline="")
    ds = dl.from_folder(folder, url, labels="t.csv", progress=False)
    assert ds["path"][:] == ["1.png", "2.png"]
    assert len(ds["image"][:]) == 2


def test_quoted_empty_name_is_a_row_without_an_image(photos, url):
    folder = photos("1.png")
    (folder / "t.csv").write_text('file_name\n1.png\n""\n')
    ds = dl.from_folder(folder, url, labels="t.csv", progress=False)
    assert ds["path"][:] == ["1.png", "t.csv, row 1"]


OTHERS = {
    "JSON": b'\xef\xbb\xbf\n{"images": [{"file_name": "1.png"}]}',
    "JSON ": b'[\n {"file_name": "1.png", "label": 1}]',
    "Parquet": b"PAR1\x15\x04\x15\x10",
    "an Excel file": b"PK\x03\x04\x14\x00",
}


@pytest.mark.parametrize("name", ["ann.json", "ann.csv", "ann"])
@pytest.mark.parametrize("kind", OTHERS)
def test_table_in_another_format_is_refused_as_such(photos, url, kind, name):
    folder = photos("1.png")
    (folder / name).write_bytes(OTHERS[kind])
    message = rf"labels must be a CSV file, but the format of '.*{name}' is {kind.strip()}"
    with pytest.raises(dl.InvalidValueError, match=message):
        dl.from_folder(folder, url, labels=name, progress=False)


@pytest.mark.parametrize("header", ["[file],label", "file,{label}", '"file",label'])
def test_unusual_table_headers_are_not_taken_for_another_format(photos, url, header):
    folder = photos("1.png")
    (folder / "t.csv").write_text(f"{header}\n1.png,a\n")
    assert len(dl.from_folder(folder, url, labels="t.csv", progress=False)) == 1


PATHS = {
    "from the folder": ("train/0.png", "train/0.png"),
    "by way of others": ("./val/../train/0.png", "train/0.png"),
    "with backslashes": ("train\\0.png", "train/0.png"),
    "from the table": ("../photos/train/0.png", "train/0.png"),
    "of another machine": ("C:\\data\\photos\\train\\0.png", "train/0.png"),
    "moved": ("/nowhere/all/train/0.png", "train/0.png"),
    "moved without a suffix": ("/nowhere/all/train/0", "train/0.png"),
    "the end of one": ("deep/5.png", "val/deep/5.png"),
    "a name": ("5.png", "val/deep/5.png"),
    "a name without a suffix": ("5", "val/deep/5.png"),
    "a name of two files": ("0.png", None),
    "of no file, but for its name": ("train/5.png", None),
    "of no file, but for its end": ("train/deep/5.png", None),
    "of a file elsewhere": ("elsewhere/train/0.png", None),
    "above the folder": ("../outside/train/0.png", None),
    "with another suffix": ("train/0.jpg", None),
}


@pytest.mark.parametrize("kind", PATHS)
def test_path_in_a_table_means_exactly_that_file(photos, url, kind):
    named, meant = PATHS[kind]
    folder = photos("train/0.png", "val/0.png", "val/deep/5.png", "val/sure.png")
    for other in ("tables/elsewhere/train", "outside/train"):
        (folder.parent / other).mkdir(parents=True)
        (folder.parent / other / "0.png").write_bytes(picture(9))
    table = folder.parent / "tables/t.csv"
    table.write_text(f"file,x\n{named},1\nval/sure.png,2\n")
    ds = dl.from_folder(folder, url, labels=table, progress=False)
    result = dict(zip(ds["path"][:], ds["x"][:].tolist(), strict=True))
    assert result == {"val/sure.png": 2} | ({meant: 1} if meant else {})
    assert ("there is no file" in str(ds.ingested.skipped[0])) == (meant is None)


def test_table_of_two_folders_can_be_used_for_one(photos, url):
    folder = photos("train/0.png", "val/0.png", "val/1.png")
    (folder / "t.csv").write_text("file,x\ntrain/0.png,1\nval/0.png,2\nval/1.png,3\n")
    ds = dl.from_folder(folder / "val", url, labels=folder / "t.csv", progress=False)
    assert dict(zip(ds["path"][:], ds["x"][:].tolist(), strict=True)) == {"0.png": 2, "1.png": 3}
    assert [s.path for s in ds.ingested.skipped] == ["t.csv, row 0"]


@pytest.mark.parametrize("where", ["here", "above", "elsewhere"])
@pytest.mark.parametrize("htype", [dl.Mask(), dl.Image(), dl.Sequence("image")], ids=str)
def test_files_named_in_a_table_are_relative_to_the_table(photos, url, where, htype, monkeypatch):
    folder = photos("1.png")
    elsewhere = folder.parent / "elsewhere"
    for at, level in ((folder, 3), (elsewhere, 9)):
        (at / "more").mkdir(parents=True)
        Image.fromarray(np.full((2, 2), level, "uint8")).save(at / "more/m.png")
    value = '"[""more/m.png""]"' if isinstance(htype, dl.Sequence) else "more/m.png"
    (folder / "t.csv").write_text(f"file,m\n1.png,{value}\n")
    places = {"here": folder, "above": folder.parent, "elsewhere": elsewhere}
    monkeypatch.chdir(places[where])
    path = {"here": ".", "above": folder.name, "elsewhere": folder}[where]
    ds = dl.from_folder(path, url, labels=folder / "t.csv", schema={"m": htype}, progress=False)
    assert np.unique(np.asarray(ds["m"][0])).tolist() == [3]


def test_exported_folder_of_an_ingested_folder_is_ingested_again(photos, url, tmp_path):
    ds = dl.from_folder(photos("rose/1.png", "lily/2.png"), url, progress=False)
    out = ds.to_folder(tmp_path / "out")
    again = dl.from_folder(out, f"{url}-2", labels=out / "metadata.csv", progress=False)
    assert again["path_"][:] == ["lily/2.png", "rose/1.png"]
    assert again["path"][:] == ["lily/000000.png", "rose/000001.png"]


PICTURES = {"equal": [1, 1], "distinct": [1, 2], "null": [1, None]}


@pytest.mark.parametrize("given", ["schema", "types", "lake"])
@pytest.mark.parametrize("levels", PICTURES)
def test_images_cannot_be_stored_in_the_path_column(levels, given, url, tmp_path):
    ds = dl.create(url, {"path": dl.Image("png", nullable=levels == "null"), "n": "int8"})
    pictures = [v and np.full((2, 2), v, "uint8") for v in PICTURES[levels]]
    ds.append({"path": pictures, "n": [1, 2]})
    ds.commit("pictures")
    out = ds.to_folder(tmp_path / "out", image="path")
    types = {f.name: f.htype for f in ds.schema}
    schema = {"schema": ds.schema, "types": types, "lake": None}[given]
    if given == "lake":
        dl.create(f"{url}-2", types)
    with pytest.raises(
        dl.SchemaError, match=r"Column 'path' of a folder of images must contain strings"
    ):
        dl.from_folder(out, f"{url}-2", labels=out / "metadata.csv", schema=schema, progress=False)
    ds.rename_column("path", "photo")
    ds.commit("renamed")
    again = dl.from_folder(
        ds.to_folder(tmp_path / "again", image="photo"),
        f"{url}-3",
        labels=tmp_path / "again/metadata.csv",
        schema=ds.schema,
        progress=False,
    )
    assert {*again.columns} == {"photo", "path", "n"}
    assert again["photo"].htype == ds["photo"].htype


@pytest.mark.parametrize("name", ["path", "split"])
def test_columns_filled_by_the_folder_cannot_be_images(name, photos, url):
    folder = photos("train/rose/1.png", "val/rose/2.png")
    with pytest.raises(
        dl.SchemaError, match=f"'{name}' of a folder of images .* it is declared as Image"
    ):
        dl.from_folder(folder, url, schema={name: dl.Image("png")}, progress=False)


def test_image_type_can_be_given(photos, url):
    folder = photos("1.png")
    ds = dl.from_folder(folder, url, schema={"image": dl.Image("png", mode="L")})
    pixels = np.asarray(Image.open(BytesIO(picture(0))).convert("L"))
    assert np.array_equal(ds["image"][0], pixels)


def test_rows_are_ingested_block_by_block_in_a_fixed_order(photos, url, monkeypatch):
    monkeypatch.setattr(import_module("deeplake_lite.ingest.folders.folder"), "BLOCK_ROWS", 2)
    paths = [f"rose/{i:02}.png" for i in range(7)]
    ds = dl.from_folder(photos(*reversed(paths)), url, commit_every=3)
    assert ds["path"][:] == paths
    assert [c.message for c in ds.log()] == ["ingest photos"] * 2 + ["created"]


def test_files_not_listed_in_a_table_are_not_read(photos, url, monkeypatch):
    folder = photos("1.png", "2.png", "x/3.png")
    (folder / "broken.png").write_bytes(b"no picture")
    (folder / "t.csv").write_text("file,label\nx/3.png,rose\n1,lily\n")
    read = []
    for module, name in (("os", "open"), ("pathlib.Path", "read_bytes")):
        original = getattr(os if module == "os" else Path, name)

        def spy(path, *args, original=original, **kwargs):
            read.append(Path(path).name)
            return original(path, *args, **kwargs)

        monkeypatch.setattr(f"{module}.{name}", spy)
    ds = dl.from_folder(folder, url, labels="t.csv", progress=False)
    assert ds["path"][:] == ["1.png", "x/3.png"]
    assert {name for name in read if name.endswith(".png")} == {"1.png", "3.png"}
    assert {s.path for s in ds.ingested.skipped} == {"2.png", "broken.png"}


def test_images_are_recognised_by_their_first_bytes(photos, url):
    folder = photos("rose/1.png")
    (folder / "rose/IMG_0002").write_bytes(picture(2, JPEG))
    (folder / "rose/3.dat").write_bytes(picture(3))
    (folder / "rose/notes.txt").write_text("red")
    (folder / "rose/empty").write_bytes(b"")
    ds = dl.from_folder(folder, url, progress=False)
    assert ds["path"][:] == ["rose/1.png", "rose/3.dat", "rose/IMG_0002"]
    assert ds["image"].htype == dl.Image("auto")
    assert [s.path for s in ds.ingested.skipped] == ["rose/empty", "rose/notes.txt"]


def test_folder_of_images_without_suffixes_is_ingested(photos, url):
    folder = photos("1")
    assert dl.from_folder(folder, url)["path"][:] == ["1"]


def test_table_may_name_images_without_a_suffix(photos, url):
    folder = photos("1.png", "2", "2.txt")
    (folder / "2.txt").write_text("text")
    (folder / "t.csv").write_text("file,label\n1,rose\n2,lily\n")
    ds = dl.from_folder(folder, url, labels="t.csv", progress=False)
    assert ds["path"][:] == ["1.png", "2"]


def test_pipe_in_a_folder_is_never_opened(photos, url):
    folder = photos("1.png")
    os.mkfifo(folder / "2.png")
    os.mkfifo(folder / "pipe")
    ds = dl.from_folder(folder, url, progress=False)
    assert ds["path"][:] == ["1.png"]
    assert [str(s) for s in ds.ingested.skipped] == [
        "2.png: it is not a regular file",
        "pipe: it is not a regular file",
    ]


@pytest.mark.parametrize("label", ["image", "path", "split"])
def test_labels_have_a_column_of_their_own(photos, label):
    folder = photos("train/rose/1.png", "train/lily/1.png", "val/rose/1.png", "val/lily/1.png")
    (folder / "l.csv").write_text(f"file_name,{label}\ntrain/rose/1.png,a\nval/rose/1.png,b\n")
    for options in ({}, {"labels": "l.csv"}):
        with pytest.raises(
            dl.OptionError, match=f"the names of the folder's other columns, but it is '{label}'"
        ):
            dl.from_folder(folder, "memory://label-twice", label=label, **options)


def test_labels_may_be_called_split_if_there_are_no_splits(photos):
    ds = dl.from_folder(photos("rose/1.png", "lily/1.png"), "memory://label-split", label="split")
    assert ds["split"].names == ("lily", "rose")
