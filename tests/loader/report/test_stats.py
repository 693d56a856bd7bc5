"""Loader statistics: seconds that add up, bytes, cache hits and memory."""

import json
from concurrent.futures import wait
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.loader.make.arrays import RaggedBatch
from deeplake_lite.loader.make.recipe import BatchResult
from deeplake_lite.loader.read.tally import Tally
from deeplake_lite.loader.report.meter import Meter, Meters
from deeplake_lite.loader.report.stats import STAGES, Stats
from deeplake_lite.loader.resources import Resources
from deeplake_lite.loader.tree import nbytes

ROWS = 400


@pytest.fixture
def lake(make_lake):
    return make_lake({"x": "int32", "name": "text"}, x=range(ROWS), name=["abcd"] * ROWS)


class Clock:
    """A clock that advances only when told to."""

    def __init__(self):
        self.at = 100.0

    def __call__(self):
        return self.at

    def slept(self, seconds):
        """Return a function that takes some seconds and returns its argument."""

        def sleep(value):
            self.at += seconds
            return value

        return sleep


@pytest.fixture
def clock(monkeypatch):
    """Make the loader measure with a clock that the test controls."""
    result = Clock()
    monkeypatch.setattr("deeplake_lite.loader.clock.now", result)
    return result


def timed(loader, clock=None, pause=0.0):
    """Run an epoch; return the seconds on the clock."""
    started = clock() if clock else 0.0
    for _ in loader:
        if clock:
            clock.at += pause
    return (clock() if clock else 0.0) - started


def worked(clock, workers, seconds, pause, tasks=20, ahead=4):
    """Measure an epoch of tasks of a batch each, as so many workers make them ahead of the user.

    Parameters
    ----------
    seconds : dict
        Seconds of a task, by stage.
    pause : float
        Seconds that the user spends on a batch.
    """
    start, took = clock(), sum(seconds.values())
    free, taken, events = [start] * workers, [start] * tasks, []
    asked = start
    for task in range(tasks):
        worker = free.index(min(free))
        slot = taken[task - ahead * workers] if task >= ahead * workers else start
        began = max(free[worker], slot)
        free[worker] = began + took
        left = max(asked, free[worker])
        taken[task], asked = left, left + pause
        events += [(free[worker], 0, task), (asked, 1, task), (left, 2, task), (began, 3, task)]
    meter = Meter(0, workers, Tally(1))
    for clock.at, what, task in sorted(events):
        match what:
            case 0:
                meter.end(task, [BatchResult({}, 20, dict(seconds))])
            case 1:
                meter.back()
            case 2:
                meter.leave(task, 20)
            case 3:
                meter.begin(task)
    meter.stop()
    return meter.stats(), clock() - start


# ---- seconds


def test_stages_add_up_to_the_elapsed_time_without_workers(lake, clock):
    loader = lake.batches(20, num_workers=0, transform=clock.slept(0.006), shuffle=True)
    wall = timed(loader, clock, pause=0.02)
    stats = loader.stats()
    assert stats.wall == pytest.approx(wall) == pytest.approx(20 * 0.02 + 0.006 * ROWS)
    assert sum(stats.seconds.values()) == pytest.approx(wall)
    assert stats.transform == pytest.approx(0.006 * ROWS)
    assert stats.stall == pytest.approx(0.006 * ROWS)


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("pause", [0.02, 0.2])
def test_stages_add_up_to_the_elapsed_time(clock, workers, pause):
    work = {"transform": 0.12, "collate": 0.01}
    stats, wall = worked(clock, workers, work, pause)
    assert stats.wall == pytest.approx(wall)
    assert sum(stats.seconds.values()) == pytest.approx(wall)
    assert all(s >= 0 for s in stats.seconds.values())
    assert stats.transform * workers == pytest.approx(20 * 0.12)
    assert stats.hand_over < 0.4 * wall
    assert stats.stall == pytest.approx(wall - 20 * pause)


def test_stages_of_threads_add_up_to_the_elapsed_time(lake):
    loader = lake.batches(20, num_workers=2, shuffle=True)
    for _ in range(3):
        timed(loader)
    stats = loader.stats()
    assert sum(stats.seconds.values()) == pytest.approx(stats.wall)
    assert all(s >= 0 for s in stats.seconds.values())


def test_idle_worker_waits_for_the_user(clock):
    stats, wall = worked(clock, 2, {"decode": 0.002}, pause=0.06)
    assert stats.waiting > 0.9 * wall
    assert stats.stall < 0.1 * wall
    assert stats.hand_over < 0.1 * wall


def test_user_waits_for_everything_without_workers(lake, clock):
    loader = lake.batches(20, num_workers=0, batch_transform=clock.slept(0.05))
    timed(loader, clock)
    stats = loader.stats()
    assert stats.workers == 1
    assert stats.stall == pytest.approx(stats.wall)
    assert stats.transform == pytest.approx(stats.wall)
    assert stats.waiting == 0


