"""Time of the first steps in a new process: ``python -m benchmarks.first_steps [URL]``.

Without a URL it measures `import zarr`, the baseline for the steps. It prints seconds of processor
time as JSON, since other processes affect that less than wall-clock time. The steps of the browser
start with IPython imported, because it is shown in notebooks, whose kernels have imported it.
"""

import json
import sys
from importlib import import_module
from time import process_time

begin = process_time()
if len(sys.argv) == 1:
    import_module("zarr")
    print(json.dumps({"s": process_time() - begin}))  # noqa: T201 its figures
    sys.exit()

import deeplake_lite as dl  # noqa: E402 the clock is running

seconds = {}
ds = dl.open(sys.argv[1])
seconds["open"], begin = process_time() - begin, process_time()
len(ds.query("SELECT * WHERE label = 3"))
seconds["query"] = process_time() - begin
import_module("IPython.core.interactiveshell")
begin = process_time()
ds.browse()
seconds["browse"] = process_time() - begin
print(json.dumps(seconds))  # noqa: T201
