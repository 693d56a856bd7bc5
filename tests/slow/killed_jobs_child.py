"""Run a job with some executor, and say when it begins and when it has ended."""

import os
import sys

import deeplake_lite as dl
from deeplake_lite.map import driver
from tests.map import functions, lakes


def executor_of(text):
    if text.startswith("tcp"):
        from distributed import Client

        return Client(text)
    return 2 if text == "processes" else None


if __name__ == "__main__":
    url, text = sys.argv[1:]
    driver.RECORD_SECONDS = 0.2
    ds, executor = dl.open(url), executor_of(text)
    os.write(1, b"begun\n")
    ds.map(
        functions.every_type, columns="x", into=lakes.TYPES, batch=4, executor=executor,
        name="job", progress=False,
    )  # fmt: skip
    os.write(1, b"ended\n")
