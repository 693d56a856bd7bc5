"""The contract of loaders: exact epochs, orders that are functions, lossless resuming."""

import copy
import gc
import json
import pickle
import signal
import subprocess
import sys
import time
import tracemalloc
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

import deeplake_lite as dl

from .watching import eventually, threads

N, BATCH = 103, 12
HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """Return a lake on disk with numbers, strings and classes."""
    place = str(tmp_path_factory.mktemp("lakes") / "numbers.lake")
    ds = dl.create(place, {"x": "int32", "t": "text", "label": dl.ClassLabel(["a", "b"])})
    ds.append({"x": range(N), "t": [str(i) for i in range(N)], "label": [i % 2 for i in range(N)]})
    ds.commit("rows")
    return place


@pytest.fixture
def ds(url):
    return dl.open(url)


def epoch(loader):
    """Return the rows of each batch of an epoch."""
    return [batch["x"].tolist() for batch in loader]


def flat(batches):
    return [x for batch in batches for x in batch]


# ---- epochs


@pytest.mark.parametrize("shuffle", [False, True, "exact", "block"])
def test_every_row_appears_once_per_epoch_with_its_own_cells(ds, shuffle):
    loader = ds.batches(BATCH, shuffle=shuffle, seed=1)
    for _ in range(2):
        seen = []
        for batch in loader:
            assert batch["t"] == [str(x) for x in batch["x"]]
            assert batch["label"].tolist() == [x % 2 for x in batch["x"]]
            seen += batch["x"].tolist()
        assert sorted(seen) == list(range(N))
        assert (seen == list(range(N))) == (shuffle is False)
    assert len(loader) == 9


def test_each_iter_is_the_next_epoch_and_set_epoch_sets_it(ds):
    loader = ds.batches(BATCH, shuffle=True)
    first, second, third = (epoch(loader) for _ in range(3))
    assert first != second != third
    assert loader.epoch == 2
    loader.set_epoch(1)
    assert loader.epoch == 1
    assert epoch(loader) == second
    assert epoch(loader) == third
    again = ds.batches(BATCH, shuffle=True)
    again.set_epoch(np.int64(2))
    assert json.dumps(again.state_dict())
    assert epoch(again) == third


@pytest.mark.parametrize("number", [-1, 1.5, None])
def test_epoch_is_a_number_from_0(ds, number):
    with pytest.raises(ValueError, match="epoch must be an integer of at least 0, but it is"):
        ds.batches(BATCH).set_epoch(number)


def test_abandoned_epoch_is_not_continued(ds):
    loader = ds.batches(BATCH, shuffle=True)
    half = [b["x"].tolist() for b in islice(loader, 3)]
    second = epoch(loader)
    loader.set_epoch(0)
    assert epoch(loader)[:3] == half
    assert epoch(loader) == second


