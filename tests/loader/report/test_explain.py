"""Bottleneck reports name deliberately slow stages and the setting that would help."""

import re
import time
from dataclasses import replace

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.loader import Options
from deeplake_lite.loader import options as loader_options
from deeplake_lite.loader.read.samples import ViewSamples
from deeplake_lite.loader.report import explain
from deeplake_lite.loader.report.explain import Situation, explain_stats
from deeplake_lite.loader.report.stats import Stats


@pytest.fixture
def lake(make_lake):
    return make_lake({"x": "int32"}, x=range(200))


@pytest.fixture(params=[2, 16], ids="{} workers".format)
def workers(request):
    """Return numbers of workers: fewer than there are batches, and more."""
    return request.param


def slept(seconds):
    def sleep(value):
        time.sleep(seconds)
        return value

    return sleep


def after_an_epoch(loader, pause=0.0):
    for _ in loader:
        time.sleep(pause)
    return loader.explain()


def of(epoch, situation=None, /, **options):
    """Explain an epoch that took ten seconds."""
    given = situation or Situation(Options(batch_size=8, **options))
    return explain_stats(Stats(epochs=(epoch,)), given)


def spent(**seconds):
    return Stats(wall=10.0, stall=9.0, batches=5, samples=40, epoch=0, **seconds)


# ---- artificial bottlenecks


def test_slow_store_is_named(lake, workers, monkeypatch):
    read = ViewSamples.read

    def slowly(*args):
        time.sleep(0.3)
        return read(*args)

    monkeypatch.setattr(ViewSamples, "read", slowly)
    result = after_an_epoch(lake.batches(20, num_workers=workers))
    assert result.bottleneck == "read"
    assert str(result).startswith("Reading is slow: ")
    assert "cache='disk'" in str(result)


def test_large_images_are_named(make_lake, workers):
    pixels = np.random.default_rng(0).integers(0, 256, (1200, 1600, 3), np.uint8)
    lake = make_lake({"image": dl.Image("jpeg")}, image=[pixels] * 24)
    result = after_an_epoch(lake.batches(2, num_workers=workers))
    assert result.bottleneck == "decode"
    assert str(result).startswith("Decoding JPEG takes ")
    assert "size=" in str(result)
    assert "cache='decoded'" in str(result)


def test_slow_transform_is_named(lake, workers):
    result = after_an_epoch(lake.batches(20, transform=slept(0.02), num_workers=workers))
    assert result.bottleneck == "transform"
    assert str(result).startswith("Your transform takes ")
    assert "workers='processes'" in str(result)
    assert "batch_transform=" in str(result)


def test_slow_batch_transform_is_named(lake, workers):
    result = after_an_epoch(lake.batches(20, batch_transform=slept(0.4), num_workers=workers))
    assert str(result).startswith("Your batch_transform takes ")
    assert "batch_transform=" not in str(result)


def test_slow_collate_function_is_named(lake, workers):
    result = after_an_epoch(lake.batches(20, collate=slept(0.4), num_workers=workers))
    assert result.bottleneck == "collate"
    assert str(result).startswith("Your collate function takes ")


def test_slow_training_step_is_named(lake, workers):
    result = after_an_epoch(lake.batches(20, num_workers=workers), pause=0.05)
    assert result.bottleneck == "training"
    assert str(result).startswith("Your training step is slower than the loader")


# ---- as measured


@pytest.mark.parametrize(
    ("seconds", "options", "start"),
    [
        (
            {"collate": 8.0},
            {},
            "Collating takes 100% of the workers' time. Options: collate='list'",
        ),
        ({"decode": 8.0}, {}, "Decoding values takes 100% of"),
        ({"hand_over": 6.0, "decode": 2.0}, {}, "Handing batches over takes 75%"),
        ({"transform": 5.0, "waiting": 5.0}, {}, "Your batch_transform takes 100%"),
        ({"transform": 8.0}, {"workers": "processes"}, "Your batch_transform takes 100% of"),
        (
            {"read": 8.0},
            {},
            "Reading is slow: it takes 100% of the workers' time, at ",
        ),
        ({"read": 8.0}, {"cache": None}, "Reading is slow: "),
    ],
)
def test_sentences_describe_the_bottleneck(seconds, options, start):
    result = of(spent(**seconds), num_workers=10_000, **options)
    assert str(result).startswith(start)


def test_advice_about_readers_depends_on_what_stays_in_memory():
    assert "at 0 B/s. Options: later epochs, which get the rows from memory" in str(
        of(spent(read=9.0))
    )
    without = of(spent(read=9.0), Situation(Options(batch_size=8, cache=None), mode="rows"))
    assert "cache='encoded' keeps rows in memory" in str(without)


def test_advice_that_is_already_followed_is_not_given():
    options = Options(batch_size=8, cache="disk", columns=("x",), shuffle="block")
    result = of(spent(read=9.0), Situation(options, "block", "disk"))
    assert str(result).endswith("A store with lower latency would help.")
    pictures = Options(batch_size=8, cache="decoded", size={"image": (8, 8)}, num_workers=1)
    result = of(spent(decode=9.0), Situation(pictures, images={"image": "png", "m": "mask"}))
    assert str(result).startswith(
        "Decoding PNG and masks takes 100% of the workers' time. Options: "
    )
    assert "size=" not in str(result)
    assert "cache=" not in str(result)


def test_rows_that_do_not_fit_on_disk_suggest_a_larger_disk_budget():
    options = Options(batch_size=8, cache="disk", columns=("x",), disk_budget=10**6)
    situation = Situation(options, "block", "disk", rows=1000, stored=5e6)
    later = replace(spent(read=9.0), epoch=1, rows_read=750, samples=1000)
    assert "a disk_budget= of more than 5.0 MB would hold all rows" in str(of(later, situation))
    first = replace(later, epoch=0, rows_read=1000)
    assert "disk_budget" not in str(of(first, situation))


