"""Import damaged files of a format, one trial after another; print what is wrong.

Usage: damaged_imports_child.py FORMAT FOLDER COUNT [FIRST]
"""

from __future__ import annotations

import faulthandler
import gc
import shutil
import sys
import warnings
from pathlib import Path

HANGS_AFTER = 300
"""Seconds after which a trial is taken for one that hangs."""


def main(name: str, folder: Path, count: int, first: int = 0) -> None:
    """Run the trials of a format; the one in progress is in the file ``trial`` of the folder."""
    from tests.ingest.damage import trials, wrong
    from tests.ingest.every_format import APART, FORMATS

    form = {**FORMATS, **APART}[name]
    sound, lake = folder / "sound", folder / "lake"
    path = form.write(sound, 9)
    form.ingest(path, str(lake), progress=False)
    shutil.rmtree(lake)
    gc.collect()
    gc.freeze()  # otherwise, most of the time is spent in collecting the loaded modules
    for done, copy in trials(sound, folder, count, first=first):
        (folder / "trial").write_text(done)
        faulthandler.dump_traceback_later(HANGS_AFTER, exit=True)
        where, on_error = copy / path.relative_to(sound), "skip" if len(done) % 2 else "raise"
        reason = wrong(lambda at=where, on=on_error: form.ingest(
            at, str(lake), progress=False, on_error=on))  # fmt: skip
        if reason:
            print(f"{name}, {done}: {reason}", flush=True)  # noqa: T201
        shutil.rmtree(lake, ignore_errors=True)
        gc.collect()
    faulthandler.cancel_dump_traceback_later()


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(sys.argv[1], Path(sys.argv[2]), *map(int, sys.argv[3:]))
