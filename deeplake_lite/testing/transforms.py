"""Transforms for loader tests, in a module that worker processes can import."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.random import Generator

type Sample = dict[str, Any]


def draw(sample: Sample, rng: Generator) -> Sample:
    """Add random numbers that are drawn from the argument `rng`."""
    return {**sample, "drawn": rng.integers(0, 256, 8, "uint8")}


def draw_globally(sample: Sample) -> Sample:
    """Add random numbers that are drawn from the global generators."""
    drawn = np.array([random.random(), np.random.random()])  # noqa: NPY002
    return {**sample, "drawn": drawn}


class NeedsTwoError(Exception):
    """An error that cannot be unpickled, because its `__init__` takes two arguments."""

    def __init__(self, one: int, two: int) -> None:
        super().__init__(f"{one} and {two}")


def fail_label(sample: dict[str, object]) -> dict[str, object]:
    """Raise ValueError for a sample with label 7. Return other samples unchanged."""
    if sample["label"] == 7:
        raise ValueError("seven is not liked")
    return sample


def fail(sample: Sample) -> Sample:
    """Raise ValueError for a sample with x = 7. Return other samples unchanged."""
    if sample["x"] == 7:
        raise ValueError("seven is not liked")
    return sample


def fail_batch(batch: Sample) -> Sample:
    """Raise ValueError for a batch in which any x is 7. Return other batches unchanged."""
    if (batch["x"] == 7).any():
        raise ValueError("seven is not liked")
    return batch


def fail_samples(samples: list[Sample]) -> list[Sample]:
    """Raise ValueError for a list that has a sample with x = 7. Return other lists unchanged."""
    return [fail(sample) for sample in samples]


class SpeechlessError(Exception):
    """An error whose message and repr raise errors."""

    def __str__(self) -> str:
        raise ValueError("no message")

    __repr__ = __str__


def fail_without_a_message(_sample: object) -> object:
    """Raise an error that raises another error when its message is requested."""
    raise SpeechlessError


def fail_awkwardly(sample: Sample) -> Sample:
    """Raise an error that cannot be unpickled."""
    raise NeedsTwoError(len(sample), 2)


def leave(sample: Sample) -> Sample:
    """Raise SystemExit."""
    sys.exit(f"no more after {len(sample)}")


def end_process(sample: Sample) -> Sample:
    """Exit the process without cleanup at the sample with x = 7."""
    if sample["x"] == 7:
        os._exit(9)
    return sample


def kill_process(sample: Sample) -> Sample:
    """Kill the process at the sample with x = 7."""
    if sample["x"] == 7:
        os.kill(os.getpid(), signal.SIGKILL)
    return sample


def with_process(sample: Sample) -> Sample:
    """Return `x` of the sample, the id of the process, and the number of threads for libraries."""
    threads = int(os.environ.get("OMP_NUM_THREADS", "0"))
    return {"x": sample["x"], "pid": os.getpid(), "threads": threads}


def sleep(sample: Sample) -> Sample:
    """Sleep for a minute, and return the sample unchanged."""
    time.sleep(60)
    return sample


def rest(sample: Sample) -> Sample:
    """Wait for 20 ms without using the CPU, and return the sample unchanged."""
    threading.Event().wait(0.02)
    return sample


def compute(sample: Sample) -> Sample:
    """Compute for a millisecond in pure Python, and return the sample unchanged."""
    end = time.thread_time() + 0.001
    while time.thread_time() < end:
        pass
    return sample


def with_function(sample: Sample) -> Sample:
    """Return a sample that cannot be pickled."""
    return {**sample, "f": lambda: sample}
