"""A notebook whose user presses Ctrl-C at random moments, and which keeps the last error.

Run as a program: ``interrupts_child.py URL SEED INTERRUPTS``. It prints the number of interrupts.
"""

import random
import signal
import sys
import time
import warnings

import deeplake_lite as dl

warnings.simplefilter("ignore")


def operations(ds):
    """Return the operations to interrupt, by name."""
    return {
        "update": lambda: ds["t"].__setitem__(0, "q"),
        "append": lambda: ds.append({"k": [5], "t": ["x"]}),
        "read": lambda: ds["t"][:5],
        "query": lambda: ds.query("SELECT k, t WHERE k % 3 = 0 ORDER BY t"),
        "commit": lambda: (ds["k"].__setitem__(1, 7), ds.commit("seven")),
    }


def usual_seconds(operation):
    started = time.perf_counter()
    for _ in range(5):
        operation()
    return (time.perf_counter() - started) / 5


def interrupted(operation, seconds):
    """Interrupt an operation after some seconds; tell whether it was still running."""
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-5))
        operation()
        signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt as error:
        sys.last_exc = error
        return True
    return False


def check(ds, name, before):
    """Compare a handle with its state before an interrupted operation."""
    k, t = ds["k"][:].tolist(), ds["t"][:]
    expected = {
        "update": lambda: (before[0], ["q", *before[1][1:]]),
        "append": lambda: ([*before[0], 5], [*before[1], "x"]),
        "commit": lambda: ([before[0][0], 7, *before[0][2:]], before[1]),
    }
    after = expected.get(name, lambda: before)()
    assert (k, t) in (before, after), (name, before, (k, t))


def storm(url, seed, wanted):
    """Interrupt operations until `wanted` interrupts have hit; return their number by name."""
    chance, hits = random.Random(seed), {}
    ds = dl.create(url, {"k": "int64", "t": "text"})
    ds.append({"k": range(50), "t": [f"a{i}" for i in range(50)]})
    ds.commit("rows")
    usual = {name: usual_seconds(work) for name, work in operations(ds).items()}
    ds.discard()
    while sum(hits.values()) < wanted:
        name = chance.choice(list(usual))
        before = ds["k"][:].tolist(), ds["t"][:]
        if interrupted(operations(ds)[name], chance.random() * usual[name] * 1.3):
            hits[name] = hits.get(name, 0) + 1
        check(ds, name, before)
        if len(ds) > 100:
            ds.discard()
    ds.commit("the end")
    assert dl.open(url).verify()
    return hits


if __name__ == "__main__":
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    done = storm(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
    sys.stdout.write(f"{sum(done.values())}\n")
