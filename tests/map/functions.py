"""Functions that jobs run in tests, in a module that other processes can import."""

import os
import time

import numpy as np


def double(batch):
    return batch["x"] * 2


def double_n(batch):
    return batch["n"] * 2


def every_type(batch):
    """Return values of many types that depend only on the row."""
    numbers = batch["x"].tolist()
    return {
        "scalar": [n / 3 for n in numbers],
        "vector": np.outer(numbers, np.arange(1, 5)).astype("float32"),
        "words": [f"row {n} " * (n % 5) for n in numbers],
        "picture": [np.full((4 + n % 3, 5, 3), n % 256, np.uint8) for n in numbers],
        "boxes": [np.full((n % 4, 4), float(n)) for n in numbers],
        "items": [list(range(n % 4)) for n in numbers],
        "kind": [n % 2 for n in numbers],
        "document": [{"n": n} for n in numbers],
    }


def slow_double(batch):
    time.sleep(0.02)
    return batch["x"] * 2


def double_except_odd_tens(batch):
    for n in batch["x"].tolist():
        if n % 10 == 5:
            raise ValueError(f"no {n}")
    return batch["x"] * 2


def end_the_process(_batch):
    os._exit(7)


def sleep_long(_batch):
    time.sleep(60)


def load():
    return {"factor": 3, "process": os.getpid()}


def multiply(batch, resource):
    return batch["x"] * resource["factor"]


def process(batch):
    return [os.getpid()] * len(batch["x"])


REPEATED = {"schema": {"n": "int64", "place": "int8"}, "keep": ["x"]}
"""Options for `slow_repeat`."""


def repeat(batch):
    """Return zero to three rows for each row."""
    return [[{"n": 2 * n, "place": i} for i in range(n % 4)] for n in batch["x"].tolist()]


def slow_repeat(batch):
    time.sleep(0.02)
    return repeat(batch)


def repeat_except_odd_tens(batch):
    for n in batch["x"].tolist():
        if n % 10 == 5:
            raise ValueError(f"no {n}")
    return repeat(batch)


def rows_of_every_type(batch):
    """Return rows with values of many types, as many as the row's number divided by 3 leaves."""
    columns = every_type(batch)
    return [
        [{name: values[i] for name, values in columns.items()}] * (n % 3)
        for i, n in enumerate(batch["x"].tolist())
    ]
