"""2,000 damaged datasets of each format: imports are complete, or raise one of our errors.

Each format runs in a process of its own, so that a crash of a package is found as well. Nothing may
take 30 seconds or a gigabyte of memory, because the files are tiny. Deep Lake is left out, because
its own library ends the process when it reads damaged files. Trial n is always the same:
``python tests/slow/damaged_imports_child.py coco FOLDER COUNT`` repeats the first ones.
"""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.ingest.every_format import APART, FORMATS

TRIALS = 2_000
CHILD = Path(__file__).with_name("damaged_imports_child.py")


KNOWN = {"lance": "Error string has a null byte in it"}
"""Messages with which packages are known to end the process: in Lance, Arrow's Rust code, which
passes errors on as C strings, when an error quotes a NUL of the damaged file (1 in 2,000)."""


@pytest.mark.parametrize("name", [*FORMATS, *(name for name in APART if name != "deeplake")])
def test_damaged_files_raise_only_our_errors(name, tmp_path, trials):
    count, first = trials(TRIALS), 0
    while first < count:
        folder = tmp_path / f"from {first}"
        folder.mkdir()
        done = subprocess.run(
            [sys.executable, str(CHILD), name, str(folder), str(count), str(first)],
            cwd=CHILD.parents[2],
            capture_output=True,
            text=True,
            check=False,
        )
        assert not done.stdout, done.stdout
        if done.returncode == 0:
            return
        trial = (folder / "trial").read_text()
        is_known = name in KNOWN and KNOWN[name] in done.stderr
        assert is_known, f"{trial}\n{done.stdout}\n{done.stderr[-5_000:]}"
        first = int(trial.split()[1].rstrip(":")) + 1
