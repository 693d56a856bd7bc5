"""Imports of damaged files of every format raise only our errors; tests/slow has more cases."""

from __future__ import annotations

import random

import pytest

from tests.ingest.damage import files_of, trials, wrong
from tests.ingest.every_format import FORMATS

CASES = 25


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


def test_a_trial_is_the_same_whenever_it_is_run(tmp_path):
    FORMATS["yolo"].write(tmp_path / "sound", 3)
    runs = [
        [(done, [p.read_bytes() for p in files_of(copy)])
         for done, copy in trials(tmp_path / "sound", tmp_path, 20, 5)]
        for _ in range(2)
    ]  # fmt: skip
    assert runs[0] == runs[1]