def test_work_of_an_abandoned_epoch_is_not_waiting(clock):
    meter = Meter(0, 2, Tally(1))
    for task in range(2):
        meter.begin(task)
    clock.at += 0.1
    meter.end(0, [BatchResult({}, 20, {"transform": 0.1})])
    meter.leave(0, 20)
    meter.stop()
    stats = meter.stats()
    assert stats.batches == 1
    assert stats.transform == pytest.approx(stats.wall)
    assert sum(stats.seconds.values()) == pytest.approx(stats.wall)


def test_running_epoch_is_reported_up_to_now(lake, clock):
    loader = lake.batches(20, num_workers=0, batch_transform=clock.slept(0.05))
    batches = iter(loader)
    next(batches)
    clock.at += 0.1
    first = loader.stats()
    assert (first.batches, first.samples, len(first.epochs)) == (1, 20, 1)
    assert sum(first.seconds.values()) == pytest.approx(first.wall) == pytest.approx(0.15)
    list(batches)
    assert loader.stats().batches == 20
    assert loader.stats().wall > first.wall


def test_time_between_epochs_belongs_to_none(lake, clock):
    loader = lake.batches(100, num_workers=0, batch_transform=clock.slept(0.05))
    wall = timed(loader, clock)
    clock.at += 30
    wall += timed(loader, clock)
    stats = loader.stats()
    assert stats.wall == pytest.approx(wall) == pytest.approx(0.4)
    assert stats.wall == pytest.approx(sum(epoch.wall for epoch in stats.epochs))
    assert [epoch.epoch for epoch in stats.epochs] == [0, 1]


def test_collate_function_counts_as_collating_and_not_as_a_transform(lake, clock):
    loader = lake.batches(20, num_workers=0, collate=clock.slept(0.02))
    timed(loader, clock)
    stats = loader.stats()
    assert stats.collate == pytest.approx(0.4)
    assert stats.transform == 0


def test_error_ends_the_measurement(lake, clock):
    def fails(_):
        raise KeyError("no")

    loader = lake.batches(20, num_workers=0, transform=fails)
    with pytest.raises(dl.errors.LoaderError):
        list(loader)
    stats = loader.stats()
    clock.at += 1
    assert loader.stats() == stats
    assert stats.batches == 0


def test_task_that_ends_after_its_epoch_changes_nothing():
    tally = Tally(1)
    meter = Meter(0, 1, tally)
    meter.begin(0)
    meter.stop()
    before = meter.stats()
    meter.end(0, [BatchResult({"x": np.zeros(10)}, 10, {"decode": 5.0})])
    assert meter.stats().seconds == before.seconds
    assert tally.held == 0


def lanes_to_a_process(clock, tasks):
    """Measure four seconds of one process that serves two threads."""
    meter = Meter(0, 1, Tally(1), began := clock(), max_tasks=2)
    meter.leave(0, 1)
    for number, (start, end, seconds) in enumerate(tasks):
        clock.at = began + start
        meter.begin(number)
        clock.at = began + end
        meter.end(number, [BatchResult({}, 1, seconds)])
    clock.at = began + 4
    meter.stop()
    stats = meter.stats()
    assert sum(stats.seconds.values()) == pytest.approx(stats.wall)
    return stats


def test_task_waiting_for_another_in_its_process_is_not_a_hand_over(clock):
    work = {"transform": 1.0}
    stats = lanes_to_a_process(clock, [(0, 1, work), (0, 2, work), (1, 3, work), (2, 4, work)])
    assert stats.transform == pytest.approx(4, rel=0.01)
    assert stats.hand_over < 0.05


def test_idle_process_waits_for_the_user(clock):
    stats = lanes_to_a_process(clock, [(0, 1, {"transform": 1.0})])
    assert stats.transform == 1
    assert stats.waiting == pytest.approx(3, rel=0.01)


def test_process_whose_tasks_wait_for_rows_is_reading(clock):
    told = {"read": 3.5, "transform": 0.5}
    stats = lanes_to_a_process(clock, [(0, 4, told), (0, 4, told)])
    assert stats.transform == 1
    assert stats.read == pytest.approx(3, rel=0.01)


# ---- counts


def test_only_delivered_samples_and_batches_are_counted(lake):
    loader = lake.batches(64, shuffle=True)
    timed(loader)
    timed(loader)
    stats = loader.stats()
    assert (stats.samples, stats.batches) == (2 * ROWS, 14)
    assert [epoch.samples for epoch in stats.epochs] == [ROWS, ROWS]
    assert stats.samples_per_second == stats.samples / stats.wall


