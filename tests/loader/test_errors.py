"""Failing rows, dying workers and abandoned epochs: the errors, and how loading continues."""

from __future__ import annotations

import io
import os
import signal
import time
import traceback

import numpy as np
import pytest
from PIL import Image
from torch.utils.data import DataLoader

import deeplake_lite as dl
from deeplake_lite.dataset.repr import bars
from deeplake_lite.errors import LoaderError
from deeplake_lite.loader.read.samples import ViewSamples as Samples
from deeplake_lite.testing import transforms

from .watching import children, eventually, has_ended, threads

WORKERS = [("threads", 0), ("threads", 2), ("processes", 1)]
all_workers = pytest.mark.parametrize(("workers", "num_workers"), WORKERS)


@pytest.fixture(autouse=True)
def nothing_left():
    """Check that no process or thread is left after a test."""
    running = threads()
    yield
    assert eventually(lambda: not children())
    assert eventually(lambda: threads() <= running), threads() - running


@pytest.fixture
def load():
    """Make loaders that are closed at the end."""
    made = []

    def make(ds, batch_size=4, **options):
        made.append(ds.batches(batch_size, **options))
        return made[-1]

    yield make
    for loader in made:
        loader.close()


def damaged_png():
    """Return a PNG whose header and end are fine, and whose pixels are not."""
    file = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (32, 32, 3), "uint8")).save(
        file, "png"
    )
    data = bytearray(file.getvalue())
    data[200:1200] = bytes(1000)
    return bytes(data)


def damage(monkeypatch, *columns):
    """Make images damaged where x = 5."""
    read = Samples.read

    def damaged(self, positions, *into):
        cells = dict(read(self, positions, *into))
        for row in np.flatnonzero(cells["x"].values == 5) if "x" in cells else ():
            for column in columns:
                cells[column].buffers[row] = damaged_png()
        return cells

    monkeypatch.setattr(Samples, "read", damaged)


@pytest.fixture
def pictures(make_lake, monkeypatch):
    """Make a lake of images in which row 5 cannot be decoded."""
    damage(monkeypatch, "image")
    images = [np.zeros((32, 32, 3), "uint8")] * 12
    return make_lake({"x": "int32", "image": dl.Image("png")}, x=range(12), image=images)


def collected(loader):
    """Return the batches before the error, and the error."""
    seen = []
    with pytest.raises(LoaderError) as caught:
        seen.extend(loader)
    return seen, caught.value


def shown(error):
    return "".join(traceback.format_exception(error))


# ---- rows that fail


@all_workers
def test_error_in_a_transform_has_the_row_and_its_own_traceback(
    numbers, load, workers, num_workers
):
    options = {"transform": transforms.fail, "workers": workers, "num_workers": num_workers}
    seen, error = collected(load(numbers, **options))
    assert [batch["x"].tolist() for batch in seen] == [[0, 1, 2, 3]]
    assert (error.row_id, error.column) == (numbers.row_ids[7], None)
    assert (
        f"row 7 of the view (row id {error.row_id}), transform: ValueError: seven is not liked"
        in str(error)
    )
    assert "on_error='skip'" in str(error)
    assert isinstance(error.__cause__, ValueError)
    assert 'raise ValueError("seven is not liked")' in shown(error)


@pytest.mark.parametrize("row_ids", [False, True])
@pytest.mark.parametrize("shuffle", [False, "exact"])
@pytest.mark.parametrize("option", ["transform", "batch_transform", "collate"])
@all_workers
def test_error_has_the_position_in_the_view(
    numbers, load, workers, num_workers, option, shuffle, row_ids
):
    view = numbers[[3, 9, 7, 5, 1, 30]]
    functions = {"batch_transform": transforms.fail_batch, "collate": transforms.fail_samples}
    function = {option: functions.get(option, transforms.fail)}
    how = {"workers": workers, "num_workers": num_workers, "row_ids": row_ids}
    _, error = collected(load(view, 1, shuffle=shuffle, **function, **how))
    assert (error.position, error.source, error.row_id) == (2, None, numbers.row_ids[7])
    assert f"row 2 of the view (row id {error.row_id})" in str(error)


