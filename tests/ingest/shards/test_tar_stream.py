"""The fast path for plain files in tar files reads the same as Python's tarfile."""

from __future__ import annotations

import gzip
import io
import random
import tarfile

import pytest

from deeplake_lite.codecs.limits import DEFAULT_LIMITS
from deeplake_lite.errors import LakeError
from deeplake_lite.ingest.shards import tar_samples, tar_stream
from deeplake_lite.ingest.shards.tar_samples import samples
from deeplake_lite.ingest.shards.tar_stream import Stream

FORMATS = [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT]
NAMES = ["a/{}.txt", "{}.JPG", "é {}.txt", "{}", ".{}", "__x__/{}.txt", "d/" * 60 + "{}.txt"]
NAMES += ["d/" + "n" * 91 + "{}.txt", "d/" + "n" * 93 + "{}.txt", "n" * 90 + "{}.json"]


def tar_file(rng: random.Random, *, members: int) -> bytes:
    """Return a tar file with members of all kinds, most of which are plain."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=rng.choice(FORMATS)) as tar:
        for number in range(members):
            rare = rng.random() < 0.2
            name = rng.choice(NAMES if rare else NAMES[:2]).format(number)
            member = tarfile.TarInfo(name)
            member.mtime = rng.choice([0, 5, 1_700_000_000.25, 2.5e-05])
            if rare:
                member.type = rng.choice([tarfile.REGTYPE, tarfile.AREGTYPE, tarfile.DIRTYPE,
                                          tarfile.SYMTYPE, tarfile.LNKTYPE])  # fmt: skip
                member.linkname = "l" * 90
                member.pax_headers = rng.choice([{}, {"comment": "é"}, {"path": "other.txt"}])
            if member.isreg():
                member.size = rng.choice([0, 1, 511, 512, 513, 5_000])
            tar.addfile(member, io.BytesIO(rng.randbytes(member.size)))
    return file.getvalue()


def damaged(rng: random.Random, data: bytes) -> bytes:
    """Cut a file off, replace bytes of it, or append to it."""
    kind = rng.randrange(4)
    if kind == 0:
        return data[: rng.randrange(len(data))]
    if kind == 1:
        return data + rng.choice([b"x", bytes(5_000), b"x" * 600, data])
    copy = bytearray(data)
    for _ in range(rng.choice([1, 3])):
        at = rng.randrange(len(data))
        copy[at] = rng.choice([0, 32, 48, 57, copy[at] ^ 1, rng.randrange(256)])
    if kind == 3:  # such that checksums are right
        for at in range(0, len(copy), 512):
            block = copy[at : at + 512]
            if block[257:262] == b"ustar":
                total = sum(block) - sum(block[148:156]) + 8 * 32
                copy[at + 148 : at + 156] = b"%06o\0 " % total
    return bytes(copy)


def reading(path):
    """Return the samples of a tar file, the files that are left out, and the error or None."""
    found, left_out = [], {}
    try:
        found.extend((s.key, s.files) for s in samples(str(path), {}, left_out, DEFAULT_LIMITS))
    except LakeError as error:
        return found, left_out, str(error)
    return found, left_out, None


@pytest.fixture
def without_fast_path(monkeypatch):
    """Read tar files with tarfile only."""

    def read(path):
        with monkeypatch.context() as patch:
            patch.setattr(Stream, "plain_files", lambda _: iter(()))
            return reading(path)

    return read


@pytest.mark.parametrize("seed", range(40))
def test_tar_files_are_read_as_by_tarfile(tmp_path, monkeypatch, without_fast_path, seed):
    rng, path = random.Random(seed), tmp_path / "a.tar"
    monkeypatch.setattr(tar_stream, "PIECE_BYTES", rng.choice([512, 1_024, 2_048, 8_192, 2**20]))
    data = tar_file(rng, members=rng.choice([1, 3, 40]))
    for version in (data, *(damaged(rng, data) for _ in range(15))):
        path.write_bytes(version if seed % 4 else gzip.compress(version, 1))
        assert reading(path) == without_fast_path(path)


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("mtime", [0, 1_700_000_000.25])
def test_plain_files_are_not_left_to_tarfile(tmp_path, monkeypatch, form, mtime):
    with tarfile.open(tmp_path / "a.tar", "w", format=form) as tar:
        for number in range(1_000):
            member = tarfile.TarInfo(f"{number}.txt")
            member.size, member.mtime = 1_000, mtime
            tar.addfile(member, io.BytesIO(b"x" * 1_000))
    calls = []
    parse = tar_samples._Member.frombuf.__func__

    def frombuf(cls, buf, *args):
        calls.append(buf)
        return parse(cls, buf, *args)

    monkeypatch.setattr(tar_samples._Member, "frombuf", classmethod(frombuf))
    found, left_out, error = reading(tmp_path / "a.tar")
    assert ([key for key, _ in found], left_out, error) == ([*map(str, range(1_000))], {}, None)
    assert len(calls) <= 3


def test_files_before_a_broken_stream_are_read(tmp_path, without_fast_path):
    data = tar_file(random.Random(0), members=200)
    packed = gzip.compress(data, 1)
    path = tmp_path / "a.tar"
    for size in range(0, len(packed), len(packed) // 20):
        path.write_bytes(packed[:size] + b"\xff" * 50)
        assert reading(path) == without_fast_path(path)
        path.write_bytes(packed[:size])
        assert reading(path) == without_fast_path(path)


def test_headers_that_promise_too_much_take_no_memory(tmp_path):
    member = tarfile.TarInfo("x")
    member.type, member.size = tarfile.XHDTYPE, 2**60
    path = tmp_path / "a.tar"
    path.write_bytes(member.tobuf(tarfile.GNU_FORMAT) + b"9 path=x\n".ljust(512, b"\0"))
    assert "must be a complete tar file" in reading(path)[2]