def test_padding_is_not_counted_as_samples(lake):
    loader = lake.batches(64, rank=0, world_size=3)
    timed(loader)
    assert loader.stats().samples == len(range(0, ROWS, 3))


def test_bytes_are_read_once_and_later_rows_come_from_memory(lake):
    loader = lake.batches(64, columns=["x", "name"])
    timed(loader)
    timed(loader)
    first, second = loader.stats().epochs
    assert ROWS * 8 <= first.bytes_read <= ROWS * 16
    assert (first.rows_read, second.rows_read, second.bytes_read) == (ROWS, 0, 0)
    assert first.cache_hits < 1
    assert second.cache_hits == 1


def test_without_a_cache_rows_are_read_again(lake):
    loader = lake.batches(64, columns=["x"], cache=None)
    timed(loader)
    timed(loader)
    assert [epoch.rows_read for epoch in loader.stats().epochs] == [ROWS, ROWS]
    assert loader.stats().cache_hits == 0


# ---- memory


def test_memory_of_blocks_and_batches_is_counted(make_lake):
    lake = make_lake({"x": dl.Embedding(1000)}, x=np.zeros((100, 1000)))
    loader = lake.batches(10, num_workers=1)
    timed(loader)
    stats = loader.stats()
    assert 400_000 < stats.peak_bytes < 900_000
    assert stats.rss_bytes > stats.peak_bytes
    assert loader.resources.blocks.tally.held < 401_000


def test_unused_read_ahead_is_released(make_lake):
    lake = make_lake({"x": dl.Embedding(1000)}, x=np.zeros((100, 1000)))
    loader = lake.batches(10, cache=None, num_workers=1)
    for _ in range(3):
        for _ in loader:
            assert (
                wait(list(loader.resources.blocks._alone), 60).not_done == set()
            )  # rows read ahead
            break
    loader.resources.pool.shutdown()
    loader.resources.readers.close()
    loader.resources.readers._pool.shutdown()  # running reads hold rows until they end
    assert loader.resources.blocks.tally.held == 0
    assert loader.stats().peak_bytes > 40_000


def test_memory_of_decoded_pixels_is_counted(make_lake):
    pixels = np.zeros((20, 30, 40, 3), np.uint8)
    lake = make_lake({"image": dl.Image("png")}, image=list(pixels))
    loader = lake.batches(10, cache="decoded")
    timed(loader)
    assert pixels.nbytes <= loader.resources.blocks.tally.held < 2 * pixels.nbytes


def test_framework_batch_of_unknown_size_counts_as_zero():
    assert nbytes((1, 2)) == 0
    assert nbytes({"x": [], "y": object()}) == 0


# ---- the value


def test_stats_are_frozen_and_json():
    stats = Stats(wall=1.0, epochs=(Stats(epoch=3),))
    with pytest.raises(FrozenInstanceError):
        stats.wall = 2.0
    document = json.loads(json.dumps(stats.to_dict()))
    assert document["wall"] == 1.0
    assert document["epochs"][0]["epoch"] == 3
    assert set(STAGES) <= set(document)
    assert "epochs" not in document["epochs"][0]


def test_nothing_is_reported_before_loading(lake):
    stats = lake.batches(8).stats()
    assert stats == Stats()
    assert "nothing loaded yet" in repr(stats)
    assert "nothing loaded yet" in stats._repr_html_()


def test_page_has_a_bar_for_each_stage():
    html = Stats(wall=2.0, decode=1.0, waiting=1.0, epoch=0)._repr_html_()
    assert html.count("width:50%") == 2
    assert "<style>" in html
    assert "hand-over" in html


def test_thousand_epochs_are_summarised_and_the_last_hundred_are_listed():
    meters, tally = Meters(), Tally(1)
    for epoch in range(1000):
        meter = meters.begin(Meter(epoch, 1, tally))
        meter.leave(0, 2)
        meters.stop(meter)
    stats = meters.stats()
    assert (stats.samples, stats.batches) == (2000, 1000)
    assert [epoch.epoch for epoch in stats.epochs] == list(range(900, 1000))


def test_memory_of_ragged_and_nested_values_is_counted():
    ragged = RaggedBatch(np.zeros(10), np.array([4, 6]))
    assert nbytes({"boxes": ragged}) == 96
    assert nbytes({"both": {"x": np.zeros(2)}}) == 16
    assert nbytes([{"x": np.zeros(2)}, {"x": np.zeros(2)}]) == 32


def test_epoch_that_cannot_start_is_not_measured(make_lake, monkeypatch):
    lake = make_lake({"x": "int32"}, x=range(8))
    loader = lake.batches(4)
    monkeypatch.setattr(Resources, "_maker", property(lambda _: 1 / 0))
    with pytest.raises(ZeroDivisionError):
        next(iter(loader))
    assert loader.stats().epochs == ()