@all_workers
def test_error_of_a_mix_has_the_view_and_the_position_in_it(numbers, load, workers, num_workers):
    mix = dl.mix({numbers[8:20]: 1, numbers[[6, 7]]: 1}, length=24)
    how = {"workers": workers, "num_workers": num_workers, "shuffle": True}
    _, error = collected(load(mix, transform=transforms.fail, **how))
    assert (error.position, error.source, error.row_id) == (1, 1, numbers.row_ids[7])
    assert f"row 1 of view 1 of the mix (row id {error.row_id}), transform" in str(error)
    loader = load(mix, transform=transforms.fail, on_error="skip", **how)
    list(loader)
    assert {(s.position, s.source, s.row_id) for s in loader.skipped} == {
        (1, 1, numbers.row_ids[7])
    }


@pytest.mark.parametrize("num_workers", [0, 1])
@pytest.mark.parametrize("style", ["map", "iterable"])
def test_error_in_a_pytorch_dataset_has_the_position(digits, style, num_workers):
    dataset = digits[10:20].pytorch_dataset(
        style=style, columns=["label"], transform=transforms.fail_label
    )
    position = int(np.flatnonzero(digits["label"][10:20] == 7)[0])
    place = rf"row {position} of the view \(row id {digits.row_ids[10 + position]}\), transform"
    context = "forkserver" if num_workers else None
    loader = DataLoader(dataset, 4, num_workers=num_workers, multiprocessing_context=context)
    with pytest.raises(LoaderError, match=place):
        list(loader)


@all_workers
def test_undecodable_image_is_reported_with_row_and_column(pictures, load, workers, num_workers):
    seen, error = collected(load(pictures, workers=workers, num_workers=num_workers))
    assert len(seen) == 1
    assert (error.row_id, error.column) == (pictures.row_ids[5], "image")
    assert f"row 5 of the view (row id {error.row_id}), column 'image'" in str(error)
    assert error.__cause__ is not None
    assert "decode" in shown(error)


@all_workers
def test_batches_before_the_failing_one_are_delivered_when_many_are_made_at_once(
    make_lake, load, workers, num_workers
):
    many = make_lake({"x": "int32"}, x=np.where(np.arange(2000) == 1500, 7, 0))
    options = {"transform": transforms.fail, "workers": workers, "num_workers": num_workers}
    loader = load(many, 1, **options)
    seen, error = collected(loader)
    assert len(seen) == 1500
    assert loader.state_dict()["consumed"] == 1500
    assert error.row_id == many.row_ids[1500]


@all_workers
def test_failing_rows_are_skipped_and_listed(pictures, load, workers, num_workers):
    options = {"workers": workers, "num_workers": num_workers, "on_error": "skip"}
    loader = load(pictures, transform=transforms.fail, **options)
    for _ in range(2):
        got = [batch["x"].tolist() for batch in loader]
        assert got == [[0, 1, 2, 3], [4, 6], [8, 9, 10, 11]]
        picture, seven = loader.skipped
        assert (picture.row_id, picture.column) == (pictures.row_ids[5], "image")
        assert (seven.row_id, seven.column) == (pictures.row_ids[7], None)
        assert seven.error == "ValueError: seven is not liked"
    assert "skipped  2 rows, see .skipped" in repr(loader)


@all_workers
def test_batch_without_remaining_rows_is_not_delivered(numbers, load, workers, num_workers):
    options = {"workers": workers, "num_workers": num_workers, "on_error": "skip"}
    loader = load(numbers, 1, transform=transforms.fail, **options)
    assert [batch["x"].item() for batch in loader] == [i for i in range(40) if i != 7]
    assert loader.state_dict()["consumed"] == 40


