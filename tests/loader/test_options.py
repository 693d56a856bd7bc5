"""Options are checked once, where they are given."""

import inspect
import json
from dataclasses import fields

import numpy as np
import pytest

import deeplake_lite as dl
from deeplake_lite.dataset.keywords import IterableOptions, Keywords, LoaderOptions
from deeplake_lite.htypes import Boxes, Scalar, Text
from deeplake_lite.loader.mix import Mix
from deeplake_lite.loader.options import Options
from deeplake_lite.schema import Field


def field(name, htype):
    return Field(name, "c00000000", htype)


@pytest.mark.parametrize("name", ["batch_size", "seed", "num_workers", "world_size", "rank"])
def test_numpy_numbers_are_accepted(name):
    given = {"batch_size": 4, "rank": 0, "world_size": 3} | {name: np.int16(1)}
    options = Options.of(**given)
    assert type(getattr(options, name)) is int
    json.dumps(getattr(options, name))


@pytest.mark.parametrize("value", [0, -1, 2.0, "4", None, True, np.float32(3)])
def test_batch_size_is_at_least_one(value):
    with pytest.raises(ValueError, match="batch_size must be an integer of at least 1, but it is"):
        Options.of(batch_size=value)


@pytest.mark.parametrize("value", [1.5, "0", None, False])
def test_seed_is_an_integer(value):
    with pytest.raises(ValueError, match="seed must be an integer, but it is"):
        Options.of(batch_size=1, seed=value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rank": 1}, "rank and world_size must be set together, but rank is"),
        ({"world_size": 2}, "rank and world_size must be set together, but rank is"),
        ({"rank": 2, "world_size": 2}, "rank must be less than world_size=2, but it is 2"),
        ({"rank": -1, "world_size": 2}, "rank must be an integer of at least 0, but it is -1"),
        ({"drop_last": True, "last": "pad"}, "drop_last=True means last='drop', but last is 'pad'"),
        ({"last": "keep"}, "last must be 'uneven', 'drop', 'pad' or None, but it is 'keep'"),
        ({"collate": "stacked"}, "collate must be 'stack', 'pad', 'list', 'ragged' or None"),
        ({"collate": {"x": "stacked"}}, "collate must be '"),
        ({"cache": "all"}, "cache must be '"),
        (
            {"disk_budget": 1},
            "disk_budget limits the files of cache='disk', but cache is 'encoded'",
        ),
        ({"disk_budget": 1, "cache": None}, "but cache is None. Pass cache='disk', or leave"),
        ({"disk_budget": "all", "cache": "disk"}, "disk_budget must be a number of bytes, or a"),
        ({"workers": "fibres"}, "workers must be '"),
        ({"on_error": "ignore"}, "on_error must be '"),
        ({"num_workers": -1}, "num_workers must be an integer of at least 0, but it is -1"),
    ],
)
def test_contradictory_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Options.of(batch_size=2, **options)


def test_drop_last_means_last_drop():
    assert Options.of(batch_size=2, drop_last=True).last == "drop"
    assert Options.of(batch_size=2, drop_last=True, last="drop").last == "drop"


def test_single_column_may_be_given_as_a_name(make_lake):
    ds = make_lake({"xy": "int32", "z": "int32"}, xy=[1], z=[2])
    assert ds.batches(1, columns="xy").columns == ("xy",)
    assert ds.batches(1, columns=["z", "xy"]).columns == ("z", "xy")
    with pytest.raises(dl.ColumnNotFoundError, match="There is no column 'yx'"):
        ds.batches(1, columns=["yx"])


@pytest.mark.parametrize("name", ["collate", "size"])
def test_options_for_missing_columns_are_refused(make_lake, name):
    ds = make_lake({"boxes": dl.Boxes(), "x": "int32"}, boxes=[[]], x=[1])
    value = {"box": "pad" if name == "collate" else (2, 2)}
    with pytest.raises(dl.ColumnNotFoundError, match="Did you mean 'boxes'"):
        ds.batches(1, **{name: value})


