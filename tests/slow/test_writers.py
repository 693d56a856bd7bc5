"""8 writers, 2 readers and a vacuum loop on one folder for 10 minutes: no row is lost."""

import multiprocessing
import time

import numpy as np

import deeplake_lite as dl
from deeplake_lite.testing.invariants import check_consistent

SECONDS = 600
WRITERS, READERS = 8, 2

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(["deeplake_lite.dataset.opening", "deeplake_lite.htypes.bytes"])


def rows_of(writer, start):
    """Return three rows whose values follow from their numbers; now and then one fills a chunk."""
    size = 4_300_000 if start % 30 == 0 else 2_000
    return {
        "writer": [writer] * 3,
        "x": list(range(start, start + 3)),
        "data": [bytes([(start + i) % 256]) * (size + i) for i in range(3)],
    }


def write(url, writer, stop):
    """Append and commit; now and then on a branch of its own, which is merged."""
    ds, done, merges = dl.open(url), 0, 0
    branch = f"of-{writer}"
    while time.time() < stop:
        if done % 12 == 9:
            if branch not in ds.branches:
                ds.branch(branch)
            own = dl.open(url, branch=branch)
            own.append(rows_of(writer, done))
            own.commit("on a branch")
            ds.merge(branch)
            ds.delete_branch(branch)
            merges += 1
        else:
            ds.append(rows_of(writer, done))
            ds.commit(f"{writer}: {done}")
        done += 3
    return {"writer": writer, "rows": done, "merges": merges}


def read(url, reader, stop):
    """Read some rows of the newest version, and of one version for a while."""
    reads, chance = 0, np.random.default_rng(reader)
    while time.time() < stop:
        ds = dl.open(url)
        for _ in range(3):
            some = chance.integers(0, max(1, len(ds)), min(len(ds), 5))
            for row in ds[some.tolist()]:
                assert row["data"] == bytes([row["x"] % 256]) * len(row["data"])
            reads += 1
    return {"reads": reads}


def vacuum(url, _, stop):
    """Expire old versions and delete unused data, as often as possible.

    The grace period is longer than a reader reads one version.
    """
    ds, vacuums, freed = dl.open(url), 0, 0
    while time.time() < stop:
        freed += ds.vacuum(older_than="60s", spare="60s").bytes
        vacuums += 1
        time.sleep(0.5)
    return {"vacuums": vacuums, "freed": freed}


def report(work, arguments, found):
    """Do some work, and report the result or the error."""
    try:
        found.put(work(*arguments))
    except BaseException as error:
        found.put({"error": f"{work.__name__} {arguments[1]}: {type(error).__name__}: {error}"})
        raise


def test_no_row_is_lost_next_to_writers_readers_and_a_vacuum(tmp_path, trials):
    url, result = str(tmp_path / "lake"), processes.Queue()
    ds = dl.create(url, {"writer": "text", "x": "int64", "data": "bytes"})
    ds.append(rows_of("first", 0))
    ds.commit("first")
    stop = time.time() + trials(SECONDS)
    work = [(write, (url, f"w{i}", stop)) for i in range(WRITERS)]
    work += [(read, (url, i, stop)) for i in range(READERS)] + [(vacuum, (url, 0, stop))]
    workers = [processes.Process(target=report, args=(*some, result), daemon=True) for some in work]
    for worker in workers:
        worker.start()
    done = [result.get(timeout=trials(SECONDS) + 300) for _ in workers]
    for worker in workers:
        worker.join()
    assert not [some["error"] for some in done if "error" in some]
    ds = dl.open(url)
    names, numbers = np.array(ds["writer"][:]), ds["x"][:]
    written = {some["writer"]: some["rows"] for some in done if "writer" in some}
    for name, count in written.items():
        assert sorted(numbers[names == name].tolist()) == list(range(count))
    assert sum(some.get("merges", 0) for some in done) > 0
    assert len(np.unique(ds.row_ids)) == len(ds) == 3 + sum(written.values())
    assert ds.verify()
    check_consistent(ds)
