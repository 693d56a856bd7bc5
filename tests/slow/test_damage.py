"""2,000 damaged files of lakes with every type: reads are right, or raise one of our errors.

Every trial damages one file of a copy of a lake. Handles that check their reads may return the
right values or raise, and whenever a plain handle returns anything else, `verify` must report it.
Lost or replaced branches and tags count as damage: writers record where they left them.

The types are spread over several small lakes with the same history, since a trial reads a whole
lake twice and verifies it. Copies are hard links under names of their own, so that nothing that
the process cached for an earlier copy is used for a new one. A trial depends only on its number:
``check_trial(sound, number, folder)`` repeats one.
"""

from __future__ import annotations

import os
import random
import shutil
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from xxhash import xxh3_64_hexdigest

import deeplake_lite as dl
from tests.dataset.everything import SCHEMA, VALUES

TRIALS = 2_000
LINKED = Path(__file__).parents[2] / "notebooks" / "images" / "grid.png"
"""The file that cells of the column of links point to."""

LARGE = {
    "a": dl.Array("float32", (64,)),
    "b": dl.Array("float32", (64,)),
    "wide": dl.Array("uint8", (70, 70)),
    "prose": dl.Text(),
    "large": dl.Bytes(),
}
"""Columns whose chunks are large enough to be files of their own."""

LAKES = 6
"""Lakes over which the types are distributed; the last one has the large columns."""

DAMAGES = ("flip", "flip", "cut", "delete", "swap", "copy", "zero", "append")


class Sound(NamedTuple):
    """An undamaged lake and its contents."""

    folder: Path
    files: list[Path]
    """Path relative to the folder."""
    says: list[str]


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """Lakes with some history that together have a column of every type."""
    names = [name for name in SCHEMA if name != "x"]
    groups = [["x", *names[number :: LAKES - 1]] for number in range(LAKES - 1)]
    folder = tmp_path_factory.mktemp("sound")
    return [make_sound(folder / f"{i}.lake", group) for i, group in enumerate([*groups, ["x"]])]


def make_sound(folder, names):
    """Make a lake of some columns; if ``x`` is the only one, add the large columns."""
    large = LARGE if names == ["x"] else {}
    rng = np.random.default_rng(0)

    def rows(size):
        values = {
            "a": rng.random((3, 64), np.float32),
            "b": rng.random((3, 64), np.float32),
            "wide": rng.integers(0, 255, (3, 70, 70), np.uint8),
            "prose": [rng.bytes(900).hex() for _ in range(3)],
            "large": [rng.bytes(size) for _ in range(3)],
        }
        links = {"link": [str(LINKED), None, str(LINKED)]} if "link" in names else {}
        return {n: VALUES[n] for n in names} | {n: values[n] for n in large} | links

    ds = dl.create(str(folder), {n: SCHEMA[n] for n in names} | large)
    ds.append(rows(1_500_000))
    ds.commit("three rows")
    ds.tag("v1")
    ds.branch("fix")
    ds.append(rows(1_000))
    ds.delete([1])
    ds.commit("more")
    ds["x"][0] = 77
    ds.commit("a cell")
    ds[["x"]][[2, 0]].save("ends")
    fix = dl.open(str(folder), branch="fix")
    fix["x"][1] = 5
    fix.update([0], {n: [row[1]] for n, row in rows(1_000).items()})
    fix.commit("fixed")
    assert verifies(str(folder))
    every = (p.relative_to(folder) for p in folder.rglob("*") if p.is_file())
    return Sound(folder, sorted(every), observe(str(folder)))


VERSIONS = ({"branch": "fix"}, {"version": "v1"}, {})
"""The versions whose cells are read. `verify` compares cells of the version it is opened at, so it
is run at each of them."""


def observe(url, verify=None):
    """Return the contents as a string: every cell of two branches and a tag, history and views."""
    result = []
    for options in VERSIONS:
        ds = dl.open(url, verify=verify, allow=[str(LINKED.parent)], **options)
        result.append(repr((ds.version, ds.columns, ds.row_ids.tolist(), dict(ds.metadata))))
        result += [show(ds[name][:]) for name in ds.columns]
        result.append(repr([(c.id, c.message, dict(c.metadata)) for c in ds.log()]))
    views = ds.views()
    result += [name + show(views[name]["x"][:]) for name in views]
    return result


