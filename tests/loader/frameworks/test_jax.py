"""Batches as JAX arrays."""

import sys
import types

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

import deeplake_lite as dl
from deeplake_lite.errors import LoaderError
from deeplake_lite.loader.frameworks.jax import NARROW
from deeplake_lite.loader.order.topology import find_rank

from .frameworks import BLOCKED, ROWS, SCHEMA, columns, run_python


@pytest.fixture
def lake(make_lake):
    return make_lake(SCHEMA, **columns())


def test_numbers_are_arrays_and_strings_stay_a_list(lake):
    batch = next(iter(lake.jax(4)))
    assert isinstance(batch["image"], jax.Array)
    assert batch["text"] == ["té 0", "té 1", "té 2", "té 3"]
    assert batch["note"] == ["note 0", None, "note 2", None]
    assert batch["words"][2] == ["wort", "wort"]
    assert batch["when"].dtype == "datetime64[us]"


def test_aligned_batch_is_shared_on_the_cpu(lake, monkeypatch):
    made = {}
    loader = lake.jax(4, columns=["image", "label"], num_workers=0)
    convert = loader.resources.convert
    monkeypatch.setattr(
        loader.resources, "convert", lambda batch: made.setdefault("b", convert(batch))
    )
    batch = next(iter(loader))
    for name in ("image", "label"):
        assert made["b"][name].ctypes.data % 64 == 0
        assert batch[name].unsafe_buffer_pointer() == made["b"][name].ctypes.data


def test_dtypes_without_x64_follow_the_table(make_lake):
    names = ["int8", "uint16", "int64", "uint64", "float16", "float64", "complex128"]
    lake = make_lake({name: name for name in names}, **{name: [1, 0] for name in names})
    batch = next(iter(lake.jax(2)))
    for name in names:
        dtype = np.dtype(name)
        assert batch[name].dtype == NARROW.get(dtype, dtype)
        assert batch[name].tolist() == [1, 0]


def test_x64_preserves_every_dtype(lake):
    with jax.enable_x64(True):
        batch = next(iter(lake.jax(4, row_ids=True)))
    assert batch["count"].dtype == "int64"
    assert batch["wide"].dtype == "float64"
    assert batch["_row_id"].dtype == "int64"
    assert batch["_row_id"].tolist() == lake.row_ids[:4].tolist()


def test_row_ids_keep_all_their_bits_without_x64(lake):
    batch = next(iter(lake.jax(4, row_ids=True)))
    assert batch["_row_id"] == lake.row_ids[:4].tolist()
    with pytest.raises(OverflowError):
        jax.jit(lambda ids: ids)([2**40, *batch["_row_id"]])


@pytest.mark.parametrize(
    ("dtype", "value"), [("int64", 2**31), ("uint64", 2**40), ("float64", 1e300)]
)
def test_number_that_does_not_fit_is_an_error_that_says_what_to_set(make_lake, dtype, value):
    lake = make_lake({"x": dtype}, x=[1, value])
    with pytest.raises(LoaderError, match=r"'x' has numbers, such as .*, that .*jax_enable_x64"):
        next(iter(lake.jax(2)))


def test_infinity_and_nan_are_ordinary_numbers(make_lake):
    lake = make_lake({"x": "float64"}, x=[np.inf, np.nan])
    assert np.array_equal(next(iter(lake.jax(2)))["x"], [np.inf, np.nan], equal_nan=True)


def test_ragged_columns_are_padded_to_the_largest_of_the_view_so_that_jit_compiles_once(lake):
    compiled = []

    @jax.jit
    def total(batch):
        compiled.append(1)
        return batch["boxes"].sum() + batch["photo"].sum() + batch["tokens"].sum()

    names = ["boxes", "photo", "tokens"]
    for batch in lake.jax(3, columns=names, drop_last=True, shuffle=True):
        total(batch)
        assert batch["boxes"].shape == (3, 3, 4)
        assert batch["photo_mask"].shape == (3, 6, 4)
    assert len(compiled) == 1


