"""A training process that records the rows it saw and, before each counts, its position."""

import json
import os
import sys
import time
from pathlib import Path

import deeplake_lite as dl


def main(url, folder, batches, **options):
    """Train on some batches, from the saved state if there is one; write one file per process."""
    loader = dl.open(url).batches(**options)
    state, seen = Path(folder) / "state.json", Path(folder) / "seen.jsonl"
    if state.exists():
        loader.load_state_dict(json.loads(state.read_text()))
    with seen.open("a") as file:
        for number, batch in enumerate(loader):
            if number == batches:
                time.sleep(60)  # waits to be killed
            file.write(json.dumps(batch["x"].tolist()) + "\n")
            file.flush()
            temporary = state.with_suffix(".new")
            temporary.write_text(json.dumps(loader.state_dict()))
            os.replace(temporary, state)
    print("epoch done", flush=True)  # noqa: T201


if __name__ == "__main__":
    url, folder, batches, options = sys.argv[1:]
    main(url, folder, int(batches), **json.loads(options))
