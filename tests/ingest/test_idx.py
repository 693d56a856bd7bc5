"""IDX files, such as those of MNIST, are ingested."""

from __future__ import annotations

import gzip
import struct

import numpy as np
import pytest
from torchvision.datasets.mnist import read_image_file, read_label_file

import deeplake_lite as dl
from deeplake_lite.errors import InvalidValueError, NotFoundError, OptionError

CODES = {"u1": 8, "i1": 9, ">i2": 11, ">i4": 12, ">f4": 13, ">f8": 14}


def idx(array, kind="u1"):
    array = np.asarray(array, kind)
    header = struct.pack(f">HBB{array.ndim}I", 0, CODES[kind], array.ndim, *array.shape)
    return header + array.tobytes()


IMAGES = np.random.default_rng(0).integers(0, 255, (5, 4, 3), np.uint8)


@pytest.fixture
def mnist(tmp_path):
    """Write files named like those of MNIST, some of them compressed."""
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(IMAGES))
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx([1, 0, 2, 1, 0]))
    (tmp_path / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(IMAGES[:2])))
    (tmp_path / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx([2, 1])))
    return tmp_path


@pytest.fixture
def ingest(new_url):
    return lambda files, **options: dl.from_idx(files, new_url(), progress=False, **options)


def test_images_and_labels_are_paired(mnist, ingest):
    (mnist / "README").write_text("x")
    ds = ingest(mnist, classes=["a", "b", "c"])
    assert {f.name: f.htype for f in ds.schema} == {
        "image": dl.Image("png"), "label": dl.ClassLabel(["a", "b", "c"]),
        "split": dl.ClassLabel(["test", "train"]),
    }  # fmt: skip
    assert ds["split"][:].tolist() == [0] * 2 + [1] * 5
    assert ds["label"][:].tolist() == [2, 1, 1, 0, 2, 1, 0]
    for row, image in enumerate([*IMAGES[:2], *IMAGES]):
        np.testing.assert_array_equal(ds["image"][row], image)
    assert [s.reason for s in ds.ingested.skipped] == ["its name is not the name of an IDX file"]


def test_torchvision_reads_the_same(mnist, ingest):
    files = [mnist / f"train-{name}-ubyte" for name in ("images-idx3", "labels-idx1")]
    ds = ingest(files)
    assert ds.columns == ("image", "label")
    images, labels = read_image_file(str(files[0])), read_label_file(str(files[1]))
    assert ds["label"][:].tolist() == labels.tolist()
    np.testing.assert_array_equal(np.stack([ds["image"][i] for i in range(5)]), images.numpy())
    assert ds["label"].names == ("0", "1", "2")


def test_names_of_emnist_are_understood(tmp_path, ingest):
    for split in ("train", "test"):
        (tmp_path / f"emnist-letters-{split}-images-idx3-ubyte").write_bytes(idx(IMAGES))
        (tmp_path / f"emnist-letters-{split}-labels-idx1-ubyte").write_bytes(idx([0] * 5))
    ds = ingest(tmp_path)
    assert ds["split"].names == ("test", "train")
    assert len(ds) == 10


@pytest.mark.parametrize("kind", CODES)
def test_other_arrays_are_arrays(tmp_path, ingest, kind):
    array = np.arange(6).reshape(2, 3)
    (tmp_path / "data.idx").write_bytes(idx(array, kind))
    ds = ingest(tmp_path / "data.idx")
    assert ds.schema["values"].htype == dl.Array(np.dtype(kind).name, (3,))
    np.testing.assert_array_equal(ds["values"][:], array)


def test_pixels_can_be_stored_as_arrays(mnist, ingest):
    ds = ingest(mnist, schema={"image": dl.Array("uint8", (4, 3))})
    np.testing.assert_array_equal(ds["image"][2:], IMAGES)


def test_headers_are_checked(mnist, ingest):
    def refused(data, message, name="train-images-idx3-ubyte"):
        (mnist / name).write_bytes(data)
        with pytest.raises(InvalidValueError, match=message):
            ingest(mnist)

    refused(idx(IMAGES)[:-1], "must have 76 bytes for shape .* but it has 75")
    refused(idx(IMAGES) + b"x", "must have 76 bytes")
    refused(struct.pack(">HBB3I", 0, 8, 3, 2**32 - 1, 2**32 - 1, 2**32 - 1), "must have")
    refused(b"\0\0\x07\x01\0\0\0\1", "Check that it is an IDX file")
    refused(b"\0", "cannot be read")
    refused(idx(IMAGES[:4]), "'image': 4, 'label': 5")
    (mnist / "train-images-idx3-ubyte").write_bytes(idx(IMAGES))
    whole = struct.pack(">HBB3I", 0, 8, 3, 2, 2**15, 2**16) + b"x"
    refused(gzip.compress(whole), "max_bytes|cannot be read", "t10k-images-idx3-ubyte.gz")


def test_files_without_a_partner_and_labels_without_a_class_are_refused(mnist, ingest):
    with pytest.raises(InvalidValueError, match="each label from 0 to 2, but it has 2 names"):
        ingest(mnist, classes=["a", "b"])
    (mnist / "t10k-labels-idx1-ubyte.gz").unlink()
    with pytest.raises(InvalidValueError, match="'test' has no file of labels"):
        ingest(mnist)
    with pytest.raises(OptionError, match="distinct names"):
        ingest(mnist, classes=["a", "a"])
    with pytest.raises(NotFoundError):
        ingest(mnist / "nothing")


def test_second_run_adds_nothing(mnist, new_url):
    url = new_url()
    assert dl.from_idx(mnist, url, progress=False).ingested.added == 7
    assert dl.from_idx(mnist, url, progress=False).ingested.added == 0


@pytest.mark.parametrize("kind", ["int", "float"])
def test_names_of_other_dtypes_are_known(tmp_path, new_url, kind):
    values = IMAGES.astype(">i4" if kind == "int" else ">f4")
    (tmp_path / f"train-images-idx3-{kind}").write_bytes(idx(values, values.dtype.str))
    (tmp_path / "train-labels-idx1-int").write_bytes(idx([1, 0, 2, 1, 0], ">i4"))
    ds = dl.ingest(tmp_path, new_url(), progress=False)
    np.testing.assert_array_equal(ds["image"][:], values)
    assert ds["label"][:].tolist() == [1, 0, 2, 1, 0]


def test_images_without_their_labels_are_not_ingested(tmp_path, ingest):
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(IMAGES))
    (tmp_path / "train.idx1").write_bytes(idx([1, 0, 2, 1, 0]))
    with pytest.raises(InvalidValueError, match="must contain 'images' or 'labels'"):
        ingest(tmp_path)
