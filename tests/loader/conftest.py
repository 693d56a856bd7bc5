"""Lakes shared by the tests of the loader."""

from __future__ import annotations

import numpy as np
import pytest

import deeplake_lite as dl

ROWS = 40


@pytest.fixture
def ds(make_lake):
    """Make a lake of 40 rows: x is the row's number."""
    rng = np.random.default_rng(0)
    schema = {
        "x": "int32",
        "image": dl.Image("png"),
        "boxes": dl.Boxes("xyxy"),
        "note": dl.Text(nullable=True),
        "score": dl.Scalar("float32", nullable=True),
        "tags": dl.Sequence(dl.Text()),
    }
    return make_lake(
        schema,
        x=range(ROWS),
        image=[rng.integers(0, 255, (24, 32, 3), "uint8") for _ in range(ROWS)],
        boxes=[[[1, 2, 3, 4]] * (i % 3) for i in range(ROWS)],
        note=[None if i % 5 == 0 else f"note {i}" for i in range(ROWS)],
        score=[None if i % 4 == 0 else i / 2 for i in range(ROWS)],
        tags=[["a", "b"][: i % 3] for i in range(ROWS)],
    )


@pytest.fixture
def numbers(make_lake):
    """Make a lake of 40 numbers."""
    return make_lake({"x": "int32"}, x=range(ROWS))


@pytest.fixture(scope="session")
def digits(tmp_path_factory):
    """1,797 images of 8 × 8 pixels from 0 to 16, in a folder that other processes can open."""
    from sklearn.datasets import load_digits  # imported in seconds, and only for a few tests

    result = load_digits()
    schema = {
        "image": dl.Array("uint8", (8, 8)),
        "label": dl.ClassLabel([str(i) for i in range(10)]),
    }
    ds = dl.create(str(tmp_path_factory.mktemp("lakes") / "digits.lake"), schema)
    ds.append({"image": result.images.astype("uint8"), "label": result.target})
    ds.commit("scikit-learn's digits")
    return ds
