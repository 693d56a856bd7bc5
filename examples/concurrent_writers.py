"""Several processes append rows to one lake and change its cells at the same time without losses.

Run it: python examples/concurrent_writers.py
"""

import multiprocessing
import tempfile

import deeplake_lite as dl

WRITERS, COMMITS, ROWS = 3, 5, 20


def write(url: str, writer: int) -> None:
    """Append some rows, change one cell and commit, several times."""
    for turn in range(COMMITS):
        ds = dl.open(url)
        ds.append({"writer": [writer] * ROWS, "turn": [turn] * ROWS})
        ds["turn"][writer] = turn  # each writer changes another row, so there are no conflicts
        ds.commit(f"writer {writer}, turn {turn}")


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        url = f"{scratch}/shared.lake"
        ds = dl.create(url, {"writer": "int32", "turn": "int32"})
        ds.append({"writer": range(WRITERS), "turn": [0] * WRITERS})
        ds.commit("a row for each writer")

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