def test_masks_distinguish_values_from_padding_and_nulls_have_none(lake):
    batch = next(iter(lake.jax(ROWS)))
    assert batch["boxes_mask"].sum(axis=1).tolist() == [k % 4 for k in range(ROWS)]
    assert batch["maybe_valid"].tolist() == [k % 2 == 0 for k in range(ROWS)]
    assert not batch["maybe_mask"][1].any()
    rows = [row[mask] for row, mask in zip(batch["maybe"], batch["maybe_mask"], strict=True)]
    for row, value in zip(rows[::2], lake["maybe"][::2], strict=True):
        np.testing.assert_array_equal(row, value)
    assert batch["tokens"][3].tolist() == [0, 1, 2]
    assert batch["score_valid"].tolist() == [k % 3 != 1 for k in range(ROWS)]


def test_all_null_batches_have_the_shape_of_others(make_lake):
    pictures = [None, None, np.zeros((2, 3, 3), np.uint8), np.ones((4, 2, 3), np.uint8)]
    lake = make_lake({"p": dl.Image("png", nullable=True)}, p=pictures)
    assert [b["p"].shape for b in lake.jax(2)] == [(2, 4, 3, 3)] * 2


def test_transform_may_return_lists_of_arrays_and_trees(lake):
    loader = lake.jax(4, columns=["boxes", "x"], transform=lambda s: {"b": s["boxes"], "n": 2**20})
    batch = next(iter(loader))
    assert batch["b"].shape == (4, 3, 4)
    assert batch["b_mask"].sum() == 24
    assert batch["n"].dtype == "int32"
    x, y = next(iter(lake.jax(4, transform=lambda s: (s["image"], s["label"]))))
    assert (x.shape, y.dtype) == ((4, 6, 5, 3), "int32")


def test_batch_transform_may_return_jax_arrays(lake):
    loader = lake.jax(4, columns=["x"], batch_transform=lambda b: ({"x": jnp.asarray(b["x"])}, 3.0))
    inputs, number = next(iter(loader))
    assert inputs["x"].shape == (4,)
    assert number == 3.0


def test_state_counts_delivered_batches_and_not_those_on_the_device(lake):
    loader = lake.jax(3, columns=["count"], shuffle=True)
    whole = [b["count"].tolist() for b in loader]
    for taken in range(1, 4):
        first = lake.jax(3, columns=["count"], shuffle=True)
        batches = iter(first)
        got = [next(batches)["count"].tolist() for _ in range(taken)]
        state = first.state_dict()
        assert state["consumed"] == 3 * taken
        second = lake.jax(3, columns=["count"], shuffle=True)
        second.load_state_dict(state)
        assert got + [b["count"].tolist() for b in second] == whole


def test_next_batch_is_placed_before_this_one_is_delivered(lake, monkeypatch):
    loader = lake.jax(2, columns=["x"])
    placed = []
    framework = loader.resources.framework
    place = framework._copy_batch
    monkeypatch.setattr(framework, "_copy_batch", lambda v: placed.append(1) or place(v))
    monkeypatch.setattr("deeplake_lite.loader.workers.run.Run.ready", True)
    seen = [len(placed) for _ in loader]
    assert seen == [2, 3, 4, 5, 5]


SHARDED = """
import jax, numpy as np, deeplake_lite as dl
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
mesh = Mesh(np.array(jax.devices()), ("batch",))
ds = dl.create("memory://sharded", {"x": "float32", "image": dl.Image("png"), "t": "text"})
ds.append({"x": range(22), "image": [np.full((4, 4, 3), k, np.uint8) for k in range(22)],
           "t": list("abcdefghijklmnopqrstuv")})
ds.commit("rows")
sharding = NamedSharding(mesh, P("batch"))
loader = ds.jax(8, sharding=sharding, shuffle=True)
plain = ds.batches(8, shuffle=True, last="pad")
step = jax.jit(lambda b: (b["image"].sum(axis=(1, 2, 3), dtype="int32") * b["x"]).sum())
for batch, other in zip(loader, plain, strict=True):
    assert len(jax.devices()) == 4 and batch["x"].sharding == sharding
    assert [s.data.shape for s in batch["image"].addressable_shards] == [(2, 4, 4, 3)] * 4
    assert all(np.array_equal(batch[k], other[k]) for k in other), other
    text = batch.pop("t")
    step(batch)
print(int(batch["_padding"].sum()))
for options in ({"batch_size": 6}, {"batch_size": 8, "last": "uneven"},
                {"batch_size": 8, "on_error": "skip"}):
    try:
        ds.jax(**options, sharding=sharding)
    except ValueError as error:
        print(error)
"""