def test_row_that_fails_in_two_columns_is_listed_once(make_lake, load, monkeypatch):
    damage(monkeypatch, "a", "b")
    image = np.zeros((32, 32, 3), "uint8")
    schema = {"x": "int32", "a": dl.Image("png"), "b": dl.Image("png")}
    lake = make_lake(schema, x=[0, 5], a=[image] * 2, b=[image] * 2)
    loader = load(lake, 1, on_error="skip")
    assert len(list(loader)) == 1
    assert [skipped.column for skipped in loader.skipped] == ["a"]


@all_workers
def test_error_of_a_batch_transform_names_the_batch(numbers, load, workers, num_workers):
    options = {"workers": workers, "num_workers": num_workers}
    seen, error = collected(load(numbers, batch_transform=transforms.fail_batch, **options))
    assert len(seen) == 1
    place = f"begins with row 4 of the view (row id {numbers.row_ids[4]})"
    assert f"{place}: ValueError: seven is not liked" in str(error)
    assert "in fail_batch" in shown(error)


@all_workers
def test_values_that_cannot_be_stacked_raise_the_same_error_everywhere(
    ds, load, workers, num_workers
):
    options = {"workers": workers, "num_workers": num_workers}
    with pytest.raises(ValueError, match=r"'stack' needs values of the same shape, .*'boxes'"):
        list(load(ds, collate={"boxes": "stack"}, **options))


def test_error_that_cannot_be_sent_is_reported_as_a_string(numbers, load):
    loader = load(numbers, transform=transforms.fail_awkwardly, workers="processes", num_workers=1)
    _, error = collected(loader)
    assert error.row_id == numbers.row_ids[0]
    assert f"(row id {error.row_id}), transform: NeedsTwoError: 1 and 2" in str(error)
    assert "raise NeedsTwoError(len(sample), 2)" in shown(error)


def test_sample_that_cannot_be_sent_is_reported(numbers, load):
    loader = load(numbers, transform=transforms.with_function, workers="processes", num_workers=1)
    _, error = collected(loader)
    assert "must be picklable" in str(error)
    assert "workers='threads'" in str(error)


def test_failed_read_is_retried_in_the_next_epoch(numbers, load, monkeypatch):
    read, down = Samples.read, [True]

    def sometimes(self, positions, *into):
        if down:
            raise OSError("the network is down")
        return read(self, positions, *into)

    loader = load(numbers, num_workers=1)
    monkeypatch.setattr(Samples, "read", sometimes)
    with pytest.raises(OSError, match="the network is down"):
        list(loader)
    down.clear()
    assert sum(len(batch["x"]) for batch in loader) == 40


# ---- workers that die


@pytest.mark.parametrize(
    ("transform", "how"),
    [
        (transforms.kill_process, "was ended by SIGKILL"),
        (transforms.end_process, "exited with code 9"),
    ],
)
def test_dying_process_raises_at_once_and_the_loader_recovers(
    numbers, load, transform, how, monkeypatch
):
    monkeypatch.setattr("deeplake_lite.loader.workers.channel.POLL", 600.0)  # it hangs up by itself
    loader = load(numbers[:12], transform=transform, workers="processes", num_workers=2)
    for _ in range(2):
        died = f"{how} while it made a batch of 4 rows.*num_workers"
        started = time.monotonic()
        with pytest.raises(LoaderError, match=died):  # noqa: PT012 - a loop is what is tested
            for _ in loader:
                started = time.monotonic()  # the processes exist
        assert time.monotonic() - started < 60
    assert len(children()) <= 2


def test_process_killed_from_outside_is_replaced(numbers, load):
    loader = load(numbers, 1, transform=transforms.rest, workers="processes", num_workers=2)
    batches = iter(loader)
    next(batches)
    before = children()
    left = [*before]
    with pytest.raises(LoaderError, match="was ended by SIGKILL"):  # noqa: PT012 - while they work
        for _ in batches:
            while left:
                os.kill(left.pop(), signal.SIGKILL)
    assert eventually(lambda: not {*before} & {*children()})
    assert len(list(loader)) == 40


