"""Names and indices of the chunks in a manifest."""

import contextlib
import struct

import numpy as np
import pytest
from numcodecs import Zstd

import deeplake_lite as dl
from deeplake_lite.storage.manifest_chunks import HEADER_BYTES, ID_BYTES, ManifestChunks

from .flatbuffers import base32, field, vector


def expected(data):
    """Read the chunks of a manifest value by value."""
    (array,) = vector(data, field(data, struct.unpack_from("<I", data, 0)[0], 1))
    for chunk in vector(data, field(data, array, 1)):
        index, offset, name = (field(data, chunk, i) for i in (0, 2, 4))
        if name and not (offset and struct.unpack_from("<Q", data, offset)[0]):
            at = index + struct.unpack_from("<I", data, index)[0]
            first, *others = struct.unpack_from(f"<{data[at]}I", data, at + 4)
            yield (first, *others) if any(others) else first, base32(data[name : name + ID_BYTES])


@pytest.fixture
def folder(tmp_path, tiny):  # noqa: ARG001 chunks are small
    folder = tmp_path / "a.lake"
    ds = dl.create(str(folder), {"x": "float32", "wide": dl.Array("float64", (600,))})
    values = np.random.default_rng(0).random((300, 600))
    ds.append({"x": values[:, 0], "wide": values})
    ds.commit("rows")
    return folder


def test_all_files_are_listed_with_the_indices_of_their_chunks(folder):
    listed = {}
    for path in (folder / "manifests").iterdir():
        manifest = ManifestChunks(path.read_bytes())
        data = bytes(Zstd().decode(path.read_bytes()[HEADER_BYTES:]))
        assert manifest.names() == list(expected(data))
        assert manifest.ids[0] == path.name
        listed |= {name: index for index, name in manifest.names()}
    assert listed.keys() >= {path.name for path in (folder / "chunks").iterdir()}
    assert {type(index) for index in listed.values()} == {int, tuple}


def test_damaged_manifests_raise_errors_that_readers_handle(folder):
    path = max((folder / "manifests").iterdir(), key=lambda path: path.stat().st_size)
    head, data = path.read_bytes()[:HEADER_BYTES], Zstd().decode(path.read_bytes()[HEADER_BYTES:])
    rng = np.random.default_rng(0)
    for _ in range(2_000):
        damaged = bytearray(data)
        damaged[rng.integers(len(data))] = rng.integers(256)
        with contextlib.suppress(ValueError, LookupError, struct.error):
            manifest = ManifestChunks(head + Zstd().encode(bytes(damaged)))
            assert all(len(name) == 20 for _, name in manifest.names())
