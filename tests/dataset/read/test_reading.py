"""Error messages for cells whose stored bytes cannot be read."""

import io

import numpy as np
import pytest
from PIL import Image

import deeplake_lite as dl

ROWS, BAD = 150, 70  # enough to fill a chunk, which is not compressed


def jpeg(number):
    data = io.BytesIO()
    noise = np.random.default_rng(number).integers(0, 255, (200, 200), "uint8")
    Image.fromarray(noise).save(data, "jpeg", quality=95)
    return data.getvalue()


@pytest.fixture
def ds(tmp_path):
    """A lake in which one image has lost its first bytes."""
    schema = {"x": "int32", "image": dl.Image("jpeg"), "frames": dl.Sequence(dl.Image("jpeg"))}
    ds = dl.create(str(tmp_path / "damaged.lake"), schema)
    files = [jpeg(i) for i in range(ROWS)]
    ds.append({"x": range(ROWS), "image": files, "frames": [[f, f] for f in files]})
    ds.commit("pictures")
    for chunk in (tmp_path / "damaged.lake" / "chunks").iterdir():
        data = chunk.read_bytes()
        chunk.write_bytes(data.replace(files[BAD], bytes(len(files[BAD]))))
    return dl.open(ds.url)


@pytest.mark.parametrize(
    "read",
    [
        lambda ds: ds[BAD],
        lambda ds: ds["image"][BAD],
        lambda ds: ds["image"][BAD - ROWS],
        lambda ds: ds["image"][:],
        lambda ds: ds["image"][[3, BAD, 5]],
        lambda ds: list(ds),
        lambda ds: list(ds["image"]),
    ],
)
def test_damaged_cell_is_reported_by_column_and_row(ds, read):
    with pytest.raises(dl.DamagedError, match=r"^column 'image', row 70: .*ds\.verify\(\)"):
        read(ds)


def test_damaged_item_is_reported_by_row(ds):
    with pytest.raises(dl.DamagedError, match="column 'frames', row 70: "):
        ds["frames"][:]


def test_view_reports_its_own_row_numbers(ds):
    with pytest.raises(dl.DamagedError, match="column 'image', row 10 of the view: "):
        ds[60:90]["image"][:]


def test_undamaged_rows_and_columns_can_be_read(ds):
    assert ds["x"][BAD] == BAD
    assert len(ds["image"][:BAD]) == BAD
    assert ds[BAD + 1]["image"].shape == (200, 200)
