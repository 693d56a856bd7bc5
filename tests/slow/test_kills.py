"""1,000 SIGKILLs at random moments: every acknowledged row is there once, the next commit works.

After every kill, all rows of the lake and of a tag that vacuums must preserve are compared with
the acknowledged ones, `verify` reads everything, and an interrupted ingest is completed.
"""

import multiprocessing
import random
import shutil
import sys
import time
from pathlib import Path
from traceback import format_exception

import numpy as np
from PIL import Image

import deeplake_lite as dl

KILLS = 1_000
MEAN_SECONDS = 0.2
"""How long a worker works before it is killed, on average."""
PHOTOS = 40
LARGE = 4_300_000
MAX_ROWS = 40
"""Rows beyond which a worker deletes more than it adds."""
EACH_STEP_FROM = 300
"""Kills after which every kind of step must have been interrupted."""

processes = multiprocessing.get_context("forkserver")
processes.set_forkserver_preload(
    [
        "deeplake_lite.dataset.opening",
        "deeplake_lite.dataset.write.upserts",
        "deeplake_lite.ingest.folders.folder",
        "zarr",
    ]
)


def data_of(key):
    """Return the bytes for a key; those of one key in 24 fill a chunk."""
    number = int(key[1:])
    return bytes([number % 256]) * (LARGE if number % 24 == 0 else 2_000 + number % 7)


def rows_of(start):
    keys = [f"k{start + i}" for i in range(3)]
    return {"key": keys, "n": [0] * 3, "data": [data_of(key) for key in keys]}


