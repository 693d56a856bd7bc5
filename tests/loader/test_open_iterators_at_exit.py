"""A program may end while iterators of loaders are open."""

import subprocess
import sys

import pytest

PROGRAM = """
import deeplake_lite as dl

ds = dl.create("memory://exit", {"x": "int32"})
ds.append({"x": range(2_000)})
ds.commit("rows")
batches = iter(ds.FRAMEWORK(batch_size=8, num_workers=WORKERS))
next(batches)
"""


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("framework", ["batches", "pytorch", "jax", "tensorflow"])
def test_a_program_that_ends_with_an_open_iterator_prints_nothing(framework, workers):
    program = PROGRAM.replace("FRAMEWORK", framework).replace("WORKERS", str(workers))
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert "Exception ignored" not in done.stderr
    assert "Traceback" not in done.stderr
