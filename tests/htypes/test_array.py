from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import deeplake_lite as dl
from deeplake_lite.errors import DamagedError, InvalidValueError, SchemaError
from deeplake_lite.htypes import Array, Dense, Mask, Ragged, Sequence
from deeplake_lite.testing.htypes import check_config, check_encode_decode, check_refuses

CODECS = [None, "zstd", "lz4", "blosc"]


@pytest.mark.parametrize("codec", CODECS)
@given(data=st.data())
def test_ragged_arrays_round_trip(codec, data):
    dtype = data.draw(st.sampled_from(["uint8", "bool", "float16", "int64", "complex64"]))
    ndim = data.draw(st.integers(1, 3))
    shapes = hnp.array_shapes(min_dims=ndim, max_dims=ndim, min_side=0, max_side=3)
    values = data.draw(st.lists(hnp.arrays(dtype, shapes), min_size=1, max_size=3))
    htype = Array(dtype, (None,) * ndim, codec)
    check_config(htype)
    decoded = check_encode_decode(htype, values)
    assert [value.shape for value in decoded] == [value.shape for value in values]


@pytest.mark.parametrize("codec", CODECS)
def test_arrays_of_any_rank_round_trip(codec):
    htype = Array("int16", None, codec)
    check_config(htype)
    values = [np.arange(6).reshape(2, 3), [4], np.zeros((1, 0, 2)), [[[5]]], 3]
    decoded = check_encode_decode(htype, values, [np.asarray(v, "int16") for v in values])
    assert [value.shape for value in decoded] == [(2, 3), (1,), (1, 0, 2), (1, 1, 1), ()]
    assert htype.encode(values).shapes[1].tolist() == [1, -1, -1, -1, -1, -1, -1, -1]


def test_arrays_have_at_most_eight_dimensions():
    value = np.zeros((1,) * 9, "int16")
    check_refuses(Array("int16", None), value, r"must have at most 8 axes, but .*\(1, 1")


LONG = np.zeros((0, 2**31), "uint8")
TAKE_LONG = {
    "any sizes": (Array("uint8", (None, None)), LONG),
    "any axes": (Array("uint8", None), LONG),
    "encoded": (Array("uint8", (None, None), "zstd"), LONG),
    "items": (Sequence(Array("uint8", (None, None))), [LONG]),
    "masks": (Mask("instance"), LONG[..., np.newaxis]),
}


@pytest.mark.parametrize("name", TAKE_LONG)
def test_dimension_beyond_32_bits_is_refused_even_if_empty(new_url, name):
    htype, value = TAKE_LONG[name]
    ds = dl.create(new_url(), {"x": replace(htype, nullable=True)})
    ds.append({"x": [None]})
    match = "row 1: .*an axis must have at most 2,147,483,647 elements, but the shape is"
    with pytest.raises(InvalidValueError, match=match):
        ds.append({"x": [None, value]})
    with pytest.raises(InvalidValueError, match="an axis must have at most 2,147,483,647 elements"):
        ds["x"][0] = value
    assert ds["x"][:] == [None]


def test_dimension_beyond_32_bits_is_refused_during_type_inference(new_url):
    with pytest.raises(InvalidValueError, match="row 1: an axis must have at most 2,147,483,647"):
        dl.from_arrays({"x": [LONG[:, 1:], LONG]}, new_url(), progress=False)


@pytest.mark.parametrize("dtype", ["uint8", "float32", "datetime64[s]"])
def test_arrays_of_one_shape_are_dense(dtype):
    htype = Array(dtype, (2, 3))
    block = np.arange(24).reshape(4, 2, 3).astype(dtype)
    check_config(htype)
    check_encode_decode(htype, block)
    check_encode_decode(htype, list(block))
    assert htype.layout == Dense("int64" if "time" in dtype else dtype, (2, 3))


def test_codec_makes_even_a_fixed_shape_ragged():
    assert Array("uint8", (2, 3), codec="zstd").layout == Ragged("uint8", 2)


def test_ragged_times_round_trip():
    values = [np.array(["2026-01-02", "NaT"], "datetime64[D]"), ["2026-01-03"], []]
    check_encode_decode(Array("datetime64[s]", (None,)), values)


def test_lists_and_other_memory_layouts_round_trip():
    fortran = np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3))
    values = [fortran, fortran[::-1, ::2], [[1, 2]], []]
    expected = [fortran, fortran[::-1, ::2], [[1, 2]], np.zeros((0, 0))]
    check_encode_decode(Array("int32", (None, None)), values, expected)


def test_large_arrays_are_not_copied():
    large = np.zeros((1024, 1024), "float32")
    assert np.shares_memory(Array("float32", (None, None)).encode([large]).buffers[0], large)


