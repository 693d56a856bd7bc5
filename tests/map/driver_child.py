"""Run a job, and say when it has begun, so that a test can kill this process in the middle."""

import os
import sys

import deeplake_lite as dl
from deeplake_lite.map import driver
from tests.map import functions

if __name__ == "__main__":
    url, workers, commit, *target = sys.argv[1:]
    driver.RECORD_SECONDS = driver.RECORD_SHARE = 0.0
    ds = dl.open(url)
    count = None if workers == "0" else int(workers)
    os.write(1, b"begun\n")
    options = {"columns": "x", "batch": 2, "executor": count, "commit": commit, "progress": False}
    if target:
        ds.map(functions.slow_repeat, rows_into=target[0], **functions.REPEATED, **options)
    else:
        ds.map(functions.slow_double, into={"y": "int64"}, **options)
    os.write(1, b"ended\n")
