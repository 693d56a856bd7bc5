"""A trainer that shares the disk cache with others, and prints the sum of the rows it saw."""

import json
import sys
import time
from pathlib import Path

import deeplake_lite as dl
from deeplake_lite.loader.order import shuffle
from deeplake_lite.loader.read import block_policy
from deeplake_lite.testing.slow_store import storage_options

BLOCK = 16
"""Number of rows in a block, of which a window has `WINDOW`."""

WINDOW = 2


def main(url, endpoint, start, epochs, **options):
    """Train for some epochs, as soon as there is a file `start`."""
    block_policy.rows_of_block = shuffle.rows_of_block = lambda _: BLOCK
    shuffle.MIN_WINDOW, shuffle.WINDOW_BYTES = WINDOW, 1
    ds = dl.open(url, storage_options=storage_options(endpoint))
    print("ready", flush=True)  # noqa: T201
    while not Path(start).exists():
        time.sleep(0.01)
    with ds.batches(8, cache="disk", **options) as loader:
        for _ in range(epochs):
            rows = [row for batch in loader for row in batch["row"].tolist()]
            print(sum(rows), flush=True)  # noqa: T201


if __name__ == "__main__":
    url, endpoint, start, options = sys.argv[1:]
    main(url, endpoint, start, **json.loads(options))
