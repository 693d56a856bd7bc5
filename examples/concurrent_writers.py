"""Several processes append to one lake and change cells of it at the same time; nothing is lost.

Run it: python examples/concurrent_writers.py
"""

import multiprocessing
import tempfile

import deeplake_lite as dl

WRITERS, COMMITS, ROWS = 3, 5, 20


def write(url: str, writer: int) -> None:
    """Append some rows and change one cell, several times."""
    for turn in range(COMMITS):
        ds = dl.open(url)
        ds.append({"writer": [writer] * ROWS, "turn": [turn] * ROWS})
        ds["turn"][writer] = turn  # a row of one's own, so nobody is in the way
        ds.commit(f"writer {writer}, turn {turn}")


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        url = f"{scratch}/shared.lake"
        ds = dl.create(url, {"writer": "int32", "turn": "int32"})
        ds.append({"writer": range(WRITERS), "turn": [0] * WRITERS})
        ds.commit("a row for each")

        context = multiprocessing.get_context("spawn")
        processes = [context.Process(target=write, args=(url, w)) for w in range(WRITERS)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()

        ds.refresh()
        print(f"{len(ds)} rows after {len(ds.log()) - 2} commits by {WRITERS} processes")
        assert len(ds) == WRITERS + WRITERS * COMMITS * ROWS
        assert ds["turn"][:WRITERS].tolist() == [COMMITS - 1] * WRITERS
        print(ds.verify())


if __name__ == "__main__":
    main()
