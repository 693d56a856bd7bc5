"""Pipes, links and empty values where files are expected."""

import os
from io import BytesIO
from uuid import uuid4

import pytest
from PIL import Image as Pillow

import deeplake_lite as dl


def url():
    return f"memory://{uuid4().hex}"


@pytest.fixture
def folder(tmp_path):
    """A folder of two images, in one folder per class."""
    file = BytesIO()
    Pillow.new("RGB", (4, 3)).save(file, "PNG")
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "1.png").write_bytes(file.getvalue())
    return tmp_path


@pytest.mark.parametrize("read", [dl.from_csv, dl.from_parquet])
def test_pipe_in_place_of_a_table_does_not_block(read, tmp_path):
    os.mkfifo(tmp_path / "t.csv")
    with pytest.raises(
        dl.InvalidValueError, match="must be a regular file, but it is a pipe or device"
    ):
        read(tmp_path / "t.csv", url())
    for everything in (tmp_path, tmp_path / "*.csv"):
        with pytest.raises(dl.NotFoundError):
            read(everything, url())


@pytest.mark.parametrize(
    "make",
    [
        lambda path: os.mkfifo(path),
        lambda path: path.symlink_to(path.name),
        lambda path: path.symlink_to("nowhere.png"),
        lambda path: path.symlink_to("/dev/zero"),
    ],
    ids=["pipe", "link to itself", "link to nothing", "link to a device"],
)
def test_special_file_in_a_folder_is_skipped_and_named(make, folder):
    make(folder / "a" / "odd.png")
    ds = dl.from_folder(folder, url(), on_error="skip")
    assert ds["path"][:] == ["a/1.png", "b/1.png"]
    assert [skipped.path for skipped in ds.ingested.skipped] == ["a/odd.png"]


def test_link_to_a_parent_folder_does_not_loop(folder):
    (folder / "a" / "loop").symlink_to("..")
    assert len(dl.from_folder(folder, url())) == 2


def test_folder_without_files_is_refused(tmp_path):
    with pytest.raises(dl.InvalidValueError, match=r"no images .* below '[^']*'\. Check"):
        dl.from_folder(tmp_path, url())


def test_empty_path_in_a_table_is_null(folder):
    (folder / "t.csv").write_text("image,link,y\n,,1\na/1.png,a/1.png,2\n")
    schema = {
        "image": dl.Image("png", nullable=True),
        "link": dl.Link("image", nullable=True),
    }
    ds = dl.from_csv(folder / "t.csv", url(), schema=schema)
    assert [image is None for image in ds["image"][:]] == [True, False]


@pytest.mark.parametrize(
    ("dtype", "text", "value"), [("float16", "1.5", 1.5), ("timedelta64[M]", "5", "5 months")]
)
def test_dtypes_that_arrow_cannot_parse_from_strings_are_read(dtype, text, value, tmp_path):
    (tmp_path / "t.csv").write_text(f"x\n{text}\n")
    ds = dl.from_csv(tmp_path / "t.csv", url(), schema={"x": dtype})
    assert str(ds["x"][0]) == str(value)


def test_invalid_complex_number_string_is_our_error(tmp_path):
    (tmp_path / "t.csv").write_text("x\n1+2i\n")
    with pytest.raises(dl.InvalidValueError, match="column 'x'"):
        dl.from_csv(tmp_path / "t.csv", url(), schema={"x": "complex64"})
