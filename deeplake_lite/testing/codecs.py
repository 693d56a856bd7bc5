"""Checks that every codec must pass. The tests of a codec call these functions.

Call `check_config` for a few configurations, `check_encode_decode` for arrays that the codec
accepts, and `check_refuses` for arrays that it rejects. For image formats, also call `check_file`
with files of all kinds, and `check_cut_short` and `check_damaged` with a few files.
"""

from __future__ import annotations

import json
import pickle
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from deeplake_lite import codecs
from deeplake_lite.codecs.base import Codec, Header, ImageCodec
from deeplake_lite.errors import DamagedError, InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray


def check_config(codec: Codec) -> None:
    """Check that a codec can be restored from its configuration, its repr and its pickle.

    >>> check_config(codecs.get("zstd", level=9))
    """
    config = json.loads(json.dumps(codec.get_config()))
    copies = (
        codecs.from_config(config),
        codecs.get(config),
        codecs.get(codec),
        eval(repr(codec), {type(codec).__name__: type(codec)}),
        pickle.loads(pickle.dumps(codec)),
    )
    for copy in copies:
        assert copy == codec, f"{copy!r} != {codec!r}"
        assert hash(copy) == hash(codec), f"{codec!r} and its copy have different hashes"
        assert copy.get_config() == config, f"{copy!r} != {config!r}"
    assert type(codecs.get(codec.name)) is type(codec), f"{codec.name!r} is not registered"


def check_encode_decode(
    codec: Codec, arrays: Iterable[NDArray[Any]], *, tolerance: float = 0.0
) -> None:
    """Check that decoding restores arrays, and that the bytes do not depend on memory layout.

    Parameters
    ----------
    codec : Codec
        Codec under test.
    arrays : iterable of ndarray
        Arrays that the codec accepts.
    tolerance : float
        Maximum mean difference that a lossy codec may cause.

    Examples
    --------
    >>> check_encode_decode(codecs.get("blosc"), [np.arange(6.0).reshape(2, 3)])
    """
    for array in arrays:
        data = bytes(codec.encode(array))
        for layout in _layouts(array):
            assert bytes(codec.encode(layout)) == data, f"{codec!r} depends on the memory layout"
        little = array.dtype.newbyteorder("<")
        for buffer in (data, bytearray(data), memoryview(data)):
            decoded = codec.decode(buffer, array.shape, array.dtype)
            assert (decoded.shape, decoded.dtype) == (array.shape, little), (
                f"{codec!r} decoded {little} {array.shape} to {decoded.dtype} {decoded.shape}"
            )
            _check_memory(decoded)
        if tolerance:
            difference = np.abs(decoded.astype(float) - array.astype(float)).mean()
            assert difference <= tolerance, f"{codec!r} changed pixels by {difference} on average"
        else:
            assert decoded.tobytes() == array.astype(little).tobytes(), f"{codec!r} changed numbers"
        if isinstance(codec, ImageCodec):
            assert codec.lossless == (not tolerance), f"`lossless` of {codec!r} is wrong"
            _check_header(codec, data, array)


def check_refuses(codec: Codec, arrays: Iterable[NDArray[Any]]) -> None:
    """Check that arrays are rejected with an error that names their dtype.

    >>> check_refuses(codecs.get("jpeg"), [np.zeros((2, 2), "uint16"), np.zeros((0, 2), "uint8")])
    """
    for array in arrays:
        try:
            codec.encode(array)
        except InvalidValueError as error:
            message = str(error)
            assert str(array.dtype) in message, message
            assert message.endswith("."), message
        else:
            raise AssertionError(f"{codec!r} accepted {array.dtype} of shape {array.shape}")


def check_file(codec: ImageCodec, data: bytes, expected: NDArray[Any]) -> None:
    """Check that `decode` returns the expected pixels, and `probe` their shape and dtype.

    >>> png = codecs.sniff(codecs.get("png").encode(np.eye(2, dtype="uint8")))
    >>> check_file(png, png.encode(np.eye(2, dtype="uint8")), np.eye(2, dtype="uint8"))
    """
    _check_header(codec, data, expected)
    decoded = codec.decode(data, (), expected.dtype)
    _check_memory(decoded)
    np.testing.assert_array_equal(decoded, expected, strict=True)


