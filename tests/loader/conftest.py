"""A lake that models learn from."""

import pytest
from sklearn.datasets import load_digits

import deeplake_lite as dl


@pytest.fixture(scope="session")
def digits(tmp_path_factory):
    """1,797 pictures of 8 × 8 pixels from 0 to 16, in a folder that other processes can open."""
    found = load_digits()
    schema = {
        "image": dl.Array("uint8", (8, 8)),
        "label": dl.ClassLabel([str(i) for i in range(10)]),
    }
    ds = dl.create(str(tmp_path_factory.mktemp("lakes") / "digits.lake"), schema)
    ds.append({"image": found.images.astype("uint8"), "label": found.target})
    ds.commit("scikit-learn's digits")
    return ds