def test_columns_made_by_a_transform_may_have_a_collation_mode(make_lake):
    ds = make_lake({"x": "int32"}, x=[1, 3])
    loader = ds.batches(
        2, transform=lambda row: {"ones": np.ones(row["x"])}, collate={"ones": "pad"}
    )
    batch = next(iter(loader))
    assert batch["ones"].tolist() == [[1, 0, 0], [1, 1, 1]]
    assert batch["ones_mask"].tolist() == [[True, False, False], [True, True, True]]


def test_mode_for_all_columns_applies_where_it_fits():
    options = Options.of(batch_size=1, collate="pad")
    assert options.collate_of(field("a", Boxes())) == "pad"
    assert options.collate_of(field("b", Text())) is None
    assert options.collate_of(field("c", Scalar("int8"))) is None
    named = Options.of(batch_size=1, collate={"b": "pad"})
    assert [named.collate_of(field(n, Text())) for n in "ab"] == [None, "pad"]


def test_budget_is_at_least_what_a_loader_needs():
    assert Options.of(batch_size=1, memory_budget=1).budget == 64 * 2**20
    assert Options.of(batch_size=1, memory_budget=2**30).budget == 2**30
    assert Options.of(batch_size=1).budget >= 64 * 2**20


def test_budget_of_the_disk_is_a_size():
    of = Options.of
    assert of(batch_size=1, cache="disk").disk_bytes is None
    assert of(batch_size=1, cache="disk", disk_budget="2 GiB").disk_bytes == 2**31
    assert of(batch_size=1, cache="disk", disk_budget=0).disk_bytes == 0


def test_budget_is_fixed_at_the_start(monkeypatch):
    options = Options.of(batch_size=1)
    monkeypatch.setattr("deeplake_lite.loader.options.free_memory", lambda: 8 * 2**30)
    assert options.budget == 2 * 2**30
    monkeypatch.setattr("deeplake_lite.loader.options.free_memory", lambda: 0)
    assert options.budget == 2 * 2**30


def test_column_may_not_hide_the_mask_of_another(make_lake):
    schema = {"x": dl.Scalar("int8", nullable=True), "x_valid": "int8", "t": dl.Text(nullable=True)}
    ds = make_lake(schema | {"t_valid": "int8"}, x=[None], x_valid=[1], t=[None], t_valid=[1])
    with pytest.raises(ValueError, match="use the key 'x_valid' to mark the null"):
        ds.batches(1)
    assert next(iter(ds.batches(1, collate="list")))["x_valid"] == [1]
    assert set(next(iter(ds.batches(1, columns=["x", "t", "t_valid"])))) == {
        "x", "x_valid", "t", "t_valid",
    }  # fmt: skip


def test_unknown_option_is_reported_with_the_nearest():
    with pytest.raises(TypeError, match=r"no option 'shufle'\. Did you mean 'shuffle'\?"):
        Options.of(batch_size=2, shufle=True)


def test_collate_function_for_a_single_column_is_refused():
    with pytest.raises(ValueError, match="collate must be '"):
        Options.of(batch_size=2, collate={"boxes": len})


@pytest.mark.parametrize(
    ("word", "told"),
    [
        ("collate_fn", "collate=, which accepts a function"),
        ("pin_memory", "device='cuda'"),
        ("sampler", "shuffle="),
        ("batch_sampler", "batch_size="),
        ("prefetch_factor", "memory_budget="),
        ("persistent_workers", r"loader\.close"),
        ("worker_init_fn", "rng"),
        ("device", r"view\.pytorch"),
    ],
)
@pytest.mark.parametrize("exporter", ["batches", "pytorch"])
def test_dataloader_option_names_are_answered_with_ours(make_lake, exporter, word, told):
    if (exporter, word) == ("pytorch", "device"):
        return
    ds = make_lake({"x": "int32"}, x=[1])
    with pytest.raises(TypeError, match=f"A loader has no option '{word}'. .*{told}"):
        getattr(ds, exporter)(1, **{word: None})


@pytest.mark.parametrize("size", [224, (224,), "224", (224, 0), (1, 2, 3), (2.5, 2), {"image": 8}])
def test_size_is_a_height_and_a_width(size):
    with pytest.raises(
        ValueError, match=r"size.* must be a height and a width in pixels.* but it is "
    ):
        Options.of(batch_size=1, size=size)
    assert Options.of(batch_size=1, size=[np.int64(2), 3]).size == (2, 3)


