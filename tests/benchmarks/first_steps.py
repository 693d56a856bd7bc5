"""What the first steps in a new process take: ``python -m benchmarks.first_steps [URL]``.

Without a lake it is `import zarr`, which the steps are compared with. Prints seconds as JSON.
"""

import json
import sys
import time
from importlib import import_module

begin = time.perf_counter()
if len(sys.argv) == 1:
    import_module("zarr")
    print(json.dumps({"s": time.perf_counter() - begin}))  # noqa: T201 its figures
    sys.exit()

import deeplake_lite as dl  # noqa: E402 the clock is running

seconds = {}
ds = dl.open(sys.argv[1])
seconds["open"], begin = time.perf_counter() - begin, time.perf_counter()
len(ds.query("SELECT * WHERE label = 3"))
seconds["query"], begin = time.perf_counter() - begin, time.perf_counter()
ds.browse()
seconds["browse"] = time.perf_counter() - begin
print(json.dumps(seconds))  # noqa: T201