def show(values):
    """Return a short string that differs for different values."""
    if isinstance(values, np.ndarray):
        mask = np.ma.getmaskarray(values).tobytes() if np.ma.isMaskedArray(values) else b""
        data = np.ascontiguousarray(np.ma.getdata(values)).tobytes()
        return f"{values.dtype}{values.shape}{xxh3_64_hexdigest(data)}{xxh3_64_hexdigest(mask)}"
    if isinstance(values, list):
        return "[" + ",".join(map(show, values)) + "]"
    return xxh3_64_hexdigest(values) if isinstance(values, bytes) else repr(values)


def verifies(url):
    return all(dl.open(url, **options).verify() for options in VERSIONS)


def damage(path, kind, chance, peers):
    """Damage one file, which may be a hard link to one that must stay."""
    data = bytearray(path.read_bytes())
    at = chance.randrange(len(data)) if data else 0
    path.unlink()
    if kind == "delete":
        return
    if kind == "flip" and data:
        data[at] ^= 1 << chance.randrange(8)
    elif kind == "cut":
        del data[at:]
    elif kind == "zero":
        size = min(len(data) - at, chance.choice([1, 8, 64, 512, 4096]))
        data[at : at + size] = bytes(size)
    elif kind == "append":
        data += chance.choice([b"\0", b"\0" * 512, chance.randbytes(64), bytes(data)])
    elif kind == "copy":
        data = bytearray(chance.choice(peers).read_bytes()) if peers else data[:-1]
    elif kind == "swap" and peers:
        other = chance.choice(peers)
        kept = other.read_bytes()
        other.unlink()
        other.write_bytes(data)
        data = bytearray(kept)
    path.write_bytes(data)


def choose(files, chance):
    """Return a file; half of the time, all kinds of files are equally likely."""
    kinds = sorted({file.parts[0] for file in files})
    kind = chance.choice([None, *kinds] if chance.random() < 0.5 else [None])
    return chance.choice([file for file in files if kind in (None, file.parts[0])])


def outcome(action):
    """Return the result, or the error."""
    try:
        return action()
    except Exception as error:
        return error


def is_rejected(result):
    return isinstance(result, dl.LakeError)


def check_trial(sound, number, folder):
    """Damage a copy, read and verify it; return the outcome and what is wrong with it."""
    chance = random.Random(number)
    whole = sound[number % len(sound)]
    name, kind = choose(whole.files, chance), chance.choice(DAMAGES)
    copy = folder / f"{number}.lake"
    shutil.copytree(whole.folder, copy, copy_function=os.link)
    peers = [copy / p for p in whole.files if p.parts[0] == name.parts[0] and p != name]
    damage(copy / name, kind, chance, peers)
    case = f"trial {number}: {kind} of {name} in lake {number % len(sound)}"
    checked = outcome(lambda: observe(str(copy), "read"))
    plain = outcome(lambda: observe(str(copy)))
    verified = outcome(lambda: verifies(str(copy)))
    shutil.rmtree(copy)
    results = {"checked": checked, "plain": plain, "verify": verified}
    wrong = [
        f"{case}: {way} raises {result!r:.300}"
        for way, result in results.items()
        if isinstance(result, Exception) and not is_rejected(result)
    ]
    if is_rejected(plain):
        fate = "plain reads raise"
    elif verified is not True:
        fate = "verify tells"
    else:
        fate = "nothing has changed" if plain == whole.says else "unnoticed"
    if not (is_rejected(checked) or checked == whole.says):
        wrong.append(f"{case}: reads that are checked give other values")
    if fate == "unnoticed":
        wrong.append(f"{case}: plain reads give other values, and verify says nothing")
    return fate, wrong


def test_damaged_files_are_detected(sound, tmp_path, trials):
    before = [[(s.folder / file).read_bytes() for file in s.files] for s in sound]
    fates, wrong = Counter(), []
    for number in range(trials(TRIALS)):
        fate, result = check_trial(sound, number, tmp_path)
        fates[fate] += 1
        wrong += result
    print(dict(fates))  # noqa: T201 - the figures to publish
    assert not wrong, "\n".join(wrong)
    assert before == [[(s.folder / file).read_bytes() for file in s.files] for s in sound]