@pytest.mark.parametrize("size", [{"label": (8, 8)}, (8, 8)])
def test_size_for_a_non_image_is_refused(make_lake, size):
    ds = make_lake({"label": "int32"}, label=[1])
    with pytest.raises(ValueError, match="size resizes columns of type Image, but column 'label'"):
        ds.batches(1, size=size)


def test_budget_may_be_written_with_its_unit():
    assert Options.of(batch_size=1, memory_budget="1GB").budget == 10**9
    assert Options.of(batch_size=1, memory_budget="0.5 gib").budget == 2**29
    assert Options.of(batch_size=1, memory_budget=1e9).budget == 10**9


@pytest.mark.parametrize("value", ["much", "1 GBit", "-1GB", -5, True, float("nan"), [1]])
def test_budget_is_a_number_of_bytes(value):
    with pytest.raises(
        ValueError, match="memory_budget must be a number of bytes, or a string such as"
    ):
        Options.of(batch_size=1, memory_budget=value)


@pytest.mark.parametrize("name", ["progress", "row_ids", "drop_last"])
def test_booleans_are_true_or_false(name):
    with pytest.raises(ValueError, match=f"{name} must be True or False, but it is 'yes'"):
        Options.of(batch_size=1, **{name: "yes"})


@pytest.mark.parametrize("name", ["transform", "batch_transform"])
def test_non_callable_transform_is_refused(name):
    with pytest.raises(TypeError, match=f"{name} must be a function, but it is 'crop'"):
        Options.of(batch_size=1, **{name: "crop"})


def test_keywords_seen_by_type_checkers_are_the_actual_ones():
    assert {*LoaderOptions.__annotations__, "batch_size"} == {
        *(f.name for f in fields(Keywords)), "drop_last",
    }  # fmt: skip
    assert {*IterableOptions.__annotations__} < {*LoaderOptions.__annotations__}


@pytest.mark.parametrize("method", ["batches", "pytorch", "tensorflow", "jax"])
def test_help_shows_every_keyword_with_its_default(method):
    for owner in (dl.View, Mix):
        shown = inspect.signature(getattr(owner, method)).parameters
        assert {*LoaderOptions.__annotations__} < {*shown}
        assert shown["cache"].default == "encoded"


@pytest.mark.parametrize("columns", [5, True, b"x", {"x", "y"}])
def test_columns_are_names_in_order(columns):
    with pytest.raises(
        TypeError, match=r"columns must be a list of names, .* but it is .*leave out columns="
    ):
        Options.of(batch_size=1, columns=columns)


def test_numpy_boolean_is_accepted_for_shuffle(make_lake):
    ds = make_lake({"x": "int32"}, x=[1])
    assert ds.batches(1, shuffle=np.True_).shuffle.kind == "exact"
    for value in (np.array([1, 2]), ["exact"], 1, None):
        with pytest.raises(
            ValueError, match="shuffle must be True, False, 'exact' or 'block', but it is"
        ):
            ds.batches(1, shuffle=value)


@pytest.mark.parametrize(
    ("name", "options"), [("_padding", {"last": "pad"}), ("_row_id", {"row_ids": True})]
)
def test_column_may_not_be_named_like_a_reserved_batch_key(make_lake, name, options):
    ds = make_lake({"x": "int32"}, x=[3])
    view = ds.query(f"SELECT x, x AS {name}")
    with pytest.raises(
        ValueError, match=f"use the key '{name}' to identify their rows, but a column"
    ):
        view.batches(1, **options)
    (batch,) = view.batches(1)
    assert batch[name].tolist() == [3]


@pytest.mark.parametrize("size", [(10**6, 10**6), (10**30, 2), {"image": (2, 2**28)}])
def test_size_too_large_for_memory_is_refused_at_once(make_lake, size):
    ds = make_lake({"image": dl.Image("png")}, image=[np.zeros((4, 4, 3), "uint8")])
    with pytest.raises(ValueError, match=r"size.* at most 268,435,456 pixels, but"):
        ds.batches(1, size=size)
