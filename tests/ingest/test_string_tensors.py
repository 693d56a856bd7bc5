"""String tensors of TensorFlow, which hold bytes: as columns, and row by row beside nulls."""

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import InvalidValueError

CONTENTS = [b"one", b"caf\xe9", b""]


@pytest.fixture(params=["tensorflow", "numpy"])
def scalar(request):
    """Return a function from bytes to an array without axes that holds them."""
    if request.param == "numpy":
        return lambda content: np.array(content, object)
    import tensorflow as tf  # seconds, which only these cases need

    return tf.constant


@pytest.mark.parametrize("nulls", [[], [None]], ids=["no null", "a null"])
def test_string_tensors_of_rows_become_bytes(new_url, scalar, nulls):
    ds = dl.from_arrays({"c": [*map(scalar, CONTENTS), *nulls]}, new_url())
    assert ds.schema["c"].htype == dl.Bytes(nullable=bool(nulls))
    assert list(ds["c"][:]) == [*CONTENTS, *nulls]


def test_string_tensors_are_appended_to_a_column_of_bytes(new_url, scalar):
    ds = dl.create(new_url(), {"c": dl.Bytes(nullable=True)})
    ds.append({"c": [scalar(b"a"), None]})
    assert list(ds["c"][:]) == [b"a", None]


def test_string_tensor_in_a_column_of_text_says_how_to_decode_it(new_url, scalar):
    ds = dl.create(new_url(), {"c": dl.Text(nullable=True)})
    with pytest.raises(
        InvalidValueError, match=r"Decode it: np\.asarray\(value\)\.item\(\)\.decode\(\)"
    ):
        ds.append({"c": [scalar(b"a"), None]})
