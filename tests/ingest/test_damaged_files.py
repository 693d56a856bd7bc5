"""Imports of damaged files of every format raise only our errors; tests/slow has more cases."""

from __future__ import annotations

import contextlib
import random

import pytest

from deeplake_lite.errors import LakeError
from tests.ingest.damage import files_of, trials, wrong
from tests.ingest.every_format import FORMATS

CASES = 10


@pytest.mark.filterwarnings("ignore")  # NumPy, h5py and others warn of what they read
@pytest.mark.parametrize("name", FORMATS)
def test_damaged_files_raise_only_our_errors(name, tmp_path, new_url):
    form = FORMATS[name]
    path = form.write(tmp_path / "sound", 9)
    seed = random.randrange(2**32)
    found = []
    for done, copy in trials(tmp_path / "sound", tmp_path, CASES, seed):
        where = copy / path.relative_to(tmp_path / "sound")
        on_error = "skip" if len(done) % 2 else "raise"
        reason = wrong(lambda at=where, on=on_error: form.ingest(
            at, new_url(), progress=False, on_error=on))  # fmt: skip
        found += [f"seed {seed}, {done}: {reason}"] if reason else []
    assert not found, "\n".join(found)


NAMED = {
    "coco": ("instances.json", "004.png"),
    "fiftyone": ("data/samples.json", "004.png"),
    "huggingface": ("data/state.json", "data-00000-of-00001.arrow"),
    "labelstudio": ("data/tasks.json", "004.png"),
    "litdata": ("data/index.json", "chunk-0-0.bin"),
    "mds": ("data/index.json", "shard.00000.mds"),
    "voc": ("data/Annotations/004.xml", "004.png"),
    "yolo": ("data/data.yaml", "images/train"),
}
"""Files that name others, by format."""


@pytest.mark.parametrize("name", ["x" * 300, "a/" * 400, r"\ud800", r"\u0000", "", ".", "CON"])
@pytest.mark.parametrize("form", NAMED)
def test_names_that_no_file_can_have_raise_only_our_errors(form, name, tmp_path, new_url):
    path = FORMATS[form].write(tmp_path, 5)
    file = tmp_path / NAMED[form][0]
    text = file.read_text()
    assert NAMED[form][1] in text
    file.write_text(text.replace(NAMED[form][1], name))
    for on_error in ("raise", "skip"):
        with contextlib.suppress(LakeError):
            FORMATS[form].ingest(path, new_url(), progress=False, on_error=on_error)


def test_a_trial_is_the_same_whenever_it_is_run(tmp_path):
    FORMATS["yolo"].write(tmp_path / "sound", 3)
    runs = [
        [(done, [p.read_bytes() for p in files_of(copy)])
         for done, copy in trials(tmp_path / "sound", tmp_path, 20, 5)]
        for _ in range(2)
    ]  # fmt: skip
    assert runs[0] == runs[1]
