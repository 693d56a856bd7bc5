from __future__ import annotations

import threading
import tracemalloc

import numcodecs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from deeplake_lite import codecs
from deeplake_lite.codecs.blosc import Blosc
from deeplake_lite.codecs.lz4 import Lz4
from deeplake_lite.codecs.raw import Raw
from deeplake_lite.codecs.zstd import Zstd
from deeplake_lite.errors import DamagedError, InvalidValueError, SchemaError
from deeplake_lite.testing.codecs import check_config, check_encode_decode, check_refuses, damage

CODECS = [Raw(), Zstd(), Lz4(), Blosc()]
VARIANTS = [
    *CODECS,
    Zstd(-7),
    Zstd(level=19),
    Lz4(acceleration=100),
    Blosc("lz4", 9, "bit"),
    Blosc("lz4hc", shuffle="none"),
    Blosc("blosclz", level=1),
    Blosc("zlib"),
    Blosc(level=0),
]
DTYPES = [
    "bool",
    "int8",
    "uint16",
    "int32",
    "uint64",
    "float16",
    "float32",
    "float64",
    "complex64",
    "M8[ns]",
    "m8[s]",
]
NUMBERS = np.tile(np.array([[1, -2, 3], [4, 5, -60_000]], "int32"), (1, 20))
GOLDEN = {
    "zstd": "28b52ffd64e000150100c001000000feffffff030000000400000005000000a015ffff02006140a5f0a9"
    "92042fe24ffb",
    "lz4": "e0010000cf01000000feffffff030000000c00d1cf0400000005000000a015ffff0c00cc5000a015ffff",
    "blosc": "02019104e0010000e001000043000000140000002b00000028b52ffd60e0000d01005801fe030405a0"
    "00ff00001507001452001012680f123838f1c1390cce614f3704",
}
"""`NUMBERS` as release 0.1 wrote them."""


@pytest.mark.parametrize("codec", VARIANTS, ids=repr)
def test_configuration_round_trips(codec):
    check_config(codec)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (Zstd, {"level": 23}, "level of 'zstd' must be an integer from -7 to 22, but it is 23"),
        (Lz4, {"acceleration": 0}, "acceleration of 'lz4' must be an integer from 1 to 65537"),
        (Blosc, {"level": 10}, "level of 'blosc' must be an integer from 0 to 9"),
        (Blosc, {"compressor": "snappy"}, "compressor of 'blosc' must be 'zstd', 'lz4'"),
        (Blosc, {"shuffle": 1}, "shuffle of 'blosc' must be 'none', 'byte' or 'bit', but it is 1"),
    ],
)
def test_configuration_out_of_range_is_refused(kind, options, message):
    with pytest.raises(SchemaError, match=message):
        kind(**options)


@pytest.mark.parametrize("codec", VARIANTS, ids=repr)
def test_all_dtypes_round_trip(codec):
    rng = np.random.default_rng(0)
    values = rng.integers(0, 100, (17, 5))
    check_encode_decode(codec, [values.astype(dtype) for dtype in DTYPES])


@pytest.mark.parametrize("codec", VARIANTS, ids=repr)
def test_all_shapes_round_trip(codec):
    shapes = [(), (1,), (0,), (3, 0, 2), (1, 1, 1, 1), (2, 3, 4, 5)]
    check_encode_decode(codec, [np.full(shape, 7, "float32") for shape in shapes])


@pytest.mark.parametrize("codec", VARIANTS, ids=repr)
def test_large_array_round_trips(codec):
    large = np.random.default_rng(0).integers(0, 1000, (1 << 18,), "int32")
    check_encode_decode(codec, [large])


@given(
    st.sampled_from(VARIANTS),
    arrays.arrays(
        arrays.scalar_dtypes().filter(lambda dtype: dtype.itemsize <= 8),
        arrays.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=9),
    ),
)
def test_random_arrays_round_trip(codec, array):
    check_encode_decode(codec, [array])


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_non_numeric_values_are_refused(codec):
    check_refuses(codec, [np.array(["a"]), np.array([{}]), np.zeros(2, [("x", "i4")])])


