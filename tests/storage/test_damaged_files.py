"""Damaged files of the storage engine give right results, or errors that name the damage."""

import random
import shutil

import icechunk
import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.errors import DamagedError, StorageError
from deeplake_lite.index.stored import open_index
from deeplake_lite.storage.repo.failures import translate_errors
from deeplake_lite.storage.repo.index_refs import index_names

TRIALS = 12
"""Number of files of each kind that are damaged in each way."""

HEAD_BYTES = 39
"""Size of the header of a file, after which the compressed bytes begin."""

GARBLED = (
    "Unknown frame descriptor", "Version not supported", "Unsupported frame parameter",
    "Frame requires too much memory for decoding", "Data corruption detected",
    "Restored data doesn't match checksum", "Src size is incorrect", "Dictionary is corrupted",
    "Header of Literals' block doesn't respect format specification", "Dictionary mismatch",
    "Destination buffer is too small", "Error (generic)", "incomplete frame",
    "Unsupported max Symbol Value : too large",
    "tableLog requires too much memory : unsupported", "Specified maxSymbolValue is too small",
    "Unsupported combination of parameters", "failed to fill whole buffer",
    "Operation on NULL destination buffer", "External sequences are not valid",
)  # fmt: skip
"""Messages of Zstandard about bytes that it did not write."""


def flip(data, chance):
    at = chance.randrange(len(data)) if chance.random() < 0.3 else HEAD_BYTES + chance.randrange(20)
    return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]


def clear(data, chance):
    at = chance.randrange(len(data))
    return data[:at] + bytes(len(data[at : at + 64])) + data[at + 64 :]


WAYS = {
    "flip": flip,
    "clear": clear,
    "cut": lambda data, chance: data[: chance.randrange(len(data))],
    "empty": lambda _data, _chance: b"",
    "extend": lambda data, _chance: data + b"abc",
    "delete": lambda _data, _chance: None,
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """Return the URL of a lake with two versions and an index, and the older version."""
    ds = dl.create(tmp_path_factory.mktemp("x") / "a.lake", {"x": "int64", "v": dl.Embedding(4)})
    ds.append({"x": np.arange(300), "v": np.random.default_rng(0).normal(size=(300, 4))})
    older = ds.commit("rows")
    ds.create_index("v")
    ds.append({"x": [7], "v": [[1, 2, 3, 4]]})
    ds.commit("a row")
    return ds.url, older


def read_everything(url, older):
    ds = dl.open(url)
    repository = ds.handle.repository
    stored = [open_index(repository, n) for n in index_names(repository.branch_names())]
    parts = [s.reader.whole(p).tolist() for s in stored if s for p in s.document["parts"]]
    changes = repr(ds.diff(older, ds.version))
    return ds["x"][:].tolist(), ds["v"][:].tolist(), changes, len(ds.log()), parts


@pytest.mark.parametrize("kind", ["manifests", "snapshots", "transactions", "repo"])
def test_damaged_file_gives_the_right_result_or_names_the_damage(lake, tmp_path, kind):
    url, older = lake
    shutil.copytree(url, tmp_path / "a.lake")
    copy, chance = tmp_path / "a.lake", random.Random(0)
    sound = read_everything(str(copy), older)
    files = sorted(p for p in (copy / kind).rglob("*")) if kind != "repo" else [copy / kind]
    reported = 0
    for name, damage in WAYS.items():
        for _ in range(TRIALS if name == "flip" else TRIALS // 6):
            file = chance.choice(files)
            data = file.read_bytes()
            damaged = damage(data, chance)
            file.unlink()
            if damaged is not None:
                file.write_bytes(damaged)
            try:
                assert read_everything(str(copy), older) == sound, (name, file)
            except DamagedError:
                reported += 1
            except dl.LakeNotFoundError:
                assert (kind, name) == ("repo", "delete")
            file.write_bytes(data)
    assert reported or kind == "transactions"


@pytest.mark.parametrize("reason", GARBLED)
def test_messages_of_the_decompressor_mean_damage(reason):
    with pytest.raises(DamagedError, match="cannot be read"), translate_errors():
        raise icechunk.IcechunkError(f"I/O error: {reason}\n\ncontext:\n   0", "io")


@pytest.mark.parametrize(
    "reason", ["Requested range was invalid", "code: InvalidRange", "416 Range Not Satisfiable"]
)
def test_object_that_is_too_short_is_damaged(reason):
    text = f"object store error {reason}\n\ncontext:\n   0"
    with pytest.raises(DamagedError, match="cannot be read"), translate_errors():
        raise icechunk.IcechunkError(text, "storage")


@pytest.mark.parametrize("reason", ["Permission denied (os error 13)", "connection reset by peer"])
def test_faults_of_the_store_do_not_mean_damage(reason):
    with pytest.raises(StorageError) as caught, translate_errors():
        raise icechunk.IcechunkError(f"I/O error: {reason}\n\ncontext:\n   0", "io")
    assert not isinstance(caught.value, DamagedError)
