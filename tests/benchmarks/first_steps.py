"""What the first steps in a new process take: ``python -m benchmarks.first_steps [URL]``.

Without a lake it is `import zarr`, which the steps are compared with. Prints seconds of processor
time as JSON, which other processes change less than the time on the clock. The browser's begin with
IPython imported: it is shown in notebooks, whose kernels have it.
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
