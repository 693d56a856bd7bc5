"""Damage of the file ``repo``, in which Icechunk keeps the branches and tags of a lake."""

import struct

import icechunk
from numcodecs import Zstd

from deeplake_lite.storage.chunk_files import HEADER_BYTES, ID_BYTES, _base32, _field, _vector

TAGS, SNAPSHOTS = 1, 4
"""Fields of the FlatBuffers table in the file."""


def engine(lake):
    return icechunk.Repository.open(icechunk.local_filesystem_storage(str(lake)))


def tip(lake, ref):
    """Return the version of a branch or tag, such as ``tag.v1``."""
    kind, _, name = ref.partition(".")
    return engine(lake).lookup_tag(name) if kind == "tag" else engine(lake).lookup_branch(name)


def move(lake, ref, version):
    """Make a branch or tag refer to another version.

    Icechunk does not move tags. The file does not store the version of a tag at all if its id is
    the first in alphabetical order; such a tag cannot be moved here.
    """
    kind, _, name = ref.partition(".")
    if kind == "branch":
        engine(lake).reset_branch(name, version)
        return
    path = lake / "repo"
    stored = path.read_bytes()
    data = bytearray(Zstd().decode(stored[HEADER_BYTES:]))
    (root,) = struct.unpack_from("<I", data, 0)
    ids = [_field(data, at, 0) for at in _vector(data, _field(data, root, SNAPSHOTS))]
    index = [_base32(data[at : at + ID_BYTES]) for at in ids].index(version)
    for at in _vector(data, _field(data, root, TAGS)):
        if _text(data, _field(data, at, 0)) == name:
            struct.pack_into("<I", data, _field(data, at, 1), index)
    path.write_bytes(stored[:HEADER_BYTES] + Zstd().encode(bytes(data)))
    assert tip(lake, ref) == version


def lose(lake, ref):
    """Remove a branch other than ``main``, or a tag."""
    kind, _, name = ref.partition(".")
    if kind == "tag":
        engine(lake).delete_tag(name)
    else:
        engine(lake).delete_branch(name)


def _text(data, field):
    at = field + struct.unpack_from("<I", data, field)[0]
    (length,) = struct.unpack_from("<I", data, at)
    return bytes(data[at + 4 : at + 4 + length]).decode()