def test_idle_process_that_is_killed_is_replaced(numbers, load):
    loader = load(numbers, 1, transform=transforms.rest, workers="processes", num_workers=2)
    assert len(list(loader)) == 40
    before = children()
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    assert eventually(lambda: all(map(has_ended, before)))
    assert len(list(loader)) == 40
    assert not {*before} & {*children()}


def test_transform_that_exits_the_process_is_an_error(numbers, load):
    loader = load(numbers, transform=transforms.leave, workers="processes", num_workers=1)
    _, error = collected(loader)
    assert "A worker process failed: SystemExit: no more after 1" in str(error)


def test_process_that_cannot_start_says_why(numbers, load, monkeypatch, tmp_path):
    (tmp_path / "gone_soon.py").write_text("def f(sample):\n    return sample\n")
    monkeypatch.syspath_prepend(tmp_path)
    import gone_soon

    loader = load(numbers, transform=gone_soon.f, workers="processes", num_workers=1)
    (tmp_path / "gone_soon.py").write_text("raise ImportError('not today')\n")
    for _ in range(2):
        _, error = collected(loader)
        assert "failed with ImportError: not today" in str(error)
        assert "gone_soon.py" in shown(error)
    (tmp_path / "gone_soon.py").write_text("def f(sample):\n    return sample\n")
    assert len(list(loader)) == 10


# ---- abandoned epochs


@all_workers
def test_abandoned_epoch_ends_and_the_next_one_starts(numbers, load, workers, num_workers):
    loader = load(numbers, 1, transform=transforms.rest, workers=workers, num_workers=num_workers)
    for _ in loader:
        break
    assert loader.epoch == 0
    assert len(list(loader)) == 40
    assert loader.epoch == 1


@all_workers
def test_two_loaders_and_two_epochs_of_one_run_side_by_side(numbers, load, workers, num_workers):
    options = {"shuffle": True, "workers": workers, "num_workers": num_workers}
    one, other = load(numbers, **options), load(numbers, **options)
    alone = [batch["x"].tolist() for batch in load(numbers, **options)]
    both = [(a["x"].tolist(), b["x"].tolist()) for a, b in zip(one, other, strict=True)]
    assert both == [(x, x) for x in alone]
    first, second = iter(one), iter(one)
    assert one.epoch == 0  # neither has started
    pairs = [(a["x"].tolist(), b["x"].tolist()) for a, b in zip(first, second, strict=True)]
    assert sorted(x for a, _ in pairs for x in a) == sorted(x for _, b in pairs for x in b)
    assert [a for a, _ in pairs] != [b for _, b in pairs]
    assert one.epoch == one.state_dict()["epoch"] == 2


def test_blocks_dropped_by_another_epoch_are_read_again(make_lake, load, monkeypatch):
    monkeypatch.setattr("deeplake_lite.loader.order.block_rows.BLOCK_BYTES", 64)
    monkeypatch.setattr("deeplake_lite.loader.options.MIN_BUDGET", 1024)
    lake = make_lake({"x": "int32"}, x=range(2000))
    loader = load(lake, 8, memory_budget=1024, num_workers=2)
    assert loader.resources.blocks.mode == "window"
    first, second = iter(loader), iter(loader)
    ahead = [next(first)["x"][0] for _ in range(200)]
    assert ahead == list(range(0, 1600, 8))
    assert [batch["x"][0] for batch in second] == list(range(0, 2000, 8))
    assert [batch["x"][0] for batch in first] == list(range(1600, 2000, 8))


