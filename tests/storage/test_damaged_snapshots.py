"""Snapshots with a flipped bit give right values or our errors."""

from __future__ import annotations

import os
import random
import shutil

import pytest

import deeplake_lite as dl
from deeplake_lite.storage.repo.failures import translate_errors

FLIPS = 300


def says(url):
    ds = dl.open(url)
    return ds["x"][:].tolist(), ds["t"][:], [c.message for c in ds.log()]


def test_flipped_bit_in_a_snapshot_is_detected(tmp_path):
    ds = dl.create(tmp_path / "sound.lake", {"x": "int32", "t": "text", "a": "boxes"})
    ds.append({"x": [1, 2], "t": ["rose", "lily"], "a": [[], [[0, 0, 1, 1]]]})
    ds.commit("two rows")
    sound, chance = says(ds.url), random.Random(0)
    snapshot = tmp_path / "sound.lake" / "snapshots" / ds.version
    for trial in range(FLIPS):
        copy = tmp_path / f"{trial}.lake"
        shutil.copytree(tmp_path / "sound.lake", copy, copy_function=os.link)
        data = bytearray(snapshot.read_bytes())
        at, bit = chance.randrange(len(data)), chance.randrange(8)
        data[at] ^= 1 << bit
        (copy / "snapshots" / ds.version).unlink()
        (copy / "snapshots" / ds.version).write_bytes(data)
        try:
            result = says(str(copy))
            assert result == sound or not dl.open(str(copy)).verify(), f"bit {bit} of byte {at}"
        except dl.LakeError:
            pass
        shutil.rmtree(copy)


@pytest.mark.parametrize("name", ["PanicException", "RustPanic"])
def test_panic_of_the_engine_raises_our_error(name):
    panic = type(name, (BaseException,), {})
    with pytest.raises(dl.StorageError, match="The storage engine failed: odd"), translate_errors():
        raise panic("odd")