def check_cut_short(codec: ImageCodec, data: bytes, lengths: Iterable[int] | None = None) -> None:
    """Check that truncated files are rejected, at every length or at the given lengths.

    >>> bmp = codecs.sniff(b"BM")
    >>> check_cut_short(bmp, bmp.encode(np.eye(3, dtype="uint8")))
    """
    for length in range(len(data)) if lengths is None else lengths:
        _check_raises(codec.probe, InvalidValueError, data[:length])
        _check_raises(
            lambda cut: codec.decode(cut, (), np.dtype("uint8")), DamagedError, data[:length]
        )


def check_damaged(codec: ImageCodec, data: bytes, *, seed: int = 0, times: int = 100) -> None:
    """Check that damaged files raise only errors of this package.

    Parameters
    ----------
    codec : ImageCodec
        Codec under test.
    data : bytes
        A valid file.
    seed : int
        Seed of the damage.
    times : int
        Number of damaged copies. The kind of damage alternates: a flipped bit, random bytes,
        missing bytes, or noise after the first bytes.

    Examples
    --------
    >>> bmp = codecs.sniff(b"BM")
    >>> check_damaged(bmp, bmp.encode(np.eye(9, dtype="uint8")), times=20)
    """
    for wrong in damage(data, seed=seed, times=times):
        header = None
        with suppress(InvalidValueError):
            header = codec.probe(wrong)
        with suppress(DamagedError):
            decoded = codec.decode(wrong, (), np.dtype("uint8"))
            assert Header(decoded.shape, decoded.dtype.name) == header, (
                f"{codec!r} probed {header}, but decoded {decoded.shape}"
            )


def damage(data: bytes, *, seed: int, times: int) -> Iterator[bytes]:
    """Yield copies of the given bytes, with a few bytes changed, missing or replaced with noise.

    >>> len(list(damage(bytes(100), seed=0, times=7)))
    7
    """
    rng = np.random.default_rng(seed)
    for turn in range(times):
        wrong, at = bytearray(data), int(rng.integers(len(data)))
        match turn % 5:
            case 0:
                wrong[at] ^= 1 << int(rng.integers(8))
            case 1:  # headers are at the start
                wrong[at % 100 % len(data)] ^= int(rng.integers(1, 256))
            case 2:
                wrong[at : at + 8] = rng.bytes(8)
            case 3:
                del wrong[at : at + int(rng.integers(1, 50))]
            case _:
                wrong = wrong[: at % 64] + rng.bytes(200)
        yield bytes(wrong)


def _layouts(array: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """Yield arrays with the same elements in different memory layouts."""
    yield array.copy()
    yield np.asfortranarray(array)
    yield array.astype(array.dtype.newbyteorder(">"))
    if array.ndim:
        yield np.repeat(array, 2, axis=0)[::2]
        yield array[::-1].copy()[::-1]


def _check_memory(array: NDArray[Any]) -> None:
    """Check that an array is writeable, contiguous and little-endian."""
    assert array.flags.writeable, "the array is read-only"
    assert array.flags.c_contiguous, "the array is not contiguous"
    assert array.dtype.newbyteorder("<") == array.dtype, "the array is big-endian"


def _check_header(codec: ImageCodec, data: bytes, expected: NDArray[Any]) -> None:
    """Check that probing a file returns the shape and dtype of the decoded array."""
    assert codec.matches(data), f"{codec!r} does not recognize its own file"
    assert codecs.sniff(data).name == codec.name, f"sniff returned {codecs.sniff(data)!r}"
    for buffer in (data, bytearray(data), memoryview(data)):
        header = codec.probe(buffer)
        assert header == Header(expected.shape, expected.dtype.name), (
            f"{codec!r} probed {header}, but the array has shape {expected.shape}"
        )
        assert all(type(size) is int for size in header.shape), header


def _check_raises(call: Any, error: type[Exception], data: bytes) -> None:
    """Check that a call with a truncated file raises an error."""
    try:
        call(data)
    except error:
        return
    raise AssertionError(f"a file truncated to {len(data):,} bytes was accepted")