def test_batches_are_sharded_over_several_devices_and_the_last_is_padded():
    text = run_python(SHARDED, XLA_FLAGS="--xla_force_host_platform_device_count=4")
    padding, six, uneven, skip = text.strip().split("\n")
    assert padding == "2"
    assert "A batch of 6 rows over all ranks cannot be divided evenly among" in six
    assert "A batch of 6 rows over all ranks cannot be divided evenly among" in uneven
    assert "on_error='skip'" in skip


SHARDED_BY_AXES = """
import jax, numpy as np, deeplake_lite as dl
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
ds = dl.create("memory://axes", {"image": dl.Image("png"), "x": "int32"})
ds.append({"image": [np.zeros((8, 8, 3), np.uint8)] * 20, "x": range(20)})
ds.commit("rows")
mesh = Mesh(np.array(jax.devices()).reshape(2, 2), ("a", "b"))
for spec in (P("a", None, None, None), P("a", "b"), P(None, "b"), P(("a", "b"), None)):
    sharding = NamedSharding(mesh, spec)
    batches = list(ds.jax(8, sharding=sharding, columns=["image", "x"]))
    assert [int(x) for batch in batches for x in batch["x"]][:20] == list(range(20))
    assert batches[0]["image"].sharding.is_equivalent_to(sharding, 4)
try:
    next(iter(ds.jax(8, sharding=NamedSharding(mesh, P("a", "b")), size=(7, 8), columns=["image"])))
except dl.LoaderError as error:
    print(error)
"""


def test_specs_with_several_axes_shard_the_arrays_that_have_them():
    text = run_python(SHARDED_BY_AXES, XLA_FLAGS="--xla_force_host_platform_device_count=4")
    assert "An array of shape (8, 7, 8, 3) cannot be divided evenly according to Named" in text


def test_model_learns_the_digits_in_one_epoch(make_lake):
    digits = load_digits()
    lake = make_lake(
        {"image": dl.Array("float32", (64,)), "label": dl.ClassLabel()},
        image=digits.data.astype(np.float32) / 16, label=digits.target,
    )  # fmt: skip

    def loss(weights, image, label):
        hidden = jax.nn.relu(image @ weights["a"])
        return -jnp.take_along_axis(
            jax.nn.log_softmax(hidden @ weights["b"]), label[:, None], axis=1
        ).mean()

    @jax.jit
    def step(weights, batch):
        value, grads = jax.value_and_grad(loss)(weights, batch["image"], batch["label"])
        return value, jax.tree.map(lambda w, g: w - 0.5 * g, weights, grads)

    keys = jax.random.split(jax.random.key(0))
    weights = {
        "a": jax.random.normal(keys[0], (64, 64)) / 8,
        "b": jax.random.normal(keys[1], (64, 10)) / 8,
    }
    losses = []
    for batch in lake.jax(8, shuffle=True, drop_last=True):
        value, weights = step(weights, batch)
        losses.append(float(value))
    assert np.mean(losses[-20:]) < np.mean(losses[:20]) / 2
    whole = next(iter(lake.jax(len(lake))))
    guess = jnp.argmax(jax.nn.relu(whole["image"] @ weights["a"]) @ weights["b"], axis=1)
    assert (guess == whole["label"]).mean() > 0.9


def test_ranks_are_detected_under_jax_distributed(monkeypatch):
    fake = types.SimpleNamespace(
        distributed=types.SimpleNamespace(is_initialized=lambda: True),
        process_index=lambda: 2,
        process_count=lambda: 4,
    )
    monkeypatch.setitem(sys.modules, "jax", fake)
    monkeypatch.delitem(sys.modules, "torch.distributed", raising=False)
    assert find_rank(None, None) == (2, 4)
    fake.distributed.is_initialized = lambda: False
    assert find_rank(None, None) == (0, 1)


