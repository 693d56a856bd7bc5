"""Damage of the file ``repo``, in which Icechunk keeps the branches and tags of a lake."""

import struct

import icechunk
from numcodecs import Zstd

from deeplake_lite.storage.manifest_chunks import HEADER_BYTES, ID_BYTES

from .flatbuffers import base32, field, vector

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

    Icechunk does not move tags, so a table for the tag is appended to the file.
    """
    kind, _, name = ref.partition(".")
    if kind == "branch":
        engine(lake).reset_branch(name, version)
        return
    path = lake / "repo"
    stored = path.read_bytes()
    data = bytearray(Zstd().decode(stored[HEADER_BYTES:]))
    (root,) = struct.unpack_from("<I", data, 0)
    ids = [field(data, at, 0) for at in vector(data, field(data, root, SNAPSHOTS))]
    index = [base32(data[at : at + ID_BYTES]) for at in ids].index(version)
    tags = field(data, root, TAGS)
    names = [_text(data, field(data, at, 0)) for at in vector(data, tags)]
    offset = tags + struct.unpack_from("<I", data, tags)[0] + 4 + 4 * names.index(name)
    data += bytes(-len(data) % 4)
    struct.pack_into("<I", data, offset, len(data) + 8 - offset)
    data += struct.pack("<4H3I", 8, 12, 4, 8, 8, 8, index)  # vtable and table
    data += struct.pack("<I", len(name)) + name.encode() + bytes(4)
    data += bytes(-len(data) % 4)
    path.write_bytes(stored[:HEADER_BYTES] + Zstd().encode(bytes(data)))
    assert tip(lake, ref) == version


def lose(lake, ref):
    """Remove a branch other than ``main``, or a tag."""
    kind, _, name = ref.partition(".")
    if kind == "tag":
        engine(lake).delete_tag(name)
    else:
        engine(lake).delete_branch(name)


def _text(data, at):
    at += struct.unpack_from("<I", data, at)[0]
    (length,) = struct.unpack_from("<I", data, at)
    return bytes(data[at + 4 : at + 4 + length]).decode()