@pytest.mark.parametrize("codec", [Lz4(), Blosc()], ids=repr)
def test_more_than_2_gib_are_refused_where_the_format_has_that_limit(codec):
    huge = np.broadcast_to(np.zeros(1, "uint8"), (1 << 31,))
    with pytest.raises(
        InvalidValueError, match=r"but it has 2,147,483,648 bytes\. Use the codec 'zstd'\."
    ):
        codec.encode(huge)


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_bytes_of_the_wrong_size_are_damage(codec):
    data = bytes(codec.encode(NUMBERS))
    for shape in ((2, 59), (2, 61), (0,), (1 << 20, 1 << 10)):
        with pytest.raises(DamagedError, match=r"Restore the cell from a backup\.$"):
            codec.decode(data, shape, NUMBERS.dtype)
    for wrong in (b"", data[:-1], data[:10], data + b"\0", bytes(100)):
        with pytest.raises(DamagedError, match=r"Restore the cell from a backup\.$"):
            codec.decode(wrong, NUMBERS.shape, NUMBERS.dtype)


@pytest.mark.parametrize("codec", CODECS, ids=repr)
def test_empty_array_is_encoded_as_no_bytes(codec):
    assert bytes(codec.encode(np.zeros((3, 0)))) == b""
    with pytest.raises(DamagedError, match="takes 0 bytes"):
        codec.decode(b"\0", (3, 0), np.dtype("float64"))


@pytest.mark.parametrize("codec", VARIANTS, ids=repr)
def test_damage_raises_only_our_error(codec):
    data = bytes(codec.encode(NUMBERS))
    for wrong in damage(data, seed=0, times=500):
        try:
            decoded = codec.decode(wrong, NUMBERS.shape, NUMBERS.dtype)
        except DamagedError:
            continue
        assert (decoded.shape, decoded.dtype) == (NUMBERS.shape, NUMBERS.dtype)


def test_zstd_detects_every_flipped_bit():
    data = Zstd().encode(NUMBERS)
    for bit in range(8 * len(data)):
        wrong = bytearray(data)
        wrong[bit // 8] ^= 1 << bit % 8
        try:
            decoded = Zstd().decode(wrong, NUMBERS.shape, NUMBERS.dtype)
        except DamagedError:
            continue
        np.testing.assert_array_equal(decoded, NUMBERS)


@given(st.sampled_from(VARIANTS), st.binary(max_size=200), st.integers(1, 300))
def test_noise_raises_only_our_error(codec, noise, size):
    if codec.name == "raw" and len(noise) == size:
        return
    with pytest.raises(DamagedError):
        codec.decode(noise, (size,), np.dtype("uint8"))


@pytest.mark.parametrize(
    ("codec", "bomb"),
    [
        (Zstd(), bytes(Zstd().encode(np.zeros(1 << 26, "uint8")))),
        (Lz4(), (1 << 30).to_bytes(4, "little") + bytes(100)),
        (Blosc(), bytes(Blosc().encode(np.zeros(1 << 26, "uint8")))),
    ],
    ids=repr,
)
def test_decompression_bomb_allocates_no_memory(codec, bomb):
    tracemalloc.start()
    with pytest.raises(DamagedError, match="takes 100 bytes, but the"):
        codec.decode(bomb, (100,), np.dtype("uint8"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 20


def test_numcodecs_reads_our_output():
    for codec, theirs in (
        (Zstd(), numcodecs.Zstd()),
        (Lz4(), numcodecs.LZ4()),
        (Blosc(), numcodecs.Blosc()),
    ):
        assert theirs.decode(codec.encode(NUMBERS)) == NUMBERS.tobytes()


@pytest.mark.parametrize(("name", "data"), GOLDEN.items(), ids=list(GOLDEN))
def test_output_of_older_releases_is_read(name, data):
    codec = codecs.get(name)
    np.testing.assert_array_equal(
        codec.decode(bytes.fromhex(data), NUMBERS.shape, NUMBERS.dtype), NUMBERS, strict=True
    )


def test_blosc_output_does_not_depend_on_the_thread():
    large = np.random.default_rng(0).normal(size=1 << 19)
    written = [Blosc().encode(large)]
    thread = threading.Thread(target=lambda: written.append(Blosc().encode(large)))
    thread.start()
    thread.join()
    assert written[0] == written[1] == Blosc().encode(large)


def test_raw_copies_only_small_arrays():
    small, large = np.zeros(10, "uint8"), np.zeros(1 << 21, "uint8")
    assert not np.shares_memory(np.frombuffer(Raw().encode(small), "uint8"), small)
    assert np.shares_memory(np.frombuffer(Raw().encode(large), "uint8"), large)