def test_decoded_arrays_are_writable_and_share_no_memory():
    htype = Array("uint8", (None,))
    cells = htype.encode([[1, 2]])
    value = htype.decode(cells.buffers[0], (2,))
    value[0] = 9
    assert htype.decode(cells.buffers[0], (2,)).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("shape", "bad", "match"),
    [
        ((None, 3), [1, 2, 3], r"must have shape \(…, 3\), but it has \(3,\). Reshape it"),
        ((None, 3), np.zeros((2, 4)), r"must have shape \(…, 3\), but it has \(2, 4\)"),
        ((2,), [1, 2, 3], r"must have shape \(2,\), but it has \(3,\)"),
        ((None,), 5, r"must have shape \(…,\), but it has \(\)"),
        (
            (None, None),
            [[1], [1, 2]],
            "must be an array .*but it is list .lists of different lengths",
        ),
        ((None,), ["a"], "must be float32, but it is str 'a'. Convert it to float32 first"),
        ((None,), "abc", r"must be float32 of shape \(…,\), but it is str 'abc'"),
        ((None,), [1e39], "float32 holds at most"),
        ((2,), [1, None], "must be float32, but it is NoneType None"),
        ((None,), object(), "must be float32 of shape"),
    ],
)
def test_error_names_the_row_and_both_shapes(shape, bad, match):
    check_refuses(Array("float32", shape), bad, match)


def test_row_of_one_wrong_shape_in_a_dense_block_is_found():
    values = [np.zeros(2)] * 700 + [np.zeros(3)]
    with pytest.raises(
        InvalidValueError, match=r"^row 700: must have shape \(2,\), but it has \(3,\)"
    ):
        Array("float32", (2,)).encode(values)
    with pytest.raises(
        InvalidValueError, match=r"^row 0: must have shape \(2,\), but it has \(3,\)"
    ):
        Array("float32", (2,)).encode(np.zeros((700, 3)))


@pytest.mark.parametrize(
    "shape", [(), (0,), (-1,), (1.5,), ("a",), "ab", (True,), (None,) * 33, (2**20, 2**20), 0]
)
def test_invalid_shapes_are_schema_errors(shape):
    with pytest.raises(SchemaError, match=r"shape must be a tuple|at most 2 GiB"):
        Array("float32", shape)


def test_image_codecs_are_refused():
    with pytest.raises(
        SchemaError,
        match="codec of an array must be 'raw', 'zstd', 'lz4' or 'blosc', but it is 'jpeg'",
    ):
        Array("uint8", (None,), codec="jpeg")


@pytest.mark.parametrize("codec", CODECS)
def test_bytes_of_the_wrong_size_are_damaged(codec):
    htype = Array("float32", (None, 3), codec)
    with pytest.raises(DamagedError):
        htype.decode(b"12345", (1, 3))


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint64", "int64", "float32", "complex64"])
@pytest.mark.parametrize(
    "numbers",
    [
        [True, False],
        [1, 2],
        [True, 2],
        [-1, 2],
        [2**63, 1],
        [2**64, 1],
        [2**63, -1],
        [np.uint64(2**63), np.int64(1)],
        [1, 2.5],
        [1, 2j],
        [np.float32(1.5), 2],
        [1, 10**400],
        [1, 10**400, 0.5],
        [1, 10**400, 1j],
    ],
    ids=lambda numbers: str(numbers)[:20],
)
def test_lists_and_arrays_of_python_numbers_are_stored_exactly_or_refused(dtype, numbers):
    """pandas creates such arrays; NumPy turns a list with integers beyond int64 into floats."""
    target = np.dtype(dtype)
    as_objects = np.empty(len(numbers), object)
    as_objects[:] = numbers
    for value in (numbers, as_objects):
        fits = all(_holds(target, number) for number in numbers)
        try:
            array = Array(dtype, (None,)).encode([value])
        except InvalidValueError:
            assert not fits
            continue
        assert fits
        read = np.frombuffer(array.buffers[0], dtype)
        exact = target.kind in "biu"
        assert read.tolist() == (numbers if exact else np.array(numbers, dtype).tolist())


def _holds(dtype, number):
    """Tell whether a dtype holds a Python or NumPy number."""
    kinds = {"b": bool, "i": int | np.integer, "u": int | np.integer}
    kinds |= {"f": int | float | np.integer | np.floating, "c": int | float | complex | np.number}
    if not isinstance(number, kinds[dtype.kind]):
        return False
    if dtype.kind in "iu":
        return np.iinfo(dtype).min <= number <= np.iinfo(dtype).max
    return dtype.kind == "b" or abs(number) <= float(np.finfo(dtype).max)
