"""A column accepts files of other formats and keeps its mode."""

import numpy as np
import pytest
from PIL import Image as Pillow

import deeplake_lite as dl


@pytest.fixture
def pngs(tmp_path):
    """Make a folder with one PNG file."""
    folder = tmp_path / "pngs"
    folder.mkdir()
    Pillow.fromarray(np.zeros((2, 3, 3), np.uint8)).save(folder / "a.png")
    return str(folder)


@pytest.fixture
def lake(url):
    """Return a function that makes a lake with one image in it."""

    def lake(htype):
        ds = dl.create(url, {"path": "text", "image": htype})
        ds.append({"path": ["first.jpg"], "image": [np.zeros((2, 3), np.uint8)]})
        ds.commit("one")
        return ds

    return lake


def test_files_in_another_format_are_written_to_a_column_with_a_quality(lake, pngs, url):
    lake(dl.Image("jpeg", quality=80))
    ds = dl.from_folder(pngs, url, labels=None)
    assert ds.schema["image"].htype == dl.Image()
    assert len(ds) == 2


def test_mode_other_than_the_columns_is_refused(lake, pngs, url):
    lake(dl.Image("jpeg", mode="L"))
    with pytest.raises(
        dl.SchemaError, match="has the type Image\\('jpeg', mode='L'\\), not Image\\('png'"
    ):
        dl.from_folder(pngs, url, labels=None, schema={"image": dl.Image("png", mode="RGB")})
    assert dl.open(url).schema["image"].htype == dl.Image("jpeg", mode="L")
