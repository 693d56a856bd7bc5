"""2,000 damaged files of a lake with every type: what is read is right, or one of our errors.

Every trial damages one file of a copy of the lake. Handles that check their reads may give the
right values or raise, and whenever a plain handle gives anything else, `verify` must say so. A ref
that is replaced as a whole by another ref names a version of the same lake, which is sound: those
trials only ask that nothing else than an error of ours is raised.
"""

from __future__ import annotations

import random
import shutil

import numpy as np
import pytest

import deeplake_lite as dl
from tests.dataset.everything import SCHEMA, VALUES

TRIALS = 2_000
UNREAD = ("link",)
"""Links are followed to files that are not there."""


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A lake with some history, whose chunks are large enough to be files."""
    rng = np.random.default_rng(0)
    extra = {
        "a": dl.Array("float32", (64,)),
        "b": dl.Array("float32", (64,)),
        "wide": dl.Array("uint8", (70, 70)),
        "prose": "text",
        "large": "bytes",
    }

    def rows(count, size):
        return {
            "a": rng.random((count, 64), np.float32),
            "b": rng.random((count, 64), np.float32),
            "wide": rng.integers(0, 255, (count, 70, 70), np.uint8),
            "prose": [rng.bytes(900).hex() for _ in range(count)],
            "large": [rng.bytes(size) for _ in range(count)],
        }

    folder = tmp_path_factory.mktemp("sound") / "sound.lake"
    ds = dl.create(str(folder), {**SCHEMA, **extra})
    ds.append(VALUES | rows(3, 1_500_000))
    ds.commit("three rows")
    ds.tag("v1")
    ds.branch("fix")
    ds.append(VALUES | rows(3, 1_000))
    ds.delete([1])
    ds.commit("more")
    ds["x"][0] = 77
    ds.commit("a cell")
    ds[["x"]][[2, 0]].save("ends")
    fix = dl.open(str(folder), branch="fix")
    fix["a"][1] = np.ones(64)
    fix.commit("fixed")
    shutil.rmtree(folder / ".writers")
    return folder


def observe(url, verify=None):
    """Return what a lake says, as text: every cell of two branches and a tag, history and views."""
    found = []
    for options in ({}, {"branch": "fix"}, {"version": "v1"}):
        ds = dl.open(url, verify=verify, **options)
        found.append(repr((ds.version, ds.columns, ds.row_ids.tolist(), dict(ds.metadata))))
        found += [show(ds[name][:]) for name in ds.columns if name not in UNREAD]
        found.append(repr([(c.id, c.message, dict(c.metadata)) for c in ds.log()]))
    views = dl.open(url, verify=verify).views()
    found += [name + show(views[name]["x"][:]) for name in views]
    return found


def show(values):
    if isinstance(values, np.ndarray):
        mask = np.ma.getmaskarray(values).tobytes() if np.ma.isMaskedArray(values) else b""
        return f"{values.dtype}{values.shape}{np.ma.getdata(values).tobytes()!r}{mask!r}"
    if isinstance(values, list):
        return "[" + ",".join(map(show, values)) + "]"
    return repr(values)


def verifies(url):
    return all(dl.open(url, branch=branch).verify() for branch in ("main", "fix"))


def damage(path, kind, chance, peers):
    data = bytearray(path.read_bytes())
    if kind == "flip":
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
    elif kind == "cut":
        del data[chance.randrange(len(data)) :]
    elif kind == "delete":
        path.unlink()
        return
    elif kind == "copy":
        data = bytearray(chance.choice(peers).read_bytes())
    elif kind == "swap":
        other = chance.choice(peers)
        kept = other.read_bytes()
        other.write_bytes(data)
        data = bytearray(kept)
    path.write_bytes(data)


def outcome(action):
    """Return what is said, or the error of ours."""
    try:
        return action()
    except dl.LakeError as error:
        return error


def is_rejected(result):
    return isinstance(result, dl.LakeError)


def test_damaged_files_are_noticed(sound, tmp_path, trials):
    chance, expected = random.Random(11), observe(str(sound))
    assert verifies(str(sound))
    files = sorted(p.relative_to(sound) for p in sound.rglob("*") if p.is_file())
    for trial in range(trials(TRIALS)):
        copy = tmp_path / "copy.lake"
        shutil.copytree(sound, copy)
        name = chance.choice(files)
        kind = chance.choice(["flip", "flip", "cut", "delete", "swap", "copy"])
        peers = [copy / p for p in files if p.parts[0] == name.parts[0] and p != name]
        damage(copy / name, kind, chance, peers or [copy / name])
        check(str(copy), expected, f"trial {trial}: {kind} of {name}", name, kind)
        shutil.rmtree(copy)


def check(url, expected, case, name, kind):
    """Open, read and verify a damaged lake; only errors of ours may be raised."""
    checked = outcome(lambda: observe(url, "read"))
    plain = outcome(lambda: observe(url))
    whole = outcome(lambda: verifies(url))
    if name.parts[0] == "refs" and kind in ("swap", "copy"):
        return
    assert is_rejected(checked) or checked == expected, case
    assert is_rejected(plain) or plain == expected or whole is not True, case
