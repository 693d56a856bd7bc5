"""Read rate of raw chunks with the installed Icechunk, to show what a version change would cost."""

import numpy as np
import pytest

from . import corpus, peers
from .harness import Figures, timed

pytestmark = pytest.mark.bench
CHUNK = 8 << 20


def test_chunk_reads(race, report, jpegs, work):
    data = np.frombuffer(b"".join(jpegs), np.uint8)
    keys = peers.icechunk_write(work, data, CHUNK)
    total = len(keys) * CHUNK
    files = corpus.write_chunk_files([data[:total].tobytes()], work / "files", CHUNK)

    def rates(figures: Figures) -> Figures:
        return {"GB/s": total / 1e9 / figures["s"], "CPU s": figures["CPU s"]}

    def icechunk() -> Figures:
        store = peers.icechunk_store(work)
        return rates(timed(lambda: peers.icechunk_read(store, keys)))

    def read_bytes() -> Figures:
        return rates(timed(lambda: [path.read_bytes() for path in files]))

    rounds = race({"Icechunk": icechunk, "read_bytes": read_bytes}, 5)
    report.add(f"Icechunk alone, {len(keys)} chunks of 8 MiB", rounds)
