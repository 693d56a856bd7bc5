"""Run a job with some executor, and say when it begins and how it has ended.

Arguments: the URL of the lake, the executor (``threads``, a number of processes or the address of
a scheduler), ``commit=``, the URL of the lake for new rows (or ``-`` to fill columns), and the
largest size of a file that may be written, in bytes (0 for no limit).
"""

import os
import resource
import sys

import deeplake_lite as dl
from deeplake_lite.map import driver
from tests.map import functions, lakes


def executor_of(text):
    if text.startswith("tcp"):
        from distributed import Client

        return Client(text)
    return None if text == "threads" else int(text)


def target_options(url):
    if url == "-":
        return functions.every_type, {"into": lakes.TYPES}
    return functions.rows_of_every_type, {"rows_into": url, "schema": lakes.TYPES, "keep": ["name"]}


if __name__ == "__main__":
    source, executor, commit, target, most = sys.argv[1:]
    driver.RECORD_SECONDS = 0.2
    ds, executor = dl.open(source), executor_of(executor)
    function, options = target_options(target)
    if int(most):
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(most), int(most)))
    os.write(1, b"begun\n")
    try:
        ds.map(
            function, columns="x", batch=4, executor=executor, name="job", commit=commit,
            progress=False, **options,
        )  # fmt: skip
    except dl.LakeError as error:
        os.write(1, f"{type(error).__name__}: {error}\n".encode())
    else:
        os.write(1, b"ended\n")