def test_exact_shuffle_beyond_memory_suggests_blocks():
    result = of(spent(read=9.0), Situation(Options(batch_size=8), "exact", "rows", rows=1000))
    assert "shuffle='block' reads whole blocks" in str(result)


@pytest.mark.parametrize(("epoch", "rows_read"), [(0, 2000), (1, 800)])
def test_repeated_reads_are_explained_by_too_little_memory(epoch, rows_read):
    told = Stats(
        wall=10.0, stall=9.0, read=8.0, samples=1000, batches=5, epoch=epoch, rows_read=rows_read
    )
    options = Options(batch_size=8, memory_budget=100_000_000)
    situation = Situation(options, "exact", "rows", rows=1000, stored=2e9)
    result = of(told, situation)
    assert result.bottleneck == "memory"
    assert "memory_budget is 100 MB; about 2.6 GB would hold all rows" in str(result)
    assert of(told, Situation(options, "exact", "whole", rows=1000)).bottleneck == "read"


def test_lake_beyond_the_budget_is_reported(make_lake, monkeypatch):
    lake = make_lake({"x": dl.Embedding(1000)}, x=np.zeros((200, 1000)))
    monkeypatch.setattr(Options, "budget", 300_000)
    read = ViewSamples.read

    def slowly(*args):
        time.sleep(0.05)
        return read(*args)

    monkeypatch.setattr(ViewSamples, "read", slowly)
    monkeypatch.setattr("deeplake_lite.loader.order.block_rows.BLOCK_BYTES", 40_000)
    loader = lake.batches(20, shuffle="exact")
    after_an_epoch(loader)
    assert after_an_epoch(loader).bottleneck == "memory"


# ---- which epoch


def test_epoch_that_has_just_started_is_not_explained_yet():
    past = spent(decode=8.0)
    begun = Stats(wall=0.1, stall=0.1, read=0.1, batches=1, epoch=1)
    situation = Situation(Options(batch_size=8))
    assert explain_stats(Stats(epochs=(past, begun)), situation).bottleneck == "decode"
    assert explain_stats(Stats(epochs=(begun,)), situation).bottleneck == "read"
    assert (
        explain_stats(Stats(epochs=(past, replace(begun, batches=5))), situation).bottleneck
        == "read"
    )


# ---- representation


def test_report_prints_the_sentence_and_the_seconds_below():
    result = of(spent(decode=8.0))
    assert str(result) in repr(result)
    assert "decode             8.00 s    80%" in repr(result)


def test_page_has_the_sentence_and_bars():
    html = of(spent(decode=8.0))._repr_html_()
    assert "Decoding values takes" in html
    assert "width:80%" in html


def test_report_before_loading_says_what_to_do(lake):
    result = lake.batches(8).explain()
    assert (
        repr(result)
        == "Nothing has been loaded yet. Iterate over some batches, and call explain() again."
    )
    assert "width" not in result._repr_html_().partition("</style>")[2]


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (0, "There is nothing to load: the view has no rows."),
        (3, "There is nothing to load: 3 rows cannot fill a batch of batch_size=4, .*"),
    ],
)
def test_epoch_without_batches_says_why(make_lake, rows, told):
    loader = make_lake({"x": "int32"}, x=range(rows)).batches(4, drop_last=True)
    assert list(loader) == []
    assert re.fullmatch(told, str(loader.explain()))


def test_epoch_of_one_batch_is_not_advised_to_use_larger_ones(make_lake):
    loader = make_lake({"x": "int32"}, x=range(3)).batches(4)
    situation = Situation(loader.options, rows=3, batches=1)
    assert "most of the time is spent starting threads" in str(of(spent(hand_over=9.0), situation))


@pytest.mark.parametrize(
    ("cores", "options", "advice"),
    [
        (4, {"num_workers": 2}, "num_workers=4 uses all cores"),
        (4, {}, "a machine with more cores"),
        (16, {"num_workers": 2}, "num_workers=8 uses 8 cores"),
        (16, {}, "workers='processes' uses all 16 cores"),
        (16, {"workers": "processes", "num_workers": 8}, "num_workers=16 uses all cores"),
        (16, {"workers": "processes"}, "a machine with more cores"),
    ],
)
def test_more_workers_are_suggested_where_they_help(monkeypatch, cores, options, advice):
    monkeypatch.setattr(loader_options, "cores", lambda: cores)
    monkeypatch.setattr(explain, "cores", lambda: cores)
    assert advice in str(of(spent(decode=9.0), **options))


@pytest.mark.parametrize(
    ("rows", "seconds", "told"),
    [(0, 1.0, "needs rows"), (1, "long", "seconds must be a number")],
)
def test_decode_limit_requires_rows_and_a_valid_duration(make_lake, rows, seconds, told):
    with pytest.raises(ValueError, match=told):
        make_lake({"x": "int32"}, x=range(rows)).batches(4).decode_limit(seconds)


def test_columns_computed_by_a_query_are_named(make_lake):
    boxes = [[[i, i, i + 1, i + 1]] for i in range(4)]
    view = make_lake({"boxes": dl.Boxes()}, boxes=boxes).query("SELECT boxes[:, 0:2] AS corner")
    loader = view.batches(2)
    situation = Situation.of(loader.resources.samples, loader.options, "none", "whole", 2)
    told = str(of(spent(read=9.0), situation))
    assert told.startswith("Computing the query's columns is slow: it takes 100%")
    assert "cache='disk' stores computed values" in told