@all_workers
def test_closing_a_loader_ends_its_epoch_with_an_error(numbers, load, workers, num_workers):
    loader = load(numbers, 1, transform=transforms.rest, workers=workers, num_workers=num_workers)
    batches = iter(loader)
    next(batches)
    loader.close()
    with pytest.raises(LoaderError, match=r"The loader was closed.*iter\(loader\)"):
        list(batches)
    assert len(list(loader)) == 40


def test_interrupt_in_a_transform_leaves_the_loader_usable(numbers, load):
    calls = []

    def interrupted(sample):
        calls.append(sample)
        if len(calls) == 10:
            raise KeyboardInterrupt
        return sample

    for number in (0, 2):
        calls.clear()
        loader = load(numbers, transform=interrupted, num_workers=number)
        with pytest.raises(KeyboardInterrupt):
            list(loader)
        assert len(list(loader)) == 10


def test_set_epoch_sets_the_next_epoch_and_keeps_a_resumed_position(numbers, load):
    loader = load(numbers, shuffle=True)
    loader.set_epoch(3)
    third = [batch["x"].tolist() for batch in loader]
    loader.set_epoch(3)
    assert [batch["x"].tolist() for batch in loader] == third
    assert loader.epoch == 3
    batches = iter(loader)
    next(batches)
    resumed = load(numbers, shuffle=True)
    resumed.load_state_dict(loader.state_dict())
    resumed.set_epoch(4)
    assert len(list(resumed)) == 9
    with pytest.raises(ValueError, match="epoch must be an integer of at least 0, but it is -1"):
        loader.set_epoch(-1)


@all_workers
def test_progress_bar_shows_how_far_an_epoch_is(
    numbers, load, capsys, monkeypatch, workers, num_workers
):
    monkeypatch.setattr(bars, "DELAY", 0)
    options = {"workers": workers, "num_workers": num_workers, "on_error": "skip"}
    loader = load(numbers, transform=transforms.fail, progress=True, **options)
    batches = iter(loader)
    next(batches)
    list(batches)
    said = capsys.readouterr().err
    assert "epoch 0" in said
    assert "/40.0" in said
    list(load(numbers, transform=transforms.fail, **options))
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("option", ["transform", "batch_transform", "collate"])
def test_function_without_a_return_value_is_reported(numbers, load, option):
    with pytest.raises(LoaderError, match=f"{option} must return a value, but it returned None"):
        list(load(numbers, **{option: lambda _: None}))


def test_epoch_without_remaining_rows_says_so(numbers, load):
    loader = load(numbers, on_error="skip", transform=lambda sample: sample["y"])
    with pytest.raises(LoaderError, match=r"left out every row of the epoch \(40\).*KeyError: 'y'"):
        list(loader)
    assert len(loader.skipped) == 40


@all_workers
def test_error_of_a_function_suggests_fixing_the_function(numbers, load, workers, num_workers):
    options = {"workers": workers, "num_workers": num_workers}
    _, error = collected(load(numbers, transform=transforms.fail, **options))
    assert "Fix your function 'fail'" in str(error)
    assert "Fix the row" not in str(error)
    _, error = collected(load(numbers, batch_transform=transforms.fail_batch, **options))
    assert "Fix your function 'fail_batch'" in str(error)


@all_workers
def test_error_of_a_collate_function_names_it_and_the_batch(numbers, load, workers, num_workers):
    options = {"workers": workers, "num_workers": num_workers}
    seen, error = collected(load(numbers, collate=transforms.fail_samples, **options))
    assert len(seen) == 1
    place = f"row 4 of the view (row id {numbers.row_ids[4]})"
    assert f"collate failed on the batch that begins with {place}" in str(error)
    assert "ValueError: seven is not liked" in str(error)
    assert "Fix your function 'fail_samples'" in str(error)
    assert isinstance(error.__cause__, ValueError)
    assert "in fail_samples" in shown(error)