OPTIONS = [
    {"num_workers": 0},
    {"num_workers": 1},
    {"num_workers": 3},
    {"cache": None},
    {"cache": "decoded"},
    {"memory_budget": 1},
    {"row_ids": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_order_does_not_depend_on_workers_cache_or_budget(ds, options):
    expected = ds.batches(BATCH, shuffle=True, seed=9)
    loader = ds.batches(BATCH, shuffle=True, seed=9, **options)
    assert [epoch(loader), epoch(loader)] == [epoch(expected), epoch(expected)]


def test_drop_last_drops_an_incomplete_batch(ds):
    result = epoch(ds.batches(BATCH, drop_last=True))
    assert flat(result) == list(range(N - N % BATCH))


def test_ranks_share_a_batch_and_mark_repeated_rows(ds):
    alone = epoch(ds.batches(BATCH, shuffle=True))
    for world in (2, 3, 4):
        ranks = [
            list(ds.batches(BATCH // world, shuffle=True, rank=r, world_size=world))
            for r in range(world)
        ]
        assert {len(rank) for rank in ranks} == {len(alone)}
        for k, rows in enumerate(alone):
            own = [set(rank[k]["x"][~rank[k]["_padding"]].tolist()) for rank in ranks]
            assert sum(map(len, own)) == len(rows)
            assert set.union(*own) == set(rows)
            assert all(len(rank[k]["x"]) == BATCH // world for rank in ranks)


# ---- resuming


@pytest.mark.parametrize("shuffle", [False, "exact", "block"])
@pytest.mark.parametrize("last", ["uneven", "drop", "pad"])
def test_loader_resumes_at_every_batch(ds, shuffle, last):
    options = {"batch_size": BATCH, "shuffle": shuffle, "last": last}
    loader = ds.batches(**options)
    whole, following = epoch(loader), epoch(loader)
    loader.set_epoch(0)
    states = [loader.state_dict(), *(loader.state_dict() for _ in loader)]
    for k, state in enumerate(states):
        fresh = ds.batches(**options, num_workers=k % 3)
        fresh.load_state_dict(json.loads(json.dumps(state)))
        assert fresh.state_dict() == state
        rest = epoch(fresh)
        if k < len(whole):
            assert rest == whole[k:]
            assert epoch(fresh) == following
        else:  # the state of a finished epoch is the start of the next one
            assert rest == following


def test_state_counts_delivered_batches_and_not_prepared_ones(ds):
    loader = ds.batches(BATCH, shuffle=True)
    batches = iter(loader)
    assert loader.state_dict()["consumed"] == 0
    next(batches)
    time.sleep(0.05)  # others are created in the meantime
    assert loader.state_dict()["consumed"] == BATCH


def test_loading_twice_and_setting_an_epoch_leave_nothing_behind(ds):
    loader = ds.batches(BATCH, shuffle=True)
    whole = [epoch(loader) for _ in range(3)]
    loader.set_epoch(1)
    for _ in islice(loader, 4):
        pass
    state = loader.state_dict()
    for _ in range(2):
        loader.load_state_dict(state)
        assert epoch(loader) == whole[1][4:]
    loader.load_state_dict(state)
    loader.set_epoch(0)
    assert epoch(loader) == whole[0]


def test_any_number_of_ranks_resumes_at_the_same_global_batch(ds):
    whole = epoch(ds.batches(BATCH, shuffle=True))
    seen, state = [], None
    for world, count in [(1, 2), (2, 2), (3, 2), (1, 1), (4, 2)]:
        loaders = [
            ds.batches(BATCH // world, shuffle=True, rank=r, world_size=world, last="uneven")
            for r in range(world)
        ]
        if state is not None:
            for loader in loaders:
                loader.load_state_dict(state)
        steps = zip(*[islice(loader, count) for loader in loaders], strict=False)
        seen += [set(flat(batch["x"].tolist() for batch in step)) for step in steps]
        states = [loader.state_dict() for loader in loaders]
        assert all(s == states[0] for s in states)
        state = states[0]
    assert seen == [set(rows) for rows in whole]


def trainer(url, folder, batches, **options):
    command = [sys.executable, str(HERE / "trainer.py"), url, str(folder), str(batches)]
    return subprocess.Popen(
        [*command, json.dumps(options)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def lines(folder):
    file = folder / "seen.jsonl"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def test_training_resumes_in_a_new_process_after_a_kill(ds, url, tmp_path):
    options = {"batch_size": BATCH, "shuffle": True, "seed": 5}
    process = trainer(url, tmp_path, 4, **options)
    deadline = time.monotonic() + 60
    while len(lines(tmp_path)) < 4 or not (tmp_path / "state.json").exists():
        assert time.monotonic() < deadline
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    while json.loads((tmp_path / "state.json").read_text())["consumed"] < 4 * BATCH:
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    out, errors = trainer(url, tmp_path, -1, **options, num_workers=1).communicate(timeout=1_800)
    assert out == "epoch done\n", errors
    assert lines(tmp_path) == epoch(ds.batches(**options))


# ---- views of every kind

VIEWS = {
    "all rows": lambda ds: ds,
    "filtered": lambda ds: ds.query("SELECT * WHERE label = 'b' AND x > 20"),
    "ordered": lambda ds: ds.query("SELECT * ORDER BY t DESC"),
    "sampled": lambda ds: ds.query("SELECT * SAMPLE BY x + 1 REPLACE LIMIT 40 SEED 7"),
    "rows that come twice": lambda ds: ds[[3, 3, 50, 3, 7, 50]],
    "backwards": lambda ds: ds[::-2],
    "joined": lambda ds: ds.query(
        "SELECT a.x AS x, b.t AS t, a.label AS label FROM dataset a LEFT JOIN other b ON a.x = b.x",
        sources={"other": ds[10:60]},
    ),
    "virtual columns": lambda ds: ds.query("SELECT x, x * 2 AS y, 'no ' || t AS t, label"),
    "groups": lambda ds: ds.query(
        "SELECT label, CAST(SUM(x) AS INT) AS x, FIRST(t) AS t GROUP BY label"
    ),
    "no rows": lambda ds: ds.query("SELECT * WHERE x < 0"),
    "one row": lambda ds: ds[5:6],
}


@pytest.mark.parametrize("kind", VIEWS)
def test_views_of_every_kind_give_their_rows(ds, kind):
    view = VIEWS[kind](ds)
    rows = list(view)
    expected = sorted(repr(plain(row)) for row in rows)
    for shuffle in (False, "exact", "block"):
        loader = view.batches(7, shuffle=shuffle)
        for _ in range(2):
            result = [row for batch in loader for row in unbatched(batch, view.columns)]
            assert sorted(map(repr, result)) == expected
            if not shuffle:
                assert result == [plain(row) for row in rows]
    loader = view.batches(7, shuffle=True)
    state = next((loader.state_dict() for _ in loader), loader.state_dict())
    assert len(json.dumps(state)) < 1_000
    fresh = VIEWS[kind](ds).batches(7, shuffle=True)
    fresh.load_state_dict(state)


def plain(row):
    return {name: getattr(value, "item", lambda v=value: v)() for name, value in row.items()}


def unbatched(batch, names):
    """Return the rows of a batch, None where null."""
    count = len(batch[names[0]])
    for i in range(count):
        row = {name: batch[name][i] for name in names}
        for name in names:
            if f"{name}_valid" in batch and not batch[f"{name}_valid"][i]:
                row[name] = None
        yield plain(row)


def test_loader_reads_the_version_that_it_started_with(new_url):
    ds = dl.create(new_url(), {"x": "int32"})
    ds.append({"x": range(40)})
    ds.commit("rows")
    loader = ds.batches(4, shuffle=True, cache=None, memory_budget=1)
    batches = iter(loader)
    seen = next(batches)["x"].tolist()
    ds["x"][:] = np.full(40, -1)
    ds.delete(range(10))
    seen += next(batches)["x"].tolist()
    ds.rename_column("x", "y")
    ds.append({"y": [100]})
    ds.commit("changed")
    ds.optimize()
    seen += [x for batch in batches for x in batch["x"].tolist()]
    assert sorted(seen) == list(range(40))
    assert sorted(flat(epoch(loader))) == list(range(40))
    assert ds.batches(4).columns == ("y",)


def test_uncommitted_rows_are_loaded(new_url):
    ds = dl.create(new_url(), {"x": "int32", "t": "text"})
    ds.append({"x": range(10), "t": list("abcdefghij")})
    ds["x"][3] = 33
    ds.delete([0])
    loader = ds.batches(4)
    assert flat(epoch(loader)) == [1, 2, 33, 4, 5, 6, 7, 8, 9]
    ds.append({"x": [10], "t": ["k"]})
    ds.delete([0, 1])
    assert flat(epoch(loader)) == [1, 2, 33, 4, 5, 6, 7, 8, 9]
    ds.commit("rows")
    assert flat(epoch(loader)) == [1, 2, 33, 4, 5, 6, 7, 8, 9]
    assert flat(epoch(ds.batches(4))) == [33, 4, 5, 6, 7, 8, 9, 10]


# ---- transforms


def test_sample_is_a_dict_and_the_results_of_a_transform_are_collated(ds):
    as_dict = ds.batches(4, transform=lambda row: {"y": row["x"] + 1, "t": row["t"] + "!"})
    batch = next(iter(as_dict))
    assert batch["y"].tolist() == [1, 2, 3, 4]
    assert batch["t"] == ["0!", "1!", "2!", "3!"]
    as_tuple = ds.batches(4, transform=lambda row: (row["x"], np.full(2, row["x"]), row["t"]))
    x, pairs, texts = next(iter(as_tuple))
    assert x.tolist() == [0, 1, 2, 3]
    assert pairs.shape == (4, 2)
    assert texts == ["0", "1", "2", "3"]
    as_array = ds.batches(4, transform=lambda row: np.full((2, 3), row["x"]))
    assert next(iter(as_array)).shape == (4, 2, 3)


def test_batch_transform_gets_the_batch(ds):
    loader = ds.batches(4, columns=["x"], batch_transform=lambda batch: batch["x"].sum())
    assert next(iter(loader)) == 6


def test_random_numbers_of_a_transform_depend_only_on_seed_epoch_and_row(ds):
    def noisy(row, rng):
        return {"x": row["x"], "draw": rng.integers(2**40)}

    def draws(loader):
        return {int(x): int(d) for b in loader for x, d in zip(b["x"], b["draw"], strict=True)}

    loader = ds.batches(BATCH, seed=1, transform=noisy)
    first, second = draws(loader), draws(loader)
    assert len(set(first.values())) == N
    assert all(first[x] != second[x] for x in first)
    other = ds.batches(5, seed=1, shuffle=True, transform=noisy, num_workers=3)
    assert [draws(other), draws(other)] == [first, second]
    subset = draws(ds[20:30].batches(3, seed=1, transform=noisy))
    assert subset == {x: first[x] for x in range(20, 30)}
    assert draws(ds.batches(BATCH, seed=2, transform=noisy)) != first


def test_repr_describes_the_loader(ds):
    text = repr(ds.batches(BATCH, shuffle=True, seed=3))
    assert "103 rows in 9 batches of 12" in text
    assert "shuffle  exact" in text
    assert "seed 3" in text


def test_row_ids_equal_those_of_the_view(ds):
    view = ds[::3]
    batch = next(iter(view.batches(100, shuffle=True, row_ids=True)))
    where = {int(i): int(x) for i, x in zip(view.row_ids, view["x"][:], strict=True)}
    assert [where[int(i)] for i in batch["_row_id"]] == batch["x"].tolist()


def test_block_files_have_ids_if_requested(ds, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    expected = epoch(ds.batches(BATCH, shuffle=True))
    for _ in range(2):
        assert epoch(ds.batches(BATCH, shuffle=True, cache="disk")) == expected
        batch = next(iter(ds.batches(N, cache="disk", row_ids=True)))
        assert batch["_row_id"].tolist() == ds.row_ids.tolist()


def test_inspecting_a_loader_creates_no_folder(ds, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    loader = ds.batches(BATCH, cache="disk")
    assert "held disk" in repr(loader)
    assert "Nothing has been loaded" in str(loader.explain())
    assert list(tmp_path.iterdir()) == []


def test_loader_is_closed_at_the_end_of_its_with_block(ds):
    running = threads()
    with ds.batches(BATCH, num_workers=2) as loader:
        assert len(list(loader)) == len(loader)
        assert threads() > running
    assert eventually(lambda: threads() <= running)
    assert len(list(loader)) == len(loader)  # it can be used again
    loader.close()


def test_uneven_ranks_resume_in_the_same_epoch(ds):
    view, options = ds[:13], {"last": "uneven", "shuffle": True}
    whole = view.batches(4, **options)
    state = [whole.state_dict() for _ in islice(whole, 3)][-1]
    loaders = [view.batches(1, rank=rank, world_size=4, **options) for rank in range(4)]
    for loader in loaders:
        loader.load_state_dict(state)
    assert [len(list(loader)) for loader in loaders] == [1, 0, 0, 0]  # the thirteenth row
    assert [loader.epoch for loader in loaders] == [0] * 4
    for loader in loaders:
        next(iter(loader))
    assert [loader.epoch for loader in loaders] == [1] * 4


def test_rank_without_a_last_batch_has_also_finished_its_epoch(ds):
    options = {"last": "uneven", "rank": 1, "world_size": 4}
    loader, again = (ds[:13].batches(1, **options) for _ in range(2))
    assert len(list(loader)) == 3
    again.load_state_dict(loader.state_dict())
    assert len(list(again)) == 3
    assert again.epoch == 1


@pytest.mark.parametrize("cache", ["encoded", "decoded", None])
def test_memory_does_not_grow_over_twenty_epochs(make_lake, cache):
    pictures = np.random.default_rng(0).integers(0, 255, (24, 64, 64, 3), "uint8")
    ds = make_lake({"image": dl.Image("png")}, image=pictures)
    taken = []
    tracemalloc.start()
    try:
        with ds.batches(8, shuffle=True, num_workers=2, cache=cache) as loader:
            for number in range(20):
                assert sum(len(batch["image"]) for batch in loader) == len(ds)
                if number in (4, 19):
                    gc.collect()
                    taken.append(tracemalloc.get_traced_memory()[0])
    finally:
        tracemalloc.stop()
    assert taken[1] - taken[0] < pictures.nbytes / 2  # less often than one epoch in fifteen


@pytest.mark.parametrize("exporter", ["batches", "pytorch", "jax"])
@pytest.mark.parametrize("take", [copy.copy, copy.deepcopy, pickle.dumps])
def test_loader_can_be_neither_pickled_nor_copied(ds, exporter, take):
    loader = getattr(ds, exporter)(4)
    next(iter(loader))
    with pytest.raises(dl.LoaderError, match=r"cannot be pickled or copied\. .*load_state_dict"):
        take(loader)
    assert len(list(loader)) == len(loader)