class Worker:
    """Runs one operation after another, and reports what is next and what was acknowledged.

    Each report contains the keys that exist after the step, and a number for each of them.
    """

    def __init__(self, url, photos, seed, said):
        self.url, self.photos, self.said = url, photos, said
        self.chance = random.Random(seed)
        self.ds = dl.open(url)

    def state(self):
        return dict(zip(self.ds["key"][:], self.ds["n"][:].tolist(), strict=True))

    def run(self):
        state = self.state()
        start = max([int(key[1:]) for key in state], default=-1) + 1
        while True:
            step = self.chance.choice(STEPS)
            after = dict(state)
            begin = getattr(self, step)
            commit, start = begin(after, start)
            self.said.send(("begin", step, after))
            commit()
            self.said.send(("done", step, after))
            state = after

    def append(self, after, start):
        new = rows_of(start)
        after |= dict.fromkeys(new["key"], 0)

        def act():
            self.ds.append(new)
            self.ds.commit("append")

        return act, start + 3

    def update(self, after, start):
        key = self.chance.choice([*after, None]) if after else None
        if key is None:
            return self.append(after, start)
        after[key] += 1

        def act():
            row = self.ds["key"][:].index(key)
            self.ds.update([row], {"n": [after[key]]})
            self.ds.commit("update")

        return act, start

    def delete(self, after, start):
        if len(after) < MAX_ROWS:
            return self.append(after, start)
        gone = self.chance.sample(sorted(after), len(after) - MAX_ROWS // 2)
        for key in gone:
            del after[key]

        def act():
            keys = self.ds["key"][:]
            self.ds.delete([keys.index(key) for key in gone])
            self.ds.commit("delete")

        return act, start

    def add_column(self, after, start):
        del after

        def act():
            if "more" in self.ds.columns:
                self.ds.drop_column("more")
            else:
                self.ds.add_column("more", "bytes", values=b"x" * 3_000)
                self.ds.set_default("more", b"")
            self.ds.commit("columns")

        return act, start

    def upsert(self, after, start):
        new = rows_of(start)
        known = self.chance.sample(sorted(after), min(2, len(after)))
        for key in known:
            after[key] += 1
        after |= dict.fromkeys(new["key"], 0)
        data = {
            "key": [*known, *new["key"]],
            "n": [*(after[key] for key in known), *new["n"]],
            "data": [*(data_of(k) for k in known), *new["data"]],
        }
        if "more" in self.ds.columns:
            data["more"] = [b""] * len(data["key"])

        def act():
            self.ds.upsert(data, on="key")
            self.ds.commit("upsert")

        return act, start + 3

    def merge(self, after, start):
        new = rows_of(start)
        after |= dict.fromkeys(new["key"], 0)

        def act():
            name = f"b{start}"
            if name in self.ds.branches:
                self.ds.delete_branch(name)
            self.ds.branch(name)
            own = dl.open(self.url, branch=name)
            own.append(new)
            own.commit("on a branch")
            self.ds.merge(name)
            self.ds.delete_branch(name)

        return act, start + 3

    def vacuum(self, after, start):
        del after
        return lambda: self.ds.vacuum(older_than="0s", spare="0s"), start

    def optimize(self, after, start):
        del after
        return self.ds.optimize, start

    def from_folder(self, after, start):
        del after
        into = str(Path(self.url).with_name("photos.lake"))
        return lambda: dl.from_folder(self.photos, into, progress=False), start


STEPS = (
    *("append",) * 3,
    *("update", "upsert", "add_column", "optimize", "from_folder"),
    *("delete", "merge", "vacuum") * 2,
)


def work(url, photos, seed, said):
    worker = Worker(url, photos, seed, said)
    said.send(("begin", "nothing", worker.state()))
    try:
        worker.run()
    except Exception as error:
        said.send(("failed", "".join(format_exception(error)), None))
        raise


def kill_one(url, photos, seed, chance):
    """Let a worker run and kill it; return the possible states, as reported last."""
    told, said = processes.Pipe(duplex=False)
    worker = processes.Process(target=work, args=(url, photos, seed, said), daemon=True)
    worker.start()
    said.close()
    assert told.poll(120)
    time.sleep(chance.expovariate(1 / MEAN_SECONDS))
    worker.kill()
    worker.join()
    acknowledged = begun = step = None
    try:
        while told.poll(0):
            kind, step, state = told.recv()
            assert kind != "failed", step
            acknowledged = state if kind == "done" or acknowledged is None else acknowledged
            begun = state
    except (EOFError, OSError):
        pass
    return step, acknowledged, begun


def check(url, acknowledged, begun, step):
    """Compare the lake with the acknowledged state and the operation in progress."""
    ds = dl.open(url)
    keys = ds["key"][:]
    assert len(keys) == len(set(keys)), step
    assert len(np.unique(ds.row_ids)) == len(ds), step
    result = dict(zip(keys, ds["n"][:].tolist(), strict=True))
    assert result in (acknowledged, begun), step
    for key, data in zip(keys, ds["data"][:], strict=True):
        assert data == data_of(key), (step, key)
    first = dl.open(url, version="first")
    assert first["key"][:] == rows_of(0)["key"], step
    assert first["data"][:] == rows_of(0)["data"], step
    report = ds.verify()
    assert report, (step, report)
    return ds


def finish_ingest(photos, into):
    """Complete a killed worker's ingest, check every row, and make room for the next."""
    dl.from_folder(photos, str(into), progress=False)
    ds = dl.open(str(into))
    assert sorted(int(pixels[0, 0, 0]) for pixels in ds["image"][:]) == list(range(PHOTOS))
    assert ds.verify()
    shutil.rmtree(into)


def test_every_acknowledged_row_is_there_once_after_any_kill(tmp_path, trials):
    url, photos, chance = str(tmp_path / "killed.lake"), tmp_path / "photos", random.Random(5)
    into = tmp_path / "photos.lake"
    for i in range(PHOTOS):
        (photos / f"c{i % 3}").mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(i).integers(0, 255, (80, 60, 3), np.uint8)
        pixels[0, 0] = i
        Image.fromarray(pixels).save(photos / f"c{i % 3}" / f"{i}.png")
    ds = dl.create(url, {"key": "text", "n": "int64", "data": "bytes"})
    ds.append(rows_of(0))
    ds.commit("first")
    ds.tag("first")
    kills, steps = trials(KILLS), dict.fromkeys(["nothing", *STEPS], 0)
    for kill in range(kills):
        step, acknowledged, begun = kill_one(url, photos, kill, chance)
        steps[step] += 1
        ds = check(url, acknowledged, begun, step)
        ds.metadata["kill"] = kill
        ds.commit("the next commit works at once")
        assert dl.open(url).metadata["kill"] == kill
        if step == "from_folder":
            finish_ingest(photos, into)
    sys.stdout.write(f"{kills} kills, by what was being done: {steps}\n")
    assert kills < EACH_STEP_FROM or min(steps[step] for step in STEPS) > 0, steps
    dl.open(url).vacuum(older_than="0s", spare="0s")
    assert dl.open(url).verify()
    left = {p.suffix for p in (Path(url) / ".writers").iterdir()}
    assert left <= {".lock", ".ref"}, "what killed writers left is cleared"
