"""Ingesting encoded images and raw arrays from memory."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from . import corpus, lakes, peers
from .harness import OURS, Figures, at_least_times, at_most_times, in_fresh_folder, timed

pytestmark = pytest.mark.bench


def test_images_from_memory(race, report, jpegs, work):
    def contender(ingest: Callable[[Path], object]):
        return lambda: in_fresh_folder(work, lambda folder: timed(partial(ingest, folder)))

    rounds = race(
        {
            OURS: contender(lambda folder: lakes.image_lake(folder, jpegs)),
            "Deep Lake": contender(lambda folder: peers.deep_lake_ingest(folder, {"image": jpegs})),
            "WebDataset": contender(lambda folder: peers.webdataset_ingest(folder, jpegs)),
        },
        rounds=5,
    )
    report.add(
        f"ingest of {len(jpegs):,} JPEGs from memory",
        rounds,
        at_most_times(2, "Deep Lake", "s"),
        at_most_times(0.25, "WebDataset", "s"),
    )


def test_raw_arrays(race, report, work):
    arrays = corpus.raw_arrays()

    def contender(ingest: Callable[[Path], object]):
        def measure(folder: Path) -> Figures:
            return {"MB/s": arrays.nbytes / 1e6 / timed(lambda: ingest(folder))["s"]}

        return partial(in_fresh_folder, work, measure)

    rounds = race(
        {
            OURS: contender(lambda folder: lakes.raw_lake(folder, arrays)),
            "Deep Lake": contender(lambda folder: peers.deep_lake_raw(folder, arrays)),
        },
        rounds=5,
    )
    report.add(
        "ingest of raw arrays, 400 of 1024x1024x3 uint8",
        rounds,
        at_least_times(0.9, "Deep Lake", "MB/s"),
    )