@all_workers
@pytest.mark.parametrize("option", ["transform", "batch_transform", "collate"])
def test_error_whose_message_raises_is_still_reported(numbers, load, option, workers, num_workers):
    given = {option: transforms.fail_without_a_message}
    _, error = collected(load(numbers, workers=workers, num_workers=num_workers, **given))
    assert (
        "SpeechlessError: an error whose message cannot be read, because its __str__ raises. Fix"
        in str(error)
    )
    if option == "transform":
        loader = load(numbers[:2], transform=given[option], on_error="skip")
        with pytest.raises(LoaderError, match="SpeechlessError: an error whose message"):
            list(loader)


def test_damaged_row_error_suggests_fixing_or_skipping_the_row(pictures, load):
    _, error = collected(load(pictures))
    assert "Fix your function" not in str(error)
    assert "eave such rows out with on_error='skip'" in str(error)


def test_images_that_cannot_be_stacked_suggest_another_mode(make_lake, load):
    pixels = [np.full((2, 2), 200, np.uint8), np.full((2, 2), 40_000, np.uint16)]
    _, error = collected(load(make_lake({"i": "image"}, i=pixels)))
    assert "collate={'i': 'list'}" in str(error)
    assert "Fix the row" not in str(error)


@all_workers
def test_padded_batch_is_filled_up_if_rows_are_skipped(pictures, load, workers, num_workers):
    options = {"workers": workers, "num_workers": num_workers, "on_error": "skip", "last": "pad"}
    for transform in (None, transforms.fail):
        loader = load(pictures, 5, transform=transform, **options)
        batches = list(loader)
        assert [len(batch["x"]) for batch in batches] == [5, 5, 5]
        kept = [b["x"][~b["_padding"]].tolist() for b in batches]
        left = [6, 7, 8, 9] if transform is None else [6, 8, 9]
        assert kept == [[0, 1, 2, 3, 4], left, [10, 11]]
        assert len(batches[1]["image"]) == 5
        assert loader.stats().samples == 5 + len(left) + 2


@pytest.mark.parametrize("rank", [0, 1])
def test_row_used_as_padding_is_not_listed_again(numbers, load, rank):
    options = {"rank": rank, "world_size": 2, "last": "pad", "on_error": "skip"}
    loader = load(numbers[[0, 1, 7]], 8, transform=transforms.fail, num_workers=0, **options)
    (batch,) = loader
    assert len(batch["x"]) == 8
    assert [s.row_id for s in loader.skipped] == ([numbers.row_ids[7]] if rank == 0 else [])
    alone = load(numbers[[7]], 8, transform=transforms.fail, num_workers=0, **options)
    if rank == 1:
        assert list(alone) == []
        assert alone.skipped == ()


FIRST = {
    "plain": {},
    "to a size": {"size": (4, 4)},
    "in a mode": {"mode": "L"},
    "transformed": {"transform": lambda sample: sample},
    "decoded once": {"cache": "decoded"},
}


@pytest.mark.parametrize("options", FIRST.values(), ids=FIRST)
@pytest.mark.parametrize("kind", ["batches", "pytorch", "jax", "tensorflow"])
@pytest.mark.parametrize(
    ("nullable", "bad"), [(True, (0, 1, 2)), (False, (0,)), (False, (0, 1, 2))]
)
def test_damaged_image_is_reported_for_its_row_wherever_it_is(
    make_lake, options, kind, nullable, bad
):
    good = np.arange(32 * 32 * 3, dtype="uint8").reshape(32, 32, 3)
    pictures = [damaged_png() if row in bad else good for row in range(6)]
    htype = dl.Image("png", nullable=nullable)
    ds = make_lake({"id": "int32", "p": htype}, id=range(6), p=pictures)
    rows = [
        row
        for batch in getattr(ds, kind)(2, on_error="skip", **options)
        for row in np.asarray(batch["id"]).tolist()
    ]
    assert rows == [row for row in range(6) if row not in bad]
    with pytest.raises(Exception, match=rf"row {bad[0]}\b.*column 'p'"):
        list(getattr(ds, kind)(2, **options))
