"""All frameworks get the same bits, apart from documented dtype conversions."""

import numpy as np
import pytest

from deeplake_lite.loader.frameworks.jax import NARROW

from .frameworks import SCHEMA, columns

NUMBERS = ("image", "label", "count", "x", "wide", "score")
RAGGED = ("photo", "boxes", "maybe", "tokens")
TEXT = ("text", "note")


@pytest.fixture
def lake(make_lake):
    return make_lake(SCHEMA, **columns())


def bits(array):
    """Return dtype, shape and bytes of an array."""
    array = np.asarray(array)
    return array.dtype.name, array.shape, array.tobytes()


@pytest.mark.parametrize("last", ["uneven", "pad"])
def test_batches_are_bit_equal_in_numpy_tensorflow_and_jax(lake, last):
    options = {"shuffle": True, "seed": 3, "row_ids": True, "last": last}
    batches = zip(
        lake.batches(4, **options), lake.tensorflow(4, **options), lake.jax(4, **options),
        strict=True,
    )  # fmt: skip
    seen = 0
    for batch, tensors, arrays in batches:
        seen += 1
        for name in [*NUMBERS, "score_valid", *(["_padding"] if last == "pad" else [])]:
            value = batch[name]
            assert bits(tensors[name].numpy()) == bits(value)
            assert bits(arrays[name]) == bits(value.astype(NARROW.get(value.dtype, value.dtype)))
        for name in RAGGED:
            for row, value in enumerate(batch[name]):
                if value is None:
                    assert not tensors["maybe_valid"][row]
                    assert not arrays["maybe_valid"][row]
                    continue
                value = np.asarray(value, tensors[name].dtype.as_numpy_dtype)
                tensor = tensors[name][row]
                tensor = tensor.to_tensor() if hasattr(tensor, "to_tensor") else tensor
                assert bits(tensor.numpy()) == bits(value)
                part = np.asarray(arrays[name][row])[tuple(map(slice, value.shape))]
                assert bits(part) == bits(value)
                assert arrays[f"{name}_mask"][row].sum() == np.prod(
                    value.shape[: arrays[f"{name}_mask"].ndim - 1]
                )
        for name in TEXT:
            assert arrays[name] == batch[name]
            assert tensors[name].numpy().tolist() == [(v or "").encode() for v in batch[name]]
        assert bits(tensors["_row_id"].numpy()) == bits(batch["_row_id"])
        assert arrays["_row_id"] == batch["_row_id"].tolist()
    assert seen == 3