def test_required_jax_functions_exist():
    assert jax.distributed.is_initialized() is False
    assert (jax.process_index(), jax.process_count()) == (0, 1)


def test_without_jax_the_error_says_what_to_install():
    text = run_python(BLOCKED.format(package="jax", exporter="jax"))
    assert 'pip install "deeplake-lite[jax]"' in text


def test_passed_through_columns_of_a_transform_are_padded_to_the_largest_of_the_view(lake):
    plain = list(lake.jax(3, columns=["boxes", "maybe", "score"]))
    through = list(lake.jax(3, columns=["boxes", "maybe", "score"], transform=lambda s: s))
    for a, b in zip(through, plain, strict=True):
        assert list(a) == list(b)
        for key, value in b.items():
            np.testing.assert_array_equal(a[key], value)


def test_skipped_rows_do_not_change_shapes_of_padded_batches(lake):
    def fail(sample):
        if sample["count"] == -3:
            raise ValueError("two")
        return sample

    loader = lake.jax(4, columns=["count"], transform=fail, last="pad", on_error="skip")
    batches = list(loader)
    assert {batch["count"].shape for batch in batches} == {(4,)}
    assert sum(int((~batch["_padding"]).sum()) for batch in batches) == ROWS - 1


def test_transform_may_return_jax_arrays(lake):
    plain = next(iter(lake.jax(4, columns=["x"])))["x"]
    for asarray in (jnp.asarray, torch.asarray):
        loader = lake.jax(4, columns=["x"], transform=lambda s, a=asarray: {"x": a(s["x"]) * 2})
        doubled = next(iter(loader))["x"]
        assert isinstance(doubled, jax.Array)
        np.testing.assert_array_equal(doubled, plain * 2)


def test_all_null_images_make_a_batch(make_lake):
    ds = make_lake({"image": dl.Image("png", nullable=True)}, image=[None, None])
    (batch,) = ds.jax(2)
    assert not batch["image_valid"].any()
    assert not batch["image_mask"].size


@pytest.mark.parametrize("also", ["boxes_mask", "boxes_valid"])
def test_mask_does_not_replace_a_column(make_lake, also):
    schema = {"boxes": dl.Boxes(nullable=True), also: "int32"}
    ds = make_lake(schema, boxes=[[[1, 2, 3, 4]], []], **{also: [1, 2]})
    with pytest.raises(ValueError, match=f"Batches use the key '{also}' to mark .* of 'boxes'"):
        next(iter(ds.jax(2)))
    assert next(iter(ds.jax(2, columns=[also])))[also].tolist() == [1, 2]


def test_non_jax_sharding_is_refused(make_lake):
    with pytest.raises(
        TypeError, match=r"sharding must be a jax\.sharding\.Sharding, .* but it is 'x'"
    ):
        make_lake({"x": "int32"}, x=[1]).jax(1, sharding="x")


def test_masks_have_the_varying_axes_however_values_are_collated(make_lake):
    images = [np.full((4 + k, 5, 3), k, np.uint8) for k in range(4)]
    ds = make_lake(
        {"one": dl.Image("png"), "many": dl.Sequence(dl.Image("png"))},
        one=images, many=[images[:n] for n in (2, 1, 0, 3)],
    )  # fmt: skip
    for collate in ("ragged", "pad"):
        (batch,) = ds.jax(4, size=(4, 4), collate={"many": collate})
        assert batch["many"].shape == (4, 3, 4, 4, 3)
        assert batch["many_mask"].sum(axis=1).tolist() == [2, 1, 0, 3]
        (batch,) = ds.jax(4, columns=["one"], collate=collate)
        assert batch["one_mask"].shape == (4, 7, 5)
    (batch,) = ds.jax(4, columns=["one"], size=(4, 4), collate="ragged")
    assert batch["one_mask"].shape == (4, 4, 4)
